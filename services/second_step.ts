// What proves more than a password: the second step of a sign-in, and passkeys, which sign in alone. The batch that makes the
// session also uses up what it was made for: the waiting sign-in, the code, the passkey's count.
import { insertAuditEvent } from "../db/audit.ts";
import type { Statement } from "../db/database.ts";
import { findPasskeyByCredential, listPasskeys, usePasskey, usePasskeyInSecondStep } from "../db/passkeys.ts";
import {
  consumePendingSignIn,
  countSecondStepAttempt,
  deleteSpentPendingSignIn,
  findPendingSignIns,
  type SecondStep,
} from "../db/pending_sign_ins.ts";
import { countRecoveryCodes, hasRecoveryCode, useRecoveryCode } from "../db/recovery_codes.ts";
import { deleteEndedSessions, insertProvedSession } from "../db/sessions.ts";
import { countTotpGuess, findTotp, lockTotp, useTotpStep } from "../db/totp.ts";
import { findUserCredentialsById, type UserCredentials } from "../db/users.ts";
import type { ClientInfo } from "../domain/actor.ts";
import { addressGroup } from "../domain/address_group.ts";
import { AppError } from "../domain/errors.ts";
import {
  addressWindowMs,
  passkeyChallengesMax,
  secondStepAttemptsMax,
  totpWrongCodesMax,
} from "../domain/limits.ts";
import { parseSecondStepCode, type SecondStepCode } from "../domain/recovery_code.ts";
import type { ServiceContext } from "./context.ts";
import { type Credentials, rateLimited } from "./credentials.ts";
import type { MailService } from "./mail.ts";
import { createChallenge, relyingParty, takeChallenge } from "./passkey_challenges.ts";
import { RateLimiter } from "./rate_limiter.ts";
import { hashRecoveryCode } from "./recovery_codes.ts";
import { newSession, sessionBounds, wellFormedHash } from "./session_tokens.ts";
import { personOf, readSignedIn, type SignedIn } from "./sign_in.ts";
import { totpStep } from "./totp.ts";
import {
  type PasskeyAnswer,
  type PasskeyOptions,
  signInOptions,
  userOfHandle,
  verifySignIn,
} from "./webauthn.ts";

/** A sign-in whose password was right. */
export interface WaitingSignIn {
  readonly token: string;
  /** The account's address. */
  readonly email: string;
  readonly hasPasskeys: boolean;
}

/** The verbs of the second step, and of passkeys that sign in. */
export interface SecondStepService {
  /** @returns The sign-in that waits for one of these tokens, or null; also when they are of different people. */
  findWaiting(tokens: readonly string[]): Promise<WaitingSignIn | null>;
  /**
   * Ends a sign-in with a code of the authenticator app, or with a recovery code.
   *
   * @throws {AppError} `invalid_code`; `codes_locked` when the app's codes are not taken until the password is new;
   *   `two_step_state` when the password has to be given again; `rate_limited`.
   */
  finishWithCode(input: { token: string; code: string }, client: ClientInfo): Promise<SignedIn>;
  /**
   * @param token Of the sign-in whose second step it will be; without one the passkey signs in alone, and the answer is alike for
   *   everybody.
   * @returns What the browser needs to ask for a passkey.
   * @throws {AppError} `two_step_state`, `rate_limited`.
   */
  beginPasskeySignIn(token: string | undefined, client: ClientInfo): Promise<PasskeyOptions>;
  /**
   * Signs in with a passkey: alone, or with a token as the second step of that sign-in.
   *
   * @throws {AppError} `invalid_credentials`, `two_step_state`, `rate_limited`.
   */
  finishWithPasskey(
    input: { answer: PasskeyAnswer; token?: string | undefined },
    client: ClientInfo,
  ): Promise<SignedIn>;
}

/** What the session is made for, in the order of the batch. */
interface Proof {
  readonly user: UserCredentials;
  readonly method: string;
  readonly now: number;
  /** Uses the proof up; when it changes nothing there is no session. */
  readonly use: Statement;
  /** What else happens with it. @param audited The id of the audit entry. */
  readonly after: (audited: string) => readonly Statement[];
}

/** @param context See {@linkcode ServiceContext}. */
export function createSecondStepService(
  context: ServiceContext,
  { credentials, mail }: { credentials: Credentials; mail: MailService },
): SecondStepService {
  const { config, database, clock } = context;
  const party = relyingParty(config);
  const challenges = new RateLimiter({ points: passkeyChallengesMax, windowMs: addressWindowMs, clock });

  const challengeWriter = () => ({ write: database.write.bind(database), now: clock() });

  async function waiting(tokens: readonly string[]) {
    const hashes = new Map<string, string>();
    for (const token of tokens) {
      const tokenHash = wellFormedHash(token);
      if (tokenHash !== null) hashes.set(tokenHash, token);
    }
    if (hashes.size === 0) return null;
    const found = await findPendingSignIns(database, { tokenHashes: [...hashes.keys()], now: clock() });
    const latest = found.at(-1);
    if (latest === undefined || found.some(({ userId }) => userId !== latest.userId)) return null;
    const user = await findUserCredentialsById(database, latest.userId);
    return user === undefined ? null : { ...latest, token: hashes.get(latest.tokenHash) ?? "", user };
  }

  async function requireWaiting(token: string) {
    const found = await waiting([token]);
    if (found === null) throw overError();
    return found;
  }

  /** @returns The new session, or null when the proof was used up, or is none any more. */
  async function signInWith(proof: Proof, client: ClientInfo): Promise<SignedIn | null> {
    const { user, method, now } = proof;
    const { token, row } = newSession(user.id, { client, now });
    const audit = insertAuditEvent(
      personOf(user, client),
      { action: "session.created", details: { method } },
      {
        now,
      },
    );
    const [, written] = await database.write([
      proof.use,
      audit.statement,
      insertProvedSession(row, audit.id),
      ...proof.after(audit.id),
      deleteEndedSessions(user.id, sessionBounds(config, now)),
    ]);
    return written?.rows.length === 1 ? await readSignedIn(context, token) : null;
  }

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
      // A code is good once: whoever saw it being typed cannot use it.
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
    // Recovery codes are too long to be guessed, and let in whoever is locked out.
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

  /** @returns The passkey that answered, its user, and what its counter says; null when anything is wrong. */
  async function checkPasskey(answer: PasskeyAnswer, userId: string | null) {
    const purpose = userId === null ? "sign_in" : "second_step";
    const challenge = await takeChallenge(challengeWriter(), { purpose, userId, answer });
    if (challenge === null) return null;
    const passkey = await findPasskeyByCredential(database, answer.id);
    if (passkey === undefined) return null;
    // Alone it must say whose it is; and it must be that one's, and in a second step the one's who gave the password.
    const handle = userOfHandle(answer.response.userHandle) ?? userId;
    if (handle !== passkey.userId || (userId !== null && userId !== passkey.userId)) return null;
    const user = await findUserCredentialsById(database, passkey.userId);
    if (user?.disabledAt !== null) return null;
    const counter = await verifySignIn(party, { answer, challenge, passkey });
    return counter === null ? null : { id: passkey.id, counter, user };
  }

  async function refusePasskey(user: UserCredentials | null, client: ClientInfo): Promise<never> {
    credentials.takeAddressBudget(client);
    const { statement } = insertAuditEvent({ type: "anonymous", client }, {
      action: user === null ? "session.refused" : "session.second_step_refused",
      organizationId: user?.organizationId ?? null,
      ...(user === null ? {} : { target: { id: user.id, name: user.email } }),
      details: { method: "passkey" },
    }, { now: clock(), always: true });
    await database.write([statement]);
    throw new AppError("invalid_credentials", "This passkey was not accepted. Try again, or another way.");
  }

  return {
    async findWaiting(tokens) {
      const found = await waiting(tokens);
      if (found === null) return null;
      const passkeys = await listPasskeys(database, found.userId);
      return { token: found.token, email: found.user.email, hasPasskeys: passkeys.length > 0 };
    },

    async finishWithCode({ token, code }, client) {
      const { tokenHash, userId, user } = await requireWaiting(token);
      return await credentials.guess({
        // Of the account and not of the token: starting over gives no more guesses.
        subject: guessSubject(userId),
        actor: { type: "anonymous", client },
        refused: "session.second_step_refused",
        about: () => ({
          organizationId: user.organizationId,
          target: { id: userId, name: user.email },
        }),
      }, async () => {
        const proof = await checkCode({ tokenHash, userId, now: clock() }, { user, code, client });
        const signedIn = await signInWith(proof, client);
        if (signedIn === null) throw overError();
        mail.wake();
        return signedIn;
      });
    },

    async beginPasskeySignIn(token, client) {
      const budget = challenges.take(addressGroup(client.address));
      if (!budget.isAllowed) throw rateLimited(budget.resetMs);
      if (token === undefined) {
        const challenge = await createChallenge(challengeWriter(), { purpose: "sign_in", userId: null });
        return await signInOptions(party, { challenge, allowed: null });
      }
      const { userId } = await requireWaiting(token);
      const allowed = await listPasskeys(database, userId);
      if (allowed.length === 0) throw new AppError("two_step_state", "This account has no passkeys.");
      const challenge = await createChallenge(challengeWriter(), { purpose: "second_step", userId });
      return await signInOptions(party, { challenge, allowed });
    },

    async finishWithPasskey({ answer, token }, client) {
      credentials.peekAddressBudget(client);
      const step = token === undefined ? null : await requireWaiting(token);
      const found = await checkPasskey(answer, step?.userId ?? null);
      if (found === null) return await refusePasskey(step?.user ?? null, client);
      const { user, id, counter } = found;
      const now = clock();
      const common = { user, now };
      const signedIn = await signInWith(
        step === null
          ? {
            ...common,
            method: "passkey",
            use: usePasskey({ id, counter, userId: user.id, now }),
            after: () => [],
          }
          : {
            ...common,
            method: "password and passkey",
            use: usePasskeyInSecondStep({ id, counter, tokenHash: step.tokenHash, userId: user.id, now }),
            after: (audited) => [consumePendingSignIn(step.tokenHash, { audited })],
          },
        client,
      );
      if (signedIn !== null) return signedIn;
      if (step !== null) throw overError();
      return await refusePasskey(null, client);
    },
  };
}

function guessSubject(userId: string): string {
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

function overError(): AppError {
  return new AppError("two_step_state", "This sign-in took too long, or is over. Enter your password again.");
}
