// Fills every table of a data file with random rows that satisfy its constraints, and reads all rows back exactly.
import { DatabaseSync } from "node:sqlite";
import type { Random } from "../runner/random.ts";

type Sql = null | bigint | number | string | Uint8Array;

interface Column {
  readonly name: string;
  readonly type: string;
  readonly notnull: bigint;
  readonly pk: bigint;
}

/** Texts that encodings get wrong. */
const texts = [
  "",
  "t",
  "u41",
  "r1.5",
  "null",
  "a\0b",
  "\0",
  "Zoë 🦉 Ωmega",
  "'\"\\\n\t\b\u0001\u007f",
  "[1]",
  "{}",
];
const integers = [0n, 1n, -1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 63n - 1n, -(2n ** 63n)];
const reals = [0.1, 1 / 3, -0.5, 1e30, 5e-324, 123456789.123456789, 2 ** 60];
/** A table of a user: it has what none of ours has. */
const odd = 'CREATE TABLE odd (a ANY, b BLOB, c REAL, d TEXT NOT NULL PRIMARY KEY, "e e" INTEGER) STRICT';

/** @param options `rows`: how many to try for each table. Some violate its constraints and are left out. */
export function fillTables(path: string, { rows, random }: { rows: number; random: Random }): void {
  const sqlite = new DatabaseSync(path, { readBigInts: true });
  sqlite.exec("BEGIN; PRAGMA defer_foreign_keys = ON");
  sqlite.exec(odd);
  // They would reject rows, and write rows of their own.
  const triggers = all(sqlite, "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid");
  for (const { name } of triggers) sqlite.exec(`DROP TRIGGER ${name}`);
  for (const { name, sql } of ownTables(sqlite).filter((table) => table.name !== "schema_migrations")) {
    fill(sqlite, { table: name, sql, rows, random });
  }
  // Parents were chosen at random, also for rows that were left out.
  for (let left = 1; left > 0;) {
    const broken = all(sqlite, 'SELECT "table", rowid FROM pragma_foreign_key_check');
    left = broken.length;
    for (const { table } of broken) deleteOrphans(sqlite, String(table));
  }
  for (const { sql } of triggers) sqlite.exec(String(sql));
  for (const index of ["organization_search", "user_search"]) {
    sqlite.exec(`INSERT INTO ${index} (${index}) VALUES ('rebuild')`);
  }
  sqlite.exec("COMMIT; ANALYZE");
  sqlite.close();
}

function fill(
  sqlite: DatabaseSync,
  { table, sql, rows, random }: { table: string; sql: string; rows: number; random: Random },
): void {
  const columns = all(
    sqlite,
    `SELECT name, type, "notnull", pk FROM pragma_table_info('${table}')`,
  ) as unknown as Column[];
  const parents = new Map(
    all(sqlite, `SELECT "from", "table", "to" FROM pragma_foreign_key_list('${table}')`).map((key) => [
      String(key["from"]),
      all(sqlite, `SELECT ${key["to"]} AS value FROM ${key["table"]} LIMIT 50`).map(({ value }) =>
        value as Sql
      ),
    ]),
  );
  const insert = sqlite.prepare(
    `INSERT OR IGNORE INTO ${table} (${columns.map(({ name }) => `"${name}"`)}) VALUES (${
      columns.map(() => "?")
    })`,
  );
  // Few rows satisfy the constraints of some tables, so that by chance none of the first would.
  for (let n = 0, kept = 0; n < rows || kept < 3 && n < 100 * rows; n++) {
    const { changes } = insert.run(...columns.map((column) => {
      const choices = parents.get(column.name) ?? checkedValues(sql, column.name);
      if (column.notnull === 0n && column.pk === 0n && random.chance(0.3)) return null;
      return choices === null
        ? randomValue(column.type, random)
        : choices.length === 0
        ? null
        : random.pick(choices);
    }));
    kept += Number(changes);
  }
}

/** @returns The values of `CHECK (name IN ('a', 'b'))`, or null. */
function checkedValues(sql: string, name: string): string[] | null {
  const [, list] = new RegExp(`\\b${name} IN \\(([^)]*)\\)`).exec(sql) ?? [];
  return list === undefined ? null : list.split(",").map((word) => word.trim().replaceAll("'", ""));
}

function randomValue(type: string, random: Random): Sql {
  switch (type) {
    case "INTEGER":
      return random.chance(0.5) ? random.pick(integers) : BigInt(random.between(0, 100_000));
    case "TEXT":
      return `${random.pick(texts)}${random.chance(0.25) ? "" : crypto.randomUUID()}`;
    case "REAL":
      return random.pick(reals);
    case "BLOB":
      return crypto.getRandomValues(new Uint8Array(random.between(0, 20)));
    default:
      return randomValue(random.pick(["INTEGER", "TEXT", "REAL", "BLOB"]), random);
  }
}

function deleteOrphans(sqlite: DatabaseSync, table: string): void {
  for (const key of all(sqlite, `SELECT "from", "table", "to" FROM pragma_foreign_key_list('${table}')`)) {
    sqlite.exec(
      `DELETE FROM ${table} WHERE ${key["from"]} NOT IN (SELECT ${key["to"]} FROM ${key["table"]})`,
    );
  }
}

/** @returns All rows of all tables with the types of their values, and the schema; and how many tables have rows. */
export function readEverything(path: string): { content: Record<string, unknown>; filled: string[] } {
  const sqlite = new DatabaseSync(path, { readBigInts: true });
  const content: Record<string, unknown> = {};
  const filled: string[] = [];
  for (const { name, sql } of [...ownTables(sqlite), { name: "sqlite_sequence", sql: "" }]) {
    const hasRowid = !/WITHOUT ROWID/.test(sql);
    const rows = all(sqlite, `SELECT ${hasRowid ? "rowid AS row, " : ""}* FROM "${name}"`);
    if (rows.length > 0) filled.push(name);
    content[name] = rows.map((row) => Object.values(row).map(exact).join()).sort();
  }
  content["schema"] = all(
    sqlite,
    "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT GLOB 'sqlite_stat*' ORDER BY type, name",
  );
  for (const index of ["organization_search", "user_search"]) {
    sqlite.exec(`INSERT INTO ${index} (${index}, rank) VALUES ('integrity-check', 1)`);
  }
  sqlite.close();
  return { content, filled };
}

function exact(value: unknown): string {
  if (value instanceof Uint8Array) return `blob ${value.toHex()}`;
  return `${typeof value} ${typeof value === "number" ? value.toString() : JSON.stringify(String(value))}`;
}

function ownTables(sqlite: DatabaseSync): { name: string; sql: string }[] {
  return all(
    sqlite,
    `SELECT l.name, s.sql FROM pragma_table_list l JOIN sqlite_schema s ON s.name = l.name
     WHERE l.type = 'table' AND l.name NOT GLOB 'sqlite_*' ORDER BY s.rowid`,
  ) as { name: string; sql: string }[];
}

function all(sqlite: DatabaseSync, sql: string): Record<string, unknown>[] {
  return sqlite.prepare(sql).all() as Record<string, unknown>[];
}
