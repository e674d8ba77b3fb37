// What proves more than a password: the second step of a sign-in, and passkeys, which sign in alone. The batch that makes the
// session also uses up what it was made for: the waiting sign-in, the code, the passkey's count.
import { insertAuditEvent } from "../../db/audit.ts";
import {
  findPasskeyByCredential,
  listPasskeys,
  usePasskey,
  usePasskeyInSecondStep,
} from "../../db/sign_in/passkeys.ts";
import { consumePendingSignIn, findPendingSignIns } from "../../db/sign_in/pending_sign_ins.ts";
import { deleteEndedSessions, endReplacedSessions, insertProvedSession } from "../../db/sign_in/sessions.ts";
import { findUserCredentialsById, type UserCredentials } from "../../db/account/users.ts";
import type { ClientInfo } from "../../domain/actor.ts";
import { addressGroup } from "../../domain/address_group.ts";
import { AppError } from "../../domain/errors.ts";
import { addressWindowMs, passkeyChallengesMax, sessionsPerUserMax } from "../../domain/limits.ts";
import type { BaseContext } from "../base_context.ts";
import { type Credentials, rateLimited } from "./credentials.ts";
import type { Mail } from "../mail/mail.ts";
import { createChallenge, relyingParty, takeChallenge } from "./passkey_challenges.ts";
import { RateLimiter } from "../rate_limiter.ts";
import { guessSubject, overError, type Proof, type SecondStepCodes } from "./second_step_codes.ts";
import { newSession, sessionBounds, wellFormedHash } from "./session_tokens.ts";
import { personOf, readSignedIn, type SignedIn } from "./sign_in.ts";
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

/** @param context See {@linkcode BaseContext}. */
export function createSecondStepService(
  context: BaseContext,
  { credentials, mail, codes }: { credentials: Credentials; mail: Mail; codes: SecondStepCodes },
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
      ...endReplacedSessions(row, { max: sessionsPerUserMax }),
    ]);
    return written?.rows.length === 1 ? await readSignedIn(context, token) : null;
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
    credentials.countAddressFailure(client);
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
        const proof = await codes.check({ tokenHash, userId, now: clock() }, { user, code, client });
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
      credentials.requireAddressBudget(client);
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
