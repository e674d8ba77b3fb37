// All SQL of sign-ins that wait for their second step. The token is not here, only its SHA-256.
import { sql, type Statement } from "./database.ts";

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
  return sql(
    `INSERT INTO pending_sign_ins (token_hash, user_id, expires_at, attempts)
     SELECT ?, u.id, ?, 0 FROM users u WHERE u.id = ? AND u.disabled_at IS NULL AND u.password_hash = ?
       AND EXISTS (SELECT 1 FROM totp t WHERE t.user_id = u.id AND t.confirmed_at IS NOT NULL)`,
    pending.tokenHash,
    pending.expiresAt,
    pending.userId,
    passwordHash,
  );
}

/** @returns A statement that ends a user's sign-ins that wait for their second step. */
export function deletePendingSignIns(userId: string): Statement {
  return sql("DELETE FROM pending_sign_ins WHERE user_id = ?", userId);
}
