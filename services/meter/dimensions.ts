// The background work of dimensions: adding usage from before they were declared, and deleting the sums of those that were removed.
import {
  deleteRemovedDimension,
  fillDimension,
  findUnfilledDimension,
} from "../../db/meter/dimension_list.ts";
import { organizationEndRollupsMax, organizationEndSeriesMax } from "../../domain/limits.ts";
import type { BaseContext } from "../base_context.ts";
import { sleep } from "../sleep.ts";

/** Interval between searches for dimensions that were declared. */
export const dimensionsIntervalMs = 2_000;
/** Records that one step adds, and the pause after it, which leaves the writer to others. */
const fillRecordsMax = 1_000;
const fillRestMs = 20;

/** Adds some of the records from before a dimension was declared. Returns true if there may be more. */
export async function fillDimensions(
  { database }: Pick<BaseContext, "database">,
  { recordsMax = fillRecordsMax, restMs = fillRestMs, signal }: {
    recordsMax?: number;
    restMs?: number;
    signal?: AbortSignal;
  } = {},
): Promise<boolean> {
  const number = await findUnfilledDimension(database);
  if (number === undefined) return false;
  await database.write(fillDimension(number, recordsMax));
  if (restMs > 0) await sleep(restMs, signal ?? new AbortController().signal);
  return true;
}

/** Deletes some sums of dimensions that are no longer in the catalogue. Returns true if there may be more. */
export function deleteRemovedDimensions({ database }: Pick<BaseContext, "database">): Promise<boolean> {
  return deleteRemovedDimension(database, {
    seriesMax: organizationEndSeriesMax,
    rollupsMax: organizationEndRollupsMax,
  });
}
