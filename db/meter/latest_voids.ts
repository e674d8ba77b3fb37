// The SQL that keeps the latest record of a series right when it is voided. Which record remains is found beforehand, like extremes.
import { rollupQuarterMs } from "../../domain/limits.ts";
import { integer, sql, type Statement } from "../engine/database.ts";
import { isAggregationOf } from "./counting.ts";

const quarterMs = integer(rollupQuarterMs);

/** The order of the record `r` among those of its quarter, as a text of digits. */
export const latestOrder = sql`format('%015d%016d', r.timestamp, r.seq)`;

/** Stands for a latest record that is unknown: after all records of the quarter. @param start Of the quarter, in milliseconds. */
export function unknownLatest(start: number): string {
  return String(start + rollupQuarterMs).padStart(15, "0") + "0".repeat(16);
}

/** A condition: the record `r` is the latest of its series in its quarter, where this matters. */
export const isLatest = (r: Statement): Statement =>
  sql`EXISTS (SELECT 1 FROM usage_series s CROSS JOIN usage_aggregations g ON ${isAggregationOf} AND g.aggregation = 'last'
    CROSS JOIN usage_latest l ON l.aggregation = g.number AND l.series = s.id AND l.quarter = ${r}.timestamp / ${quarterMs}
    WHERE s.id = ${r}.series AND l.seq = ${r}.seq)`;

/**
 * Replaces the latest record by one that remains, after another was voided.
 *
 * @param options `remaining`: the order of the latest one known, a text, empty without one; and its `seq`. `recent`: a condition of
 *   records `r` that may be later. `condition`: true if this batch voided the record.
 */
export function replaceLatest(
  { seq, remaining, recent, condition }: {
    seq: number;
    remaining: { readonly value: string; readonly seq: number } | null;
    recent: Statement;
    condition: Statement;
  },
): Statement[] {
  const isUnknown = remaining !== null && remaining.value !== "" && remaining.seq === 0;
  const record =
    sql`(SELECT r.*, g.number AS aggregation FROM usage_records r JOIN usage_series s ON s.id = r.series
    CROSS JOIN usage_aggregations g ON ${isAggregationOf} AND g.aggregation = 'last' WHERE r.seq = ${seq})`;
  const candidates = sql`SELECT r.timestamp, r.seq, r.quantity_whole, r.quantity_micro FROM usage_records r
    WHERE (r.seq = ${remaining?.seq ?? 0} OR (${recent})) AND r.series = v.series
      AND r.timestamp / ${quarterMs} = v.timestamp / ${quarterMs}
      AND NOT EXISTS (SELECT 1 FROM usage_voids w WHERE w.seq = r.seq)`;
  const insert = sql`INSERT INTO usage_latest
    (aggregation, series, quarter, timestamp, seq, quantity_whole, quantity_micro)`;
  return [
    sql`DELETE FROM usage_latest AS l WHERE (l.aggregation, l.series, l.quarter) IN
        (SELECT v.aggregation, v.series, v.timestamp / ${quarterMs} FROM ${record} v)
      AND (l.seq = ${seq} OR NOT EXISTS (SELECT 1 FROM usage_rollups u
        WHERE u.series = l.series AND u.quarter = l.quarter AND u.count > 0)) AND ${condition}`,
    isUnknown
      ? sql`${insert} SELECT v.aggregation, v.series, v.timestamp / ${quarterMs},
          (v.timestamp / ${quarterMs} + 1) * ${quarterMs}, 0, 0, 0 FROM ${record} v WHERE changes() > 0`
      : sql`${insert} SELECT v.aggregation, v.series, v.timestamp / ${quarterMs}, b.timestamp, b.seq, b.quantity_whole,
          b.quantity_micro
        FROM ${record} v JOIN usage_records b ON b.seq = (SELECT c.seq FROM (${candidates}) c
          ORDER BY c.timestamp DESC, c.seq DESC LIMIT 1)
        WHERE changes() > 0`,
  ];
}
