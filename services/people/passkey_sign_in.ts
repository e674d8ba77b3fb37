// Signing in with a passkey, alone or as the second step. passkey_check.ts checks its answer.
import { type UserCredentials, writeAuditEvent } from "../../db/access/mod.ts";
import { usePasskey, usePasskeyInSecondStep } from "../../db/people/passkeys.ts";
import { consumePendingSignIn } from "../../db/people/pending_sign_ins.ts";
import type { ClientInfo } from "../../domain/access/actor.ts";
import { AppError } from "../../domain/errors.ts";
import type { Context } from "../context.ts";
import { requireAllowed } from "../access/mod.ts";
import { requirePasskeyPermitted } from "./domain_rules.ts";
import { checkPasskey, createChallenge, ownPasskeyOptions, relyingParty } from "./passkey_check.ts";
import { createVerifiedSession, requirePending } from "./second_step.ts";
import { signInExpiredError } from "./second_step_codes.ts";
import type { SignedIn } from "./sign_in.ts";
import { type PasskeyAnswer, signInOptions, userOfHandle } from "./webauthn.ts";

/**
 * Returns the options for `navigator.credentials.get()`.
 *
 * @param token Of the sign-in whose second step this is. Without one the passkey signs in alone, and the result doesn't depend
 *   on who asks.
 * @throws {AppError} `two_step_state`, `rate_limited`.
 */
export async function beginPasskeySignIn(context: Context, client: ClientInfo, token: string | undefined) {
  requireAllowed(context.rateLimits.passkeyChallenges.take(client));
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

/** Signs in, or completes a sign-in. @throws {AppError} `sso_required`, `invalid_credentials`, `two_step_state`, `rate_limited`. */
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
  const account = pending?.userId ?? userOfHandle(response.response.userHandle);
  if (found === null) return await rejectPasskey(context, client, { user: pending?.user ?? null, account });
  const { user, id, counter, host } = found;
  if (pending === null) await requirePasskeyPermitted(context, user);
  const now = context.clock();
  const use = { id, counter, host, userId: user.id, now };
  const signedIn = await createVerifiedSession(context, client, {
    user,
    now,
    pending,
    factor: "pop",
    ...(pending === null ? { method: "passkey", use: usePasskey(use), after: () => [] } : {
      method: "password and passkey",
      use: usePasskeyInSecondStep({ ...use, tokenHash: pending.tokenHash }),
      after: (audited) => [consumePendingSignIn(pending.tokenHash, { audited })],
    }),
  });
  if (signedIn !== null) return signedIn;
  if (pending !== null) throw signInExpiredError();
  return await rejectPasskey(context, client, { user: null, account });
}

async function rejectPasskey(
  { credentials, database, clock }: Context,
  client: ClientInfo,
  { user, account }: { user: UserCredentials | null; account: string | null },
): Promise<never> {
  credentials.countAddressFailure(client, { account });
  await writeAuditEvent(database, { type: "anonymous", client }, {
    action: user === null ? "session.refused" : "session.second_step_refused",
    organizationId: user?.organizationId ?? null,
    ...(user === null ? {} : { target: { id: user.id, name: user.email } }),
    details: { method: "passkey" },
  }, clock());
  throw new AppError("invalid_credentials", "This passkey was rejected. Try again, or sign in another way.");
}

function challengeWriter({ database, clock }: Context) {
  return { write: database.write.bind(database), now: clock() };
}
