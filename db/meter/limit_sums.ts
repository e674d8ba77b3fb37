// The SQL that sums a window of a limit. Minutes are read from records, longer windows from rollups.
import { limitMinuteRecordsMax } from "../../domain/limits.ts";
import { lowBits, type SumParts } from "../../domain/meter/quantity.ts";
import type { LimitPeriod } from "../../domain/meter/usage_limit.ts";
import type { UsageWindow } from "../../domain/meter/usage_window.ts";
import { type DatabaseReader, integer, joinSql, sql, type Statement } from "../engine/database.ts";
import { allMonths } from "./usage_sums.ts";
import { windowSums } from "./window_totals.ts";

/** Which usage of an organization a limit counts. */
export interface LimitScopeRow {
  /** The organization's number. */
  readonly organization: number;
  /** An empty text for all products. */
  readonly productSlug: string;
  /** An empty text for all metrics. */
  readonly metric: string;
  readonly per: LimitPeriod;
  /** The number of the first key of a lineage; null for all usage. */
  readonly lineage: number | null;
}

/** @param window Null for `total`. @returns What was used in a window. @throws {DatabaseError} */
export async function sumLimit(
  database: DatabaseReader,
  scope: LimitScopeRow,
  window: UsageWindow | null,
): Promise<SumParts> {
  const part = (name: Statement) => sql`CAST(coalesce(w.${name}, 0) AS TEXT) AS ${name}`;
  const row = await database.readFirst<SumParts>(sql`
    SELECT ${part(sql`high`)}, ${part(sql`low`)}, ${part(sql`micro`)} FROM (${limitSums(scope, window)}) w`);
  return row ?? { high: "0", low: "0", micro: "0" };
}

/**
 * @param window Null for `total`.
 * @returns A query for one row of high, low and micro: what an organization used of a limit in a window. They are null for a minute
 *   with too many records to add up.
 */
export function limitSums(
  { productSlug, metric, per, lineage, organization }: LimitScopeRow,
  window: UsageWindow | null,
): Statement {
  const conditions = [sql`e.organization = ${organization}`];
  if (productSlug !== "") conditions.push(sql`e.product_slug = ${productSlug}`);
  if (metric !== "") conditions.push(sql`e.metric = ${metric}`);
  if (lineage !== null) {
    conditions.push(sql`e.api_key IN (SELECT k.number FROM api_keys k WHERE k.lineage = ${lineage})`);
  }
  const series = joinSql(conditions, " AND ");
  const ofSeries = sql`r.organization = ${organization}${
    conditions.length === 1 ? sql`` : sql` AND r.series IN (SELECT e.id FROM usage_series e WHERE ${series})`
  }`;
  const parts = window === null
    ? sql`SELECT r.sum_high, r.sum_low, r.sum_micro FROM ${allMonths} m
      CROSS JOIN usage_rollups_monthly r ON r.month = m.month AND ${ofSeries}`
    : per === "minute"
    ? sql`SELECT r.quantity_whole >> ${integer(lowBits)} AS sum_high,
        r.quantity_whole & ${integer(2 ** lowBits - 1)} AS sum_low, r.quantity_micro AS sum_micro
      FROM usage_records r WHERE ${ofSeries} AND r.timestamp >= ${window.start} AND r.timestamp < ${window.end}
        AND NOT EXISTS (SELECT 1 FROM usage_voids v WHERE v.seq = r.seq)
      LIMIT ${integer(limitMinuteRecordsMax + 1)}`
    : windowSums(window, { months: ofSeries, series });
  const isShort = per === "minute" ? sql`count(*) <= ${integer(limitMinuteRecordsMax)}` : sql`true`;
  const sum = (part: Statement) => sql`iif(${isShort}, coalesce(sum(p.${part}), 0), NULL)`;
  return sql`SELECT ${sum(sql`sum_high`)} AS high, ${sum(sql`sum_low`)} AS low, ${
    sum(sql`sum_micro`)
  } AS micro
    FROM (${parts}) p`;
}
