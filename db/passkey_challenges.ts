// All SQL of the challenges that passkeys answer. Each is answered once.
import { type Database, sql, type Statement } from "./database.ts";

/** What an answer to a challenge is good for. */
export type PasskeyPurpose = "register" | "sign_in" | "second_step";

/** A challenge. `expiresAt` in milliseconds since 1970. */
export interface PasskeyChallenge {
  /** Base64url. */
  readonly challenge: string;
  readonly purpose: PasskeyPurpose;
  /** Whose passkey may answer; null while nobody knows. */
  readonly userId: string | null;
  readonly expiresAt: number;
}

/** @returns Statements that forget what was not answered in time, and keep a new challenge. */
export function insertPasskeyChallenge(challenge: PasskeyChallenge, now: number): Statement[] {
  return [
    sql("DELETE FROM passkey_challenges WHERE expires_at <= ?", now),
    sql(
      "INSERT INTO passkey_challenges (challenge, purpose, user_id, expires_at) VALUES (?, ?, ?, ?)",
      challenge.challenge,
      challenge.purpose,
      challenge.userId,
      challenge.expiresAt,
    ),
  ];
}

/** Uses a challenge up. @returns Whether it waited for this answer. @throws {DatabaseError} */
export async function takePasskeyChallenge(
  database: Database,
  { challenge, purpose, userId, now }: Omit<PasskeyChallenge, "expiresAt"> & { now: number },
): Promise<boolean> {
  const [taken] = await database.write([sql(
    `DELETE FROM passkey_challenges WHERE challenge = ? AND purpose = ? AND user_id IS ? AND expires_at > ?
     RETURNING challenge`,
    challenge,
    purpose,
    userId,
    now,
  )]);
  return taken?.rows.length === 1;
}
