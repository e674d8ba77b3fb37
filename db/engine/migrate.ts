// Migrates a database to this program's schema: a new one begins with all of it. An older one gets each numbered file that it lacks, once,
// in one transaction. These files never change.
import { hash } from "node:crypto";
import { type Database, DatabaseError, type DatabaseReader, sql, type Statement } from "./database.ts";
import { fenceNumber } from "./move_fence.ts";
import schema from "./schema.sql" with { type: "text" };
import events from "./migrations/0031_events.sql" with { type: "text" };
import mailedEvents from "./migrations/0032_mailed_events.sql" with { type: "text" };
import keyFields from "./migrations/0033_key_fields.sql" with { type: "text" };
import refills from "./migrations/0034_refills.sql" with { type: "text" };
import holds from "./migrations/0035_holds.sql" with { type: "text" };
import cutoff from "./migrations/0036_cutoff.sql" with { type: "text" };
import planBudgets from "./migrations/0037_plan_budgets.sql" with { type: "text" };
import valuePrices from "./migrations/0038_value_prices.sql" with { type: "text" };
import valueLimits from "./migrations/0039_value_limits.sql" with { type: "text" };
import windowGrants from "./migrations/0040_window_grants.sql" with { type: "text" };
import collectors from "./migrations/0041_collectors.sql" with { type: "text" };
import shareable from "./migrations/0042_shareable.sql" with { type: "text" };
import outcomes from "./migrations/0043_outcomes.sql" with { type: "text" };
import webhooksFailing from "./migrations/0045_webhooks_failing.sql" with { type: "text" };
import oauth from "./migrations/0046_oauth.sql" with { type: "text" };
import featureNames from "./migrations/0047_feature_names.sql" with { type: "text" };
import clientDocuments from "./migrations/0048_client_documents.sql" with { type: "text" };
import lastingAccess from "./migrations/0049_lasting_access.sql" with { type: "text" };
import grantReturns from "./migrations/0050_grant_returns.sql" with { type: "text" };

/** A step of the schema. Applied once, in one transaction. */
export interface Migration {
  readonly number: number;
  readonly name: string;
  /** SHA-256 of its text, if the text is no longer needed. */
  readonly checksum?: string;
  readonly text?: string;
}

/** The first one made the schema of its time, with which the oldest databases begin; the ones before it were never released. */
export const migrations: readonly Migration[] = [
  {
    number: 30,
    name: "schema",
    checksum: "546402da95d468bb5642941e2b50a201d636b3c7bbc0dc1a7e3a4925cfa89be6",
  },
  { number: 31, name: "events", text: events },
  { number: 32, name: "mailed_events", text: mailedEvents },
  { number: 33, name: "key_fields", text: keyFields },
  { number: 34, name: "refills", text: refills },
  { number: 35, name: "holds", text: holds },
  { number: 36, name: "cutoff", text: cutoff },
  { number: 37, name: "plan_budgets", text: planBudgets },
  { number: 38, name: "value_prices", text: valuePrices },
  { number: 39, name: "value_limits", text: valueLimits },
  { number: 40, name: "window_grants", text: windowGrants },
  { number: 41, name: "collectors", text: collectors },
  { number: 42, name: "shareable", text: shareable },
  { number: 43, name: "outcomes", text: outcomes },
  { number: 45, name: "webhooks_failing", text: webhooksFailing },
  { number: 46, name: "oauth", text: oauth },
  { number: 47, name: "feature_names", text: featureNames },
  { number: 48, name: "client_documents", text: clientDocuments },
  { number: 49, name: "lasting_access", text: lastingAccess },
  { number: 50, name: "grant_returns", text: grantReturns },
];

/** The last of the migrations that the first one replaced. With it, a database has the same schema. */
const replaced = {
  number: 30,
  checksum: "475f2c3b4131865bf9f5d2d122b558189cba549bd70a40c641693eca5907a407",
};

/** The last commit that upgrades older databases. */
const olderUpgrades = "9826e542f";

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
 * @throws {MigrationError} When the database is newer than this program or too old for it, or an applied migration has changed.
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
    const known = check(await appliedMigrations(database), list);
    const next = list[known.length];
    if (next === undefined) return applied;
    // An empty database gets the whole schema in one step.
    const made = next.text === undefined ? list.slice(0, migrations.length) : [next];
    try {
      await database.write([
        // First, so that only one of two programs that start at the same time continues.
        ...made.map((one) =>
          sql`INSERT INTO schema_migrations (number, name, checksum, applied_at)
            VALUES (${one.number}, ${one.name}, ${checksum(one)}, ${options.now})`
        ),
        ...statements(next.text ?? schema).map((text) => ({ sql: text, args: [] })),
      ]);
      applied.push(...made.map(({ number }) => number));
    } catch (error) {
      const isAppliedByOther = error instanceof DatabaseError && error.kind === "constraint" &&
        check(await appliedMigrations(database), list).length > known.length;
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
  const rows = await database.readFirst(table) === undefined ? [] : await appliedMigrations(database);
  if (options.mayBeReadOnly === true && rows[0]?.number === fenceNumber) rows.shift();
  const known = check(rows, list);
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
  return check(known, migrations).length < migrations.length;
}

export const appliedMigrationsQuery: Statement =
  sql`SELECT number, name, checksum FROM schema_migrations ORDER BY number`;

/** Returns the SHA-256 of a migration's text, to detect changes. */
function checksum({ checksum, text = "" }: Migration): string {
  return checksum ?? hash("sha256", text.replaceAll("\r\n", "\n"), "hex");
}

export type AppliedMigration = Pick<Migration, "number" | "name"> & { readonly checksum: string };

function appliedMigrations(database: DatabaseReader): Promise<AppliedMigration[]> {
  return database.read<AppliedMigration>(appliedMigrationsQuery);
}

/** Checks the rows of `schema_migrations`, and returns those of migrations in the list. */
function check(rows: readonly AppliedMigration[], list: readonly Migration[]): AppliedMigration[] {
  if (rows[0]?.number === fenceNumber) {
    throw new MigrationError(
      "gatehouse move has made this database read-only; run the same gatehouse move again to finish it and use the new " +
        "database, or gatehouse move --cancel to use this one again",
      { isOfMove: true },
    );
  }
  const known = rows.filter(({ number }) => number >= replaced.number);
  const last = rows.at(-1);
  if (last !== undefined && known.length === 0) {
    throw new MigrationError(
      `the database has schema ${last.number} of a build before version 0.1.0, which this program can't upgrade; back it up, ` +
        `start a build of commit ${olderUpgrades} once, then this one`,
    );
  }
  known.forEach((row, index) => {
    const migration = list[index];
    if (migration === undefined) {
      throw new MigrationError(
        `the database is newer than this program: it has migration ${row.number} (${row.name})`,
      );
    }
    const isReplaced = row.number === replaced.number && row.checksum === replaced.checksum;
    if (migration.number !== row.number || !isReplaced && checksum(migration) !== row.checksum) {
      throw new MigrationError(
        `migration ${row.number} (${row.name}) of the database differs from this program's: it was changed`,
      );
    }
  });
  return known;
}

/** Statements end with a semicolon at the end of a line, and comments are on lines of their own. */
function statements(text: string): string[] {
  const parts = text.replaceAll(/^ *--.*$/gm, "").split(/;\s*$/m).map((part) => part.trim());
  return parts.filter((part) => part !== "");
}
