// The SQL of where limits stand.
import { microsToNumber, sumMicros, type SumParts } from "../../domain/meter/quantity.ts";
import type { GrantBalance } from "../../domain/meter/usage_grant.ts";
import type { LimitMode, UsageLimit } from "../../domain/meter/usage_limit.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { ofWindow, parseHeld, selectHeld } from "./hold_counts.ts";
import { parseReserved, selectReserved } from "./reserved_room.ts";
import { parseBalance, raisedQuantity, selectBalance } from "./usage_grants.ts";
import { countedSeq, isApplied, isComplete, type LimitScopeRow, windowAt } from "./usage_limits.ts";

interface LimitQuery {
  readonly organizationId: string;
  /** A key of the organization, whose budget applies too. */
  readonly apiKeyId?: string | undefined;
  /** Only limits that count this product and metric. */
  readonly series?: { readonly productSlug: string; readonly metric: string } | undefined;
  readonly now: number;
}

/** A limit and the counter of its current window. */
export interface LimitStandingRow extends LimitScopeRow {
  readonly limitId: string;
  readonly mode: LimitMode;
  readonly quantity: SumParts;
  readonly timezone: string;
  /** Null if a counter lacks usage of the window, or is missing although there may be usage. */
  readonly used: SumParts | null;
  readonly held: SumParts;
  /** See `LimitUsage`: millionths as a text. Null if a window whose holds need grants lacks usage. */
  readonly reserved: string | null;
  /** The balance of grants, if the limit has grants and they were asked for. */
  readonly grants?: GrantBalance;
}

export interface StandingColumns
  extends LimitScopeRow, SumParts, Pick<LimitStandingRow, "limitId" | "mode" | "timezone"> {
  readonly quantityLow: string;
  readonly quantityMicro: string;
  /** For {@linkcode parseBalance}; only if asked for. */
  readonly grants?: string | null;
  /** JSON for {@linkcode parseHeld}. */
  readonly held: string;
  /** For {@linkcode parseReserved}. */
  readonly reserved: string | null;
  /** 1: the sums have all usage of the window. */
  readonly isKnown: 0 | 1;
}

/**
 * @param parts `from`: has the organizations `o`. `applied`: see `isApplied`. `now`: an integer.
 * @returns A query for {@linkcode StandingColumns}, the limits of the organization before those of the key.
 */
export const selectStandings = (
  { columns = sql``, from, applied, now, condition = sql`true` }: {
    columns?: Statement;
    from: Statement;
    applied: Statement;
    now: Statement;
    condition?: Statement;
  },
): Statement => {
  const window = windowAt(now);
  const raised = raisedQuantity(sql`o.number`, now, window);
  const sum = (column: Statement) => sql`CAST(coalesce(n.${column}, 0) AS TEXT)`;
  return sql`
    SELECT ${columns} l.id AS limitId, o.number AS organization, l.product_slug AS productSlug, l.metric, l.per,
      coalesce(l.lineage, l.alert_lineage) AS lineage, l.mode, CAST(${raised.whole} AS TEXT) AS quantityLow,
      CAST(${raised.micro} AS TEXT) AS quantityMicro, o.timezone,
      coalesce(n.is_known, ${isComplete(window)}) AS isKnown, ${selectHeld(ofWindow(window), now)} AS held,
      ${selectReserved(window, now)} AS reserved, ${sum(sql`sum_high`)} AS high, ${
    sum(sql`sum_low`)
  } AS low, ${sum(sql`sum_micro`)} AS micro
    FROM ${from} JOIN usage_limits l ON ${applied}
    LEFT JOIN usage_limit_counters n ON n.usage_limit = l.number AND n.organization = o.number
      AND n.window_number = ${window} AND n.opened_seq >= ${countedSeq}
    WHERE ${condition}
    ORDER BY l.lineage IS NOT NULL, l.product_slug, l.metric, instr('minute hour day month total', l.per)`;
};

export function toStandingRow(
  { quantityLow, quantityMicro, isKnown, high, low, micro, held, reserved, grants, ...row }: StandingColumns,
): LimitStandingRow {
  return {
    ...row,
    quantity: { high: "0", low: quantityLow, micro: quantityMicro },
    used: isKnown === 1 ? { high, low, micro } : null,
    held: parseHeld(JSON.parse(held)),
    reserved: parseReserved(reserved),
    ...grants && { grants: parseBalance(grants) },
  };
}

/** Finds the limits that apply, those of the organization before those of the key. None apply to a test key. */
export async function findLimitStandings(
  database: DatabaseReader,
  { organizationId, apiKeyId, series, now }: LimitQuery,
): Promise<LimitStandingRow[]> {
  const applied = isApplied({
    ...(apiKeyId && {
      lineage: sql`(SELECT k.lineage FROM api_keys k WHERE k.id = ${apiKeyId} AND k.organization_id = o.id)`,
    }),
    ...(series && { series: { productSlug: sql`${series.productSlug}`, metric: sql`${series.metric}` } }),
  });
  const rows = await database.read<StandingColumns>(selectStandings({
    columns: sql`${selectBalance(sql`o.number`, sql`w.now`)} AS grants,`,
    from: sql`organizations o CROSS JOIN (SELECT CAST(${now} AS INTEGER) AS now) w`,
    applied,
    now: sql`w.now`,
    condition: sql`o.id = ${organizationId} AND NOT EXISTS (
      SELECT 1 FROM api_keys k WHERE k.id = ${apiKeyId ?? null} AND k.environment = 'test')`,
  }));
  return rows.map(toStandingRow);
}

/** Finds the limits that apply to an organization, whichever key is used, with their grants. */
export async function findOrganizationLimits(
  database: DatabaseReader,
  organizationId: string,
  now: number,
): Promise<UsageLimit[]> {
  const time = sql`CAST(${now} AS INTEGER)`;
  const raised = raisedQuantity(sql`o.number`, time, windowAt(time));
  const rows = await database.read<
    Omit<UsageLimit, "quantity" | "notifyAt"> & { low: string; micro: string; notifyAt: string | null }
  >(sql`
    SELECT l.id, nullif(l.product_slug, '') AS productSlug, nullif(l.metric, '') AS metric, l.per, l.mode,
      CAST(${raised.whole} AS TEXT) AS low, CAST(${raised.micro} AS TEXT) AS micro, l.notify_at AS notifyAt
    FROM organizations o JOIN usage_limits l ON ${isApplied()} WHERE o.id = ${organizationId}`);
  return rows.map(({ low, micro, notifyAt, ...limit }) => ({
    ...limit,
    quantity: microsToNumber(sumMicros({ high: "0", low, micro })),
    notifyAt: notifyAt && JSON.parse(notifyAt),
  }));
}
