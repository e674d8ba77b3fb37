// The SQL of grants: quantities that raise an organization's limit. In the transaction that records, what is used of each is noted, so
// that the decision what fits needs no history: a grant that has ended counts with what was used of it. `t` is the account of an
// organization's grants of one scope and `per`. The order of use for a limit in total: grants that expire, the first to expire first; the
// limit's own quantity; grants without an expiry, the oldest first. A window's own quantity is used before all grants.
import { lowBits, microsToNumber, sumMicros } from "../../domain/meter/quantity.ts";
import type { GrantBalance } from "../../domain/meter/usage_grant.ts";
import type { LimitScope } from "../../domain/meter/usage_limit.ts";
import { isoTime } from "../../domain/time.ts";
import { integer, sql, type Statement } from "../engine/database.ts";
import { windowAt } from "./usage_limits.ts";

/** `ends_at` of a grant that doesn't expire. */
export const neverEnds = Number.MAX_SAFE_INTEGER;
/** Sums of millionths up to here can't overflow. */
const microsMax = sql`9000000000000000000`;
export const million = integer(1_000_000);

/** A condition: any organization has grants of limits with a window. It is evaluated once for a statement. */
export const hasWindowGrants =
  sql`EXISTS (SELECT 1 FROM usage_grant_accounts WHERE per > '' AND per <> 'total')`;

/** The account `t` of grants that raise the limit `l` of an organization. */
export const isAccount = (organization: Statement): Statement =>
  sql`t.organization = ${organization} AND t.product_slug = l.product_slug AND t.metric = l.metric AND t.per = l.per
    AND (l.per = 'total' OR ${hasWindowGrants}) AND l.property = '' AND l.lineage IS NULL AND l.alert_of IS NULL`;

/** Grants `g` of the account `t` that can be used at a time, or later. */
const isLeft = (now: Statement): Statement =>
  sql`g.organization = t.organization AND g.product_slug = t.product_slug AND g.metric = t.metric AND g.per = t.per
    AND g.ends_at > ${now} AND g.voided_at IS NULL AND g.used_micros < g.quantity_micros`;
/** Grants `g` of the account `t` that can be used at a time. */
export const isOpen = (now: Statement): Statement => sql`${isLeft(now)} AND g.starts_at <= ${now}`;
/** When the next grant of the account `t` starts, at or after a time. */
export const nextTurn = (time: Statement): Statement =>
  sql`coalesce((SELECT min(g.starts_at) FROM usage_grants g WHERE ${isLeft(time)} AND g.starts_at >= ${time}),
    ${integer(neverEnds)})`;

/** Adds up a part of each row that a window of the account `t` has taken from grants. */
const inWindow = (window: Statement, part: Statement) =>
  sql`coalesce((SELECT sum(${part}) FROM usage_grant_windows w WHERE ${isTakenBy(window)}), 0)`;
/** Rows `w`: taken from grants by a window of the account `t`. */
export const isTakenBy = (window: Statement): Statement =>
  sql`w.organization = t.organization AND w.product_slug = t.product_slug AND w.metric = t.metric AND w.per = t.per
    AND w.window_number = ${window}`;

/** Taken from grants by a limit with the account `t`, in all or in a window. */
export const taken = (window: Statement): Record<"whole" | "micro", Statement> => ({
  whole: sql`iif(t.per = 'total', t.taken_whole, ${inWindow(window, sql`w.micros / ${million}`)})`,
  micro: sql`iif(t.per = 'total', t.taken_micro, ${inWindow(window, sql`w.micros % ${million}`)})`,
});

/** Adds up what is left of the grants of the account `t` that can be used. */
const left = (now: Statement, unit: Statement) =>
  sql`coalesce((SELECT sum(${unit}) FROM usage_grants g WHERE ${isOpen(now)}), 0)`;
const leftWhole = (now: Statement) => left(now, sql`(g.quantity_micros - g.used_micros) / ${million}`);
const leftMicro = (now: Statement) => left(now, sql`(g.quantity_micros - g.used_micros) % ${million}`);
/** In millionths. */
export const leftMicros = (now: Statement): Statement =>
  clamped(sql`(${leftWhole(now)} * ${million} + ${leftMicro(now)})`);

/** Adds up what the grants of the account `t` add to its limit: their used part, and the rest of those that still work. */
const added = (now: Statement, window: Statement): Record<"whole" | "micro", Statement> => ({
  whole: sql`${taken(window).whole} + ${leftWhole(now)}`,
  micro: sql`${taken(window).micro} + ${leftMicro(now)}`,
});

/**
 * Selects what grants add to limits of one scope in their current windows, in millionths, for organizations by number. Those without
 * grants are left out.
 */
export function selectAdded(
  { productSlug, metric, per }: LimitScope,
  { organizations, now }: { organizations: readonly number[]; now: number },
): Statement {
  const time = sql`CAST(${now} AS INTEGER)`;
  const { whole, micro } = added(time, windowAt(time, sql`t.per`));
  return sql`SELECT t.organization, CAST(${whole} AS TEXT) AS low, CAST(${micro} AS TEXT) AS micro, '0' AS high
    FROM usage_grant_accounts t CROSS JOIN organizations o ON o.number = t.organization
    WHERE t.product_slug = ${productSlug ?? ""} AND t.metric = ${metric ?? ""} AND t.per = ${per}
      AND t.organization IN (SELECT value FROM json_each(${JSON.stringify(organizations)}))`;
}

/**
 * The quantity of the limit `l` of an organization with what grants add to it, in whole units and less than a million millionths.
 *
 * @param window The number of the limit's window.
 */
export function raisedQuantity(
  organization: Statement,
  now: Statement,
  window: Statement,
): Record<"whole" | "micro", Statement> {
  const part = (name: "whole" | "micro") =>
    sql`coalesce((SELECT ${added(now, window)[name]} FROM usage_grant_accounts t
      WHERE ${isAccount(organization)}), 0)`;
  const micro = sql`(l.quantity_micro + ${part("micro")})`;
  return {
    whole: sql`(l.quantity_whole + ${part("whole")} + ${micro} / ${million})`,
    micro: sql`(${micro} % ${million})`,
  };
}

/** A sum in millionths. What overflows continues as a floating-point number. */
export const inMicros = (high: Statement, low: Statement, micro: Statement) =>
  sql`((${high} * ${integer(2 ** lowBits)} + ${low}) * ${million} + ${micro})`;
/** From 0 to {@linkcode microsMax}. */
export const clamped = (micros: Statement) => sql`CAST(max(0, min(${micros}, ${microsMax})) AS INTEGER)`;

/**
 * True if so many percent or more are used of what was left of the limit `l` when its organization last got a grant, or one last started:
 * the alert for a low balance. For a limit with the account `t`. A window starts with nothing used.
 */
export const isUsedSinceGrant = (percent: Statement, now: Statement): Statement => {
  const { whole, micro } = added(now, sql`n.window_number`);
  // Since a turn that isn't marked yet, nothing was recorded.
  const mark = (mark: Statement, sum: Statement) =>
    sql`CASE WHEN t.per <> 'total' THEN 0 WHEN t.turn_at > ${now} THEN ${mark} ELSE ${sum} END`;
  const markWhole = mark(sql`t.mark_whole`, sql`n.sum_high * ${integer(2 ** lowBits)} + n.sum_low`);
  const markMicro = mark(sql`t.mark_micro`, sql`n.sum_micro`);
  const used = inMicros(sql`n.sum_high`, sql`(n.sum_low - ${markWhole})`, sql`n.sum_micro - ${markMicro}`);
  const all = inMicros(
    sql`0`,
    sql`(l.quantity_whole + ${whole} - ${markWhole})`,
    sql`l.quantity_micro + ${micro} - ${markMicro}`,
  );
  return sql`100 * ${used} >= ${percent} * ${all}`;
};

/** Amounts as small as is needed for their sum not to overflow: `sum` is theirs as a floating-point number, `count` how many there are. */
export const summable = (amount: Statement) =>
  sql`iif(f.sum < 9e18, ${amount}, min(${amount}, ${microsMax} / f.count))`;

const now = sql`CAST(?3 AS INTEGER)`;
const takenByNow = taken(sql`a.window_number`);
const byLimit = sql`(PARTITION BY f.usage_limit, f.organization)`;
const byWindow = sql`(PARTITION BY t.usage_limit, t.organization, t.window_number)`;
/**
 * Selects what windows take from grants, once something was added to them: what their own quantity has no room for. Of several windows of
 * a limit, the latest is first. On one line of all that windows need, and one of all that is left, each window takes where both overlap.
 * The first grant that a window takes from may be the one that it took from last: then their takes are one row.
 */
const takenByWindows = sql`
  WITH needs AS MATERIALIZED (
    SELECT a.usage_limit, a.window_number, t.organization, t.product_slug, t.metric, t.per, ${
  clamped(inMicros(
    sql`n.sum_high`,
    sql`(n.sum_low - l.quantity_whole - ${takenByNow.whole})`,
    sql`n.sum_micro - l.quantity_micro - ${takenByNow.micro}`,
  ))
} AS amount
    FROM (SELECT 1 WHERE ${hasWindowGrants})
    CROSS JOIN usage_limit_added a ON a.sum_high + a.sum_low + a.sum_micro > 0 OR ?1 IS 1
    CROSS JOIN usage_limits l ON l.number = a.usage_limit AND l.per <> 'total'
    CROSS JOIN usage_grant_accounts t ON ${isAccount(sql`a.organization`)}
    CROSS JOIN usage_limit_counters n ON n.usage_limit = a.usage_limit AND n.organization = a.organization
      AND n.window_number = a.window_number AND n.is_known
  ), needed AS (
    SELECT f.*, sum(f.need) OVER (PARTITION BY f.usage_limit, f.organization ORDER BY f.window_number DESC) AS need_upto
    FROM (SELECT f.*, ${summable(sql`f.amount`)} AS need
      FROM (SELECT f.*, total(f.amount) OVER ${byLimit} AS sum, count(*) OVER ${byLimit} AS count FROM needs f
        WHERE f.amount > 0) f) f
  ), rests AS (
    SELECT f.*, sum(f.rest) OVER (PARTITION BY f.usage_limit, f.organization, f.window_number
      ORDER BY f.ends_at, f.number) AS upto
    FROM (SELECT f.*, ${summable(sql`f.left`)} AS rest
      FROM (SELECT t.usage_limit, t.organization, t.product_slug, t.metric, t.per, t.window_number, t.need, t.need_upto,
          g.number, g.ends_at, g.quantity_micros - g.used_micros AS left,
          total(g.quantity_micros - g.used_micros) OVER ${byWindow} AS sum, count(*) OVER ${byWindow} AS count
        FROM needed t CROSS JOIN usage_grants g ON ${isOpen(now)}) f) f
  ), takes AS (
    SELECT t.number, t.ends_at, t.window_number,
      min(t.need_upto, t.upto) - max(t.need_upto - t.need, t.upto - t.rest) AS taken,
      iif(t.upto - t.rest <= t.need_upto - t.need, (SELECT iif(w.grant_number = t.number AND w.ends_at = t.ends_at, w.place, NULL)
        FROM usage_grant_windows w WHERE ${isTakenBy(sql`t.window_number`)}
        ORDER BY w.place DESC, w.ends_at DESC, w.grant_number DESC LIMIT 1), NULL) AS place
    FROM rests t
  )
  SELECT k.number, sum(k.taken),
    json_group_array(json_array(k.window_number, coalesce(k.place, 2 * c.seq - (?1 IS 1)), k.ends_at, k.taken))
  FROM takes k CROSS JOIN usage_cursor c WHERE k.taken > 0 GROUP BY k.number`;

/**
 * Takes what the limits of `usage_limit_added` count from grants, once their counters have it. What the limit's own quantity has no room
 * for is taken too, also if it was recorded before: when the limit was higher, or it is soft. `?3` is the time. `?1` is 1 when earlier
 * usage was added to a counter.
 */
export const takeFromGrants: Statement = sql`
  UPDATE usage_grants AS u SET used_micros = u.used_micros + d.taken, used_at = CAST(?3 AS INTEGER),
    window_takes = d.window_takes
  FROM (
    SELECT s.number, max(0, min(s.rest, min(s.all_rest, max(min(s.added, s.expiring), s.over)) - (s.upto - s.rest)))
        AS taken, NULL AS window_takes
    FROM (
      SELECT f.number, f.added, f.over, f.rest, sum(f.rest) OVER (PARTITION BY f.usage_limit, f.organization) AS all_rest,
        sum(iif(f.ends_at < ${
  integer(neverEnds)
}, f.rest, 0)) OVER (PARTITION BY f.usage_limit, f.organization)
          AS expiring,
        sum(f.rest) OVER (PARTITION BY f.usage_limit, f.organization ORDER BY f.ends_at, f.number) AS upto
      FROM (
        SELECT f.usage_limit, f.organization, f.number, f.ends_at, f.added, f.over, ${
  summable(sql`f.rest`)
} AS rest
        FROM (
          SELECT a.usage_limit, a.organization, g.number, g.ends_at, g.quantity_micros - g.used_micros AS rest,
            ${clamped(inMicros(sql`a.sum_high`, sql`a.sum_low`, sql`a.sum_micro`))} AS added,
            iif(n.is_known, ${
  clamped(inMicros(
    sql`n.sum_high`,
    sql`(n.sum_low - l.quantity_whole - t.taken_whole)`,
    sql`n.sum_micro - l.quantity_micro - t.taken_micro`,
  ))
}, 0) AS over,
            total(g.quantity_micros - g.used_micros) OVER (PARTITION BY a.usage_limit, a.organization) AS sum,
            count(*) OVER (PARTITION BY a.usage_limit, a.organization) AS count
          FROM (SELECT 1 WHERE EXISTS (SELECT 1 FROM usage_grant_accounts))
          CROSS JOIN usage_limit_added a CROSS JOIN usage_limits l ON l.number = a.usage_limit AND l.per = 'total'
          CROSS JOIN usage_grant_accounts t ON ${isAccount(sql`a.organization`)}
          CROSS JOIN usage_limit_counters n ON n.usage_limit = a.usage_limit AND n.organization = a.organization
            AND n.window_number = a.window_number
          CROSS JOIN usage_grants g ON ${isOpen(sql`CAST(?3 AS INTEGER)`)}
        ) f
      ) f
    ) s
    UNION ALL SELECT * FROM (${takenByWindows})
  ) d WHERE u.number = +d.number AND d.taken > 0`;

/** Selects the grants that raise the limit `l` of an organization and can be used, for {@linkcode parseBalance}; null without any ever. */
export function selectBalance(organization: Statement, now: Statement): Statement {
  const sum = (micros: Statement) =>
    sql`CAST(coalesce(sum(${micros} / ${million}), 0) AS TEXT), CAST(coalesce(sum(${micros} % ${million}), 0) AS TEXT)`;
  return sql`(SELECT (SELECT json_array(${sum(sql`g.quantity_micros`)}, ${sum(sql`g.used_micros`)},
      min(nullif(g.ends_at, ${
    integer(neverEnds)
  })), CAST(l.quantity_whole AS TEXT), CAST(l.quantity_micro AS TEXT)) FROM usage_grants g WHERE ${
    isOpen(now)
  })
    FROM usage_grant_accounts t WHERE ${isAccount(organization)})`;
}

export function parseBalance(text: string): GrantBalance {
  type Parts = [string, string, string, string, number | null, string, string];
  const [whole, micro, usedWhole, usedMicro, next, ownWhole, ownMicro]: Parts = JSON.parse(text);
  const [quantity, used] = [
    sumMicros({ high: "0", low: whole, micro }),
    sumMicros({ high: "0", low: usedWhole, micro: usedMicro }),
  ];
  return {
    limitQuantity: microsToNumber(sumMicros({ high: "0", low: ownWhole, micro: ownMicro })),
    quantity: microsToNumber(quantity),
    used: microsToNumber(used),
    remaining: microsToNumber(quantity - used),
    nextExpiresAt: isoTime(next),
  };
}
