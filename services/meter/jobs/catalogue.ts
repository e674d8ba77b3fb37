// The names, units and colors of what an organization uses, read by the reports thread.
import { findProductsByAge, listUsedProducts } from "../../../db/meter/catalogue.ts";
import { productsMax } from "../../../domain/limits.ts";
import { type Catalogue, catalogueOf, seriesColors } from "../../../domain/meter/catalogue.ts";
import type { JobContext } from "../../reports/job_context.ts";

/** @param input Without `organizationId`, for all organizations together. */
export async function findCatalogue(
  { database }: Pick<JobContext, "database">,
  input: { readonly organizationId: string } | Record<never, never>,
): Promise<Catalogue> {
  const organizationId = "organizationId" in input ? input.organizationId : null;
  return catalogueOf({
    products: await findProductsByAge(database),
    used: await listUsedProducts(database, { organizationId, limit: productsMax + seriesColors }),
  });
}
