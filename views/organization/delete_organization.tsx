// The page that asks before an organization is deleted: its name is typed.
import { nameCharactersMax } from "../../domain/limits.ts";
import { ConfirmPanel } from "../components/confirm_panel.tsx";
import { TextField } from "../components/field.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import type { OrganizationView } from "./organization.tsx";
import { groupDigits } from "../../domain/number_text.ts";

/** What the page shows. */
export interface DeleteOrganizationPageProps {
  readonly frame: PortalFrame;
  readonly organization: OrganizationView;
  readonly counts: { readonly activeApiKeys: number };
  /** The name as typed. */
  readonly value: string;
  readonly fieldErrors: Readonly<Record<string, string>>;
  readonly error: string | null;
}

/** @returns The page that asks whether to delete the organization. */
export function deleteOrganizationPage(props: DeleteOrganizationPageProps): Page {
  const { frame, organization, counts, value, fieldErrors, error } = props;
  return (
    <PortalPage title="Delete the organization" frame={frame} place="organization">
      <ConfirmPanel
        title={
          <>
            Delete “<bdi>{organization.name}</bdi>”?
          </>
        }
        text="It ends for everybody, at once and for good: programs with its keys are refused from their next request on, members and invitations are gone, and everything that was recorded is deleted. This cannot be undone."
        facts={[
          { label: "Members", value: groupDigits(organization.memberCount) },
          { label: "Active keys", value: groupDigits(counts.activeApiKeys) },
          { label: "Created", value: <DayTime at={organization.createdAt} now={frame.now} /> },
        ]}
        action="/portal/organization/delete"
        submit="Delete organization"
        tone="destroy"
        back={{ href: "/portal/organization", label: "Organization" }}
        error={error}
      >
        <TextField
          label="Type its name to confirm"
          name="name"
          value={value}
          error={fieldErrors["name"]}
          autocomplete="off"
          required
          maxlength={nameCharactersMax * 2}
          autofocus
        />
      </ConfirmPanel>
    </PortalPage>
  );
}
