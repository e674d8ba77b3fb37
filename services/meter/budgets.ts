// Budgets of API keys.
import { parseLimits } from "../../db/meter/limit_rows.ts";
import { findOrganizationLimits } from "../../db/meter/usage_limits.ts";
import { validationError } from "../../domain/errors.ts";
import { limitBelow } from "../../domain/meter/budget.ts";
import { hasQuantity, type NewLimit, type UsageLimit } from "../../domain/meter/usage_limit.ts";
import type { SessionContext } from "../context.ts";

export type BudgetLimit = NewLimit & { readonly quantity: number };

/** @param stored The budget of a key, as its row has it. */
export function budgetOf(stored: string): UsageLimit[] {
  return parseLimits(stored).filter(hasQuantity);
}

/** @throws {AppError} `validation_failed`, naming each limit that is above one of the organization. */
export async function requireBudgetFits(
  { database }: SessionContext,
  organizationId: string,
  budget: readonly BudgetLimit[],
): Promise<void> {
  const limits = await findOrganizationLimits(database, organizationId);
  const details = budget.flatMap((limit, index) => {
    const below = limitBelow(limit, limits);
    if (below === undefined) return [];
    const per = below.per === "total" ? "in total" : `per ${below.per}`;
    const message = `must be at most ${below.quantity}, the organization's limit ${per}.`;
    return [{ path: `budget[${index}].quantity`, message }];
  });
  if (details.length > 0) throw validationError(details);
}
