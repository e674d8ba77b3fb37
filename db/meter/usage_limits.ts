// Which limits apply, in SQL. A limit of an organization replaces the one of its plan with the same product, metric and length.
import { limitClockMarginMs, usageTimestampFutureMaxMs } from "../../domain/limits.ts";
import { joinQuantity, lowBits } from "../../domain/meter/quantity.ts";
import type { UsageLimit } from "../../domain/meter/usage_limit.ts";
import { type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";
import { monthStart } from "./rollups.ts";

/** Names the limits that apply. */
export interface AppliedLimits {
  /** The lineage of a key, whose budget applies too. */
  readonly lineage?: Statement;
  /** Only those that count this product and metric. */
  readonly series?: { readonly productSlug: Statement; readonly metric: Statement };
}

/** @returns The condition that a limit `l` applies to the organization `o`. */
export function isApplied({ lineage, series }: AppliedLimits = {}): Statement {
  const covers = series === undefined
    ? sql``
    : sql`AND l.product_slug IN ('', ${series.productSlug}) AND l.metric IN ('', ${series.metric})`;
  const ofLineage = lineage === undefined ? sql`` : sql`OR (l.lineage = ${lineage} ${covers})`;
  return sql`((l.plan = o.plan ${covers} AND NOT EXISTS (
      SELECT 1 FROM usage_limits own WHERE own.organization = o.number AND own.product_slug = l.product_slug
        AND own.metric = l.metric AND own.per = l.per))
    OR (l.organization = o.number ${covers} AND l.quantity_whole IS NOT NULL) ${ofLineage})`;
}

/** @returns The limits that apply to an organization, whichever key is used. */
export async function findOrganizationLimits(
  database: DatabaseReader,
  organizationId: string,
): Promise<UsageLimit[]> {
  const rows = await database.read<Omit<UsageLimit, "quantity"> & { whole: number; micro: number }>(sql`
    SELECT l.id, nullif(l.product_slug, '') AS productSlug, nullif(l.metric, '') AS metric, l.per, l.mode,
      l.quantity_whole AS whole, l.quantity_micro AS micro
    FROM organizations o JOIN usage_limits l ON ${isApplied()} WHERE o.id = ${organizationId}`);
  return rows.map(({ whole, micro, ...limit }) => ({ ...limit, quantity: joinQuantity({ whole, micro }) }));
}

/** From which position on usage of the organization `o` counts against the limit `l`: a counter that was opened before is invalid. */
export const countedSeq = sql`max(l.created_seq, o.limits_seq)`;
/** The same as a time, with what the clocks of servers may differ. In milliseconds since 1970. */
const countedAt = sql`(max(l.created_at, o.limits_at) + ${integer(limitClockMarginMs)})`;
const dayMs = integer(24 * 3_600_000);

/**
 * @param window The number of a window of the limit `l` and the organization `o` that has no valid counter.
 * @returns Whether nothing was recorded in the window: what is recorded from now on is all of its usage.
 */
export function isComplete(window: Statement): Statement {
  // At or before the start of the window; `total` has none.
  const start = sql`CASE l.per WHEN 'minute' THEN ${window} * 60000 WHEN 'hour' THEN ${window}
    WHEN 'day' THEN (${window} - 1) * ${dayMs} WHEN 'month' THEN ${monthStart(window)} - ${dayMs} ELSE 0 END`;
  return sql`(${start} >= max(
    iif(o.created_at >= ${countedAt}, 0, ${countedAt} + ${integer(usageTimestampFutureMaxMs)}),
    iif(l.per IN ('minute', 'hour'), (SELECT limits_swept_until FROM usage_cursor), 0)))`;
}

/**
 * Assignments to an organization whose limits become others, or whose time zone does: the counters it has become invalid.
 *
 * @param now Milliseconds since 1970.
 */
export const restartLimits = (now: number): Statement =>
  sql`limits_seq = max(limits_seq, (SELECT seq FROM usage_cursor WHERE only_row = 1)) + 1, limits_at = ${now}`;

/** @returns A sum in parts as a row value that has one form only, so that sums can be compared. */
export const comparable = (high: Statement, low: Statement, micro: Statement): Statement => {
  const whole = sql`(${low} + ${micro} / 1000000)`;
  const bits = integer(lowBits);
  return sql`(${high} + (${whole} >> ${bits}), ${whole} & ${integer(2 ** lowBits - 1)}, ${micro} % 1000000)`;
};

/** The quantity of the limit `l`, to compare with {@linkcode comparable} sums. */
export const limitQuantity = comparable(
  sql`(l.quantity_whole >> ${integer(lowBits)})`,
  sql`(l.quantity_whole & ${integer(2 ** lowBits - 1)})`,
  sql`l.quantity_micro`,
);
