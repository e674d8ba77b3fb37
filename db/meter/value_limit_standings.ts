// The SQL of where limits per value stand.
import { lowBits, sumMicros, type SumParts } from "../../domain/meter/quantity.ts";
import type { LimitUsage } from "../../domain/meter/limit_window.ts";
import { closestValuesMax } from "../../domain/meter/value_limit.ts";
import { type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";
import { beyondList, heldSums, parseHeld, sumTexts, text, windowOfHold } from "./hold_counts.ts";
import { isApplied, windowAt } from "./usage_limits.ts";
import {
  counterOf,
  counterSince,
  countsFrom,
  isCounter,
  joinException,
  quantityOf,
  selectHeldOfValue,
  untakenHolds,
  valueIn,
} from "./value_limits.ts";

/** The window of a limit per value. */
export interface ValueWindow {
  readonly usageLimit: number;
  readonly organization: number;
  readonly windowNumber: number;
}

interface ValueStandingRow
  extends
    SumParts,
    ValueWindow,
    NonNullable<LimitUsage["ofValue"]>,
    Pick<LimitUsage, "limitId" | "productSlug" | "metric" | "per" | "mode" | "timezone"> {
  /** Null if the value has no limit. */
  readonly whole: string | null;
  readonly millionths: string | null;
  /** JSON for {@linkcode parseHeld}. */
  readonly held: string;
  /** JSON of what holds take that the limit hasn't taken over, in the parts of a sum. */
  readonly untaken: string;
}

export interface ValueQuery {
  readonly organizationId: string;
  /** The key whose limits are asked for. None apply to a test key. */
  readonly apiKeyId?: string | undefined;
  /** Only limits that count this product and metric. */
  readonly series?: { readonly productSlug: string; readonly metric: string } | undefined;
  readonly properties: Readonly<Record<string, string>> | null;
  /** Without a property, its limit counts for `(none)`; otherwise, it is one of `others`. */
  readonly isComplete: boolean;
  readonly now: number;
}

/**
 * Selects by counter what active holds take that the limit `l` of the organization `o` hasn't taken over.
 *
 * @param joined Joins the two, unless a query around this one does. @param window Its number.
 */
const selectUntaken = (joined: Statement, window: Statement, now: Statement) =>
  sql`SELECT s.usage_limit, s.organization, s.window_number, ${counterOf} AS value, s.held_high, s.held_low, s.held_micro
    FROM (SELECT l.number AS usage_limit, o.number AS organization, ${window} AS window_number,
        ${valueIn(sql`p.value -> 4`, sql`l`)} AS value, ${heldSums}
      FROM (SELECT 1) ${joined} CROSS JOIN ${untakenHolds(window, now)} GROUP BY 1, 2, 3, 4) s`;

/** Selects {@linkcode ValueStandingRow}s of counters, which may not exist. @param counters Has the rows `g`. */
const selectStandings = (counters: Statement, now: Statement) =>
  sql`SELECT g.usage_limit AS usageLimit, g.organization, g.window_number AS windowNumber, l.id AS limitId,
      nullif(l.product_slug, '') AS productSlug, nullif(l.metric, '') AS metric, l.per, l.mode, l.property AS "by",
      g.value, ${countsFrom} AS countsFrom,
      CAST(${quantityOf.whole} AS TEXT) AS whole, CAST(${quantityOf.micro} AS TEXT) AS millionths, o.timezone,
      ${selectHeldOfValue(now)} AS held, (SELECT ${sumTexts((part) => sql`sum(u.held_${part})`)}
        FROM (${selectUntaken(sql``, sql`g.window_number`, now)}) u WHERE u.value = g.value) AS untaken,
      ${text(sql`n.sum_high`)} AS high, ${text(sql`n.sum_low`)} AS low, ${text(sql`n.sum_micro`)} AS micro
    FROM ${counters} CROSS JOIN usage_limits l ON l.number = g.usage_limit
    CROSS JOIN organizations o ON o.number = g.organization ${joinException(sql`g`)}
    LEFT JOIN usage_value_counters n ON ${isCounter(sql`n`, sql`g`)}`;

/** Finds where the values of some properties stand in the limits that apply, and the limits without such a value. */
export async function findValueStandings(
  database: DatabaseReader,
  { organizationId, apiKeyId, series, properties, isComplete, now }: ValueQuery,
): Promise<{ standings: LimitUsage[]; others: ValueWindow[] }> {
  const applied = isApplied({
    counts: "values",
    ...(series && { series: { productSlug: sql`${series.productSlug}`, metric: sql`${series.metric}` } }),
  });
  const given = sql`SELECT o.number AS organization, l.number AS usage_limit, ${
    windowAt(sql`w.now`)
  } AS window_number, ${valueIn(sql`${JSON.stringify(properties ?? {})}`, sql`l`)} AS value
    FROM organizations o CROSS JOIN (SELECT CAST(${now} AS INTEGER) AS now) w CROSS JOIN usage_limits l ON ${applied}
    WHERE o.id = ${organizationId} AND NOT EXISTS (
      SELECT 1 FROM api_keys k WHERE k.id = ${apiKeyId ?? null} AND k.environment = 'test')`;
  const rows = await database.read<ValueStandingRow>(selectStandings(
    sql`(SELECT s.usage_limit, s.organization, s.window_number, ${counterOf} AS value FROM (${given}) s) g`,
    sql`CAST(${now} AS INTEGER)`,
  ));
  const isGiven = ({ by }: ValueStandingRow) => isComplete || Object.hasOwn(properties ?? {}, by);
  return {
    standings: rows.filter(isGiven).flatMap((row) => toLimitUsage(row, now)),
    others: rows.filter((row) => !isGiven(row)),
  };
}

/** Finds the values of a limit that are closest to it. Reads all values of the window. */
export async function findClosestValues(
  database: DatabaseReader,
  { usageLimit, organization, windowNumber }: ValueWindow,
  now: number,
): Promise<LimitUsage[]> {
  const time = sql`CAST(${now} AS INTEGER)`;
  const sum = (part: Statement) => sql`sum(c.${part})`;
  const untaken = selectUntaken(
    sql`CROSS JOIN usage_limits l ON l.number = ${usageLimit} CROSS JOIN organizations o ON o.number = ${organization}`,
    sql`CAST(${windowNumber} AS INTEGER)`,
    time,
  );
  const rows = await database.read<ValueStandingRow>(selectStandings(
    sql`(SELECT c.usage_limit, c.organization, c.window_number, c.value
      FROM (SELECT usage_limit, organization, window_number, value, sum_high + held_high AS high,
          sum_low + held_low AS low, sum_micro + held_micro AS micro FROM usage_value_counters
          WHERE usage_limit = ${usageLimit} AND organization = ${organization} AND window_number = ${windowNumber}
        UNION ALL ${untaken}) c
      CROSS JOIN usage_limits l ON l.number = c.usage_limit ${joinException(sql`c`)}
      WHERE ${quantityOf.whole} IS NOT NULL GROUP BY c.value
      ORDER BY coalesce((${sum(sql`high`)} * ${integer(2 ** lowBits)}.0 + ${sum(sql`low`)} + ${
      sum(sql`micro`)
    } / 1e6)
        / (${quantityOf.whole} + ${quantityOf.micro} / 1e6), 9e99) DESC, c.value
      LIMIT ${integer(closestValuesMax)}) g`,
    time,
  ));
  return rows.flatMap((row) => toLimitUsage(row, now));
}

/** As `selectBeyond`, of limits per value: the values of a settlement that share a counter exceed it once. */
export const selectBeyondOfValues = (holds: Statement, now: Statement): Statement =>
  sql`SELECT ${beyondList(selectHeldOfValue(now), quantityOf)} AS list
    FROM (
      SELECT s.id, s.organization, s.usage_limit, s.window_number, ${
    counterSince(sql`s`, sql`s.first_seq`)
  } AS value,
        sum(s.held_high) AS held_high, sum(s.held_low) AS held_low, sum(s.held_micro) AS held_micro
      FROM (
        SELECT h.id, h.first_seq, o.number AS organization, l.number AS usage_limit, ${windowOfHold} AS window_number,
          ${valueIn(sql`p.value -> 4`, sql`l`)} AS value, ${heldSums}
        FROM ${holds} CROSS JOIN organizations o ON o.number = h.organization
        CROSS JOIN json_each(coalesce(h.settlement, '[]')) p CROSS JOIN usage_limits l ON ${
    isApplied({
      lineage: sql`h.lineage`,
      series: { productSlug: sql`(p.value ->> 0)`, metric: sql`(p.value ->> 1)` },
      counts: "values",
    })
  } AND l.mode <> 'soft' GROUP BY 1, 2, 3, 4, 5, 6
      ) s GROUP BY 1, 2, 3, 4, 5
    ) d CROSS JOIN usage_limits l ON l.number = d.usage_limit
    CROSS JOIN usage_value_counters n ON ${isCounter(sql`n`, sql`d`)} ${joinException(sql`d`)}
    WHERE ${quantityOf.whole} IS NOT NULL`;

function toLimitUsage(row: ValueStandingRow, at: number): LimitUsage[] {
  const { by, value, countsFrom, whole, millionths, held, untaken, high, low, micro, ...limit } = row;
  if (whole === null || millionths === null) return [];
  const taken: [string, string, string] = JSON.parse(untaken);
  return [{
    ...limit,
    micros: sumMicros({ high: "0", low: whole, micro: millionths }),
    usedMicros: sumMicros({ high, low, micro }),
    heldMicros: sumMicros(parseHeld(JSON.parse(held))) + sumMicros(parseHeld([...taken, null])),
    at,
    ofValue: { by, value, countsFrom },
  }];
}
