// Sums windows of limits, on the reports thread.
import {
  findMissingSums,
  findUnknownCells,
  type LimitCell,
  type MissingSums,
} from "../../db/meter/limit_counters.ts";
import { limitWindow } from "../../domain/meter/limit_window.ts";
import type { ReportContext } from "../reports/report_context.ts";

/** After this many milliseconds, other reports run. */
const sliceMs = 5;

/** Counters of one organization. */
export interface LimitCells {
  /** The organization's number. */
  readonly limitsOf: number;
  readonly cells: readonly LimitCell[];
}

/** @returns What the unknown ones of some counters lack. @throws {DatabaseError} */
export async function sumLimitCells(
  { database, pause }: ReportContext,
  { cells }: LimitCells,
): Promise<MissingSums[]> {
  const missing: MissingSums[] = [];
  let since = performance.now();
  for (const cell of await findUnknownCells(database, cells)) {
    const found = await findMissingSums(database, cell, limitWindow(cell.per, cell.timezone, cell.at));
    if (found !== undefined) missing.push(found);
    if (performance.now() - since > sliceMs) {
      await pause();
      since = performance.now();
    }
  }
  return missing;
}
