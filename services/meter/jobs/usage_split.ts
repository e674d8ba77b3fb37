// Which dimension a query by properties sums: of each metric, the smallest one with all of them.
import { type DimensionRow, findDimensions } from "../../../db/meter/dimension_list.ts";
import { countValueSeries, type UsageSplit } from "../../../db/meter/dimension_sums.ts";
import { usageNumbersOf } from "../../../db/meter/environments.ts";
import { isOfMetrics, type MeteredOrganization, type UsageFilter } from "../../../db/meter/usage_sums.ts";
import type { DatabaseReader } from "../../../db/engine/database.ts";
import { AppError } from "../../../domain/errors.ts";
import { usageOrganizationsPerReadMax } from "../../../domain/limits.ts";
import { dimensionsNamedMax } from "../../../domain/meter/dimension.ts";
import type { UsageWindow } from "../../../domain/meter/usage_window.ts";
import type { JobContext } from "../../reports/job_context.ts";

type SplitQuery = Pick<UsageFilter, "properties" | "productSlug" | "metric"> & {
  readonly groupByProperties?: readonly string[] | undefined;
  /** The JSON of the names of the only dimension to sum, for metrics whose values have prices. */
  readonly pricedNames?: ((row: DimensionRow) => string | undefined) | undefined;
};

export interface DeclaredSplit {
  readonly split: UsageSplit;
  /** The latest time from which a dimension has all usage, in milliseconds; null if all have all. */
  readonly completeSince: number | null;
}

/**
 * Finds the dimensions that a query sums; null without properties. Metrics without such a dimension aren't summed.
 *
 * @throws {AppError} `dimension_unknown` if no metric of the query has one, or none of a product or metric that it names; `amount_unknown`
 *   if the values of another dimension have prices.
 */
export async function findSplit(database: DatabaseReader, query: SplitQuery): Promise<DeclaredSplit | null> {
  const { properties: filters = {}, groupByProperties: groups = [], productSlug, metric } = query;
  const names = [...new Set([...groups, ...Object.keys(filters)])];
  if (names.length === 0) return null;
  const rows = (await findDimensions(database)).filter(isOfMetrics(query));
  const chosen = new Map<string, { row: DimensionRow; declared: string[] }>();
  for (const row of rows) {
    const declared: string[] = JSON.parse(row.names);
    const name = `${row.productSlug} ${row.metric}`;
    const isSmaller = declared.length < (chosen.get(name)?.declared.length ?? Infinity);
    if (isSmaller && names.every((one) => declared.includes(one))) chosen.set(name, { row, declared });
  }
  for (const [name, { row }] of chosen) {
    const priced = query.pricedNames?.(row);
    if (priced === undefined) continue;
    const declared: string[] = JSON.parse(priced);
    const found = rows.find((one) =>
      one.productSlug === row.productSlug && one.metric === row.metric && one.names === priced
    );
    if (found === undefined || !names.every((one) => declared.includes(one))) {
      throw unknownAmount(row, { names, declared });
    }
    chosen.set(name, { row: found, declared });
  }
  const found = [...chosen.values()];
  const isCovered = (wanted: readonly string[] = [], of: "productSlug" | "metric") =>
    wanted.every((slug) => found.some(({ row }) => row[of] === slug));
  const isOfNone = productSlug?.length === 0 || metric?.length === 0;
  if (
    (found.length === 0 && !isOfNone) || !isCovered(productSlug, "productSlug") ||
    !isCovered(metric, "metric")
  ) {
    throw unknownDimension(names, rows);
  }
  const times = found.flatMap(({ row }) => row.completeSince ?? []);
  return {
    split: {
      dimensions: found.map(({ row, declared }) => ({
        number: row.number,
        places: names.map((one) => declared.indexOf(one)),
      })),
      properties: names.map((name) => ({
        name,
        values: Object.hasOwn(filters, name) ? filters[name] : undefined,
        isGroup: groups.includes(name),
      })),
    },
    completeSince: times.length === 0 ? null : Math.max(...times),
  };
}

function unknownAmount(
  { productSlug, metric }: DimensionRow,
  { names, declared }: { names: readonly string[]; declared: readonly string[] },
): AppError {
  return new AppError(
    "amount_unknown",
    `“${metric}” of “${productSlug}” has prices by ${declared.join(" + ")}, so there are no amounts by ${
      names.join(" and ")
    }.`,
  );
}

function unknownDimension(names: readonly string[], rows: readonly DimensionRow[]): AppError {
  const existing = rows.slice(0, dimensionsNamedMax).map(({ productSlug, metric, names }) =>
    `${JSON.parse(names).join(" + ")} of ${productSlug}/${metric}`
  );
  return new AppError(
    "dimension_unknown",
    `Usage isn't summed by ${names.join(" and ")}. ` +
      (existing.length === 0
        ? "No metric of this query has dimensions."
        : `Dimensions: ${existing.join(", ")}${rows.length > existing.length ? ", and more" : ""}.`),
  );
}

/** Counts what to read of each organization, some organizations at a time. */
export async function readValueSeries(
  context: JobContext,
  { declared: { split }, organizations, range, filter }: {
    declared: DeclaredSplit;
    organizations: readonly MeteredOrganization[];
    range: { readonly windows: readonly UsageWindow[]; readonly from: number; readonly to: number };
    filter: UsageFilter;
  },
): Promise<{ organizations: MeteredOrganization[]; hasOverflow: boolean }> {
  const [start, end] = [range.from, range.to];
  const counted: MeteredOrganization[] = [];
  let hasOverflow = false;
  const stepMax = usageOrganizationsPerReadMax / 10;
  for (let at = 0; at < organizations.length; at += stepMax) {
    if (at > 0) await context.pause();
    const some = organizations.slice(at, at + stepMax).map(({ number }) => number);
    const numbers = some.flatMap((number) => usageNumbersOf(number, filter));
    const found = await countValueSeries(context.database, { split, numbers, range: { start, end } });
    counted.push(...[...found.series].map(([number, series]) => ({ number, series })));
    hasOverflow ||= found.hasOverflow;
  }
  return { organizations: counted.sort((a, b) => a.number - b.number), hasOverflow };
}

/** Returns the values of a sum by the names of its properties; undefined if sums aren't grouped by any. */
export function propertiesOf(
  { properties }: UsageSplit,
  values: string | null,
): Record<string, string> | undefined {
  const groups = properties.filter(({ isGroup }) => isGroup);
  if (groups.length === 0) return undefined;
  const list: string[] = JSON.parse(values ?? "[]");
  return Object.fromEntries(groups.map(({ name }, index) => [name, list[index] ?? ""]));
}
