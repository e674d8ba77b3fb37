// The list of invitations with their status and actions, and the page that revokes one.
import type { Invitation } from "../../domain/organization.ts";
import { Badge } from "../components/badge.tsx";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { Form } from "../components/form.tsx";
import { DayTime, RelativeTime } from "../components/relative_time.tsx";
import { actionsColumn, Cell, Row, Table } from "../components/table.tsx";
import type { Page, PortalFrame } from "../layout.tsx";
import { roleWords } from "../text/role.ts";
import { membersBack } from "./member_table.tsx";

/** An invitation in the list, with what the viewer can do. */
export type InvitationRow = Invitation & {
  readonly invitedByYou: boolean;
  readonly canRevoke: boolean;
  readonly canResend: boolean;
};

const columns = ["Email", "Role", "Sent", "Expires", "Status", actionsColumn];

/** The invitations as a table, in the given order. */
export function InvitationTable(
  { invitations, now }: { invitations: readonly InvitationRow[]; now: number },
) {
  return (
    <Table label="Invitations" columns={columns}>
      {invitations.map((invitation) => (
        <Row over={invitation.status === "revoked"}>
          <Cell place="title">
            <div class="name plain-name">{invitation.email}</div>
            <div class="muted tiny">{inviterText(invitation)}</div>
          </Cell>
          <Cell label="Role" value={<span>{roleWords[invitation.role]}</span>} />
          <Cell label="Sent" value={<RelativeTime at={invitation.sentAt} now={now} />} />
          <Cell label="Expires">
            {["pending", "expired"].includes(invitation.status)
              ? <RelativeTime at={invitation.expiresAt} now={now} />
              : <span>—</span>}
          </Cell>
          <Cell place="state" value={<InvitationStatus invitation={invitation} now={now} />} />
          <Cell place="actions">{invitation.canRevoke ? <Actions invitation={invitation} /> : null}</Cell>
        </Row>
      ))}
    </Table>
  );
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

/** Whether an invitation can be accepted. */
export function InvitationStatus({ invitation, now }: { invitation: Invitation; now: number }) {
  const { status, acceptedAt } = invitation;
  if (status === "pending") return <Badge tone="on">Pending</Badge>;
  if (status === "expired") return <Badge tone="soon">Expired</Badge>;
  if (status === "revoked") return <Badge tone="off">Revoked</Badge>;
  return <Badge tone="off">Accepted {acceptedAt && <DayTime at={acceptedAt} now={now} />}</Badge>;
}

function Actions({ invitation: { id, email, canResend } }: { invitation: InvitationRow }) {
  return (
    <div class="actions-row">
      {canResend && (
        <Form action={invitationHref(id, "resend")}>
          <SubmitButton tone="quiet">
            Resend<span class="unseen">{` to ${email}`}</span>
          </SubmitButton>
        </Form>
      )}
      <ButtonLink tone="quiet-destroy" href={invitationHref(id, "revoke")} about={email}>Revoke</ButtonLink>
    </div>
  );
}

function inviterText({ invitedBy, invitedByYou, invitedByOperator }: InvitationRow): string {
  if (invitedByYou) return "by you";
  if (invitedByOperator) return "by the operator";
  return invitedBy === null ? "by a former member" : `by ${invitedBy.name}`;
}
