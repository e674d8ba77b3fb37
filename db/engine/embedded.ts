// The driver for a data file: each thread reads on its own connection and writes through a port of the writer, the thread that
// owns the only writing connection.
import { databaseWritesWaitingMax } from "../../domain/limits.ts";
import { Connection } from "./connection.ts";
import { createIfMissing, type MissingFile } from "./data_file.ts";
import {
  checkArguments,
  DatabaseError,
  type DatabaseShare,
  type DatabaseSource,
  type MainDatabase,
  type SharedDatabase,
  type Statement,
  type WriteOptions,
  type WriteResult,
} from "./database.ts";
import type { TurnMemory } from "./stream/turns.ts";
import { type PortResponse, send, type WriterSignal } from "./writer.ts";
import { BatchEncoder, decodeOutcomes, type OutcomesMessage } from "./writer_messages.ts";
import { type LastWrite, WriteState } from "./write_state.ts";
import type { OpenRequest, WriterRequest, WriterResponse } from "./writer_worker.ts";

interface EmbeddedOptions {
  readonly path: string;
  readonly create: MissingFile;
  /** A server may have the file open: see {@linkcode Connection}. */
  readonly isGuest?: boolean;
  /** See {@linkcode OpenRequest}. */
  readonly turns?: TurnMemory | undefined;
  /** Called once, when the writer can't know what was written. The program must acknowledge nothing more and stop. */
  readonly onFatal: (error: DatabaseError) => void;
  /** For tests. */
  readonly newWorker?: () => Worker;
}

function newWriterWorker(): Worker {
  return new Worker(new URL("./writer_worker.ts", import.meta.url), { type: "module" });
}

/**
 * Opens the data file, or creates one with mode 0600.
 *
 * @returns The database, ready to write.
 * @throws {DatabaseError} When the file or its folder is missing, or the file is empty, not a database, or can't be opened.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<MainDatabase> {
  const { path, isGuest = false, turns, onFatal, newWorker = newWriterWorker } = options;
  createIfMissing(path, options.create);
  const writer = new WriterThread(newWorker());
  let reader: Connection;
  try {
    await writer.open({ path, isGuest, turns });
    reader = new Connection(path, { readOnly: true });
  } catch (error) {
    writer.terminate();
    throw error;
  }
  return new MainEmbeddedDatabase({ path, reader, writer, onFatal });
}

/** Opens the data file in another thread. @throws {DatabaseError} When it can't be opened. */
export function openSharedFile(
  share: DatabaseShare & { kind: "file" },
  { onFatal }: Pick<EmbeddedOptions, "onFatal">,
): SharedDatabase {
  const reader = new Connection(share.path, { readOnly: true });
  return new EmbeddedDatabase({ ...share, writes: new WriteState(share.writes), reader, onFatal });
}

/** The main thread's side of the writer. */
class WriterThread {
  readonly signal: WriterSignal = new Int32Array(new SharedArrayBuffer(4));
  readonly writes = new WriteState();
  /** Resolves with the reason when the thread has died. */
  readonly died: Promise<string>;
  readonly #worker: Worker;
  readonly #channel = new MessageChannel();

  constructor(worker: Worker) {
    this.#worker = worker;
    this.died = new Promise((resolve) => {
      this.#worker.onerror = (event) => {
        event.preventDefault();
        resolve(event.message);
      };
    });
  }

  /** @throws {DatabaseError} When the file can't be opened. */
  async open(request: Pick<OpenRequest, "path" | "isGuest" | "turns">): Promise<void> {
    const { port1: control } = this.#channel;
    const opened = this.#response();
    const { signal, writes: { buffer: writes } } = this;
    this.#worker.postMessage({ ...request, control, signal, writes } satisfies OpenRequest, [control]);
    const response = await opened;
    if (response.type === "open-failed") throw new DatabaseError(response.kind, response.message);
  }

  /** Returns a port for the batches of one thread. */
  connect(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    this.#send({ type: "connect", port: port1 }, [port1]);
    return port2;
  }

  /** Resolves when the writer has released the file. */
  async close(): Promise<void> {
    const closed = this.#response();
    this.#send({ type: "close" });
    await closed.catch(() => {});
  }

  terminate(): void {
    this.#channel.port2.close();
    this.#worker.terminate();
  }

  #send(request: WriterRequest, transfer: MessagePort[] = []): void {
    send(request, { port: this.#channel.port2, signal: this.signal, transfer });
  }

  /** Resolves with the next response. @throws {DatabaseError} When the thread has died. */
  #response(): Promise<WriterResponse> {
    const response = new Promise<WriterResponse>((resolve) => {
      this.#worker.onmessage = ({ data }: MessageEvent<WriterResponse>) => resolve(data);
    });
    const died = this.died.then((message) => Promise.reject(new DatabaseError("fault", message)));
    return Promise.race([response, died]);
  }
}

interface PortOptions extends Pick<EmbeddedOptions, "path" | "onFatal"> {
  readonly reader: Connection;
  readonly port: MessagePort;
  readonly signal: WriterSignal;
  readonly writes: WriteState;
}

class EmbeddedDatabase implements SharedDatabase {
  readonly source: DatabaseSource;
  readonly #reader: Connection;
  readonly #port: MessagePort;
  readonly #signal: WriterSignal;
  readonly #writes: WriteState;
  readonly #onFatal: EmbeddedOptions["onFatal"];
  /** Batches at the writer, in order. */
  readonly #waiting: Pick<PromiseWithResolvers<readonly WriteResult[]>, "resolve" | "reject">[] = [];
  readonly #encoder = new BatchEncoder();
  #whenIdle: (() => void) | undefined;
  #dead: DatabaseError | undefined;

  constructor({ path, reader, port, signal, writes, onFatal }: PortOptions) {
    this.source = { kind: "file", path };
    this.#reader = reader;
    this.#port = port;
    this.#signal = signal;
    this.#writes = writes;
    this.#onFatal = onFatal;
    port.onmessage = ({ data }: MessageEvent<PortResponse>) => {
      if ("fatal" in data) this.die(data.fatal);
      else this.#settle(data);
    };
  }

  get lastWrite(): LastWrite {
    return this.#writes.last;
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
      // If a value couldn't be sent, the writer would miss new texts, and later ones would have the wrong numbers.
      batch.forEach(checkArguments);
      send(this.#encoder.encode(batch), { port: this.#port, signal: this.#signal });
      this.#waiting.push({ resolve, reject });
    });
  }

  fail(message: string): void {
    this.#dead ??= new DatabaseError("unavailable", `the writer stopped: ${message}`);
    for (const { reject } of this.#waiting.splice(0)) reject(this.#dead);
    this.#whenIdle?.();
  }

  async close(): Promise<void> {
    await this.disconnect();
  }

  /** Writes accepted batches and closes. Returns true if the writer is alive. */
  protected async disconnect(): Promise<boolean> {
    // Accepted batches are written first, with those that follow from their results. A dead writer leaves none.
    while (this.#waiting.length > 0) await new Promise<void>((resolve) => this.#whenIdle = resolve);
    const isAlive = this.#dead === undefined;
    this.#dead ??= new DatabaseError("unavailable", "the database is closed");
    this.#port.close();
    this.#reader.close();
    return isAlive;
  }

  protected die(message: string): void {
    if (this.#dead !== undefined) return;
    this.fail(message);
    this.#onFatal(new DatabaseError("unavailable", `the writer stopped: ${message}`));
  }

  #settle(message: OutcomesMessage): void {
    for (const outcome of decodeOutcomes(message)) {
      const waiting = this.#waiting.shift();
      if (outcome.type === "written") waiting?.resolve(outcome.results);
      else waiting?.reject(new DatabaseError(outcome.kind, outcome.message));
    }
    if (this.#waiting.length === 0) this.#whenIdle?.();
  }
}

class MainEmbeddedDatabase extends EmbeddedDatabase implements MainDatabase {
  readonly #path: string;
  readonly #writer: WriterThread;
  #closing: Promise<void> | undefined;

  constructor(
    { writer, ...options }: Omit<PortOptions, "port" | "signal" | "writes"> & { writer: WriterThread },
  ) {
    super({ ...options, port: writer.connect(), signal: writer.signal, writes: writer.writes });
    this.#path = options.path;
    this.#writer = writer;
    writer.died.then((message) => this.die(message));
  }

  share(): DatabaseShare {
    const { signal, writes: { buffer: writes } } = this.#writer;
    return { kind: "file", path: this.#path, port: this.#writer.connect(), signal, writes };
  }

  override close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    // The writer closes last: it moves the log into the data file, and SQLite then removes the log. If it died, the log stays.
    if (await this.disconnect()) await this.#writer.close();
    this.#writer.terminate();
  }
}
