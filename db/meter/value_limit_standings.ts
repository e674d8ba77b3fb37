// The SQL of where limits per value stand.
import { lowBits, sumMicros, type SumParts } from "../../domain/meter/quantity.ts";
import type { LimitUsage } from "../../domain/meter/limit_window.ts";
import type { LimitMode, LimitPeriod } from "../../domain/meter/usage_limit.ts";
import { closestValuesMax, limitValuesMax } from "../../domain/meter/value_limit.ts";
import { type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";
import { heldSums, parseHeld, windowOfHold } from "./hold_counts.ts";
import { ahead, isApplied, windowNumber } from "./usage_limits.ts";
import { countsFrom, selectHeldOfValue, valueIn } from "./value_limits.ts";

/** The window of a limit per value. */
export interface ValueWindow {
  readonly usageLimit: number;
  readonly organization: number;
  readonly windowNumber: number;
}

interface ValueStandingRow extends SumParts, ValueWindow {
  readonly limitId: string;
  readonly productSlug: string;
  readonly metric: string;
  readonly per: LimitPeriod;
  readonly mode: LimitMode;
  readonly by: string;
  readonly value: string;
  readonly countsFrom: number;
  /** Null if the value has no limit. */
  readonly whole: string | null;
  readonly millionths: string | null;
  readonly timezone: string;
  /** JSON for {@linkcode parseHeld}. */
  readonly held: string;
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

const text = (part: Statement) => sql`CAST(coalesce(${part}, 0) AS TEXT)`;

/** Selects {@linkcode ValueStandingRow}s of counters, which may not exist. @param counters Has the rows `g`. */
const selectStandings = (counters: Statement, now: number) =>
  sql`SELECT g.usage_limit AS usageLimit, g.organization, g.window_number AS windowNumber, l.id AS limitId,
      l.product_slug AS productSlug, l.metric, l.per, l.mode, l.property AS "by", g.value, ${countsFrom} AS countsFrom,
      CAST(iif(x.value IS NULL, l.quantity_whole, x.quantity_whole) AS TEXT) AS whole,
      CAST(iif(x.value IS NULL, l.quantity_micro, x.quantity_micro) AS TEXT) AS millionths, o.timezone,
      ${selectHeldOfValue(sql`CAST(${now} AS INTEGER)`)} AS held, ${text(sql`n.sum_high`)} AS high,
      ${text(sql`n.sum_low`)} AS low, ${text(sql`n.sum_micro`)} AS micro
    FROM ${counters} CROSS JOIN usage_limits l ON l.number = g.usage_limit
    CROSS JOIN organizations o ON o.number = g.organization
    LEFT JOIN usage_limit_exceptions x ON x.usage_limit = g.usage_limit AND x.value = g.value
    LEFT JOIN usage_value_counters n ON n.usage_limit = g.usage_limit AND n.organization = g.organization
      AND n.window_number = g.window_number AND n.value = g.value`;

/** Finds where the values of some properties stand in the limits that apply, and the limits without such a value. */
export async function findValueStandings(
  database: DatabaseReader,
  { organizationId, apiKeyId, series, properties, isComplete, now }: ValueQuery,
): Promise<{ standings: LimitUsage[]; others: ValueWindow[] }> {
  const applied = isApplied({
    counts: "values",
    ...(series && { series: { productSlug: sql`${series.productSlug}`, metric: sql`${series.metric}` } }),
  });
  const isOf =
    sql`c.usage_limit = a.usage_limit AND c.organization = a.organization AND c.window_number = a.window_number`;
  const given = sql`SELECT o.number AS organization, l.number AS usage_limit, ${
    windowNumber(sql`l.per`, sql`w.now`, ahead(sql`o.timezone`, sql`w.now`))
  } AS window_number, coalesce(${JSON.stringify(properties ?? {})} ->> l.property, '(none)') AS given
    FROM organizations o CROSS JOIN (SELECT CAST(${now} AS INTEGER) AS now) w CROSS JOIN usage_limits l ON ${applied}
    WHERE o.id = ${organizationId} AND NOT EXISTS (
      SELECT 1 FROM api_keys k WHERE k.id = ${apiKeyId ?? null} AND k.environment = 'test')`;
  const rows = await database.read<ValueStandingRow>(selectStandings(
    sql`(SELECT a.*, iif(EXISTS (SELECT 1 FROM usage_value_counters c WHERE ${isOf} AND c.value = a.given)
        OR EXISTS (SELECT 1 FROM usage_limit_exceptions e WHERE e.usage_limit = a.usage_limit AND e.value = a.given)
        OR coalesce((SELECT c.counters FROM usage_value_windows c WHERE ${isOf}), 0) < ${
      integer(limitValuesMax)
    },
      a.given, '(other)') AS value FROM (${given}) a) g`,
    now,
  ));
  const isGiven = ({ by }: ValueStandingRow) => isComplete || Object.hasOwn(properties ?? {}, by);
  return {
    standings: rows.filter(isGiven).flatMap((row) => toLimitUsage(row, now)),
    others: rows.filter((row) => !isGiven(row)).map(({ usageLimit, organization, windowNumber }) => ({
      usageLimit,
      organization,
      windowNumber,
    })),
  };
}

/** Finds the values of a limit that are closest to it. Reads all values of the window. */
export async function findClosestValues(
  database: DatabaseReader,
  { usageLimit, organization, windowNumber }: ValueWindow,
  now: number,
): Promise<LimitUsage[]> {
  const part = (name: Statement) => sql`(c.sum_${name} + c.held_${name})`;
  const rows = await database.read<ValueStandingRow>(selectStandings(
    sql`(SELECT c.usage_limit, c.organization, c.window_number, c.value,
        (${part(sql`high`)} * ${integer(2 ** lowBits)}.0 + ${part(sql`low`)} + ${part(sql`micro`)} / 1e6)
          / iif(e.value IS NULL, l.quantity_whole + l.quantity_micro / 1e6, e.quantity_whole + e.quantity_micro / 1e6) AS part
      FROM usage_limits l CROSS JOIN usage_value_counters c ON c.usage_limit = l.number AND c.organization = ${organization}
        AND c.window_number = ${windowNumber}
      LEFT JOIN usage_limit_exceptions e ON e.usage_limit = l.number AND e.value = c.value
      WHERE l.number = ${usageLimit} AND (e.value IS NULL OR e.quantity_whole IS NOT NULL)
      ORDER BY coalesce(part, 9e99) DESC, c.value LIMIT ${integer(closestValuesMax)}) g`,
    now,
  ));
  return rows.flatMap((row) => toLimitUsage(row, now));
}

/** As `selectBeyond`, of limits per value. */
export const selectBeyondOfValues = (holds: Statement, now: Statement): Statement => {
  const ofCounter = (name: Statement) =>
    sql`${name}.usage_limit = d.usage_limit AND ${name}.organization = d.organization AND ${name}.window_number = d.window_number`;
  return sql`SELECT json_group_array(json_object('id', d.id, 'limitId', l.id,
      'own', json_array(${text(sql`d.held_high`)}, ${text(sql`d.held_low`)}, ${text(sql`d.held_micro`)}),
      'used', json_array(${text(sql`n.sum_high`)}, ${text(sql`n.sum_low`)}, ${text(sql`n.sum_micro`)}),
      'held', ${
    selectHeldOfValue(now)
  }, 'whole', CAST(iif(x.value IS NULL, l.quantity_whole, x.quantity_whole) AS TEXT),
      'micro', CAST(iif(x.value IS NULL, l.quantity_micro, x.quantity_micro) AS TEXT))) AS list
    FROM (
      SELECT h.id, o.number AS organization, l.number AS usage_limit, ${windowOfHold} AS window_number,
        ${valueIn(sql`p.value -> 4`, sql`l`)} AS value, ${heldSums}
      FROM ${holds} CROSS JOIN organizations o ON o.number = h.organization
      CROSS JOIN json_each(coalesce(h.settlement, '[]')) p CROSS JOIN usage_limits l ON ${
    isApplied({
      lineage: sql`h.lineage`,
      series: { productSlug: sql`(p.value ->> 0)`, metric: sql`(p.value ->> 1)` },
      counts: "values",
    })
  } AND l.mode <> 'soft' GROUP BY 1, 2, 3, 4, 5
    ) d CROSS JOIN usage_limits l ON l.number = d.usage_limit
    CROSS JOIN usage_value_counters n ON ${ofCounter(sql`n`)} AND n.value = iif(EXISTS (
      SELECT 1 FROM usage_value_counters c WHERE ${
    ofCounter(sql`c`)
  } AND c.value = d.value), d.value, '(other)')
    LEFT JOIN usage_limit_exceptions x ON x.usage_limit = d.usage_limit AND x.value = n.value
    WHERE x.value IS NULL OR x.quantity_whole IS NOT NULL`;
};

function toLimitUsage(row: ValueStandingRow, at: number): LimitUsage[] {
  const { limitId, per, mode, timezone, by, value, countsFrom, whole, millionths, high, low, micro } = row;
  if (whole === null || millionths === null) return [];
  return [{
    limitId,
    productSlug: row.productSlug || null,
    metric: row.metric || null,
    per,
    mode,
    micros: sumMicros({ high: "0", low: whole, micro: millionths }),
    usedMicros: sumMicros({ high, low, micro }),
    heldMicros: sumMicros(parseHeld(JSON.parse(row.held))),
    at,
    timezone,
    ofValue: { by, value, countsFrom },
  }];
}
