// A group of requests that are recorded together: what goes to the database, and what each of them is told after it.
import {
  type ActiveKey,
  groupRecord,
  type RecordGroup,
  type RecordOutcome,
  requestField,
  seriesField,
  type TakenRecord,
  timestampField,
} from "../db/recorder.ts";
import { AppError, invalidApiKeyError } from "../domain/errors.ts";
import { joinQuantity } from "../domain/quantity.ts";
import {
  isSameUsage,
  propertiesText,
  shownUsageRecord,
  type UsageInput,
  type UsageRecord,
  usageRecordIdsOf,
} from "../domain/usage_record.ts";
import { isoTime } from "../domain/usage_window.ts";

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
  return { group: { now, keyHashes: [...keyHashes], series: series.list, records, keys }, starts };
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
 * @throws When the database did not insert exactly what would be acknowledged; then nobody was told anything.
 */
export function settle(requests: readonly Waiting[], result: BuiltGroup & { outcome: RecordOutcome }): void {
  const { group, outcome, starts } = result;
  const activeKeys = new Map(outcome.activeKeys.map((key) => [group.keyHashes[key.position], key]));
  const taken = new Map(outcome.taken.map((record) => [record.position, record]));
  const common = {
    idOf: usageRecordIdsOf(group.now),
    recordedAt: isoTime(group.now),
    firstSeq: outcome.firstSeq,
    taken,
  };
  let expected = 0;
  const settlements: (() => void)[] = [];
  for (const [request, waiting] of requests.entries()) {
    const key = activeKeys.get(waiting.keyHash);
    if (key === undefined) {
      settlements.push(() => waiting.reject(invalidApiKeyError()));
      continue;
    }
    const places = placesOf(waiting, starts[request] ?? 0);
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
      settlements.push(() => waiting.reject(idempotencyConflict(waiting, conflicts)));
      continue;
    }
    expected += isNew;
    settlements.push(() =>
      waiting.resolve({
        duplicates: inputs.length - isNew,
        usageRecord: (index) => usageRecordOf(inputs[index], { ...common, place: places(index), key }),
      })
    );
  }
  // The database must have inserted exactly what is about to be acknowledged.
  if (expected !== outcome.inserted) {
    throw new Error(`${outcome.inserted} records were inserted where ${expected} were expected`);
  }
  for (const tell of settlements) tell();
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
    /** These two are the same for the whole group. */
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
  if (first !== undefined) return shownUsageRecord(first);
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
