// The SQL of limit counters outside of recording: the sums of their windows, and what they lack of them. Minutes are read from
// records, longer windows from rollups.
//
// A counter is unknown while it lacks what was recorded before it was opened. Recording and voiding change a window's usage and its
// counter by the same amount, so their difference is the same at any moment: one statement reads both, nothing is locked, and the
// difference can be added later.
import { limitMinuteRecordsMax } from "../../domain/limits.ts";
import { lowBits, type SumParts } from "../../domain/meter/quantity.ts";
import type { UsageWindow } from "../../domain/meter/usage_window.ts";
import {
  bind,
  type Database,
  type DatabaseReader,
  integer,
  joinSql,
  sql,
  type Statement,
} from "../engine/database.ts";
import { noteLimits } from "./limit_notices.ts";
import type { LimitCell } from "./recorder_limits.ts";
import { isAccount, takeFromGrants } from "./usage_grants.ts";
import type { LimitScopeRow } from "./usage_limits.ts";
import { allMonths } from "./usage_sums.ts";
import { windowSums } from "./window_totals.ts";

/** Adds up the usage of a limit in a window, which is null for `total`. */
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

/** Selects high, low and micro of the usage in a window (null for `total`); null for a minute with too many records. */
function limitSums(
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

export interface MissingSums
  extends SumParts, Pick<LimitCell, "usageLimit" | "organization" | "windowNumber" | "at" | "openedSeq"> {}

/** Finds the usage that a counter lacks; none if it is known, or was deleted or opened again meanwhile. */
export function findMissingSums(
  database: DatabaseReader,
  cell: LimitCell,
  window: UsageWindow | null,
): Promise<MissingSums | undefined> {
  return database.readFirst(sql`
    SELECT c.usage_limit AS usageLimit, c.organization, c.window_number AS windowNumber,
      CAST(${cell.at} AS INTEGER) AS at, c.opened_seq AS openedSeq,
      CAST(coalesce(w.high - c.sum_high, 0) AS TEXT) AS high,
      CAST(coalesce(w.low - c.sum_low, 0) AS TEXT) AS low,
      CAST(coalesce(w.micro - c.sum_micro, 0) AS TEXT) AS micro
    FROM usage_limit_counters c CROSS JOIN (${limitSums(cell, window)}) w
    WHERE c.usage_limit = ${cell.usageLimit} AND c.organization = ${cell.organization}
      AND c.window_number = ${cell.windowNumber} AND c.is_known = 0 AND c.opened_seq = ${cell.openedSeq}`);
}

/**
 * Adds what counters lack, unless they are known or were opened again meanwhile. Where something was recorded since they were opened,
 * the limits that it has nearly or completely used are noted, and grants cover what the limits have no room for. They do so, too, where a
 * grant was given since.
 */
export async function addMissingSums(
  database: Pick<Database, "write">,
  missing: readonly MissingSums[],
  now: number,
): Promise<void> {
  const part = (name: string) => sql`CAST(e.value ->> ${name} AS INTEGER)`;
  const from = sql`json_each(${JSON.stringify(missing)}) e`;
  const isUnknown =
    sql`c.usage_limit = e.value ->> 'usageLimit' AND c.organization = e.value ->> 'organization'
      AND c.window_number = e.value ->> 'windowNumber' AND c.opened_seq = e.value ->> 'openedSeq'
      AND c.is_known = 0`;
  await database.write([
    sql`INSERT OR IGNORE INTO usage_limit_added (usage_limit, organization, window_number, at, sum_high, sum_low, sum_micro)
    SELECT c.usage_limit, c.organization, c.window_number, ${part("at")}, c.sum_high, c.sum_low, c.sum_micro
    FROM ${from} CROSS JOIN usage_limit_counters c ON ${isUnknown}
    CROSS JOIN usage_limits l ON l.number = c.usage_limit
    WHERE c.sum_high + c.sum_low + c.sum_micro > 0 OR EXISTS (SELECT 1 FROM usage_grant_accounts t
      WHERE t.mark_opened IS NOT NULL AND ${isAccount(sql`c.organization`)})`,
    sql`UPDATE usage_limit_counters AS c SET sum_high = c.sum_high + ${part("high")},
      sum_low = c.sum_low + ${part("low")}, sum_micro = c.sum_micro + ${part("micro")}, is_known = 1
    FROM ${from} WHERE ${isUnknown}`,
    // A grant was given while the counter was unknown: what it lacked was used before.
    sql`UPDATE usage_grant_accounts AS t SET mark_opened = NULL,
      mark_whole = iif(t.mark_opened = c.opened_seq, t.mark_whole + ${part("high")} * ${integer(2 ** lowBits)}
        + ${part("low")}, c.sum_high * ${integer(2 ** lowBits)} + c.sum_low),
      mark_micro = iif(t.mark_opened = c.opened_seq, t.mark_micro + ${part("micro")}, c.sum_micro)
    FROM ${from} CROSS JOIN usage_limit_added a ON a.usage_limit = e.value ->> 'usageLimit'
        AND a.organization = e.value ->> 'organization' AND a.window_number = e.value ->> 'windowNumber'
      CROSS JOIN usage_limits l ON l.number = a.usage_limit
      CROSS JOIN usage_limit_counters c ON c.usage_limit = a.usage_limit AND c.organization = a.organization
        AND c.window_number = a.window_number
    WHERE t.mark_opened IS NOT NULL AND ${isAccount(sql`a.organization`)}`,
    ...noteLimits(now),
    // Grants have covered what was recorded since, and now cover what the limit has no room for.
    sql`UPDATE usage_limit_added SET sum_high = 0, sum_low = 0, sum_micro = 0`,
    bind(takeFromGrants, 1, null, now),
    sql`DELETE FROM usage_limit_added`,
  ], { bypassesQueueLimit: true });
}
