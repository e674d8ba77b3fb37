// Digests of many sums: tables whose sums differ have the same digest once in hundreds of millions of times. A digest needs one pass
// and no sorting, so it costs a fraction of comparing sum by sum.
import { rollupHourMs, rollupQuarterMs } from "../../domain/limits.ts";
import { sumsComparedRowsMax } from "../../domain/stream_limits.ts";
import { lowBits } from "../../domain/meter/quantity.ts";
import { type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";
import { dimensionSumsNumber } from "./dimensions.ts";
import { testTotalsNumber } from "./environments.ts";
import { allMonths } from "./usage_sums.ts";

/** Digests are below this prime, so that products stay within 64 bits. No one records multiples of it, as of 2^31 − 1. */
const prime = 2 ** 31 - 19;
const p = integer(prime);

/** Each process draws its own numbers, so the next one finds what one happens to miss. */
const draw = () => integer(2 ** 28 + Math.floor(Math.random() * 2 ** 28));
const [bySeries, byOrganization, byTime, byQuantity] = [draw(), draw(), draw(), draw()] as const;

const quarterMs = integer(rollupQuarterMs);
const quartersAnHour = integer(rollupHourMs / rollupQuarterMs);

/** Series from `from` and below `until`. */
export interface SeriesRange {
  readonly from: number;
  readonly until: number;
  /** The share of all series up to here. */
  readonly share: number;
}

/** Yields ranges of series with a bounded number of sums of 15 minutes, or one series with more. Together they have all sums. */
export async function* seriesRanges(database: DatabaseReader): AsyncGenerator<SeriesRange> {
  const ends = (end: Statement) =>
    sql`SELECT ${end}(series) AS series FROM usage_rollups
    UNION ALL SELECT ${end}(series) FROM usage_rollups_hourly UNION ALL SELECT ${end}(id) FROM usage_series`;
  const { first, last } = await database.readFirst<{ first: number | null; last: number | null }>(sql`
    SELECT (SELECT min(series) FROM (${ends(sql`min`)})) AS first, (SELECT max(series) FROM (${
    ends(sql`max`)
  })) AS last`) ??
    { first: null, last: null };
  if (first === null || last === null) return;
  for (let from = first, until; from <= last; from = until) {
    const end = await database.readFirst<{ series: number }>(
      sql`SELECT series FROM usage_rollups WHERE series >= ${from} ORDER BY series LIMIT 1 OFFSET ${sumsComparedRowsMax}`,
    );
    until = end === undefined ? last + 1 : Math.max(from + 1, end.series);
    yield { from, until, share: (until - first) / (last + 1 - first) };
  }
}

/** The monthly sums `r` of a range of series `e`, which are found by month. */
export function monthlySums({ from, until }: SeriesRange): Statement {
  return sql`(SELECT id AS series, organization FROM usage_series WHERE id >= ${from} AND id < ${until}
      UNION ALL SELECT -id, ${
    integer(dimensionSumsNumber)
  } FROM usage_dimension_series WHERE id > ${-until} AND id <= ${-from}) e
    CROSS JOIN ${allMonths} m
    CROSS JOIN usage_rollups_monthly r ON r.month = m.month AND r.organization = e.organization AND r.series = e.series`;
}

/** Returns true if sums of 15 minutes, hours and months of some series match. They don't while some are being deleted. */
export async function haveSameRollups(database: DatabaseReader, range: SeriesRange): Promise<boolean> {
  const isIn = sql`r.series >= ${range.from} AND r.series < ${range.until} AND r.count <> 0`;
  const quarters = sql`${columns(sql`r.quarter / ${quartersAnHour}`)} FROM usage_rollups r WHERE ${isIn}`;
  const hourly = (time: Statement) => sql`${columns(time)} FROM usage_rollups_hourly r WHERE ${isIn}`;
  // One call is cheaper than one for the year and one for the month.
  const month = sql`CAST(strftime('%Y%m', r.hour * ${integer(rollupHourMs / 1000)}, 'unixepoch') AS INTEGER)`;
  const months = sql`${columns(sql`(1970 + r.month / 12) * 100 + r.month % 12 + 1`)}
    FROM ${monthlySums(range)} WHERE r.count <> 0`;
  return await digest(database, quarters) === await digest(database, hourly(sql`r.hour`)) &&
    await digest(database, hourly(month)) === await digest(database, months);
}

interface KeptRecords {
  readonly first: number;
  readonly last: number;
  /** The first quarter whose records are all kept. */
  readonly wholeFrom: number;
}

/** Returns true if kept records match the sums of 15 minutes, except for usage of deleted organizations. */
export async function haveSameRecords(
  database: DatabaseReader,
  { first, last, wholeFrom }: KeptRecords,
  onCompared: (share: number) => void,
): Promise<boolean> {
  const isKept = (organization: Statement) =>
    sql`${organization} NOT IN (0, ${integer(testTotalsNumber)}) AND abs(${organization}) NOT IN
      (SELECT number FROM organizations WHERE deleted_at IS NOT NULL)`;
  let difference = 0;
  for (let from = first, until; from <= last; from = until) {
    until = from + sumsComparedRowsMax;
    difference += await digest(
      database,
      sql`SELECT r.series, r.organization, r.timestamp / ${quarterMs} AS time, 1 AS count,
        r.quantity_whole % ${p} * 1000000 + r.quantity_micro AS millionths
      FROM usage_records r WHERE r.seq >= ${from} AND r.seq < ${until} AND r.timestamp >= ${
        wholeFrom * rollupQuarterMs
      }
        AND ${isKept(sql`r.organization`)} AND NOT EXISTS (SELECT 1 FROM usage_voids v WHERE v.seq = r.seq)`,
    );
    onCompared((Math.min(until, last + 1) - first) / (last + 1 - first) / 2);
  }
  for await (const { from, until, share } of seriesRanges(database)) {
    difference -= await digest(
      database,
      sql`${columns(sql`r.quarter`, sql`e.organization`)} FROM usage_series e CROSS JOIN usage_rollups r
        ON r.series = e.id AND r.quarter >= ${wholeFrom}
      WHERE e.id >= ${from} AND e.id < ${until} AND ${isKept(sql`e.organization`)} AND r.count <> 0`,
    );
    onCompared((1 + share) / 2);
  }
  return difference % prime === 0;
}

/** Selects what a digest needs of rollups `r`. */
function columns(time: Statement, organization: Statement = sql`0`): Statement {
  return sql`SELECT r.series, ${organization} AS organization, ${time} AS time, r.count,
    (r.sum_high % ${p} * ${integer(2 ** lowBits)} + r.sum_low) % ${p} * 1000000 + r.sum_micro AS millionths`;
}

/**
 * Multiplies a sum by its `place`, which is below the prime: by 0 only at 0. Without the second factor, differences at several places
 * could balance each other out.
 */
export const weight = sql`(place * ((place >> 16) | 1) % ${p})`;

/** @param rows With `series`, `organization`, a number `time`, `count`, and `millionths`, which may be reduced by the prime. */
async function digest(database: DatabaseReader, rows: Statement): Promise<number> {
  const row = await database.readFirst<{ digest: number }>(sql`
    SELECT coalesce(sum((millionths % ${p} * ${byQuantity} + count) % ${p} * ${weight} % ${p}), 0) % ${p} AS digest
    FROM (SELECT *, (series * ${bySeries} + organization * ${byOrganization} + time * ${byTime}) % ${p} AS place FROM (${rows}))`);
  return row?.digest ?? 0;
}
