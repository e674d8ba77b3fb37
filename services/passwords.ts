// Passwords that are forgotten and reset. Whoever asks learns nothing about whether an account exists.
import { insertAuditEvent } from "../db/audit.ts";
import { deleteLinks, findLinkToken } from "../db/link_tokens.ts";
import { endUnprovedAccess } from "../db/unproved_access.ts";
import { findUserCredentials, findUserCredentialsById, resetPasswordHash } from "../db/users.ts";
import type { ClientInfo } from "../domain/actor.ts";
import { canonicalEmail } from "../domain/email.ts";
import { invalidTokenError, validationError } from "../domain/errors.ts";
import { accountMailsPerHourMax } from "../domain/limits.ts";
import type { ServiceContext } from "./context.ts";
import { type Credentials, rateLimited } from "./credentials.ts";
import type { LimitMails } from "./limited_mails.ts";
import type { MailService } from "./mail.ts";
import { afterNewPassword } from "./new_password.ts";
import { RateLimiter } from "./rate_limiter.ts";
import { wellFormedHash } from "./session_tokens.ts";
import { personOf } from "./sign_in.ts";

/** The verbs of passwords. */
export interface PasswordService {
  /**
   * Sends a link to an address, if it has an account; the answer is the same if not.
   *
   * @throws {AppError} `validation_failed` for what is no address, `rate_limited`, `mail_unavailable`.
   */
  forgotPassword(email: string, client: ClientInfo): Promise<void>;
  /** @returns Whether a link from {@linkcode forgotPassword} works; looking does not use it up. */
  canReset(token: string): Promise<boolean>;
  /**
   * Sets a new password with a mailed link, which is then used up. Every session ends; if nobody had proved the address
   * before, so do the keys, second steps and invitations that were made by whoever had the account.
   *
   * @throws {AppError} `invalid_token`, `validation_failed`, `rate_limited`, `unavailable`.
   */
  resetPassword(input: { token: string; password: string }, client: ClientInfo): Promise<void>;
}

const hourMs = 3_600_000;

/** @param context See {@linkcode ServiceContext}. */
export function createPasswordService(
  { database, clock }: ServiceContext,
  parts: { credentials: Credentials; mail: MailService; limited: LimitMails },
): PasswordService {
  const { credentials, mail, limited } = parts;
  const mails = new RateLimiter({ points: accountMailsPerHourMax, windowMs: hourMs, clock });

  async function findReset(token: string) {
    const tokenHash = wellFormedHash(token);
    const link = tokenHash === null ? undefined : await findLinkToken(database, tokenHash, clock());
    if (link?.purpose !== "reset_password" || tokenHash === null) return null;
    const user = await findUserCredentialsById(database, link.subject);
    // Asked for in the moment in which the address changed: whoever has the old one must not get in.
    if (link.email !== null && link.email !== user?.email) return null;
    return user?.disabledAt === null ? { tokenHash, email: link.email, user } : null;
  }

  return {
    async forgotPassword(typed, client) {
      mail.requireMail();
      const email = canonicalEmail(typed);
      if (email === null) {
        throw validationError([{
          path: "email",
          message: "Enter an e-mail address such as ada@example.com.",
        }]);
      }
      credentials.takeAddressBudget(client);
      const now = clock();
      const found = await findUserCredentials(database, email);
      const user = found?.disabledAt === null ? found : undefined;
      const about = {
        organizationId: user?.organizationId ?? null,
        target: { id: user?.id ?? null, name: user === undefined ? null : email },
      };
      await limited(() => {
        const budget = mails.take(email);
        if (!budget.isAllowed) throw rateLimited(budget.resetMs);
      }, { subject: email, actor: { type: "anonymous", client }, about: () => about });
      // An entry for everybody: with or without an account the same work is done, and the same time passes.
      const audit = insertAuditEvent({ type: "anonymous", client }, {
        action: "password.reset_requested",
        ...about,
      }, { now, always: true });
      await database.write([
        audit.statement,
        ...deleteLinks(user?.id ?? "", { purposes: ["reset_password"], audited: audit.id }),
        ...(user === undefined ? [] : mail.outgoing({
          kind: "reset_password",
          to: email,
          subject: user.id,
          fields: { name: user.name },
        }, { now, audited: audit.id })),
      ]);
      mail.wake();
    },

    canReset: async (token) => await findReset(token) !== null,

    async resetPassword({ token, password }, client) {
      credentials.peekAddressBudget(client);
      const found = await findReset(token);
      if (found === null) {
        credentials.takeAddressBudget(client);
        throw invalidTokenError();
      }
      const { user, tokenHash, email } = found;
      const faults = await credentials.newPasswordFaults(password, { ...user, path: "password" });
      if (faults.length > 0) throw validationError(faults);
      const passwordHash = await credentials.hasher.hash(password);
      const now = clock();
      // Whoever had the account did not own the address: what they made must not outlive this moment.
      const isTakenBack = user.emailVerifiedAt === null && email === user.email;
      const audit = insertAuditEvent(personOf(user, client), {
        action: "password.reset",
        target: { id: user.id, name: user.email },
      }, { now });
      const audited = { now, audited: audit.id };
      const [, written] = await database.write([
        resetPasswordHash({ userId: user.id, passwordHash, tokenHash, email, now }),
        audit.statement,
        ...afterNewPassword(user, { ...audited, ...parts }),
        ...(isTakenBack
          ? [
            ...deleteLinks(user.id, { purposes: ["verify_email"], audited: audit.id }),
            ...endUnprovedAccess(user.id, audited),
          ]
          : []),
      ]);
      if (written?.rows.length !== 1) throw invalidTokenError();
      mail.wake();
    },
  };
}
