// The two operations that everything else is made of: read one statement, write one batch. There are no
// interactive transactions, so no lock is ever held across an await.

/** What a statement takes and gives: finite numbers (whole ones up to 2^53−1), texts, null. Bytes go as `unhex(?)`. */
export type Value = null | number | string;

/** One SQL statement, or a part of one, with `?` parameters in order. */
export interface Statement {
  readonly sql: string;
  readonly args: readonly Value[];
}

/** What one statement of a batch did. */
export interface WriteResult {
  /** Rows of `RETURNING` or of a `SELECT`, by column name. */
  readonly rows: readonly Readonly<Record<string, Value>>[];
  /** Rows that were inserted, updated or deleted. */
  readonly changes: number;
}

/** How a batch is written. */
export interface WriteOptions {
  /**
   * The caller bounds how many of its batches wait: they have places of their own, and are not turned away when too
   * many others wait.
   */
  readonly bypassesQueueLimit?: boolean;
}

/** The part of a database that cannot change anything: what queries take. */
export type DatabaseReader = Pick<Database, "read" | "readFirst">;

/** Where another thread finds the same database: plain values that can be sent to it. */
export type DatabaseSource =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "remote"; readonly url: string; readonly authToken: string | undefined };

/** A database of either kind. */
export interface Database {
  readonly source: DatabaseSource;
  /**
   * Runs one statement that only reads. It sees every write that was acknowledged before.
   *
   * @returns The rows, by column name; the caller names their shape.
   * @throws {DatabaseError}
   */
  read<T = Readonly<Record<string, Value>>>(statement: Statement): Promise<T[]>;
  /**
   * Like {@linkcode read}, for at most one row; cheaper.
   *
   * @returns The first row, or undefined.
   * @throws {DatabaseError}
   */
  readFirst<T = Readonly<Record<string, Value>>>(statement: Statement): Promise<T | undefined>;
  /**
   * Runs statements as one transaction: all of them are on disk when this resolves, or none.
   * After an error of kind `unavailable` from a remote database the outcome is unknown.
   *
   * @returns One result for each statement, in order.
   * @throws {DatabaseError}
   */
  write(batch: readonly Statement[], options?: WriteOptions): Promise<readonly WriteResult[]>;
  /** Finishes what was accepted, then closes. */
  close(): Promise<void>;
}

/**
 * Why the database did not do as asked. `constraint`: a rule of the schema; `unavailable`: locked, full, out of
 * reach or too slow, worth trying again; `fault`: anything else, a mistake of ours or a broken file.
 */
export type DatabaseErrorKind = "constraint" | "unavailable" | "fault";

/** The database's answer when it is not a result. */
export class DatabaseError extends Error {
  /**
   * @param kind See {@linkcode DatabaseErrorKind}.
   * @param message For the log, never for a caller.
   */
  constructor(readonly kind: DatabaseErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "DatabaseError";
  }
}

/** The text of templates that contain no other statement, by the place in the source that they come from. */
const plainTexts = new WeakMap<TemplateStringsArray, string>();

/**
 * Builds a statement from a tagged template. A value becomes a parameter; another statement becomes a part of this one,
 * with its own parameters. Nothing else of a value ever reaches the SQL text.
 *
 * @example
 * ```ts ignore
 * const isActive = sql`k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ${now})`;
 * database.read(sql`SELECT k.name FROM api_keys k WHERE k.id = ${id} AND ${isActive}`);
 * ```
 */
export function sql(strings: TemplateStringsArray, ...values: readonly (Value | Statement)[]): Statement;
/** @deprecated Pass a template instead. */
export function sql(text: string, ...args: readonly Value[]): Statement;
export function sql(
  strings: TemplateStringsArray | string,
  ...values: readonly (Value | Statement)[]
): Statement {
  if (typeof strings === "string") return { sql: strings, args: values as readonly Value[] };
  if (!values.some(isStatement)) {
    let text = plainTexts.get(strings);
    if (text === undefined) plainTexts.set(strings, text = strings.join("?"));
    return { sql: text, args: values as readonly Value[] };
  }
  let text = strings[0] ?? "";
  const args: Value[] = [];
  for (const [position, value] of values.entries()) {
    text += (isStatement(value) ? value.sql : "?") + strings[position + 1];
    if (isStatement(value)) args.push(...value.args);
    else args.push(value);
  }
  return { sql: text, args };
}

/** @returns A statement whose text has numbered parameters (`?1`) and was built once, with values for them. */
export function bind(statement: Statement, ...args: readonly Value[]): Statement {
  return { sql: statement.sql, args };
}

/** @returns An integer as a part of the SQL text. Bound numbers reach SQLite as floating-point, where `5 / 2` is 2.5. */
export function integer(value: number): Statement {
  if (!Number.isSafeInteger(value)) throw new TypeError(`not an integer: ${value}`);
  return { sql: String(value), args: [] };
}

/** @returns Statements as parts of one, with a separator such as `" AND "` between them. */
export function joinSql(
  parts: readonly Statement[],
  separator: ", " | " AND " | " UNION ALL " | " ",
): Statement {
  return { sql: parts.map((part) => part.sql).join(separator), args: parts.flatMap(({ args }) => args) };
}

function isStatement(value: Value | Statement): value is Statement {
  return typeof value === "object" && value !== null;
}

/**
 * Refuses what the native driver would abort the whole process for.
 *
 * @throws {DatabaseError} For a value that is neither a finite number, a text nor null.
 */
export function checkArguments(statement: Statement): void {
  for (const value of statement.args) {
    if (value === null || typeof value === "string" || Number.isFinite(value)) continue;
    throw new DatabaseError("fault", `not a value for a statement: ${typeof value}`);
  }
}

/**
 * Sorts SQLite's result codes, which both drivers give by name, into kinds.
 *
 * @param code Such as `SQLITE_BUSY`; extended codes and unknown ones too.
 */
export function databaseErrorKind(code: string | undefined): DatabaseErrorKind {
  if (code === undefined) return "fault";
  if (/^SQLITE_CONSTRAINT/.test(code)) return "constraint";
  return /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|PROTOCOL|INTERRUPT|NOMEM)/.test(code)
    ? "unavailable"
    : "fault";
}
