// Brings a database to the schema of this program: numbered files, each applied once, in one transaction, and
// never changed afterwards.
import { hash } from "node:crypto";
import { type Database, DatabaseError, sql, type Statement } from "./database.ts";
import foundation from "./migrations/0001_foundation.sql" with { type: "text" };
import meter from "./migrations/0002_meter.sql" with { type: "text" };
import people from "./migrations/0003_people.sql" with { type: "text" };
import limits from "./migrations/0007_limits.sql" with { type: "text" };
import wrongCodes from "./migrations/0004_wrong_codes.sql" with { type: "text" };
import seriesLimit from "./migrations/0005_series_limit.sql" with { type: "text" };
import refusedWrites from "./migrations/0006_refused_writes.sql" with { type: "text" };

/** One step of the schema. */
export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly text: string;
}

/** Every migration of this program, in order. */
export const migrations: readonly Migration[] = [
  { number: 1, name: "foundation", text: foundation },
  { number: 2, name: "meter", text: meter },
  { number: 3, name: "people", text: people },
  { number: 4, name: "wrong_codes", text: wrongCodes },
  { number: 5, name: "series_limit", text: seriesLimit },
  { number: 6, name: "refused_writes", text: refusedWrites },
  { number: 7, name: "limits", text: limits },
];

/** A database that this program must not touch. */
export class MigrationError extends Error {
  /** It only lacks migrations that this program has. */
  readonly isOlder: boolean;

  /** @param message One line for the operator. */
  constructor(message: string, options: { isOlder: boolean } = { isOlder: false }) {
    super(message);
    this.isOlder = options.isOlder;
    this.name = "MigrationError";
  }
}

/**
 * Applies the migrations that are missing.
 *
 * @param database The database.
 * @param options `now`: milliseconds since 1970. `list`: the migrations, all of this program's unless given.
 * @returns The numbers that were applied now.
 * @throws {MigrationError} When the database is newer than the program, or a migration was changed since.
 * @throws {DatabaseError}
 */
export async function migrate(
  database: Database,
  options: { now: number; list?: readonly Migration[] },
): Promise<number[]> {
  const list = options.list ?? migrations;
  await database.write([sql`CREATE TABLE IF NOT EXISTS schema_migrations (
       number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL
     ) STRICT`]);
  const applied: number[] = [];
  for (;;) {
    const known = await appliedMigrations(database);
    check(known, list);
    const next = list[known.length];
    if (next === undefined) return applied;
    try {
      await database.write([
        // First, so that of two programs that start at once one stops here and looks again.
        sql`INSERT INTO schema_migrations (number, name, checksum, applied_at) VALUES (${next.number}, ${next.name}, ${
          checksum(next)
        }, ${options.now})`,
        ...statements(next.text).map((text) => sql(text)),
      ]);
      applied.push(next.number);
    } catch (error) {
      const beaten = error instanceof DatabaseError && error.kind === "constraint" &&
        (await appliedMigrations(database)).length > known.length;
      if (!beaten) throw error;
    }
  }
}

/**
 * Asks whether the schema is exactly this program's, and changes nothing.
 *
 * @param options `list`: the migrations, all of this program's unless given.
 * @returns Whether there is a schema at all.
 * @throws {MigrationError} When the database is older or newer than the program, or a migration was changed since.
 * @throws {DatabaseError}
 */
export async function checkSchema(
  database: Database,
  options: { list?: readonly Migration[] } = {},
): Promise<boolean> {
  const list = options.list ?? migrations;
  const table = sql`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_migrations'`;
  const known = await database.readFirst(table) === undefined ? [] : await appliedMigrations(database);
  check(known, list);
  const missing = list[known.length];
  if (known.length === 0 || missing === undefined) return known.length > 0;
  throw new MigrationError(
    `the database lacks migration ${missing.number} (${missing.name}) of this program: it is older`,
    { isOlder: true },
  );
}

/**
 * Compares the migrations that a database has with this program's.
 *
 * @param known The rows of `schema_migrations` in order.
 * @returns Whether some are still to be applied.
 * @throws {MigrationError} When the database is newer than the program, or a migration was changed since.
 */
export function lacksMigrations(known: readonly AppliedMigration[]): boolean {
  check(known, migrations);
  return known.length < migrations.length;
}

/** The query of the migrations that a database has. */
export const appliedMigrationsQuery: Statement =
  sql`SELECT number, name, checksum FROM schema_migrations ORDER BY number`;

/** @returns The SHA-256 of a migration's text, by which a later change of it is noticed. */
export function checksum(migration: Migration): string {
  return hash("sha256", migration.text.replaceAll("\r\n", "\n"), "hex");
}

/** A row of `schema_migrations`. */
export interface AppliedMigration {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
}

function appliedMigrations(database: Database): Promise<AppliedMigration[]> {
  return database.read<AppliedMigration>(appliedMigrationsQuery);
}

function check(known: readonly AppliedMigration[], list: readonly Migration[]): void {
  known.forEach((row, index) => {
    const migration = list[index];
    if (migration === undefined) {
      throw new MigrationError(
        `the database has migration ${row.number} (${row.name}), which this program does not know: it is newer`,
      );
    }
    if (migration.number !== row.number || checksum(migration) !== row.checksum) {
      throw new MigrationError(
        `migration ${row.number} (${row.name}) of the database is not the one of this program: it was changed`,
      );
    }
  });
}

/** A statement ends with a semicolon at the end of a line; comments stand on lines of their own. */
function statements(text: string): string[] {
  return text.replaceAll(/^--.*$/gm, "").split(/;\s*$/m).map((part) => part.trim()).filter((part) =>
    part !== ""
  );
}
