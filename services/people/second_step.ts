// The second step of signing in, with a code. passkey_sign_in.ts has the one with a passkey. The batch that creates the
// session uses up its permission: the pending sign-in, the code, the passkey's counter.
import { findUserCredentialsById, insertAuditedSession } from "../../db/access/mod.ts";
import { findUsablePasskeys } from "../../db/people/passkeys.ts";
import {
  findPendingSignIns,
  type PendingIdentity,
  type PendingSignIn,
} from "../../db/people/pending_sign_ins.ts";
import type { ClientInfo } from "../../domain/access/actor.ts";
import type { Context } from "../context.ts";
import { enterWithIdentity } from "./provider_identity.ts";
import { codeGuessSubject, signInExpiredError, type VerifiedStep } from "./second_step_codes.ts";
import { wellFormedHash } from "../access/mod.ts";
import { createSession, type SignedIn } from "./sign_in.ts";

/** Finds the sign-in that waits for one of these tokens. Returns null if there is none, or if they are of different people. */
export async function findPendingSignIn(context: Context, tokens: readonly string[]) {
  const found = await findPending(context, tokens);
  if (found === null) return null;
  const passkeys = await findUsablePasskeys(context.database, {
    userId: found.userId,
    host: context.config.baseUrl.hostname,
  });
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
  const { clock, credentials, secondStepCodes } = context;
  const pending = await requirePending(context, token);
  const { tokenHash, userId, user } = pending;
  return await credentials.guess({
    subject: codeGuessSubject(userId),
    account: userId,
    actor: { type: "anonymous", client },
    failureAction: "session.second_step_refused",
    about: () => ({ organizationId: user.organizationId, target: { id: userId, name: user.email } }),
  }, async () => {
    const step = await secondStepCodes.check({ tokenHash, userId, now: clock() }, { user, code, client });
    const signedIn = await createVerifiedSession(context, client, { ...step, pending });
    if (signedIn === null) throw signInExpiredError();
    return signedIn;
  });
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

/** @throws {AppError} `two_step_state` if the sign-in has expired. */
export async function requirePending(context: Context, token: string) {
  const found = await findPending(context, [token]);
  if (found === null) throw signInExpiredError();
  return found;
}

/**
 * Returns null if the code or passkey was used meanwhile, or if the identity that the sign-in began with no longer signs the user in.
 *
 * @param step `pending`: the sign-in that it completes; null for a passkey alone.
 * @throws {AppError} `organization_suspended`, `limit_reached`.
 */
export async function createVerifiedSession(
  context: Context,
  client: ClientInfo,
  { user, pending, method, factor, now, use, after }: VerifiedStep & { pending: PendingSignIn | null },
): Promise<SignedIn | null> {
  const { provider = null, tokenHash: pendingHash = null } = pending ?? {};
  const details = provider === null ? { method } : { provider, step: method.replace("password and ", "") };
  const identity = identityOf(pending);
  const signedIn = await createSession(context, client, user, {
    details,
    async batchOf(row, audit) {
      const audited = audit.id;
      const entering = identity && await enterWithIdentity(context, client, { user, identity, audited, now });
      if (identity !== null && entering === null) return null;
      return {
        use,
        audit: audit.statement,
        entering: entering ?? [],
        session: insertAuditedSession(row, { audited, pendingHash, factor, use: identity ?? undefined }),
        after: after(audited),
      };
    },
  });
  context.mail.wake();
  return signedIn;
}

/** Returns the identity that a sign-in began with; null for a password. */
function identityOf(pending: PendingSignIn | null): PendingIdentity | null {
  const { providerId = null, issuer = null, subject = null, email = null } = pending ?? {};
  return providerId === null || issuer === null || subject === null
    ? null
    : { providerId, issuer, subject, email };
}
