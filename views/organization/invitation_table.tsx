// The list of open invitations with their status and actions, and the page that revokes one.
import type { Invitation } from "../../domain/organization.ts";
import { Badge } from "../components/badge.tsx";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { RelativeTime } from "../components/relative_time.tsx";
import { type MenuAction, RowMenu } from "../components/row_menu.tsx";
import { actionsColumn, Cell, type Column, Row, Table, Words } from "../components/table.tsx";
import type { Page, PortalFrame } from "../layout.tsx";
import { roleWords } from "../text/role.ts";
import { membersBack } from "./member_table.tsx";

/** An invitation in the list, with what the viewer can do. */
export type InvitationRow = Invitation & {
  /** Who sent it, such as `you`. */
  readonly inviter: string;
  readonly actions: readonly MenuAction[];
};

const columns: readonly Column[] = [
  { title: "Email" },
  { title: "Role" },
  { title: "Status" },
  { title: "Sent", drop: 2 },
  { title: "Expires" },
  actionsColumn,
];

/** The invitations as a table, in the given order. */
export function InvitationTable(
  { invitations, now }: { invitations: readonly InvitationRow[]; now: number },
) {
  return (
    <Table label="Invitations" kind="cards" columns={columns}>
      {invitations.map(({ email, role, inviter, status, sentAt, expiresAt, actions }) => (
        <Row>
          <Cell place="title">
            <div class="name plain-name">{email}</div>
            <div class="muted tiny">{`Invited by ${inviter}`}</div>
          </Cell>
          <Cell place="start" value={roleWords[role]} />
          <Cell place="end">
            {status === "expired" ? <Badge tone="soon">Expired</Badge> : <Badge tone="on">Pending</Badge>}
          </Cell>
          <Cell place="start" drop={2} isQuiet>
            <Words onCard="Sent " />
            <RelativeTime at={sentAt} now={now} />
          </Cell>
          <Cell place="end" isQuiet>
            <Words onCard={status === "expired" ? "Expired " : "Expires "} />
            <RelativeTime at={expiresAt} now={now} />
          </Cell>
          <Cell place="actions">
            <RowMenu about={email} actions={actions} />
          </Cell>
        </Row>
      ))}
    </Table>
  );
}

/** @returns What can be done with an open invitation. @param query Of the list to which sending again returns. */
export function invitationActions(
  id: string,
  { canResend, query }: { canResend: boolean; query: string },
): MenuAction[] {
  const resend: MenuAction = {
    href: `${invitationHref(id, "resend")}${query}`,
    label: "Send again",
    icon: "mail",
    isForm: true,
  };
  const revoke: MenuAction = {
    href: invitationHref(id, "revoke"),
    label: "Revoke",
    icon: "trash",
    isDanger: true,
  };
  return canResend ? [resend, revoke] : [revoke];
}

/** @returns The page that asks whether to revoke an invitation. */
export function revokeInvitationPage(
  { frame, invitation }: { frame: PortalFrame; invitation: Invitation },
): Page {
  const { now } = frame;
  return (
    <ConfirmPage
      frame={frame}
      place="members"
      title="Revoke invitation"
      heading="Revoke the invitation for {name}?"
      name={invitation.email}
      text="Its link will stop working immediately. You can invite the same address again."
      facts={[
        { label: "Role", value: roleWords[invitation.role] },
        { label: "Sent", value: <RelativeTime at={invitation.sentAt} now={now} /> },
        { label: "Expires", value: <RelativeTime at={invitation.expiresAt} now={now} /> },
      ]}
      action={invitationHref(invitation.id, "revoke")}
      submit="Revoke invitation"
      back={membersBack}
    />
  );
}

function invitationHref(id: string, action: "revoke" | "resend"): string {
  return `/portal/invitations/${encodeURIComponent(id)}/${action}`;
}

/** @returns Who sent an invitation, other than the viewer. */
export function inviterName({ invitedBy, invitedByOperator }: Invitation): string {
  return invitedByOperator ? "the operator" : invitedBy?.name ?? "a former member";
}
