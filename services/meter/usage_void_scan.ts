// What takes the place of a quarter's smallest or largest record when that is voided: looked for on the reports thread,
// because a quarter of an hour may have any number of records.
import { endOfLook, type UsageRecordPosition, type UsageRecordScan } from "../../db/meter/usage_records.ts";
import {
  type CountedExtremes,
  type Extreme,
  extremesOfRecent,
  extremesOfScan,
  findRecordInRollup,
  type OtherExtremes,
  type RecordInRollup,
  unknownLargest,
  unknownSmallest,
} from "../../db/meter/usage_voids.ts";
import { rollupQuarterMs, usageRecordScanMax } from "../../domain/limits.ts";
import type { ReportContext, ReportScope } from "../reports/report_context.ts";

/** Which record will be voided. */
export interface UsageVoidScanInput extends ReportScope {
  readonly seq: number;
}

/**
 * Looks at the other records of a record's series and quarter of an hour.
 *
 * @returns What they have, or null when there is no such record any more.
 */
export async function scanForVoid(
  context: ReportContext,
  input: UsageVoidScanInput,
): Promise<OtherExtremes | null> {
  for (;;) {
    const found = await findRecordInRollup(context.database, input);
    if (found === undefined) return null;
    const others = await scanOnce(context, { ...input, found });
    if (others !== null) return others;
  }
}

/** @returns Null when other records of the quarter were voided meanwhile, and the scan must begin again. */
async function scanOnce(
  context: ReportContext,
  { organizationId, seq, found }: UsageVoidScanInput & { found: RecordInRollup },
): Promise<OtherExtremes | null> {
  const { database } = context;
  const { series, start, cursor, value } = found;
  const oldest: UsageRecordPosition = { timestamp: start, series: 0, seq: 0 };
  let before: UsageRecordPosition | undefined = { timestamp: start + rollupQuarterMs, series: 0, seq: 0 };
  let all: CountedExtremes = { count: 0, smallest: none, largest: none };
  while (before !== undefined) {
    const look: UsageRecordScan = { organizationId, from: oldest, before };
    const last = await endOfLook(database, { ...look, recordsMax: usageRecordScanMax });
    const scan = { ...look, from: last ?? oldest };
    all = together(all, await extremesOfScan(database, { scan, series, seq, last: cursor }));
    // Another record with the same value takes its place, whatever else there is.
    const isFound = (found.isSmallest === 0 || all.smallest.value === value) &&
      (found.isLargest === 0 || all.largest.value === value);
    if (isFound) {
      return {
        cursor,
        smallest: found.isSmallest === 0 ? null : all.smallest,
        largest: found.isLargest === 0 ? null : all.largest,
      };
    }
    before = last;
    await context.turn();
  }
  // Without the records that retention has deleted it is unknown.
  const isPartial = all.count + 1 < found.count;
  let [to, recorded] = [cursor, 0];
  for (;;) {
    const now = await findRecordInRollup(database, { organizationId, seq });
    if (now === undefined) return null;
    const last = Math.min(now.cursor, to + usageRecordScanMax);
    const recent = await extremesOfRecent(database, { series, start, after: to, last });
    all = together(all, recent);
    recorded += recent.count;
    to = last;
    if (to < now.cursor) {
      await context.turn();
      continue;
    }
    if (isPartial && now.count !== found.count + recorded) return null;
    return isPartial
      ? {
        cursor: to,
        smallest: { value: unknownSmallest, seq: 0 },
        largest: { value: unknownLargest, seq: 0 },
      }
      : { cursor: to, smallest: all.smallest, largest: all.largest };
  }
}

const none: Extreme = { value: "", seq: 0 };

function together(a: CountedExtremes, b: CountedExtremes): CountedExtremes {
  return {
    count: a.count + b.count,
    smallest: better(a.smallest, b.smallest, (x, y) => x < y),
    largest: better(a.largest, b.largest, (x, y) => x > y),
  };
}

function better(a: Extreme, b: Extreme, isBetter: (x: bigint, y: bigint) => boolean): Extreme {
  if (a.value === "" || b.value === "") return a.value === "" ? b : a;
  return isBetter(BigInt(b.value), BigInt(a.value)) ? b : a;
}
