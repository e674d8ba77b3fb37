// The embedded driver: reads on this thread, writes in a worker thread that owns the only writing connection.
import { dirname } from "node:path";
import { databaseWritesWaitingMax } from "../../domain/limits.ts";
import { Connection, filesReleased, initializeDataFile } from "./connection.ts";
import {
  type Database,
  DatabaseError,
  type DatabaseSource,
  type Statement,
  type WriteOptions,
  type WriteResult,
} from "./database.ts";
import type { WriterRequest, WriterResponse } from "./writer_worker.ts";

/** Where the file is and whom to tell when writing must not go on. */
export interface EmbeddedOptions {
  readonly path: string;
  /** What to create when it is missing: nothing, the file, or its folder as well. */
  readonly create: "nothing" | "file" | "folder";
  /** A server has the file: see {@linkcode Connection}. */
  readonly isGuest?: boolean;
  /**
   * Called once when the writer cannot know what was written. The program must stop: it must not acknowledge
   * anything after this.
   */
  readonly onFatal: (error: DatabaseError) => void;
}

/** Batches that the worker has: one in work, one at hand. */
const batchesAtWorkerMax = 2;

interface Waiting {
  readonly batch: readonly Statement[];
  /** See {@linkcode WriterRequest}; set when it goes to the worker. */
  round?: number;
  readonly resolve: (results: readonly WriteResult[]) => void;
  readonly reject: (error: DatabaseError) => void;
}

/**
 * Opens the data file; creates an empty one (mode 0600) if it is missing and may be created.
 *
 * @returns The database; its writer is ready.
 * @throws {DatabaseError} When the file or its folder is missing, the file is empty or not a database, or it cannot be
 *   opened.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<Database> {
  findOrCreateFile(options);
  const reader = new Connection(options.path, { readOnly: true });
  const writer = new Worker(new URL("./writer_worker.ts", import.meta.url), { type: "module" });
  const database = new EmbeddedDatabase(options, { reader, writer });
  try {
    await database.open(options);
  } catch (error) {
    reader.close();
    writer.terminate();
    throw error;
  }
  return database;
}

class EmbeddedDatabase implements Database {
  readonly source: DatabaseSource;
  readonly #reader: Connection;
  readonly #writer: Worker;
  readonly #onFatal: (error: DatabaseError) => void;
  /** Batches in order; the first are at the worker, the others wait here. */
  readonly #waiting: Waiting[] = [];
  /** How many are at the worker: it has the next one at hand when it is done with one. */
  #sent = 0;
  #round = 0;
  /** SQL that the worker has, with its number. */
  readonly #texts = new Map<string, number>();
  #whenIdle: (() => void) | undefined;
  #dead: DatabaseError | undefined;
  #settleLifecycle: ((response: WriterResponse) => void) | undefined;

  constructor(
    { path, onFatal }: EmbeddedOptions,
    { reader, writer }: { reader: Connection; writer: Worker },
  ) {
    this.source = { kind: "file", path };
    this.#reader = reader;
    this.#writer = writer;
    this.#onFatal = onFatal;
    writer.onmessage = ({ data }: MessageEvent<WriterResponse>) => this.#receive(data);
    writer.onerror = (event) => {
      event.preventDefault();
      this.#die(event.message);
    };
  }

  async open({ path, isGuest = false }: EmbeddedOptions): Promise<void> {
    const response = await this.#lifecycle({ type: "open", path, isGuest });
    if (response.type === "open-failed") throw new DatabaseError(response.kind, response.message);
  }

  // deno-lint-ignore require-await -- reading is synchronous here; the interface is not
  async read<T>(statement: Statement): Promise<T[]> {
    return this.#reader.all(statement) as T[];
  }

  // deno-lint-ignore require-await -- as above
  async readFirst<T>(statement: Statement): Promise<T | undefined> {
    return this.#reader.first(statement) as T | undefined;
  }

  write(batch: readonly Statement[], options?: WriteOptions): Promise<readonly WriteResult[]> {
    if (this.#dead !== undefined) return Promise.reject(this.#dead);
    if (this.#waiting.length >= databaseWritesWaitingMax && options?.bypassesQueueLimit !== true) {
      return Promise.reject(new DatabaseError("unavailable", "too many writes are waiting"));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ batch, resolve, reject });
      this.#sendMore();
    });
  }

  async close(): Promise<void> {
    if (this.#dead === undefined) {
      // Everything accepted is written before the worker closes.
      if (this.#waiting.length > 0) await new Promise<void>((resolve) => this.#whenIdle = resolve);
    }
    if (!this.#isDead()) {
      // From here on the worker would not answer any more.
      this.#dead = new DatabaseError("unavailable", "the database is closed");
      // The writer closes last: it moves the log into the data file, and SQLite then removes the log.
      this.#reader.close();
      await filesReleased();
      await this.#lifecycle({ type: "close" });
    } else this.#reader.close();
    this.#writer.terminate();
  }

  /** Asked anew after a wait, in which the worker may have stopped. */
  #isDead(): boolean {
    return this.#dead !== undefined;
  }

  #lifecycle(request: WriterRequest): Promise<WriterResponse> {
    return new Promise((resolve) => {
      this.#settleLifecycle = resolve;
      this.#send(request);
    });
  }

  #send(request: WriterRequest): void {
    this.#writer.postMessage(request);
  }

  #receive(response: WriterResponse): void {
    if (response.type === "fatal") return this.#die(response.message);
    if (response.type !== "written" && response.type !== "failed") {
      this.#settleLifecycle?.(response);
      return;
    }
    const first = this.#waiting.shift();
    this.#sent--;
    if (response.type === "written") first?.resolve(response.results);
    else {
      const error = new DatabaseError(response.kind, response.message);
      first?.reject(error);
      if (response.isLocked && first?.round === this.#round) {
        // The worker refuses what it has of this round; what waits here is refused here.
        this.#round++;
        for (const waiting of this.#waiting.splice(this.#sent)) waiting.reject(error);
      }
    }
    this.#sendMore();
    if (this.#waiting.length === 0) this.#whenIdle?.();
  }

  #sendMore(): void {
    for (; this.#sent < batchesAtWorkerMax; this.#sent++) {
      const next = this.#waiting[this.#sent];
      if (next === undefined) return;
      // A text that the worker has already goes by its number: copying it costs more than all the rest.
      const texts: string[] = [];
      const batch = next.batch.map(({ sql, args }) => {
        let text = this.#texts.get(sql);
        if (text === undefined) {
          text = this.#texts.size;
          this.#texts.set(sql, text);
          texts.push(sql);
        }
        return [text, args] as const;
      });
      next.round = this.#round;
      this.#send({ type: "write", texts, batch, round: this.#round });
    }
  }

  #die(message: string): void {
    this.#settleLifecycle?.({ type: "open-failed", kind: "fault", message });
    if (this.#dead !== undefined) return;
    this.#dead = new DatabaseError("unavailable", `the writer stopped: ${message}`);
    for (const { reject } of this.#waiting.splice(0)) reject(this.#dead);
    this.#whenIdle?.();
    this.#onFatal(this.#dead);
  }
}

/**
 * @param path Of the data file.
 * @throws {DatabaseError} When there is none, or an empty one.
 */
export function requireDataFile(path: string): void {
  findOrCreateFile({ path, create: "nothing" });
}

function findOrCreateFile({ path, create }: Pick<EmbeddedOptions, "path" | "create">): void {
  try {
    const isThere = isNonEmptyFile(path);
    if (!isThere && create === "nothing") {
      throw new DatabaseError(
        "fault",
        "there is no such database; check DATABASE_URL and the current folder",
      );
    }
    if (create === "folder") Deno.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    if (!isThere) createFile(path);
    // Fails with a clear reason where SQLite has only a number.
    else Deno.openSync(path, { read: true, write: true }).close();
  } catch (error) {
    if (error instanceof DatabaseError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new DatabaseError("fault", `cannot open ${path}: ${reason}`, { cause: error });
  }
}

/** @throws {DatabaseError} When the file is empty: Gatehouse never leaves one, an interrupted copy does. */
function isNonEmptyFile(path: string): boolean {
  try {
    if (Deno.statSync(path).size > 0) return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
  throw new DatabaseError(
    "fault",
    "the file is empty (0 bytes), so it is not a database; restore a backup, or delete the file to start with a new database",
  );
}

/** Creates the file aside and renames it: a crash in between never leaves an empty one. */
function createFile(path: string): void {
  const unlock = lockDataFile(path);
  if (unlock === null) throw new DatabaseError("unavailable", "another server is creating this database");
  try {
    // Another program may have created it between the look and the lock.
    if (isNonEmptyFile(path)) return;
    const aside = `${path}.new`;
    // Created here and not by SQLite, so that no other user can ever read it; its log inherits the mode.
    Deno.openSync(aside, { write: true, create: true, truncate: true, mode: 0o600 }).close();
    initializeDataFile(aside);
    Deno.renameSync(aside, path);
  } finally {
    unlock();
  }
}

/**
 * Takes the lock that keeps a second server off the same file.
 *
 * @param path The data file; the lock is a file beside it.
 * @returns A function that gives the lock back, or null when another process holds it.
 */
export function lockDataFile(path: string): (() => void) | null {
  let file: Deno.FsFile;
  try {
    file = Deno.openSync(`${path}.lock`, { read: true, write: true, create: true, mode: 0o600 });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new DatabaseError("fault", `cannot open ${path}.lock: ${reason}`, { cause: error });
  }
  if (!file.tryLockSync(true)) {
    file.close();
    return null;
  }
  return () => file.close();
}
