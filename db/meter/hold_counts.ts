// The SQL of what holds take from limits. A counter has the sum of all active holds of its window, whether or not they have expired:
// a hold is added when it is made, and subtracted once, when it ends. So nothing adds them up again, except to open a counter and to
// subtract the few that have expired and weren't ended yet.
import { holdKeptExpiredMs } from "../../domain/meter/hold.ts";
import { lowBits, type SumParts } from "../../domain/meter/quantity.ts";
import { bind, integer, sql, type Statement } from "../engine/database.ts";
import { ahead, isApplied, windowNumber } from "./usage_limits.ts";

/** A condition: any hold is active. Without one, no counter has anything held. */
export const hasActiveHolds = sql`EXISTS (SELECT 1 FROM usage_holds WHERE status = 'active')`;

/** A condition: the hold `h` ended by itself. One that is recorded when it expires stays active until then. */
export const isOver = (now: Statement): Statement =>
  sql`(h.expires_at <= ${now} AND h.is_recorded_on_expiry = 0)`;

const parts = {
  high: sql`(p.value ->> 2) >> ${integer(lowBits)}`,
  low: sql`(p.value ->> 2) & ${integer(2 ** lowBits - 1)}`,
  micro: sql`p.value ->> 3`,
};
/** The number of the window of the limit `l` in which the hold `h` counts. */
export const windowOfHold = windowNumber(
  sql`l.per`,
  sql`h.created_at`,
  ahead(sql`o.timezone`, sql`h.created_at`),
);

/** Joins the active holds `h` of the organization `o`, and those of their records `p` that a window of the limit `l` counts. */
export const activeHolds = (window: Statement): Statement =>
  sql`usage_holds h ON h.organization = o.number AND h.status = 'active'
      AND (coalesce(l.lineage, l.alert_lineage) IS NULL OR coalesce(l.lineage, l.alert_lineage) = h.lineage)
      AND ${windowOfHold} = ${window}
    CROSS JOIN json_each(h.records) p ON l.product_slug IN ('', p.value ->> 0) AND l.metric IN ('', p.value ->> 1)`;

/** Sums of high, low and micro of the records `p`. */
export const heldSums =
  sql`coalesce(sum(${parts.high}), 0) AS held_high, coalesce(sum(${parts.low}), 0) AS held_low,
      coalesce(sum(${parts.micro}), 0) AS held_micro`;

/** The active holds `h` that a counter `n` has, and the parts of what each has taken. */
export interface Holders {
  readonly holds: Statement;
  readonly parts: Readonly<Record<"high" | "low" | "micro", Statement>>;
}

/** Those of a window of the limit `l` and the organization `o`. @param window Its number. */
export const ofWindow = (window: Statement): Holders => ({ holds: activeHolds(window), parts });

export const text = (part: Statement) => sql`CAST(coalesce(${part}, 0) AS TEXT)`;
/** JSON of the parts of a sum, as texts. @param of Returns each of them. */
export const sumTexts = (of: (part: Statement) => Statement): Statement =>
  sql`json_array(${text(of(sql`high`))}, ${text(of(sql`low`))}, ${text(of(sql`micro`))})`;
const hasHeld = sql`n.held_high <> 0 OR n.held_low <> 0 OR n.held_micro <> 0`;

/**
 * Selects JSON for {@linkcode parseHeld}: what the counter `n` has, and what to subtract because it has expired. Without a counter, what
 * isn't expired.
 */
export function selectHeld({ holds, parts }: Holders, now: Statement): Statement {
  return sql`json_array(${text(sql`n.held_high`)}, ${text(sql`n.held_low`)}, ${text(sql`n.held_micro`)},
    json(iif(n.usage_limit IS NULL OR ${hasHeld}, (SELECT json_array(n.usage_limit IS NOT NULL, ${
    text(sql`sum(${parts.high})`)
  },
      ${text(sql`sum(${parts.low})`)}, ${text(sql`sum(${parts.micro})`)})
    FROM (SELECT 1) CROSS JOIN ${holds}
      WHERE h.expires_at <= iif(n.usage_limit IS NULL, ${integer(Number.MAX_SAFE_INTEGER)}, ${now})
        AND iif(n.usage_limit IS NULL, NOT ${isOver(now)}, ${isOver(now)})), NULL)))`;
}

/** JSON of the parts of what active holds have taken of the counter `n`; null if it is nothing. */
export const heldParts = ({ holds, parts }: Holders, now: Statement): Statement =>
  sql`iif(${hasHeld}, (SELECT json_array(
    n.held_high - coalesce(sum(${parts.high}), 0), n.held_low - coalesce(sum(${parts.low}), 0),
    n.held_micro - coalesce(sum(${parts.micro}), 0))
    FROM (SELECT 1) CROSS JOIN ${holds} WHERE h.expires_at <= ${now} AND ${isOver(now)}), NULL)`;

/** A JSON list of `Beyond`, of settlements `d`. @param held For `parseHeld`. */
export const beyondList = (
  held: Statement,
  { whole, micro }: Record<"whole" | "micro", Statement>,
): Statement =>
  sql`json_group_array(json_object('id', d.id, 'limitId', l.id,
      'own', ${sumTexts((part) => sql`d.held_${part}`)}, 'used', ${sumTexts((part) => sql`n.sum_${part}`)},
      'held', ${held}, 'whole', ${text(whole)}, 'micro', ${text(micro)}))`;

/** The value that {@linkcode selectHeld} selects. */
export type HeldColumns = readonly [
  high: string,
  low: string,
  micro: string,
  other: readonly [isExpired: 0 | 1, high: string, low: string, micro: string] | null,
];

/** Returns what is held, in the parts of a sum. */
export function parseHeld([high, low, micro, other]: HeldColumns): SumParts {
  if (other === null) return { high, low, micro };
  const [isExpired, ...sums] = other;
  const difference = (a: string, b: string | undefined) =>
    String(isExpired === 1 ? BigInt(a) - BigInt(b ?? 0) : BigInt(a) + BigInt(b ?? 0));
  return {
    high: difference(high, sums[0]),
    low: difference(low, sums[1]),
    micro: difference(micro, sums[2]),
  };
}

/** Adds the group's sums to what the counters have held. They are open, and found by their keys. */
export const addToHeld: Statement = sql`
  INSERT INTO usage_limit_counters (usage_limit, organization, window_number, sum_high, sum_low, sum_micro, is_known,
    opened_seq, held_high, held_low, held_micro)
  SELECT usage_limit, organization, window_number, 0, 0, 0, 1, 0, sum_high, sum_low, sum_micro FROM usage_limit_added
  WHERE sum_high + sum_low + sum_micro > 0
  ON CONFLICT DO UPDATE SET held_high = held_high + excluded.held_high, held_low = held_low + excluded.held_low,
    held_micro = held_micro + excluded.held_micro`;

const ending = sql`(SELECT hold FROM usage_holds_ending)`;

/**
 * Subtracts the holds of `usage_holds_ending`, which are active, from the counters of limits. Adds them up by minute first: no window
 * begins within one, and limits are looked up for few rows.
 */
export const subtractHeld: Statement = sql`
  UPDATE usage_limit_counters AS n SET held_high = n.held_high - d.held_high, held_low = n.held_low - d.held_low,
    held_micro = n.held_micro - d.held_micro
  FROM (
    SELECT l.number AS usage_limit, o.number AS organization, ${windowOfHold} AS window_number,
      sum(h.held_high) AS held_high, sum(h.held_low) AS held_low, sum(h.held_micro) AS held_micro
    FROM (SELECT h.organization, h.lineage, h.created_at / 60000 * 60000 AS created_at, p.value ->> 0 AS product_slug,
        p.value ->> 1 AS metric, ${heldSums}
      FROM usage_holds_ending x CROSS JOIN usage_holds h ON h.number = x.hold AND h.status = 'active'
      CROSS JOIN json_each(h.records) p GROUP BY 1, 2, 3, 4, 5) h
    CROSS JOIN organizations o ON o.number = h.organization CROSS JOIN usage_limits l ON ${
  isApplied({
    lineage: sql`h.lineage`,
    withAlerts: true,
    series: { productSlug: sql`h.product_slug`, metric: sql`h.metric` },
  })
} GROUP BY 1, 2, 3
  ) d WHERE n.usage_limit = d.usage_limit AND n.organization = d.organization AND n.window_number = d.window_number`;

/** Ends the holds of `usage_holds_ending` because they have expired. */
const endExpired = sql`UPDATE usage_holds SET status = 'expired', ended_at = expires_at,
    kept_until = created_at + ${integer(holdKeptExpiredMs)} WHERE number IN ${ending}`;
export const forgetEnding: Statement = sql`DELETE FROM usage_holds_ending`;

/** Returns a function from the time to statements that end holds `h` that have expired, and give their room back. */
export function endExpiredHolds(condition: Statement): (now: number) => Statement[] {
  const insert = sql`INSERT INTO usage_holds_ending (hold) SELECT h.number FROM usage_holds h
      WHERE ${condition} AND h.status = 'active' AND ${isOver(sql`CAST(?1 AS INTEGER)`)}`;
  return (now) => [bind(insert, now), subtractHeld, endExpired, forgetEnding];
}
