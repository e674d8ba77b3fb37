// The SQL of the catalogue's list of how metrics are counted, and of filling what is stored for it from records before its declaration.
import { rollupQuarterMs, usageTimestampFutureMaxMs } from "../../domain/limits.ts";
import type { Aggregation, Counting } from "../../domain/meter/aggregation.ts";
import { type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";
import { addCounted } from "./counting.ts";
import { type FilledTable, firstUsage } from "./dimension_list.ts";
import { testTotalsNumber } from "./environments.ts";
import { allMonths, isOfMetrics, type UsageFilter } from "./usage_sums.ts";

const quarterMs = integer(rollupQuarterMs);

/** A metric that isn't counted by its sum. */
export interface AggregationRow {
  readonly number: number;
  readonly productSlug: string;
  readonly metric: string;
  readonly aggregation: Exclude<Aggregation, "sum">;
  /** Milliseconds since 1970: values of earlier windows are unknown; null if those of all windows are known. */
  readonly completeSince: number | null;
}

/** Returns those of the metrics of a query. */
export async function findAggregations(
  database: DatabaseReader,
  filter: Pick<UsageFilter, "productSlug" | "metric"> = {},
): Promise<AggregationRow[]> {
  const rows = await database.read<AggregationRow>(sql`
    SELECT number, product AS productSlug, metric, aggregation, complete_since AS completeSince
    FROM usage_aggregations WHERE removed_at IS NULL`);
  return rows.filter(isOfMetrics(filter));
}

type MetricCounting = Counting & { readonly slug: string };
type ListedCounting = Omit<MetricCounting, "aggregation"> & { readonly aggregation: Aggregation | "" };

const listOf = (metrics: readonly ListedCounting[]) =>
  sql`json_each(${
    JSON.stringify(
      metrics.map(({ slug, aggregation, uniqueProperty }) => [slug, aggregation, uniqueProperty]),
    )
  })`;

/** A condition: a metric was used in a month that is closed or being closed. */
const isBilled = (product: Statement, metric: Statement) =>
  sql`EXISTS (SELECT 1 FROM usage_series s CROSS JOIN ${allMonths} a
    CROSS JOIN usage_rollups_monthly r ON r.month = a.month AND r.organization = 0 AND r.series = s.id
    WHERE s.organization = 0 AND s.product_slug = ${product} AND s.metric = ${metric} AND s.api_key = 0
      AND r.last_quarter * ${quarterMs} >= (SELECT min(start_at) FROM statements)
      AND r.first_quarter * ${quarterMs} < (SELECT max(end_at) FROM statements))`;

/** Selects metrics of a product whose aggregation in closed statements, or those about to close, isn't that of a list. */
function fixedMetrics(productSlug: string, metrics: readonly ListedCounting[]): Statement {
  return sql`SELECT m.value ->> 0 AS metric, coalesce(g.aggregation, 'sum') AS aggregation
    FROM ${listOf(metrics)} m LEFT JOIN usage_aggregations g
      ON g.product = ${productSlug} AND g.metric = m.value ->> 0 AND g.removed_at IS NULL
    WHERE (coalesce(g.aggregation, 'sum') <> m.value ->> 1 OR g.property IS NOT m.value ->> 2)
      AND ${isBilled(sql`${productSlug}`, sql`(m.value ->> 0)`)}`;
}

/** A condition: no metric of a product has another aggregation in a list than in closed statements. */
export function keepsBilled(productSlug: string, metrics: readonly MetricCounting[]): Statement {
  return sql`NOT EXISTS (${fixedMetrics(productSlug, metrics)})`;
}

/** @param product Its metrics with their aggregations, or none, from which every one differs. */
export function findFixedMetrics(
  database: DatabaseReader,
  { slug, metrics }: {
    readonly slug: string;
    readonly metrics: readonly ListedCounting[];
  },
): Promise<{ metric: string; aggregation: Aggregation }[]> {
  return database.read(fixedMetrics(slug, metrics));
}

/** Replaces how the metrics of a product are counted. Metrics that leave the catalogue are counted as before if a closed statement has them. */
export function replaceAggregations(
  productSlug: string,
  metrics: readonly MetricCounting[],
  { now, if: condition }: { now: number; if: Statement },
): Statement[] {
  const wanted = listOf(metrics);
  return [
    sql`UPDATE usage_aggregations AS g SET removed_at = ${now} WHERE product = ${productSlug} AND removed_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM ${wanted} m WHERE m.value ->> 0 = g.metric AND m.value ->> 1 = g.aggregation
        AND m.value ->> 2 IS g.property)
      AND NOT ${isBilled(sql`${productSlug}`, sql`g.metric`)} AND ${condition}`,
    sql`INSERT INTO usage_aggregations (product, metric, aggregation, property, unfilled_seq, complete_since)
      SELECT ${productSlug}, m.value ->> 0, m.value ->> 1, m.value ->> 2, iif(m.isFilled, 0, c.seq),
        iif(m.isFilled, NULL, ${now} + ${integer(usageTimestampFutureMaxMs)})
      FROM (SELECT m.value, m.value ->> 1 NOT IN ('last', 'unique') OR NOT EXISTS (SELECT 1 FROM usage_series s
        WHERE s.organization IN (0, ${integer(testTotalsNumber)}) AND s.product_slug = ${productSlug}
          AND s.metric = m.value ->> 0) AS isFilled FROM ${wanted} m) m
      CROSS JOIN usage_cursor c ON c.only_row = 1
      WHERE m.value ->> 1 <> 'sum' AND ${condition} ON CONFLICT DO NOTHING`,
  ];
}

const unfilled =
  sql`EXISTS (SELECT 1 FROM usage_aggregations u WHERE u.removed_at IS NULL AND u.unfilled_seq > 0`;

/** A condition: records are missing in the stored values of a metric or in the sums of a dimension. */
export const hasUnfilled = sql`(${unfilled}) OR
  EXISTS (SELECT 1 FROM usage_dimensions WHERE removed_at IS NULL AND unfilled_seq > 0))`;

/** A condition: those of all metrics that were used before a time are complete. */
export const areFilledBefore = (time: number): Statement =>
  sql`NOT ${unfilled} AND ${firstUsage} * ${quarterMs} < ${time})`;

export const filledAggregations: FilledTable = {
  table: sql`usage_aggregations`,
  add: (number, added) => addCounted({ ...added, aggregation: sql`g.number = ${number}` }),
};
