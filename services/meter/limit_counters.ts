// Completes the counters of limits with what was recorded before they were opened.
import { addMissingSums, type LimitCell } from "../../db/meter/limit_counters.ts";
import { limitCellsPerReportMax, limitOrganizationsAtOnceMax } from "../../domain/limits.ts";
import type { BaseContext } from "../base_context.ts";
import { recordingOf } from "../reports/job_reader.ts";
import type { Reports } from "../reports/reports.ts";

/** What reads and writes counters. */
export interface CounterContext extends Pick<BaseContext, "database" | "clock"> {
  readonly reports: Reports;
}

/**
 * Makes counters known. Those that are known or don't exist are left alone. Organizations take turns: one with many windows delays
 * only itself.
 *
 * @param cells Counters that the recorder found unknown.
 * @param onPrepared Called with the number of each organization as soon as its counters are known.
 * @throws {AppError} `unavailable`, after the counters of the other organizations are known. @throws {DatabaseError}
 */
export async function prepareLimitCounters(
  context: CounterContext,
  cells: readonly LimitCell[],
  onPrepared: (organization: number) => void = () => {},
): Promise<void> {
  // Shared by the loops below: each takes the next organization.
  const organizations = Map.groupBy(cells, ({ organization }) => organization).entries();
  const errors: unknown[] = [];
  const prepareNext = async () => {
    for (const [organization, ofOrganization] of organizations) {
      try {
        await prepare(context, organization, ofOrganization);
        onPrepared(organization);
      } catch (error) {
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: limitOrganizationsAtOnceMax }, prepareNext));
  if (errors.length > 0) throw errors[0];
}

async function prepare(
  { database, reports, clock }: CounterContext,
  organization: number,
  cells: readonly LimitCell[],
): Promise<void> {
  for (let first = 0; first < cells.length; first += limitCellsPerReportMax) {
    const some = cells.slice(first, first + limitCellsPerReportMax);
    const missing = await reports.read("sumLimitCells", { cells: some }, {
      reader: recordingOf(organization),
    });
    if (missing.length > 0) await addMissingSums(database, missing, clock());
  }
}
