// Signing in with more than a password: the second step, and passkeys, which also sign in alone. The batch that creates the
// session uses up its permission: the pending sign-in, the code, the passkey's counter.
import { insertAuditEvent } from "../../db/audit.ts";
import { findPasskeysOfUser, usePasskey, usePasskeyInSecondStep } from "../../db/sign_in/passkeys.ts";
import { consumePendingSignIn, findPendingSignIns } from "../../db/sign_in/pending_sign_ins.ts";
import {
  deleteExpiredSessions,
  endReplacedSessions,
  insertAuditedSession,
} from "../../db/sign_in/sessions.ts";
import { findUserCredentialsById, type UserCredentials } from "../../db/account/users.ts";
import type { ClientInfo } from "../../domain/actor.ts";
import { AppError } from "../../domain/errors.ts";
import { sessionsPerUserMax } from "../../domain/limits.ts";
import type { Context } from "../context.ts";
import { rateLimited } from "./credentials.ts";
import { checkPasskey, createChallenge, ownPasskeyOptions, relyingParty } from "./passkey_challenges.ts";
import { codeGuessSubject, signInExpiredError, type VerifiedStep } from "./second_step_codes.ts";
import { newSession, sessionBounds, wellFormedHash } from "./session_tokens.ts";
import { personOf, selectSignedIn, type SignedIn, signedIn } from "./sign_in.ts";
import { type PasskeyAnswer, signInOptions } from "./webauthn.ts";

/** Finds the sign-in that waits for one of these tokens. Returns null if there is none, or if they are of different people. */
export async function findPendingSignIn(
  context: Context,
  tokens: readonly string[],
): Promise<{ token: string; email: string; hasPasskeys: boolean } | null> {
  const found = await findPending(context, tokens);
  if (found === null) return null;
  const passkeys = await findPasskeysOfUser(context.database, found.userId);
  return { token: found.token, email: found.user.email, hasPasskeys: passkeys.length > 0 };
}

/**
 * Completes a sign-in with a code from an authenticator app, or a recovery code.
 *
 * @throws {AppError} `invalid_code`; `codes_locked` if the app's codes are rejected until the password changes;
 *   `two_step_state` if the sign-in has expired; `rate_limited`.
 */
export async function signInWithCode(
  context: Context,
  client: ClientInfo,
  { token, code }: { token: string; code: string },
): Promise<SignedIn> {
  const { clock, credentials, mail, secondStepCodes } = context;
  const { tokenHash, userId, user } = await requirePending(context, token);
  return await credentials.guess({
    subject: codeGuessSubject(userId),
    actor: { type: "anonymous", client },
    failureAction: "session.second_step_refused",
    about: () => ({ organizationId: user.organizationId, target: { id: userId, name: user.email } }),
  }, async () => {
    const step = await secondStepCodes.check({ tokenHash, userId, now: clock() }, { user, code, client });
    const signedIn = await createSession(context, client, step);
    if (signedIn === null) throw signInExpiredError();
    mail.wake();
    return signedIn;
  });
}

/**
 * Returns the options for `navigator.credentials.get()`.
 *
 * @param token Of the sign-in whose second step this is. Without one the passkey signs in alone, and the result doesn't depend
 *   on who asks.
 * @throws {AppError} `two_step_state`, `rate_limited`.
 */
export async function beginPasskeySignIn(context: Context, client: ClientInfo, token: string | undefined) {
  const budget = context.rateLimits.passkeyChallenges.take(client);
  if (!budget.isAllowed) throw rateLimited(budget.resetMs);
  if (token === undefined) {
    const use = { purpose: "sign_in", userId: null } as const;
    return await signInOptions(relyingParty(context.config), {
      challenge: await createChallenge(challengeWriter(context), use),
      allowed: null,
    });
  }
  const { userId } = await requirePending(context, token);
  return await ownPasskeyOptions(context, challengeWriter(context), userId);
}

/**
 * Signs in with a passkey: alone, or with a token as the second step of that sign-in.
 *
 * @throws {AppError} `invalid_credentials`, `two_step_state`, `rate_limited`.
 */
export async function signInWithPasskey(
  context: Context,
  client: ClientInfo,
  { answer: response, token }: { answer: PasskeyAnswer; token?: string | undefined },
): Promise<SignedIn> {
  context.credentials.requireAddressBudget(client);
  const pending = token === undefined ? null : await requirePending(context, token);
  const found = await checkPasskey(context, challengeWriter(context), {
    answer: response,
    userId: pending?.userId ?? null,
  });
  if (found === null) return await rejectPasskey(context, client, pending?.user ?? null);
  const { user, id, counter } = found;
  const now = context.clock();
  const use = { id, counter, userId: user.id, now };
  const signedIn = await createSession(context, client, {
    user,
    now,
    ...(pending === null ? { method: "passkey", use: usePasskey(use), after: () => [] } : {
      method: "password and passkey",
      use: usePasskeyInSecondStep({ ...use, tokenHash: pending.tokenHash }),
      after: (audited) => [consumePendingSignIn(pending.tokenHash, { audited })],
    }),
  });
  if (signedIn !== null) return signedIn;
  if (pending !== null) throw signInExpiredError();
  return await rejectPasskey(context, client, null);
}

async function findPending({ database, clock }: Context, tokens: readonly string[]) {
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

async function requirePending(context: Context, token: string) {
  const found = await findPending(context, [token]);
  if (found === null) throw signInExpiredError();
  return found;
}

/** Returns null if the code or passkey was used meanwhile. */
async function createSession(
  context: Context,
  client: ClientInfo,
  { user, method, now, use, after }: VerifiedStep,
): Promise<SignedIn | null> {
  const { token, row } = newSession(user.id, { client, now });
  const entry = { action: "session.created", details: { method } } as const;
  const audit = insertAuditEvent(personOf(user, client), entry, { now });
  const results = await context.database.write([
    use,
    audit.statement,
    insertAuditedSession(row, audit.id),
    ...after(audit.id),
    deleteExpiredSessions(user.id, sessionBounds(context.config, now)),
    ...endReplacedSessions(row, { max: sessionsPerUserMax }),
    selectSignedIn(context, token, now),
  ]);
  return results[1]?.rows.length === 1 ? signedIn(results, token) : null;
}

async function rejectPasskey(
  { credentials, database, clock }: Context,
  client: ClientInfo,
  user: UserCredentials | null,
): Promise<never> {
  credentials.countAddressFailure(client);
  const { statement } = insertAuditEvent({ type: "anonymous", client }, {
    action: user === null ? "session.refused" : "session.second_step_refused",
    organizationId: user?.organizationId ?? null,
    ...(user === null ? {} : { target: { id: user.id, name: user.email } }),
    details: { method: "passkey" },
  }, { now: clock(), always: true });
  await database.write([statement]);
  throw new AppError("invalid_credentials", "This passkey was rejected. Try again, or sign in another way.");
}

function challengeWriter({ database, clock }: Context) {
  return { write: database.write.bind(database), now: clock() };
}
