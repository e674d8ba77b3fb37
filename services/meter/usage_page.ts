// The numbers of the usage page, read and added up on the reports thread: what people can choose from, the totals, the
// chart, the most active keys, the latest records.
import { listUsageKeys, listUsageNames, type UsageFilter } from "../../db/meter/usage_sums.ts";
import { AppError } from "../../domain/errors.ts";
import { usagePageChoicesMax } from "../../domain/limits.ts";
import {
  type ReportChart,
  reportChart,
  type ReportKeys,
  reportKeys,
  type ReportTotals,
  reportTotals,
} from "../../domain/meter/usage_report.ts";
import {
  isoTime,
  type QueryWindow,
  type UsageRange,
  type UsageWindow,
  type WindowUnit,
  windowUnits,
} from "../../domain/meter/usage_window.ts";
import type { ReportContext, ReportScope } from "../reports/report_context.ts";
import { listUsageRecords, type NamedUsageRecord } from "./usage_record_list.ts";
import { readUsageSums, type UsageReadInput, type UsageSums } from "./usage_sums.ts";

const activeKeysShown = 5;
const latestRecords = 10;

/** What the page is asked for, in the form of slugs and ids; null for all. */
export interface UsagePageFilters {
  readonly productSlug: string | null;
  readonly metric: string | null;
  readonly apiKey: string | null;
}

/** Which numbers. */
export interface UsagePageInput {
  /** Null: none. */
  readonly period: (UsageWindow & { readonly compared: UsageWindow }) | null;
  readonly unit: WindowUnit;
  readonly timezone: string;
  readonly filters: UsagePageFilters;
}

/** What the page shows. */
export interface UsagePageNumbers {
  /** Anything was ever recorded. */
  readonly hasUsage: boolean;
  /** What is shown: a key or metric that the organization does not have is not among them. */
  readonly filters: UsagePageFilters;
  readonly choices: {
    readonly products: readonly string[];
    /** Of the product and the key that were chosen. */
    readonly metrics: readonly string[];
    /** No two names are alike. */
    readonly apiKeys: readonly { readonly id: string; readonly name: string }[];
  };
  /** The length of the windows: when there would be too many, a longer one than was asked for. */
  readonly unit: WindowUnit;
  /** Null without a period, or when there is too much to add up; `trouble` then says so. */
  readonly report: {
    readonly range: UsageRange;
    readonly totals: ReportTotals;
    /** The sum of the period that it is compared with, in millionths. */
    readonly before: bigint;
    readonly chart: ReportChart;
    readonly keys: ReportKeys;
  } | null;
  readonly trouble: string | null;
  readonly records: readonly NamedUsageRecord[];
}

/** Reads what the page shows. */
export async function readUsagePage(
  context: ReportContext,
  input: ReportScope & UsagePageInput,
): Promise<UsagePageNumbers> {
  const { organizationId, now } = input;
  const { filters, choices } = await choose(context, input);
  const filter = filterOf(filters);
  const numbers = await readNumbers(context, { ...input, filters });
  const { usageRecords } = await listUsageRecords(context, {
    organizationId,
    now,
    ...filter,
    limit: latestRecords,
  });
  return { hasUsage: choices.products.length > 0, filters, choices, records: usageRecords, ...numbers };
}

/** Sums of different metrics mean nothing: without a choice that fits, the metric with the most records is shown. */
async function choose(
  context: ReportContext,
  input: ReportScope & UsagePageInput,
): Promise<Pick<UsagePageNumbers, "filters" | "choices">> {
  const { database } = context;
  const { organizationId, filters: wanted, period } = input;
  const limit = usagePageChoicesMax;
  const keys = await listUsageKeys(database, { organizationId, alsoId: wanted.apiKey, limit });
  const isKey = keys.some(({ id }) => id === wanted.apiKey);
  const chosen = { productSlug: wanted.productSlug, apiKey: isKey ? wanted.apiKey : null, metric: null };
  const names = (what: "productSlug" | "metric", filters: UsagePageFilters, most = limit) =>
    listUsageNames(database, { organizationId, what, filter: filterOf(filters), limit: most });
  const noFilters = { productSlug: null, metric: null, apiKey: null };
  const products = await names("productSlug", noFilters);
  const metrics = await names("metric", chosen);
  const isMetric = wanted.metric !== null &&
    (metrics.length === 0 || (await names("metric", { ...chosen, metric: wanted.metric }, 1)).length > 0);
  const most = isMetric || period === null ? null : await busiestMetric(context, {
    ...input,
    ...span(period),
    ...filterOf(chosen),
  });
  const metric = isMetric ? wanted.metric : most ?? metrics[0] ?? (await names("metric", noFilters, 1))[0];
  return {
    filters: { ...chosen, metric: metric ?? null },
    choices: { products, metrics, apiKeys: namedApart(keys) },
  };
}

async function busiestMetric(
  context: ReportContext,
  input: ReportScope & UsageReadInput,
): Promise<string | null> {
  const { organizationId, now, from, to, productSlug, apiKey } = input;
  const sums = await unlessTooMuch(readUsageSums(context, {
    organizationId,
    now,
    from,
    to,
    productSlug,
    apiKey,
    window: "total",
    groupBy: ["metric"],
  }));
  const [most] = sums instanceof AppError ? [] : sums.data.toSorted((a, b) => b.count - a.count);
  return most?.metric ?? null;
}

/** Reads by the windows that were asked for or, when those are too many, by the next longer ones. */
async function readNumbers(
  context: ReportContext,
  { organizationId, now, period, filters, unit: wanted, timezone }: ReportScope & UsagePageInput,
): Promise<Pick<UsagePageNumbers, "unit" | "report" | "trouble">> {
  const nothing = { unit: wanted, report: null };
  if (period === null) return { ...nothing, trouble: null };
  const read = (stretch: UsageWindow, window: QueryWindow, groupBy: ("productSlug" | "apiKey")[]) =>
    unlessTooMuch(readUsageSums(context, {
      organizationId,
      now,
      ...span(stretch),
      window,
      timezone,
      ...filterOf(filters),
      groupBy,
    }));
  let unit = wanted;
  let byProduct = await read(period, unit, ["productSlug"]);
  for (const longer of windowUnits.slice(windowUnits.indexOf(wanted) + 1)) {
    if (!(byProduct instanceof AppError)) break;
    unit = longer;
    byProduct = await read(period, unit, ["productSlug"]);
  }
  if (byProduct instanceof AppError) return { ...nothing, trouble: byProduct.message };
  const byKey = await read(period, "total", ["apiKey"]);
  const before = await read(period.compared, "total", []);
  if (byKey instanceof AppError) return { ...nothing, trouble: byKey.message };
  if (before instanceof AppError) return { ...nothing, trouble: before.message };
  const { range } = byProduct;
  const ofProducts = byProduct.data.map((sum) => ({ ...sum, productSlug: sum.productSlug ?? "" }));
  return {
    unit,
    trouble: null,
    report: {
      range,
      totals: reportTotals(ofProducts),
      before: reportTotals(before.data).micros,
      chart: reportChart(ofProducts, range.windows.length),
      keys: reportKeys(
        byKey.data.map((sum) => ({ ...sum, apiKeyId: sum.apiKey ?? "" })),
        activeKeysShown,
      ),
    },
  };
}

/** @returns What was read, or the error that it is too much at once. */
async function unlessTooMuch(reading: Promise<UsageSums>): Promise<UsageSums | AppError> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof AppError && error.code === "range_too_long") return error;
    throw error;
  }
}

/** @returns Keys by name; keys of the same name are told apart by how they begin. */
function namedApart(
  keys: readonly { id: string; name: string; keyPrefix: string }[],
): { id: string; name: string }[] {
  const counts = new Map<string, number>();
  for (const { name } of keys) counts.set(name, (counts.get(name) ?? 0) + 1);
  return keys.map(({ id, name, keyPrefix }) => ({
    id,
    name: counts.get(name) === 1 ? name : `${name} (${keyPrefix.replace("service_live_", "")})`,
  })).sort((a, b) => a.name < b.name ? -1 : 1);
}

function filterOf({ productSlug, metric, apiKey }: UsagePageFilters): UsageFilter {
  return {
    ...(productSlug === null ? {} : { productSlug: [productSlug] }),
    ...(metric === null ? {} : { metric: [metric] }),
    ...(apiKey === null ? {} : { apiKey: [apiKey] }),
  };
}

function span({ start, end }: UsageWindow): { from: string; to: string } {
  return { from: isoTime(start), to: isoTime(end) };
}
