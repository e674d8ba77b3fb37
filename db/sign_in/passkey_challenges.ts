// All SQL of the challenges that passkeys answer. Each is answered once.
import { sql, type Statement } from "../engine/database.ts";

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
    sql`DELETE FROM passkey_challenges WHERE expires_at <= ${now}`,
    sql`INSERT INTO passkey_challenges (challenge, purpose, user_id, expires_at) VALUES (${challenge.challenge}, ${challenge.purpose}, ${challenge.userId}, ${challenge.expiresAt})`,
  ];
}

/** @returns A statement that uses a challenge up; it changes nothing unless the challenge waited for this answer. */
export function takePasskeyChallenge(
  { challenge, purpose, userId, now }: Omit<PasskeyChallenge, "expiresAt"> & { now: number },
): Statement {
  return sql`DELETE FROM passkey_challenges WHERE challenge = ${challenge} AND purpose = ${purpose} AND user_id IS ${userId} AND expires_at > ${now}`;
}
