// Passwords that are forgotten and reset. The response never shows whether an account exists.
import { insertAuditEvent } from "../../db/audit.ts";
import { deleteLinks, findLinkToken } from "../../db/mail/link_tokens.ts";
import { endUnprovedAccess } from "../../db/account/account_takeback.ts";
import {
  findUserCredentials,
  findUserCredentialsById,
  resetPasswordHash,
  type UserCredentials,
} from "../../db/account/users.ts";
import type { ClientInfo } from "../../domain/actor.ts";
import { canonicalEmail } from "../../domain/mail/email.ts";
import { invalidTokenError, validationError } from "../../domain/errors.ts";
import { addressWindowMs } from "../../domain/limits.ts";
import type { BaseContext } from "../base_context.ts";
import type { Credentials } from "../sign_in/credentials.ts";
import type { MailService } from "../mail/mail.ts";
import type { MailBudgets } from "../mail/mail_budgets.ts";
import { afterNewPassword } from "./password_replacement.ts";
import { RateLimiter } from "../rate_limiter.ts";
import { wellFormedHash } from "../sign_in/session_tokens.ts";
import { personOf } from "../sign_in/sign_in.ts";

/** The verbs of passwords. */
export interface PasswordService {
  /**
   * Sends a link to an address, if it has an account and did not get too many; the result is the same if not.
   *
   * @throws {AppError} `validation_failed` for an invalid address, `mail_unavailable`, and `rate_limited` for a client that
   *   asks too often, whatever the address.
   */
  forgotPassword(email: string, client: ClientInfo): Promise<void>;
  /**
   * @returns What a link from {@linkcode forgotPassword} would do, or null when it does not work; looking does not use it up.
   *   `takesBack`: the address was never confirmed, see {@linkcode resetPassword}.
   */
  findReset(token: string): Promise<{ takesBack: boolean } | null>;
  /**
   * Sets a new password with a mailed link, which is then used up. Every session ends. If the address was never confirmed, the
   * account may be a stranger's work: two-step sign-in, passkeys, keys and invitations end too, and everyone else is removed from
   * the account's organizations.
   *
   * @throws {AppError} `invalid_token`, `validation_failed`, `rate_limited`, `unavailable`.
   */
  resetPassword(input: { token: string; password: string }, client: ClientInfo): Promise<void>;
}

/** @param context See {@linkcode BaseContext}. */
export function createPasswordService(
  { database, clock }: BaseContext,
  parts: { credentials: Credentials; mail: MailService; budgets: MailBudgets },
): PasswordService {
  const { credentials, mail, budgets } = parts;
  // Too many requests for one address are one line in the audit log, not a thousand.
  const noted = new RateLimiter({ points: 1, windowMs: addressWindowMs, clock });

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
      credentials.countLinkRequest(client);
      const now = clock();
      const found = await findUserCredentials(database, email);
      const user = found?.disabledAt === null ? found : undefined;
      const about = {
        organizationId: user?.organizationId ?? null,
        target: { id: user?.id ?? null, name: user === undefined ? null : email },
      };
      // With or without an account the same work is done, and the same time passes.
      const isConfirmed = (user?.emailVerifiedAt ?? null) !== null;
      await budgets.spendIfLeft({ kind: "reset_password", to: email, isConfirmed }, async (isLeft) => {
        if (!isLeft && !noted.take(email).isAllowed) return;
        const action = isLeft ? "password.reset_requested" : "mail.limited";
        const actor = { type: "anonymous", client } as const;
        const audit = insertAuditEvent(actor, { action, ...about }, { now, always: true });
        // When no email may be sent, the link in the last one must go on working.
        await database.write([
          audit.statement,
          ...(isLeft ? deleteLinks(user?.id ?? "", { purposes: ["reset_password"], audited: audit.id }) : []),
          ...(!isLeft || user === undefined ? [] : mail.outgoing({
            kind: "reset_password",
            to: email,
            subject: user.id,
            fields: { name: user.name },
          }, { now, audited: audit.id })),
        ]);
      });
      mail.wake();
    },

    async findReset(token) {
      const found = await findReset(token);
      return found && { takesBack: takesBack(found) };
    },

    async resetPassword({ token, password }, client) {
      const found = await findReset(token);
      if (found === null) {
        credentials.countAddressFailure(client);
        throw invalidTokenError();
      }
      const { user, tokenHash, email } = found;
      const faults = await credentials.newPasswordFaults(password, { ...user, path: "password" });
      if (faults.length > 0) throw validationError(faults);
      const passwordHash = await credentials.hasher.hash(password);
      const now = clock();
      const actor = personOf(user, client);
      const isTakenBack = takesBack(found);
      const target = { id: user.id, name: user.email };
      const audit = insertAuditEvent(actor, { action: "password.reset", target }, { now });
      const takeBack = insertAuditEvent(actor, { action: "account.taken_back", target }, { now });
      const audited = { now, audited: audit.id };
      const [, written] = await database.write([
        resetPasswordHash({ userId: user.id, passwordHash, tokenHash, email, now }),
        audit.statement,
        ...(isTakenBack ? [takeBack.statement] : []),
        ...afterNewPassword(user, { ...audited, ...parts, isTakenBack }),
        ...(isTakenBack
          ? [
            ...deleteLinks(user.id, { purposes: ["verify_email"], audited: takeBack.id }),
            ...endUnprovedAccess(actor, { userId: user.id, now, audited: takeBack.id }),
          ]
          : []),
      ]);
      if (written?.rows.length !== 1) throw invalidTokenError();
      mail.wake();
    },
  };
}

/** The account's creator did not own the address: what they made must not outlive the reset. */
function takesBack({ user, email }: { user: UserCredentials; email: string | null }): boolean {
  return user.emailVerifiedAt === null && email === user.email;
}
