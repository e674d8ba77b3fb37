// The result of each request after the commit of its group, with no more than the database reported.
import type { LimitCell } from "../../db/meter/recorder_limits.ts";
import { toVerifiableKey } from "../../db/meter/key_verification.ts";
import { isOutdated, seriesOf } from "../../db/meter/record_group.ts";
import type { ExistingRecord, GroupTarget, LimitedSeries, RecordOutcome } from "../../db/meter/recorder.ts";
import {
  AppError,
  invalidApiKeyError,
  invalidOperatorTokenError,
  organizationSuspendedError,
  permissionMissingError,
  seriesLimitError,
  validationError,
} from "../../domain/errors.ts";
import { errorDetailsMax } from "../../domain/limits.ts";
import { keyInactiveError } from "../../domain/meter/hold.ts";
import { FeatureMissingError } from "../../domain/meter/key_verification.ts";
import { joinQuantity } from "../../domain/meter/quantity.ts";
import { toUsageRecord, type UsageRecord } from "../../domain/meter/usage_record.ts";
import type { UsageRecordIds } from "../../domain/meter/usage_record_id.ts";
import { isoTime } from "../../domain/time.ts";
import { type CommitGroup, type GroupRequest, targetOf } from "./commit_group.ts";
import type { CommitRest } from "./commit_queue.ts";
import { GroupLimits } from "./group_limits.ts";

/** Records by result: `rejected` have a key that is invalid or may not record; `conflict` and `limited` are those of a request with such a record. */
export type RecordCounts = Record<"recorded" | "duplicate" | "conflict" | "limited" | "rejected", number>;

export const noRecords = (): RecordCounts => ({
  recorded: 0,
  duplicate: 0,
  conflict: 0,
  limited: 0,
  rejected: 0,
});

interface CommittedGroup extends CommitGroup {
  readonly outcome: RecordOutcome;
  readonly ids: UsageRecordIds;
}

export interface CompletedRequests<T extends GroupRequest> extends CommitRest<T> {
  readonly counts: RecordCounts;
  /** Counters of soft limits to complete, which no request waits for. */
  readonly unknown: readonly LimitCell[];
}

/**
 * Resolves or rejects every request of a group, except those to retry. A group that doesn't count limits
 * or dimensions is retried as a whole when there are some now.
 *
 * @throws When the database did not insert exactly the records to be acknowledged; then no request was resolved or rejected.
 */
export function completeRequests<T extends GroupRequest>(
  requests: readonly T[],
  committed: CommittedGroup,
): CompletedRequests<T> {
  const counts = noRecords();
  const { group, outcome } = committed;
  const { inserted } = outcome;
  if (isOutdated(group, outcome) && inserted === 0) {
    return { counts, retries: requests, waiting: [], unknown: [] };
  }
  const results = new GroupResults(committed);
  const retries: T[] = [];
  const waiting: { request: T; cells: readonly LimitCell[] }[] = [];
  const completions: (() => void)[] = [];
  for (const [index, request] of requests.entries()) {
    const result = results.of(request, index);
    if (result === "retry") {
      retries.push(request);
      continue;
    }
    if ("cells" in result) {
      waiting.push({ request, cells: result.cells });
      continue;
    }
    const { kind, duplicates = 0, complete } = result;
    counts[kind] += request.inputs.length - duplicates;
    counts.duplicate += duplicates;
    completions.push(complete);
  }
  if (counts.recorded !== inserted) {
    throw new Error(`${inserted} records were inserted where ${counts.recorded} were expected`);
  }
  for (const complete of completions) complete();
  return { counts, retries, waiting, unknown: results.unknown };
}

/** The result of one request, and what reports it. */
interface RequestResult {
  readonly kind: keyof RecordCounts;
  readonly duplicates?: number;
  readonly complete: () => void;
}

/** The key has other addresses than those that the client's address was checked against. */
export class AddressesChangedError extends Error {
  override readonly name = "AddressesChangedError";
}

export const denialErrors = {
  addresses: () => new AddressesChangedError(),
  suspended: organizationSuspendedError,
  token: invalidOperatorTokenError,
  permission: () => permissionMissingError("usage:write"),
  feature: () => new FeatureMissingError(),
  inactive: keyInactiveError,
} as const;

/** The results of a group whose records were inserted, by request. */
export class GroupResults {
  readonly #committed: CommittedGroup;
  readonly #targets: ReadonlyMap<string | undefined, GroupTarget>;
  readonly #existing: ReadonlyMap<number, ExistingRecord>;
  readonly #seriesLimits: SeriesLimits;
  readonly #limits: GroupLimits;
  readonly #recordedAt: string;
  readonly #idOf: (seq: number) => string;

  constructor(committed: CommittedGroup) {
    const { group, outcome, ids } = committed;
    this.#committed = committed;
    this.#targets = new Map(outcome.targets.map((target) => [group.targets[target.position], target]));
    this.#existing = new Map(outcome.existing.map((record) => [record.position, record]));
    this.#seriesLimits = new SeriesLimits(committed);
    this.#limits = new GroupLimits(committed, this.#targets);
    this.#recordedAt = isoTime(group.now);
    this.#idOf = ids.ofMoment(group.now);
  }

  get unknown(): readonly LimitCell[] {
    return this.#limits.unknown;
  }

  of(
    request: GroupRequest,
    index: number,
  ): RequestResult | "retry" | { readonly cells: readonly LimitCell[] } {
    const { inputs, repeats } = request;
    // The error is created last, because it collects a stack.
    const rejected = (kind: keyof RecordCounts, error: () => Error): RequestResult => ({
      kind,
      complete: () => request.reject(error()),
    });
    const denial = this.#denialOf(request);
    if (denial !== null) return rejected("rejected", denial);
    // Such a request has no records in the group.
    if (repeats !== null && repeats.conflicts.length > 0) {
      return rejected("conflict", () => idempotencyConflict(request, repeats.conflicts));
    }
    const { starts, group } = this.#committed;
    const start = starts[index] ?? 0;
    const end = starts[index + 1] ?? group.records.length;
    const positionOf = recordPositions(request, { start, end });
    const unlisted = this.#unlistedIn(request, positionOf);
    if (unlisted.length > 0) return rejected("rejected", () => unlistedError(unlisted));
    const limit = this.#seriesLimits.of(start, end);
    if (limit?.fitsAlone) return "retry";
    if (limit !== null) {
      return rejected("limited", () => seriesLimit(request, { ...limit, positionOf }));
    }
    const conflicts: number[] = [];
    let duplicates = 0;
    for (const input of inputs.keys()) {
      const isFirst = repeats === null || repeats.firsts[input] === input;
      const existing = this.#existing.get(positionOf(input));
      if (existing !== undefined || !isFirst) duplicates++;
      if (existing?.differs === 1 && isFirst) conflicts.push(input);
    }
    if (conflicts.length > 0) return rejected("conflict", () => idempotencyConflict(request, conflicts));
    const rejection = this.#limits.rejection(index);
    if (rejection?.reason === "unknown") return rejection;
    if (rejection?.reason === "others") return "retry";
    if (rejection !== undefined) return rejected("limited", rejection.error);
    const { key } = this.#targets.get(targetOf(request.target, 0)) ?? {};
    return {
      kind: "recorded",
      duplicates,
      complete: () =>
        request.resolve({
          duplicates,
          usageRecord: (input) => this.#usageRecord(request, { input, position: positionOf(input) }),
          limits: this.#limits.standings(start, end),
          key: key === undefined ? null : toVerifiableKey(key),
        }),
    };
  }

  /** Returns the error of a request whose targets don't exist or may not record; null if they may. */
  #denialOf({ target }: GroupRequest): (() => Error) | null {
    if (typeof target !== "string") {
      const missing = target.flatMap((id, index) => this.#targets.has(id) ? [] : [index]);
      return missing.length === 0 ? null : () => organizationsGone(missing);
    }
    const key = this.#targets.get(target);
    if (key === undefined) return invalidApiKeyError;
    return key.denial === null ? null : denialErrors[key.denial];
  }

  /** Returns the fields of a request that name something that isn't in the catalogue. */
  #unlistedIn(request: GroupRequest, positionOf: (index: number) => number): string[] {
    const { group, outcome } = this.#committed;
    if (outcome.unlisted.length === 0) return [];
    return request.inputs.flatMap((_input, index) => {
      const position = seriesOf(group.records[positionOf(index)]);
      const series = outcome.unlisted.find((series) => series.position === position);
      return series === undefined
        ? []
        : [pathIn(request, index, series.isProduct ? "productSlug" : "metric")];
    });
  }

  #usageRecord(
    { inputs, target }: GroupRequest,
    { input: index, position }: { input: number; position: number },
  ): UsageRecord {
    const { outcome, ids } = this.#committed;
    const existing = this.#existing.get(position);
    if (existing !== undefined) return toUsageRecord(existing, ids);
    const input = inputs[index];
    if (input === undefined) throw new Error("a record without an input");
    const { productSlug, metric, idempotencyKey } = input;
    const { id = null, environment } = this.#targets.get(targetOf(target, index)) ?? {};
    return {
      id: this.#idOf(outcome.firstSeq + position),
      productSlug,
      metric,
      quantity: joinQuantity(input.quantity),
      timestamp: input.timestamp === null ? this.#recordedAt : isoTime(input.timestamp),
      recordedAt: this.#recordedAt,
      idempotencyKey,
      // Stored as null when there are none; a repeat returns what is stored.
      properties: Object.keys(input.properties ?? {}).length === 0 ? null : input.properties,
      apiKeyId: id,
      environment: environment ?? "live",
      voidedAt: null,
      voidedBy: null,
      voidReason: null,
    };
  }
}

/** The limit of series that a request doesn't fit into. */
interface SeriesLimit {
  /** True if it would without the other requests of the group. */
  readonly fitsAlone: boolean;
  /** The number of series that the organization may have. */
  readonly max: number;
  /** Returns true if the record with this position would create a series. */
  readonly isNew: (position: number) => boolean;
}

/** Requests of a group that were not recorded because of the limit of series. */
class SeriesLimits {
  readonly #records: readonly string[];
  /** New series of organizations without room for all of their new series in the group. */
  readonly #series = new Map<number, LimitedSeries & { readonly isCreated: boolean }>();

  constructor({ group, outcome }: CommittedGroup) {
    this.#records = group.records;
    const counts = new Map<number, number>();
    for (const series of outcome.limited) {
      const count = (counts.get(series.organization) ?? 0) + 1;
      counts.set(series.organization, count);
      this.#series.set(series.position, { ...series, isCreated: count <= series.room });
    }
  }

  /** Returns null for a request, given by its records' positions, of which every series exists now. */
  of(start: number, end: number): SeriesLimit | null {
    if (this.#series.size === 0) return null;
    const isNew = (position: number) => this.#series.has(seriesOf(this.#records[position]));
    const own = new Set(this.#records.slice(start, end).map(seriesOf));
    const created = [...own].flatMap((position) => this.#series.get(position) ?? []);
    if (created.every(({ isCreated }) => isCreated)) return null;
    const max = Math.max(...created.map(({ seriesMax }) => seriesMax));
    return { fitsAlone: created.length <= Math.max(...created.map(({ room }) => room)), max, isNew };
  }
}

/**
 * Returns a function from an input's index to the position of its record in the group.
 *
 * @param range The positions of the first record of a request, and of the first one of the next request.
 * @throws If the request has other records in the group than its inputs need.
 */
function recordPositions(
  { inputs, repeats }: GroupRequest,
  { start, end }: { start: number; end: number },
): (index: number) => number {
  const count = repeats === null ? inputs.length : new Set(repeats.firsts).size;
  if (count !== end - start) throw new Error(`${end - start} records are in the group instead of ${count}`);
  if (repeats === null) return (index) => start + index;
  const { firsts } = repeats;
  let next = start;
  const positions = firsts.map((first, index) => first === index ? next++ : -1);
  return (index) => positions[firsts[index] ?? index] ?? -1;
}

/** Names a field of an input. Operators always send batches. */
function pathIn({ inputs, target }: GroupRequest, index: number, field: string): string {
  return inputs.length > 1 || typeof target !== "string" ? `records[${index}].${field}` : field;
}

function unlistedError(paths: readonly string[]): AppError {
  const message = "must be in the catalogue of products.";
  return validationError(paths.slice(0, errorDetailsMax).map((path) => ({ path, message })));
}

function seriesLimit(
  request: GroupRequest,
  { isNew, max, positionOf }: SeriesLimit & { positionOf: (index: number) => number },
): AppError {
  const indexes = [...request.inputs.keys()].filter((index) => isNew(positionOf(index)));
  const details = indexes.slice(0, errorDetailsMax).map((index) => ({
    path: pathIn(request, index, "metric"),
    message: "would create a new series.",
  }));
  return seriesLimitError(details, max);
}

/** The organizations were deleted, or their keys were, since the request found them. */
function organizationsGone(indexes: readonly number[]): AppError {
  return validationError(
    indexes.slice(0, errorDetailsMax).map((index) => ({
      path: `records[${index}]`,
      message: "must be for an existing organization.",
    })),
  );
}

function idempotencyConflict(request: GroupRequest, conflicts: readonly number[]): AppError {
  return new AppError(
    "idempotency_conflict",
    "This idempotency key was used before for a record with different content.",
    {
      details: conflicts.map((index) => ({
        path: pathIn(request, index, "idempotencyKey"),
        message: "was used before for a record with different content.",
      })),
    },
  );
}
