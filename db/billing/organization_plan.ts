// SQL of what an organization pays for and may use: its plan, its overrides, and the time zone of its months.
import type { PlanOverridesChange } from "../../domain/billing/plan.ts";
import { joinSql, sql, type Statement } from "../engine/database.ts";
import { restartLimits } from "../meter/mod.ts";
import { isOrganization } from "../access/mod.ts";
import { assignNumbers, planNumber } from "./plans.ts";

/** The number of a plan; 0, which no plan has, for an unknown one. */
export const givenPlan = (id: string): Statement => sql`coalesce(${planNumber(id)}, 0)`;

/** Sets an organization's plan. An unknown one makes the batch fail with a `constraint` error. */
export function updateOrganizationPlan(id: string, planId: string, now: number) {
  return sql`UPDATE organizations SET plan = ${givenPlan(planId)}, ${restartLimits(now)}
    WHERE ${isOrganization(id)} AND plan <> ${givenPlan(planId)}`;
}

export function updateTimezone(id: string, timezone: string, now: number) {
  return sql`UPDATE organizations SET timezone = ${timezone}, ${restartLimits(now)}
    WHERE ${isOrganization(id)} AND timezone <> ${timezone}`;
}

/** Changes overrides of a plan, at least one. Null stands for the plan's number. */
export function updateOverrides(id: string, { limits, ...numbers }: PlanOverridesChange, now: number) {
  const assignments = [...assignNumbers(numbers), ...(limits === undefined ? [] : [restartLimits(now)])];
  return sql`UPDATE organizations SET ${joinSql(assignments, ", ")} WHERE ${isOrganization(id)}`;
}
