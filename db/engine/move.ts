// Copies a whole database into an empty one, of the same or the other kind. The rows that are already there say how far a copy
// has come, so an interrupted one continues.
import { hash } from "node:crypto";
import { moveBatchBytesMax, moveBatchRowsMax } from "../../domain/limits.ts";
import { type Database, type DatabaseReader, sql } from "./database.ts";
import { checkSchema, unfinishedMove } from "./migrate.ts";
import { type Batch, type MovedTable, readSchema, readTables, type SchemaObject } from "./moved_tables.ts";

/** The target can't be used, or differs from the source at the end. */
export class MoveError extends Error {
  /** @param lines For the operator. */
  constructor(readonly lines: readonly string[]) {
    super(lines.join("\n"));
    this.name = "MoveError";
  }
}

export interface MoveProgress {
  readonly act: "copying" | "comparing" | "indexing";
  readonly table: string;
  /** Rows of all tables so far, and in total. */
  readonly rows: number;
  readonly rowsTotal: number;
}

interface MoveOptions {
  readonly source: DatabaseReader;
  readonly target: Database;
  readonly onProgress: (progress: MoveProgress) => void;
}

/** Filled in the transaction that ends the move, so that until then even earlier versions of the program reject the target. */
const lastTables: readonly string[] = ["schema_migrations", "sqlite_sequence"];
/** The number of rows of a table's first batch. The next ones have twice as many as fitted. */
const firstBatchRows = 100;
const startOver = "Delete everything in the target, or choose another one, and run the command again.";

/**
 * Copies everything from one database to another, or continues to, then compares all rows. The schema of the source must be
 * this program's, and nothing may write to it.
 *
 * @returns The number of tables and rows.
 * @throws {MoveError}
 */
export async function moveDatabase(options: MoveOptions): Promise<{ tables: number; rows: number }> {
  const { source, target, onProgress } = options;
  const [schema, tables] = [await readSchema(source), await readTables(source)];
  const state = await readState(source, { schema, tables });
  const later = await begin(target, { schema, state });
  const copied = tables.filter(({ name }) => !lastTables.includes(name));
  const { rowsTotal } = state;
  for (const act of ["copying", "comparing"] as const) {
    let rows = 0;
    const differences: string[] = [];
    for (const table of copied) {
      const onRows = (count: number) =>
        onProgress({ act, table: table.name, rows: rows += count, rowsTotal });
      if (act === "copying") await copy(table, { source, target, onRows });
      else differences.push(...await compare(table, { source, target, onRows }));
    }
    if (differences.length > 0) throw new MoveError([...differences, startOver]);
    if (act === "copying") {
      for (const { name, sql } of later) {
        onProgress({ act: "indexing", table: name, rows, rowsTotal });
        await target.write([{ sql, args: [] }]);
      }
      await fillSearch(target, schema);
    }
  }
  await compareSchema(target, schema);
  if ((await readState(source, { schema, tables })).text !== state.text) {
    throw new MoveError(["The database has changed during the move: a server is still using it.", startOver]);
  }
  await finish({ source, target, tables });
  return { tables: copied.length + 1, rows: rowsTotal };
}

interface SourceState {
  /** Identifies the database, by the key that each has for ids of records. */
  readonly source: string;
  /** A hash of the schema and of each table's count and last row. */
  readonly text: string;
  readonly rowsTotal: number;
}

/** Reads what tells a changed source from an unchanged one. Servers that run always add rows, if only to the audit log. */
async function readState(
  source: DatabaseReader,
  { schema, tables }: { schema: readonly SchemaObject[]; tables: readonly MovedTable[] },
): Promise<SourceState> {
  let rowsTotal = 0;
  const parts: unknown[] = [schema];
  for (const { name, count, lastKey } of tables) {
    const rows = (await source.readFirst<{ count: number }>(count))?.count ?? 0;
    parts.push([name, rows, (await source.readFirst<{ key: string }>(lastKey))?.key]);
    if (name !== "sqlite_sequence") rowsTotal += rows;
  }
  const id = await source.readFirst<{ key: string }>(sql`SELECT key FROM record_id_key`);
  return {
    source: hash("sha256", id?.key ?? "", "hex"),
    text: hash("sha256", JSON.stringify(parts), "hex"),
    rowsTotal,
  };
}

/**
 * Creates the tables in an empty target, or finds those of an interrupted move.
 *
 * @returns What to create once the rows are there: triggers must not act on them, and indexes are built faster then.
 */
async function begin(
  target: Database,
  { schema, state }: { schema: readonly SchemaObject[]; state: SourceState },
): Promise<SchemaObject[]> {
  const later = schema.filter(({ type }) => type !== "table");
  const existing = await readSchema(target);
  const marker = sql`SELECT 1 FROM sqlite_schema WHERE name = ${unfinishedMove}`;
  if (await target.readFirst(marker) === undefined) {
    if (existing.length > 0) throw new MoveError(["The target isn't empty.", startOver]);
    await target.write([
      { sql: `CREATE TABLE ${unfinishedMove} (source TEXT NOT NULL, state TEXT NOT NULL) STRICT`, args: [] },
      { sql: `INSERT INTO ${unfinishedMove} VALUES (?, ?)`, args: [state.source, state.text] },
      ...schema.filter(({ type }) => type === "table").map(({ sql }) => ({ sql, args: [] })),
    ]);
    return later;
  }
  const begun = await target.readFirst<{ source: string; state: string }>(
    { sql: `SELECT source, state FROM ${unfinishedMove}`, args: [] },
  );
  if (begun?.source !== state.source) {
    throw new MoveError(["The target has an unfinished move of another database.", startOver]);
  }
  if (begun.state !== state.text) {
    throw new MoveError(["The database has changed since this move began.", startOver]);
  }
  return later.filter(({ name }) => !existing.some((object) => object.name === name));
}

interface TableOptions extends Omit<MoveOptions, "onProgress"> {
  readonly onRows: (count: number) => void;
}

/** Fills the search indexes, which have no rows of their own, and checks them. */
async function fillSearch(target: Database, schema: readonly SchemaObject[]): Promise<void> {
  for (const { name } of schema.filter(({ sql }) => /^CREATE VIRTUAL TABLE .* USING fts5/is.test(sql))) {
    await target.write([
      { sql: `INSERT INTO ${name} (${name}) VALUES ('rebuild')`, args: [] },
      { sql: `INSERT INTO ${name} (${name}, rank) VALUES ('integrity-check', 1)`, args: [] },
    ]);
  }
}

/** Reads the next rows while the database writes the former ones. */
async function copy(table: MovedTable, { source, target, onRows }: TableOptions): Promise<void> {
  let after = (await target.readFirst<{ key: string }>(table.lastKey))?.key ?? null;
  if (after !== null) onRows((await target.readFirst<{ count: number }>(table.count))?.count ?? 0);
  let rowsMax = firstBatchRows;
  let writing: Promise<unknown> = Promise.resolve();
  do {
    const batch = await readBatch(source, { table, after, rowsMax });
    await writing;
    if (batch.rows === null) return;
    onRows(batch.count);
    writing = target.write([{ sql: table.insert, args: [batch.rows] }]);
    // Handled by the next `await writing`.
    writing.catch(() => {});
    after = batch.key;
    rowsMax = nextRowsMax(batch);
  } while (after !== null);
  await writing;
}

/** Compares every row. @returns A line for the operator if there is a difference. */
async function compare(table: MovedTable, { source, target, onRows }: TableOptions): Promise<string[]> {
  let after: string | null = null;
  let rowsMax = firstBatchRows;
  do {
    const theirs = readBatch(target, { table, after, rowsMax });
    const [other, own]: [Batch, Batch] = [await theirs, await readBatch(source, { table, after, rowsMax })];
    if (other.rows !== own.rows) {
      const [count, targetCount] = await Promise.all(
        [source, target].map(async (database) =>
          (await database.readFirst<{ count: number }>(table.count))?.count
        ),
      );
      const place = after === null ? "in the first rows" : `after the row with the key ${after}`;
      return [`${table.name}: ${count} rows, ${targetCount} in the target; they differ ${place}.`];
    }
    if (own.rows === null) return [];
    onRows(own.count);
    after = own.key;
    rowsMax = nextRowsMax(own);
  } while (after !== null);
  return [];
}

async function readBatch(
  database: DatabaseReader,
  { table, after, rowsMax }: { table: MovedTable; after: string | null; rowsMax: number },
): Promise<Batch> {
  for (let rows = rowsMax;; rows = Math.floor(rows / 2)) {
    const batch = await database.readFirst<Batch>(
      table.batch(after, { rowsMax: rows, bytesMax: moveBatchBytesMax }),
    );
    if (batch !== undefined && (batch.rows !== null || batch.bytes === null)) return batch;
  }
}

/** Large rows must not be read in vain. */
function nextRowsMax({ count }: Batch): number {
  return Math.min(2 * count, moveBatchRowsMax);
}

/** @throws {MoveError} When the target has more or other tables, indexes and triggers. */
async function compareSchema(target: Database, schema: readonly SchemaObject[]): Promise<void> {
  const texts = (objects: readonly SchemaObject[]) =>
    objects.map((object) => JSON.stringify(object)).sort().join();
  if (texts(await readSchema(target)) !== texts(schema)) {
    throw new MoveError(["The target has other tables, indexes or triggers.", startOver]);
  }
}

/** Makes the target a database that servers accept. */
async function finish(
  { source, target, tables }: Omit<MoveOptions, "onProgress"> & { tables: readonly MovedTable[] },
) {
  const last = tables.filter(({ name }) => lastTables.includes(name));
  const inserts = await Promise.all(last.map(async (table) => {
    const { rows } = await readBatch(source, { table, after: null, rowsMax: moveBatchRowsMax });
    return [
      { sql: `DELETE FROM ${table.name}`, args: [] },
      { sql: table.insert, args: [rows ?? "[]"] },
    ];
  }));
  await target.write([...inserts.flat(), { sql: `DROP TABLE ${unfinishedMove}`, args: [] }]);
  await checkSchema(target);
}
