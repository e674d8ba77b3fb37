// Invitations: for one email address, with one role, good once and for seven days.
import { insertAuditEvent } from "../../db/audit.ts";
import { deleteLinks } from "../../db/mail/link_tokens.ts";
import {
  findInvitation,
  findInvitationObstacles,
  findInvitations,
  insertInvitation,
  type InvitationRow,
  markInvitationRevoked,
  renewInvitation,
  selectInvitation,
} from "../../db/organization/invitations.ts";
import type { Statement, WriteResult } from "../../db/engine/database.ts";
import type { OperatorActor, SessionActor } from "../../domain/actor.ts";
import type { AuditEntry } from "../../domain/audit.ts";
import { AppError, notFoundError, unavailableError, validationError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import { openInvitationsMax } from "../../domain/limits.ts";
import { canonicalEmail } from "../../domain/mail/email.ts";
import { linkLifetimesMs } from "../../domain/mail/mail.ts";
import { isoTime } from "../../domain/time.ts";
import type { Invitation } from "../../domain/organization.ts";
import type { Role } from "../../domain/sign_in/session.ts";
import { rowOf, writeChange } from "../change.ts";
import type { SessionContext } from "../context.ts";
import { type PageInput, readPage, requireIdCursor } from "../pages.ts";
import { requireRecentAuthentication } from "../sign_in/recent_authentication.ts";
import { takeInvitationEmail } from "./invitation_limits.ts";
import { type Permit, requireMembership } from "./membership.ts";

/** Which invitation of which organization. */
export interface InvitationKey {
  readonly organizationId: string;
  readonly id: string;
}

/**
 * Lists invitations, newest first.
 *
 * @param input `isOpen`: only those that were neither accepted nor revoked, or only the others. All by default.
 * @throws {AppError} `not_found`, `forbidden`, `validation_failed`.
 */
export async function listInvitations(
  context: SessionContext,
  actor: SessionActor,
  input: PageInput & { organizationId: string; isOpen?: boolean },
): Promise<{ invitations: Invitation[]; nextCursor: string | null }> {
  requireMembership(actor, { ...input, permission: "members.manage" });
  return await readInvitationPage(context, input);
}

/** The same for someone who may see the invitations. @throws {AppError} `validation_failed`. */
export async function readInvitationPage(
  { database, clock }: SessionContext,
  { organizationId, limit, cursor, isOpen }: PageInput & { organizationId: string; isOpen?: boolean },
): Promise<{ invitations: Invitation[]; nextCursor: string | null }> {
  requireIdCursor(cursor, "inv");
  const { rows, nextCursor } = await readPage(
    (limit) => findInvitations(database, organizationId, { limit, before: cursor, isOpen }),
    { limit, cursorOf: ({ id }) => id },
  );
  const now = clock();
  return { invitations: rows.map((row) => toInvitation(row, now)), nextCursor };
}

/** @throws {AppError} `not_found`, `forbidden`. */
export async function getInvitation(context: SessionContext, actor: SessionActor, key: InvitationKey) {
  requireMembership(actor, { organizationId: key.organizationId, permission: "members.manage" });
  return await readInvitation(context, key);
}

/** The same for someone who may see the invitations. @throws {AppError} `not_found`. */
export async function readInvitation(context: SessionContext, key: InvitationKey): Promise<Invitation> {
  return toInvitation(await findRow(context, key), context.clock());
}

/**
 * Invites an email address. Inviting an owner requires recent authentication, as making a member an owner does.
 *
 * @throws {AppError} `not_found`, `forbidden`, `proof_required`, `validation_failed`, `already_member`, `already_invited`,
 *   `limit_reached`, `rate_limited`, `mail_unavailable`.
 */
export async function createInvitation(
  context: SessionContext,
  actor: SessionActor,
  { organizationId, ...invitation }: { organizationId: string; email: string; role: Role },
): Promise<Invitation> {
  const { role } = invitation;
  const permit = requireMayInvite(actor, { organizationId, role });
  context.mail.requireMail();
  if (role === "OWNER") requireRecentAuthentication(actor, context.clock());
  const invited = await inviteToOrganization(context, permit, {
    organization: { id: organizationId, name: permit.name },
    ...invitation,
  });
  return invited.invitation;
}

/** Whom to invite to which organization. */
export interface NewInvitationInput {
  readonly organization: { readonly id: string; readonly name: string };
  readonly email: string;
  readonly role: Role;
  /** The recipient's name, for the email. */
  readonly name?: string | undefined;
  /** Statements to write before the invitation, in the same batch. */
  readonly before?: readonly Statement[];
  /** Statements that read after it, in the same batch. */
  readonly select?: readonly Statement[];
}

/**
 * Invites an email address for an operator, or for a member who may.
 *
 * @returns The invitation, and the results of `select`.
 * @throws {AppError} As {@linkcode createInvitation} after its checks of the member.
 */
export async function inviteToOrganization(
  context: SessionContext,
  by: Permit | OperatorActor,
  { organization, role, name, before = [], select = [], ...input }: NewInvitationInput,
): Promise<{ invitation: Invitation; results: readonly WriteResult[] }> {
  context.mail.requireMail();
  const email = canonicalEmail(input.email);
  if (email === null) {
    throw validationError([{ path: "email", message: "Enter an email address such as ada@example.com." }]);
  }
  const organizationId = organization.id;
  const now = context.clock();
  const id = newId("inv");
  const expiresAt = now + linkLifetimesMs.invitation;
  const invitedBy = "permission" in by ? by.actor.user.id : null;
  const entry = {
    action: "invitation.created",
    organizationId,
    target: { id, name: email },
    details: { role },
  } as const;
  const invitation = { id, organizationId, email, role, invitedBy, now, expiresAt };
  const results = await sendEmail(context, by, {
    organization: organization.name,
    invitation: { ...invitation, name },
    entry,
    change: [...before, ...insertInvitation(invitation, { pendingMax: openInvitationsMax })],
    whyUnchanged: () => whyNotInvited(context, { organizationId, email }),
    select: [selectInvitation(organizationId, id), ...select],
  });
  return { invitation: toInvitation(rowOf<InvitationRow>(results, 0), now), results: results.slice(1) };
}

/**
 * Sends a new link that is valid for another seven days. The old link stops working.
 *
 * @throws {AppError} As {@linkcode createInvitation}, and `not_found`.
 */
export async function resendInvitation(context: SessionContext, actor: SessionActor, key: InvitationKey) {
  const { clock, mail } = context;
  const { row, permit } = await findManaged(context, actor, key);
  mail.requireMail();
  // This makes an expired invitation valid again.
  if (row.role === "OWNER") requireRecentAuthentication(actor, clock());
  const now = clock();
  const { organizationId } = key;
  const { id, email, role } = row;
  const entry = { action: "invitation.resent", organizationId, target: { id, name: email } } as const;
  const renewed = { ...key, now, expiresAt: now + linkLifetimesMs.invitation };
  const results = await sendEmail(context, permit, {
    organization: permit.name,
    invitation: { id, organizationId, email, role, now },
    entry,
    change: [renewInvitation(renewed, { pendingMax: openInvitationsMax })],
    async whyUnchanged() {
      const { pending } = await findInvitationObstacles(context.database, { organizationId, email, now });
      return row.expiresAt <= now && pending >= openInvitationsMax ? pendingLimitError() : notFoundError();
    },
    select: [selectInvitation(organizationId, id)],
  });
  return toInvitation(rowOf<InvitationRow>(results, 0), now);
}

/** Revokes an open invitation and its links, effective immediately. @throws {AppError} `not_found`, `forbidden`. */
export async function revokeInvitation(context: SessionContext, actor: SessionActor, key: InvitationKey) {
  const { permit } = await findManaged(context, actor, key);
  await endInvitation(context, permit, key);
}

/** The same for an operator, or for a member who may. @throws {AppError} `not_found`. */
export async function endInvitation(
  context: SessionContext,
  by: Permit | OperatorActor,
  key: InvitationKey,
): Promise<void> {
  const { id, email } = await findRow(context, key);
  const { organizationId } = key;
  const isRevoked = await writeChange(context, by, {
    statement: markInvitationRevoked({ ...key, now: context.clock() }),
    entry: { action: "invitation.revoked", organizationId, target: { id, name: email } },
    after: ({ audited }) => deleteLinks(id, { purposes: ["invitation"], audited }),
  });
  if (!isRevoked) throw notFoundError();
}

/**
 * Changes an invitation and sends its email, within all limits. Earlier links stop working.
 *
 * @param options `change`: statements of which the last one changes the invitation. `select`: statements that read afterwards.
 * @returns The results of `select`.
 * @throws {AppError} `rate_limited`, or the error of `whyUnchanged` if nothing was changed.
 */
async function sendEmail(
  context: SessionContext,
  by: Permit | OperatorActor,
  { organization, invitation, entry, change, whyUnchanged, select }: {
    organization: string;
    invitation: {
      id: string;
      organizationId: string;
      email: string;
      role: Role;
      now: number;
      name?: string | undefined;
    };
    entry: AuditEntry;
    change: readonly Statement[];
    whyUnchanged: () => Promise<AppError>;
    select: readonly Statement[];
  },
): Promise<readonly WriteResult[]> {
  const { mail, mailBudgets, writeAs } = context;
  const member = "permission" in by ? by.actor : null;
  const actor = "permission" in by ? by.actor : by;
  const { id, organizationId, email: to, role, now, name } = invitation;
  const audit = insertAuditEvent(actor, entry, { now });
  const fields = {
    organization,
    role,
    ...(member === null ? {} : { inviter: member.user.name }),
    ...(name === undefined ? {} : { name }),
  };
  const isSenderUnverified = member !== null && !member.user.emailVerified;
  const about = () => ({ organizationId, target: { id: null, name: to } });
  const subject = `${member?.user.id ?? "operator"} ${organizationId}`;
  const results = await mailBudgets.auditLimit({ subject, actor, about }, async () => {
    if (member !== null) takeInvitationEmail(context, member, { organizationId, email: to });
    return await mailBudgets.spend({ kind: "invitation", to, isSenderUnverified }, async () => {
      const results = await writeAs(by, [
        ...change,
        audit.statement,
        ...deleteLinks(id, { purposes: ["invitation"], audited: audit.id }),
        ...mail.outgoing({ kind: "invitation", to, subject: id, fields }, { now, audited: audit.id }),
        ...select,
      ]);
      if (results[change.length - 1]?.changes !== 1) throw await whyUnchanged();
      return results.slice(-select.length);
    });
  });
  mail.wake();
  return results;
}

async function findRow(context: SessionContext, { organizationId, id }: InvitationKey) {
  const row = isId("inv", id) ? await findInvitation(context.database, organizationId, id) : undefined;
  if (row === undefined) throw notFoundError();
  return row;
}

/** @returns An open invitation that the actor may change, and the permit to do so. */
async function findManaged(context: SessionContext, actor: SessionActor, key: InvitationKey) {
  const { organizationId } = key;
  requireMembership(actor, { organizationId, permission: "members.manage" });
  const row = await findRow(context, key);
  const permit = requireMayInvite(actor, { organizationId, role: row.role });
  if (row.acceptedAt !== null || row.revokedAt !== null) throw notFoundError();
  return { row, permit };
}

/** Only owners invite owners. @throws {AppError} `not_found`, `forbidden`. */
function requireMayInvite(
  actor: SessionActor,
  { organizationId, role }: { organizationId: string; role: Role },
): Permit {
  const permission = role === "OWNER" ? "owners.manage" : "members.manage";
  return requireMembership(actor, { organizationId, permission });
}

async function whyNotInvited(context: SessionContext, invitation: { organizationId: string; email: string }) {
  const { invited, members, pending } = await findInvitationObstacles(context.database, {
    ...invitation,
    now: context.clock(),
  });
  if (invited > 0) {
    return new AppError("already_invited", "This address is already invited. Send the invitation again.");
  }
  if (members > 0) return new AppError("already_member", "A member already has this email address.");
  return pending >= openInvitationsMax
    ? pendingLimitError()
    : unavailableError("Someone else just changed the invitations. Try again.");
}

function pendingLimitError(): AppError {
  return new AppError(
    "limit_reached",
    `This organization has reached its limit of ${openInvitationsMax} pending invitations. Revoke one first.`,
  );
}

function toInvitation(row: InvitationRow, now: number): Invitation {
  return {
    id: row.id,
    email: row.email,
    role: row.role,
    status: invitationStatus(row, now),
    invitedBy: row.invitedById === null ? null : { id: row.invitedById, name: row.invitedByName ?? "" },
    invitedByOperator: row.invitedByOperator === 1,
    createdAt: isoTime(row.createdAt),
    sentAt: isoTime(row.sentAt),
    expiresAt: isoTime(row.expiresAt),
    acceptedAt: row.acceptedAt === null ? null : isoTime(row.acceptedAt),
  };
}

function invitationStatus({ acceptedAt, revokedAt, expiresAt }: InvitationRow, now: number) {
  if (acceptedAt !== null) return "accepted";
  if (revokedAt !== null) return "revoked";
  return expiresAt <= now ? "expired" : "pending";
}
