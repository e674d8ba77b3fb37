// The recorder: group commit of usage. While one group is on its way to disk the next requests gather. Nobody is
// answered before the commit; nobody is answered with more than what it returned.
import { setImmediate } from "node:timers";
import { DatabaseError } from "../db/database.ts";
import { recordUsage } from "../db/recorder.ts";
import { unavailableError } from "../domain/errors.ts";
import {
  recorderCommitBytesMax,
  recorderCommitRecordsMax,
  recorderCommitsMax,
  recorderQueueBytesMax,
  recorderQueueRecordsMax,
  recorderSecondCommitRecordsMin,
} from "../domain/limits.ts";
import type { ServiceContext } from "./context.ts";
import {
  buildGroup,
  type RecordedUsage,
  type RecordRequest,
  repeatsWithin,
  settle,
  type Waiting,
} from "./record_group.ts";

/** Takes requests and commits them in groups. */
export class Recorder {
  readonly #context: ServiceContext;
  #queue: Waiting[] = [];
  #queuedRecords = 0;
  #queuedBytes = 0;
  /** Commits that are on their way. */
  #commits = 0;
  #isScheduled = false;
  #closed = false;
  #whenIdle: (() => void) | undefined;

  /** @param context See {@linkcode ServiceContext}. */
  constructor(context: ServiceContext) {
    this.#context = context;
  }

  /** Records that wait for the next commit. */
  get queuedRecords(): number {
    return this.#queuedRecords;
  }

  /**
   * Records one request.
   *
   * @returns What became of the inputs, once they are on disk.
   * @throws {AppError} `invalid_api_key`, `idempotency_conflict` (then nothing of the request was recorded),
   *   `unavailable` (the queue is full, at once; or the database does not answer: send it again with the same keys).
   */
  record(request: RecordRequest): Promise<RecordedUsage> {
    const isFull = this.#queuedRecords + request.inputs.length > recorderQueueRecordsMax ||
      this.#queuedBytes + request.bytes > recorderQueueBytesMax;
    if (this.#closed || isFull) {
      return Promise.reject(
        unavailableError("Too many records are waiting to be written. Send this one again."),
      );
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({
        keyHash: request.keyHash,
        inputs: request.inputs,
        bytes: request.bytes,
        repeats: request.inputs.length === 1 ? null : repeatsWithin(request.inputs),
        resolve,
        reject,
      });
      this.#queuedRecords += request.inputs.length;
      this.#queuedBytes += request.bytes;
      this.#schedule();
    });
  }

  /** Writes what waits, then takes nothing more. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#commits === 0 && this.#queue.length === 0) return;
    await new Promise<void>((resolve) => this.#whenIdle = resolve);
  }

  /** Starts a commit as soon as it is worth one. */
  #schedule(): void {
    if (this.#isScheduled || !this.#isWorthACommit()) return;
    this.#isScheduled = true;
    // Requests that have arrived but were not looked at yet go with this commit. A timer would do the same worse: a
    // millisecond of waiting for each commit halves what 128 connections can record.
    setImmediate(() => {
      this.#isScheduled = false;
      if (this.#isWorthACommit()) this.#commitNext();
    });
  }

  /** A second commit is made ready while the first is on its way, when there is enough for it. */
  #isWorthACommit(): boolean {
    if (this.#queue.length === 0) return false;
    return this.#commits === 0 ||
      (this.#commits < recorderCommitsMax && this.#queuedRecords >= recorderSecondCommitRecordsMin);
  }

  async #commitNext(): Promise<void> {
    const group = this.#takeGroup();
    this.#commits++;
    try {
      await this.#commit(group);
    } catch (error) {
      for (const waiting of group) waiting.reject(error);
      // Those who wait behind would wait for the same database as long again.
      if (error instanceof DatabaseError && error.kind === "unavailable") this.#rejectQueue(error);
    }
    this.#commits--;
    this.#schedule();
    if (this.#commits === 0 && this.#queue.length === 0) this.#whenIdle?.();
  }

  #rejectQueue(error: DatabaseError): void {
    for (const waiting of this.#queue.splice(0)) waiting.reject(error);
    this.#queuedRecords = 0;
    this.#queuedBytes = 0;
  }

  /** Takes requests in order of arrival; one whose idempotency key is already in the group waits for the next. */
  #takeGroup(): Waiting[] {
    const group: Waiting[] = [];
    const rest: Waiting[] = [];
    const keys = new Set<string>();
    let records = 0;
    let bytes = 0;
    for (const waiting of this.#queue) {
      const isTaken = waiting.inputs.some(({ idempotencyKey }) =>
        idempotencyKey !== null && keys.has(idempotencyKey)
      );
      const isFull = group.length > 0 && (records + waiting.inputs.length > recorderCommitRecordsMax ||
        bytes + waiting.bytes > recorderCommitBytesMax);
      if (isTaken || isFull) {
        rest.push(waiting);
        continue;
      }
      for (const { idempotencyKey } of waiting.inputs) if (idempotencyKey !== null) keys.add(idempotencyKey);
      records += waiting.inputs.length;
      bytes += waiting.bytes;
      this.#queuedBytes -= waiting.bytes;
      group.push(waiting);
    }
    this.#queue = rest;
    this.#queuedRecords -= records;
    return group;
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    const now = this.#context.clock();
    const built = buildGroup(group, now);
    const outcome = await recordUsage(this.#context.database, built.group);
    settle(group, { ...built, outcome });
  }
}
