// A group of requests that are recorded together: what goes to the database, and what each of them is told after it.
import {
  type ActiveKey,
  groupRecord,
  type RecordGroup,
  type RecordOutcome,
  requestField,
  seriesField,
  seriesOf,
  type TakenRecord,
  timestampField,
} from "../../db/meter/usage_recording.ts";
import { AppError, invalidApiKeyError, seriesLimitError } from "../../domain/errors.ts";
import { usageSeriesMax } from "../../domain/limits.ts";
import { joinQuantity } from "../../domain/meter/quantity.ts";
import {
  isSameUsage,
  propertiesText,
  shownUsageRecord,
  type UsageInput,
  type UsageRecord,
} from "../../domain/meter/usage_record.ts";
import type { UsageRecordIds } from "../../domain/meter/usage_record_id.ts";
import { isoTime } from "../../domain/meter/usage_window.ts";
import type { RecordCounts } from "./recorder_measurements.ts";

/** One request to record: all of its records are kept, or none. */
export interface RecordRequest {
  /** SHA-256 of the API key that was shown, in hexadecimal. */
  readonly keyHash: string;
  readonly inputs: readonly UsageInput[];
  /** Size of the request's body, for the bound of the queue. */
  readonly bytes: number;
}

/** What became of a request's records. */
export interface RecordedUsage {
  /** How many were there already, by their idempotency keys. */
  readonly duplicates: number;
  /** @returns The record that an input became or repeats; made when it is asked for. */
  readonly usageRecord: (index: number) => UsageRecord;
}

/** A request whose fate is not known yet. */
export interface Waiting extends RecordRequest {
  readonly organizationId: string;
  readonly resolve: (recorded: RecordedUsage) => void;
  readonly reject: (error: unknown) => void;
  /** See {@linkcode repeatsWithin}. */
  readonly repeats: Repeats | null;
  /** Milliseconds since 1970. */
  readonly queuedAt: number;
}

/** Inputs of one request with the same idempotency key. */
export interface Repeats {
  /** For each input: the earlier input that it repeats, or itself. */
  readonly firsts: readonly number[];
  /** Inputs that use an earlier input's idempotency key for something else. */
  readonly conflicts: readonly number[];
}

/** A group for the database, and where each request's records are in it. */
export interface BuiltGroup {
  readonly group: RecordGroup;
  /** The place of each request's first record. */
  readonly starts: readonly number[];
}

/** @returns The requests as one group; no idempotency key may occur in two of them that are of one organization. */
export function buildGroup(requests: readonly Waiting[], now: number): BuiltGroup {
  const keyHashes = new Set<string>();
  const series = new SeriesOfGroup();
  const records: string[] = [];
  const nowField = timestampField(now, false);
  let keys = 0;
  const starts = requests.map(({ keyHash, inputs, repeats }, number) => {
    const start = records.length;
    keyHashes.add(keyHash);
    // A request that contradicts itself is only authenticated: its conflict is told to nobody without a key.
    if (repeats !== null && repeats.conflicts.length > 0) return start;
    const seriesOfKey = series.ofKey(keyHash);
    const request = requestField(number);
    for (const [index, input] of inputs.entries()) {
      if (repeats !== null && repeats.firsts[index] !== index) continue;
      if (input.idempotencyKey !== null) keys++;
      records.push(groupRecord({
        series: seriesOfKey(input.productSlug, input.metric),
        request,
        timestamp: input.timestamp === null ? nowField : timestampField(input.timestamp, true),
        quantity: input.quantity,
        idempotencyKey: input.idempotencyKey,
        properties: propertiesText(input.properties),
      }));
    }
    return start;
  });
  return {
    group: { now, keyHashes: [...keyHashes], series: series.list, records, keys, seriesMax: usageSeriesMax },
    starts,
  };
}

/** Numbers the series of a group. */
class SeriesOfGroup {
  readonly list: [keyHash: string, productSlug: string, metric: string][] = [];
  readonly #fields = new Map<string, Map<string, Map<string, string>>>();

  /** @returns What gives the field of each of a key's series. */
  ofKey(keyHash: string): (productSlug: string, metric: string) => string {
    const products = childMap(this.#fields, keyHash);
    return (productSlug, metric) => {
      const metrics = childMap(products, productSlug);
      let field = metrics.get(metric);
      if (field === undefined) {
        field = seriesField(this.list.push([keyHash, productSlug, metric]) - 1);
        metrics.set(metric, field);
      }
      return field;
    };
  }
}

function childMap<V>(map: Map<string, Map<string, V>>, name: string): Map<string, V> {
  let child = map.get(name);
  if (child === undefined) {
    child = new Map();
    map.set(name, child);
  }
  return child;
}

/**
 * Tells every request what became of it.
 *
 * @returns How many records had which fate, and the requests that must be tried again, before later ones: their new series
 *   would fit, but not together with others of their organization in this group.
 * @throws When the database did not insert exactly what would be acknowledged; then nobody was told anything.
 */
export function settle(
  requests: readonly Waiting[],
  result: BuiltGroup & { outcome: RecordOutcome; ids: UsageRecordIds },
): { counts: RecordCounts; again: Waiting[] } {
  const { group, outcome, starts, ids } = result;
  const activeKeys = new Map(outcome.activeKeys.map((key) => [group.keyHashes[key.position], key]));
  const taken = new Map(outcome.taken.map((record) => [record.position, record]));
  const common = {
    ids,
    idOf: ids.ofMoment(group.now),
    recordedAt: isoTime(group.now),
    firstSeq: outcome.firstSeq,
    taken,
  };
  const limited = new LimitedRequests(result);
  const again: Waiting[] = [];
  const counts: RecordCounts = { recorded: 0, duplicate: 0, conflict: 0, limited: 0, rejected: 0 };
  const settlements: (() => void)[] = [];
  for (const [request, waiting] of requests.entries()) {
    const key = activeKeys.get(waiting.keyHash);
    if (key === undefined) {
      counts.rejected += waiting.inputs.length;
      settlements.push(() => waiting.reject(invalidApiKeyError()));
      continue;
    }
    const start = starts[request] ?? 0;
    const places = placesOf(waiting, start);
    const limit = limited.of(start, starts[request + 1] ?? group.records.length);
    if (limit !== null) {
      if (limit.fitsAlone) {
        again.push(waiting);
        continue;
      }
      counts.limited += waiting.inputs.length;
      settlements.push(() => waiting.reject(seriesLimit(waiting, (index) => limit.isNew(places(index)))));
      continue;
    }
    const { inputs, repeats } = waiting;
    const conflicts = [...repeats?.conflicts ?? []];
    let isNew = 0;
    if (conflicts.length === 0) {
      for (const index of inputs.keys()) {
        if (repeats !== null && repeats.firsts[index] !== index) continue;
        const first = taken.get(places(index));
        if (first?.differs === 1) conflicts.push(index);
        if (first === undefined) isNew++;
      }
    }
    if (conflicts.length > 0) {
      counts.conflict += inputs.length;
      settlements.push(() => waiting.reject(idempotencyConflict(waiting, conflicts)));
      continue;
    }
    counts.recorded += isNew;
    counts.duplicate += inputs.length - isNew;
    settlements.push(() =>
      waiting.resolve({
        duplicates: inputs.length - isNew,
        usageRecord: (index) => usageRecordOf(inputs[index], { ...common, place: places(index), key }),
      })
    );
  }
  // The database must have inserted exactly what is about to be acknowledged.
  if (counts.recorded !== outcome.inserted) {
    throw new Error(`${outcome.inserted} records were inserted where ${counts.recorded} were expected`);
  }
  for (const tell of settlements) tell();
  return { counts, again };
}

/** Which requests of a group were not recorded because of the limit of series. */
class LimitedRequests {
  readonly #records: readonly string[];
  /** Series that were not there before, of organizations without room for all of those in the group. */
  readonly #series = new Map<number, { readonly room: number; readonly isOpened: boolean }>();

  constructor({ group, outcome }: BuiltGroup & { outcome: RecordOutcome }) {
    this.#records = group.records;
    const counts = new Map<number, number>();
    for (const { position, organization, room } of outcome.limited) {
      const count = (counts.get(organization) ?? 0) + 1;
      counts.set(organization, count);
      this.#series.set(position, { room, isOpened: count <= room });
    }
  }

  /** @returns Null for a request, given by its places in the group, that was not held up. */
  of(start: number, end: number): { fitsAlone: boolean; isNew: (place: number) => boolean } | null {
    if (this.#series.size === 0) return null;
    const isNew = (place: number) => this.#series.has(seriesOf(this.#records[place]));
    const own = new Set(this.#records.slice(start, end).map(seriesOf));
    const opened = [...own].flatMap((position) => this.#series.get(position) ?? []);
    if (opened.every(({ isOpened }) => isOpened)) return null;
    return { fitsAlone: opened.length <= Math.max(...opened.map(({ room }) => room)), isNew };
  }
}

const limitDetailsMax = 100;

function seriesLimit(waiting: Waiting, isNew: (index: number) => boolean): AppError {
  const isBatch = waiting.inputs.length > 1;
  const places = [...waiting.inputs.keys()].filter(isNew).slice(0, limitDetailsMax);
  return seriesLimitError(places.map((index) => ({
    path: isBatch ? `records[${index}].metric` : "metric",
    message: "would open a new series.",
  })));
}

/** @returns Where in the group the record of an input is. */
function placesOf({ repeats }: Waiting, start: number): (index: number) => number {
  if (repeats === null) return (index) => start + index;
  const { firsts } = repeats;
  let place = start;
  const places = firsts.map((first, index) => first === index ? place++ : -1);
  return (index) => places[firsts[index] ?? index] ?? -1;
}

function usageRecordOf(
  input: UsageInput | undefined,
  found: {
    /** These three are the same for the whole group. */
    readonly ids: UsageRecordIds;
    readonly idOf: (seq: number) => string;
    readonly recordedAt: string;
    readonly key: ActiveKey;
    readonly firstSeq: number;
    readonly taken: ReadonlyMap<number, TakenRecord>;
    readonly place: number;
  },
): UsageRecord {
  const { recordedAt, place } = found;
  const first = found.taken.get(place);
  if (first !== undefined) return shownUsageRecord(first, found.ids);
  if (input === undefined) throw new Error("a record without an input");
  return {
    id: found.idOf(found.firstSeq + place),
    productSlug: input.productSlug,
    metric: input.metric,
    quantity: joinQuantity(input.quantity),
    timestamp: input.timestamp === null ? recordedAt : isoTime(input.timestamp),
    recordedAt,
    idempotencyKey: input.idempotencyKey,
    // None are kept as null, and a repeat answers with what is kept.
    properties: Object.keys(input.properties ?? {}).length === 0 ? null : input.properties,
    apiKeyId: found.key.id,
    voidedAt: null,
    voidedBy: null,
    voidReason: null,
  };
}

/** @returns Which inputs repeat another one of the same request; null when none does. */
export function repeatsWithin(inputs: readonly UsageInput[]): Repeats | null {
  const places = new Map<string, number>();
  const conflicts: number[] = [];
  const firsts = inputs.map((input, index) => {
    if (input.idempotencyKey === null) return index;
    const first = places.get(input.idempotencyKey);
    if (first === undefined) {
      places.set(input.idempotencyKey, index);
      return index;
    }
    const firstInput = inputs[first];
    if (firstInput !== undefined && !isSameUsage(firstInput, input)) conflicts.push(index);
    return first;
  });
  return firsts.every((first, index) => first === index) ? null : { firsts, conflicts };
}

function idempotencyConflict(waiting: Waiting, conflicts: readonly number[]): AppError {
  const message = "was used before for a record with other content.";
  const isBatch = waiting.inputs.length > 1;
  return new AppError(
    "idempotency_conflict",
    "This idempotency key was used before for a record with other content.",
    {
      details: [...new Set(conflicts)].sort((a, b) => a - b).map((index) => ({
        path: isBatch ? `records[${index}].idempotencyKey` : "idempotencyKey",
        message,
      })),
    },
  );
}
