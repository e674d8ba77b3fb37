// Finds the other records of a quarter of an hour that decide its minimum, maximum and latest record, for a void. The reports thread does
// it, because 15 minutes may have any number of records.
import {
  addOtherRecords,
  type DecidingRecords,
  findRecordRollups,
  type OtherRecords,
  recordedBetween,
  recordedInScan,
  type RecordRollup,
} from "../../../db/meter/other_records.ts";
import { endOfScan, type UsageRecordPosition } from "../../../db/meter/usage_records.ts";
import { rollupQuarterMs, usageRecordScanMax } from "../../../domain/limits.ts";
import type { JobContext, JobScope } from "../../reports/job_context.ts";

export type VoidedRecord = JobScope & { readonly seq: number };

interface Reading {
  readonly record: VoidedRecord;
  /** The record's rollups at the beginning. Not empty. */
  readonly rollups: readonly RecordRollup[];
  readonly first: RecordRollup;
  /** Records that one step reads. */
  readonly recordsMax: number;
}

/** Returns null if the record no longer exists, or if it must be repeated because others were voided at the same time. */
export async function findOtherRecords(
  context: JobContext,
  record: VoidedRecord,
  { recordsMax = usageRecordScanMax } = {},
): Promise<OtherRecords | null> {
  const rollups = await findRecordRollups(context.database, record);
  const [first] = rollups;
  if (first === undefined) return null;
  const reading = { record, rollups, first, recordsMax };
  const part = await readQuarter(context, reading);
  const { cursor, basis } = first;
  return isDecided(reading, part)
    ? { cursor, seqs: part.seqs, isFull: false, partial: [], basis }
    : await addRecent(context, reading, part);
}

/** Reads the records, newest first, until they decide. */
async function readQuarter(context: JobContext, reading: Reading): Promise<DecidingRecords> {
  const { database } = context;
  const { record, first: { series, start, cursor, environment }, recordsMax } = reading;
  const oldest: UsageRecordPosition = { timestamp: start, series: 0, seq: 0 };
  let before: UsageRecordPosition | undefined = { timestamp: start + rollupQuarterMs, series: 0, seq: 0 };
  let part: DecidingRecords = { seqs: [], counts: new Map(), equals: [] };
  while (before !== undefined && !isDecided(reading, part)) {
    const scan = {
      organizationId: record.organizationId,
      filter: { environment },
      from: oldest,
      before,
    };
    const last = await endOfScan(database, { ...scan, recordsMax });
    const step = recordedInScan({ ...scan, from: last ?? oldest }, { series, last: cursor });
    part = await addOtherRecords(database, { record, part, step });
    before = last;
    await context.pause();
  }
  return part;
}

/** True if a record has the same quantity wherever this one is the minimum or maximum: it replaces it, regardless of the others. */
function isDecided({ rollups }: Reading, { equals }: DecidingRecords): boolean {
  return rollups.every(({ rollup, isExtreme, isLatest }) =>
    isLatest === 0 && (isExtreme === 0 || equals.includes(rollup))
  );
}

/** Adds the records recorded meanwhile to those of the whole quarter. */
async function addRecent(
  context: JobContext,
  { record, rollups, first: { cursor: start, basis }, recordsMax }: Reading,
  whole: DecidingRecords,
): Promise<OtherRecords | null> {
  const { database } = context;
  let [part, cursor] = [whole, start];
  for (;;) {
    const now = await findRecordRollups(database, record);
    const [current] = now;
    if (current === undefined) return null;
    const last = Math.min(current.cursor, cursor + recordsMax);
    const step = recordedBetween(record.seq, { after: cursor, last });
    part = await addOtherRecords(database, { record, part, step });
    cursor = last;
    if (cursor < current.cursor) {
      await context.pause();
      continue;
    }
    // Some of these rollups' records weren't found: retention has deleted them, unless they were voided meanwhile.
    const partial = rollups.filter(({ rollup, count }) => (whole.counts.get(rollup) ?? 0) + 1 < count);
    const isVoidedMeanwhile = partial.some(({ rollup, count }) => {
      const added = (part.counts.get(rollup) ?? 0) - (whole.counts.get(rollup) ?? 0);
      return now.find((one) => one.rollup === rollup)?.count !== count + added;
    });
    if (isVoidedMeanwhile) return null;
    return { cursor, seqs: part.seqs, isFull: true, partial: partial.map(({ rollup }) => rollup), basis };
  }
}
