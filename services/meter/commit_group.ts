// A group of requests whose records are committed together.
import {
  type GroupFacts,
  isVerified,
  RecordEncoder,
  type RecordGroup,
  type RecordVerification,
} from "../../db/meter/record_group.ts";
import type { KeyClient } from "./known_keys.ts";
import type { KnownSeries } from "./known_series.ts";
import type { VerifiableKey } from "../../db/meter/key_verification.ts";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
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
  readonly verification?: RecordVerification;
  /** Whose address must be one of the key's, if it has any. Without it, such a key is rejected. */
  readonly client?: KeyClient;
  /** See {@linkcode GroupRequest.asks}. */
  readonly asks?: boolean;
  readonly inputs: readonly UsageInput[];
  /** Size of the request's body, for the limit of the queue. */
  readonly bytes: number;
}

/** The outcome of a request that succeeded. */
export interface RecordedUsage {
  /** The number of records that existed already, by their idempotency keys. */
  readonly duplicates: number;
  /** Builds the record that an input became or repeats. */
  readonly usageRecord: (index: number) => UsageRecord;
  /** The key, if an operator verified it. */
  readonly key: VerifiableKey | null;
  /** The current windows of all limits on its products and metrics, without soft limits whose usage isn't known yet. */
  readonly limits: readonly LimitStanding[];
}

export interface GroupRequest {
  /** The hash of the API key, or another `targetOfKey`. For an operator: the id of the organization or key that each input is recorded for. */
  readonly target: string | readonly string[];
  /** True if it asks whether to serve what it records or holds: a cutoff limit denies it when nothing is left. Otherwise it was served. */
  readonly asks?: boolean | undefined;
  readonly inputs: readonly UsageInput[];
  /** See {@linkcode findRepeats}. */
  readonly repeats: Repeats | null;
  readonly resolve: (recorded: RecordedUsage) => void;
  readonly reject: (error: unknown) => void;
}

export function targetOf(target: GroupRequest["target"], index: number): string {
  return typeof target === "string" ? target : target[index] ?? "";
}

export interface PendingRequest extends GroupRequest {
  readonly keyHash: string;
  readonly target: string;
  readonly organizationId: string;
  readonly bytes: number;
  readonly queuedAt: number;
}

/** Inputs of one request with the same idempotency key. */
interface Repeats {
  /** For each input: the index of the earlier input that it repeats, or its own. */
  readonly firsts: readonly number[];
  /** Inputs with an earlier input's idempotency key and other content. */
  readonly conflicts: readonly number[];
}

/** A group for the database, and where each request's records are in it. */
export type CommitGroup = ReturnType<typeof buildGroup>;

export const noFacts: GroupFacts = {
  hasLimits: false,
  hasValueLimits: false,
  hasDimensions: false,
  hasHolds: false,
};

/**
 * Makes one group of requests. Two requests of one organization must not share an idempotency key.
 *
 * @param requests Any number with API keys, or one by an operator. @param options See {@linkcode RecordGroup}.
 */
export function buildGroup(
  requests: readonly GroupRequest[],
  { now, isCatalogueRequired = false, knownSeries, ...facts }: Partial<GroupFacts> & {
    now: number;
    isCatalogueRequired?: boolean;
    knownSeries?: KnownSeries;
  },
) {
  const series: [target: string, productSlug: string, metric: string][] = [];
  const seriesByTarget = new Map<string, Map<string, number>>();
  const seriesOf = (target: string) => {
    const found = seriesByTarget.get(target) ?? new Map<string, number>();
    seriesByTarget.set(target, found);
    return found;
  };
  const encoder = new RecordEncoder(now);
  const records: string[] = [];
  const questions: number[] = [];
  let idempotencyKeys = 0;
  let by: RecordGroup["by"] = "keys";
  const starts = requests.map(({ target, asks, inputs, repeats }, request) => {
    const start = records.length;
    if (asks) questions.push(request);
    let own = seriesOf(targetOf(target, 0));
    if (typeof target !== "string") {
      by = "operator";
      target.forEach(seriesOf);
    } else if (isVerified(target)) by = "verifiedKeys";
    // A request that contradicts itself is only authenticated: only owners of a valid key learn of the conflict.
    if (repeats !== null && repeats.conflicts.length > 0) return start;
    for (const [index, input] of inputs.entries()) {
      if (repeats !== null && repeats.firsts[index] !== index) continue;
      const { productSlug, metric, timestamp, quantity, idempotencyKey } = input;
      // Slugs have no spaces.
      const name = `${productSlug} ${metric}`;
      if (typeof target !== "string") own = seriesOf(targetOf(target, index));
      let position = own.get(name);
      if (position === undefined) {
        position = series.push([targetOf(target, index), productSlug, metric]) - 1;
        own.set(name, position);
      }
      if (idempotencyKey !== null) idempotencyKeys++;
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
  const targets = [...seriesByTarget.keys()];
  const group: RecordGroup = {
    now,
    by,
    targets,
    series,
    records,
    idempotencyKeys,
    questions,
    isCatalogueRequired,
    ...noFacts,
    ...facts,
    isSeriesKnown: series.length > 0 && knownSeries?.hasAll(series, now) === true,
  };
  return { group, /** The position of each request's first record. */ starts };
}

/** Finds inputs that repeat another one, or returns null. `organizationIds`: of each input, if they differ. */
export function findRepeats(
  inputs: readonly UsageInput[],
  organizationIds?: readonly string[],
): Repeats | null {
  const firstByKey = new Map<string, number>();
  const conflicts: number[] = [];
  const firsts = inputs.map((input, index) => {
    if (input.idempotencyKey === null) return index;
    const key = organizationIds === undefined
      ? input.idempotencyKey
      : `${organizationIds[index]} ${input.idempotencyKey}`;
    const first = firstByKey.get(key) ?? index;
    firstByKey.set(key, first);
    if (first !== index && !isSameUsage(inputs[first] ?? input, input)) conflicts.push(index);
    return first;
  });
  return firsts.every((first, index) => first === index) ? null : { firsts, conflicts };
}
