// Copies a whole database into an empty one, of the same or the other kind. The rows that are already there say how far a copy
// has come, so an interrupted one continues.
import { hash } from "node:crypto";
import { moveBatchBytesMax, moveBatchRowsMax, moveWriteMs } from "../../domain/move_limits.ts";
import { type Database, type DatabaseReader, sql } from "./database.ts";
import { checkSchema, unfinishedMove } from "./migrate.ts";
import { deleteFenceRow, isFenced } from "./move_fence.ts";
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
  readonly act: "creating" | "copying" | "comparing";
  /** The name of the table, index or trigger. */
  readonly name: string;
  /** Rows of all tables so far, and in total. */
  readonly rows: number;
  readonly rowsTotal: number;
}

interface MoveOptions {
  readonly source: DatabaseReader;
  readonly target: Database;
  /** Makes the source read-only before anything is read. By default, the caller has locked it. */
  readonly makeReadOnly?: () => Promise<void>;
  readonly onProgress: (progress: MoveProgress) => void;
}

/** Filled in the transaction that ends the move, so that until then even earlier versions of the program reject the target. */
const lastTables: readonly string[] = ["schema_migrations", "sqlite_sequence"];
/** The number of rows of a table's first batch. The next ones have twice as many as fitted. */
const firstBatchRows = 100;
const startOver = "Delete everything in the target, or choose another one, and run the command again.";

/**
 * Copies everything from one database to another, or continues to, then compares all rows. The schema of the source must be
 * this program's, and nothing may write to it from the moment at which it is read-only.
 *
 * @returns The number of tables and rows.
 * @throws {MoveError}
 */
export async function moveDatabase(options: MoveOptions): Promise<{ tables: number; rows: number }> {
  const { source, target, makeReadOnly, onProgress } = options;
  const id = await readId(source);
  // Until here, nothing has changed at the source.
  await findBegun(target, id);
  await makeReadOnly?.();
  const [schema, tables] = [await readSchema(source), await readTables(source)];
  const state = await readState(source, { schema, tables });
  await begin(target, { schema, id, state });
  // A file builds an index faster once the rows are there. A libSQL server rolls back what takes longer than five seconds.
  const isFirst = ({ type }: SchemaObject) =>
    type === "table" || (type === "index" && target.source.kind === "remote");
  const { rowsTotal } = state;
  let rows = 0;
  const progress = (act: MoveProgress["act"]) => (name: string, count = 0) =>
    onProgress({ act, name, rows: rows += count, rowsTotal });
  const onObject = progress("creating");
  await create(schema.filter(isFirst), { target, onObject });
  const copied = tables.filter(({ name }) => !lastTables.includes(name));
  for (const table of copied) await copy(table, { source, target, onRows: progress("copying") });
  // Triggers must not act on copied rows.
  await create(schema.filter((object) => !isFirst(object)), { target, onObject });
  rows = 0;
  const differences: string[] = [];
  for (const table of copied) {
    differences.push(...await compare(table, { source, target, onRows: progress("comparing") }));
  }
  if (differences.length > 0) throw new MoveError([...differences, startOver]);
  await compareSchema(target, schema);
  if (makeReadOnly !== undefined && !await isFenced(source)) {
    throw new MoveError(["The move was canceled.", startOver]);
  }
  if ((await readState(source, { schema, tables })).text !== state.text) {
    throw new MoveError(["The database has changed during the move: a server is still using it.", startOver]);
  }
  await finish({ source, target, tables });
  // The row that makes the source read-only isn't copied.
  return { tables: copied.length + 1, rows: makeReadOnly === undefined ? rowsTotal : rowsTotal - 1 };
}

/** Identifies the database, by the key that each has for ids of records. */
async function readId(source: DatabaseReader): Promise<string> {
  const id = await source.readFirst<{ key: string }>(sql`SELECT key FROM record_id_key`);
  return hash("sha256", id?.key ?? "", "hex");
}

interface SourceState {
  /** A hash of the schema and of each table's count and last row. */
  readonly text: string;
  readonly rowsTotal: number;
}

/** Reads what tells a source that changed between two runs of a move from an unchanged one. */
async function readState(
  source: DatabaseReader,
  { schema, tables }: { schema: readonly SchemaObject[]; tables: readonly MovedTable[] },
): Promise<SourceState> {
  let rowsTotal = 0;
  const parts: unknown[] = [schema];
  const ends = await Promise.all(tables.map((table) => readEnd(source, table)));
  for (const [n, { name }] of tables.entries()) {
    parts.push([name, ends[n]]);
    if (name !== "sqlite_sequence") rowsTotal += ends[n]?.count ?? 0;
  }
  return {
    text: hash("sha256", JSON.stringify(parts), "hex"),
    rowsTotal,
  };
}

interface Begun {
  readonly source: string;
  readonly state: string;
}

/** Returns the marker of an unfinished move of a source, or undefined if the target is empty. @throws {MoveError} If it is neither. */
async function findBegun(target: Database, id: string): Promise<Begun | undefined> {
  const marker = sql`SELECT 1 FROM sqlite_schema WHERE name = ${unfinishedMove}`;
  if (await target.readFirst(marker) === undefined) {
    if ((await readSchema(target)).length > 0) throw new MoveError(["The target isn't empty.", startOver]);
    return undefined;
  }
  const begun = await target.readFirst<Begun>(
    { sql: `SELECT source, state FROM ${unfinishedMove}`, args: [] },
  );
  if (begun?.source === id) return begun;
  throw new MoveError(["The target has an unfinished move of another database.", startOver]);
}

/** Creates the tables in an empty target, or finds those of an interrupted move. */
async function begin(
  target: Database,
  { schema, id, state }: { schema: readonly SchemaObject[]; id: string; state: SourceState },
): Promise<void> {
  const begun = await findBegun(target, id);
  if (begun === undefined) {
    await target.write([
      { sql: `CREATE TABLE ${unfinishedMove} (source TEXT NOT NULL, state TEXT NOT NULL) STRICT`, args: [] },
      { sql: `INSERT INTO ${unfinishedMove} VALUES (?, ?)`, args: [id, state.text] },
      ...schema.filter(({ type }) => type === "table").map(({ sql }) => ({ sql, args: [] })),
    ]);
  } else if (begun.state !== state.text) {
    throw new MoveError(["The database has changed since this move began.", startOver]);
  }
}

interface TableOptions extends Pick<MoveOptions, "source" | "target"> {
  readonly onRows: (table: string, count: number) => void;
}

/** Creates missing tables and indexes, each in a transaction of its own. */
async function create(
  objects: readonly SchemaObject[],
  { target, onObject }: { target: Database; onObject: (name: string) => void },
): Promise<void> {
  const existing = new Set((await readSchema(target)).map(({ name }) => name));
  for (const { name, sql } of objects.filter((object) => !existing.has(object.name))) {
    onObject(name);
    await target.write([{ sql, args: [] }]);
  }
}

/** Reads the next rows while the database writes the former ones. */
async function copy(table: MovedTable, { source, target, onRows }: TableOptions): Promise<void> {
  const { count, key } = await readEnd(target, table);
  onRows(table.name, count);
  let after = key;
  let rowsMax = firstBatchRows;
  let writing: Promise<unknown> = Promise.resolve();
  let writeMs = 0;
  do {
    const batch = await readBatch(source, { table, after, rowsMax });
    await writing;
    if (batch.rows === null) return;
    onRows(table.name, batch.count);
    const begin = performance.now();
    writing = target.write([{ sql: table.insert, args: [batch.rows] }]).then(() => {
      writeMs = performance.now() - begin;
    });
    // Handled by the next `await writing`.
    writing.catch(() => {});
    after = batch.key;
    rowsMax = writeMs > moveWriteMs ? Math.ceil(batch.count / 2) : nextRowsMax(batch);
  } while (after !== null);
  await writing;
}

/** Writes the fractions of rows as JavaScript does: versions of SQLite write the same number with different digits. */
function withNumbers(rows: string | null): string | undefined {
  return rows?.replaceAll(/"r(-?[\d.]+(?:e[+-]?\d+)?)"/gi, (_text, digits) => `"r${Number(digits)}"`);
}

/** Compares every row. @returns A line for the operator if there is a difference. */
async function compare(table: MovedTable, { source, target, onRows }: TableOptions): Promise<string[]> {
  let after: string | null = null;
  let rowsMax = firstBatchRows;
  do {
    const theirs = readBatch(target, { table, after, rowsMax });
    const [other, own]: [Batch, Batch] = [await theirs, await readBatch(source, { table, after, rowsMax })];
    if (other.rows !== own.rows && withNumbers(other.rows) !== withNumbers(own.rows)) {
      const [{ count }, end] = [await readEnd(source, table), await readEnd(target, table)];
      const place = after === null ? "in the first rows" : `after the row with the key ${after}`;
      return [`${table.name}: ${count} rows, ${end.count} in the target; they differ ${place}.`];
    }
    if (own.rows === null) return [];
    onRows(table.name, own.count);
    after = own.key;
    rowsMax = nextRowsMax(own);
  } while (after !== null);
  // A search index shows the rows of its table even if it lacks them.
  const [{ count }, end] = [await readEnd(source, table), await readEnd(target, table)];
  return count === end.count ? [] : [`${table.name}: ${count} rows, ${end.count} in the target.`];
}

async function readEnd(database: DatabaseReader, { end }: MovedTable) {
  return await database.readFirst<{ count: number; key: string | null }>(end) ?? { count: 0, key: null };
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
  { source, target, tables }: Pick<MoveOptions, "source" | "target"> & { tables: readonly MovedTable[] },
) {
  const last = tables.filter(({ name }) => lastTables.includes(name));
  const inserts = await Promise.all(last.map(async (table) => {
    const { rows } = await readBatch(source, { table, after: null, rowsMax: moveBatchRowsMax });
    return [
      { sql: `DELETE FROM ${table.name}`, args: [] },
      { sql: table.insert, args: [rows ?? "[]"] },
    ];
  }));
  await target.write([...inserts.flat(), deleteFenceRow, { sql: `DROP TABLE ${unfinishedMove}`, args: [] }]);
  await checkSchema(target);
}
