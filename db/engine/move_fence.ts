// Makes the source of a move read-only for everyone: triggers on all tables reject each change, also those of programs that are already
// connected, and a row among the migrations keeps programs of any version from starting. Without a move there are no triggers, so
// writes pay nothing. See decision 88.
import { type Database, DatabaseError, type DatabaseReader, sql, type Statement } from "./database.ts";

/** The names of the triggers begin with it. They aren't copied. */
export const fencePrefix = "move_fence_";

/** The number of the row in `schema_migrations`, before all migrations. */
export const fenceNumber = 0;

/** The message of the triggers. A libSQL server passes on only the text and the general code of constraints. */
const readOnlyText = "gatehouse move has made this database read-only";

/** A condition: a move has made the database read-only. */
export const hasFence = sql`EXISTS (SELECT 1 FROM schema_migrations WHERE number = ${fenceNumber})`;

/** Deletes the row. */
export const deleteFenceRow = sql`DELETE FROM schema_migrations WHERE number = ${fenceNumber}`;

/** Returns the error of a write that the fence rejected, or undefined. @param message The server's. */
export function fenceError(message: string): DatabaseError | undefined {
  return message.includes(readOnlyText) ? new DatabaseError("unavailable", readOnlyText) : undefined;
}

/** True if a move has made the database read-only. */
export async function isFenced(database: DatabaseReader): Promise<boolean> {
  return await database.readFirst(sql`SELECT 1 WHERE ${hasFence}`) !== undefined;
}

/** Rejects all changes from now on, in one transaction: earlier batches are complete, and later ones fail. */
export async function raiseFence(database: Database): Promise<void> {
  if (await isFenced(database)) return;
  // Search indexes can't have triggers. They change only with their tables.
  const tables = await database.read<{ name: string }>(sql`
    SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
      AND name NOT GLOB 'sqlite_*' AND name NOT GLOB 'libsql_*' ORDER BY name`);
  const triggers = tables.flatMap(({ name }) =>
    ["insert", "update", "delete"].map((change) =>
      plain(`CREATE TRIGGER ${fencePrefix}${change}_${name} BEFORE ${change} ON "${name}"
        BEGIN SELECT RAISE(ABORT, '${readOnlyText}'); END`)
    )
  );
  await database.write([
    sql`INSERT INTO schema_migrations (number, name, checksum, applied_at) VALUES (${fenceNumber}, 'read_only', '', 0)`,
    ...triggers,
  ]);
}

/** Lets servers write again. Returns false if the database wasn't read-only. */
export async function removeFence(database: Database): Promise<boolean> {
  const triggers = await database.read<{ name: string }>(sql`
    SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name GLOB ${`${fencePrefix}*`}`);
  if (triggers.length === 0) return false;
  await database.write([
    ...triggers.map(({ name }) => plain(`DROP TRIGGER IF EXISTS "${name}"`)),
    deleteFenceRow,
  ]);
  return true;
}

/** A name is part of the text. */
function plain(sql: string): Statement {
  return { sql, args: [] };
}
