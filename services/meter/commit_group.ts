// A group of requests whose records are committed together.
import { RecordEncoder } from "../../db/meter/record_text.ts";
import type { RecordGroup } from "../../db/meter/recorder.ts";
import { usageSeriesMax } from "../../domain/limits.ts";
import {
  isSameUsage,
  propertiesText,
  type UsageInput,
  type UsageRecord,
} from "../../domain/meter/usage_record.ts";

/** One request to record: all of its records, or none. */
export interface RecordRequest {
  /** SHA-256 of the API key, in hexadecimal. */
  readonly keyHash: string;
  readonly inputs: readonly UsageInput[];
  /** Size of the request's body, for the limit of the queue. */
  readonly bytes: number;
}

/** The outcome of a request that succeeded. */
export interface RecordedUsage {
  /** How many records existed already, by their idempotency keys. */
  readonly duplicates: number;
  /** @returns The record that an input became or repeats; built on demand. */
  readonly usageRecord: (index: number) => UsageRecord;
}

/** A request that waits for its commit. */
export interface PendingRequest extends RecordRequest {
  readonly organizationId: string;
  readonly resolve: (recorded: RecordedUsage) => void;
  readonly reject: (error: unknown) => void;
  /** See {@linkcode findRepeats}. */
  readonly repeats: Repeats | null;
  /** Milliseconds since 1970. */
  readonly queuedAt: number;
}

/** Inputs of one request with the same idempotency key. */
export interface Repeats {
  /** For each input: the index of the earlier input that it repeats, or its own. */
  readonly firsts: readonly number[];
  /** Inputs with an earlier input's idempotency key and other content. */
  readonly conflicts: readonly number[];
}

/** A group for the database, and where each request's records are in it. */
export type CommitGroup = ReturnType<typeof buildGroup>;

/** @returns The requests as one group. Two requests of one organization must not share an idempotency key. */
export function buildGroup(requests: readonly PendingRequest[], now: number) {
  const series: [keyHash: string, productSlug: string, metric: string][] = [];
  const seriesByKey = new Map<string, Map<string, number>>();
  const encoder = new RecordEncoder(now);
  const records: string[] = [];
  let keys = 0;
  const starts = requests.map(({ keyHash, inputs, repeats }, request) => {
    const start = records.length;
    const seriesOfKey = seriesByKey.get(keyHash) ?? new Map<string, number>();
    seriesByKey.set(keyHash, seriesOfKey);
    // A request that contradicts itself is only authenticated: only owners of a valid key learn of the conflict.
    if (repeats !== null && repeats.conflicts.length > 0) return start;
    for (const [index, input] of inputs.entries()) {
      if (repeats !== null && repeats.firsts[index] !== index) continue;
      const { productSlug, metric, timestamp, quantity, idempotencyKey } = input;
      // Slugs have no spaces.
      const name = `${productSlug} ${metric}`;
      let position = seriesOfKey.get(name);
      if (position === undefined) {
        position = series.push([keyHash, productSlug, metric]) - 1;
        seriesOfKey.set(name, position);
      }
      if (idempotencyKey !== null) keys++;
      records.push(encoder.encode({
        series: position,
        request,
        timestamp,
        quantity,
        idempotencyKey,
        properties: propertiesText(input.properties),
      }));
    }
    return start;
  });
  const sources = [...seriesByKey.keys()];
  const group: RecordGroup = { now, sources, series, records, keys, seriesMax: usageSeriesMax };
  return { group, /** The position of each request's first record. */ starts };
}

/** @returns Which inputs of a request repeat another one; null when none does. */
export function findRepeats(inputs: readonly UsageInput[]): Repeats | null {
  const firstByKey = new Map<string, number>();
  const conflicts: number[] = [];
  const firsts = inputs.map((input, index) => {
    if (input.idempotencyKey === null) return index;
    const first = firstByKey.get(input.idempotencyKey) ?? index;
    firstByKey.set(input.idempotencyKey, first);
    if (first !== index && !isSameUsage(inputs[first] ?? input, input)) conflicts.push(index);
    return first;
  });
  return firsts.every((first, index) => first === index) ? null : { firsts, conflicts };
}
