// Checks whether the database responds and accepts writes, and reads its clock and its version.
import { DatabaseSync } from "node:sqlite";
import { type Database, DatabaseError, sql } from "./database.ts";

/** Runs the smallest query. @throws {DatabaseError} When the database is unavailable. */
export async function ping(database: Database): Promise<void> {
  await database.read(sql`SELECT 1`);
}

/**
 * Changes a row and changes it back in one transaction. Like any other write, this takes the lock, writes a page of the log and
 * waits for the disk. SQLite doesn't write a row that is set to the value it already has.
 *
 * @throws {DatabaseError} When the database rejects writes, or has no schema.
 */
export async function checkWritable(database: Database): Promise<void> {
  const [result] = await database.write([
    sql`UPDATE schema_migrations SET applied_at = applied_at + 1 WHERE number = 30`,
    sql`UPDATE schema_migrations SET applied_at = applied_at - 1 WHERE number = 30`,
  ]);
  if (result?.changes !== 1) throw new DatabaseError("fault", "a write changed nothing");
}

/** Returns the time on the database's machine, in whole seconds since 1970. */
export async function readDatabaseSeconds(database: Database): Promise<number> {
  const row = await database.readFirst<{ seconds: number }>(
    sql`SELECT CAST(strftime('%s', 'now') AS INTEGER) AS seconds`,
  );
  if (row === undefined) throw new DatabaseError("fault", "the database returned no time");
  return row.seconds;
}

/** Returns SQLite's version, such as `3.50.2`, also for a libSQL server. */
export async function readSqliteVersion(database: Database): Promise<string> {
  const row = await database.readFirst<{ version: string }>(sql`SELECT sqlite_version() AS version`);
  return row?.version ?? "unknown";
}

/** Returns the version of the SQLite in this program, without a data file. */
export function embeddedSqliteVersion(): string {
  const database = new DatabaseSync(":memory:");
  try {
    return String(database.prepare("SELECT sqlite_version() AS version").get()?.["version"]);
  } finally {
    database.close();
  }
}

/** Returns true if this version of SQLite has the WAL-reset bug (https://sqlite.org/wal.html, decision 64). */
export function hasWalResetFault(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  const fixedPatch = fixedPatches[minor] ?? Infinity;
  return major === 3 && minor >= 7 && minor <= 51 && patch < fixedPatch;
}

/** The first fixed patch release by minor version. */
const fixedPatches: Readonly<Record<number, number>> = { 44: 6, 50: 7, 51: 3 };
