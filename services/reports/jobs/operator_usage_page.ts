// The numbers of the console's usage page, read by the reports thread: the report of all organizations.
import { usagePageChoicesMax } from "../../../domain/limits.ts";
import { listUsedProducts } from "../../../db/meter/catalogue.ts";
import type { JobContext, JobTime } from "../job_context.ts";
import type { UsagePageFilters } from "./usage_page.ts";
import { readUsageReport, type UsageReportQuery } from "./usage_report.ts";

export type OperatorUsagePageQuery = Pick<UsageReportQuery, "period" | "unit" | "timezone" | "pages"> & {
  readonly filters: Omit<UsagePageFilters, "apiKey">;
};

export type OperatorUsagePage = Awaited<ReturnType<typeof readOperatorUsagePage>>;

/** Reads what the page shows. Without a known metric, the one with the most records in the period is selected. */
export async function readOperatorUsagePage(
  context: JobContext,
  { filters: { productSlug, metric }, ...input }: JobTime & OperatorUsagePageQuery,
) {
  const products = await listUsedProducts(context.database, {
    organizationId: null,
    limit: usagePageChoicesMax,
  });
  const read = await readUsageReport(context, {
    ...input,
    organizationIds: undefined,
    group: "organization",
    stack: "productSlug",
    filter: { productSlug: productSlug === null ? undefined : [productSlug] },
    metric,
  });
  return {
    ...read,
    filters: { productSlug, metric: read.metric, apiKey: null },
    choices: { products: products.toSorted(), apiKeys: null },
  };
}
