// The list of open invitations with their status and actions, and the page that revokes one.
import type { Invitation } from "../../domain/organization.ts";
import { Badge } from "../components/badge.tsx";
import { ConfirmPage } from "../components/confirm_page.tsx";
import type { PageForm } from "../components/form_page.tsx";
import { RelativeTime } from "../components/relative_time.tsx";
import { type MenuAction, RowMenu } from "../components/row_menu.tsx";
import { actionsColumn, Cell, type Column, Row, Table, Words } from "../components/table.tsx";
import type { Page, PortalFrame } from "../layout.tsx";
import { roleWords } from "../text/role.ts";

export type InvitationRow = Invitation & { readonly canChange: boolean };

interface InvitationTableProps {
  readonly frame: PortalFrame;
  readonly invitations: readonly InvitationRow[];
  /** The cursor of the list's page, to which sending again returns. */
  readonly cursor: string | undefined;
}

const columns: readonly Column[] = [
  { title: "Email" },
  { title: "Role" },
  { title: "Status" },
  { title: "Sent", drop: 2 },
  { title: "Expires" },
  actionsColumn,
];

export function InvitationTable(props: InvitationTableProps) {
  const { session, now } = props.frame;
  return (
    <Table label="Invitations" kind="cards" columns={columns}>
      {props.invitations.map((invitation) => (
        <Row>
          <Cell place="title">
            <div class="name plain-name">{invitation.email}</div>
            <div class="muted tiny">{`Invited by ${inviterName(invitation, session.user.id)}`}</div>
          </Cell>
          <Cell place="start" value={roleWords[invitation.role]} />
          <Cell place="end">
            {invitation.status === "expired"
              ? <Badge tone="soon">Expired</Badge>
              : <Badge tone="on">Pending</Badge>}
          </Cell>
          <Cell place="start" drop={2} isQuiet>
            <Words onCard="Sent " />
            <RelativeTime at={invitation.sentAt} now={now} />
          </Cell>
          <Cell place="end" isQuiet>
            <Words onCard={invitation.status === "expired" ? "Expired " : "Expires "} />
            <RelativeTime at={invitation.expiresAt} now={now} />
          </Cell>
          <Cell place="actions">
            <RowMenu about={invitation.email} actions={actionsOf(invitation, props)} />
          </Cell>
        </Row>
      ))}
    </Table>
  );
}

function actionsOf({ id, canChange }: InvitationRow, { frame, cursor }: InvitationTableProps): MenuAction[] {
  if (!canChange) return [];
  const resend: MenuAction = {
    href: `${invitationHref(frame, id, "resend")}${cursor === undefined ? "" : `?open=${cursor}`}`,
    label: "Send again",
    icon: "mail",
    isForm: true,
  };
  const revoke: MenuAction = {
    href: invitationHref(frame, id, "revoke"),
    label: "Revoke",
    icon: "trash",
    isDanger: true,
  };
  return frame.sendsMail && frame.viewed === null ? [resend, revoke] : [revoke];
}

export function revokeInvitationPage(form: PageForm, invitation: Invitation): Page {
  const { now } = form.frame;
  return (
    <ConfirmPage
      {...form}
      title="Revoke invitation"
      heading="Revoke the invitation for {name}?"
      name={invitation.email}
      text="Its link will stop working immediately. You can invite the same address again."
      facts={[
        { label: "Role", value: roleWords[invitation.role] },
        { label: "Sent", value: <RelativeTime at={invitation.sentAt} now={now} /> },
        { label: "Expires", value: <RelativeTime at={invitation.expiresAt} now={now} /> },
      ]}
      submit="Revoke invitation"
    />
  );
}

function invitationHref({ base }: PortalFrame, id: string, action: "revoke" | "resend"): string {
  return `${base}/invitations/${encodeURIComponent(id)}/${action}`;
}

function inviterName({ invitedBy, invitedByOperator }: Invitation, viewerId: string): string {
  if (invitedByOperator) return "the operator";
  return invitedBy?.id === viewerId ? "you" : invitedBy?.name ?? "a former member";
}
