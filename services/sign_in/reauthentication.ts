// What signs a person in, once more, before sensitive acts. The proof of a session lasts for some minutes (proof.ts).
import { insertAuditEvent } from "../../db/audit.ts";
import { insertPendingSignIn } from "../../db/sign_in/pending_sign_ins.ts";
import { updateSessionProved, updateSessionProvedIfAudited } from "../../db/sign_in/sessions.ts";
import { findUserCredentialsById, type UserCredentials } from "../../db/account/users.ts";
import type { SessionActor } from "../../domain/actor.ts";
import { AppError, unauthenticatedError, validationError } from "../../domain/errors.ts";
import { secondStepTimeoutMs } from "../../domain/limits.ts";
import type { SessionContext } from "../context.ts";
import { type Credentials, sessionSubject } from "./credentials.ts";
import type { Mail } from "../mail/mail.ts";
import { overError, type SecondStepCodes } from "./second_step_codes.ts";
import { hashToken, newToken } from "./session_tokens.ts";

/** Takes proofs. */
export interface ProofService {
  /**
   * Takes the password, and a code while two-step sign-in is on.
   *
   * @throws {AppError} `validation_failed` without a code, `invalid_credentials`, `invalid_code`, `codes_locked`,
   *   `rate_limited`, `unavailable`.
   */
  prove(actor: SessionActor, input: { password: string; code?: string | undefined }): Promise<void>;
}

/** @param context See {@linkcode SessionContext}. */
export function createProofService(
  { database, clock, writeAs }: SessionContext,
  { credentials, mail, codes }: { credentials: Credentials; mail: Mail; codes: SecondStepCodes },
): ProofService {
  /** Uses a code up as in a sign-in of this moment, and notes the proof instead of making a session. */
  async function proveWithCode(
    actor: SessionActor,
    { user, code }: { user: UserCredentials; code: string },
  ): Promise<void> {
    const now = clock();
    const step = { tokenHash: hashToken(newToken()), userId: user.id, now };
    const pending = { ...step, expiresAt: now + secondStepTimeoutMs };
    await writeAs(actor, [insertPendingSignIn(pending, user.passwordHash)]);
    const { use, method, after } = await codes.check(step, { user, code, client: actor.client });
    const audit = insertAuditEvent(actor, { action: "session.proved", details: { method } }, { now });
    const [, written] = await writeAs(actor, [
      use,
      audit.statement,
      updateSessionProvedIfAudited(actor.id, { now, audited: audit.id }),
      credentials.forgetFailures(sessionSubject(actor), { audited: audit.id }),
      ...after(audit.id),
    ]);
    if (written?.rows.length !== 1) throw overError();
    mail.wake();
  }

  return {
    async prove(actor, { password, code }) {
      const user = await findUserCredentialsById(database, actor.user.id);
      if (user === undefined) throw unauthenticatedError();
      if (user.hasTotp && !code?.trim()) {
        const message = "Enter a code from your authenticator app, or a recovery code.";
        throw validationError([{ path: "code", message }]);
      }
      const subject = sessionSubject(actor);
      await credentials.guess({
        subject,
        actor,
        refused: "password.refused",
        about: () => ({ organizationId: actor.organization?.organizationId ?? null }),
      }, async () => {
        if (!await credentials.isPassword(user, password)) {
          throw new AppError("invalid_credentials", "This is not your password.");
        }
        if (user.hasTotp) return await proveWithCode(actor, { user, code: code ?? "" });
        await writeAs(actor, [credentials.forgetFailures(subject), updateSessionProved(actor.id, clock())]);
      });
    },
  };
}
