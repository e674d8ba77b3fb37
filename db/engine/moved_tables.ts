// The tables of a database as `gatehouse move` copies them: which there are, and the statements that read and insert their rows.
import type { DatabaseReader, Statement } from "./database.ts";
import { unfinishedMove } from "./migrate.ts";
import { fencePrefix } from "./move_fence.ts";

/** A table whose rows are copied in the order of their key. */
export interface MovedTable {
  readonly name: string;
  /** Has `count`, and the `key` of the last row or null. For a search index, of the rows that are in it. */
  readonly end: Statement;
  /** Inserts the rows of a {@linkcode Batch}: `?1` is its JSON. */
  readonly insert: string;
  /** Selects one {@linkcode Batch} of rows after a key. */
  batch(after: string | null, limits: { rowsMax: number; bytesMax: number }): Statement;
}

/** Rows as text that is the same in every database with the same rows. */
export interface Batch {
  /** JSON: an array for each row; null if there are none, or they are too large. */
  readonly rows: string | null;
  readonly count: number;
  /** The size of the rows, also if they are too large; null if there are none. */
  readonly bytes: number | null;
  /** JSON: the key of the last row; null if the table has no more rows than these. */
  readonly key: string | null;
}

/** A table, index, trigger or view, by the statement that creates it. */
export interface SchemaObject {
  readonly type: string;
  readonly name: string;
  readonly sql: string;
}

interface Column {
  readonly table: string;
  readonly name: string;
  /** Contains only integers and nulls. Others are written as text, which begins with the first letter of their type. */
  readonly isInteger: number;
  /** The position in the primary key, from 1; 0 for the others. */
  readonly pk: number;
  /** 1 if the table has no rowid. */
  readonly wr: number;
  /** A search index: its texts are those of another table, but it is filled like a table. */
  readonly isSearch: number;
}

/** The program's own and users' tables. Those of an extension, such as the parts of a search index, are created with it. */
const ownTables =
  `pragma_table_list AS l JOIN sqlite_schema AS s ON s.name = l.name AND s.type IN ('table', 'view')
  WHERE l.schema = 'main' AND l.type <> 'shadow' AND l.name NOT GLOB 'libsql_*' AND l.name <> '${unfinishedMove}'`;

/** Returns the statements that create the schema, in their order. */
export function readSchema(database: DatabaseReader): Promise<SchemaObject[]> {
  return database.read<SchemaObject>(plain(
    `SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT GLOB 'sqlite_*' AND name NOT GLOB '${fencePrefix}*'
     AND tbl_name IN (SELECT l.name FROM ${ownTables}) ORDER BY rowid`,
  ));
}

/** Returns the tables with rows of their own. Those that others refer to come first. */
export async function readTables(database: DatabaseReader): Promise<MovedTable[]> {
  const columns = await database.read<Column>(plain(
    `SELECT l.name AS "table", c.name, l.strict AND c.type = 'INTEGER' AS isInteger, c.pk, l.wr,
       s.sql LIKE 'CREATE VIRTUAL TABLE % USING fts5%' AS isSearch
     FROM ${ownTables.replace(" WHERE", " JOIN pragma_table_xinfo(l.name) AS c WHERE")}
     AND l.type IN ('table', 'virtual') AND c.hidden = 0 AND (l.name NOT GLOB 'sqlite_*' OR l.name = 'sqlite_sequence') ORDER BY isSearch, s.rowid, c.cid`,
  ));
  const references = await database.read<{ table: string; parent: string }>(plain(
    `SELECT s.name AS "table", f."table" AS parent FROM sqlite_schema AS s JOIN pragma_foreign_key_list(s.name) AS f
     WHERE s.type = 'table' AND f."table" <> s.name`,
  ));
  const waiting = Map.groupBy(columns, ({ table }) => table);
  const tables: MovedTable[] = [];
  while (waiting.size > 0) {
    const names = [...waiting.keys()];
    const free = names.filter((name) => !references.some((r) => r.table === name && waiting.has(r.parent)));
    // Of tables that refer to each other, any may be first.
    for (const name of free.length > 0 ? free : names) {
      tables.push(movedTable(name, waiting.get(name) ?? []));
      waiting.delete(name);
    }
  }
  return tables;
}

function movedTable(name: string, columns: readonly Column[]): MovedTable {
  const table = quoted(name);
  const rowid: Column = { table: name, name: "rowid", isInteger: 1, pk: 1, wr: 0, isSearch: 0 };
  const primary = columns.filter(({ pk }) => pk > 0).sort((one, other) => one.pk - other.pk);
  const keys = columns[0]?.wr === 1 ? primary : [rowid];
  // Otherwise one of the columns is the rowid.
  const isRowidHidden = keys[0] === rowid && (primary.length !== 1 || primary[0]?.isInteger !== 1);
  const all = isRowidHidden ? [rowid, ...columns] : columns;
  const keyNames = keys.map((key) => quoted(key.name)).join(", ");
  const key = jsonArray(keys);
  const read = (where: string) => {
    const rows = `FROM ${table} ${where} ORDER BY ${keyNames}`;
    // Summed before the rows are written as JSON, which is far cheaper than a running sum over them.
    const bytes = `(SELECT sum(bytes) FROM (SELECT ${sizeOf(all)} AS bytes ${rows} LIMIT ?1))`;
    return `SELECT '[' || group_concat(r, ',') || ']' AS rows, count(*) AS count, ${bytes} AS bytes,
        (SELECT ${key} ${rows} LIMIT 1 OFFSET ?1 - 1) AS key
      FROM (SELECT ${jsonArray(all)} AS r ${rows} LIMIT ?1) WHERE ?1 = 1 OR ${bytes} <= ?2`;
  };
  // A search index reads rows from its table, but has one of its own for each.
  const [own, ownKey] = columns[0]?.isSearch === 1
    ? [quoted(`${name}_docsize`), [{ ...rowid, name: "id" }]]
    : [table, keys];
  const after = keys.map((one, n) => decoded(one, { json: "?3", n })).join(", ");
  const [first, next] = [read(""), read(`WHERE (${keyNames}) > (${after})`)];
  return {
    name,
    end: plain(
      `SELECT (SELECT count(*) FROM ${own}) AS count, (SELECT ${jsonArray(ownKey)} FROM ${own} ORDER BY ${
        ownKey.map((one) => `${quoted(one.name)} DESC`).join(", ")
      } LIMIT 1) AS key`,
    ),
    insert: `INSERT INTO ${table} (${all.map((column) => quoted(column.name)).join(", ")})
      SELECT ${all.map((column, n) => decoded(column, { json: "value", n })).join(", ")} FROM json_each(?1)`,
    batch: (after, { rowsMax, bytesMax }) =>
      after === null
        ? { sql: first, args: [rowsMax, bytesMax] }
        : { sql: next, args: [rowsMax, bytesMax, after] },
  };
}

function jsonArray(columns: readonly Column[]): string {
  return `json_array(${columns.map(encoded).join(", ")})`;
}

/** Returns about the size of a row, and at least half of it. */
function sizeOf(columns: readonly Column[]): string {
  const texts = columns.filter(({ isInteger }) => isInteger === 0);
  const sizes = texts.map(({ name }) => `coalesce(length(CAST(${quoted(name)} AS BLOB)), 0)`);
  return [String(12 * columns.length), ...sizes].join(" + ");
}

/**
 * Writes a value so that JSON carries it exactly. JSON has no bytes, and engines differ in how they write fractions and
 * read characters that aren't ASCII, such as a NUL.
 */
function encoded({ name, isInteger }: Column): string {
  const value = quoted(name);
  if (isInteger === 1) return value;
  return `CASE typeof(${value})
    WHEN 'text' THEN iif(length(${value}) = length(CAST(${value} AS BLOB)), 't' || ${value}, 'u' || hex(${value}))
    WHEN 'blob' THEN 'b' || hex(${value}) WHEN 'real' THEN 'r' || format('%!.17g', ${value}) ELSE ${value} END`;
}

/** Reads what {@linkcode encoded} has written, at a position of an array. */
function decoded({ isInteger }: Column, { json, n }: { json: string; n: number }): string {
  const value = `json_extract(${json}, '$[${n}]')`;
  if (isInteger === 1) return value;
  const rest = `substr(${value}, 2)`;
  return `CASE substr(${value}, 1, 1) WHEN 't' THEN ${rest} WHEN 'u' THEN CAST(unhex(${rest}) AS TEXT)
    WHEN 'b' THEN unhex(${rest}) WHEN 'r' THEN CAST(${rest} AS REAL) ELSE ${value} END`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function plain(text: string): Statement {
  return { sql: text, args: [] };
}
