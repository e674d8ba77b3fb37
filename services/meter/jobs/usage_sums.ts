// Sums of usage by window and group, added up from rollups by the reports thread.
import { findCurrentKeys } from "../../../db/access/mod.ts";
import {
  countSeries,
  findMeteredOrganizations,
  findOrganizationNames,
  findUsageExtent,
  type MeteredOrganization,
  type OrganizationNames,
  type RollupSumRow,
  type UsageFilter,
  type UsageGroup,
} from "../../../db/meter/usage_sums.ts";
import { findAggregations } from "../../../db/meter/aggregation_list.ts";
import { unknownMaximum, unknownMinimum } from "../../../db/meter/usage_voids.ts";
import { AppError } from "../../../domain/errors.ts";
import { usageOrganizationsPerReadMax, usageSumRowsMax } from "../../../domain/limits.ts";
import { type UsageRange, usageRange, type UsageRangeInput } from "../../../domain/meter/usage_window.ts";
import { isoTimeIn } from "../../../domain/time.ts";
import type { JobContext, JobScope, JobTime } from "../../reports/job_context.ts";
import { type AmountQuery, Prices, readAmounts } from "./usage_amounts.ts";
import { findSplit, propertiesOf, readValueSeries } from "./usage_split.ts";
import { usageSteps } from "./usage_steps.ts";
import { addStep, readValues, type UsageValue } from "./usage_values.ts";

/** Lineages of keys whose current key one step looks up. */
const lineagesPerReadMax = 500;

/** Selects one organization's usage or, for operators, that of several organizations, optionally only those with a plan. */
export type UsageScope =
  | JobScope
  | JobTime & {
    readonly organizationIds: readonly string[] | undefined;
    readonly planId?: string | undefined;
  };

/** True for all organizations together, also deleted ones. */
export function isOfAll(scope: UsageScope): boolean {
  return !("organizationId" in scope) && scope.organizationIds === undefined && scope.planId === undefined;
}

export interface UsageQuery extends UsageRangeInput, UsageFilter {
  readonly groupBy?: readonly UsageGroup[] | undefined;
  /** The names of properties to group by. */
  readonly groupByProperties?: readonly string[] | undefined;
  readonly include?: readonly "amount"[] | undefined;
}

/** Exact usage of one window and group: integers in millionths. */
export interface UsageSum {
  /** Index of the window in the range. */
  readonly position: number;
  /** The window's first moment and the first one after it: ISO 8601 in the range's time zone. */
  readonly start: string;
  readonly end: string;
  /** The names of the organization, if grouped by it; like the other groups. */
  readonly organizationId?: string | undefined;
  readonly organizationName?: string | undefined;
  readonly externalId?: string | null | undefined;
  readonly productSlug?: string | undefined;
  readonly metric?: string | undefined;
  /** The key's id, or that of the current key of its lineage if rotations are merged. Null for usage without a key. */
  readonly apiKey?: string | null | undefined;
  readonly apiKeyName?: string | null | undefined;
  /** The values of the properties, if grouped by any. */
  readonly properties?: Readonly<Record<string, string>> | undefined;
  /** The value by `aggregation`. */
  readonly micros: bigint;
  readonly aggregation: UsageValue["aggregation"];
  /** False if a part of `micros` is unknown. */
  readonly isKnown: boolean;
  /** True if `micros` lacks distinct values beyond the maximum. */
  readonly isCapped: boolean;
  /** The sum of the quantities. */
  readonly sumMicros: bigint;
  readonly count: number;
  /** In 10^-18, if amounts are included; null without a price, and if it is unknown. */
  readonly amount?: bigint | null | undefined;
  /** Null when unknown: a record was voided after retention had deleted others of its 15 minutes. */
  readonly minMicros: bigint | null;
  readonly maxMicros: bigint | null;
}

/** Starts adding up usage. @returns Sums that are produced while they are read. @throws {AppError} As {@linkcode usageRange}. */
export async function streamUsageSums(context: JobContext, input: UsageScope & UsageQuery) {
  const range = usageRange(input, input.now);
  const { productSlug, metric, apiKey, environment, mergeRotations, groupBy = [] } = input;
  const filter = { productSlug, metric, apiKey, environment, mergeRotations };
  const prices = input.include?.includes("amount") ? await Prices.read(context.database, filter) : undefined;
  const declared = await findSplit(context.database, {
    ...input,
    pricedNames: prices && ((row) => prices.listOf(row)?.names),
  });
  const found = await findOrganizations(context, { ...input, isSplit: declared !== null });
  const values = declared &&
    await readValueSeries(context, { declared, organizations: found, range, filter });
  const organizations = values?.organizations ?? found;
  const series = organizations.reduce((sum, { series }) => sum + series, 0);
  const aggregations = await findAggregations(context.database, filter);
  // Only organizations have values of their own: the totals of all have sums.
  const isCounted = aggregations.length > 0 || (prices?.lists.size ?? 0) > 0;
  const counted = isCounted && organizations.some(({ number }) => number === 0)
    ? await findEach(context, { ids: null, planId: undefined })
    : organizations;
  return {
    range,
    /** For sums by properties: true if some values count as `(other)`, and the time from which they include all usage. */
    split: values && { overflow: values.hasOverflow, completeSince: declared?.completeSince ?? null },
    /** True if a metric of the query has another aggregation than `sum`. */
    hasValues: aggregations.length > 0,
    /** An upper bound of the number of sums. */
    sumsMax: range.windows.length * (groupBy.length === 0 && declared === null ? 1 : series),
    /** Adds up some windows at a time, from the first on with each call. */
    batches: () =>
      addUp(context, {
        ...{ organizations, filter, groupBy, split: declared?.split, range, now: input.now },
        ...{ aggregations, counted, prices },
      }),
  };
}

/** Finds the organizations whose series to read. Sums of all organizations that don't tell them apart come from the totals. */
async function findOrganizations(
  context: JobContext,
  input: UsageScope & UsageQuery & { readonly isSplit: boolean },
): Promise<MeteredOrganization[]> {
  const { groupBy = [], apiKey, isSplit } = input;
  const { ids, planId } = "organizationId" in input
    ? { ids: [input.organizationId], planId: undefined }
    : { ids: input.organizationIds ?? null, planId: input.planId };
  const isByCustomer = groupBy.includes("organization") || groupBy.includes("apiKey");
  const isTotal = isOfAll(input) && apiKey === undefined && !isByCustomer && !isSplit;
  const found = isTotal ? [{ number: 0, series: 0 }] : await findEach(context, { ids, planId });
  const [only] = found;
  if (found.length !== 1 || only === undefined) return found;
  return [{
    ...only,
    series: await countSeries(context.database, { ...input, organizations: [only.number] }),
  }];
}

/** Finds organizations with usage. @param which As `findMeteredOrganizations`. */
async function findEach(
  context: JobContext,
  which: { readonly ids: readonly string[] | null; readonly planId: string | undefined },
): Promise<MeteredOrganization[]> {
  const found: MeteredOrganization[] = [];
  const limit = usageOrganizationsPerReadMax;
  for (let after = 0, length = limit; length === limit; after = found.at(-1)?.number ?? 0) {
    if (after > 0) await context.pause();
    const page = await findMeteredOrganizations(context.database, { ...which, after, limit });
    found.push(...page);
    length = page.length;
  }
  return found;
}

/** Returns all sums, by window, then group. @throws {AppError} As {@linkcode usageRange}; `range_too_long` above 100,000. */
export async function readUsageSums(
  context: JobContext,
  input: UsageScope & UsageQuery,
): Promise<{ range: UsageRange; data: UsageSum[] }> {
  const { range, batches } = await streamUsageSums(context, input);
  const data: UsageSum[] = [];
  for await (const batch of batches()) {
    data.push(...batch);
    if (data.length > usageSumRowsMax) throw tooManySumsError();
  }
  return { range, data };
}

/** Returns the error for more sums than one response may have. */
export function tooManySumsError(): AppError {
  return new AppError(
    "range_too_long",
    `This query returns more than ${usageSumRowsMax} sums. Request fewer windows, or filter by product or metric.`,
  );
}

interface Adding extends Omit<AmountQuery, "windows" | "range" | "prices"> {
  readonly range: UsageRange;
  readonly now: number;
  /** If amounts are included. */
  readonly prices: Prices | undefined;
}

/**
 * Adds up in steps of some milliseconds, because there may be years of many series.
 *
 * @returns Sums by window, then by organization if they are grouped by it, then by the other groups. Each is built when it is
 *   read, so that not all are in memory together.
 */
async function* addUp(context: JobContext, adding: Adding): AsyncGenerator<Iterable<UsageSum>> {
  const { organizations, groupBy, range, split } = adding;
  const numbers = organizations.map(({ number }) => number);
  const extent = await findUsageExtent(context.database, numbers, adding.filter);
  const windows = range.windows.map(({ start, end }, position) => ({
    position,
    start: Math.max(start, extent.start),
    end: Math.min(end, extent.end),
  })).filter(({ start, end }) => start < end);
  const isByOrganization = groupBy.includes("organization");
  const toKeys = adding.filter.mergeRotations ? mergedKeys(context, adding) : null;
  let merged = new Map<string, RollupSumRow>();
  let isFirst = true;
  for (const step of usageSteps(windows, { organizations, groupBy, isSplit: split !== undefined })) {
    if (!isFirst) await context.pause();
    isFirst = false;
    await addStep(context, { ...adding.filter, groupBy, split, step }, merged);
    if (!step.isComplete) continue;
    const names = isByOrganization
      ? await findOrganizationNames(context.database, step.organizations)
      : new Map<number, OrganizationNames>();
    const numbersOfStep = new Set(step.organizations);
    const inStep = (all: readonly MeteredOrganization[]) =>
      isByOrganization ? all.filter(({ number }) => numbersOfStep.has(number)) : all;
    const valued = await withValues(context, {
      ...adding,
      windows,
      counted: inStep(adding.counted),
      organizations: inStep(organizations),
    }, [...merged.values()]);
    const sums = toKeys === null ? valued : await toKeys(valued);
    yield toUsageSums(sums.sort(inOrder(groupBy)), { range, groupBy, split, names });
    merged = new Map();
  }
}

type ValuedRow = RollupSumRow & {
  /** If its metric isn't a sum. */
  readonly value?: UsageValue | undefined;
  readonly amount?: bigint | null | undefined;
};

async function withValues(
  context: JobContext,
  { range: { from: start, to: end }, prices, ...adding }: Adding & Pick<AmountQuery, "windows">,
  rows: ValuedRow[],
): Promise<ValuedRow[]> {
  const positions = new Set(rows.map(({ position }) => position));
  const query = { ...adding, windows: adding.windows.filter(({ position }) => positions.has(position)) };
  const valueOf = await readValues(context, { ...query, organizations: query.counted });
  if (prices === undefined) return rows.map((row) => ({ ...row, value: valueOf(row) }));
  const amountOf = await readAmounts(context, { ...query, prices, range: { start, end } });
  return rows.map((row) => ({ ...row, value: valueOf(row), amount: amountOf(row) }));
}

/** Returns a function that names the current keys of sums by lineage. */
function mergedKeys(context: JobContext, { now }: Adding) {
  const known = new Map<string, { id: string; name: string }>();
  return async (sums: readonly ValuedRow[]): Promise<ValuedRow[]> => {
    const lineages = new Set(sums.map(({ apiKey }) => apiKey).filter((lineage) => lineage !== null));
    const unknown = [...lineages].filter((lineage) => !known.has(lineage));
    for (let at = 0; at < unknown.length; at += lineagesPerReadMax) {
      if (at > 0) await context.pause();
      const some = unknown.slice(at, at + lineagesPerReadMax);
      for (const [lineage, key] of await findCurrentKeys(context.database, { lineages: some, now })) {
        known.set(lineage, key);
      }
    }
    return sums.map((sum) => {
      const key = sum.apiKey === null ? undefined : known.get(sum.apiKey);
      return key === undefined ? sum : { ...sum, apiKey: key.id, apiKeyName: key.name };
    });
  };
}

/** By window, then by organization, whose sums are complete before those of others, then by the names of the other groups. */
function inOrder(groupBy: readonly UsageGroup[]) {
  const names = groupBy.filter((group) => group !== "organization");
  return (a: RollupSumRow, b: RollupSumRow): number => {
    if (a.position !== b.position) return a.position - b.position;
    const [number, otherNumber] = [a.organization ?? 0, b.organization ?? 0];
    if (number !== otherNumber) return number - otherNumber;
    for (const group of names) {
      const [name, other] = [a[group] ?? "", b[group] ?? ""];
      if (name !== other) return name < other ? -1 : 1;
    }
    const [values, others] = [a.values ?? "", b.values ?? ""];
    return values === others ? 0 : values < others ? -1 : 1;
  };
}

function* toUsageSums(
  sums: readonly ValuedRow[],
  { range, groupBy, split, names }: Pick<Adding, "range" | "groupBy" | "split"> & {
    names: ReadonlyMap<number, OrganizationNames>;
  },
): Generator<UsageSum> {
  const isByKey = groupBy.includes("apiKey");
  let window = { position: -1, start: "", end: "" };
  for (
    const { position, organization, productSlug, metric, apiKey, apiKeyName, values, value, amount, ...sum }
      of sums
  ) {
    if (position !== window.position) {
      const { start, end } = range.windows[position] ?? { start: range.from, end: range.to };
      const [first, after] = [start, end].map((ms) => isoTimeIn(ms, range.timezone));
      window = { position, start: first ?? "", end: after ?? "" };
    }
    yield {
      ...window,
      ...names.get(organization ?? 0),
      productSlug: productSlug ?? undefined,
      metric: metric ?? undefined,
      apiKey: isByKey ? apiKey : undefined,
      apiKeyName: isByKey ? apiKeyName : undefined,
      properties: split === undefined ? undefined : propertiesOf(split, values),
      micros: value?.micros ?? sum.micros,
      aggregation: value?.aggregation ?? "sum",
      isKnown: value?.isKnown ?? true,
      isCapped: value?.isCapped ?? false,
      sumMicros: sum.micros,
      count: sum.count,
      amount,
      minMicros: sum.min === unknownMinimum ? null : sum.min,
      maxMicros: sum.max === unknownMaximum ? null : sum.max,
    };
  }
}
