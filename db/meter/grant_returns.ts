// The SQL of voids: what a voided record gives back to grants, once the counters of limits lack it.
import { type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";
import type { CurrentCell } from "./limit_clearing.ts";
import {
  clamped,
  hasWindowGrants,
  inMicros,
  isAccount,
  isTakenBy,
  million,
  neverEnds,
  summable,
  taken,
} from "./usage_grants.ts";
import { countedSeq, isApplied, windowAt } from "./usage_limits.ts";

/** The window of the record `r`. */
const window = windowAt(sql`r.timestamp`, sql`t.per`);

/** The records `r`, and the accounts `t` of an organization `o` that may have taken from grants for it. */
const accountsOf =
  sql`usage_records r CROSS JOIN usage_series s ON s.id = r.series CROSS JOIN organizations o ON o.number = r.organization
    CROSS JOIN usage_grant_accounts t ON t.organization = o.number
      AND t.product_slug IN ('', s.product_slug) AND t.metric IN ('', s.metric)`;
/** The limit `l` of the account `t`, and its counter `n` of the record `r`, if it has all usage. */
const counterOf = sql`usage_limits l ON ${isAccount(sql`o.number`)} AND ${isApplied()}
    LEFT JOIN usage_limit_counters n ON n.usage_limit = l.number AND n.organization = o.number
      AND n.window_number = ${window} AND n.is_known = 1 AND n.opened_seq >= ${countedSeq}`;
const recordMicros = clamped(sql`(r.quantity_whole * ${million} + r.quantity_micro)`);

/** Used grants `g` of the account `t`. */
const used = sql`usage_grants g ON g.organization = t.organization AND g.product_slug = t.product_slug
    AND g.metric = t.metric AND g.per = t.per AND g.used_micros > 0`;
/** The grant `g` neither expires nor was voided. */
const isLasting = sql`(g.ends_at = ${integer(neverEnds)} AND g.voided_at IS NULL)`;
/** Adds up what is used of such grants of the account `t`. */
const lasting = (unit: Statement) =>
  sql`coalesce((SELECT sum(${unit}) FROM (SELECT 1) CROSS JOIN ${used} AND ${isLasting}), 0)`;

/**
 * Gives the quantity of a voided record back to grants of limits in total, once the counters lack it, in the reverse order of use, as if
 * the record had never been: to grants without an expiry what the rest of the usage doesn't need, the newest first; then to the limit's
 * own quantity; then to grants that expire, the last to expire first, and to voided ones. What returns to a grant that has ended is lost
 * with it. Without a limit, all returns to grants.
 *
 * @param condition The record was voided in this batch.
 */
export function giveBackToGrants(seq: number, condition: Statement): Statement {
  return sql`
    WITH accounts AS MATERIALIZED (
      SELECT f.organization, f.product_slug, f.metric, f.per, f.lasting, coalesce(f.over, f.quantity) - f.lasting AS expiring
      FROM (
        SELECT f.*, max(0, min(f.quantity, ${
    clamped(sql`(f.lasting_whole * ${million} + f.lasting_micro)`)
  } - coalesce(f.needed, 0))) AS lasting
        FROM (
          SELECT f.*, ${
    clamped(inMicros(
      sql`f.sum_high`,
      sql`(f.sum_low - f.quantity_whole - f.taken_whole + f.lasting_whole)`,
      sql`f.sum_micro - f.quantity_micro - f.taken_micro + f.lasting_micro`,
    ))
  } AS needed
          FROM (
            SELECT t.*, ${recordMicros} AS quantity, ${
    lasting(sql`g.used_micros / ${million}`)
  } AS lasting_whole,
              ${
    lasting(sql`g.used_micros % ${million}`)
  } AS lasting_micro, l.quantity_whole, l.quantity_micro,
              n.sum_high, n.sum_low, n.sum_micro, ${
    clamped(inMicros(sql`-n.sum_high`, sql`(t.taken_whole - n.sum_low)`, sql`t.taken_micro - n.sum_micro`))
  } AS over
            FROM ${accountsOf} AND t.per = 'total' AND (t.taken_whole > 0 OR t.taken_micro > 0) LEFT JOIN ${counterOf}
            WHERE r.seq = ${seq} AND ${condition}
          ) f
        ) f
      ) f
    )
    UPDATE usage_grants AS u SET used_micros = u.used_micros - d.back
    FROM (
      SELECT f.number, max(0, min(f.used, f.wanted - (f.upto - f.amount))) AS back
      FROM (
        SELECT f.*, sum(f.amount) OVER (PARTITION BY f.product_slug, f.metric, f.is_lasting
          ORDER BY f.is_voided, f.ends_at DESC, f.number DESC) AS upto
        FROM (
          SELECT f.*, ${summable(sql`f.used`)} AS amount
          FROM (
            SELECT t.product_slug, t.metric, g.number, g.ends_at, g.voided_at IS NOT NULL AS is_voided, ${isLasting} AS is_lasting,
              g.used_micros AS used, iif(${isLasting}, t.lasting, t.expiring) AS wanted,
              total(g.used_micros) OVER (PARTITION BY t.product_slug, t.metric) AS sum,
              count(*) OVER (PARTITION BY t.product_slug, t.metric) AS count
            FROM accounts t CROSS JOIN ${used} WHERE t.lasting > 0 OR t.expiring > 0
          ) f
        ) f
      ) f
    ) d WHERE u.number = +d.number AND d.back > 0`;
}

/**
 * Gives back to grants what a window doesn't need anymore after a record was voided, once the counters lack it: the last used first. What
 * returns to a grant that has ended is lost with it.
 *
 * @param condition The record was voided in this batch.
 */
export function giveBackToWindowGrants(seq: number, condition: Statement): Statement {
  // Without a known counter nothing is known to be needed.
  const needed = sql`coalesce((SELECT ${
    clamped(
      inMicros(sql`n.sum_high`, sql`(n.sum_low - l.quantity_whole)`, sql`n.sum_micro - l.quantity_micro`),
    )
  } FROM (SELECT 1) CROSS JOIN ${counterOf}), 0)`;
  const all = taken(window);
  return sql`
    WITH windows AS MATERIALIZED (
      SELECT t.organization, t.product_slug, t.metric, t.per, ${window} AS window_number, max(0, min(${recordMicros}, ${
    clamped(sql`(${all.whole} * ${million} + ${all.micro})`)
  } - ${needed})) AS amount
      FROM (SELECT 1 WHERE ${hasWindowGrants}) CROSS JOIN ${accountsOf} AND t.per <> 'total'
      WHERE r.seq = ${seq} AND ${condition}
    )
    UPDATE usage_grants AS u SET used_micros = u.used_micros - d.back, window_takes = d.takes
    FROM (
      SELECT f.grant_number, sum(f.back) AS back,
        json_group_array(json_array(f.window_number, f.place, f.ends_at, -f.back)) AS takes
      FROM (
        SELECT f.*, max(0, min(f.micros, f.amount - (f.upto - f.part))) AS back
        FROM (
          SELECT f.*, sum(f.part) OVER (PARTITION BY f.product_slug, f.metric, f.per
            ORDER BY f.place DESC, f.ends_at DESC, f.grant_number DESC) AS upto
          FROM (
            SELECT f.*, ${summable(sql`f.micros`)} AS part
            FROM (
              SELECT t.*, w.place, w.ends_at, w.grant_number, w.micros,
                total(w.micros) OVER (PARTITION BY t.product_slug, t.metric, t.per) AS sum,
                count(*) OVER (PARTITION BY t.product_slug, t.metric, t.per) AS count
              FROM windows t CROSS JOIN usage_grant_windows w ON ${isTakenBy(sql`t.window_number`)}
            ) f
          ) f
        ) f
      ) f WHERE f.back > 0 GROUP BY 1
    ) d WHERE u.number = +d.grant_number`;
}

/** Finds windows of limits that count a record and may have taken from grants, and whose counter lacks earlier usage. */
export async function findUnknownWindows(database: DatabaseReader, seq: number): Promise<CurrentCell[]> {
  const row = await database.readFirst<{ cells: string }>(sql`
    SELECT json_group_array(json_array(l.number, o.number, ${window})) AS cells
    FROM ${accountsOf} CROSS JOIN ${counterOf}
    WHERE r.seq = ${seq} AND n.usage_limit IS NULL AND iif(t.per = 'total', t.taken_whole > 0 OR t.taken_micro > 0,
      EXISTS (SELECT 1 FROM usage_grant_windows w WHERE ${isTakenBy(window)}))`);
  return JSON.parse(row?.cells ?? "[]");
}
