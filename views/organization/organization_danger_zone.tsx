// The pages that transfer or delete the active organization.
import { nameCharactersMax } from "../../domain/limits.ts";
import { groupDigits } from "../../domain/number_text.ts";
import type { Member, Organization } from "../../domain/organization.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { ConfirmPanel } from "../components/confirm_panel.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { RadioGroup, TextField } from "../components/field.tsx";
import { PageHead } from "../components/page_head.tsx";
import { DayTime } from "../components/relative_time.tsx";
import type { FormErrors } from "../components/row_form.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { roleWords } from "../text/role.ts";

/** What {@linkcode transferOrganizationPage} shows. */
export interface TransferOrganizationPageProps extends Pick<FormErrors, "fieldErrors"> {
  readonly frame: PortalFrame;
  /** The other members. */
  readonly members: readonly Member[];
  /** Whether there are more members. */
  readonly hasMore: boolean;
}

/** What {@linkcode deleteOrganizationPage} shows. */
export interface DeleteOrganizationPageProps extends FormErrors {
  readonly frame: PortalFrame;
  readonly organization: Organization;
  readonly activeApiKeys: number;
  /** The name as typed. */
  readonly value: string;
}

const back = { href: "/portal/organization", label: "Organization" };

/** @returns The page that asks which member becomes the owner. */
export function transferOrganizationPage(props: TransferOrganizationPageProps): Page {
  const { frame, members } = props;
  return (
    <PortalPage title="Transfer ownership" frame={frame} place="organization">
      <div class="ask">
        <PageHead
          back={back}
          title={
            <>
              Transfer ownership of “<bdi>{frame.session.organization?.name ?? ""}</bdi>”
            </>
          }
          text="Choose the new owner. You confirm the transfer on the next page."
        />
        {members.length > 0 ? <NewOwnerForm {...props} /> : (
          <div class="card">
            <EmptyState title="No one else here yet" text="Invite a member first, and wait until they join.">
              <ButtonLink tone="primary" href="/portal/members">Invite a member</ButtonLink>
            </EmptyState>
          </div>
        )}
      </div>
    </PortalPage>
  );
}

/** @returns The page that asks whether to delete the organization. Its name has to be typed. */
export function deleteOrganizationPage(props: DeleteOrganizationPageProps): Page {
  const { frame, organization, activeApiKeys, value, fieldErrors, error } = props;
  return (
    <PortalPage title="Delete organization" frame={frame} place="organization">
      <ConfirmPanel
        title={
          <>
            Delete “<bdi>{organization.name}</bdi>”?
          </>
        }
        text="This permanently deletes the organization for everyone. Requests with its keys will fail immediately, all members lose access, and all usage data is deleted. This can't be undone."
        facts={[
          { label: "Members", value: groupDigits(organization.memberCount) },
          { label: "Active keys", value: groupDigits(activeApiKeys) },
          { label: "Created", value: <DayTime at={organization.createdAt} now={frame.now} /> },
        ]}
        action="/portal/organization/delete"
        submit="Delete organization"
        tone="destroy"
        back={back}
        error={error}
      >
        <TextField
          label="Type the organization's name to confirm"
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

function NewOwnerForm({ members, hasMore, fieldErrors }: TransferOrganizationPageProps) {
  return (
    <form class="card" method="post" action="/portal/organization/hand-over">
      <div class="body">
        <RadioGroup
          label="New owner"
          name="userId"
          value=""
          choices={members.map(({ user, role }) => ({
            value: user.id,
            label: user.name,
            hint: `${user.email} · ${roleWords[role]}`,
          }))}
          hint={hasMore ? "To choose someone else, use “Transfer ownership” on the members page." : undefined}
          error={fieldErrors["userId"]}
        />
      </div>
      <footer>
        <SubmitButton>Continue</SubmitButton>
        <ButtonLink href={back.href}>Cancel</ButtonLink>
      </footer>
    </form>
  );
}
