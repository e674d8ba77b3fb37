// Checks limits after they were changed: their counters get the usage from before, and those that were reached and have room again are
// cleared. Each step checks some of them.
import {
  clearCells,
  findCellsToCheck,
  findLimitRecheck,
  type LimitRecheck,
  openCells,
  postponeRecheck,
} from "../../db/meter/limit_clearing.ts";
import type { LimitOwner } from "../../db/meter/limit_rows.ts";
import { limitCellsPerReportMax } from "../../domain/limits.ts";
import type { CounterContext, LimitCounters } from "./limit_counters.ts";

/** Organizations whose limits one step reads. */
const organizationsMax = 1_000;

/**
 * Checks the next limits, or those of an owner: completes their counters, then clears those that have room. Returns true if there may be more. A step that
 * is done by several servers does no harm; one that fails is done again after the others.
 */
export async function recheckSomeLimits(
  context: Pick<CounterContext, "database" | "clock">,
  counters: Pick<LimitCounters, "complete">,
  owner?: LimitOwner,
): Promise<boolean> {
  const recheck = await findLimitRecheck(context.database, owner);
  if (recheck === undefined) return false;
  try {
    await checkLimits(context, counters, recheck);
  } catch (error) {
    await context.database.write(postponeRecheck(recheck));
    throw error;
  }
  return true;
}

async function checkLimits(
  { database, clock }: Pick<CounterContext, "database" | "clock">,
  counters: Pick<LimitCounters, "complete">,
  recheck: LimitRecheck,
): Promise<void> {
  const now = clock();
  const options = { organizations: organizationsMax, limit: limitCellsPerReportMax, now };
  const { cells, next } = await findCellsToCheck(database, recheck, options);
  const unknown = cells.length === 0 ? [] : await openCells(database, cells, now);
  if (unknown.length > 0) await counters.complete(unknown);
  await clearCells(database, { recheck, cells, next, now: clock() });
}
