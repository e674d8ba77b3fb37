// What the forms about limits suggest.
import { readProductNames } from "../../services/meter/mod.ts";
import type { PortalParts } from "../portal/page.ts";

/** Returns the slugs of the products and metrics in the catalogue, and their names. */
export async function catalogueSlugs({ services }: PortalParts) {
  const catalogue = await readProductNames(services);
  return { catalogue, productSlugs: [...catalogue.products.keys()], metrics: [...catalogue.metrics.keys()] };
}
