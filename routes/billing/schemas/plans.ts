// The shapes of plans.
import { z } from "@hono/zod-openapi";
import * as limits from "../../../domain/limits.ts";
import { eachNumber, type PlanNumbers } from "../../../domain/billing/plan.ts";
import { activeHoldsMax } from "../../../domain/meter/hold.ts";
import { idOut, nameSchema, stringSchema, timeOut } from "../../schemas/common.ts";
import { featureNamesIn, featureNamesOut, featuresIn } from "../../schemas/features.ts";
import { budgetInSchema, limitSchema, limitsInSchema } from "../../meter/schemas/plan_limits.ts";

const name = nameSchema("The plan's name, unique regardless of case", { example: "Pro" });
const isDefault = z.boolean().openapi({
  description: "Whether new organizations get this plan. There is always one.",
});

/** The numbers of plans: what they mean, and their largest value. */
export const planNumberRanges: Readonly<Record<keyof PlanNumbers, { max: number; description: string }>> = {
  apiKeysMax: { max: limits.planApiKeysMax, description: "Active API keys of an organization." },
  membersMax: { max: limits.planMembersMax, description: "Members of an organization." },
  requestsPerSecond: {
    max: limits.planRequestsPerSecondMax,
    description: "Requests of an API key in a second. 0 means no limit.",
  },
  usageSeriesMax: {
    max: limits.planUsageSeriesMax,
    description: "Combinations of product, metric and API key of an organization.",
  },
  holdsMax: { max: activeHoldsMax, description: "Active holds of an organization." },
};

export function planNumberSchema(number: keyof PlanNumbers) {
  const { max, description } = planNumberRanges[number];
  const fault = `must be a whole number from 0 to ${max}.`;
  return z.int(fault).min(0, fault).max(max, fault).openapi({ minimum: 0, maximum: max, description });
}

const limitsIn = limitsInSchema(limits.planLimitsMax);
const defaultBudgetIn = budgetInSchema(limits.budgetLimitsMax).openapi({
  description:
    `The budget of keys that are created without one: up to ${limits.budgetLimitsMax} limits. Existing keys keep theirs.`,
});

export const createPlanSchema = z.strictObject({
  name,
  isDefault: isDefault.optional(),
  apiKeysMax: planNumberSchema("apiKeysMax").default(limits.activeApiKeysMax),
  membersMax: planNumberSchema("membersMax").default(limits.planMembersMax),
  requestsPerSecond: planNumberSchema("requestsPerSecond").optional().openapi({
    description:
      "Requests of an API key in a second; 0 means no limit. Default: `API_KEY_REQUESTS_PER_SECOND`.",
  }),
  usageSeriesMax: planNumberSchema("usageSeriesMax").default(limits.usageSeriesMax),
  holdsMax: planNumberSchema("holdsMax").default(activeHoldsMax),
  defaultBudget: defaultBudgetIn.optional().transform((given) => given ?? []),
  limits: limitsIn.optional().transform((given) => given ?? []),
  features: featuresIn.optional().transform((given) => given ?? []),
  featureNames: featureNamesIn.optional(),
}).openapi("CreatePlan");
export const changePlanSchema = z.strictObject({
  name: name.optional(),
  isDefault: isDefault.optional().openapi({
    description: "True makes this the default plan instead of another.",
  }),
  ...eachNumber((number) => planNumberSchema(number).optional()),
  defaultBudget: defaultBudgetIn.optional(),
  limits: limitsIn.optional(),
  features: featuresIn.optional(),
  featureNames: featureNamesIn.optional().openapi({
    description:
      "Names that customers read instead of features, by feature. Replaces all names. Features that a plan loses lose their names.",
  }),
}).openapi("ChangePlan");

export const planSchema = z.object({
  id: idOut("plan", "The plan's id."),
  name: stringSchema("The plan's name.", "Pro"),
  isDefault,
  ...eachNumber((number) => z.number().int().openapi({ description: planNumberRanges[number].description })),
  limits: z.array(limitSchema).openapi({ description: "In the order in which they were added." }),
  defaultBudget: z.array(limitSchema.omit({ id: true })).openapi({
    description: "The budget of keys that are created without one.",
  }),
  features: z.array(z.string()).openapi({
    description: "What the plan includes, sorted.",
    example: ["maps:satellite", "sso"],
  }),
  featureNames: featureNamesOut,
  organizationCount: z.number().int().openapi({
    description: "The number of organizations that have the plan.",
  }),
  createdAt: timeOut("When the plan was created."),
}).openapi("Plan");
