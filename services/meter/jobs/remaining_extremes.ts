// Finds the minimum and maximum that remain when a record is voided. The reports thread does it, because 15 minutes may have
// any number of records.
import { endOfScan, type UsageRecordPosition } from "../../../db/meter/usage_records.ts";
import {
  type CountedExtremes,
  type Extreme,
  extremesOfRecent,
  extremesOfScan,
  findRecordInRollups,
  type RecordInRollup,
  type RemainingExtremes,
  unknownMaximum,
  unknownMinimum,
} from "../../../db/meter/usage_voids.ts";
import { unknownLatest } from "../../../db/meter/latest_voids.ts";
import { rollupQuarterMs, usageRecordScanMax } from "../../../domain/limits.ts";
import type { JobContext, JobScope } from "../../reports/job_context.ts";

export type VoidedRecord = JobScope & { readonly seq: number };

/**
 * Returns the extremes of the other records of the same 15 minutes, for the rollups of its series and values that the record may be an
 * extreme of, or null if the record no longer exists.
 */
export async function findRemainingExtremes(
  context: JobContext,
  record: VoidedRecord,
): Promise<RemainingExtremes[] | null> {
  const found: RemainingExtremes[] = [];
  let rollups = await findRecordInRollups(context.database, record);
  if (rollups.length === 0) return null;
  for (
    const { rollup } of rollups.filter(({ isSmallest, isLargest, isLatest }) =>
      isSmallest + isLargest + isLatest > 0
    )
  ) {
    for (;;) {
      const current = rollups.find((one) => one.rollup === rollup);
      if (current === undefined) return null;
      const scanned = await scanRollup(context, record, current);
      const remaining = "cursor" in scanned
        ? scanned
        : await addRecent(context, record, { rollup: current, scanned });
      if (remaining !== null) {
        found.push(remaining);
        break;
      }
      rollups = await findRecordInRollups(context.database, record);
    }
  }
  return found;
}

/** Scans the records, newest first. Returns the result if an equal record is found early, or the extremes of all. */
async function scanRollup(
  context: JobContext,
  { organizationId, seq }: VoidedRecord,
  of: RecordInRollup,
): Promise<RemainingExtremes | CountedExtremes> {
  const { database } = context;
  const { rollup, environment, start, cursor, value, isSmallest, isLargest, isLatest } = of;
  const oldest: UsageRecordPosition = { timestamp: start, series: 0, seq: 0 };
  let before: UsageRecordPosition | undefined = { timestamp: start + rollupQuarterMs, series: 0, seq: 0 };
  let all: CountedExtremes = { count: 0, smallest: none, largest: none, latest: none };
  while (before !== undefined) {
    const step = { organizationId, filter: { environment }, from: oldest, before };
    const last = await endOfScan(database, { ...step, recordsMax: usageRecordScanMax });
    const scan = { ...step, from: last ?? oldest };
    all = combine(all, await extremesOfScan(database, { scan, of, seq, last: cursor }));
    // A record with the same value replaces it, regardless of the others.
    const { smallest, largest } = all;
    if (
      isLatest === 0 && (isSmallest === 0 || smallest.value === value) &&
      (isLargest === 0 || largest.value === value)
    ) {
      return {
        rollup,
        cursor,
        smallest: isSmallest === 0 ? null : smallest,
        largest: isLargest === 0 ? null : largest,
        latest: null,
      };
    }
    before = last;
    await context.pause();
  }
  return all;
}

/** Adds the records recorded during the scan. Returns null to repeat it: others were voided, or this one was deleted. */
async function addRecent(
  context: JobContext,
  record: VoidedRecord,
  { rollup, scanned }: { rollup: RecordInRollup; scanned: CountedExtremes },
): Promise<RemainingExtremes | null> {
  const { database } = context;
  const { start } = rollup;
  // Retention has deleted some of the rollup's records, so their values are unknown.
  const isPartial = scanned.count + 1 < rollup.count;
  let all = scanned;
  for (let cursor = rollup.cursor;;) {
    const rollups = await findRecordInRollups(database, record);
    const now = rollups.find((one) => one.rollup === rollup.rollup);
    if (now === undefined) return null;
    const last = Math.min(now.cursor, cursor + usageRecordScanMax);
    all = combine(all, await extremesOfRecent(database, { of: rollup, start, after: cursor, last }));
    cursor = last;
    if (cursor < now.cursor) {
      await context.pause();
      continue;
    }
    const latest = rollup.isLatest === 0 ? null : all.latest;
    if (!isPartial) {
      return { rollup: rollup.rollup, cursor, smallest: all.smallest, largest: all.largest, latest };
    }
    if (now.count - rollup.count !== all.count - scanned.count) return null;
    return {
      rollup: rollup.rollup,
      cursor,
      smallest: all.smallest.value === rollup.value
        ? all.smallest
        : { value: String(unknownMinimum), seq: 0 },
      largest: all.largest.value === rollup.value ? all.largest : { value: String(unknownMaximum), seq: 0 },
      latest: latest && { value: unknownLatest(start), seq: 0 },
    };
  }
}

const none: Extreme = { value: "", seq: 0 };

function combine(a: CountedExtremes, b: CountedExtremes): CountedExtremes {
  return {
    count: a.count + b.count,
    smallest: better(a.smallest, b.smallest, (x, y) => x < y),
    largest: better(a.largest, b.largest, (x, y) => x > y),
    latest: better(a.latest, b.latest, (x, y) => x > y),
  };
}

function better(a: Extreme, b: Extreme, isBetter: (x: bigint, y: bigint) => boolean): Extreme {
  if (a.value === "" || b.value === "") return a.value === "" ? b : a;
  return isBetter(BigInt(b.value), BigInt(a.value)) ? b : a;
}
