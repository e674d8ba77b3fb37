// Codes of the second step: of the authenticator app, and recovery codes. Each is counted before it is looked at, and used up in
// the batch of what it is given for.
import { insertAuditEvent } from "../../db/audit.ts";
import type { Statement } from "../../db/engine/database.ts";
import {
  consumePendingSignIn,
  countSecondStepAttempt,
  deleteSpentPendingSignIn,
  type SecondStep,
} from "../../db/sign_in/pending_sign_ins.ts";
import { countRecoveryCodes, hasRecoveryCode, useRecoveryCode } from "../../db/sign_in/recovery_codes.ts";
import { countTotpGuess, findTotp, lockTotp, useTotpStep } from "../../db/sign_in/totp.ts";
import type { UserCredentials } from "../../db/account/users.ts";
import type { ClientInfo } from "../../domain/actor.ts";
import { AppError } from "../../domain/errors.ts";
import { secondStepAttemptsMax, totpWrongCodesMax } from "../../domain/limits.ts";
import { parseSecondStepCode, type SecondStepCode } from "../../domain/sign_in/recovery_code.ts";
import type { BaseContext } from "../base_context.ts";
import type { Credentials } from "./credentials.ts";
import type { Mail } from "../mail/mail.ts";
import { hashRecoveryCode } from "./recovery_codes.ts";
import { totpStep } from "./totp.ts";

/** What the session is made for, in the order of the batch. */
export interface Proof {
  readonly user: UserCredentials;
  readonly method: string;
  readonly now: number;
  /** Uses the proof up; when it changes nothing there is no session. */
  readonly use: Statement;
  /** What else happens with it. @param audited The id of the audit entry. */
  readonly after: (audited: string) => readonly Statement[];
}

/** Checks of codes. */
export interface SecondStepCodes {
  /**
   * @param step That waits for the code.
   * @returns What uses the code up.
   * @throws {AppError} `invalid_code`, `codes_locked`, `two_step_state`.
   */
  check(step: SecondStep, input: { user: UserCredentials; code: string; client: ClientInfo }): Promise<Proof>;
}

/** @param context See {@linkcode BaseContext}. */
export function createSecondStepCodes(
  context: BaseContext,
  { credentials, mail }: { credentials: Credentials; mail: Mail },
): SecondStepCodes {
  const { database, clock } = context;

  /** @returns How a right code signs in. @throws {AppError} `invalid_code`. */
  async function proofOfCode(
    step: SecondStep,
    { user, given }: { user: UserCredentials; given: SecondStepCode | null },
  ) {
    const { now, userId, tokenHash } = step;
    const common = (audited: string) => [
      consumePendingSignIn(tokenHash, { audited }),
      credentials.forgetFailures(guessSubject(userId), { audited }),
    ];
    if (given?.kind === "totp") {
      const totp = await findTotp(database, userId);
      const found = totp === undefined
        ? null
        : await totpStep({ secret: totp.secret, code: given.code }, now);
      // A code works once: someone who saw it being typed cannot use it.
      if (totp === undefined || found === null || found <= totp.lastStep) throw codeError("totp");
      const use = useTotpStep({ ...step, secret: totp.secret, step: found });
      return { user, now, use, method: "password and code", after: common };
    }
    const codeHash = given === null ? "" : hashRecoveryCode(given.code);
    if (!await hasRecoveryCode(database, { userId, codeHash })) throw codeError();
    const left = await countRecoveryCodes(database, userId);
    const fields = { name: user.name, left: String(left - 1) };
    return {
      user,
      now,
      use: useRecoveryCode({ ...step, codeHash, left }),
      method: "password and recovery code",
      after: (audited: string) => [
        ...common(audited),
        ...mail.outgoing({ kind: "recovery_code_used", to: user.email, fields }, { now, audited }),
      ],
    };
  }

  async function checkCode(
    step: SecondStep,
    input: { user: UserCredentials; code: string; client: ClientInfo },
  ): Promise<Proof> {
    const { user, client } = input;
    const given = parseSecondStepCode(input.code);
    // Recovery codes are too long to be guessed, and let in people who are locked out.
    const isGuessable = given?.kind === "totp";
    const [counted, guessed] = await database.write([
      countSecondStepAttempt(step),
      ...(isGuessable ? [countTotpGuess(step.userId)] : []),
    ]);
    const attempts = counted?.rows[0]?.["attempts"];
    if (attempts === undefined) throw overError();
    const wrongCodes = Number(guessed?.rows[0]?.["wrongCodes"] ?? totpWrongCodesMax + 1);
    try {
      if (isGuessable && wrongCodes > totpWrongCodesMax) throw lockedError();
      return await proofOfCode(step, { user, given });
    } catch (error) {
      if (isGuessable && wrongCodes >= totpWrongCodesMax) await lock(user, client);
      if (Number(attempts) >= secondStepAttemptsMax) {
        await database.write([deleteSpentPendingSignIn(step.tokenHash)]);
      }
      throw error;
    }
  }

  /** Tells of the lock, once: in the audit log and by mail. */
  async function lock(user: UserCredentials, client: ClientInfo): Promise<void> {
    const now = clock();
    const wrongCodes = String(totpWrongCodesMax);
    const audit = insertAuditEvent({ type: "anonymous", client }, {
      action: "two_step.locked",
      organizationId: user.organizationId,
      target: { id: user.id, name: user.email },
    }, { now });
    await database.write([
      lockTotp(user.id, now),
      audit.statement,
      ...mail.outgoing({ kind: "two_step_locked", to: user.email, fields: { name: user.name, wrongCodes } }, {
        now,
        audited: audit.id,
      }),
    ]);
    mail.wake();
  }

  return { check: checkCode };
}

/** @returns The subject of guesses at codes: of the account and not of the token, so that starting over gives no more. */
export function guessSubject(userId: string): string {
  return `second:${userId}`;
}

/** @param kind What the code looks like. */
function codeError(kind: SecondStepCode["kind"] = "recovery"): AppError {
  const help = kind === "totp" ? " An app shows a new one every 30 seconds." : "";
  const message = `This code is not right, or was used before.${help}`;
  return new AppError("invalid_code", message, { details: [{ path: "code", message }] });
}

function lockedError(): AppError {
  return new AppError(
    "codes_locked",
    "Too many wrong codes were entered. Use a recovery code or a passkey, or set a new password first.",
  );
}

/** @returns The error of a sign-in that waits no more. */
export function overError(): AppError {
  return new AppError("two_step_state", "This sign-in took too long, or is over. Enter your password again.");
}
