// The page that asks before an invitation is revoked.
import { ConfirmPanel } from "../components/confirm_panel.tsx";
import { invitationFacts, invitationHref, type InvitationView } from "./invitation_table.tsx";
import { membersBack } from "./member_table.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";

/** What the page shows. */
export interface RevokeInvitationPageProps {
  readonly frame: PortalFrame;
  readonly invitation: InvitationView;
}

/** @returns The page that asks whether to revoke an invitation. */
export function revokeInvitationPage({ frame, invitation }: RevokeInvitationPageProps): Page {
  return (
    <PortalPage title="Revoke an invitation" frame={frame} place="members">
      <ConfirmPanel
        title={
          <>
            Revoke the invitation of <bdi>{invitation.email}</bdi>?
          </>
        }
        text="The link in the mail stops working at once. You can invite the same address again."
        facts={invitationFacts(invitation, frame.now)}
        action={invitationHref(invitation.id, "revoke")}
        submit="Revoke invitation"
        tone="destroy"
        back={membersBack}
      />
    </PortalPage>
  );
}
