// Codes of the second step: from an authenticator app, or recovery codes. Each is counted before it is checked, and used up in
// the batch of the change that it permits.
import { randomBytes } from "node:crypto";
import { insertAuditEvent, type SecondFactor, type UserCredentials } from "../../db/access/mod.ts";
import type { Statement } from "../../db/engine/database.ts";
import {
  consumePendingSignIn,
  countSecondStepAttempt,
  deleteSpentPendingSignIn,
  type SecondStep,
} from "../../db/people/pending_sign_ins.ts";
import { countRecoveryCodes, hasRecoveryCode, useRecoveryCode } from "../../db/people/recovery_codes.ts";
import { countTotpGuess, findTotp, lockTotp, useTotpStep } from "../../db/people/totp.ts";
import type { ClientInfo } from "../../domain/access/actor.ts";
import { AppError } from "../../domain/errors.ts";
import { recoveryCodesMax, secondStepAttemptsMax, totpWrongCodesMax } from "../../domain/limits.ts";
import { parseSecondStepCode, recoveryCode, type SecondStepCode } from "../../domain/people/recovery_code.ts";
import type { BaseContext } from "../base_context.ts";
import type { Mail } from "../outbox/mod.ts";
import { type Credentials, hashToken } from "../access/mod.ts";
import { totpStep } from "./totp.ts";

/** A code, or a passkey, that was checked. */
export interface VerifiedStep {
  readonly user: UserCredentials;
  readonly method: string;
  readonly factor: SecondFactor;
  readonly now: number;
  /** Uses up the code or passkey. If it changes no row, there is no session. */
  readonly use: Statement;
  /** Further statements. @param audited The id of the audit entry. */
  readonly after: (audited: string) => readonly Statement[];
}

interface CodeInput {
  readonly user: UserCredentials;
  readonly code: string;
  readonly client: ClientInfo;
}

/** Checks codes. It writes without a session: the person may not have one yet. */
export class SecondStepCodes {
  readonly #base: BaseContext;
  readonly #credentials: Credentials;
  readonly #mail: Mail;

  constructor(base: BaseContext, { credentials, mail }: { credentials: Credentials; mail: Mail }) {
    this.#base = base;
    this.#credentials = credentials;
    this.#mail = mail;
  }

  /** Returns statements that use a code up. @throws {AppError} `invalid_code`, `codes_locked`, `two_step_state`. */
  async check(step: SecondStep, input: CodeInput): Promise<VerifiedStep> {
    const { database } = this.#base;
    const code = parseSecondStepCode(input.code);
    // Recovery codes are too long to guess, and are the way in for people who are locked out.
    const isGuessable = code?.kind === "totp";
    const [counted, guessed] = await database.write([
      countSecondStepAttempt(step),
      ...(isGuessable ? [countTotpGuess(step.userId)] : []),
    ]);
    const attempts = counted?.rows[0]?.["attempts"];
    if (attempts === undefined) throw signInExpiredError();
    const wrongCodes = Number(guessed?.rows[0]?.["wrongCodes"] ?? totpWrongCodesMax + 1);
    try {
      if (isGuessable && wrongCodes > totpWrongCodesMax) throw lockedError();
      return code?.kind === "totp"
        ? await this.#verifyTotp(step, { ...input, code: code.code })
        : await this.#verifyRecoveryCode(step, { ...input, code: code?.code ?? null });
    } catch (error) {
      if (isGuessable && wrongCodes >= totpWrongCodesMax) await this.#lock(input);
      if (Number(attempts) >= secondStepAttemptsMax) {
        await database.write([deleteSpentPendingSignIn(step.tokenHash)]);
      }
      throw error;
    }
  }

  async #verifyTotp(step: SecondStep, { user, code }: CodeInput): Promise<VerifiedStep> {
    const totp = await findTotp(this.#base.database, step.userId);
    const codeStep = totp === undefined ? null : await totpStep({ secret: totp.secret, code }, step.now);
    // A code works once: someone who saw it being typed can't use it.
    if (totp === undefined || codeStep === null || codeStep <= totp.lastStep) throw codeError("totp");
    return {
      user,
      now: step.now,
      method: "password and code",
      factor: "otp",
      use: useTotpStep({ ...step, secret: totp.secret, step: codeStep }),
      after: (audited) => this.#finish(step, audited),
    };
  }

  async #verifyRecoveryCode(
    step: SecondStep,
    { user, code }: { user: UserCredentials; code: string | null },
  ): Promise<VerifiedStep> {
    const { userId, now } = step;
    const { database } = this.#base;
    const codeHash = code === null ? "" : hashRecoveryCode(code);
    if (!await hasRecoveryCode(database, { userId, codeHash })) throw codeError("recovery");
    const left = await countRecoveryCodes(database, userId);
    const fields = { name: user.name, left: String(left - 1) };
    return {
      user,
      now,
      method: "password and recovery code",
      factor: "otp",
      use: useRecoveryCode({ ...step, codeHash, left }),
      after: (audited) => [
        ...this.#finish(step, audited),
        ...this.#mail.outgoing({ kind: "recovery_code_used", to: user.email, fields }, { now, audited }),
      ],
    };
  }

  #finish({ tokenHash, userId }: SecondStep, audited: string): Statement[] {
    return [
      consumePendingSignIn(tokenHash, { audited }),
      this.#credentials.forgetFailures(codeGuessSubject(userId), { audited }),
    ];
  }

  /** Locks the app's codes, and reports it once: in the audit log and by email. */
  async #lock({ user: { id, name, email, organizationId }, client }: CodeInput): Promise<void> {
    const { database, clock } = this.#base;
    const now = clock();
    const entry = { action: "two_step.locked", organizationId, target: { id, name: email } } as const;
    const audit = insertAuditEvent({ type: "anonymous", client }, entry, { now });
    const fields = { name, wrongCodes: String(totpWrongCodesMax) };
    await database.write([
      lockTotp(id, now),
      audit.statement,
      ...this.#mail.outgoing({ kind: "two_step_locked", to: email, fields }, { now, audited: audit.id }),
    ]);
    this.#mail.wake();
  }
}

/** Counts code guesses for the account and not for the token, so that starting over gives no more guesses. */
export function codeGuessSubject(userId: string): string {
  return `second:${userId}`;
}

export function signInExpiredError(): AppError {
  return new AppError("two_step_state", "This sign-in has expired. Sign in again.");
}

function codeError(kind: SecondStepCode["kind"]): AppError {
  const help = kind === "totp" ? " Your app shows a new one every 30 seconds." : "";
  const message = `This code is incorrect or was already used.${help}`;
  return new AppError("invalid_code", message, { details: [{ path: "code", message }] });
}

function lockedError(): AppError {
  return new AppError(
    "codes_locked",
    "Too many wrong codes were entered. Use a recovery code or a passkey, or reset your password.",
  );
}

/** Returns new recovery codes in the form that people see, and their hashes. */
export function newRecoveryCodes(): { codes: string[]; codeHashes: string[] } {
  const codes = Array.from({ length: recoveryCodesMax }, () => recoveryCode(randomBytes(10)));
  return { codes, codeHashes: codes.map((code) => hashRecoveryCode(parseSecondStepCode(code)?.code ?? "")) };
}

/** Hashes a code in canonical form: 80 random bits need neither salt nor a slow hash. */
function hashRecoveryCode(code: string): string {
  return hashToken(`recovery:${code}`);
}
