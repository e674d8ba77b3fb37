// Plans with their organizations, which the reports thread counts: there may be 100,000.
import { findPlan, findPlans, type PlanRow } from "../../db/operator/plans.ts";
import type { OperatorReportScope, ReportContext } from "../reports/report_context.ts";

/** @returns Plans as stored, the oldest first. @param input `after`: the number of the one before. */
export async function readPlans(
  { database }: ReportContext,
  { limit, after }: { limit: number; after: number | undefined } & OperatorReportScope,
): Promise<PlanRow[]> {
  return await findPlans(database, { limit, after });
}

/** @returns One plan as stored, or null. */
export async function readPlan(
  { database }: ReportContext,
  { id }: { id: string } & OperatorReportScope,
): Promise<PlanRow | null> {
  return await findPlan(database, id) ?? null;
}
