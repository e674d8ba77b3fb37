// SQL of authenticator apps. A code works once: each use moves `last_step` forward, in the batch that creates the session.
import { totpWrongCodesMax } from "../../domain/limits.ts";
import { ifAudited } from "../access/mod.ts";
import { type DatabaseReader, sql } from "../engine/database.ts";
import { ifSecondStepPending, type SecondStep } from "./pending_sign_ins.ts";

interface TotpRow {
  /** Base32. */
  readonly secret: string;
  /** The time when two-step sign-in was turned on; null during the setup. */
  readonly confirmedAt: number | null;
  /** The time step of the last used code. */
  readonly lastStep: number;
  /** Its codes are rejected since then; null if they aren't. */
  readonly lockedAt: number | null;
}

export function findTotp(database: DatabaseReader, userId: string): Promise<TotpRow | undefined> {
  return database.readFirst(sql`
    SELECT secret, confirmed_at AS confirmedAt, last_step AS lastStep, locked_at AS lockedAt
    FROM totp WHERE user_id = ${userId}`);
}

/** Starts the setup with a new secret; does nothing if two-step sign-in is on. */
export function insertTotp({ userId, secret, now }: { userId: string; secret: string; now: number }) {
  return sql`
    INSERT INTO totp (user_id, secret, created_at, confirmed_at, last_step)
    VALUES (${userId}, ${secret}, ${now}, NULL, 0)
    ON CONFLICT (user_id) DO UPDATE SET secret = ${secret}, created_at = ${now}, last_step = 0
    WHERE confirmed_at IS NULL`;
}

/** Turns on two-step sign-in, if this secret still waits for its first code. */
export function updateTotpConfirmed(
  { userId, secret, step, now }: { userId: string; secret: string; step: number; now: number },
) {
  return sql`UPDATE totp SET confirmed_at = ${now}, last_step = ${step}
    WHERE user_id = ${userId} AND secret = ${secret} AND confirmed_at IS NULL`;
}

/** Uses a code up to complete a pending sign-in, and resets the count of wrong ones. @param totp `step`: of the code. */
export function useTotpStep(totp: SecondStep & { secret: string; step: number }) {
  const { userId, secret, step } = totp;
  return sql`
    UPDATE totp SET last_step = ${step}, wrong_codes = 0, locked_at = NULL
    WHERE user_id = ${userId} AND secret = ${secret} AND last_step < ${step} AND ${
    ifSecondStepPending(totp)
  }`;
}

/**
 * Counts a code as wrong before it is checked. Must directly follow the statement that counts the sign-in's attempt, on which it
 * depends. Returns the number of `wrongCodes` including this one, or no row if there were too many.
 */
export function countTotpGuess(userId: string) {
  return sql`
    UPDATE totp SET wrong_codes = wrong_codes + 1
    WHERE user_id = ${userId} AND wrong_codes < ${totpWrongCodesMax} AND changes() > 0
    RETURNING wrong_codes AS wrongCodes`;
}

/** Locks the app's codes, once there were too many wrong ones. */
export function lockTotp(userId: string, now: number) {
  return sql`UPDATE totp SET locked_at = ${now}
    WHERE user_id = ${userId} AND locked_at IS NULL AND wrong_codes >= ${totpWrongCodesMax}`;
}

/** Unlocks the app's codes, after an audited change of the password. */
export function unlockTotp(userId: string, { audited }: { audited: string }) {
  return sql`UPDATE totp SET wrong_codes = 0, locked_at = NULL
    WHERE user_id = ${userId} AND ${ifAudited(audited)}`;
}

/** Changes nothing, but counts as a change if two-step sign-in is on. */
export function requireTotp(userId: string) {
  return sql`UPDATE totp SET secret = secret WHERE user_id = ${userId} AND confirmed_at IS NOT NULL`;
}

/** Turns off two-step sign-in, if the session was authenticated after it was turned on: then with a code or a passkey. */
export function deleteTotpIfAuthenticated(userId: string, { sessionId }: { sessionId: string }) {
  return sql`
    DELETE FROM totp WHERE user_id = ${userId} AND confirmed_at IS NOT NULL AND EXISTS (
      SELECT 1 FROM sessions s
      WHERE s.id = ${sessionId} AND s.user_id = ${userId} AND s.proved_at > totp.confirmed_at)`;
}

/** Turns off two-step sign-in, after an audited change. */
export function deleteTotp(userId: string, { audited }: { audited: string }) {
  return sql`
    DELETE FROM totp WHERE user_id = ${userId} AND confirmed_at IS NOT NULL AND ${ifAudited(audited)}`;
}
