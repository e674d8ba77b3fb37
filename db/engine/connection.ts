// A connection to the data file through the native driver, with a cache of prepared statements. When a statement that failed
// with SQLITE_BUSY is dropped, the driver silently loses later writes. Cached statements, and locks that only BEGIN IMMEDIATE
// takes, avoid that.
import { setTimeout } from "node:timers/promises";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { messageOf } from "../../domain/errors.ts";
import { databaseBusyTimeoutMs } from "../../domain/limits.ts";
import { checkArguments, DatabaseError, databaseErrorKind, type Statement } from "./database.ts";

/** A prepared statement. Rows come as arrays, which is cheaper than the driver's objects. */
interface Prepared {
  readonly statement: StatementSync;
  /** The columns of its rows; null for a statement without rows. */
  readonly columns: readonly string[] | null;
}

/** Pages of 4 KiB in the log at which it is checkpointed (80 MB). Each random key touches a page of its own. */
const checkpointPages = 20_000;

/** Writes an empty database with a write-ahead log into an empty file. */
export function initializeDataFile(path: string): void {
  new Connection(path, { readOnly: false }).close();
}

/** Resolves when closed connections have released their files, which newer versions of Deno do in the next turn. */
export async function filesReleased(): Promise<void> {
  await setTimeout(0);
}

export class Connection {
  readonly #sqlite: DatabaseSync;
  readonly #prepared = new Map<string, Prepared>();

  /**
   * Opens an existing file.
   *
   * @param options `readOnly`: reject writes. `isGuest`: leave checkpoints to the process that has the lock. `isBackup`: leave
   *   the journal mode unchanged.
   * @throws {DatabaseError} When the file isn't a database or can't be opened.
   */
  constructor(path: string, options: { readOnly: boolean; isGuest?: boolean; isBackup?: boolean }) {
    this.#sqlite = withDatabaseErrors(() => new DatabaseSync(path, { readOnly: options.readOnly }));
    try {
      this.all({ sql: `PRAGMA busy_timeout = ${databaseBusyTimeoutMs}`, args: [] });
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

  get inTransaction(): boolean {
    return this.#sqlite.isTransaction;
  }

  /**
   * Moves the log into the data file, and truncates it. Like every checkpoint, it follows a commit of the same connection: then
   * no other commit can reset the log while it starts, which versions of SQLite before 3.51.3 don't notice (decision 64).
   *
   * @returns True if the data file is now complete.
   * @throws {DatabaseError} `unavailable` if another program holds the write lock.
   */
  checkpoint({ busyTimeoutMs }: { busyTimeoutMs: number }): boolean {
    this.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    this.all({ sql: "PRAGMA wal_autocheckpoint = 0", args: [] });
    // Writes a page, even though the value stays the same.
    this.exec("PRAGMA user_version = 0");
    const [row] = this.all({ sql: "PRAGMA wal_checkpoint(TRUNCATE)", args: [] }) as { busy: number }[];
    return row?.busy === 0;
  }

  /** Runs a statement without parameters and ignores its results. */
  exec(text: string): void {
    this.run({ sql: text, args: [] });
  }

  all(statement: Statement): unknown[] {
    return this.run(statement).rows;
  }

  /** Runs one statement that reads, and returns its first row. */
  first(statement: Statement): unknown {
    checkArguments(statement);
    return withDatabaseErrors(() => {
      const { statement: prepared, columns } = this.#prepare(statement.sql);
      const values = prepared.get(...statement.args as SQLInputValue[]) as unknown[] | undefined;
      return values === undefined || columns === null ? undefined : toRow(columns, values);
    });
  }

  /** Runs one statement. Returns its rows or, if it has none, how many rows it has changed. */
  run(statement: Statement): { rows: unknown[]; changes: number } {
    checkArguments(statement);
    return withDatabaseErrors(() => {
      const { statement: prepared, columns } = this.#prepare(statement.sql);
      if (columns === null) {
        return { rows: [], changes: Number(prepared.run(...statement.args as SQLInputValue[]).changes) };
      }
      const rows = statement.hasOneRow
        ? [prepared.get(...statement.args as SQLInputValue[]) as unknown as unknown[]]
        : prepared.all(...statement.args as SQLInputValue[]) as unknown as unknown[][];
      return { rows: rows.map((values) => toRow(columns, values)), changes: 0 };
    });
  }

  /**
   * Closes the connection and discards uncommitted changes. The driver keeps the file open until the connection's statements
   * are garbage-collected: hence `--expose-gc` and {@linkcode filesReleased}. SQLite removes the write-ahead log when the last
   * connection to the file closes.
   */
  close(): void {
    this.#prepared.clear();
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
      const names = statement.columns().map(({ name }) => name);
      const columns = names.length > 0 ? names : null;
      (statement as unknown as { setReturnArrays(on: boolean): void }).setReturnArrays(true);
      prepared = { statement, columns };
      this.#prepared.set(text, prepared);
    }
    return prepared;
  }
}

function toRow(columns: readonly string[], values: readonly unknown[]): Record<string, unknown> {
  const row: Record<string, unknown> = {};
  for (let n = 0; n < columns.length; n++) row[columns[n] as string] = values[n];
  return row;
}

/** Turns errors of the driver into database errors. */
function withDatabaseErrors<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof DatabaseError) throw error;
    const { errcode } = error as { errcode?: number };
    const code = errcode === undefined ? undefined : resultCodes[errcode] ?? resultCodes[errcode & 0xff];
    const message = `${code ?? "no code"}: ${messageOf(error)}`;
    throw new DatabaseError(databaseErrorKind(code), message, { cause: error });
  }
}

const resultCodes: Readonly<Record<number, string>> = {
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  7: "SQLITE_NOMEM",
  9: "SQLITE_INTERRUPT",
  10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT",
  13: "SQLITE_FULL",
  14: "SQLITE_CANTOPEN",
  15: "SQLITE_PROTOCOL",
  19: "SQLITE_CONSTRAINT",
  26: "SQLITE_NOTADB",
  778: "SQLITE_IOERR_WRITE",
  1034: "SQLITE_IOERR_FSYNC",
  4874: "SQLITE_IOERR_SHMSIZE",
};
