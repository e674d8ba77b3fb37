// One connection to the data file through the native driver, with its prepared statements kept. The driver
// silently loses later writes after a statement that met SQLITE_BUSY is dropped; kept statements, and locks that
// are taken by BEGIN IMMEDIATE alone, are how that cannot happen here.
import Sqlite from "libsql";
import { databaseBusyTimeoutMs } from "../../domain/limits.ts";
import { checkArguments, DatabaseError, databaseErrorKind, type Statement } from "./database.ts";

interface Prepared {
  readonly statement: Sqlite.Statement;
  readonly returnsRows: boolean;
}

/** A statement for one row, which comes as an array: cheaper than the driver's objects. */
interface PreparedFirst {
  readonly statement: Sqlite.Statement;
  readonly columns: readonly string[];
}

/** The WAL is checkpointed at this many pages of 4 KiB (80 MB): random keys touch a page each. */
const checkpointPages = 20_000;

/**
 * Writes an empty database in write-ahead-log mode into an empty file.
 *
 * @throws {DatabaseError}
 */
export function initializeDataFile(path: string): void {
  const sqlite = translated(() => new Sqlite(path));
  try {
    // No prepared statement, so that closing releases the file.
    translated(() => sqlite.exec("PRAGMA journal_mode = WAL"));
  } finally {
    sqlite.close();
  }
}

/** Resolves when connections that were closed have released their files: newer versions of Deno need another turn. */
export function filesReleased(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** A connection and its prepared statements. Not for use from two threads. */
export class Connection {
  readonly #sqlite: Sqlite.Database;
  readonly #prepared = new Map<string, Prepared>();
  readonly #preparedFirst = new Map<string, PreparedFirst>();

  /**
   * Opens the file, which must exist.
   *
   * @param path The data file.
   * @param options `readOnly`: refuse every write on this connection. `isGuest`: another process has the file for itself
   *   and moves its log; this one leaves that alone. `isBackup`: a file that no server uses, which stays as it is.
   * @throws {DatabaseError} When the file is not a database or cannot be opened.
   */
  constructor(path: string, options: { readOnly: boolean; isGuest?: boolean; isBackup?: boolean }) {
    this.#sqlite = translated(() => new Sqlite(path, { timeout: databaseBusyTimeoutMs }));
    try {
      if (options.isBackup !== true) this.#useLog();
      this.exec("PRAGMA synchronous = FULL");
      this.exec("PRAGMA foreign_keys = ON");
      this.exec(`PRAGMA cache_size = ${options.readOnly ? -16_000 : -128_000}`);
      const pages = options.isGuest ? 0 : checkpointPages;
      this.all({ sql: `PRAGMA wal_autocheckpoint = ${pages}`, args: [] });
      if (options.readOnly) this.exec("PRAGMA query_only = ON");
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Whether a transaction is open. */
  get inTransaction(): boolean {
    return this.#sqlite.inTransaction;
  }

  /**
   * Moves everything in the write-ahead log into the data file and truncates the log.
   *
   * @param options `busyTimeoutMs`: how long to wait for other processes that are reading.
   * @returns Whether the data file now holds everything.
   * @throws {DatabaseError}
   */
  checkpoint({ busyTimeoutMs }: { busyTimeoutMs: number }): boolean {
    this.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    const [row] = this.all({ sql: "PRAGMA wal_checkpoint(TRUNCATE)", args: [] }) as { busy: number }[];
    return row?.busy === 0;
  }

  /** Runs a statement without parameters, results thrown away. @throws {DatabaseError} */
  exec(text: string): void {
    translated(() => this.#sqlite.exec(text));
  }

  /** Runs one statement to its end. @returns Its rows; empty for one that gives none. @throws {DatabaseError} */
  all(statement: Statement): unknown[] {
    return this.run(statement).rows;
  }

  /** @returns The first row of one statement that reads, or undefined. @throws {DatabaseError} */
  first(statement: Statement): unknown {
    checkArguments(statement);
    return translated(() => {
      const { statement: prepared, columns } = this.#prepareFirst(statement.sql);
      const values = prepared.get(statement.args) as unknown[] | undefined;
      if (values === undefined) return undefined;
      const row: Record<string, unknown> = {};
      for (let n = 0; n < columns.length; n++) row[columns[n] as string] = values[n];
      return row;
    });
  }

  /** Runs one statement. @returns Its rows and how many rows it changed. @throws {DatabaseError} */
  run(statement: Statement): { rows: unknown[]; changes: number } {
    checkArguments(statement);
    return translated(() => {
      const { statement: prepared, returnsRows } = this.#prepare(statement.sql);
      if (!returnsRows) return { rows: [], changes: prepared.run(statement.args).changes };
      const rows = prepared.all(statement.args);
      return { rows, changes: rows.length };
    });
  }

  /**
   * Closes the connection and discards what was not committed. The driver keeps the file open until the statements of
   * the connection are garbage-collected, and has no other way to release them: hence `--expose-gc`, and
   * {@linkcode filesReleased}. SQLite removes the write-ahead log when the last connection to the file closes.
   */
  close(): void {
    this.#prepared.clear();
    this.#preparedFirst.clear();
    this.#sqlite.close();
    (globalThis as { gc?: () => void }).gc?.();
  }

  #useLog(): void {
    const [mode] = this.all({ sql: "PRAGMA journal_mode = WAL", args: [] }) as { journal_mode: string }[];
    if (mode?.journal_mode !== "wal") {
      throw new DatabaseError("fault", "the file system does not support write-ahead logging");
    }
  }

  #prepare(text: string): Prepared {
    let prepared = this.#prepared.get(text);
    if (prepared === undefined) {
      const statement = this.#sqlite.prepare(text);
      prepared = { statement, returnsRows: statement.reader };
      this.#prepared.set(text, prepared);
    }
    return prepared;
  }

  #prepareFirst(text: string): PreparedFirst {
    let prepared = this.#preparedFirst.get(text);
    if (prepared === undefined) {
      const statement = this.#sqlite.prepare(text).raw(true);
      prepared = { statement, columns: statement.columns().map(({ name }) => name) };
      this.#preparedFirst.set(text, prepared);
    }
    return prepared;
  }
}

function translated<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof DatabaseError) throw error;
    const code = (error as { code?: string }).code;
    const message = error instanceof Error ? error.message : String(error);
    throw new DatabaseError(databaseErrorKind(code), `${code ?? "no code"}: ${message}`, { cause: error });
  }
}
