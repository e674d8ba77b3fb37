// How a person who is signed in proves again who they are: with their password, a passkey, or a code of two-step sign-in.
import {
  hashToken,
  hasOperatorSignIn,
  newToken,
  requireAllowed,
  requireRecentAuthentication,
  sessionSubject,
  writeChange,
} from "../access/mod.ts";
import {
  findUserCredentialsById,
  updateSessionAuthenticated,
  updateSessionAuthenticatedIfAudited,
  type UserCredentials,
} from "../../db/access/mod.ts";
import { findPasskeysOfUser, usePasskey } from "../../db/people/passkeys.ts";
import { insertPendingSignIn } from "../../db/people/pending_sign_ins.ts";
import type { SessionActor } from "../../domain/access/actor.ts";
import { AppError, secondFactorRequiredError, validationError } from "../../domain/errors.ts";
import { secondStepTimeoutMs } from "../../domain/limits.ts";
import type { SessionContext } from "../context.ts";
import { findActingUser } from "./account.ts";
import { type ChallengeWriter, checkPasskey, ownPasskeyOptions } from "./passkey_check.ts";
import { signInExpiredError, type VerifiedStep } from "./second_step_codes.ts";
import type { PasskeyAnswer, PasskeyOptions } from "./webauthn.ts";

/** Allows changes of passkeys, apps and recovery codes. @throws {AppError} `proof_required`, `second_factor_required`. */
export async function requireMayChangeFactors(context: SessionContext, actor: SessionActor): Promise<void> {
  requireRecentAuthentication(actor, context.clock());
  await requireOwnSecondFactor(context, actor);
}

/**
 * Requires that operators who have a second factor used it: with a password, or an email, anyone could replace it and open the
 * console.
 *
 * @throws {AppError} `second_factor_required`.
 */
export async function requireOwnSecondFactor(
  { database, clock }: SessionContext,
  actor: SessionActor,
): Promise<void> {
  if (!actor.isOperator || hasOperatorSignIn(actor, clock())) return;
  const [user, passkeys] = await Promise.all([
    findUserCredentialsById(database, actor.user.id),
    findPasskeysOfUser(database, actor.user.id),
  ]);
  if (user?.hasTotp === 1 || passkeys.length > 0) throw secondFactorRequiredError();
}

/**
 * Checks a signed-in person's own password, as a guess of their session.
 *
 * @param input `field`: where the password was entered, for the error. `action`: runs if it is right; its batch must include
 *   `credentials.forgetFailures(sessionSubject(actor))`.
 * @throws {AppError} `invalid_credentials`, also without a password; `rate_limited`, `unavailable`, or the error of the action.
 */
export async function withOwnPassword<T>(
  { credentials }: SessionContext,
  actor: SessionActor,
  input: { user: UserCredentials; password: string; field?: string; action: () => Promise<T> },
): Promise<T> {
  const wrong = (message: string) => {
    const options = input.field === undefined ? {} : { details: [{ path: input.field, message }] };
    return new AppError("invalid_credentials", message, options);
  };
  if (input.user.hasPassword === 0) {
    throw wrong("Your account has no password. Use a passkey, or confirm with your provider.");
  }
  const guess = {
    subject: sessionSubject(actor),
    actor,
    failureAction: "password.refused",
    about: () => ({}),
  } as const;
  return await credentials.guess(guess, async () => {
    if (await credentials.isPassword(input.user, input.password)) return await input.action();
    throw wrong("Incorrect password.");
  });
}

/**
 * Authenticates a signed-in person again: by password, and by a code if two-step sign-in is on.
 *
 * @throws {AppError} `validation_failed` without a code, `invalid_credentials`, `invalid_code`, `codes_locked`,
 *   `rate_limited`, `unavailable`.
 */
export async function reauthenticate(
  context: SessionContext,
  actor: SessionActor,
  { password, code = "" }: { password: string; code?: string | undefined },
): Promise<void> {
  const user = await findActingUser(context, actor);
  if (user.hasTotp && code.trim() === "") {
    const message = "Enter a code from your authenticator app, or a recovery code.";
    throw validationError([{ path: "code", message }]);
  }
  await withOwnPassword(context, actor, {
    user,
    password,
    async action() {
      if (user.hasTotp) return await useCode(context, actor, { user, code });
      await context.writeAs(actor, [
        context.credentials.forgetFailures(sessionSubject(actor)),
        updateSessionAuthenticated(actor.id, context.clock()),
      ]);
    },
  });
}

/** Uses a code as in a sign-in that begins now, and updates the session instead of creating one. */
async function useCode(
  context: SessionContext,
  actor: SessionActor,
  { user, code }: { user: UserCredentials; code: string },
): Promise<void> {
  const { clock, mail, secondStepCodes, writeAs } = context;
  const now = clock();
  const step = { tokenHash: hashToken(newToken()), userId: user.id, now };
  const pending = { ...step, expiresAt: now + secondStepTimeoutMs, isInSession: true };
  await writeAs(actor, [insertPendingSignIn(pending, user.passwordHash)]);
  const checked = await secondStepCodes.check(step, { user, code, client: actor.client });
  if (!await confirmWith(context, actor, checked)) throw signInExpiredError();
  mail.wake();
}

/** Confirms a session with a second factor. Returns false if that was used meanwhile. */
async function confirmWith(
  context: SessionContext,
  actor: SessionActor,
  { use, method, factor, after }: Pick<VerifiedStep, "use" | "method" | "factor" | "after">,
): Promise<boolean> {
  return await writeChange(context, actor, {
    statement: use,
    entry: { action: "session.proved", details: { method } },
    after: ({ now, audited }) => [
      updateSessionAuthenticatedIfAudited(actor.id, { now, audited, factor }),
      context.credentials.forgetFailures(sessionSubject(actor), { audited }),
      ...after(audited),
    ],
  });
}

/** Returns options for a browser. @throws {AppError} `two_step_state` without a passkey, `rate_limited`. */
export async function beginPasskeyProof(
  context: SessionContext,
  actor: SessionActor,
): Promise<PasskeyOptions> {
  requireAllowed(context.rateLimits.passkeyChallenges.takeForUser(actor.user.id));
  return await ownPasskeyOptions(context, sessionChallengeWriter(context, actor), actor.user.id);
}

/** Authenticates a signed-in person again with a passkey alone. @throws {AppError} `invalid_credentials`, `rate_limited`. */
export async function reauthenticateWithPasskey(
  context: SessionContext,
  actor: SessionActor,
  answer: PasskeyAnswer,
): Promise<void> {
  const { credentials, clock } = context;
  const userId = actor.user.id;
  const subject = sessionSubject(actor);
  const guess = { subject, actor, failureAction: "session.proof_refused", about: () => ({}) } as const;
  await credentials.guess(guess, async () => {
    const found = await checkPasskey(context, sessionChallengeWriter(context, actor), { answer, userId });
    const use = found && usePasskey({ ...found, userId, now: clock() });
    const step = { method: "passkey", factor: "pop", after: () => [] } as const;
    if (use !== null && await confirmWith(context, actor, { use, ...step })) return;
    throw new AppError("invalid_credentials", "This passkey was rejected. Try again, or use your password.");
  });
}

export function sessionChallengeWriter(
  { writeAs, clock }: SessionContext,
  actor: SessionActor,
): ChallengeWriter {
  return { write: (batch) => writeAs(actor, batch), now: clock() };
}
