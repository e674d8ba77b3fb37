// Sums windows of limits, on the reports thread.
import { findMissingSums, type MissingSums, sumLimit } from "../../../db/meter/limit_counters.ts";
import { findClosestValues, type ValueWindow } from "../../../db/meter/value_limit_standings.ts";
import type { LimitCell } from "../../../db/meter/recorder_limits.ts";
import type { LimitStandingRow } from "../../../db/meter/limit_standings.ts";
import { findUnknownHeldWindows, sumReserved } from "../../../db/meter/reserved_room.ts";
import { type LimitUsage, limitWindow } from "../../../domain/meter/limit_window.ts";
import type { SumParts } from "../../../domain/meter/quantity.ts";
import { type JobContext, type JobScope, pauseAfterSlices } from "../../reports/job_context.ts";

export async function sumLimitCells(
  context: JobContext,
  { cells }: { readonly cells: readonly LimitCell[] },
): Promise<MissingSums[]> {
  const missing = await inSlices(
    context,
    cells,
    (cell) => findMissingSums(context.database, cell, limitWindow(cell.per, cell.timezone, cell.at)),
  );
  return missing.filter((sums) => sums !== undefined);
}

/** Sums of a limit. `reserved`: see {@linkcode LimitStandingRow}. */
interface LimitSums {
  readonly used: SumParts;
  readonly reserved: string;
}

/** Adds up what limits lack. */
export function sumLimits(
  context: JobContext,
  { limits, now }: JobScope & { readonly limits: readonly LimitStandingRow[] },
): Promise<LimitSums[]> {
  return inSlices(context, limits, async (limit) => {
    const sumAt = (at: number) =>
      sumLimit(context.database, limit, limitWindow(limit.per, limit.timezone, at));
    return {
      used: limit.used ?? await sumAt(now),
      reserved: limit.reserved ?? await reservedOf(context, { limit, now, sumAt }),
    };
  });
}

async function reservedOf(
  { database }: JobContext,
  { limit, now, sumAt }: {
    readonly limit: LimitStandingRow;
    readonly now: number;
    readonly sumAt: (at: number) => Promise<SumParts>;
  },
): Promise<string> {
  const sums = [];
  for (const { windowNumber, at } of await findUnknownHeldWindows(database, limit, now)) {
    sums.push({ windowNumber, ...await sumAt(at) });
  }
  return await sumReserved(database, limit, { now, sums });
}

/** Finds the values that are closest to each limit. */
export async function closestValues(
  context: JobContext,
  { windows, now }: JobScope & { readonly windows: readonly ValueWindow[] },
): Promise<LimitUsage[]> {
  return (await inSlices(context, windows, (window) => findClosestValues(context.database, window, now)))
    .flat();
}

/** Reads one item after the other, and lets other reports run in between. */
async function inSlices<Item, Sum>(
  context: JobContext,
  items: readonly Item[],
  read: (item: Item) => Promise<Sum>,
): Promise<Sum[]> {
  const sums: Sum[] = [];
  const pause = pauseAfterSlices(context);
  for (const item of items) {
    await pause();
    sums.push(await read(item));
  }
  return sums;
}
