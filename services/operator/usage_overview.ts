// The numbers of the console's usage page, read by the reports thread: totals of all organizations, the busiest ones, products.
import { reportKeys } from "../../domain/meter/usage_report.ts";
import { isoTime } from "../../domain/time.ts";
import { readReport, type UsageOverviewQuery, type UsageReport } from "../meter/usage_overview.ts";
import { readUsageSums } from "../meter/usage_sums.ts";
import type { OperatorReportScope, ReportContext } from "../reports/report_context.ts";

const customersMax = 20;
const productsMax = 20;

/** What the page requests. */
export type OperatorUsageQuery = Omit<UsageOverviewQuery, "filters"> & {
  readonly productSlug: string | null;
  readonly metric: string | null;
};

/** What the page shows. */
export type OperatorUsage = Awaited<ReturnType<typeof readOperatorUsage>>;

/** Reads what the page shows. Without a known metric, the one with the most records in the period is selected. */
export async function readOperatorUsage(
  context: ReportContext,
  { productSlug, metric: wanted, ...input }: OperatorReportScope & OperatorUsageQuery,
) {
  const scope = { ...input, organizationIds: undefined };
  const { products, metrics } = await readNames(context, { ...input, productSlug });
  const metric = metrics.find((name) => name === wanted) ?? metrics[0] ?? null;
  const filters = { productSlug, metric, apiKey: null };
  const { report, ...read } = metric === null
    ? { unit: input.unit, problem: null, report: null }
    : await readReport(context, { ...scope, filters }, "organization");
  return {
    ...read,
    /** The names in the period, to choose from. */
    choices: { products: products.toSorted(), metrics: metrics.toSorted() },
    metric,
    report: report && toReport(report),
  };
}

/** @returns Products, and metrics of the chosen one, those with the most records first. */
async function readNames(
  context: ReportContext,
  { now, period, timezone, productSlug }: OperatorReportScope & Omit<OperatorUsageQuery, "metric">,
) {
  if (period === null) return { products: [], metrics: [] };
  const { data } = await readUsageSums(context, {
    now,
    organizationIds: undefined,
    from: isoTime(period.start),
    to: isoTime(period.end),
    timezone,
    window: "total",
    groupBy: ["productSlug", "metric"],
  });
  const sums = data.toSorted((a, b) => b.count - a.count);
  const ofProduct = sums.filter((sum) => productSlug === null || sum.productSlug === productSlug);
  const distinct = (names: readonly (string | undefined)[]) => [...new Set(names)].map((name = "") => name);
  return {
    products: distinct(sums.map(({ productSlug }) => productSlug)),
    metrics: distinct(ofProduct.map(({ metric }) => metric)),
  };
}

function toReport({ groups, products, ...report }: UsageReport) {
  const byId = new Map(groups.map((sum) => [sum.organizationId, sum]));
  const customers = reportKeys(
    groups.map(({ organizationId = "", micros, count }) => ({ apiKey: organizationId, micros, count })),
    customersMax,
  );
  const byProduct = reportKeys(
    products.map(({ productSlug = "", micros, count }) => ({ apiKey: productSlug, micros, count })),
    productsMax,
  );
  return {
    ...report,
    customers: {
      most: customers.most.map(({ apiKeyId, ...usage }) => ({
        ...usage,
        id: apiKeyId ?? "",
        name: byId.get(apiKeyId ?? "")?.organizationName ?? apiKeyId ?? "",
      })),
      others: customers.others,
      /** The number of organizations with usage. */
      count: customers.keys,
    },
    products: {
      most: byProduct.most.map(({ apiKeyId, ...usage }) => ({ ...usage, productSlug: apiKeyId ?? "" })),
      others: byProduct.others,
    },
  };
}
