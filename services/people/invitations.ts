// Invitations: for one email address, with one role, valid once and for seven days.
import { insertAuditEvent } from "../../db/access/mod.ts";
import { deleteLinks } from "../../db/outbox/mod.ts";
import {
  findInvitationObstacles,
  findInvitations,
  insertInvitation,
  type InvitationRow,
  markInvitationRevoked,
  renewInvitation,
  selectInvitation,
} from "../../db/people/invitations.ts";
import { type Statement, writeNamed, type WriteResult } from "../../db/engine/database.ts";
import type { AuditEntry } from "../../domain/access/audit.ts";
import { AppError, notFoundError, unavailableError, validationError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import { openInvitationsMax } from "../../domain/limits.ts";
import { canonicalEmail } from "../../domain/outbox/email.ts";
import { linkLifetimesMs } from "../../domain/outbox/mail.ts";
import { isoTime } from "../../domain/time.ts";
import type { Invitation } from "../../domain/organization.ts";
import type { Role } from "../../domain/access/session.ts";
import {
  type Access,
  type MemberAccess,
  rateLimited,
  requirePermission,
  requireRecentAuthentication,
  rowOf,
  writeChange,
  type Writer,
} from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { type PageInput, readIdPage } from "../pages.ts";
import type { SessionActor } from "../../domain/access/actor.ts";

/** Lists invitations, newest first; by default, open and other ones. @throws {AppError} `forbidden`, `validation_failed`. */
export async function listInvitations(
  { database, clock }: SessionContext,
  access: Access,
  { limit, cursor, isOpen }: PageInput & { isOpen?: boolean },
): Promise<{ invitations: Invitation[]; nextCursor: string | null }> {
  requirePermission(access, "memberDetails.read");
  const { rows, nextCursor } = await readIdPage(
    (page) => findInvitations(database, access.organizationId, { ...page, isOpen }),
    { prefix: "inv", limit, cursor },
  );
  const now = clock();
  return { invitations: rows.map((row) => toInvitation(row, now)), nextCursor };
}

/** @throws {AppError} `not_found`, `forbidden`. */
export async function getInvitation(
  context: SessionContext,
  access: Access,
  id: string,
): Promise<Invitation> {
  requirePermission(access, "memberDetails.read");
  return toInvitation(await findRow(context, access, id), context.clock());
}

interface NewInvitation {
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
 * Invites an email address. Members need a recent authentication to invite an owner, as they do to make a member an owner.
 *
 * @returns The invitation, and the results of `select`.
 * @throws {AppError} `forbidden`, `proof_required`, `validation_failed`, `already_member`, `already_invited`, `limit_reached`,
 *   `rate_limited`, `mail_unavailable`.
 */
export async function createInvitation(
  context: SessionContext,
  access: Access,
  { role, name, before = [], select = [], ...input }: NewInvitation,
): Promise<{ invitation: Invitation; results: readonly WriteResult[] }> {
  const { organizationId } = access;
  const writer = requireMayInvite(access, role);
  context.mail.requireMail();
  const now = context.clock();
  if (role === "OWNER" && access.role !== null) requireRecentAuthentication(access.actor, now);
  const email = canonicalEmail(input.email);
  if (email === null) {
    throw validationError([{ path: "email", message: "Enter an email address such as ada@example.com." }]);
  }
  const id = newId("inv");
  const expiresAt = now + linkLifetimesMs.invitation;
  const invitedBy = access.role === null ? null : access.actor.user.id;
  const invitation = { id, organizationId, email, role, invitedBy, now, expiresAt };
  return await sendEmail(context, access, {
    writer,
    invitation: { id, email, role, name },
    entry: { action: "invitation.created", details: { role } },
    now,
    change: [...before, ...insertInvitation(invitation)],
    findError: () => notInvitedError(context, { organizationId, email, now }),
    select,
  });
}

/** Sends a new link, which replaces the old one. @throws {AppError} As {@linkcode createInvitation}, and `not_found`. */
export async function resendInvitation(
  context: SessionContext,
  access: MemberAccess,
  id: string,
): Promise<Invitation> {
  const { row, writer } = await findOpen(context, access, id);
  context.mail.requireMail();
  const now = context.clock();
  // This makes an expired invitation valid again.
  if (row.role === "OWNER") requireRecentAuthentication(access.actor, now);
  const { organizationId } = access;
  const renewed = { id, organizationId, now, expiresAt: now + linkLifetimesMs.invitation };
  const { invitation } = await sendEmail(context, access, {
    writer,
    invitation: row,
    entry: { action: "invitation.resent" },
    now,
    change: [renewInvitation(renewed)],
    async findError() {
      const { pending } = await findInvitationObstacles(context.database, { ...row, now });
      return row.expiresAt <= now && pending >= openInvitationsMax ? pendingLimitError() : notFoundError();
    },
  });
  return invitation;
}

/** Revokes an open invitation and its links, effective immediately. @throws {AppError} `not_found`, `forbidden`. */
export async function revokeInvitation(context: SessionContext, access: Access, id: string): Promise<void> {
  const { row: { email }, writer } = await findOpen(context, access, id);
  const { organizationId } = access;
  const isRevoked = await writeChange(context, writer, {
    statement: markInvitationRevoked({ id, organizationId, now: context.clock() }),
    entry: { action: "invitation.revoked", organizationId, target: { id, name: email } },
    after: ({ audited }) => deleteLinks(id, { purposes: ["invitation"], audited }),
  });
  if (!isRevoked) throw notFoundError();
}

interface Sending {
  readonly writer: Writer;
  readonly invitation: Pick<InvitationRow, "id" | "email" | "role"> & Pick<NewInvitation, "name">;
  readonly entry: Pick<AuditEntry, "action" | "details">;
  readonly now: number;
  /** Its last statement changes the invitation. */
  readonly change: readonly Statement[];
  /** Returns the error if that statement changes nothing. */
  readonly findError: () => Promise<AppError>;
  readonly select?: readonly Statement[];
}

/** Writes an invitation and its email within all limits. @throws {AppError} `rate_limited`, or as `findError` returns. */
async function sendEmail(
  context: SessionContext,
  access: Access,
  { writer, invitation, entry, now, change, findError, select = [] }: Sending,
): Promise<{ invitation: Invitation; results: readonly WriteResult[] }> {
  const { mail, mailBudgets, writeAs } = context;
  const { actor, organizationId, organizationName: organization } = access;
  const member = access.role === null ? null : access.actor;
  const { id, email: to, role, name } = invitation;
  const audit = insertAuditEvent(actor, { ...entry, organizationId, target: { id, name: to } }, { now });
  const fields = {
    organization,
    role,
    ...(member === null ? {} : { inviter: member.user.name }),
    ...(name === undefined ? {} : { name }),
  };
  const batch = {
    change,
    audit: audit.statement,
    links: deleteLinks(id, { purposes: ["invitation"], audited: audit.id }),
    email: mail.outgoing({ kind: "invitation", to, subject: id, fields }, { now, audited: audit.id }),
    sent: selectInvitation(organizationId, id),
    select,
  };
  const isSenderUnverified = member !== null && !member.user.emailVerified;
  const about = () => ({ organizationId, target: { id: null, name: to } });
  const subject = `${member?.user.id ?? "operator"} ${organizationId}`;
  const results = await mailBudgets.auditLimit({ subject, actor, about }, async () => {
    if (member !== null) takeInvitationEmail(context, member, { organizationId, email: to });
    return await mailBudgets.spend({ kind: "invitation", to, isSenderUnverified }, async () => {
      const results = await writeNamed({ write: (batch) => writeAs(writer, batch) }, batch);
      if (results.change.at(-1)?.changes !== 1) throw await findError();
      return results;
    });
  });
  mail.wake();
  return { invitation: toInvitation(rowOf<InvitationRow>([results.sent]), now), results: results.select };
}

async function findRow({ database }: SessionContext, { organizationId }: Access, id: string) {
  const row = isId("inv", id)
    ? await database.readFirst<InvitationRow>(selectInvitation(organizationId, id))
    : undefined;
  if (row === undefined) throw notFoundError();
  return row;
}

/** Finds an open invitation that the access may change. @throws {AppError} `not_found`, `forbidden`. */
async function findOpen(context: SessionContext, access: Access, id: string) {
  requirePermission(access, "members.manage");
  const row = await findRow(context, access, id);
  const writer = requireMayInvite(access, row.role);
  if (row.acceptedAt !== null || row.revokedAt !== null) throw notFoundError();
  return { row, writer };
}

/** Only owners invite owners. @throws {AppError} `forbidden`. */
function requireMayInvite(access: Access, role: Role): Writer {
  return requirePermission(access, role === "OWNER" ? "owners.manage" : "members.manage");
}

async function notInvitedError(
  { database }: SessionContext,
  invitation: { organizationId: string; email: string; now: number },
): Promise<AppError> {
  const { invited, members, pending } = await findInvitationObstacles(database, invitation);
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
    acceptedAt: isoTime(row.acceptedAt),
  };
}

function invitationStatus({ acceptedAt, revokedAt, expiresAt }: InvitationRow, now: number) {
  if (acceptedAt !== null) return "accepted";
  if (revokedAt !== null) return "revoked";
  return expiresAt <= now ? "expired" : "pending";
}

/**
 * Counts an email for the organization, for the inviter, who could create any number of organizations, and for the inviter
 * and this address: inviters choose whom the service writes to, so it must be of little use to spammers.
 *
 * @throws {AppError} `rate_limited`; then nothing is counted.
 */
function takeInvitationEmail(
  { rateLimits }: SessionContext,
  { user: { id, emailVerified } }: SessionActor,
  { organizationId, email }: { organizationId: string; email: string },
): void {
  const { invitationEmails, invitationEmailsToAddress, unverifiedInvitationEmails } = rateLimits;
  const limits = [
    [invitationEmails, organizationId],
    [invitationEmails, id],
    [invitationEmailsToAddress, `${id} ${email}`],
    ...(emailVerified ? [] : [[unverifiedInvitationEmails, id] as const]),
  ] as const;
  for (const [limiter, name] of limits) {
    const { isAllowed, resetMs } = limiter.peek(name);
    if (isAllowed) continue;
    if (limiter !== unverifiedInvitationEmails) throw rateLimited(resetMs);
    throw new AppError("rate_limited", "Confirm your email address to invite more people.", {
      retryAfterSeconds: Math.max(1, Math.ceil(resetMs / 1000)),
    });
  }
  for (const [limiter, name] of limits) limiter.take(name);
}
