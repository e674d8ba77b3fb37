// Group commit: while one group of requests is being committed, the next requests gather. Requests that need counters of limits wait for
// them, and those that found no room because of others are retried.
import { setImmediate } from "node:timers";
import { DatabaseError } from "../../db/engine/database.ts";
import {
  recorderCommitBytesMax,
  recorderCommitRecordsMax,
  recorderGatherTurnsMax,
  recorderOrganizationBytesMax,
  recorderOrganizationRecordsMax,
  recorderQuantumBytesMax,
  recorderQuantumRecordsMax,
  recorderQueueBytesMax,
  recorderQueueRecordsMax,
  recorderRemoteCommitsMax,
  recorderSecondCommitRecordsMin,
  usageBodyBytesMax,
} from "../../domain/limits.ts";
import type { LimitCell } from "../../db/meter/recorder_limits.ts";
import type { BaseContext } from "../base_context.ts";
import { FairQueue, type QueuedRequest, queueFullError, type QueueLimits } from "./fair_queue.ts";
import type { LimitCounters } from "./limit_counters.ts";

/**
 * Returns the limits of the queue of one of several threads. All queues together have a fixed size, but each fits the largest
 * request. An organization whose connections are all with one thread can use the whole queue of that thread, if it is no larger
 * than what one may queue.
 */
export function queueLimits(threads: number): QueueLimits {
  const total = {
    records: Math.floor(recorderQueueRecordsMax / threads),
    bytes: Math.max(Math.floor(recorderQueueBytesMax / threads), usageBodyBytesMax),
  };
  return {
    total,
    organization: {
      records: Math.min(recorderOrganizationRecordsMax, total.records),
      bytes: Math.min(recorderOrganizationBytesMax, total.bytes),
    },
    quantum: { records: recorderQuantumRecordsMax, bytes: recorderQuantumBytesMax },
    group: { records: recorderCommitRecordsMax, bytes: recorderCommitBytesMax },
  };
}

interface WaitingRequest extends QueuedRequest {
  readonly queuedAt: number;
  /** See `GroupRequest`. Later requests of its organization don't wait with one that asks. */
  readonly asks?: boolean | undefined;
  readonly reject: (error: unknown) => void;
}

/** The requests of a group without a result after its commit. */
export interface CommitRest<T> {
  /** Requests to retry before later ones: there is room for them, but not together with the others of this group. */
  readonly retries: readonly T[];
  /** Requests to retry once these counters of limits are known. */
  readonly waiting: readonly { readonly request: T; readonly cells: readonly LimitCell[] }[];
}

export class CommitQueue<T extends WaitingRequest> {
  readonly #context: Pick<BaseContext, "database">;
  readonly #queue: FairQueue<T>;
  readonly #counters: Pick<LimitCounters, "complete">;
  readonly #commit: (requests: readonly T[]) => Promise<CommitRest<T>>;
  #commits = 0;
  #isScheduled = false;
  #isClosed = false;
  /** The number of requests that wait for counters. */
  #waiting = 0;
  /** The number of those that ask, by organization. */
  readonly #asking = new Map<string, number>();
  readonly #askingMax: number;
  #onIdle: (() => void) | undefined;

  /** @param options `counters`: those that requests wait for. `commit`: completes the requests of a group, except those that it returns. */
  constructor(
    context: Pick<BaseContext, "database">,
    { httpThreads, counters, commit }: {
      httpThreads: number;
      counters: Pick<LimitCounters, "complete">;
      commit: (requests: readonly T[]) => Promise<CommitRest<T>>;
    },
  ) {
    this.#context = context;
    const limits = queueLimits(httpThreads);
    this.#queue = new FairQueue(limits);
    this.#askingMax = limits.organization.records;
    this.#counters = counters;
    this.#commit = commit;
  }

  get records(): number {
    return this.#queue.records;
  }

  /** When the oldest queued request arrived; null when the queue is empty. */
  get oldestQueuedAt(): number | null {
    let oldest: number | null = null;
    for (const { queuedAt } of this.#queue.oldestOfEach()) oldest = Math.min(queuedAt, oldest ?? queuedAt);
    return oldest;
  }

  /** Adds a request, which is rejected as `unavailable` if there is no room, or if others need the room later. */
  add(request: T): void {
    if (this.#isClosed) return request.reject(queueFullError());
    for (const evicted of this.#queue.add(request)) evicted.reject(queueFullError());
    this.#schedule();
  }

  /** Commits the queue and accepts no further requests. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#isIdle) return;
    await new Promise<void>((resolve) => this.#onIdle = resolve);
  }

  #schedule(): void {
    if (this.#isScheduled || !this.#isWorthACommit()) return;
    this.#isScheduled = true;
    this.#commitOnceGathered({ turns: 1, records: this.#queue.records });
  }

  /**
   * Requests that have arrived but were not handled yet join the commit: it starts after the first turn of the event loop that
   * brings none. A timer would be worse: waiting a millisecond before each commit halves what 128 connections can record.
   */
  #commitOnceGathered({ turns, records }: { turns: number; records: number }): void {
    setImmediate(() => {
      if (turns < recorderGatherTurnsMax && this.#queue.records > records) {
        return this.#commitOnceGathered({ turns: turns + 1, records: this.#queue.records });
      }
      this.#isScheduled = false;
      if (this.#isWorthACommit()) this.#commitNext();
    });
  }

  /** A second commit starts while the first is in progress if there are enough records for it. */
  #isWorthACommit(): boolean {
    if (!this.#queue.canTake) return false;
    const commitsMax = this.#context.database.source.kind === "remote" ? recorderRemoteCommitsMax : 1;
    return this.#commits === 0 ||
      (this.#commits < commitsMax && this.#queue.records >= recorderSecondCommitRecordsMin);
  }

  async #commitNext(): Promise<void> {
    const requests = this.#queue.take();
    this.#commits++;
    try {
      const { retries, waiting } = await this.#commit(requests);
      this.#queue.putBack(retries);
      for (const [organizationId, some] of Map.groupBy(waiting, ({ request }) => request.organizationId)) {
        const asking = some.filter(({ request }) => request.asks);
        const others = some.filter(({ request }) => !request.asks);
        if (asking.length > 0) this.#awaitAsking(organizationId, asking);
        if (others.length > 0) {
          this.#queue.hold(organizationId);
          this.#awaitCounters(others, () => this.#queue.release(organizationId));
        }
      }
    } catch (error) {
      for (const request of requests) request.reject(error);
      // The other queued requests would wait just as long for the same database.
      if (error instanceof DatabaseError && error.kind === "unavailable") {
        for (const request of this.#queue.clear()) request.reject(error);
      }
    }
    this.#commits--;
    this.#schedule();
    this.#noteIfIdle();
  }

  get #isIdle(): boolean {
    return this.#commits === 0 && this.#waiting === 0 && this.#queue.isEmpty;
  }

  #noteIfIdle(): void {
    if (this.#isIdle) this.#onIdle?.();
  }

  /** As {@linkcode #awaitCounters}, for as many requests of an organization as may be queued. */
  #awaitAsking(organizationId: string, waiting: CommitRest<T>["waiting"]): void {
    const before = this.#asking.get(organizationId) ?? 0;
    const [some, rest] = [
      waiting.slice(0, this.#askingMax - before),
      waiting.slice(this.#askingMax - before),
    ];
    for (const { request } of rest) request.reject(queueFullError());
    this.#asking.set(organizationId, before + some.length);
    this.#awaitCounters(some, () => {
      const left = (this.#asking.get(organizationId) ?? 0) - some.length;
      if (left > 0) this.#asking.set(organizationId, left);
      else this.#asking.delete(organizationId);
    });
  }

  /** Retries requests of an organization once the counters that they need are known. */
  async #awaitCounters(waiting: CommitRest<T>["waiting"], onEnd: () => void): Promise<void> {
    const requests = waiting.map(({ request }) => request);
    this.#waiting += requests.length;
    try {
      await this.#counters.complete(waiting.flatMap(({ cells }) => cells));
      this.#queue.putBack(requests);
    } catch (error) {
      for (const request of requests) request.reject(error);
    }
    this.#waiting -= requests.length;
    onEnd();
    this.#schedule();
    this.#noteIfIdle();
  }
}
