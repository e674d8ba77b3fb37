// The background work of dimensions and of how metrics are counted: adding usage from before they were declared, and deleting what was
// stored for those that were removed.
import { filledAggregations } from "../../db/meter/aggregation_list.ts";
import { deleteRemovedAggregation } from "../../db/meter/counting.ts";
import {
  deleteRemovedDimension,
  fill,
  filledDimensions,
  findFillStep,
} from "../../db/meter/dimension_list.ts";
import { organizationEndRollupsMax, organizationEndSeriesMax } from "../../domain/limits.ts";
import type { BaseContext } from "../base_context.ts";
import { sleep } from "../sleep.ts";

/** Records that one step adds, and the pause after it, which leaves the writer to others. */
const fillRecordsMax = 1_000;
const fillRestMs = 20;

/** Adds some of the records from before a dimension or a way of counting was declared. Returns true if there may be more. */
export async function fillDimensions(
  { database }: Pick<BaseContext, "database">,
  { recordsMax = fillRecordsMax, restMs = fillRestMs } = {},
): Promise<boolean> {
  // Months can't be closed until all metrics are counted, so these are first.
  for (const table of [filledAggregations, filledDimensions]) {
    const step = await findFillStep(database, table, recordsMax);
    if (step === undefined) continue;
    await database.write(fill(table, step));
    if (restMs > 0) await sleep(restMs, new AbortController().signal);
    return true;
  }
  return false;
}

/** Deletes some sums of dimensions and counts that are no longer in the catalogue. Returns true if there may be more. */
export async function deleteRemovedDimensions({ database }: Pick<BaseContext, "database">): Promise<boolean> {
  return await deleteRemovedAggregation(database, organizationEndRollupsMax) ||
    await deleteRemovedDimension(database, {
      seriesMax: organizationEndSeriesMax,
      rollupsMax: organizationEndRollupsMax,
    });
}
