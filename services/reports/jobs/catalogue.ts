// The names, units and colors of what an organization uses, read by the reports thread.
import type { DatabaseReader } from "../../../db/engine/database.ts";
import { findOldestProduct, findProductsByAge, listUsedProducts } from "../../../db/meter/catalogue.ts";
import { productsMax } from "../../../domain/limits.ts";
import {
  type Catalogue,
  catalogueOf,
  type ExampleUsage,
  seriesColors,
} from "../../../domain/meter/catalogue.ts";
import { productMetrics } from "../../../db/operator/products.ts";
import type { ReportContext } from "../report_context.ts";

/** @returns The first metric of the operator's oldest product, because others may be rejected; made-up names without products. */
export async function readExampleUsage(
  { database }: { readonly database: DatabaseReader },
): Promise<ExampleUsage> {
  const product = await findOldestProduct(database);
  const [metric] = product === undefined ? [] : productMetrics(product.metrics);
  return { productSlug: product?.slug ?? "my-product", metric: metric?.slug ?? "requests" };
}

/** @param input Without `organizationId`, for all organizations together. */
export async function readCatalogue(
  { database }: Pick<ReportContext, "database">,
  input: { readonly organizationId: string } | Record<never, never>,
): Promise<Catalogue> {
  const organizationId = "organizationId" in input ? input.organizationId : null;
  return catalogueOf({
    products: (await findProductsByAge(database)).map(({ slug, name, metrics }) => ({
      slug,
      name,
      metrics: productMetrics(metrics),
    })),
    used: await listUsedProducts(database, { organizationId, limit: productsMax + seriesColors }),
  });
}
