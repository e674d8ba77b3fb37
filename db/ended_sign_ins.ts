// The SQL of deleting sign-ins that nobody finished in time. They are refused from then on by their own statements; this only
// keeps them from gathering.
import { type Database, sql } from "./database.ts";

const tables = [
  { table: "pending_sign_ins", key: "token_hash" },
  { table: "passkey_challenges", key: "challenge" },
] as const;

/**
 * @param options `now`: milliseconds since 1970. `limit`: at most so many of each kind.
 * @returns How many were deleted. @throws {DatabaseError}
 */
export async function deleteEndedSignIns(
  database: Database,
  { now, limit }: { now: number; limit: number },
): Promise<number> {
  // Mostly there is none, and a write that changes nothing waits for the lock all the same.
  const ended = await database.readFirst(sql(
    tables.map(({ table }) => `SELECT 1 FROM ${table} WHERE expires_at <= ?1`).join(" UNION ALL ") +
      " LIMIT 1",
    now,
  ));
  if (ended === undefined) return 0;
  const results = await database.write(tables.map(({ table, key }) =>
    sql(
      `DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE expires_at <= ? LIMIT ?)`,
      now,
      limit,
    )
  ));
  return results.reduce((sum, { changes }) => sum + changes, 0);
}
