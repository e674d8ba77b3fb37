// The rows of forms that set the budget of a key.
import { budgetLimitsMax } from "../../domain/limits.ts";
import { type BudgetLimit, limitsText } from "../../domain/meter/usage_limit.ts";
import type { Access } from "../../services/access/mod.ts";
import { readDefaultBudget } from "../../services/keys/mod.ts";
import { readProductNames, readUsage } from "../../services/meter/mod.ts";
import type { LimitFieldsProps } from "../../views/components/limit_fields.tsx";
import { checkLimits, limitInput, limitsOf, typedLimits } from "../meter/limit_input.ts";
import { limitPace } from "../meter/limit_pace.tsx";
import { inTime } from "../portal/in_time.ts";
import type { PortalParts } from "../portal/page.ts";

type Input = Readonly<Record<string, string>>;

const hasRows = (input: Input): boolean => input["limits[0].quantity"] !== undefined;

/**
 * Returns the rows of a form's budget.
 *
 * @param input The input of a rejected form. @param budget The budget that is shown before.
 */
export async function budgetRows(
  { services }: PortalParts,
  access: Access,
  { input, fields, budget, pace }: {
    input: Input | undefined;
    fields: Input;
    budget: readonly BudgetLimit[];
    /** The key, and the address of its form. */
    pace?: { readonly apiKey: string; readonly href: string };
  },
): Promise<LimitFieldsProps> {
  // The form does without suggestions if they are not available.
  const names = await inTime((signal) =>
    readUsage(services, access, { job: "readUsageNames", query: {}, signal })
  );
  const catalogue = await readProductNames(services);
  const limits = input !== undefined && hasRows(input)
    ? limitInput(input, budgetLimitsMax)
    : typedLimits(budget, catalogue);
  return {
    ...names ?? { productSlugs: [], metrics: [] },
    limits,
    pace: pace && {
      href: pace.href,
      wordsOf: await limitPace({ services }, access, { rows: limits, catalogue, apiKey: pace.apiKey }),
    },
    // The fields are named as in other forms with limits.
    fields: Object.fromEntries(
      Object.entries(fields).map(([name, error]) => [name.replace(/^budget/, "limits"), error]),
    ),
    limitsMax: budgetLimitsMax,
    catalogue,
  };
}

/**
 * Runs the check of a form with a budget, which it gets as the API takes it: undefined if the form has no rows for it.
 *
 * @throws {AppError} `validation_failed`, with messages about quantities that say what is understood.
 */
export async function checkBudget<T>(
  { services }: Pick<PortalParts, "services">,
  input: Input,
  run: (budget: ReturnType<typeof limitsOf> | undefined) => T | Promise<T>,
): Promise<T> {
  if (!hasRows(input)) return await run(undefined);
  const catalogue = await readProductNames(services);
  const rows = limitInput(input, budgetLimitsMax);
  return await checkLimits(() => run(limitsOf(rows, catalogue)), { budget: rows }, catalogue);
}

/** Returns the budget to create a key with: undefined if it is the plan's, which may be above the organization's limits. */
export async function chosenBudget(
  { services }: PortalParts,
  access: Access,
  budget: readonly BudgetLimit[] | undefined,
): Promise<readonly BudgetLimit[] | undefined> {
  if (budget === undefined) return undefined;
  const isPlans = limitsText(budget) === limitsText(await readDefaultBudget(services, access));
  return isPlans ? undefined : budget;
}
