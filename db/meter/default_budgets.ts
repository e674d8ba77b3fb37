// The SQL of budgets that plans give to new keys. Each plan has one, as JSON.
import { splitQuantity } from "../../domain/meter/quantity.ts";
import { type BudgetLimit, defaultNotifyAt, storedNotifyAt } from "../../domain/meter/usage_limit.ts";
import { planBudget } from "../access/mod.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

export function storedBudget(budget: readonly BudgetLimit[]): string {
  return JSON.stringify(budget.map(({ notifyAt, ...limit }) => ({
    ...limit,
    ...splitQuantity(limit.quantity),
    notifyAt: storedNotifyAt(notifyAt),
  })));
}

/** Parses what {@linkcode storedBudget} returned. */
export function parseBudget(text: string): BudgetLimit[] {
  const stored: BudgetLimit[] = JSON.parse(text);
  return stored.map(({ productSlug, metric, per, quantity, mode, notifyAt }) => ({
    productSlug,
    metric,
    per,
    quantity,
    mode,
    notifyAt: notifyAt ?? defaultNotifyAt,
  }));
}

/** Finds the budget that new keys of an organization get. */
export async function findDefaultBudget(
  database: DatabaseReader,
  organizationId: string,
): Promise<BudgetLimit[]> {
  const row = await database.readFirst<{ budget: string | null }>(
    sql`SELECT ${planBudget} AS budget FROM organizations o WHERE o.id = ${organizationId}`,
  );
  return parseBudget(row?.budget ?? "[]");
}

/** A new key, and its budget from {@linkcode storedBudget}; null or none for the plan's. */
interface BudgetedKey {
  readonly id: string;
  readonly budget?: string | null;
}

/** Writes the budgets of new keys, by default those of plans. Test keys get none, as their usage counts against no limit. */
export function insertBudgets(keys: readonly BudgetedKey[], now: number): Statement {
  return sql`INSERT INTO usage_limits (lineage, product_slug, metric, per, quantity_whole, quantity_micro, mode, id,
      notify_at, created_seq, created_at)
    SELECT k.lineage, coalesce(b.value ->> 'productSlug', ''), coalesce(b.value ->> 'metric', ''), b.value ->> 'per',
      b.value ->> 'whole', b.value ->> 'micro', b.value ->> 'mode', 'lim_' || lower(hex(randomblob(16))),
      b.value ->> 'notifyAt', (SELECT seq FROM usage_cursor), ${now}
    FROM json_each(${
    JSON.stringify(keys.map(({ id, budget }) => [id, budget]))
  }) i CROSS JOIN api_keys k ON k.id = i.value ->> 0 AND k.environment = 'live'
    CROSS JOIN organizations o ON o.id = k.organization_id
    CROSS JOIN json_each(coalesce(i.value ->> 1, ${planBudget})) b
    ORDER BY i.key, b.key`;
}
