// Migrates a database to this program's schema. Each numbered file is applied once, in one transaction, and never changes.
import { hash } from "node:crypto";
import { type Database, DatabaseError, type DatabaseReader, sql, type Statement } from "./database.ts";
import { fenceNumber } from "./move_fence.ts";
import foundation from "./migrations/0001_foundation.sql" with { type: "text" };
import meter from "./migrations/0002_meter.sql" with { type: "text" };
import people from "./migrations/0003_people.sql" with { type: "text" };
import wrongCodes from "./migrations/0004_wrong_codes.sql" with { type: "text" };
import seriesLimit from "./migrations/0005_series_limit.sql" with { type: "text" };
import refusedWrites from "./migrations/0006_refused_writes.sql" with { type: "text" };
import limits from "./migrations/0007_limits.sql" with { type: "text" };
import operators from "./migrations/0008_operators.sql" with { type: "text" };
import usageTotals from "./migrations/0009_usage_totals.sql" with { type: "text" };
import billingStatements from "./migrations/0010_statements.sql" with { type: "text" };
import products from "./migrations/0011_products.sql" with { type: "text" };
import operatorLists from "./migrations/0012_operator_lists.sql" with { type: "text" };
import plans from "./migrations/0013_plans.sql" with { type: "text" };
import portal from "./migrations/0014_portal.sql" with { type: "text" };
import lastUse from "./migrations/0015_last_use.sql" with { type: "text" };
import rates from "./migrations/0016_rates.sql" with { type: "text" };
import monthEnd from "./migrations/0017_month_end.sql" with { type: "text" };
import webhooks from "./migrations/0018_webhooks.sql" with { type: "text" };
import importedKeys from "./migrations/0019_imported_keys.sql" with { type: "text" };
import testKeys from "./migrations/0020_test_keys.sql" with { type: "text" };
import keyReminders from "./migrations/0021_key_reminders.sql" with { type: "text" };
import portalSessions from "./migrations/0022_portal_sessions.sql" with { type: "text" };
import refusedQuantities from "./migrations/0023_refused_quantities.sql" with { type: "text" };
import identityProviders from "./migrations/0024_identity_providers.sql" with { type: "text" };
import dimensions from "./migrations/0025_dimensions.sql" with { type: "text" };
import featuresAndGrants from "./migrations/0026_features_and_grants.sql" with { type: "text" };
import counting from "./migrations/0027_counting.sql" with { type: "text" };
import statementValues from "./migrations/0028_statement_values.sql" with { type: "text" };
import providers from "./migrations/0029_providers.sql" with { type: "text" };
import shares from "./migrations/0030_shares.sql" with { type: "text" };
import events from "./migrations/0031_events.sql" with { type: "text" };
import mailedEvents from "./migrations/0034_mailed_events.sql" with { type: "text" };

interface Migration {
  readonly number: number;
  readonly name: string;
  readonly text: string;
}

export const migrations: readonly Migration[] = [
  { number: 1, name: "foundation", text: foundation },
  { number: 2, name: "meter", text: meter },
  { number: 3, name: "people", text: people },
  { number: 4, name: "wrong_codes", text: wrongCodes },
  { number: 5, name: "series_limit", text: seriesLimit },
  { number: 6, name: "refused_writes", text: refusedWrites },
  { number: 7, name: "limits", text: limits },
  { number: 8, name: "operators", text: operators },
  { number: 9, name: "usage_totals", text: usageTotals },
  { number: 10, name: "statements", text: billingStatements },
  { number: 11, name: "products", text: products },
  { number: 12, name: "operator_lists", text: operatorLists },
  { number: 13, name: "plans", text: plans },
  { number: 14, name: "portal", text: portal },
  { number: 15, name: "last_use", text: lastUse },
  { number: 16, name: "rates", text: rates },
  { number: 17, name: "month_end", text: monthEnd },
  { number: 18, name: "webhooks", text: webhooks },
  { number: 19, name: "imported_keys", text: importedKeys },
  { number: 20, name: "test_keys", text: testKeys },
  { number: 21, name: "key_reminders", text: keyReminders },
  { number: 22, name: "portal_sessions", text: portalSessions },
  { number: 23, name: "refused_quantities", text: refusedQuantities },
  { number: 24, name: "identity_providers", text: identityProviders },
  { number: 25, name: "dimensions", text: dimensions },
  { number: 26, name: "features_and_grants", text: featuresAndGrants },
  { number: 27, name: "counting", text: counting },
  { number: 28, name: "statement_values", text: statementValues },
  { number: 29, name: "providers", text: providers },
  { number: 30, name: "shares", text: shares },
  { number: 31, name: "events", text: events },
  { number: 34, name: "mailed_events", text: mailedEvents },
];

/** Thrown for a database with another schema than this program's. */
export class MigrationError extends Error {
  /** True if the database only lacks migrations. */
  readonly isOlder: boolean;
  /** True if the database is the source or the target of a move. */
  readonly isOfMove: boolean;

  /** @param message One line for the operator. */
  constructor(message: string, { isOlder = false, isOfMove = false } = {}) {
    super(message);
    [this.isOlder, this.isOfMove] = [isOlder, isOfMove];
    this.name = "MigrationError";
  }
}

/**
 * Applies the missing migrations.
 *
 * @param options `list`: the migrations, by default all of this program's.
 * @returns The numbers of the applied migrations.
 * @throws {MigrationError} When the database is newer than this program, or an applied migration has changed.
 */
export async function migrate(
  database: Database,
  options: { now: number; list?: readonly Migration[] },
): Promise<number[]> {
  const list = options.list ?? migrations;
  await requireFinished(database);
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
        // First, so that only one of two programs that start at the same time continues.
        sql`INSERT INTO schema_migrations (number, name, checksum, applied_at) VALUES (${next.number}, ${next.name}, ${
          checksum(next)
        }, ${options.now})`,
        ...statements(next.text).map((text) => ({ sql: text, args: [] })),
      ]);
      applied.push(next.number);
    } catch (error) {
      const isAppliedByOther = error instanceof DatabaseError && error.kind === "constraint" &&
        (await appliedMigrations(database)).length > known.length;
      if (!isAppliedByOther) throw error;
    }
  }
}

/**
 * Checks that the schema is exactly this program's.
 *
 * @param options `list`: the migrations, by default all of this program's. `mayBeReadOnly`: accept the source of a move.
 * @returns True if there is a schema at all.
 * @throws {MigrationError} When the database is older or newer than this program, an applied migration has changed, or it is part of a
 *   move.
 */
export async function checkSchema(
  database: DatabaseReader,
  options: { list?: readonly Migration[]; mayBeReadOnly?: boolean } = {},
): Promise<boolean> {
  const list = options.list ?? migrations;
  await requireFinished(database);
  const table = sql`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_migrations'`;
  const known = await database.readFirst(table) === undefined ? [] : await appliedMigrations(database);
  if (options.mayBeReadOnly === true && known[0]?.number === fenceNumber) known.shift();
  check(known, list);
  const missing = list[known.length];
  if (known.length === 0 || missing === undefined) return known.length > 0;
  throw new MigrationError(
    `the database is older than this program: it lacks migration ${missing.number} (${missing.name})`,
    { isOlder: true },
  );
}

/** The table that marks the target of `gatehouse move` until the move is complete. */
export const unfinishedMove = "unfinished_move";

/** @throws {MigrationError} When the database is only a part of another one. */
async function requireFinished(database: DatabaseReader): Promise<void> {
  const marker = sql`SELECT 1 FROM sqlite_schema WHERE name = ${unfinishedMove}`;
  if (await database.readFirst(marker) === undefined) return;
  throw new MigrationError(
    "a move to this database isn't finished; run the same gatehouse move again, or use another database",
    { isOfMove: true },
  );
}

/** Returns true if a database with these migrations lacks some. @throws {MigrationError} As {@linkcode migrate} does. */
export function lacksMigrations(known: readonly AppliedMigration[]): boolean {
  check(known, migrations);
  return known.length < migrations.length;
}

export const appliedMigrationsQuery: Statement =
  sql`SELECT number, name, checksum FROM schema_migrations ORDER BY number`;

/** Returns the SHA-256 of a migration's text, to detect changes. */
function checksum(migration: Migration): string {
  return hash("sha256", migration.text.replaceAll("\r\n", "\n"), "hex");
}

export type AppliedMigration = Pick<Migration, "number" | "name"> & { readonly checksum: string };

function appliedMigrations(database: DatabaseReader): Promise<AppliedMigration[]> {
  return database.read<AppliedMigration>(appliedMigrationsQuery);
}

function check(known: readonly AppliedMigration[], list: readonly Migration[]): void {
  if (known[0]?.number === fenceNumber) {
    throw new MigrationError(
      "gatehouse move has made this database read-only; run the same gatehouse move again to finish it and use the new " +
        "database, or gatehouse move --cancel to use this one again",
      { isOfMove: true },
    );
  }
  known.forEach((row, index) => {
    const migration = list[index];
    if (migration === undefined) {
      throw new MigrationError(
        `the database is newer than this program: it has migration ${row.number} (${row.name})`,
      );
    }
    if (migration.number !== row.number || checksum(migration) !== row.checksum) {
      throw new MigrationError(
        `migration ${row.number} (${row.name}) of the database differs from this program's: it was changed`,
      );
    }
  });
}

/** Statements end with a semicolon at the end of a line, and comments are on lines of their own. */
function statements(text: string): string[] {
  const parts = text.replaceAll(/^--.*$/gm, "").split(/;\s*$/m).map((part) => part.trim());
  return parts.filter((part) => part !== "");
}
