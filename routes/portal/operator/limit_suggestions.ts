// What the forms about limits suggest.
import { productsMax } from "../../../domain/limits.ts";
import { listProducts } from "../../../services/operator/products.ts";
import type { PortalParts } from "../page.ts";

/** Returns the slugs of the products and metrics in the catalogue. */
export async function catalogueSlugs({ services }: PortalParts) {
  const { products } = await listProducts(services, { limit: productsMax });
  const metrics = products.flatMap((product) => product.metrics.map(({ slug }) => slug));
  return { productSlugs: products.map(({ slug }) => slug), metrics: [...new Set(metrics)] };
}
