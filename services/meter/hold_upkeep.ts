// Ends holds that have expired, and deletes old ones, in the background.
import { deleteOldHolds, endSomeExpired, findHoldsToRecord, hasOldHolds } from "../../db/meter/holds.ts";
import type { Context } from "../context.ts";
import { expiryOf } from "./hold_recorder.ts";

/** The most holds that one step of the background work ends. */
const stepHoldsMax = 100;

/** Ends some holds that have expired, and records those that are to be recorded. Returns true if there may be more. */
export async function endExpired(context: Context): Promise<boolean> {
  const { database, clock, recorder } = context;
  const now = clock();
  await endSomeExpired(database, now);
  const due = await findHoldsToRecord(database, { now, limit: stepHoldsMax });
  const results = await recorder.holds.runAll(due.map(expiryOf));
  return results.some(({ isDone }) => isDone);
}

/** Deletes some holds that aren't kept any longer. Returns true if there may be more. */
export async function deleteSomeHolds({ database, clock }: Context): Promise<boolean> {
  const now = clock();
  if (await database.readFirst(hasOldHolds(now)) === undefined) return false;
  return await deleteOldHolds(database, { now, limit: stepHoldsMax }) === stepHoldsMax;
}
