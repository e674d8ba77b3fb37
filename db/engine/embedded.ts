// The driver for a data file: reads on this thread, writes in a worker thread that owns the only writing connection.
import { databaseWritesWaitingMax } from "../../domain/limits.ts";
import { Connection, filesReleased } from "./connection.ts";
import { createIfMissing, type MissingFile } from "./data_file.ts";
import {
  type Database,
  DatabaseError,
  type DatabaseSource,
  type Statement,
  type WriteOptions,
  type WriteResult,
} from "./database.ts";
import type { WriterRequest, WriterResponse } from "./writer_worker.ts";

interface EmbeddedOptions {
  readonly path: string;
  readonly create: MissingFile;
  /** A server may have the file open: see {@linkcode Connection}. */
  readonly isGuest?: boolean;
  /** Called once, when the writer can't know what was written. The program must acknowledge nothing more and stop. */
  readonly onFatal: (error: DatabaseError) => void;
}

/** Batches sent to the worker: one being written, and the next. */
const batchesAtWorkerMax = 2;

interface Waiting {
  readonly batch: readonly Statement[];
  /** See {@linkcode WriterRequest}; set when the batch is sent. */
  round?: number;
  readonly resolve: (results: readonly WriteResult[]) => void;
  readonly reject: (error: DatabaseError) => void;
}

/**
 * Opens the data file, or creates one with mode 0600.
 *
 * @returns The database, ready to write.
 * @throws {DatabaseError} When the file or its folder is missing, or the file is empty, not a database, or can't be opened.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<Database> {
  createIfMissing(options.path, options.create);
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
  /** All batches in order. The first ones are at the worker. */
  readonly #waiting: Waiting[] = [];
  /** How many are at the worker. */
  #sent = 0;
  #round = 0;
  /** The numbers of SQL texts that the worker already has. */
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
    // Accepted batches are written first. A dead writer leaves none.
    if (this.#waiting.length > 0) await new Promise<void>((resolve) => this.#whenIdle = resolve);
    const isWriterAlive = this.#dead === undefined;
    this.#dead ??= new DatabaseError("unavailable", "the database is closed");
    this.#reader.close();
    if (isWriterAlive) {
      // The writer closes last: it moves the log into the data file, and SQLite then removes the log.
      await filesReleased();
      await this.#lifecycle({ type: "close" });
    }
    this.#writer.terminate();
  }

  #lifecycle(request: WriterRequest): Promise<WriterResponse> {
    return new Promise((resolve) => {
      this.#settleLifecycle = resolve;
      this.#writer.postMessage(request);
    });
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
        // The worker rejects its other batches of this round. The ones that wait here are rejected here.
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
      // Texts that the worker has are sent as numbers: copying them costs more than all the rest.
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
      this.#writer.postMessage({ type: "write", texts, batch, round: this.#round } satisfies WriterRequest);
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
