// Commits the batches of all threads that wait in one transaction: they share one fsync. A batch is reported as written only
// after COMMIT succeeded.
import { type MessagePort as NodePort, receiveMessageOnPort } from "node:worker_threads";
import { messageOf } from "../../domain/errors.ts";
import { commitFillMs } from "../../domain/limits.ts";
import type { Connection } from "./connection.ts";
import { DatabaseError, type Statement, type WriteResult } from "./database.ts";
import { WriteState } from "./write_state.ts";
import {
  BatchDecoder,
  type BatchMessage,
  encodeOutcomes,
  type OutcomesMessage,
  type WriteOutcome,
} from "./writer_messages.ts";

/** One number, which {@linkcode send} raises. The writer sleeps while it stays the same. */
export type WriterSignal = Int32Array<SharedArrayBuffer>;

/** Sends a message to the writer, and wakes it up. */
export function send<T>(
  message: T,
  { port, signal, transfer = [] }: { port: MessagePort; signal: WriterSignal; transfer?: MessagePort[] },
): void {
  port.postMessage(message, transfer);
  Atomics.add(signal, 0, 1);
  Atomics.notify(signal, 0);
}

/** Takes a message from a port, if there is one, without returning to the event loop. */
export function receive<T>(port: MessagePort): T | undefined {
  return receiveMessageOnPort(port as unknown as NodePort)?.message as T | undefined;
}

/** A message of a port. After `fatal` the outcome of the last transaction is unknown, and the program must stop. */
export type PortResponse = OutcomesMessage | { readonly fatal: string };

interface Client {
  readonly port: MessagePort;
  readonly decoder: BatchDecoder;
  /** The outcomes of its batches in the current transaction. */
  readonly outcomes: WriteOutcome[];
}

/** A batch that was taken from its port and has no outcome yet. */
interface Taken {
  readonly client: Client;
  readonly batch: readonly Statement[];
}

/**
 * Failures of COMMIT with a known outcome: no space for the log (or a limit of file sizes, or a quota), or for its index. SQLite
 * has rolled back the transaction, and the next commit overwrites it in the log. If only the index had no space, a crash before
 * that commit restores the complete transaction, though it was reported as failed. A failed fsync is not among them.
 */
const outOfSpace = /^SQLITE_(FULL|IOERR_WRITE|IOERR_SHMSIZE)\b/;

const savepoint = { sql: "SAVEPOINT batch", args: [] };
const rollBackToSavepoint = { sql: "ROLLBACK TO batch", args: [] };
const releaseSavepoint = { sql: "RELEASE batch", args: [] };

/** Writes the batches of all threads. */
export class Writer {
  readonly #connection: Connection;
  readonly #fillMs: number;
  readonly #writes: WriteState;
  readonly #clients: Client[] = [];
  #turns = 0;
  /** True if a batch of the current transaction was written, and if one changed rows, apart from those that it returned. */
  #hasWritten = false;
  #hasChanged = false;
  #hasStopped = false;

  /** @param options `fillMs`: how long a transaction accepts more batches. `writes`: where to note its outcome. */
  constructor(
    connection: Connection,
    { fillMs = commitFillMs, writes = new WriteState() }: { fillMs?: number; writes?: WriteState } = {},
  ) {
    this.#connection = connection;
    this.#fillMs = fillMs;
    this.#writes = writes;
  }

  /** Accepts {@linkcode BatchMessage}s from a port, and responds with {@linkcode PortResponse}s. */
  connect(port: MessagePort): void {
    this.#clients.push({ port, decoder: new BatchDecoder(), outcomes: [] });
  }

  /** Writes waiting batches in one transaction, which ends if the first one fails. Returns true if any were waiting. */
  commit(): boolean {
    let next = this.#next();
    if (next === undefined) return false;
    [this.#hasWritten, this.#hasChanged] = [false, false];
    let step: "begin" | "batches" | "commit" = "begin";
    try {
      // Takes the lock, so that only this statement can be "busy".
      this.#connection.exec("BEGIN IMMEDIATE");
      step = "batches";
      const fullAt = performance.now() + this.#fillMs;
      while (next !== undefined) {
        next.client.outcomes.push(this.#write(next.batch));
        if (!this.#hasWritten) {
          this.#respond();
          return true;
        }
        next = performance.now() < fullAt ? this.#next() : undefined;
      }
      step = "commit";
      this.#connection.exec("COMMIT");
      // A commit without changes writes nothing, so it also succeeds on a full disk.
      if (this.#hasChanged) this.#writes.noteSuccess();
    } catch (error) {
      const failed = failure(error);
      this.#writes.noteFailure(failed.message);
      const unknown = step === "begin" ? null : this.#rollBack(failed, { isCommit: step === "commit" });
      if (unknown !== null) {
        this.#stop(unknown);
        return true;
      }
      for (const { outcomes } of this.#clients) outcomes.fill(failed);
      next?.client.outcomes.push(failed);
      // The others would wait for the lock as long again.
      while (step === "begin" && (next = this.#next()) !== undefined) next.client.outcomes.push(failed);
    }
    this.#respond();
    return true;
  }

  /** Takes the next batch: ports have their turns. */
  #next(): Taken | undefined {
    if (this.#hasStopped) return undefined;
    for (let n = this.#clients.length; n > 0; n--) {
      const client = this.#clients[this.#turns++ % this.#clients.length] as Client;
      const message = receive<BatchMessage>(client.port);
      if (message !== undefined) return { client, batch: client.decoder.decode(message) };
    }
    return undefined;
  }

  /**
   * Runs one batch; a failure rolls back only this one. The first needs no savepoint, which costs a copy of each page that it
   * changes: if it fails, the transaction is rolled back.
   *
   * @throws {DatabaseError} When the transaction can't continue.
   */
  #write(batch: readonly Statement[]): WriteOutcome {
    const connection = this.#connection;
    const isFirst = !this.#hasWritten;
    if (!isFirst) connection.run(savepoint);
    try {
      const results = batch.map((statement) => connection.run(statement)) as WriteResult[];
      if (!isFirst) connection.run(releaseSavepoint);
      this.#hasWritten = true;
      this.#hasChanged ||= results.some(({ changes }) => changes > 0);
      return { type: "written", results };
    } catch (error) {
      // Some errors, such as a full disk, roll back the whole transaction.
      if (!connection.inTransaction) throw error;
      if (isFirst) connection.exec("ROLLBACK");
      else {
        connection.run(rollBackToSavepoint);
        connection.run(releaseSavepoint);
      }
      return failure(error);
    }
  }

  /** Returns null when it is certain that nothing was written, or the reason why it isn't. */
  #rollBack({ kind, message }: WriteFailure, { isCommit }: { isCommit: boolean }): string | null {
    const { inTransaction } = this.#connection;
    const isKnown = isCommit ? outOfSpace.test(message) : inTransaction || kind === "unavailable";
    if (!isKnown) return message;
    try {
      if (inTransaction) this.#connection.exec("ROLLBACK");
      return null;
    } catch (error) {
      return `${message}; then ROLLBACK failed: ${String(error)}`;
    }
  }

  /** Batches that are already waiting must not be written. */
  #stop(message: string): void {
    this.#hasStopped = true;
    for (const { port } of this.#clients) port.postMessage({ fatal: message } satisfies PortResponse);
  }

  #respond(): void {
    for (const { port, outcomes } of this.#clients) {
      if (outcomes.length === 0) continue;
      port.postMessage(encodeOutcomes(outcomes.splice(0)) satisfies PortResponse);
    }
  }
}

type WriteFailure = WriteOutcome & { type: "failed" };

function failure(error: unknown): WriteFailure {
  const kind = error instanceof DatabaseError ? error.kind : "fault";
  return { type: "failed", kind, message: messageOf(error) };
}
