// The recorder: group commit of usage. While one group is on its way to disk the next requests gather. Nobody is
// answered before the commit; nobody is answered with more than what it returned.
import { setImmediate } from "node:timers";
import { DatabaseError } from "../../db/engine/database.ts";
import { recordUsage } from "../../db/meter/usage_recording.ts";
import { type AppError, invalidApiKeyError, unavailableError } from "../../domain/errors.ts";
import {
  recorderCommitBytesMax,
  recorderCommitRecordsMax,
  recorderCommitsMax,
  recorderQueueBytesMax,
  recorderQueueRecordsMax,
  recorderSecondCommitRecordsMin,
  recorderShareBytesMax,
  recorderShareRecordsMax,
  recorderTurnBytesMax,
  recorderTurnRecordsMax,
} from "../../domain/limits.ts";
import type { BaseContext } from "../base_context.ts";
import { KeyOrganizations } from "./key_organizations.ts";
import { createRecordIds } from "./record_ids.ts";
import {
  buildGroup,
  type RecordedUsage,
  type RecordRequest,
  repeatsWithin,
  settle,
  type Waiting,
} from "./record_group.ts";
import { CommitMeasurements, type RecorderMeasurements } from "./recorder_measurements.ts";
import { RecordQueue } from "./record_queue.ts";

const queueBounds = {
  total: { records: recorderQueueRecordsMax, bytes: recorderQueueBytesMax },
  share: { records: recorderShareRecordsMax, bytes: recorderShareBytesMax },
  turn: { records: recorderTurnRecordsMax, bytes: recorderTurnBytesMax },
  group: { records: recorderCommitRecordsMax, bytes: recorderCommitBytesMax },
};

/** Takes requests and commits them in groups. */
export class Recorder {
  readonly #context: BaseContext;
  readonly #organizations: KeyOrganizations;
  readonly #queue = new RecordQueue<Waiting>(queueBounds);
  readonly #recordIds: ReturnType<typeof createRecordIds>;
  /** Commits that are on their way. */
  #commits = 0;
  #isScheduled = false;
  #closed = false;
  readonly #measured = new CommitMeasurements();
  #whenIdle: (() => void) | undefined;

  /** @param context See {@linkcode BaseContext}. */
  constructor(context: BaseContext) {
    this.#context = context;
    this.#organizations = new KeyOrganizations(context);
    this.#recordIds = createRecordIds(context.database);
  }

  /** What has happened since the start, and what is waiting. */
  get measurements(): RecorderMeasurements {
    const { counts, commitSeconds, commitRecords } = this.#measured;
    let oldestQueuedAt: number | null = null;
    for (const { queuedAt } of this.#queue.oldestOfEach()) {
      oldestQueuedAt = Math.min(queuedAt, oldestQueuedAt ?? queuedAt);
    }
    return { counts, commitSeconds, commitRecords, queuedRecords: this.#queue.records, oldestQueuedAt };
  }

  /**
   * Records one request.
   *
   * @returns What became of the inputs, once they are on disk.
   * @throws {AppError} `invalid_api_key`, `idempotency_conflict` (then nothing of the request was recorded),
   *   `unavailable` (the queue has no room for it; or the database does not respond: send it again with the same keys).
   */
  record(request: RecordRequest): Promise<RecordedUsage> {
    const organizationId = this.#organizations.known(request.keyHash);
    return organizationId === undefined
      ? this.#recordOfNewKey(request)
      : this.#enqueue(request, organizationId);
  }

  /** Looks the key up first: a key that does not work takes no place in the queue. */
  async #recordOfNewKey(request: RecordRequest): Promise<RecordedUsage> {
    const organizationId = await this.#organizations.find(request.keyHash);
    if (organizationId === undefined) {
      this.#measured.counts.rejected += request.inputs.length;
      throw invalidApiKeyError();
    }
    return await this.#enqueue(request, organizationId);
  }

  #enqueue({ keyHash, inputs, bytes }: RecordRequest, organizationId: string): Promise<RecordedUsage> {
    if (this.#closed) return Promise.reject(noRoomError());
    return new Promise((resolve, reject) => {
      const turnedAway = this.#queue.add({
        keyHash,
        organizationId,
        inputs,
        bytes,
        repeats: inputs.length === 1 ? null : repeatsWithin(inputs),
        queuedAt: this.#context.clock(),
        resolve,
        reject,
      });
      for (const waiting of turnedAway) waiting.reject(noRoomError());
      this.#schedule();
    });
  }

  /** Writes what waits, then takes nothing more. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#commits === 0 && this.#queue.isEmpty) return;
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
    if (this.#queue.isEmpty) return false;
    return this.#commits === 0 ||
      (this.#commits < recorderCommitsMax && this.#queue.records >= recorderSecondCommitRecordsMin);
  }

  async #commitNext(): Promise<void> {
    const group = this.#queue.take();
    this.#commits++;
    try {
      await this.#commit(group);
    } catch (error) {
      for (const waiting of group) waiting.reject(error);
      // Those who wait behind would wait for the same database as long again.
      if (error instanceof DatabaseError && error.kind === "unavailable") {
        for (const waiting of this.#queue.clear()) waiting.reject(error);
      }
    }
    this.#commits--;
    this.#schedule();
    if (this.#commits === 0 && this.#queue.isEmpty) this.#whenIdle?.();
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    // Known before anything is written: who recorded gets the ids.
    const ids = await this.#recordIds();
    const now = this.#context.clock();
    const built = buildGroup(group, now);
    const startedAt = performance.now();
    const outcome = await recordUsage(this.#context.database, built.group);
    const { counts, again } = settle(group, { ...built, outcome, ids });
    this.#measured.observeCommit(startedAt, counts);
    this.#queue.putBack(again);
  }
}

function noRoomError(): AppError {
  return unavailableError("Too many records are waiting to be written. Send this one again.");
}
