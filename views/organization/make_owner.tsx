// The page that asks before an organization is handed over to another member.
import { ConfirmPanel } from "../components/confirm_panel.tsx";
import { aboutOrganization } from "./form_organization.tsx";
import { memberFacts, memberHref, membersBack, type MemberView } from "./member_table.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";

/** What the page shows. */
export interface MakeOwnerPageProps {
  readonly frame: PortalFrame;
  readonly member: MemberView;
  readonly error: string | null;
}

/** @returns The page that asks whether to make a member the owner. */
export function makeOwnerPage({ frame, member, error }: MakeOwnerPageProps): Page {
  return (
    <PortalPage title="Hand the organization over" frame={frame} place="members">
      <ConfirmPanel
        title={
          <>
            Make <bdi>{member.user.name}</bdi> the owner?
          </>
        }
        text="You hand the organization over: they can then do everything, and you become an admin. Only an owner can undo it."
        facts={memberFacts(member, frame.now)}
        action={memberHref(member.user.id, "owner")}
        about={aboutOrganization(frame.session)}
        submit="Make owner"
        tone="destroy"
        back={membersBack}
        error={error}
      />
    </PortalPage>
  );
}
