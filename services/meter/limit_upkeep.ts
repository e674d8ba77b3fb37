// Deletes old counters of limits in the background, and keeps the offsets of time zones up to date.
import { writeIf } from "../../db/due_work.ts";
import { deleteOldest, deleteRemoved, hasOldCounters, hasRemovedLimits } from "../../db/meter/limit_sweep.ts";
import { findTimezones, timezoneRows } from "../../db/meter/usage_limits.ts";
import { limitCounterKeptMs, limitCounterShortKeptMs, limitSweepRowsMax } from "../../domain/limits.ts";
import type { BaseContext } from "../base_context.ts";

/** Deletes some counters of windows, and notices, of long ago. Returns true if there may be more. */
export async function deleteOldCounters(
  { database, clock }: Pick<BaseContext, "database" | "clock">,
): Promise<boolean> {
  const now = clock();
  const old = { now, shortBefore: now - limitCounterShortKeptMs, longBefore: now - limitCounterKeptMs };
  return await writeIf(database, hasOldCounters(old), deleteOldest(old, limitSweepRowsMax));
}

/** Deletes some counters and notices of a limit that was removed. Returns true if there may be more. */
export async function deleteCountersOfRemovedLimits(
  { database }: Pick<BaseContext, "database">,
): Promise<boolean> {
  return await writeIf(database, hasRemovedLimits, deleteRemoved(limitSweepRowsMax));
}

/** Writes the offsets of all time zones of organizations again, for the time to come. */
export async function refreshTimezones(
  { database, clock }: Pick<BaseContext, "database" | "clock">,
): Promise<void> {
  for (const timezone of await findTimezones(database)) await database.write(timezoneRows(timezone, clock()));
}
