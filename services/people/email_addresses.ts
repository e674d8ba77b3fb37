// Confirming an email address, and changing it. Both need an emailed link and a session of the same account: with the link
// alone, the owner of an address could confirm a stranger's account by clicking.
import { endAllAccess, findUserCredentials, insertAuditEvent } from "../../db/access/mod.ts";
import { deleteLinks, findLinkToken, findPendingEmail, insertLinkToken } from "../../db/outbox/mod.ts";
import { updateUserEmail, verifyUserEmail } from "../../db/people/users.ts";
import type { SessionActor } from "../../domain/access/actor.ts";
import { AppError, invalidTokenError, validationError } from "../../domain/errors.ts";
import { requireEmail } from "../../domain/outbox/email.ts";
import { linkLifetimesMs, type LinkPurpose } from "../../domain/outbox/mail.ts";
import {
  hashToken,
  newToken,
  requireAllowed,
  requireRecentAuthentication,
  wellFormedHash,
  writeChange,
} from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import type { RequestedMail } from "../outbox/mod.ts";
import { findActingUser } from "./account.ts";
import { requireMayLeaveDomain } from "./domain_rules.ts";

interface EmailLink {
  readonly purpose: Extract<LinkPurpose, "verify_email" | "change_email">;
  readonly userId: string;
  readonly email: string;
  readonly tokenHash: string;
}

/** Sends a new link that confirms an unconfirmed address. @throws {AppError} `mail_unavailable`, `rate_limited`. */
export async function requestEmailVerification(context: SessionContext, actor: SessionActor): Promise<void> {
  const { mail } = context;
  mail.requireMail();
  if (actor.user.emailVerified) return;
  const now = context.clock();
  const { id, email, name } = await findActingUser(context, actor);
  const entry = { action: "email.verification_requested", target: { id, name: email } } as const;
  const audit = insertAuditEvent(actor, entry, { now, always: true });
  const audited = { now, audited: audit.id };
  await withEmail(context, actor, {
    email: { kind: "verify_email", to: email },
    write: () =>
      context.writeAs(actor, [
        audit.statement,
        ...deleteLinks(id, { purposes: ["verify_email"], audited: audit.id }),
        ...mail.outgoing({ kind: "verify_email", to: email, subject: id, fields: { name } }, audited),
      ]),
  });
}

/**
 * Requests another email address: the new one gets a link, the current one a notice. The result is the same if the new one
 * already has an account.
 *
 * @throws {AppError} `proof_required`, `validation_failed`, `sso_required`, `mail_unavailable`, `rate_limited`.
 */
export async function requestEmailChange(context: SessionContext, actor: SessionActor, typedEmail: string) {
  const { mail } = context;
  mail.requireMail();
  const now = context.clock();
  requireRecentAuthentication(actor, now);
  const to = requireEmail(typedEmail);
  const { id, email: from, name } = await findActingUser(context, actor);
  if (to === from) throw validationError([{ path: "email", message: "This is already your email address." }]);
  await requireMayLeaveDomain(context, { from, to });
  const isTaken = await findUserCredentials(context.database, to) !== undefined;
  const fields = { name, from, to };
  const entry = { action: "email.change_requested", details: { from, to } } as const;
  const audit = insertAuditEvent(actor, entry, { now, always: true });
  const audited = { now, audited: audit.id };
  await withEmail(context, actor, {
    email: { kind: "change_email", to },
    write: () =>
      context.writeAs(actor, [
        audit.statement,
        ...deleteLinks(id, { purposes: ["change_email"], audited: audit.id }),
        ...(isTaken ? [pendingChange({ userId: id, email: to, now })] : []),
        ...mail.outgoing(
          isTaken
            ? { kind: "change_email_taken", to, fields: { to } }
            : { kind: "change_email", to, subject: id, fields },
          audited,
        ),
        ...mail.outgoing({ kind: "change_email_notice", to: from, fields }, audited),
      ]),
  });
}

/** Inserts a link that no one has: with it, a change to an address that is taken looks as pending as any other. */
function pendingChange({ userId, email, now }: { userId: string; email: string; now: number }) {
  const expiresAt = now + linkLifetimesMs.change_email;
  const tokenHash = hashToken(newToken());
  return insertLinkToken({ tokenHash, purpose: "change_email", subject: userId, email, now, expiresAt });
}

/** Returns the address that the person requested, while its link is valid; else null. */
export async function findPendingEmailChange(context: SessionContext, actor: SessionActor) {
  return (await findPendingEmail(context.database, actor.user.id, context.clock()))?.email ?? null;
}

/** Finds a link without using it up. Returns null if it doesn't work. */
export async function findEmailLink(context: SessionContext, token: string): Promise<EmailLink | null> {
  const tokenHash = wellFormedHash(token) ?? "";
  const link = await findLinkToken(context.database, tokenHash, context.clock());
  if (link === undefined || link.email === null) return null;
  const { purpose, subject: userId, email } = link;
  return purpose === "verify_email" || purpose === "change_email"
    ? { purpose, userId, email, tokenHash }
    : null;
}

/** Confirms, or changes and confirms, an address. @throws {AppError} `invalid_token`, `wrong_account`, `email_taken`. */
export async function verifyEmail(context: SessionContext, actor: SessionActor, token: string) {
  const link = await findEmailLink(context, token);
  if (link === null) throw invalidTokenError();
  if (link.userId !== actor.user.id) {
    throw new AppError("wrong_account", "This link is for another account. Sign in to that account first.");
  }
  await (link.purpose === "verify_email" ? confirmEmail : changeEmail)(context, actor, link);
  return link;
}

async function confirmEmail(context: SessionContext, actor: SessionActor, link: EmailLink): Promise<void> {
  const { userId: id, email } = link;
  const isConfirmed = await writeChange(context, actor, {
    statement: verifyUserEmail({ ...link, now: context.clock() }),
    entry: { action: "email.verified", target: { id, name: email } },
    after: ({ now, audited }) => [
      // Sessions from before the address was confirmed may be a stranger's.
      ...endAllAccess(id, { keep: actor.id, now, audited }),
      ...deleteLinks(id, { purposes: ["verify_email"], audited }),
    ],
  });
  if (!isConfirmed) throw invalidTokenError();
}

async function changeEmail(context: SessionContext, actor: SessionActor, link: EmailLink): Promise<void> {
  const { mail } = context;
  const { userId: id, email: to, tokenHash } = link;
  const { email: from, name, emailVerifiedAt } = await findActingUser(context, actor);
  const notice = { kind: "email_changed", fields: { name, from, to } } as const;
  const isChanged = await writeChange(context, actor, {
    statement: updateUserEmail({ userId: id, from, to, tokenHash, now: context.clock() }),
    entry: { action: "email.changed", details: { from, to } },
    after: (audited) => [
      // A link that was sent to the old address must no longer open the account.
      ...deleteLinks(id, {
        purposes: ["change_email", "verify_email", "reset_password", "turn_off_two_step"],
        audited: audited.audited,
      }),
      ...mail.outgoing({ ...notice, to: from, wasConfirmed: emailVerifiedAt !== null }, audited),
    ],
    email: { ...notice, to },
  });
  if (!isChanged) {
    await requireMayLeaveDomain(context, { from, to });
    if (await findUserCredentials(context.database, to) === undefined) throw invalidTokenError();
    throw new AppError("email_taken", "Another account now uses this email address.");
  }
  mail.wake();
}

/** Counts an email against the limits of its sender and of its recipient, and writes it. @throws {AppError} `rate_limited`. */
async function withEmail(
  { rateLimits, mailBudgets, mail }: SessionContext,
  actor: SessionActor,
  { email, write }: { email: RequestedMail; write: () => Promise<unknown> },
): Promise<void> {
  const subject = actor.user.id;
  await mailBudgets.auditLimit({ subject, actor, about: () => ({}) }, async () => {
    requireAllowed(rateLimits.accountEmails.take(subject));
    await mailBudgets.spend(email, write);
  });
  mail.wake();
}
