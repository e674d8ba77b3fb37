// All SQL of sign-ins that wait for their second step. The token is not here, only its SHA-256.
import { secondStepAttemptsMax } from "../../domain/limits.ts";
import { ifAudited } from "../audit.ts";
import { type Database, sql, type Statement } from "../engine/database.ts";

/** A sign-in whose password was right. Times in milliseconds since 1970. */
export interface NewPendingSignIn {
  readonly tokenHash: string;
  readonly userId: string;
  readonly expiresAt: number;
}

/**
 * @returns A statement that notes that the password was right. It does nothing for a user who is disabled, has got another
 *   password since, or has turned two-step sign-in off.
 */
export function insertPendingSignIn(pending: NewPendingSignIn, passwordHash: string): Statement {
  return sql`INSERT INTO pending_sign_ins (token_hash, user_id, expires_at, attempts)
     SELECT ${pending.tokenHash}, u.id, ${pending.expiresAt}, 0 FROM users u WHERE u.id = ${pending.userId} AND u.disabled_at IS NULL AND u.password_hash = ${passwordHash}
       AND EXISTS (SELECT 1 FROM totp t WHERE t.user_id = u.id AND t.confirmed_at IS NOT NULL)`;
}

/** A sign-in at its second step. `now`: milliseconds since 1970. */
export interface SecondStep {
  readonly tokenHash: string;
  readonly userId: string;
  readonly now: number;
}

const waits =
  `p.expires_at > ?3 AND EXISTS (SELECT 1 FROM users u WHERE u.id = p.user_id AND u.disabled_at IS NULL)
  AND EXISTS (SELECT 1 FROM totp t WHERE t.user_id = p.user_id AND t.confirmed_at IS NOT NULL)`;

/**
 * A condition: this sign-in still waits, its user is not disabled and has not turned two-step sign-in off. Its parameters
 * are the first three of the statement: {@linkcode secondStepArgs}.
 */
export const ifSecondStepWaits =
  `EXISTS (SELECT 1 FROM pending_sign_ins p WHERE p.token_hash = ?1 AND p.user_id = ?2 AND ${waits})`;

/** @returns The parameters of {@linkcode ifSecondStepWaits}. */
export function secondStepArgs({ tokenHash, userId, now }: SecondStep) {
  return [tokenHash, userId, now] as const;
}

/** @returns Of some tokens those that wait for their second step, the newest last. @throws {DatabaseError} */
export function findPendingSignIns(
  database: Database,
  { tokenHashes, now }: { tokenHashes: readonly string[]; now: number },
): Promise<{ tokenHash: string; userId: string }[]> {
  return database.read(sql(
    `SELECT p.token_hash AS tokenHash, p.user_id AS userId FROM pending_sign_ins p
     WHERE p.token_hash IN (SELECT value FROM json_each(?1)) AND p.attempts < ?2 AND ${waits} ORDER BY p.expires_at`,
    JSON.stringify(tokenHashes),
    secondStepAttemptsMax,
    now,
  ));
}

/**
 * Counts a code before it is looked at, so that of many at once no more are looked at than there may be.
 *
 * @returns A statement that returns a row with the number of `attempts`, this one included, or none when there were too many.
 */
export function countSecondStepAttempt(step: SecondStep): Statement {
  return sql(
    `UPDATE pending_sign_ins SET attempts = attempts + 1
     WHERE token_hash = ?1 AND attempts < ?4 AND ${ifSecondStepWaits} RETURNING attempts`,
    ...secondStepArgs(step),
    secondStepAttemptsMax,
  );
}

/** @returns A statement that ends a sign-in which had all its attempts. */
export function deleteSpentPendingSignIn(tokenHash: string): Statement {
  return sql`DELETE FROM pending_sign_ins WHERE token_hash = ${tokenHash} AND attempts >= ${secondStepAttemptsMax}`;
}

/** @returns A statement that uses a sign-in's first step up, with the second. */
export function consumePendingSignIn(tokenHash: string, { audited }: { audited: string }): Statement {
  return sql`DELETE FROM pending_sign_ins WHERE token_hash = ${tokenHash} AND ${ifAudited(audited)}
    RETURNING token_hash`;
}

/** @returns Statements that end a user's sign-ins that are half done, after an audited change of what they began with. */
export function endHalfDoneSignIns(userId: string, { audited }: { audited: string }): Statement[] {
  return [
    sql`DELETE FROM pending_sign_ins WHERE user_id = ${userId} AND ${ifAudited(audited)}`,
    sql`DELETE FROM passkey_challenges WHERE user_id = ${userId} AND ${ifAudited(audited)}`,
  ];
}
