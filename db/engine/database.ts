// The database has two operations: read one statement, and write one batch. There are no interactive transactions, so no lock
// is ever held across an await.
import type { LastWrite } from "./write_state.ts";

/** A value in a statement or row: null, text, or a finite number (integers up to 2^53−1). Bytes are passed as `unhex(?)`. */
type Value = null | number | string;

/** One SQL statement, or a part of one, with `?` parameters in order. */
export interface Statement {
  readonly sql: string;
  readonly args: readonly Value[];
}

export interface WriteResult {
  /** Rows of `RETURNING` or `SELECT`, by column name. */
  readonly rows: readonly Readonly<Record<string, Value>>[];
  /** The number of rows inserted, updated or deleted; 0 for a statement that returns rows. */
  readonly changes: number;
}

export interface WriteOptions {
  /** Accept the batch even when too many are waiting: the caller bounds its own. */
  readonly bypassesQueueLimit?: boolean;
}

export type DatabaseReader = Pick<Database, "read" | "readFirst">;

/** The file or server of a database, for other threads. */
export type DatabaseSource =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "remote"; readonly url: string; readonly authToken: string | undefined };

export interface Database {
  readonly source: DatabaseSource;
  /** The outcome of the last write of any thread. A database that only reads has none. */
  readonly lastWrite?: LastWrite;
  /** Runs one statement that only reads. It sees all earlier acknowledged writes. @throws {DatabaseError} */
  read<T = Readonly<Record<string, Value>>>(statement: Statement): Promise<T[]>;
  /** Like {@linkcode read}, but cheaper: returns the first row, or undefined. */
  readFirst<T = Readonly<Record<string, Value>>>(statement: Statement): Promise<T | undefined>;
  /**
   * Runs statements as one transaction: all of them are on disk when this resolves, or none. After an `unavailable` error of
   * a libSQL server, the outcome is unknown.
   *
   * @returns One result for each statement.
   * @throws {DatabaseError}
   */
  write(batch: readonly Statement[], options?: WriteOptions): Promise<readonly WriteResult[]>;
  /** Writes all accepted batches, then closes. */
  close(): Promise<void>;
}

/** The statements of one transaction, in this order. A list has one name. */
export type NamedBatch = Readonly<Record<string, Statement | readonly Statement[]>>;

/** The results of a batch, by name. */
type NamedResults<Batch> = {
  readonly [Name in keyof Batch]: Batch[Name] extends Statement ? WriteResult : readonly WriteResult[];
};

/** Writes a batch, and returns its results by the names of its statements. @throws {DatabaseError} */
export async function writeNamed<Batch extends NamedBatch>(
  database: Pick<Database, "write">,
  batch: Batch,
): Promise<NamedResults<Batch>> {
  const results = (await database.write(Object.values(batch).flat())).values();
  const next = () => results.next().value;
  const named = Object.entries(batch).map((
    [name, part],
  ) => [name, Array.isArray(part) ? part.map(next) : next()]);
  return Object.fromEntries(named) as NamedResults<Batch>;
}

/** Opens the same database in another thread. Can be posted once, with `port` as a transferred object. */
export type DatabaseShare =
  & {
    /** The memory of the {@linkcode WriteState}. */
    readonly writes: SharedArrayBuffer;
  }
  & (
    | {
      readonly kind: "file";
      readonly path: string;
      readonly port: MessagePort;
      readonly signal: Int32Array<SharedArrayBuffer>;
    }
    | (DatabaseSource & { readonly kind: "remote" })
  );

/** The database in the thread that opened it. */
export interface MainDatabase extends Database {
  /** Returns a share for one other thread. That thread must close its database before this one is closed. */
  share(): DatabaseShare;
}

/** The database in another thread. */
export interface SharedDatabase extends Database {
  /** Rejects all waiting and later batches, when the writer has died. A libSQL server has no writer, so nothing happens. */
  fail(message: string): void;
}

/**
 * The cause of an error. `constraint`: violates the schema. `unavailable`: locked, full, unreachable or too slow, so try again.
 * `fault`: anything else, such as a bug or a damaged file.
 */
export type DatabaseErrorKind = "constraint" | "unavailable" | "fault";

export class DatabaseError extends Error {
  /** @param message For the log, never for a caller. */
  constructor(readonly kind: DatabaseErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "DatabaseError";
  }
}

/** A class, so that an object from parsed JSON is rejected as a value instead of becoming a part of the SQL text. */
class BuiltStatement implements Statement {
  constructor(
    readonly sql: string,
    readonly args: readonly Value[],
  ) {}
}

/** The text of templates without other statements. */
const plainTexts = new WeakMap<TemplateStringsArray, string>();

/**
 * Builds a statement from a tagged template. Values become parameters; statements become parts, with their own parameters.
 * Nothing else reaches the SQL text.
 *
 * @example
 * ```ts ignore
 * const isActive = sql`k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ${now})`;
 * database.read(sql`SELECT k.name FROM api_keys k WHERE k.id = ${id} AND ${isActive}`);
 * ```
 */
export function sql(strings: TemplateStringsArray, ...values: readonly (Value | Statement)[]): Statement {
  if (!values.some(isStatement)) {
    let text = plainTexts.get(strings);
    if (text === undefined) plainTexts.set(strings, text = strings.join("?"));
    return new BuiltStatement(text, values as readonly Value[]);
  }
  let text = strings[0] ?? "";
  const args: Value[] = [];
  for (const [position, value] of values.entries()) {
    text += (isStatement(value) ? value.sql : "?") + strings[position + 1];
    if (isStatement(value)) args.push(...value.args);
    else args.push(value);
  }
  return new BuiltStatement(text, args);
}

/** Binds values to the numbered parameters (`?1`) of a statement whose text was built once. */
export function bind(statement: Statement, ...args: readonly Value[]): Statement {
  return new BuiltStatement(statement.sql, args);
}

/**
 * Writes an integer into the SQL text. Bound numbers reach SQLite as floating-point, where `5 / 2` is 2.5. For constants only,
 * because each distinct text is prepared and kept.
 */
export function integer(value: number): Statement {
  if (!Number.isSafeInteger(value)) throw new TypeError(`not an integer: ${value}`);
  return new BuiltStatement(String(value), []);
}

/** Joins statements as parts of one, with a separator such as `" AND "` between them. */
export function joinSql(
  parts: readonly Statement[],
  separator: ", " | " AND " | " UNION ALL " | " ",
): Statement {
  return new BuiltStatement(parts.map((part) => part.sql).join(separator), parts.flatMap(({ args }) => args));
}

function isStatement(value: Value | Statement): value is Statement {
  return value instanceof BuiltStatement;
}

/**
 * Rejects other values, such as those of parsed JSON. The driver would take an object for named parameters, and write `NaN` as
 * null. @throws {DatabaseError}
 */
export function checkArguments(statement: Statement): void {
  for (const value of statement.args) {
    if (value === null || typeof value === "string" || Number.isFinite(value)) continue;
    throw new DatabaseError("fault", `invalid value in a statement: ${typeof value}`);
  }
}

/** Returns the kind of error for a result code of SQLite, such as `SQLITE_BUSY`. */
export function databaseErrorKind(code: string | undefined): DatabaseErrorKind {
  if (code === undefined) return "fault";
  if (/^SQLITE_CONSTRAINT/.test(code)) return "constraint";
  return /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|PROTOCOL|INTERRUPT|NOMEM)/.test(code)
    ? "unavailable"
    : "fault";
}
