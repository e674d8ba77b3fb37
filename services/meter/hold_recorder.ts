// Makes and settles holds in groups, as usage is recorded. No request is acknowledged before its commit.
import type { Database } from "../../db/engine/database.ts";
import { type HoldingToken, insertHolds, settleHolds } from "../../db/meter/hold_group.ts";
import { isOutdated } from "../../db/meter/record_group.ts";
import type { LimitCell } from "../../db/meter/recorder_limits.ts";
import { invalidApiKeyError } from "../../domain/errors.ts";
import { newId } from "../../domain/id.ts";
import {
  activeHoldsMax,
  holdLimitError,
  type HoldRecord,
  holdRecordsText,
  parseHoldRecords,
  type StoredHold,
} from "../../domain/meter/hold.ts";
import type { UsageRecordIds } from "../../domain/meter/usage_record_id.ts";
import type { BaseContext } from "../base_context.ts";
import { buildGroup } from "./commit_group.ts";
import { CommitQueue, type CommitRest } from "./commit_queue.ts";
import { denialErrors, GroupResults } from "./commit_results.ts";
import type { QueuedRequest } from "./fair_queue.ts";
import {
  beyondOf,
  completeAll,
  groupRequests,
  type HeldResult,
  resultOf,
  type Unsettled,
  verifiedKey,
  type Waiting,
} from "./hold_results.ts";
import type { LimitCounters } from "./limit_counters.ts";

export interface NewHoldRequest {
  readonly kind: "hold";
  /** See `targetOfKey`; for an operator, the id of an organization or an API key. */
  readonly target: string;
  readonly heldBy: StoredHold["heldBy"];
  readonly records: readonly HoldRecord[];
  readonly expiresInMs: number;
  readonly isRecordedOnExpiry: boolean;
  readonly idempotencyKey: string | null;
  /** The operator token that holds. */
  readonly token: HoldingToken | null;
}

interface SettlementRequest {
  readonly kind: "settlement";
  /** As it was read: what is used of it never changes. */
  readonly hold: StoredHold;
  /** Null for an operator, and for its expiry. */
  readonly keyHash: string | null;
  /** Those of the key that the client's address was checked against. */
  readonly addresses: string | null;
  /** The operator token that settles. */
  readonly token: HoldingToken | null;
  readonly records: readonly HoldRecord[];
  readonly isExpiry: boolean;
}

type HoldWork = (NewHoldRequest | SettlementRequest) & Waiting;
type QueuedHold = HoldWork & QueuedRequest & { readonly queuedAt: number; readonly asks: boolean };

type HoldContext = Pick<BaseContext, "database" | "clock" | "config">;

export class HoldRecorder {
  readonly #context: HoldContext;
  readonly #queue: CommitQueue<QueuedHold>;
  readonly #counters: Pick<LimitCounters, "complete">;
  readonly #onUnknown: (cells: readonly LimitCell[]) => void;
  readonly #recordIds: () => Promise<UsageRecordIds>;
  /** Holds that this thread made and hasn't settled, the oldest first. */
  readonly #made = new Map<string, StoredHold>();
  /** True if any metric had dimensions at the last commit. */
  #hasDimensions = false;
  /** True if any limit was per value at the last commit. */
  #hasValueLimits = false;

  /** @param options `counters`: those that requests wait for. `onUnknown`: gets counters that none waits for. */
  constructor(
    context: HoldContext,
    { httpThreads, counters, onUnknown, recordIds }: {
      httpThreads: number;
      counters: Pick<LimitCounters, "complete">;
      onUnknown: (cells: readonly LimitCell[]) => void;
      recordIds: () => Promise<UsageRecordIds>;
    },
  ) {
    this.#context = context;
    this.#counters = counters;
    this.#onUnknown = onUnknown;
    this.#recordIds = recordIds;
    this.#queue = new CommitQueue(context, {
      httpThreads,
      counters,
      commit: (requests) => this.#commitBoth(requests, context.database),
    });
  }

  /**
   * Makes or settles a hold with an API key or an operator token.
   *
   * @param by `keyHash`: names the key or the token.
   *
   * @throws {AppError} As `Recorder.record`; `hold_limit_reached`.
   */
  run(
    request: NewHoldRequest | SettlementRequest,
    { organizationId, keyHash, bytes }: { organizationId: string; keyHash: string; bytes: number },
  ): Promise<HeldResult | Unsettled> {
    // Two requests for one hold, or with one idempotency key, are in different groups.
    const name = request.kind === "hold" ? request.idempotencyKey : request.hold.id;
    const inputs = Array.from({ length: Math.max(1, request.records.length) }, (_, index) => ({
      idempotencyKey: index === 0 && name !== null ? `${request.kind} ${name}` : null,
    }));
    return new Promise((resolve, reject) => {
      this.#queue.add({
        target: keyHash,
        ...request,
        // Settlements don't wait with holds.
        asks: request.kind === "hold",
        organizationId,
        keyHash,
        inputs,
        bytes,
        queuedAt: this.#context.clock(),
        resolve,
        reject,
      });
    });
  }

  /** Returns a hold as this thread made it, if it remembers it. It may have changed. */
  made(id: string): StoredHold | undefined {
    return this.#made.get(id);
  }

  #remember(hold: StoredHold): void {
    const [oldest] = this.#made.keys();
    if (this.#made.size >= rememberedHoldsMax && oldest !== undefined) this.#made.delete(oldest);
    this.#made.set(hold.id, hold);
  }

  /** As {@linkcode run}, in a batch of its own. @param writer Writes the batch for an operator. */
  runAlone(
    request: NewHoldRequest | SettlementRequest,
    writer: Pick<Database, "write">,
  ): Promise<HeldResult | Unsettled> {
    return new Promise((resolve, reject) => {
      this.#commitAlone({ ...request, resolve, reject }, writer).catch(reject);
    });
  }

  /** Settles holds in one batch. Rejected ones are left out. */
  async runAll(requests: readonly SettlementRequest[]): Promise<(HeldResult | Unsettled)[]> {
    const results: (HeldResult | Unsettled)[] = [];
    if (requests.length === 0) return results;
    await this.#commitBoth(
      requests.map((request) => ({
        ...request,
        resolve: (result) => void results.push(result),
        reject: () => {},
      })),
      this.#context.database,
    );
    return results;
  }

  async #commitAlone(request: HoldWork, writer: Pick<Database, "write">): Promise<void> {
    let { retries, waiting } = await this.#commitBoth([request], writer);
    while (retries.length + waiting.length > 0) {
      await this.#counters.complete(waiting.flatMap(({ cells }) => cells));
      ({ retries, waiting } = await this.#commitBoth([request], writer));
    }
  }

  /** Commits the queue and accepts no further requests. */
  close(): Promise<void> {
    return this.#queue.close();
  }

  /** The database engine joins the batches. */
  async #commitBoth<T extends HoldWork>(
    requests: readonly T[],
    writer: Pick<Database, "write">,
  ): Promise<CommitRest<T>> {
    const holds = requests.filter((request): request is T & NewHoldRequest => request.kind === "hold");
    const settlements = requests.filter((request): request is T & SettlementRequest =>
      request.kind === "settlement"
    );
    // An error of one batch must not reject the requests of the other.
    const rejecting = (some: readonly T[]) => (error: unknown) => {
      for (const { reject } of some) reject(error);
      return nothingLeft;
    };
    // Targets of operators are other ones than those of keys.
    const [ofKeys, ofOperators] = [true, false].map((isKeys) =>
      holds.filter(({ heldBy }) => isKeys === (heldBy !== "operator"))
    );
    const rests: readonly CommitRest<T>[] = await Promise.all([
      ...[ofKeys, ofOperators].map((some = []) =>
        some.length === 0 ? nothingLeft : this.#commitHolds(some, writer).catch(rejecting(some))
      ),
      settlements.length === 0
        ? nothingLeft
        : this.#commitSettlements(settlements, writer).catch(rejecting(settlements)),
    ]);
    return {
      retries: rests.flatMap(({ retries }) => retries),
      waiting: rests.flatMap(({ waiting }) => waiting),
    };
  }

  async #commitHolds<T extends NewHoldRequest & Waiting>(
    requests: readonly T[],
    writer: Pick<Database, "write">,
  ): Promise<CommitRest<T>> {
    const { clock, config } = this.#context;
    const ids = await this.#recordIds();
    const now = clock();
    const built = groupRequests(requests, ({ target, heldBy, records }) => ({
      target: heldBy === "operator" ? records.map(() => target) : target,
      timestamp: null,
    }));
    const { group, starts } = buildGroup(built.map(({ request }) => request), {
      now,
      isCatalogueRequired: config.usageCatalog === "required",
      hasLimits: true,
      hasValueLimits: this.#hasValueLimits,
      hasDimensions: true,
      hasHolds: true,
    });
    const holdGroup = { ...group, by: group.by === "operator" ? "operatorHolds" : group.by } as const;
    const done = await insertHolds(
      writer,
      holdGroup,
      requests.map((
        { target, heldBy, records, expiresInMs, isRecordedOnExpiry, idempotencyKey, token },
        index,
      ) => ({
        id: newId("hld", now),
        token,
        heldBy,
        target,
        start: starts[index] ?? 0,
        records: holdRecordsText(records),
        expiresInMs,
        isRecordedOnExpiry,
        idempotencyKey,
      })),
    );
    const results = new GroupResults({ group: holdGroup, starts, outcome: done.outcome, ids });
    this.#onUnknown(results.unknown);
    const targetOf = (request: T | undefined) =>
      done.outcome.targets.find(({ position }) => group.targets[position] === request?.target);
    // Organizations with a place for another hold: one that was chosen found no room.
    const freed = new Set(
      [...done.chosen].flatMap((at) => done.holds.has(at) ? [] : [targetOf(requests[at])?.organization]),
    );
    this.#hasValueLimits = done.outcome.hasValueLimits ?? this.#hasValueLimits;
    const mayRetry = isOutdated(group, done.outcome);
    return completeAll(requests, (request, index) => {
      const target = targetOf(request);
      if (target === undefined) return { error: invalidApiKeyError };
      if (target.denial !== null) return { error: denialErrors[target.denial] };
      if (mayRetry && !done.holds.has(index)) return "retry";
      if (done.chosen.has(index)) {
        const found = resultOf(results, { built, index, done, isDone: true });
        if (typeof found === "object" && "result" in found) this.#remember(found.result.hold);
        return found;
      }
      const hold = done.holds.get(index);
      if (hold !== undefined) {
        const key = verifiedKey(target.key);
        return { result: { hold, key, isDone: false, limits: [], usageRecords: [], beyond: [] } };
      }
      return freed.has(target.organization) ? "retry" : { error: holdLimitError };
    });
  }

  async #commitSettlements<T extends SettlementRequest & Waiting>(
    requests: readonly T[],
    writer: Pick<Database, "write">,
  ): Promise<CommitRest<T>> {
    const { clock, config } = this.#context;
    const ids = await this.#recordIds();
    const built = groupRequests(requests, ({ hold, records }) => ({
      target: records.map(() => hold.apiKeyId ?? hold.organizationId),
      timestamp: hold.createdAt,
    }));
    const { group, starts } = buildGroup(built.map(({ request }) => request), {
      now: clock(),
      // What is recorded on expiry was in the catalogue when it was held.
      isCatalogueRequired: config.usageCatalog === "required" && !requests.some(({ isExpiry }) => isExpiry),
      hasLimits: true,
      hasValueLimits: this.#hasValueLimits,
      hasDimensions: this.#hasDimensions,
      hasHolds: true,
    });
    const settlementGroup = { ...group, by: "operator" } as const;
    const done = await settleHolds(
      writer,
      settlementGroup,
      requests.map(({ hold, keyHash, addresses, token, records, isExpiry }, index) => ({
        id: hold.id,
        start: records.length === 0 ? null : starts[index] ?? 0,
        // In the queue, it names the token.
        keyHash: token === null ? keyHash : null,
        addresses,
        token,
        records: holdRecordsText(records),
        isExpiry,
      })),
    );
    const results = new GroupResults({ group: settlementGroup, starts, outcome: done.outcome, ids });
    this.#onUnknown(results.unknown);
    const mayRetry = isOutdated(group, done.outcome);
    this.#hasDimensions = done.outcome.hasDimensions ?? this.#hasDimensions;
    this.#hasValueLimits = done.outcome.hasValueLimits ?? this.#hasValueLimits;
    return completeAll(requests, ({ hold: { id }, records }, index) => {
      const hold = done.holds.get(index);
      this.#made.delete(id);
      if (mayRetry && records.length > 0) return "retry";
      if (done.chosen.has(index)) {
        const found = resultOf(results, { built, index, done, isDone: true });
        return typeof found === "object" && "result" in found
          ? { result: { ...found.result, beyond: beyondOf(done.beyond, id) } }
          : found;
      }
      if (hold !== undefined && ["active", "expired"].includes(hold.status)) {
        const rejected = resultOf(results, { built, index, done, isDone: false });
        if (rejected === "retry" || "error" in rejected) return rejected;
      }
      return { result: { hold, isDone: false } };
    });
  }
}

/** As many as an organization can have at most. */
const rememberedHoldsMax = activeHoldsMax;
const nothingLeft = { retries: [], waiting: [] } as const;

/** A settlement that records what a hold holds, because it has expired. */
export function expiryOf(hold: StoredHold): SettlementRequest {
  return {
    kind: "settlement",
    hold,
    keyHash: null,
    addresses: null,
    token: null,
    records: parseHoldRecords(hold.records),
    isExpiry: true,
  };
}
