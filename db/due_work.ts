// The one question of a server that has nothing to do, and batches that only some servers need to write.
import { type Database, type DatabaseReader, joinSql, sql, type Statement } from "./engine/database.ts";
import { hasFence } from "./engine/move_fence.ts";

interface Due {
  /** 1 for each condition that is true. */
  readonly found: readonly (0 | 1)[];
  /** True if `gatehouse move` has made the database read-only. */
  readonly isReadOnly: boolean;
}

/** Finds which conditions of background work are true. */
export async function findDue(database: DatabaseReader, conditions: readonly Statement[]): Promise<Due> {
  const row = await database.readFirst<{ found: string; isReadOnly: 0 | 1 }>(
    sql`SELECT json_array(${joinSql(conditions, ", ")}) AS found, ${hasFence} AS isReadOnly`,
  );
  return { found: JSON.parse(row?.found ?? "[]"), isReadOnly: row?.isReadOnly === 1 };
}

/** Writes a batch if a condition is true. Returns true if it was: there may be more. */
export async function writeIf(
  database: Pick<Database, "readFirst" | "write">,
  condition: Statement,
  batch: readonly Statement[],
): Promise<boolean> {
  if (await database.readFirst(sql`SELECT 1 WHERE ${condition}`) === undefined) return false;
  await database.write(batch);
  return true;
}
