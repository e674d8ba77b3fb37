// The SQL of deleting sign-ins that nobody finished in time, and sessions that nobody used for too long. They are refused from
// then on by their own statements; this only keeps them, and the addresses in them, from gathering.
import { type Database, sql } from "../engine/database.ts";

const tables = [
  { table: "pending_sign_ins", key: "token_hash", endedWhen: "expires_at <= ?" },
  { table: "passkey_challenges", key: "challenge", endedWhen: "expires_at <= ?" },
  { table: "sessions", key: "token_hash", endedWhen: "last_seen_at <= ?" },
] as const;

/**
 * @param options `now`: milliseconds since 1970. `seenAfter`: sessions that were last used then or earlier have ended.
 *   `limit`: at most so many of each kind.
 * @returns How many were deleted. @throws {DatabaseError}
 */
export async function deleteExpiredSignIns(
  database: Database,
  { now, seenAfter, limit }: { now: number; seenAfter: number; limit: number },
): Promise<number> {
  const times = { pending_sign_ins: now, passkey_challenges: now, sessions: seenAfter };
  // Mostly there is none, and a write that changes nothing waits for the lock all the same.
  const ended = await database.readFirst(sql(
    tables.map(({ table, endedWhen }) => `SELECT 1 FROM ${table} WHERE ${endedWhen}`).join(" UNION ALL ") +
      " LIMIT 1",
    ...tables.map(({ table }) => times[table]),
  ));
  if (ended === undefined) return 0;
  const results = await database.write(tables.map(({ table, key, endedWhen }) =>
    sql(
      `DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE ${endedWhen} LIMIT ?)`,
      times[table],
      limit,
    )
  ));
  return results.reduce((sum, { changes }) => sum + changes, 0);
}
