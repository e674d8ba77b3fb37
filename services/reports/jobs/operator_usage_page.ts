// The numbers of the console's usage page, read by the reports thread: the report of all organizations.
import { usagePageChoicesMax } from "../../../domain/limits.ts";
import { listUsedProducts } from "../../../db/meter/catalogue.ts";
import { readCatalogue } from "./catalogue.ts";
import { readUsageReport, type UsageReportQuery } from "./usage_report.ts";
import type { JobContext, JobTime } from "../job_context.ts";

export type OperatorUsagePageQuery = Pick<UsageReportQuery, "unit" | "timezone" | "pages"> & {
  /** Null: no numbers. */
  readonly period: UsageReportQuery["period"] | null;
  readonly productSlug: string | null;
  readonly metric: string | null;
};

export type OperatorUsagePage = Awaited<ReturnType<typeof readOperatorUsagePage>>;

/** Reads what the page shows. Without a known metric, the one with the most records in the period is selected. */
export async function readOperatorUsagePage(
  context: JobContext,
  { productSlug, metric: wanted, period, ...input }: JobTime & OperatorUsagePageQuery,
) {
  const products = (await listUsedProducts(context.database, {
    organizationId: null,
    limit: usagePageChoicesMax,
  })).toSorted();
  if (period === null) {
    const catalogue = await readCatalogue(context, {});
    return {
      products,
      catalogue,
      metrics: [],
      metric: null,
      unit: input.unit,
      report: null,
      problem: null,
    };
  }
  const read = await readUsageReport(context, {
    ...input,
    period,
    organizationIds: undefined,
    group: "organization",
    stack: "productSlug",
    filter: { productSlug: productSlug === null ? undefined : [productSlug] },
    pickMetric: (metrics) =>
      Promise.resolve(wanted !== null && metrics.includes(wanted) ? wanted : metrics[0] ?? null),
  });
  return { products, ...read };
}
