// Proving an address, and changing it. Both take a mailed link and a session of the same account: the link alone would let a
// stranger's account be proved by its victim's click.
import { insertAuditEvent } from "../../db/audit.ts";
import { deleteLinks, findLinkToken, findPendingEmail, insertLinkToken } from "../../db/mail/link_tokens.ts";
import { deleteSessionsIfAudited } from "../../db/sign_in/sessions.ts";
import {
  findUserCredentials,
  findUserCredentialsById,
  updateUserEmail,
  verifyUserEmail,
} from "../../db/account/users.ts";
import type { SessionActor } from "../../domain/actor.ts";
import { canonicalEmail } from "../../domain/mail/email.ts";
import { AppError, invalidTokenError, unauthenticatedError, validationError } from "../../domain/errors.ts";
import { accountMailsPerHourMax } from "../../domain/limits.ts";
import { linkLifetimesMs, type LinkPurpose } from "../../domain/mail/mail.ts";
import type { SessionContext } from "../context.ts";
import { rateLimited } from "../sign_in/credentials.ts";
import type { LimitMails } from "../mail/mail_limit_audit.ts";
import type { MailService } from "../mail/mail.ts";
import type { AskedMail, MailBudgets } from "../mail/mail_budgets.ts";
import { requireRecentAuthentication } from "../sign_in/recent_authentication.ts";
import { RateLimiter } from "../rate_limiter.ts";
import { hashToken, newToken, wellFormedHash } from "../sign_in/session_tokens.ts";

/** What a link about an address is for. */
export interface EmailLink {
  readonly purpose: Extract<LinkPurpose, "verify_email" | "change_email">;
  /** The user whose address it is. */
  readonly userId: string;
  /** The address that is proved by it. */
  readonly email: string;
}

/** The verbs of addresses. */
export interface EmailAddressService {
  /**
   * Sends the link that proves the person's address; an older one ends. Does nothing when it is proved.
   *
   * @throws {AppError} `mail_unavailable`, `rate_limited`.
   */
  requestVerification(actor: SessionActor): Promise<void>;
  /**
   * Asks for another address: the new one gets a link, the present one is told. The answer is the same when the new one has
   * an account already.
   *
   * @throws {AppError} `proof_required`, `validation_failed`, `mail_unavailable`, `rate_limited`.
   */
  requestEmailChange(actor: SessionActor, email: string): Promise<void>;
  /** @returns The address that the person asked to change to, while its link can still be used; else null. */
  findPendingChange(actor: SessionActor): Promise<string | null>;
  /** @returns What a link is for, or null when it does not work; looking does not use it up. */
  findEmailLink(token: string): Promise<EmailLink | null>;
  /**
   * Uses a link of either kind up: the address is proved, or changed and proved.
   *
   * @throws {AppError} `invalid_token`, `wrong_account` when it is another account's, `email_taken`.
   */
  verifyEmail(actor: SessionActor, token: string): Promise<EmailLink>;
}

const hourMs = 3_600_000;

/** @param context See {@linkcode SessionContext}. */
export function createEmailAddressService(
  { database, clock, writeAs }: SessionContext,
  { mail, budgets, limited }: { mail: MailService; budgets: MailBudgets; limited: LimitMails },
): EmailAddressService {
  const mails = new RateLimiter({ points: accountMailsPerHourMax, windowMs: hourMs, clock });

  /** Takes an email of the sender and of its recipient for an act that writes it. @throws {AppError} `rate_limited`. */
  async function withMail(actor: SessionActor, asked: AskedMail, act: () => Promise<void>): Promise<void> {
    const subject = actor.user.id;
    await limited(async () => {
      const budget = mails.take(subject);
      if (!budget.isAllowed) throw rateLimited(budget.resetMs);
      await budgets.spend(asked, act);
    }, { subject, actor, about: () => ({}) });
    mail.wake();
  }

  async function findEmailLink(token: string): Promise<EmailLink & { tokenHash: string } | null> {
    const tokenHash = wellFormedHash(token);
    const link = tokenHash === null ? undefined : await findLinkToken(database, tokenHash, clock());
    if (link === undefined || tokenHash === null || link.email === null) return null;
    const { purpose, subject: userId, email } = link;
    return purpose === "verify_email" || purpose === "change_email"
      ? { purpose, userId, email, tokenHash }
      : null;
  }

  async function present(actor: SessionActor) {
    const user = await findUserCredentialsById(database, actor.user.id);
    if (user === undefined) throw unauthenticatedError();
    return user;
  }

  /** Proves the address that the account has. */
  async function prove(actor: SessionActor, link: EmailLink & { tokenHash: string }): Promise<void> {
    const now = clock();
    const { userId: id, email, tokenHash } = link;
    const audit = insertAuditEvent(actor, { action: "email.verified", target: { id, name: email } }, { now });
    const [, written] = await writeAs(actor, [
      verifyUserEmail({ id, email, tokenHash, now }),
      audit.statement,
      // Sessions from before somebody proved the address may be a stranger's.
      deleteSessionsIfAudited(id, { keep: actor.id, audited: audit.id }),
      ...deleteLinks(id, { purposes: ["verify_email"], audited: audit.id }),
    ]);
    if (written?.rows.length !== 1) throw invalidTokenError();
  }

  async function change(actor: SessionActor, link: EmailLink & { tokenHash: string }): Promise<void> {
    const now = clock();
    const { userId: id, email: to, tokenHash } = link;
    const { email: from, name, emailVerifiedAt } = await present(actor);
    const audit = insertAuditEvent(actor, { action: "email.changed", details: { from, to } }, { now });
    const audited = { now, audited: audit.id };
    const fields = { name, from, to };
    const [, written] = await writeAs(actor, [
      updateUserEmail({ id, from, to, tokenHash, now }),
      audit.statement,
      // A link that was mailed to the old address must not open the account any more.
      ...deleteLinks(id, {
        purposes: ["change_email", "verify_email", "reset_password", "turn_off_two_step"],
        audited: audit.id,
      }),
      ...mail.outgoing(
        { kind: "email_changed", to: from, wasConfirmed: emailVerifiedAt !== null, fields },
        audited,
      ),
      ...mail.outgoing({ kind: "email_changed", to, fields }, audited),
    ]);
    if (written?.rows.length !== 1) {
      if (await findUserCredentials(database, to) === undefined) throw invalidTokenError();
      throw new AppError("email_taken", "There is another account with this address by now.");
    }
    mail.wake();
  }

  return {
    findEmailLink,

    findPendingChange: async (actor) =>
      (await findPendingEmail(database, actor.user.id, clock()))?.email ?? null,

    async requestVerification(actor) {
      mail.requireMail();
      if (actor.user.emailVerified) return;
      const now = clock();
      const { id, email, name } = await present(actor);
      const audit = insertAuditEvent(actor, {
        action: "email.verification_requested",
        target: { id, name: email },
      }, { now, always: true });
      await withMail(actor, { kind: "verify_email", to: email }, async () => {
        await writeAs(actor, [
          audit.statement,
          ...deleteLinks(id, { purposes: ["verify_email"], audited: audit.id }),
          ...mail.outgoing({ kind: "verify_email", to: email, subject: id, fields: { name } }, {
            now,
            audited: audit.id,
          }),
        ]);
      });
    },

    async requestEmailChange(actor, typed) {
      mail.requireMail();
      const now = clock();
      requireRecentAuthentication(actor, now);
      const to = canonicalEmail(typed);
      const { id, email: from, name } = await present(actor);
      if (to === null || to === from) {
        const message = to === null
          ? "Enter an e-mail address such as ada@example.com."
          : "This is your address already.";
        throw validationError([{ path: "email", message }]);
      }
      const isTaken = await findUserCredentials(database, to) !== undefined;
      const fields = { name, from, to };
      const audit = insertAuditEvent(actor, { action: "email.change_requested", details: { from, to } }, {
        now,
        always: true,
      });
      const audited = { now, audited: audit.id };
      await withMail(actor, { kind: "change_email", to }, async () => {
        await writeAs(actor, [
          audit.statement,
          ...deleteLinks(id, { purposes: ["change_email"], audited: audit.id }),
          // No one has this link: it makes the change look as pending as one to a free address.
          ...(isTaken
            ? [insertLinkToken({
              tokenHash: hashToken(newToken()),
              purpose: "change_email",
              subject: id,
              email: to,
              now,
              expiresAt: now + linkLifetimesMs.change_email,
            })]
            : []),
          ...mail.outgoing(
            isTaken
              ? { kind: "change_email_taken", to, fields: { to } }
              : { kind: "change_email", to, subject: id, fields },
            audited,
          ),
          ...mail.outgoing({ kind: "change_email_notice", to: from, fields }, audited),
        ]);
      });
    },

    async verifyEmail(actor, token) {
      const link = await findEmailLink(token);
      if (link === null) throw invalidTokenError();
      if (link.userId !== actor.user.id) {
        throw new AppError("wrong_account", "This link is for another account. Sign in to that one first.");
      }
      await (link.purpose === "verify_email" ? prove(actor, link) : change(actor, link));
      const { purpose, userId, email } = link;
      return { purpose, userId, email };
    },
  };
}
