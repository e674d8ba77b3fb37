// Plans in the database of a test.
import type { TestApp } from "../app/app.ts";
import { run } from "../people/scene.ts";

/** The numbers of a plan, by their columns. */
export type PlanColumn =
  | "api_keys_max"
  | "members_max"
  | "usage_series_max"
  | "requests_per_second"
  | "holds_max";

/** Changes a number of the default plan. */
export async function changePlan(test: TestApp, column: PlanColumn, value: number | null): Promise<void> {
  await run(test, `UPDATE plans SET ${column} = ? WHERE is_default = 1`, value);
}

/** Gives one organization a number of its own; null gives it the one of its plan again. */
export async function overridePlan(
  test: TestApp,
  organizationId: string,
  numbers: Partial<Readonly<Record<PlanColumn, number | null>>>,
): Promise<void> {
  for (const [column, value] of Object.entries(numbers)) {
    await run(test, `UPDATE organizations SET ${column} = ? WHERE id = ?`, value, organizationId);
  }
}
