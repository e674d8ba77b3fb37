// The console's page of an organization's members and open invitations.
import type { Invitation, Member } from "../../domain/organization.ts";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { type InvitationRow, InvitationTable, inviterName } from "../organization/invitation_table.tsx";
import { MemberTable } from "../organization/member_table.tsx";
import { roleWords } from "../text/role.ts";
import { organizationHref, userHref } from "./links.ts";
import { organizationActionHref, organizationPlace as place } from "./organization.tsx";
import { backTo } from "./links.ts";

interface MemberPageProps {
  readonly frame: PortalFrame;
  readonly organization: { readonly id: string; readonly name: string };
}

/** What the page shows. */
export interface OrganizationMembersPageProps extends MemberPageProps {
  readonly members: readonly Member[];
  readonly nextHref: string | null;
  /** Those that are open. */
  readonly invitations: readonly Invitation[];
  /** What was just done. */
  readonly flash: string | null;
}

/** @returns The page. */
export function organizationMembersPage(props: OrganizationMembersPageProps): Page {
  const { frame, organization, members, nextHref, invitations, flash } = props;
  const invite = (
    <ButtonLink tone="primary" href={organizationActionHref(organization.id, "invite")}>Invite</ButtonLink>
  );
  return (
    <PortalPage title={`Members of ${organization.name}`} frame={frame} place={place}>
      <PageHead back={backTo(organization)} title="Members of “{name}”" name={organization.name}>
        {invite}
      </PageHead>
      <Notice tone="done" text={flash} />
      <Card title="Members" flush>
        {members.length === 0
          ? <EmptyState title="No members" text="Invite the owner, so that someone can sign in." />
          : (
            <MemberTable
              members={members.map((member) => ({ ...member, href: userHref(member.user.id) }))}
              now={frame.now}
            />
          )}
      </Card>
      <PageLinks links={[{ href: nextHref, label: "More members" }]} />
      {invitations.length > 0 && (
        <Card title="Open invitations" flush>
          <InvitationTable
            invitations={invitations.map((one) => rowOf(one, organization.id))}
            now={frame.now}
          />
        </Card>
      )}
    </PortalPage>
  );
}

/** @returns An invitation as the list shows it. */
function rowOf(invitation: Invitation, organizationId: string): InvitationRow {
  const href = revokeInvitationHref(organizationId, invitation.id);
  return {
    ...invitation,
    inviter: inviterName(invitation),
    actions: [{ href, label: "Revoke", icon: "trash", isDanger: true }],
  };
}

function revokeInvitationHref(organizationId: string, id: string): string {
  return `${organizationHref(organizationId)}/invitations/${encodeURIComponent(id)}/revoke`;
}

/** @returns The page that asks whether to revoke an invitation. */
export function revokeInvitationPage(
  { frame, organization, invitation, message }: MemberPageProps & {
    invitation: Invitation;
    message: string | null;
  },
): Page {
  return (
    <ConfirmPage
      frame={frame}
      place={place}
      title="Revoke invitation"
      heading="Revoke the invitation for {name}?"
      name={invitation.email}
      text="Its link will stop working immediately. You can invite the same address again."
      facts={[
        { label: "Organization", value: organization.name },
        { label: "Role", value: roleWords[invitation.role] },
      ]}
      action={revokeInvitationHref(organization.id, invitation.id)}
      submit="Revoke invitation"
      back={backTo(organization)}
      error={message}
    />
  );
}
