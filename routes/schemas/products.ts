// The shapes of the catalogue of products.
import { z } from "@hono/zod-openapi";
import { productMetricsMax, productUnitCharactersMax } from "../../domain/limits.ts";
import { nameFault } from "../../domain/name.ts";
import type { ProductMetric } from "../../domain/product.ts";
import { nameSchema, nextCursorSchema, stringSchema, timeOut } from "./common.ts";
import { atMost, characters } from "./messages.ts";
import { slugSchema } from "./usage.ts";

const productSlug = slugSchema.openapi({
  description: "The product in usage records, 1 to 64 characters.",
  example: "tiles",
});
const metricSlug = slugSchema.openapi({
  description: "The metric in usage records, 1 to 64 characters, unique within the product.",
  example: "requests",
});
const unitFault = characters(productUnitCharactersMax, 1);
const unit = z.string().trim().min(1, unitFault).refine(
  (text) => [...text].length <= productUnitCharactersMax,
  unitFault,
)
  .superRefine((text, context) => {
    const message = nameFault(text);
    if (message !== null) context.addIssue({ code: "custom", message });
  })
  .nullable().default(null).openapi({
    type: ["string", "null"],
    minLength: 1,
    maxLength: productUnitCharactersMax,
    description: `What its quantities count, 1 to ${productUnitCharactersMax} characters.`,
    example: "GB",
  });
const name = nameSchema("The product's name", { example: "Map tiles" });

const metrics = z.array(
  z.strictObject({
    slug: metricSlug,
    name: nameSchema("The metric's name", { example: "Requests" }),
    unit,
  }).openapi("ProductMetricInput"),
).max(productMetricsMax, atMost(productMetricsMax, "metrics")).superRefine(requireDistinct).openapi({
  description: `Up to ${productMetricsMax} metrics, in the order in which they are shown.`,
});

export const createProductSchema = z.strictObject({
  slug: productSlug,
  name,
  metrics: metrics.optional().transform((given) => given ?? []),
}).openapi("CreateProduct");
export const changeProductSchema = z.strictObject({
  name: name.optional(),
  metrics: metrics.optional(),
}).openapi("ChangeProduct");

const productSchema = z.object({
  slug: stringSchema("The product in usage records.", "tiles"),
  name: stringSchema("The product's name.", "Map tiles"),
  metrics: z.array(
    z.object({
      slug: stringSchema("The metric in usage records.", "requests"),
      name: stringSchema("The metric's name.", "Requests"),
      unit: stringSchema("What its quantities count.", "GB").nullable(),
    }).openapi("ProductMetric"),
  ).openapi({ description: "In the order in which they are shown." }),
  createdAt: timeOut("When the product was added."),
}).openapi("Product");
export const productResponseSchema = z.object({ product: productSchema });
export const productsSchema = z.object({ products: z.array(productSchema), nextCursor: nextCursorSchema });
export const productParamsSchema = z.object({
  slug: z.string().max(100).openapi({ description: "The product's slug.", example: "tiles" }),
});

function requireDistinct(metrics: readonly ProductMetric[], context: z.RefinementCtx): void {
  const slugs = new Set<string>();
  for (const [index, { slug }] of metrics.entries()) {
    if (slugs.has(slug)) {
      context.addIssue({ code: "custom", path: [index, "slug"], message: "is already in the list." });
    }
    slugs.add(slug);
  }
}
