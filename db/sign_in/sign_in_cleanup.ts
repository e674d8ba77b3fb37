// SQL that deletes expired sign-ins and sessions. Other statements reject them anyway; this only keeps their data, such as IP
// addresses, from piling up.
import { type Database, sql } from "../engine/database.ts";

/**
 * Deletes at most `limit` rows of each kind, and returns how many were deleted. @param options `seenAfter`: sessions last used
 * by then have expired.
 */
export async function deleteExpiredSignIns(
  database: Database,
  { now, seenAfter, limit }: { now: number; seenAfter: number; limit: number },
): Promise<number> {
  // Usually there is none, and even a write that changes nothing waits for the lock.
  const expired = await database.readFirst(sql`
    SELECT 1 FROM pending_sign_ins WHERE expires_at <= ${now}
    UNION ALL SELECT 1 FROM passkey_challenges WHERE expires_at <= ${now}
    UNION ALL SELECT 1 FROM sessions WHERE last_seen_at <= ${seenAfter} LIMIT 1`);
  if (expired === undefined) return 0;
  const results = await database.write([
    sql`DELETE FROM pending_sign_ins WHERE token_hash IN (
      SELECT token_hash FROM pending_sign_ins WHERE expires_at <= ${now} LIMIT ${limit})`,
    sql`DELETE FROM passkey_challenges WHERE challenge IN (
      SELECT challenge FROM passkey_challenges WHERE expires_at <= ${now} LIMIT ${limit})`,
    sql`DELETE FROM sessions WHERE token_hash IN (
      SELECT token_hash FROM sessions WHERE last_seen_at <= ${seenAfter} LIMIT ${limit})`,
  ]);
  return results.reduce((sum, { changes }) => sum + changes, 0);
}
