// The shapes of limits as they are set: in plans, for organizations and for keys.
import { z } from "@hono/zod-openapi";
import { splitQuantity } from "../../../domain/meter/quantity.ts";
import {
  defaultNotifyAt,
  limitModes,
  type LimitPeriod,
  limitPeriods,
  type LimitScope,
} from "../../../domain/meter/usage_limit.ts";
import { dimensionPropertyForm, otherValue } from "../../../domain/meter/dimension.ts";
import { canCountValues, limitExceptionsMax, valueLimitsMax } from "../../../domain/meter/value_limit.ts";
import { notifyPercentagesMax, notifyPercentMax } from "../../../domain/outbox/webhook_limits.ts";
import { idOut, stringSchema } from "../../schemas/common.ts";
import { atMost } from "../../schemas/messages.ts";
import { propertyValue, quantityFault, slugSchema } from "./usage.ts";

export const quantityIn = z.number()
  .refine((value) => splitQuantity(value) !== null, quantityFault).openapi({
    description: "How much may be used in one window, with at most 6 decimal places.",
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    example: 100_000,
  });
const per = z.enum(limitPeriods).openapi({
  description:
    "The calendar window, in the organization's time zone. `total` is a single window that never ends.",
  example: "month",
});
const mode = z.enum(limitModes).openapi({
  description:
    "`hard`: usage beyond the limit is rejected. `cutoff`: when nothing is left, verification, forward authentication " +
    "and holds are denied, and usage is still recorded. `soft`: it is recorded and reported.",
});
const productSlug = { description: "The product, or null for all products together.", example: "tiles" };
const metric = { description: "The metric, or null for all metrics together.", example: "requests" };
const slugOrNull = (text: object) => slugSchema.nullable().openapi({ type: ["string", "null"], ...text });
const percentages = {
  description: "The percentages of the quantity at which people and webhooks are notified: " +
    "once in each window, or in a day for windows of minutes and hours.",
};
/** Null or absent for the default. */
export const notifyAtIn = z.array(z.number()).refine(
  (list) =>
    list.length >= 1 && list.length <= notifyPercentagesMax && new Set(list).size === list.length &&
    list.every((percent) => Number.isInteger(percent) && percent >= 1 && percent <= notifyPercentMax),
  `must have 1 to ${notifyPercentagesMax} different whole percentages from 1 to ${notifyPercentMax}.`,
).nullish().openapi({
  description:
    `${percentages.description} 1 to ${notifyPercentagesMax} different whole numbers from 1 to ${notifyPercentMax}, ` +
    `${defaultNotifyAt.join(" and ")} by default.`,
  example: [50, 80, 100],
});
export const notifyAtOut = z.array(z.number().int()).openapi({
  ...percentages,
  example: [...defaultNotifyAt],
});

const anyScope = { productSlug: slugOrNull(productSlug), metric: slugOrNull(metric), per };
/** The usage that a limit counts. */
export const scopeIn = {
  productSlug: anyScope.productSlug.default(null),
  metric: anyScope.metric.default(null),
  per,
};
export const changedScopeIn = z.object(anyScope).partial().shape;

export const byIn = z.string().regex(dimensionPropertyForm, "must be the name of a property.").nullish()
  .openapi({
    description:
      "The name of a property, for a limit per value: each value of it has a counter and the limit's quantity of its own. " +
      "Without the property, a record counts for `(none)`. Only with windows of an hour, a day or a month. " +
      `At most ${valueLimitsMax} limits of a list.`,
    // Without the flag, which is no part of a pattern.
    pattern: dimensionPropertyForm.source,
    example: "user",
  });
const exceptionIn = z.strictObject({
  value: propertyValue
    .refine((value) => value !== otherValue, `can't be ${otherValue}: it has the limit's quantity.`)
    .openapi({ description: "The value.", example: "user_8" }),
  quantity: quantityIn.nullable(),
});
export const exceptionsIn = z.array(exceptionIn).max(limitExceptionsMax, atMost(limitExceptionsMax, "values"))
  .refine(
    (values) => new Set(values.map(({ value }) => value)).size === values.length,
    "must have each value once.",
  ).optional().openapi({
    description: `Values of \`by\` with a quantity of their own, at most ${
      limitExceptionsMax.toLocaleString("en")
    }. Null: no limit.`,
    example: [{ value: "user_8", quantity: 50_000 }],
  });
const valuesIn = { by: byIn, values: exceptionsIn };

const limitIn = { ...scopeIn, mode: mode.default("hard"), notifyAt: notifyAtIn };
const budgetLimitInSchema = z.strictObject({ ...limitIn, quantity: quantityIn }).openapi("BudgetLimitInput");
const limitInSchema = z.strictObject({ ...limitIn, ...valuesIn, quantity: quantityIn })
  .superRefine(requireValues).openapi("UsageLimitInput");
const overrideLimitInSchema = z.strictObject({
  ...limitIn,
  ...valuesIn,
  quantity: quantityIn.nullable().openapi({
    type: ["number", "null"],
    description: "How much may be used in one window, with at most 6 decimal places. Null for no limit.",
  }),
}).superRefine(requireValues).openapi("OverrideLimitInput");

function limitList<T extends z.ZodType<LimitScope>>(limit: T, limitsMax: number) {
  return z.array(limit).max(limitsMax, atMost(limitsMax, "limits")).superRefine(requireDistinct);
}

const limitsDescription = (limitsMax: number) => ({
  description: `Up to ${limitsMax} limits, with different products, metrics or windows.`,
});

/** A list of limits, at most that many. */
export const limitsInSchema = (limitsMax: number) =>
  limitList(limitInSchema, limitsMax).openapi(limitsDescription(limitsMax));

/** A list of limits of a key, at most that many. None are per value. */
export const budgetInSchema = (limitsMax: number) =>
  limitList(budgetLimitInSchema, limitsMax).openapi(limitsDescription(limitsMax));

/** A list of limits that replace those of a plan, at most that many. */
export const overrideLimitsInSchema = (limitsMax: number) =>
  limitList(overrideLimitInSchema, limitsMax).openapi({
    description:
      `Up to ${limitsMax} limits. Each replaces the plan's limit with the same product, metric and window, if there is one.`,
  });

export const byOut = z.string().optional().openapi({
  description: "The property whose values each have the quantity. Only if it is per value.",
  example: "user",
});
export const exceptionsOut = z.array(z.object({
  value: stringSchema("The value.", "user_8"),
  quantity: z.number().nullable().describe("Its quantity in a window. Null for no limit."),
}))
  .optional().openapi({
    description: "Values with a quantity of their own; null for no limit. Only if it is per value.",
  });
const limitOut = {
  id: idOut("lim", "The limit's id."),
  productSlug: stringSchema(productSlug.description, productSlug.example).nullable(),
  metric: stringSchema(metric.description, metric.example).nullable(),
  per,
  by: byOut,
  values: exceptionsOut,
  mode,
  notifyAt: notifyAtOut,
};
const quantityOut = z.number().openapi({
  description: "How much may be used in one window.",
  example: 100_000,
});

export const limitSchema = z.object({ ...limitOut, quantity: quantityOut }).openapi("UsageLimit");
export const overrideLimitSchema = z.object({
  ...limitOut,
  quantity: quantityOut.nullable().openapi({
    description: "How much may be used in one window. Null if the plan's limit doesn't apply.",
  }),
}).openapi("OverrideLimit");

function requireDistinct(limits: readonly LimitScope[], context: z.RefinementCtx): void {
  const scopes = new Set<string>();
  for (const [index, { productSlug, metric, per, by }] of limits.entries()) {
    const scope = JSON.stringify([productSlug, metric, per, by ?? null]);
    if (scopes.has(scope)) {
      const message = "has the product, metric and window of another limit in the list.";
      context.addIssue({ code: "custom", path: [index], message });
    }
    scopes.add(scope);
  }
  if (limits.filter(({ by }) => by).length > valueLimitsMax) {
    context.addIssue({
      code: "custom",
      path: [],
      message: `must have at most ${valueLimitsMax} limits per value.`,
    });
  }
}

/** Rejects windows that a limit per value can't have, and exceptions of other limits. */
export function requireValues(
  { per, by, values }: { per?: LimitPeriod | undefined; by?: string | null | undefined; values?: unknown },
  context: z.RefinementCtx,
): void {
  const reject = (field: string, message: string) =>
    context.addIssue({ code: "custom", path: [field], message });
  if (by && per !== undefined && !canCountValues(per)) reject("per", "must be hour, day or month with `by`.");
  if (!by && values !== undefined) reject("values", "needs `by`.");
}
