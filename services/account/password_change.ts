// A new password for a signed-in person, who gives the old one.
import { insertAuditEvent } from "../../db/audit.ts";
import { updateSessionToken } from "../../db/sign_in/sessions.ts";
import { findUserCredentialsById, updatePasswordHash } from "../../db/account/users.ts";
import type { SessionActor } from "../../domain/actor.ts";
import { AppError, unauthenticatedError, validationError } from "../../domain/errors.ts";
import type { SessionContext } from "../context.ts";
import { type Credentials, sessionSubject } from "../sign_in/credentials.ts";
import type { MailService } from "../mail/mail.ts";
import { afterNewPassword } from "./password_replacement.ts";
import { hashToken, newToken } from "../sign_in/session_tokens.ts";
import { changedMeanwhile, readSignedIn, type SignedIn } from "../sign_in/sign_in.ts";

/** Changes passwords. */
export interface PasswordChangeService {
  /**
   * Changes the password. Every other session ends, and this one gets a new token.
   *
   * @throws {AppError} `invalid_credentials`, `validation_failed`, `rate_limited`, `unavailable`.
   */
  changePassword(
    actor: SessionActor,
    input: { currentPassword: string; newPassword: string },
  ): Promise<SignedIn>;
}

/** @param context See {@linkcode SessionContext}. */
export function createPasswordChangeService(
  context: SessionContext,
  parts: { credentials: Credentials; mail: MailService },
): PasswordChangeService {
  const { database, clock, writeAs } = context;
  const { credentials, mail } = parts;

  return {
    async changePassword(actor, { currentPassword, newPassword }) {
      const user = await findUserCredentialsById(database, actor.user.id);
      if (user === undefined) throw unauthenticatedError();
      const faults = await credentials.newPasswordFaults(newPassword, { ...user, path: "newPassword" });
      if (faults.length > 0) throw validationError(faults);
      const subject = sessionSubject(actor);
      return await credentials.guess({
        subject,
        actor,
        refused: "password.refused",
        about: () => ({}),
      }, async () => {
        if (!await credentials.isPassword(user, currentPassword)) {
          throw new AppError("invalid_credentials", "This is not your password.", {
            details: [{ path: "currentPassword", message: "This is not your password." }],
          });
        }
        const passwordHash = await credentials.hasher.hash(newPassword);
        const token = newToken();
        const now = clock();
        const audit = insertAuditEvent(actor, { action: "password.changed" }, { now });
        const audited = { now, audited: audit.id };
        const [, written] = await writeAs(actor, [
          updatePasswordHash(user.id, { from: user.passwordHash, to: passwordHash }),
          audit.statement,
          updateSessionToken(actor.id, { ...audited, tokenHash: hashToken(token) }),
          credentials.forgetFailures(subject, audited),
          ...afterNewPassword(user, { ...audited, ...parts, keep: actor.id }),
        ]);
        if (written?.rows.length !== 1) throw changedMeanwhile();
        mail.wake();
        return await readSignedIn(context, token);
      });
    },
  };
}
