// The schemas of the metrics of a product.
import { z } from "@hono/zod-openapi";
import { productMetricsMax, productUnitCharactersMax } from "../../../domain/limits.ts";
import { aggregations } from "../../../domain/meter/aggregation.ts";
import {
  dimensionPropertiesMax,
  dimensionPropertyForm,
  dimensionsMax,
  otherValue,
  shareablePropertiesMax,
} from "../../../domain/meter/dimension.ts";
import {
  parsePrice,
  pricedNames,
  type PriceList,
  type ValuePrice,
  valuePricesMax,
} from "../../../domain/billing/price.ts";
import { namedValuesMax } from "../../../domain/meter/value_limit.ts";
import type { ProductMetric } from "../../../domain/meter/product.ts";
import { nameSchema, parsed, stringSchema } from "../../schemas/common.ts";
import { parse } from "../../schemas/issues.ts";
import { atMost, tooLong } from "../../schemas/messages.ts";
import { propertyValue, slugSchema } from "./usage.ts";

const unit = nameSchema("What its quantities count", {
  charactersMax: productUnitCharactersMax,
  example: "GB",
})
  .nullable().default(null).openapi({ type: ["string", "null"] });
const priceWords = "a decimal of 0 or more with at most 12 digits before and after the point";
const price = parsed(
  z.string().max(100, tooLong),
  parsePrice,
  () => `must be ${priceWords}, such as 0.0004.`,
);
const pricesSchema = z.array(
  z.strictObject({ properties: z.record(z.string(), propertyValue).optional(), unitPrice: price }),
).max(valuePricesMax, atMost(valuePricesMax, "prices")).superRefine(requirePriceList);
const examplePrices = [
  { properties: { model: "large" }, unitPrice: "0.000012" },
  { unitPrice: "0.000001" },
];
const unitPrice = z.union([z.string(), z.array(z.unknown())]).transform(
  (given, context): string | PriceList => {
    const { success, data, error } = parse<z.ZodType<string | PriceList>>(
      typeof given === "string" ? price : pricesSchema,
      given,
    );
    if (success) return data;
    for (const { message, path } of error.issues) context.addIssue({ code: "custom", message, path });
    return z.NEVER;
  },
).nullable().default(null).openapi({
  anyOf: [{ type: "string" }, {
    type: "array",
    maxItems: valuePricesMax,
    items: {
      type: "object",
      properties: {
        properties: {
          type: "object",
          additionalProperties: { type: "string" },
          description: "The values, by the names of the dimension's properties.",
        },
        unitPrice: { type: "string", description: "The price of one unit." },
      },
      required: ["unitPrice"],
      additionalProperties: false,
    },
  }, { type: "null" }],
  description:
    `The price of one unit of its quantities in the setting \`CURRENCY\`: ${priceWords}. Statements multiply it, without rounding. Or up to ` +
    `${valuePricesMax} prices by the values of a dimension: each but the last names all of its properties, and the last, without ` +
    "`properties`, is the price of all other values. Only for sums and counts, over a dimension that has all usage of the open months.",
  example: "0.0004",
});
const namesWords =
  "1 to 64 letters of any language, digits, underscores, dots or hyphens, starting with a letter or underscore";
const propertySchema = z.string().regex(dimensionPropertyForm, `must be ${namesWords}.`)
  // Without the flag, which is no part of a pattern.
  .openapi({ pattern: dimensionPropertyForm.source });
const dimensionSchema = z.array(propertySchema)
  .min(1, "must have at least one property.").max(
    dimensionPropertiesMax,
    atMost(dimensionPropertiesMax, "properties"),
  )
  .superRefine((names, context) => requireDistinct(names, context))
  .transform((names) => names.toSorted());
const dimensions = z.array(dimensionSchema).max(dimensionsMax, atMost(dimensionsMax, "dimensions"))
  .superRefine((list, context) => requireDistinct(list.map((names) => names.join(" ")), context))
  .default([]).openapi({
    description:
      `What its usage is also summed by: up to ${dimensionsMax} lists of the names of 1 to ${dimensionPropertiesMax} properties. The order ` +
      "of names doesn't matter.",
    example: [["region"]],
  });
const shareable = z.array(propertySchema).max(
  shareablePropertiesMax,
  atMost(shareablePropertiesMax, "properties"),
).superRefine((names, context) => requireDistinct(names, context)).default([]).openapi({
  description:
    `Up to ${shareablePropertiesMax} names of properties whose values events about limits per value of the metric may name, to all who ` +
    `get these events: one event for each value, for up to ${namedValuesMax} values of a window. If a limit counts several metrics, all of them must list the property.`,
  example: ["user"],
});
export const metricsSchema = z.array(
  z.strictObject({
    slug: slugSchema.openapi({
      description: "The metric in usage records, 1 to 64 characters, unique within the product.",
      example: "requests",
    }),
    name: nameSchema("The metric's name", { example: "Requests" }),
    unit,
    unitPrice,
    dimensions,
    shareable,
    aggregation: z.enum(aggregations).default("sum")
      .openapi({
        description:
          "What its usage is in sums, pages and statements: the `sum` of its quantities, the `count` of its records, the " +
          "largest (`max`) or latest (`last`) quantity of each API key, or the number of distinct values of `uniqueProperty` (`unique`). " +
          "Limits are always sums. It can't be changed once a month with usage of the metric is closed.",
        example: "sum",
      }),
    uniqueProperty: z.string().nullable().default(null).openapi({
      description:
        "Required for `unique`: a property that is a dimension of its own. Records without it aren't counted.",
      example: null,
    }),
  }).superRefine(requireCountable).openapi("ProductMetricInput"),
).max(productMetricsMax, atMost(productMetricsMax, "metrics"))
  .superRefine((list, context) => requireDistinct(list.map(({ slug }) => slug), context, ["slug"])).openapi({
    description: `Up to ${productMetricsMax} metrics, in display order.`,
  });

const counting = {
  aggregation: z.enum(aggregations).openapi({
    description: "What its usage is in sums, pages and statements.",
    example: "sum",
  }),
  uniqueProperty: stringSchema("The property whose distinct values `unique` counts.", "userId").nullable(),
};
export const productMetricSchema = z.object({
  slug: stringSchema("The metric in usage records.", "requests"),
  name: stringSchema("The metric's name.", "Requests"),
  unit: stringSchema("What its quantities count.", "GB").nullable(),
  unitPrice: z.union([
    z.string(),
    z.array(
      z.object({
        properties: z.record(z.string(), z.string()).optional().openapi({
          description:
            "The values, by the names of a dimension's properties. Absent from the last price, that of all other values.",
        }),
        unitPrice: stringSchema("The price of one unit, a decimal.", "0.000012"),
      }).openapi("ValuePrice"),
    ),
  ]).nullable().openapi({
    description: "The price of one unit, a decimal; or prices by the values of a dimension.",
    example: examplePrices,
  }),
  dimensions: z.array(z.array(z.string())).openapi({
    description: "The properties that its usage is also summed by.",
    example: [["region"]],
  }),
  shareable: z.array(z.string()).openapi({
    description: "The properties whose values events about limits per value may name.",
    example: ["user"],
  }),
  ...counting,
}).openapi("ProductMetric");

export const recountedSchema = z.object({
  metric: stringSchema("The metric.", "seats"),
  from: z.object(counting),
  to: z.object(counting),
}).openapi("RecountedMetric");

/** Distinct values are counted of a declared dimension. */
function requireCountable(
  { aggregation, uniqueProperty, dimensions }: Pick<
    ProductMetric,
    "aggregation" | "uniqueProperty" | "dimensions"
  >,
  context: z.RefinementCtx,
): void {
  const isDeclared = dimensions.some((names) => names.length === 1 && names[0] === uniqueProperty);
  const message = aggregation !== "unique"
    ? uniqueProperty !== null && "is only for the aggregation unique."
    : !isDeclared && "must be one of the metric's dimensions of one property.";
  if (message) context.addIssue({ code: "custom", path: ["uniqueProperty"], message });
}

/** All prices but the last name values of the same properties. */
function requirePriceList(list: readonly ValuePrice[], context: z.RefinementCtx): void {
  const fail = (message: string, ...path: (string | number)[]) =>
    context.addIssue({ code: "custom", path, message });
  const names = pricedNames(list);
  const known = new Set<string>();
  for (const [index, { properties }] of list.entries()) {
    const isLast = index === list.length - 1;
    if (properties === undefined) {
      if (!isLast) fail("must name values, because only the last price is for all others.", index);
      continue;
    }
    const values = JSON.stringify(names.map((name) => properties[name]));
    if (isLast) fail("must not name values: the last price is for all others.", index);
    else if (names.length === 0 || Object.keys(properties).sort().join() !== names.join()) {
      fail("must name the same properties as the first price.", index, "properties");
    } else if (known.has(values)) fail("is already in the list.", index, "properties");
    else if (names.every((name) => properties[name] === otherValue)) {
      fail(`must not be ${otherValue}, which has the last price.`, index, "properties");
    }
    known.add(values);
  }
  if (list.length < 2) fail("must have a price for values and, last, one without properties.");
}

function requireDistinct(names: readonly string[], context: z.RefinementCtx, path: string[] = []): void {
  for (const [index, name] of names.entries()) {
    if (names.indexOf(name) < index) {
      context.addIssue({ code: "custom", path: [index, ...path], message: "is already in the list." });
    }
  }
}
