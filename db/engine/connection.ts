// A connection to the data file, with a cache of prepared statements.
import { backup, DatabaseSync, type StatementSync } from "node:sqlite";
import { messageOf } from "../../domain/errors.ts";
import { databaseBusyTimeoutMs } from "../../domain/limits.ts";
import { checkArguments, DatabaseError, databaseErrorKind, type Statement } from "./database.ts";

/** A prepared statement. Rows come as arrays, which is cheaper than the driver's objects. */
interface Prepared {
  readonly statement: StatementSync;
  /** The columns of its rows; null for a statement without rows. */
  readonly columns: readonly string[] | null;
  /** True for `INSERT`, `UPDATE` and `DELETE`, also with `WITH`. After other statements, SQLite returns the former number of changes again. */
  readonly countsChanges: boolean;
}

/** Pages of 4 KiB in the log at which it is checkpointed (80 MB). Each random key touches a page of its own. */
export const checkpointPages = 20_000;

/** An option that the types of Deno 2.7 lack. */
const arrayRows: object = { returnArrays: true };

/** Writes an empty database with a write-ahead log into an empty file. */
export function initializeDataFile(path: string): void {
  new Connection(path, { readOnly: false }).close();
}

export class Connection {
  readonly #sqlite: DatabaseSync;
  readonly #prepared = new Map<string, Prepared>();

  /**
   * Opens an existing file.
   *
   * @param options `readOnly`: reject writes; needs no permission to write. `isGuest`: leave checkpoints to the process that has
   *   the lock, and use less memory.
   * @throws {DatabaseError} When the file isn't a database, or can't be opened or written to.
   */
  constructor(path: string, { readOnly, isGuest = false }: { readOnly: boolean; isGuest?: boolean }) {
    this.#sqlite = withDatabaseErrors(() => new DatabaseSync(path, { readOnly, ...arrayRows }));
    try {
      // The driver's option doesn't apply to readers.
      this.all({ sql: `PRAGMA busy_timeout = ${databaseBusyTimeoutMs}`, args: [] });
      this.exec(`PRAGMA cache_size = ${readOnly || isGuest ? -16_000 : -32_000}`);
      if (readOnly) return;
      this.#useLog();
      this.exec("PRAGMA synchronous = FULL");
      this.checkpointAt(isGuest ? 0 : checkpointPages);
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
    this.checkpointAt(0);
    // Writes a page, even though the value stays the same.
    this.exec("PRAGMA user_version = 0");
    return this.checkpointNow("TRUNCATE").busy === 0;
  }

  /** @param pages The length of the log after which a commit checkpoints it; 0 for never. */
  checkpointAt(pages: number): void {
    this.all({ sql: `PRAGMA wal_autocheckpoint = ${pages}`, args: [] });
  }

  /** Call it right after a commit, as {@linkcode checkpoint} does. Returns the frames of the log, and those in the data file. */
  checkpointNow(mode: "PASSIVE" | "TRUNCATE"): { busy: number; log: number; checkpointed: number } {
    const [row] = this.all({ sql: `PRAGMA wal_checkpoint(${mode})`, args: [] });
    return row as { busy: number; log: number; checkpointed: number };
  }

  /** Returns a number that changes with each commit of another connection. */
  dataVersion(): number {
    const [row] = this.all({ sql: "PRAGMA data_version", args: [] }) as { data_version: number }[];
    return row?.data_version ?? 0;
  }

  /**
   * Copies one state of the database into an empty file, also while others write. Later commits stay in the log until the end,
   * and out of the copy. The copy isn't synced to disk.
   *
   * @param options `stepPages`: the pages of a step. `onStep`: called before each step; stops the copying by throwing.
   */
  async copyTo(
    path: string,
    { stepPages, onStep }: { stepPages: number; onStep: () => void },
  ): Promise<void> {
    // Otherwise each step would read in a transaction of its own, and begin again after a commit of another connection.
    this.exec("BEGIN");
    try {
      this.first({ sql: "SELECT 1 FROM sqlite_schema", args: [] });
      onStep();
      await backup(this.#sqlite, path, { rate: stepPages, progress: onStep });
    } finally {
      if (this.inTransaction) this.exec("ROLLBACK");
    }
  }

  /** Runs the first statement of a text, without parameters, and ignores its results. */
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
      const values = prepared.get(...statement.args) as unknown[] | undefined;
      return values === undefined || columns === null ? undefined : toRow(columns, values);
    });
  }

  /** Runs one statement. Returns its rows or, if it has none, how many rows it has changed. */
  run(statement: Statement): { rows: unknown[]; changes: number } {
    checkArguments(statement);
    return withDatabaseErrors(() => {
      const { statement: prepared, columns, countsChanges } = this.#prepare(statement.sql);
      if (columns === null) {
        const { changes } = prepared.run(...statement.args);
        return { rows: [], changes: countsChanges ? Number(changes) : 0 };
      }
      const rows = prepared.all(...statement.args) as unknown as unknown[][];
      return { rows: rows.map((values) => toRow(columns, values)), changes: 0 };
    });
  }

  /**
   * Closes the connection, discards uncommitted changes, and releases the file. The last connection of all programs moves the
   * log into the data file and removes it, unless it only reads.
   */
  close(): void {
    this.#prepared.clear();
    if (this.#sqlite.isOpen) this.#sqlite.close();
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
      prepared = { statement, columns, countsChanges: /^\s*(INSERT|UPDATE|DELETE|WITH)\b/i.test(text) };
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

function withDatabaseErrors<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw toDatabaseError(error);
  }
}

/** Names of result codes (https://sqlite.org/rescode.html), by number. */
const resultCodes: Readonly<Record<number, string>> = {
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  7: "SQLITE_NOMEM",
  8: "SQLITE_READONLY",
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

/** The error of a constructor, which has no result code. */
const cantOpen = /^unable to open database file/;

function toDatabaseError(error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const message = messageOf(error);
  const { errcode } = error as { errcode?: number };
  const number = errcode ?? (cantOpen.test(message) ? 14 : 0);
  const code = resultCodes[number] ?? resultCodes[number & 0xff];
  const text = number === 0 ? message : `${code ?? `code ${number}`}: ${message}`;
  return new DatabaseError(databaseErrorKind(code), text, { cause: error });
}
