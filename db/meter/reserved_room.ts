// The SQL that reads what holds of other windows need of a limit's grants, by the rule of the transaction that records.
import type { SumParts } from "../../domain/meter/quantity.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { hasHeld, reservedBy } from "./grant_windows.ts";
import { activeHolds, heldSums, isOver, windowOfHold } from "./hold_counts.ts";
import type { LimitStandingRow } from "./limit_standings.ts";
import { isAccount, leftMicros } from "./usage_grants.ts";
import { countedSeq, windowAt } from "./usage_limits.ts";

const isCounterOf = (window: Statement) =>
  sql`c.usage_limit = l.number AND c.organization = o.number AND c.window_number = ${window}
    AND c.opened_seq >= ${countedSeq}`;
/** Counters of other windows of the limit `l` of the organization `o`, without holds that have expired. */
const otherCounters = (window: Statement, now: Statement) => {
  const held = (part: Statement) => sql`c.held_${part} - coalesce(e.held_${part}, 0) AS held_${part}`;
  return sql`(SELECT c.window_number, c.sum_high, c.sum_low, c.sum_micro, c.is_known, ${held(sql`high`)},
        ${held(sql`low`)}, ${held(sql`micro`)}
      FROM usage_limit_counters c
      LEFT JOIN (SELECT ${windowOfHold} AS window_number, ${heldSums} FROM (SELECT 1) CROSS JOIN ${
    activeHolds(windowOfHold)
  } WHERE h.expires_at <= ${now} AND ${isOver(now)} GROUP BY 1) e ON e.window_number = c.window_number
      WHERE c.usage_limit = l.number AND c.organization = o.number AND c.opened_seq >= ${countedSeq}
        AND c.window_number <> ${window} AND ${hasHeld(sql`c`)}) m WHERE ${hasHeld(sql`m`)}`;
};
/** Joins the holds `h` of other windows of the limit `l` of the organization `o` that count. */
const otherHolds = (window: Statement, now: Statement) =>
  sql`(SELECT 1) CROSS JOIN ${activeHolds(windowOfHold)} WHERE NOT ${
    isOver(now)
  } AND ${windowOfHold} <> ${window}`;

/**
 * Selects a text for {@linkcode parseReserved}, with the limit `l`, the organization `o` and the counter `n` of the window, if it has one.
 *
 * @param window Its number. @param whenUnknown `most`: windows that lack usage need as much as they may need.
 */
export function selectReserved(window: Statement, now: Statement, whenUnknown?: "most"): Statement {
  const counters = otherCounters(window, now);
  const reserved = sql`min(${leftMicros(now)}, ${reservedBy(counters, whenUnknown === "most")})`;
  // With a counter, those of all windows that hold something are open.
  const isUnknown = sql`(EXISTS (SELECT 1 FROM ${counters} AND NOT m.is_known) OR (n.usage_limit IS NULL
      AND EXISTS (SELECT 1 FROM ${otherHolds(window, now)}
        AND NOT EXISTS (SELECT 1 FROM usage_limit_counters c WHERE ${isCounterOf(windowOfHold)}))))`;
  return sql`(SELECT CAST(${
    whenUnknown === "most" ? reserved : sql`iif(${isUnknown}, -1, ${reserved})`
  } AS TEXT) FROM usage_grant_accounts t WHERE ${isAccount(sql`o.number`)} AND t.per <> 'total')`;
}

/** Returns millionths as a text; null if they aren't known. */
export function parseReserved(reserved: string | null | undefined): string | null {
  return reserved === "-1" ? null : reserved ?? "0";
}

type HeldLimit = Pick<LimitStandingRow, "limitId" | "organization">;
const from = ({ limitId, organization }: HeldLimit) =>
  sql`FROM usage_limits l CROSS JOIN organizations o ON o.number = ${organization}
    CROSS JOIN usage_grant_accounts t ON ${
    isAccount(sql`o.number`)
  } AND t.per <> 'total' WHERE l.id = ${limitId}`;
/** Other windows with holds, and what these hold. */
const otherWindows = (time: Statement) => {
  return sql`(SELECT ${windowOfHold} AS window_number, min(h.created_at) AS at, ${heldSums}
      FROM ${otherHolds(windowAt(time), time)} GROUP BY 1) d
    LEFT JOIN usage_limit_counters c ON c.is_known AND ${isCounterOf(sql`d.window_number`)}`;
};

/** Finds other windows of a limit with holds that lack usage. `at`: a time in it. */
export async function findUnknownHeldWindows(
  database: DatabaseReader,
  limit: HeldLimit,
  now: number,
): Promise<{ windowNumber: number; at: number }[]> {
  const row = await database.readFirst<{ windows: string }>(sql`
    SELECT (SELECT json_group_array(json_object('windowNumber', d.window_number, 'at', d.at))
      FROM ${otherWindows(sql`CAST(${now} AS INTEGER)`)} WHERE c.usage_limit IS NULL) AS windows ${
    from(limit)
  }`);
  return JSON.parse(row?.windows ?? "[]");
}

/** Adds up what holds of other windows need of the grants of a limit. @param given `sums`: the usage of windows that lack it. */
export async function sumReserved(
  database: DatabaseReader,
  limit: HeldLimit,
  { now, sums }: { now: number; sums: readonly (SumParts & { readonly windowNumber: number })[] },
): Promise<string> {
  const time = sql`CAST(${now} AS INTEGER)`;
  const sum = (part: Statement) =>
    sql`coalesce(c.sum_${part}, CAST(e.value ->> '${part}' AS INTEGER), 0) AS sum_${part}`;
  const windows = sql`(SELECT d.*, ${sum(sql`high`)}, ${sum(sql`low`)}, ${sum(sql`micro`)}
    FROM ${otherWindows(time)} LEFT JOIN json_each(${JSON.stringify(sums)}) e
      ON e.value ->> 'windowNumber' = d.window_number) m`;
  const row = await database.readFirst<{ reserved: string }>(
    sql`SELECT CAST(min(${leftMicros(time)}, ${reservedBy(windows)}) AS TEXT) AS reserved ${from(limit)}`,
  );
  return row?.reserved ?? "0";
}
