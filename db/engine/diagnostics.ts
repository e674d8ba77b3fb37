// Questions about the database itself: does it take writes, and how late is it there.
import { type Database, DatabaseError, sql } from "./database.ts";

/**
 * Writes, and leaves everything as it was: a row gets the value that it has. That takes the lock, writes a page of the log and
 * waits for the disk, as every write does.
 *
 * @throws {DatabaseError} When the database does not take writes, or has no schema.
 */
export async function probeWrite(database: Database): Promise<void> {
  const [result] = await database.write([
    sql`UPDATE schema_migrations SET applied_at = applied_at WHERE number = 1`,
  ]);
  if (result?.changes !== 1) throw new DatabaseError("fault", "a write changed nothing");
}

/** @returns The clock of the database's machine, in whole seconds since 1970. @throws {DatabaseError} */
export async function readDatabaseSeconds(database: Database): Promise<number> {
  const row = await database.readFirst<{ seconds: number }>(
    sql`SELECT CAST(strftime('%s', 'now') AS INTEGER) AS seconds`,
  );
  if (row === undefined) throw new DatabaseError("fault", "the database gave no time");
  return row.seconds;
}
