// All SQL of authenticator apps. A code is good once: each use moves `last_step` on, in the batch that makes the session.
import { totpWrongCodesMax } from "../../domain/limits.ts";
import { ifAudited } from "../audit.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { ifSecondStepWaits, type SecondStep, secondStepArgs } from "./pending_sign_ins.ts";

/** A condition on a user `u`: two-step sign-in is on. */
export const hasTwoStep =
  sql`EXISTS (SELECT 1 FROM totp t WHERE t.user_id = u.id AND t.confirmed_at IS NOT NULL)`;

/** A user's authenticator app. Times in milliseconds since 1970. */
export interface TotpRow {
  /** Base32. */
  readonly secret: string;
  /** Two-step sign-in is on since then; null while it is being set up. */
  readonly confirmedAt: number | null;
  /** The time step of the last code that was used. */
  readonly lastStep: number;
  /** Since when its codes are not taken any more; null while they are. */
  readonly lockedAt: number | null;
}

/** @returns A user's authenticator app, or undefined. @throws {DatabaseError} */
export function findTotp(database: DatabaseReader, userId: string): Promise<TotpRow | undefined> {
  return database.readFirst(
    sql`SELECT secret, confirmed_at AS confirmedAt, last_step AS lastStep, locked_at AS lockedAt
     FROM totp WHERE user_id = ${userId}`,
  );
}

/** @returns A statement that begins anew with a secret; it does nothing while two-step sign-in is on. */
export function insertTotp(totp: { userId: string; secret: string; now: number }): Statement {
  return sql`INSERT INTO totp (user_id, secret, created_at, confirmed_at, last_step) VALUES (${totp.userId}, ${totp.secret}, ${totp.now}, NULL, 0)
     ON CONFLICT (user_id) DO UPDATE SET secret = ${totp.secret}, created_at = ${totp.now}, last_step = 0 WHERE confirmed_at IS NULL`;
}

/**
 * @returns A statement that turns two-step sign-in on, if this very secret still waits for its first code.
 */
export function updateTotpConfirmed(
  totp: { userId: string; secret: string; step: number; now: number },
): Statement {
  return sql`UPDATE totp SET confirmed_at = ${totp.now}, last_step = ${totp.step} WHERE user_id = ${totp.userId} AND secret = ${totp.secret} AND confirmed_at IS NULL`;
}

/**
 * @param totp `step`: of the code. It must be later than that of every code before.
 * @returns A statement that uses a code up in a sign-in that waits for it. Wrong codes before it count no more.
 */
export function useTotpStep(totp: SecondStep & { secret: string; step: number }): Statement {
  return sql(
    `UPDATE totp SET last_step = ?4, wrong_codes = 0, locked_at = NULL
     WHERE user_id = ?2 AND secret = ?5 AND last_step < ?4 AND ${ifSecondStepWaits}`,
    ...secondStepArgs(totp),
    totp.step,
    totp.secret,
  );
}

/**
 * Counts a code as wrong before it is looked at, so that of many at once no more are looked at than there may be.
 *
 * @returns A statement for directly after the one that counts the attempt of the sign-in, which it depends on. It returns
 *   a row with the number of `wrongCodes`, this one included, or none when there were too many.
 */
export function countTotpGuess(userId: string): Statement {
  return sql`UPDATE totp SET wrong_codes = wrong_codes + 1 WHERE user_id = ${userId} AND wrong_codes < ${totpWrongCodesMax} AND changes() > 0
     RETURNING wrong_codes AS wrongCodes`;
}

/** @returns A statement that notes since when codes are not taken, once; it does nothing before there were too many. */
export function lockTotp(userId: string, now: number): Statement {
  return sql`UPDATE totp SET locked_at = ${now} WHERE user_id = ${userId} AND locked_at IS NULL AND wrong_codes >= ${totpWrongCodesMax}`;
}

/** @returns A statement that lets codes be taken again after an audited change: whoever guessed knows the password no more. */
export function unlockTotp(userId: string, { audited }: { audited: string }): Statement {
  return sql`UPDATE totp SET wrong_codes = 0, locked_at = NULL WHERE user_id = ${userId} AND ${
    ifAudited(audited)
  }`;
}

/** @returns A statement that changes nothing, and counts as a change only while two-step sign-in is on. */
export function requireTotp(userId: string): Statement {
  return sql`UPDATE totp SET secret = secret WHERE user_id = ${userId} AND confirmed_at IS NOT NULL`;
}

/**
 * @returns A statement that turns two-step sign-in off, if the session proved who they are since it is on: with a code or a
 *   passkey then. It does nothing when it is off.
 */
export function deleteTotpIfAuthenticated(userId: string, { sessionId }: { sessionId: string }): Statement {
  return sql`DELETE FROM totp WHERE user_id = ${userId} AND confirmed_at IS NOT NULL
       AND EXISTS (SELECT 1 FROM sessions s WHERE s.id = ${sessionId} AND s.user_id = ${userId} AND s.proved_at > totp.confirmed_at)`;
}

/** @returns A statement that turns two-step sign-in off after an audited change; it does nothing when it is off. */
export function deleteTotp(userId: string, { audited }: { audited: string }): Statement {
  return sql`DELETE FROM totp WHERE user_id = ${userId} AND confirmed_at IS NOT NULL AND ${
    ifAudited(audited)
  }`;
}
