// What usage counts for where a metric isn't the sum of its quantities: see decision 93.
import type { AggregationRow } from "../../../db/meter/aggregation_list.ts";
import {
  type CountedQuery,
  countUnique,
  findCappedMonths,
  findLatest,
  type LatestRow,
  type PositionedWindow,
} from "../../../db/meter/counting_values.ts";
import type { UsageSplit } from "../../../db/meter/dimension_sums.ts";
import {
  type MeteredOrganization,
  type RollupQuery,
  type RollupSumRow,
  sumRollups,
  type UsageGroup,
} from "../../../db/meter/usage_sums.ts";
import { unknownMaximum } from "../../../db/meter/usage_voids.ts";
import { type Aggregation, mixed } from "../../../domain/meter/aggregation.ts";
import { rollupNumber, rollupUnits } from "../../../domain/meter/rollup_unit.ts";
import type { JobContext } from "../../reports/job_context.ts";
import { type UsageStep, usageSteps } from "./usage_steps.ts";

/** The value of the usage of one window and group. */
export interface UsageValue {
  /** `mixed` if products are counted differently. */
  readonly aggregation: Aggregation | typeof mixed;
  /** In millionths: what each has, added up. */
  readonly micros: bigint;
  /** False if a part of it is unknown. */
  readonly isKnown: boolean;
  /** True if distinct values beyond the maximum aren't in it. */
  readonly isCapped: boolean;
}

export interface ValueQuery extends Pick<CountedQuery, "aggregations" | "windows" | "filter"> {
  readonly organizations: readonly MeteredOrganization[];
  readonly groupBy: readonly UsageGroup[];
  readonly split?: UsageSplit | undefined;
}

type Named = Pick<
  RollupSumRow,
  "position" | "organization" | "productSlug" | "metric" | "apiKey" | "values"
>;

/** Names a window and group. No part of the name but the last has a space in it. */
export function nameOfSum(
  { position, organization, productSlug, metric, apiKey, values }: Readonly<
    Record<keyof Named, string | number | null>
  >,
): string {
  return `${position} ${organization} ${productSlug} ${metric} ${apiKey} ${values}`;
}

/** Names the sum of a query that a row is a part of. */
export function nameIn({ groupBy }: Pick<ValueQuery, "groupBy">, row: Named): string {
  const by = (group: UsageGroup) => groupBy.includes(group) ? row[group] : null;
  return nameOfSum({
    ...{ position: row.position, values: row.values },
    ...{ organization: by("organization"), productSlug: by("productSlug") },
    ...{ metric: by("metric"), apiKey: by("apiKey") },
  });
}

/** Usage of a product and metric with one key. */
interface Part extends RollupSumRow {
  latest?: LatestRow;
}

interface Value {
  readonly aggregations: Set<Aggregation>;
  micros: bigint;
  isKnown: boolean;
  isCapped: boolean;
}

/**
 * Reads values in steps: of metrics that aren't sums in any product, all products.
 *
 * @returns A function that returns the value of a sum; undefined if its metric is a sum.
 */
export async function readValues(
  context: JobContext,
  query: ValueQuery,
): Promise<(sum: Named) => UsageValue | undefined> {
  const { aggregations, filter, windows, organizations, split } = query;
  if (aggregations.length === 0) return () => undefined;
  const values = new Values(query);
  const metrics = [...new Set(aggregations.map(({ metric }) => metric))];
  const isByKey = query.groupBy.includes("apiKey");
  // A key and those that replaced it are one, unless each is asked for.
  const mergeRotations = filter.mergeRotations || !isByKey;
  const partFilter = { ...filter, mergeRotations, namesLineages: filter.mergeRotations ?? false };
  const partGroups: UsageGroup[] = ["organization", "productSlug", "metric", "apiKey"];
  const isOf = (aggregation: Aggregation) => (one: AggregationRow) => one.aggregation === aggregation;
  const [latest, unique] = [aggregations.filter(isOf("last")), aggregations.filter(isOf("unique"))];
  let parts = new Map<string, Part>();
  let positions = new Set<number>();
  for (
    const step of usageSteps(windows, { organizations, groupBy: partGroups, isSplit: split !== undefined })
  ) {
    await context.pause();
    const part = { ...partFilter, metric: metrics, groupBy: partGroups, split, step };
    await addStep(context, part, parts);
    for (const { position } of step.pieces) positions.add(position);
    if (!step.isComplete) continue;
    const counted: CountedQuery = {
      aggregations: latest,
      windows: windows.filter(({ position }) => positions.has(position)),
      organizations: step.organizations,
      filter: partFilter,
      keys: mergeRotations ? "lineages" : "each",
    };
    if (latest.length > 0 && split === undefined) {
      for (const row of await findLatest(context.database, counted)) addLatest(parts, row);
    }
    for (const part of parts.values()) values.add(part);
    if (unique.length > 0 && split === undefined) {
      await addUnique(context, values, {
        ...counted,
        aggregations: unique,
        keys: isByKey ? counted.keys : "none",
      });
    }
    [parts, positions] = [new Map(), new Set()];
  }
  return (sum) => values.valueOf(sum);
}

/** Adds the rollups of a step to sums by {@linkcode nameOfSum}. */
export async function addStep(
  { database }: JobContext,
  { step, ...query }: Omit<RollupQuery, "pieces" | "organizations"> & { readonly step: UsageStep },
  sums: Map<string, RollupSumRow>,
): Promise<void> {
  const { organizations } = step;
  for (const unit of rollupUnits) {
    const pieces = step.pieces.filter((piece) => piece.unit === unit);
    if (pieces.length === 0) continue;
    for (const row of await sumRollups(database, { ...query, organizations, pieces })) {
      const name = nameOfSum(row);
      const sum = sums.get(name);
      sums.set(
        name,
        sum === undefined ? row : {
          ...row,
          micros: sum.micros + row.micros,
          count: sum.count + row.count,
          min: row.min < sum.min ? row.min : sum.min,
          max: row.max > sum.max ? row.max : sum.max,
        },
      );
    }
  }
}

function addLatest(parts: Map<string, Part>, row: LatestRow): void {
  const part = parts.get(nameOfSum({ ...row, values: null }));
  if (part === undefined) return;
  const { timestamp = -1, seq = -1 } = part.latest ?? {};
  if (row.timestamp > timestamp || (row.timestamp === timestamp && row.seq > seq)) part.latest = row;
}

/** Windows whose distinct values are counted with one statement. */
const uniqueWindowsMax = 8;

async function addUnique(context: JobContext, values: Values, query: CountedQuery): Promise<void> {
  for (let at = 0; at < query.windows.length; at += uniqueWindowsMax) {
    const windows = query.windows.slice(at, at + uniqueWindowsMax);
    for (const row of await countUnique(context.database, { ...query, windows })) {
      values.addUnique({ ...row, values: null }, row.values);
    }
    await context.pause();
  }
  for (const { organization, aggregation, month } of await findCappedMonths(context.database, query)) {
    values.cap({ organization, aggregation, month }, query.windows);
  }
}

class Values {
  readonly #query: ValueQuery;
  readonly #kinds: ReadonlyMap<string, AggregationRow>;
  readonly #starts: ReadonlyMap<number, number>;
  readonly #values = new Map<string, Value>();
  /** The values that distinct ones of an organization are a part of, by aggregation, organization and window. */
  readonly #unique = new Map<string, Set<Value>>();

  constructor(query: ValueQuery) {
    this.#query = query;
    this.#kinds = new Map(query.aggregations.map((one) => [`${one.productSlug} ${one.metric}`, one]));
    this.#starts = new Map(query.windows.map(({ position, start }) => [position, start]));
  }

  #of(part: Named): { value: Value; kind: AggregationRow | undefined } {
    const name = nameIn(this.#query, part);
    const value = this.#values.get(name) ??
      { aggregations: new Set(), micros: 0n, isKnown: true, isCapped: false };
    this.#values.set(name, value);
    return { value, kind: this.#kinds.get(`${part.productSlug} ${part.metric}`) };
  }

  add(part: Part): void {
    const { value, kind } = this.#of(part);
    const aggregation = kind?.aggregation ?? "sum";
    value.aggregations.add(aggregation);
    if (aggregation === "sum") value.micros += part.micros;
    else if (aggregation === "count") value.micros += BigInt(part.count) * 1_000_000n;
    else if (aggregation === "max") {
      if (part.max === unknownMaximum) value.isKnown = false;
      else value.micros += part.max;
    } else {
      const start = this.#starts.get(part.position) ?? 0;
      const isComplete = this.#query.split === undefined && start >= (kind?.completeSince ?? -Infinity);
      value.isKnown &&= isComplete &&
        (aggregation !== "last" || (part.latest !== undefined && part.latest.seq > 0));
      if (aggregation === "last") value.micros += part.latest?.micros ?? 0n;
      else if (kind !== undefined) this.#uniqueOf(kind.number, part).add(value);
    }
  }

  #uniqueOf(
    aggregation: number,
    { organization, position }: Pick<Named, "organization" | "position">,
  ): Set<Value> {
    const name = `${aggregation} ${organization} ${position}`;
    const found = this.#unique.get(name) ?? new Set<Value>();
    this.#unique.set(name, found);
    return found;
  }

  addUnique(part: Named, values: number): void {
    this.#of(part).value.micros += BigInt(values) * 1_000_000n;
  }

  /** Marks the windows that a month of an organization overlaps. */
  cap(
    { organization, aggregation, month }: { organization: number; aggregation: number; month: number },
    windows: readonly PositionedWindow[],
  ): void {
    for (const { position, start, end } of windows) {
      if (rollupNumber("month", start) > month || rollupNumber("month", end - 1) < month) continue;
      for (const value of this.#uniqueOf(aggregation, { organization, position })) value.isCapped = true;
    }
  }

  /** Returns the value of a sum, also without records in the steps, such as that of deleted organizations. */
  valueOf(sum: Named): UsageValue | undefined {
    const { aggregations, ...value } = this.#values.get(nameOfSum(sum)) ?? {
      aggregations: new Set(
        this.#query.aggregations.filter((one) =>
          (sum.metric === null || one.metric === sum.metric) &&
          (sum.productSlug === null || one.productSlug === sum.productSlug)
        ).map(({ aggregation }) => aggregation),
      ),
      ...{ micros: 0n, isKnown: true, isCapped: false },
    };
    const [only, more] = aggregations;
    return only && { ...value, aggregation: more === undefined ? only : mixed };
  }
}
