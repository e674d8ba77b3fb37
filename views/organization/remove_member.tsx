// The page that asks before a member is removed, and what becomes of their keys.
import { ConfirmPanel } from "../components/confirm_panel.tsx";
import { aboutOrganization } from "./form_organization.tsx";
import { RadioGroup } from "../components/field.tsx";
import { memberFacts, memberHref, membersBack, type MemberView } from "./member_table.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { countOf } from "../../domain/number_text.ts";

/** What the page shows. */
export interface RemoveMemberPageProps {
  readonly frame: PortalFrame;
  readonly member: MemberView;
  /** What becomes of the keys: one of the choices' values. */
  readonly value: string;
  readonly fieldErrors: Readonly<Record<string, string>>;
  readonly error: string | null;
}

/** @returns The page that asks whether to remove a member. */
export function removeMemberPage({ frame, member, value, fieldErrors, error }: RemoveMemberPageProps): Page {
  const keys = countOf(member.activeApiKeys, "active key");
  return (
    <PortalPage title="Remove a member" frame={frame} place="members">
      <ConfirmPanel
        title={
          <>
            Remove <bdi>{member.user.name}</bdi>?
          </>
        }
        text="They lose sight of this organization at once, and their open invitations end. Their account stays."
        facts={memberFacts(member, frame.now)}
        action={memberHref(member.user.id, "remove")}
        about={aboutOrganization(frame.session)}
        submit="Remove member"
        tone="destroy"
        back={membersBack}
        error={error}
      >
        {member.activeApiKeys === 0
          ? (
            <>
              <input type="hidden" name="keys" value="revoke" />
              <p class="small muted">They have no active keys here.</p>
            </>
          )
          : (
            <RadioGroup
              label={`They made ${keys} here. What becomes of ${member.activeApiKeys === 1 ? "it" : "them"}?`}
              name="keys"
              value={value}
              choices={[
                {
                  value: "revoke",
                  label: `Revoke ${keys}`,
                  hint: "Programs that use them are refused from their next request on.",
                },
                {
                  value: "keep",
                  label: `Hand ${keys} to me`,
                  hint: "They go on working, and count as yours. Whoever knows them can still use them.",
                },
              ]}
              error={fieldErrors["keys"]}
            />
          )}
      </ConfirmPanel>
    </PortalPage>
  );
}
