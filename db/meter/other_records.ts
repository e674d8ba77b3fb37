// The SQL that finds which other records decide the minimum, the maximum and the latest record of a quarter of an hour, when one is
// voided. The reports thread reads all of them in steps and keeps the few that matter. The batch of the void reads these again.
import type { Environment } from "../../domain/environment.ts";
import { rollupQuarterMs } from "../../domain/limits.ts";
import { type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";
import { isLatest, isVoided } from "./counting.ts";
import { dimensionSumsNumber, seriesOfValue, valuesOfRecord } from "./dimensions.ts";
import { environmentOf, organizationOf, totalOf } from "./environments.ts";
import { millionths } from "./rollup_columns.ts";
import { positionsIn, type UsageRecordScan } from "./usage_records.ts";

const quarterMs = integer(rollupQuarterMs);

/** The other records that decide a quarter's minimum, maximum and latest record without a voided one, among those up to `cursor`. */
export interface OtherRecords {
  readonly cursor: number;
  readonly seqs: readonly number[];
  /** False if the rest wasn't read, because one is equal to the voided record wherever that is the minimum or maximum. */
  readonly isFull: boolean;
  /** The rollups of which retention has deleted records. */
  readonly partial: readonly number[];
  /** As in {@linkcode RecordRollup}. */
  readonly basis: string;
}

/**
 * Expressions for WITH: the row `record`, and the table `v` that has it once for each rollup that counts it: that of its series,
 * those of its values and that of its total.
 *
 * @param record Selects it from a table `r`.
 */
export const withRollups = (record: Statement): Statement =>
  sql`record AS MATERIALIZED (SELECT r.*, ${millionths} AS millionths FROM ${record}),
    v AS MATERIALIZED (
      SELECT record.*, series AS rollup, organization AS owner, NULL AS dimension, 0 AS unfilled_seq, false AS is_total
      FROM record
      UNION ALL SELECT record.*, s.total, ${totalOf(sql`record.organization`)}, NULL, 0, true
      FROM record CROSS JOIN usage_series s ON s.id = record.series
      UNION ALL SELECT record.*, -ds.id, ${
    integer(dimensionSumsNumber)
  }, d.number, d.unfilled_seq, false ${valuesOfRecord})`;

/** Names the rollups `v` of the record, with how far they are filled. When it changes, other records decide. */
export const basis = sql`(SELECT count(*) || ' ' || sum(unfilled_seq) FROM v)`;

/** A condition: `r` is another record that the rollup `v` counts in the same quarter, voided or not. @param seqs Selects records. */
export const isOther = (seqs: Statement): Statement =>
  sql`r.seq IN (${seqs}) AND r.seq <> v.seq AND +r.series = v.series
    AND r.timestamp / ${quarterMs} = v.timestamp / ${quarterMs}
    AND (v.dimension IS NULL OR v.rollup = (SELECT -ds.id FROM usage_dimensions d
      CROSS JOIN ${seriesOfValue(sql`r`)} WHERE d.number = v.dimension))`;

/** Selects the records of the series and quarter of a record that were recorded after one and up to another. */
export const recordedBetween = (seq: number, { after, last }: { after: number; last: number }): Statement =>
  sql`SELECT n.seq FROM usage_records t CROSS JOIN usage_records n ON n.series = t.series
      AND n.timestamp / ${quarterMs} = t.timestamp / ${quarterMs}
    WHERE t.seq = ${seq} AND n.seq > ${after} AND n.seq <= ${last}`;

/** Selects the records of a series in a scan that were recorded up to one. */
export const recordedInScan = (
  scan: UsageRecordScan,
  { series, last }: { series: number; last: number },
): Statement =>
  // The plus sign makes SQLite use the index for the order of the positions.
  sql`SELECT p.seq FROM (${positionsIn(scan, sql`AND +n.series = ${series} AND n.seq <= ${last}`)}) p`;

/** A rollup of the series or of a value of a record. */
export interface RecordRollup {
  readonly cursor: number;
  readonly series: number;
  readonly environment: Environment;
  /** Of the quarter, in milliseconds. */
  readonly start: number;
  /** The series of the rollup. */
  readonly rollup: number;
  readonly count: number;
  /** 1 if the record is its minimum or maximum, and others remain. */
  readonly isExtreme: 0 | 1;
  /** 1 for all rollups if the record is the latest of its series, where this matters. */
  readonly isLatest: 0 | 1;
  /** Changes when the record's rollups do. */
  readonly basis: string;
}

export interface RecordOfScan {
  readonly organizationId: string;
  readonly seq: number;
}

const recordOf = ({ organizationId, seq }: RecordOfScan) =>
  sql`usage_records r JOIN organizations o ON o.number = ${organizationOf(sql`r.organization`)}
    AND o.id = ${organizationId} WHERE r.seq = ${seq}`;

/** Returns the rollups of the series and values of a record; none if the record was deleted. */
export function findRecordRollups(database: DatabaseReader, record: RecordOfScan): Promise<RecordRollup[]> {
  return database.read(sql`
    WITH ${withRollups(recordOf(record))}
    SELECT c.seq AS cursor, v.series, ${environmentOf(sql`v.organization`)} AS environment,
      u.quarter * ${quarterMs} AS start, v.rollup, u.count,
      u.count > 1 AND (u.smallest = v.millionths OR u.largest = v.millionths) AS isExtreme,
      ${isLatest(sql`v`)} AS isLatest, ${basis} AS basis
    FROM v CROSS JOIN usage_rollups u ON u.series = v.rollup AND u.quarter = v.timestamp / ${quarterMs}
    CROSS JOIN usage_cursor c ON c.only_row = 1 WHERE NOT v.is_total`);
}

/** The records that decide among a part of the records of a quarter. */
export interface DecidingRecords {
  readonly seqs: readonly number[];
  /** The number of records that weren't voided, by rollup. */
  readonly counts: ReadonlyMap<number, number>;
  /** The rollups with a record of the same quantity. */
  readonly equals: readonly number[];
}

/**
 * Adds records to a part, and keeps those that decide. A record that decides is kept when it is voided, so that the batch of the void
 * finds it.
 */
export async function addOtherRecords(
  database: DatabaseReader,
  { record, part, step }: { record: RecordOfScan; part: DecidingRecords; step: Statement },
): Promise<DecidingRecords> {
  const kept = sql`SELECT value FROM json_each(${JSON.stringify(part.seqs)})`;
  const row = await database.readFirst<{ seqs: string; counts: string; equals: string }>(sql`
    WITH ${withRollups(recordOf(record))}, x AS MATERIALIZED (
      SELECT v.rollup, r.seq, r.timestamp, ${millionths} AS value, ${millionths} = v.millionths AS is_equal,
        r.seq IN (${kept}) AS is_kept
      FROM v CROSS JOIN usage_records r ON ${isOther(sql`${kept} UNION ALL ${step}`)}
        AND (r.seq IN (${kept}) OR NOT ${isVoided(sql`r.seq`)})
      WHERE NOT v.is_total
    )
    SELECT (SELECT json_group_array(DISTINCT seq) FROM (
        SELECT seq, min(value) FROM x GROUP BY rollup
        UNION ALL SELECT seq, max(value) FROM x GROUP BY rollup
        UNION ALL SELECT min(seq), 0 FROM x WHERE is_equal GROUP BY rollup
        UNION ALL SELECT * FROM (SELECT seq, 0 FROM x ORDER BY timestamp DESC, seq DESC LIMIT 1))) AS seqs,
      (SELECT json_group_array(json_array(rollup, count)) FROM (
        SELECT rollup, sum(NOT is_kept) AS count FROM x GROUP BY rollup)) AS counts,
      (SELECT json_group_array(DISTINCT rollup) FROM x WHERE is_equal) AS equals`);
  const { seqs = "[]", counts: added = "[]", equals = "[]" } = row ?? {};
  const counts = new Map(part.counts);
  for (const [rollup, count] of JSON.parse(added)) counts.set(rollup, (counts.get(rollup) ?? 0) + count);
  return { seqs: JSON.parse(seqs), counts, equals: JSON.parse(equals) };
}
