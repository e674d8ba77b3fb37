// The shapes of limits of usage.
import { z } from "@hono/zod-openapi";
import { limitModes, limitPeriods } from "../../../domain/meter/usage_limit.ts";
import { idOut, stringSchema, timeOut } from "../../schemas/common.ts";
import { featureNamesOut } from "../../schemas/features.ts";
import { propertyFilters } from "./usage_properties.ts";

export const limitStandingSchema = z.object({
  limitId: idOut("lim", "The limit's id."),
  productSlug: stringSchema("The product. Null if all products count together.", "tiles").nullable(),
  metric: stringSchema("The metric. Null if all metrics count together.", "requests").nullable(),
  per: z.enum(limitPeriods).openapi({
    description: "The calendar window, in the organization's time zone. `total` never ends.",
    example: "month",
  }),
  by: z.string().optional().openapi({
    description: "The property of a limit per value. The numbers are those of `value`.",
    example: "user",
  }),
  value: z.string().optional().openapi({
    description:
      "The value of the property: `(none)` without it, `(other)` for those beyond the first 10,000 of a window. Only of a limit per value.",
    example: "user_8",
  }),
  countsFrom: timeOut(
    "Since when a limit per value counts usage: what was recorded before isn't in its numbers.",
  ).optional(),
  mode: z.enum(limitModes).openapi({
    description:
      "A hard limit rejects what doesn't fit. A cutoff limit denies verification, forward authentication and holds " +
      "when nothing is left, and rejects no records. A soft limit only reports.",
    example: "hard",
  }),
  quantity: z.number().openapi({ description: "How much the window allows.", example: 10_000 }),
  used: z.number().openapi({ description: "How much of it is used.", example: 8_250 }),
  held: z.number().openapi({ description: "How much active holds have taken.", example: 0 }),
  remaining: z.number().openapi({
    description:
      "How much is left after what is used and held, and without grants that active holds of another window need. At least 0.",
    example: 1_750,
  }),
  resetsAt: timeOut("When the window ends. Null for `total`.").nullable(),
  heldUntil: timeOut(
    "When the first of the organization's holds expires. Only in errors, if only holds leave no room.",
  ).optional(),
  grants: z.object({
    limitQuantity: z.number().openapi({
      description: "The limit's own quantity, without grants.",
      example: 0,
    }),
    quantity: z.number().openapi({ description: "The total quantity of the active grants.", example: 5_000 }),
    used: z.number().openapi({ description: "The part that is used.", example: 1_200 }),
    remaining: z.number().openapi({ description: "The part that is left.", example: 3_800 }),
    nextExpiresAt: timeOut("When the next of them expires. Null if none does.").nullable(),
  }).optional().openapi({
    description:
      "The grants of this limit that can be used: not those that are used up, expired or voided. Only in lists of limits, and only if " +
      "there ever was a grant. `quantity` and `remaining` of the limit have grants in them.",
  }),
}).openapi("LimitStanding");

const features = z.array(z.string()).openapi({
  description: "The features of the organization's plan, sorted.",
  example: ["maps:satellite", "sso"],
});

export const limitStandingsSchema = z.object({ limits: z.array(limitStandingSchema), features }).openapi(
  "LimitStandings",
);

export const valuesQuerySchema = z.strictObject({
  properties: propertyFilters.refine(
    (values) => Object.values(values ?? {}).every(({ length }) => length === 1),
    "must have one value of each property.",
  ).openapi({
    description:
      "The values whose numbers are shown of limits per value, such as `user=user_8`. The parameter `properties.user=user_8` " +
      "does the same. Without it, the 10 values of each limit that are closest to it.",
    example: ["user=user_8"],
  }),
});
export type ValuesQuery = z.output<typeof valuesQuerySchema>;

/** Returns the value of each property in a query. */
export function valuesIn({ properties = {} }: ValuesQuery): Record<string, string> {
  return Object.fromEntries(Object.entries(properties).map(([name, [value = ""]]) => [name, value]));
}

export const organizationPlanSchema = z.object({
  plan: z.object({
    name: stringSchema("The plan's name.", "Growth"),
    features,
    featureNames: featureNamesOut,
  }),
  limits: limitStandingsSchema.shape.limits,
  timezone: stringSchema("The organization's time zone, in which calendar windows begin and end.", "UTC"),
}).openapi("OrganizationPlan");
