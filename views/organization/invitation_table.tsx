// The list of invitations: for whom, as what, what became of them, and what can still be done.
import type { Role } from "../../domain/sign_in/session.ts";
import { roleWords } from "../text/role.ts";
import { Badge } from "../components/badge.tsx";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import type { Fact } from "../components/confirm_panel.tsx";
import { DayTime, RelativeTime } from "../components/relative_time.tsx";
import { Cell, type Column, Row, Table } from "../components/table.tsx";

/** An invitation. Times are ISO 8601 UTC. */
export interface InvitationView {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly status: "pending" | "accepted" | "revoked" | "expired";
  readonly invitedBy: { readonly id: string; readonly name: string } | null;
  readonly sentAt: string;
  readonly expiresAt: string;
  readonly acceptedAt: string | null;
}

/** An invitation in the list. */
export type InvitationRow = InvitationView & {
  readonly invitedByYou: boolean;
  /** Whoever looks may revoke it. */
  readonly canRevoke: boolean;
  /** Whoever looks may send it again. */
  readonly canResend: boolean;
};

const columns: readonly Column[] = [
  { title: "Address" },
  { title: "Role" },
  { title: "Sent" },
  { title: "Expires" },
  { title: "State" },
  { title: "Actions", isUnseen: true },
];

/** The invitations as a table, in the order as given. */
export function InvitationTable(
  { invitations, now }: { invitations: readonly InvitationRow[]; now: number },
) {
  return (
    <Table label="Invitations" columns={columns}>
      {invitations.map((invitation) => {
        const isOpen = invitation.status === "pending" || invitation.status === "expired";
        return (
          <Row over={invitation.status === "revoked"}>
            <Cell place="title">
              <div class="name plain-name">{invitation.email}</div>
              <div class="muted tiny">{inviterWords(invitation)}</div>
            </Cell>
            <Cell label="Role">
              <span>{roleWords[invitation.role]}</span>
            </Cell>
            <Cell label="Sent">
              <RelativeTime at={invitation.sentAt} now={now} />
            </Cell>
            <Cell label="Expires">
              {isOpen ? <RelativeTime at={invitation.expiresAt} now={now} /> : <span>—</span>}
            </Cell>
            <Cell place="state">
              <InvitationBadge invitation={invitation} now={now} />
            </Cell>
            <Cell place="actions">
              {invitation.canRevoke ? <Acts invitation={invitation} /> : null}
            </Cell>
          </Row>
        );
      })}
    </Table>
  );
}

/** @returns The address of a page about one invitation, or of the form that sends it again. */
export function invitationHref(id: string, act: "revoke" | "resend"): string {
  return `/portal/invitations/${encodeURIComponent(id)}/${act}`;
}

/** @returns What an invitation is. */
export function invitationFacts(invitation: InvitationView, now: number): readonly Fact[] {
  return [
    { label: "Role", value: roleWords[invitation.role] },
    { label: "Sent", value: <RelativeTime at={invitation.sentAt} now={now} /> },
    { label: "Expires", value: <RelativeTime at={invitation.expiresAt} now={now} /> },
  ];
}

function InvitationBadge({ invitation, now }: { invitation: InvitationView; now: number }) {
  const { status, acceptedAt } = invitation;
  if (status === "pending") return <Badge tone="on">Waiting</Badge>;
  if (status === "expired") return <Badge tone="soon">Expired</Badge>;
  if (status === "revoked") return <Badge tone="off">Revoked</Badge>;
  return <Badge tone="off">Accepted {acceptedAt && <DayTime at={acceptedAt} now={now} />}</Badge>;
}

function Acts({ invitation }: { invitation: InvitationRow }) {
  const { id, email, canResend } = invitation;
  return (
    <div class="actions-row">
      {canResend
        ? (
          <form method="post" action={invitationHref(id, "resend")} hx-disable="find button">
            <SubmitButton tone="quiet">
              Send again<span class="unseen">{` to ${email}`}</span>
            </SubmitButton>
          </form>
        )
        : null}
      <ButtonLink tone="quiet-destroy" href={invitationHref(id, "revoke")} about={email}>Revoke</ButtonLink>
    </div>
  );
}

function inviterWords({ invitedBy, invitedByYou }: InvitationRow): string {
  if (invitedByYou) return "by you";
  return invitedBy === null ? "by a former member" : `by ${invitedBy.name}`;
}
