// The SQL that clears limits: those that were reached in their current window, and have room again because usage was voided or limits
// were changed. Their notices are deleted, so that they are noted again when they are reached again.
import { type Database, type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { insertEvents } from "../outbox/mod.ts";
import { heldParts, ofWindow } from "./hold_counts.ts";
import type { LimitOwner } from "./limit_rows.ts";
import { openCounters } from "./open_counters.ts";
import { isUsedOfRaised } from "./limit_notices.ts";
import type { LimitCell } from "./recorder_limits.ts";
import { isAccount, raisedQuantity } from "./usage_grants.ts";
import {
  comparable,
  countedSeq,
  isApplied,
  isNoticeAround,
  keyFacts,
  limitFacts,
  mayBeUsed,
  windowAt,
} from "./usage_limits.ts";

const of = (row: Statement) => sql`usage_limit = ${row}.usage_limit`;
const isApplying = isApplied({
  lineage: sql`coalesce(l.lineage, l.alert_lineage)`,
  withAlerts: true,
  counts: "any",
});
const raised = raisedQuantity(sql`o.number`, sql`w.now`, sql`x.window_number`);
const per = sql`iif(l.number IS NULL, g.facts ->> 'per', l.per)`;
/** The facts of a limit. One that was removed or doesn't apply has no quantity. */
const clearedFacts = sql`json_remove(json_set(iif(l.number IS NULL, g.facts, ${limitFacts(raised)}),
    '$.apiKey', ${keyFacts(sql`coalesce(l.lineage, l.alert_lineage, g.facts ->> 'lineage')`)},
    '$.whole', iif(${isApplying}, ${raised.whole}, NULL)), '$.lineage')`;

/** The limit `l` rejected a request in the window of the notice `x` and its counter `n`, and has no more room than it had then. */
const isStillRejected = sql`EXISTS (SELECT 1 FROM limit_notices r WHERE r.${of(sql`x`)}
    AND r.organization = x.organization AND r.window_number = x.window_number AND r.is_refusal = 1
    AND (${raised.whole}, ${raised.micro}) <= (r.quantity_whole, r.quantity_micro)
    AND ${comparable(sql`n.sum_high`, sql`n.sum_low`, sql`n.sum_micro`)}
      >= ${comparable(sql`(r.used ->> 0)`, sql`(r.used ->> 1)`, sql`(r.used ->> 2)`)})`;

/**
 * Notices of current windows that are not true anymore: their percentage isn't used, by a counter that has all usage, or the limit was
 * removed or doesn't apply. Notices of 100 and more are all true, or none of a window is. `highest` is the highest one of the window,
 * and that of the row whose `place` is 1.
 *
 * @param cells Selects `usage_limit`, `organization` and `window_number`.
 */
const untrueNotices = (cells: Statement, { now, after }: Clearing) => {
  const window = windowAt(sql`w.now`, per);
  return sql`SELECT x.usage_limit, x.organization, x.window_number, x.percent,
      first_value(x.percent) OVER ranked AS highest, row_number() OVER ranked AS place,
      json_object('limit', ${clearedFacts},
        'used', json(iif(n.usage_limit IS NULL, x.used, json_array(n.sum_high, n.sum_low, n.sum_micro,
          json(${heldParts(ofWindow(sql`n.window_number`), sql`w.now`)})))),
        'percent', x.percent, 'isRefusal', 0, 'usedAt', iif(x.window_number = ${window}, w.now, x.at),
        'timezone', o.timezone) AS facts
    FROM (${cells}) c CROSS JOIN (SELECT CAST(${now} AS INTEGER) AS now) w
    CROSS JOIN limit_notices x ON x.${of(sql`c`)} AND x.organization = c.organization
      AND x.window_number = c.window_number
    CROSS JOIN organizations o ON o.number = x.organization AND o.deleted_at IS NULL
    LEFT JOIN usage_limits l ON l.number = x.usage_limit
    LEFT JOIN usage_limits_removed g ON g.number = x.usage_limit
    LEFT JOIN usage_limit_counters n ON n.${of(sql`x`)} AND n.organization = x.organization
      AND n.window_number = x.window_number AND n.is_known = 1 AND n.opened_seq >= ${countedSeq}
    LEFT JOIN usage_grant_accounts t ON ${isAccount(sql`x.organization`)}
    WHERE ${per} NOT IN ('minute', 'hour') AND x.window_number >= ${window}
      AND (l.number IS NULL OR ${isApplying} IS NOT TRUE
        OR (n.usage_limit IS NOT NULL AND NOT ${isUsedOfRaised(sql`min(x.percent, 100)`, sql`w.now`)}
          ${after === "change" ? sql`AND NOT ${isStillRejected}` : sql``}))
    WINDOW ranked AS (PARTITION BY x.usage_limit, x.organization, x.window_number ORDER BY x.percent DESC)`;
};

interface Clearing {
  readonly now: number;
  /** A void makes room in any case, and does nothing to limits whose highest untrue percentage is below 100. */
  readonly after: "void" | "change" | "grant";
}

/**
 * Writes an event for each of these limits that was reached and has room again, and deletes its notices of percentages that aren't used
 * anymore.
 *
 * @param cells Selects `usage_limit`, `organization` and `window_number`.
 */
export function clearNotices(cells: Statement, clearing: Clearing): Statement[] {
  const untrue = untrueNotices(cells, clearing);
  return [
    insertEvents("limit.cleared", {
      at: clearing.now,
      rows: sql`SELECT organization, facts FROM (${untrue})
        WHERE place = 1 AND highest >= 100 AND facts ->> '$.limit.id' IS NOT NULL`,
    }),
    sql`DELETE FROM limit_notices WHERE (usage_limit, organization, window_number, percent) IN
      (SELECT usage_limit, organization, window_number, percent FROM (${untrue})
        WHERE highest >= ${clearing.after === "void" ? 100 : 1})`,
  ];
}

/** Changed limits of one organization or of those of a plan, and how far they were checked. */
export interface LimitRecheck {
  readonly number: number;
  readonly organization: number | null;
  readonly plan: number | null;
  readonly nextOrganization: number;
  readonly nextLimit: number;
}

/** Finds the next one. @param of Only of this organization or plan. */
export function findLimitRecheck(
  database: DatabaseReader,
  of?: LimitOwner,
): Promise<LimitRecheck | undefined> {
  const isWanted = of === undefined
    ? sql`true`
    : of.column === "plan"
    ? sql`plan = ${of.number}`
    : sql`organization = ${of.number}`;
  return database.readFirst(sql`
    SELECT number, organization, plan, next_organization AS nextOrganization, next_limit AS nextLimit
    FROM limit_rechecks WHERE ${isWanted} ORDER BY number LIMIT 1`);
}

/** A condition: limits were changed and aren't checked yet. */
export const hasLimitRechecks = sql`EXISTS (SELECT 1 FROM limit_rechecks)`;

/** Moves a failed one to the end, so that others have their turn. */
export const postponeRecheck = ({ number }: LimitRecheck): Statement[] => [
  sql`INSERT OR REPLACE INTO limit_rechecks (organization, plan, next_organization, next_limit)
    SELECT organization, plan, next_organization, next_limit FROM limit_rechecks WHERE number = ${number}`,
  sql`DELETE FROM limit_rechecks WHERE number = ${number}`,
];

/** The current window of a limit. */
export type CurrentCell = readonly [usageLimit: number, organization: number, windowNumber: number];

/**
 * Finds the next limits to check: those that were noted in their current window, and those whose counter lacks usage of it.
 *
 * @param options `organizations`: how many are read at most. `limit`: how many cells.
 * @returns `next`: where to continue; null if these are the last ones.
 */
export async function findCellsToCheck(
  database: DatabaseReader,
  { organization, plan, nextOrganization, nextLimit }: LimitRecheck,
  { organizations, limit, now }: { organizations: number; limit: number; now: number },
): Promise<{ cells: CurrentCell[]; next: Pick<LimitRecheck, "nextOrganization" | "nextLimit"> | null }> {
  const isOne = plan === null ? sql`o.number = ${organization}` : sql`o.plan = ${plan}`;
  const time = sql`CAST(${now} AS INTEGER)`;
  const window = windowAt(time);
  const row = await database.readFirst<{ cells: string; last: number | null }>(sql`
    WITH part AS MATERIALIZED (SELECT o.number, o.timezone, o.plan, o.limits_seq FROM organizations o
      WHERE ${isOne} AND o.number >= ${nextOrganization} ORDER BY o.number LIMIT ${organizations})
    SELECT (SELECT number FROM part LIMIT 1 OFFSET ${organizations - 1}) AS last,
      (SELECT json_group_array(json_array(usage_limit, organization, window_number)) FROM (
        SELECT x.usage_limit, x.organization, x.window_number
        FROM part o CROSS JOIN limit_notices x ON ${isNoticeAround(time)}
          AND (x.organization, x.usage_limit) > (${nextOrganization}, ${nextLimit})
        LEFT JOIN usage_limits l ON l.number = x.usage_limit
        LEFT JOIN usage_limits_removed g ON g.number = x.usage_limit
        WHERE x.window_number = ${windowAt(time, per)}
        UNION
        SELECT l.number, o.number, ${window} FROM part o CROSS JOIN usage_limits l ON ${isApplied()}
          AND (o.number, l.number) > (${nextOrganization}, ${nextLimit})
        LEFT JOIN usage_limit_counters n ON n.usage_limit = l.number AND n.organization = o.number
          AND n.window_number = ${window} AND n.opened_seq >= ${countedSeq}
        WHERE n.is_known IS NOT 1 AND ${mayBeUsed(window, time)}
        ORDER BY 2, 1 LIMIT ${limit})) AS cells`);
  const cells: CurrentCell[] = JSON.parse(row?.cells ?? "[]");
  const [nextOfCells, organizationOfCells] = cells[limit - 1] ?? [];
  if (nextOfCells !== undefined && organizationOfCells !== undefined) {
    return { cells, next: { nextOrganization: organizationOfCells, nextLimit: nextOfCells } };
  }
  const last = row?.last ?? null;
  return { cells, next: last === null ? null : { nextOrganization: last + 1, nextLimit: 0 } };
}

const listed = (cells: readonly CurrentCell[]) =>
  sql`SELECT e.value ->> 0 AS usage_limit, e.value ->> 1 AS organization, e.value ->> 2 AS window_number
    FROM json_each(${JSON.stringify(cells)}) e`;

/** Opens counters of limits that apply, unless they are valid. Returns those that lack earlier usage. @param at A time in their windows. */
export async function openCells(
  database: Pick<Database, "write">,
  cells: readonly CurrentCell[],
  at: number,
): Promise<LimitCell[]> {
  const results = await database.write([
    sql`INSERT OR IGNORE INTO usage_limit_added
      (usage_limit, organization, window_number, at, sum_high, sum_low, sum_micro)
    SELECT c.usage_limit, c.organization, c.window_number, CAST(${at} AS INTEGER), 0, 0, 0 FROM (${
      listed(cells)
    }) c
    CROSS JOIN usage_limits l ON l.number = c.usage_limit
    CROSS JOIN organizations o ON o.number = c.organization AND l.property = '' AND ${isApplying}`,
    openCounters,
    sql`SELECT a.usage_limit AS usageLimit, a.organization, a.window_number AS windowNumber, a.at,
      coalesce(l.lineage, l.alert_lineage) AS lineage, l.product_slug AS productSlug, l.metric, l.per, o.timezone,
      n.opened_seq AS openedSeq
    FROM usage_limit_added a CROSS JOIN usage_limit_counters n ON n.${of(sql`a`)}
      AND n.organization = a.organization AND n.window_number = a.window_number AND NOT n.is_known
    CROSS JOIN usage_limits l ON l.number = a.usage_limit CROSS JOIN organizations o ON o.number = a.organization`,
    sql`DELETE FROM usage_limit_added`,
  ]);
  return results[2]?.rows as unknown as LimitCell[];
}

/** Clears those of these limits that have room again, and notes that they were checked, unless another server did. */
export async function clearCells(
  database: Pick<Database, "write">,
  { recheck, cells, next, now }: {
    recheck: LimitRecheck;
    cells: readonly CurrentCell[];
    next: Pick<LimitRecheck, "nextOrganization" | "nextLimit"> | null;
    now: number;
  },
): Promise<void> {
  const isHere = sql`number = ${recheck.number} AND next_organization = ${recheck.nextOrganization}
    AND next_limit = ${recheck.nextLimit}`;
  await database.write([
    ...(cells.length === 0 ? [] : clearNotices(listed(cells), { now, after: "change" })),
    next === null
      ? sql`DELETE FROM limit_rechecks WHERE ${isHere}`
      : sql`UPDATE limit_rechecks SET next_organization = ${next.nextOrganization}, next_limit = ${next.nextLimit}
        WHERE ${isHere}`,
  ]);
}
