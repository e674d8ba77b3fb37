// The recorder: group commit of usage. No request is
// acknowledged before its commit, or with more than what the commit returned.
import type { Database, Statement } from "../../db/engine/database.ts";
import type { LimitOwner } from "../../db/meter/limit_rows.ts";
import { keyHashOf, type RecordGroup, targetOfKey } from "../../db/meter/record_group.ts";
import { insertUsageRecords, type RecordOutcome } from "../../db/meter/recorder.ts";
import { findRecordIdKey } from "../../db/meter/usage_records.ts";
import type { KeyTerms } from "../../db/access/mod.ts";
import { invalidApiKeyError } from "../../domain/errors.ts";
import { createUsageRecordIds, type UsageRecordIds } from "../../domain/meter/usage_record_id.ts";
import { isAllowedFrom } from "../address_blocks.ts";
import type { BaseContext } from "../base_context.ts";
import { Histogram } from "../histogram.ts";
import {
  buildGroup,
  findRepeats,
  type GroupRequest,
  noFacts,
  type PendingRequest,
  type RecordedUsage,
  type RecordRequest,
} from "./commit_group.ts";
import {
  AddressesChangedError,
  type CompletedRequests,
  completeRequests,
  noRecords,
  type RecordCounts,
} from "./commit_results.ts";
import { CommitQueue } from "./commit_queue.ts";
import { CommitRoom } from "./commit_room.ts";
import { HoldRecorder } from "./hold_recorder.ts";
import { type KeyClient, KnownKeys } from "./known_keys.ts";
import { KnownSeries } from "./known_series.ts";
import type { LimitCell } from "../../db/meter/recorder_limits.ts";
import { type CounterContext, LimitCounters } from "./limit_counters.ts";
import { recheckSomeLimits } from "./limit_rechecks.ts";

/** The most rows that collectors write in one commit, and in all commits in progress, so that others wait briefly. */
export const collectedRowsMax = 1_000;
const unknownClient: KeyClient = { address: null };

type RecorderContext = BaseContext & CounterContext;

/** Queues requests and commits them in groups. */
export class Recorder {
  readonly #context: RecorderContext;
  /** The API keys that this thread knows. */
  readonly keys: KnownKeys;
  readonly #knownSeries = new KnownSeries();
  readonly #queue: CommitQueue<PendingRequest>;
  /** Makes and settles holds. */
  readonly holds: HoldRecorder;
  /** Where collectors write. */
  readonly room = new CommitRoom(collectedRowsMax);
  #recordIds: UsageRecordIds | undefined;
  /** Those of the database at the last commit. */
  #facts = noFacts;
  readonly #hardCounters: LimitCounters;
  /** No request waits for these, so they are completed apart from those of hard limits. */
  readonly #softCounters: LimitCounters;
  readonly #commitMetrics = new CommitMetrics();

  /** @param options `httpThreads`: how many threads record. `onBackgroundError`: receives errors that no request waits for. */
  constructor(
    context: RecorderContext,
    { httpThreads, onBackgroundError }: {
      httpThreads: number;
      onBackgroundError: (error: unknown) => void;
    },
  ) {
    this.#context = context;
    this.#hardCounters = new LimitCounters(context, { onError: onBackgroundError });
    this.#softCounters = new LimitCounters(context, { onError: onBackgroundError });
    const [counters, soft] = [this.#hardCounters, this.#softCounters];
    this.#queue = new CommitQueue(context, {
      httpThreads,
      counters,
      commit: (requests) => this.#commit(requests, context.database),
    });
    this.keys = new KnownKeys(context);
    this.holds = new HoldRecorder(context, {
      httpThreads,
      counters,
      onUnknown: (cells) => soft.add(cells),
      recordIds: () => this.recordIds(),
    });
  }

  /** Counts since the start, and the current queue. */
  get metrics() {
    const { counts, commitSeconds, commitRecords } = this.#commitMetrics;
    const { oldestQueuedAt } = this.#queue;
    return {
      counts,
      commitSeconds,
      commitRecords,
      queuedRecords: this.#queue.records,
      /** When the oldest queued request arrived; null when the queue is empty. */
      oldestQueuedAt,
    };
  }

  /** Returns the ids of the database's records. Their key never changes, so it is read once. */
  async recordIds(): Promise<UsageRecordIds> {
    return this.#recordIds ??= createUsageRecordIds(await findRecordIdKey(this.#context.database));
  }

  /**
   * Checks the first limits of an organization or a plan after they were changed, so that lists are up to date when the change responds.
   * The background checks the others, and repeats what fails.
   */
  async checkChangedLimits(owner: LimitOwner): Promise<void> {
    await recheckSomeLimits(this.#context, this.#softCounters, owner).catch(() => {});
  }

  /** Resolves when these counters have all usage. @throws {AppError} `unavailable`. */
  async completeCounters(cells: readonly LimitCell[]): Promise<void> {
    await this.#hardCounters.complete(cells);
  }

  /**
   * Records one request.
   *
   * @returns The outcome, once the records are on disk.
   * @throws {AppError} `invalid_api_key`, `permission_missing`, `organization_suspended`, `invalid_operator_token`; `idempotency_conflict`, `series_limit_reached` or `limit_exceeded`, and nothing of the request
   *   was recorded; `unavailable` when the queue is full or the database doesn't respond: retry with the same idempotency keys.
   */
  record(request: RecordRequest): Promise<RecordedUsage> {
    const key = this.keys.known(request.keyHash);
    return key !== undefined && isAllowedFrom(key.addresses, request.client ?? unknownClient)
      ? this.#enqueue(request, key)
      : this.#recordWithNewKey(request);
  }

  /** Looks the key up first: an invalid key, also one from another address, takes no place in the queue. */
  async #recordWithNewKey(request: RecordRequest): Promise<RecordedUsage> {
    const lookup = { keyHash: request.keyHash, isForeign: false };
    const key = await this.keys.findFor(lookup, request.client ?? unknownClient);
    if (key === undefined) {
      this.#commitMetrics.counts.rejected += request.inputs.length;
      throw invalidApiKeyError();
    }
    return await this.#enqueue(request, key);
  }

  #enqueue(
    request: RecordRequest,
    { organizationId, addresses }: Pick<KeyTerms, "addresses"> & { readonly organizationId: string },
  ): Promise<RecordedUsage> {
    const { keyHash, verification, asks, inputs, bytes } = request;
    return new Promise((resolve, reject) => {
      this.#queue.add({
        keyHash,
        target: targetOfKey(keyHash, verification, { addresses }),
        organizationId,
        asks,
        inputs,
        bytes,
        repeats: inputs.length === 1 ? null : findRepeats(inputs),
        queuedAt: this.#context.clock(),
        resolve,
        // The commit has read the key's addresses, so the client is judged by them.
        reject: (error) =>
          error instanceof AddressesChangedError ? this.record(request).then(resolve, reject) : reject(error),
      });
    });
  }

  /**
   * Records the request of an operator in a batch of its own, without the queue.
   *
   * @param writer Writes the batch for the operator.
   * @param note As for `insertUsageRecords`.
   * @returns The outcome, once the records are on disk.
   * @throws {AppError} `validation_failed` for an organization that was deleted meanwhile; `idempotency_conflict`,
   *   `series_limit_reached` or `limit_exceeded`, and nothing was recorded; and what the writer throws.
   */
  recordAlone(
    request: Pick<GroupRequest, "target" | "inputs" | "repeats">,
    writer: Pick<Database, "write">,
    note?: Statement,
  ): Promise<RecordedUsage> {
    return new Promise((resolve, reject) => {
      this.#commitAlone({ ...request, resolve, reject }, writer, note).catch(reject);
    });
  }

  /**
   * Records requests of an operator in one batch, each whole or not at all. No limit rejects them. No two may share an idempotency key
   * of an organization.
   *
   * @param writer Writes the batch for the operator.
   * @returns For each request what it was rejected with, or null.
   */
  async recordAll(
    requests: readonly Pick<GroupRequest, "target" | "inputs">[],
    writer: Pick<Database, "write">,
  ): Promise<unknown[]> {
    const records = requests.reduce((count, { inputs }) => count + inputs.length, 0);
    return await this.room.run(records, () => this.#recordInRoom(requests, writer));
  }

  async #recordInRoom(
    requests: readonly Pick<GroupRequest, "target" | "inputs">[],
    writer: Pick<Database, "write">,
  ): Promise<unknown[]> {
    const results: unknown[] = requests.map(() => null);
    let left: readonly GroupRequest[] = requests.map((request, index) => ({
      ...request,
      repeats: null,
      resolve: () => {},
      reject: (error) => void (results[index] = error),
    }));
    while (left.length > 0) {
      const { retries, waiting } = await this.#commit(left, writer, { isUnlimited: true });
      left = [...retries, ...waiting.map(({ request }) => request)];
    }
    return results;
  }

  async #commitAlone(
    request: GroupRequest,
    writer: Pick<Database, "write">,
    note?: Statement,
  ): Promise<void> {
    let { retries, waiting } = await this.#commit([request], writer, { note });
    while (retries.length + waiting.length > 0) {
      await this.#hardCounters.complete(waiting.flatMap(({ cells }) => cells));
      ({ retries, waiting } = await this.#commit([request], writer, { note }));
    }
  }

  /** Commits the queue and accepts no further requests. */
  async close(): Promise<void> {
    this.#hardCounters.close();
    this.#softCounters.close();
    await Promise.all([this.#queue.close(), this.holds.close()]);
  }

  async #commit<T extends GroupRequest>(
    requests: readonly T[],
    writer: Pick<Database, "write">,
    { note, isUnlimited = false }: { note?: Statement | undefined; isUnlimited?: boolean } = {},
  ): Promise<CompletedRequests<T>> {
    // Needed for the response, so it must be known before anything is written.
    const ids = await this.recordIds();
    const { clock, config } = this.#context;
    const [knownSeries, facts] = [this.#knownSeries, this.#facts];
    const { group: built, starts } = buildGroup(requests, {
      ...facts,
      now: clock(),
      isCatalogueRequired: config.usageCatalog === "required",
      knownSeries,
    });
    const group = isUnlimited ? { ...built, isUnlimited } : built;
    const startedAt = performance.now();
    let outcome = await insertUsageRecords(writer, group, note);
    if (!outcome.isComplete) {
      knownSeries.forget(group.series);
      outcome = await insertUsageRecords(writer, { ...group, isSeriesKnown: false }, note);
    } else if (!group.isSeriesKnown && group.by !== "operator" && haveSeries(group, outcome)) {
      knownSeries.add(group.series, group.now);
    }
    this.#noteTerms(group, outcome);
    this.#facts = {
      hasLimits: outcome.hasLimits ?? facts.hasLimits,
      hasValueLimits: outcome.hasValueLimits ?? facts.hasValueLimits,
      hasDimensions: outcome.hasDimensions ?? facts.hasDimensions,
      hasHolds: outcome.hasHolds ?? facts.hasHolds,
    };
    const completed = completeRequests(requests, { group, starts, outcome, ids });
    this.#softCounters.add(completed.unknown);
    this.#commitMetrics.observeCommit(startedAt, completed.counts);
    return completed;
  }

  /** Notes the terms of the keys: the next requests with them are judged by these. */
  #noteTerms({ by, targets }: RecordGroup, outcome: RecordOutcome): void {
    if (by === "operator") return;
    for (const { position, ...terms } of outcome.targets) {
      this.keys.noteTerms(keyHashOf(targets[position] ?? ""), terms);
    }
  }
}

/** True if all series of a group exist now. */
function haveSeries(
  { records }: RecordGroup,
  { inserted, existing, hasDeletedSeries }: RecordOutcome,
): boolean {
  return inserted + existing.length === records.length && !hasDeletedSeries;
}

const durationBucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const recordsBuckets = [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000];

/** Measures commits for `/metrics`. */
class CommitMetrics {
  readonly counts = noRecords();
  readonly commitSeconds = new Histogram(durationBucketsSeconds);
  readonly commitRecords = new Histogram(recordsBuckets);

  /** Counts a committed group. @param startedAt By `performance.now()`. @param counts Its records. */
  observeCommit(startedAt: number, counts: Readonly<RecordCounts>): void {
    this.commitSeconds.observe((performance.now() - startedAt) / 1000);
    let records = 0;
    for (const result of Object.keys(counts) as (keyof RecordCounts)[]) {
      this.counts[result] += counts[result];
      records += counts[result];
    }
    this.commitRecords.observe(records);
  }
}
