// Reading usage: sums, the usage page and the small charts of keys, all read by the reports thread.
import type { UsageGroup } from "../../db/meter/usage_sums.ts";
import type { KeyReport } from "../../domain/meter/key_report.ts";
import type { KeyUsage } from "../../domain/meter/key_usage.ts";
import type { Session } from "../../domain/sign_in/session.ts";
import { type Access, requirePermission } from "../access.ts";
import type { Context } from "../context.ts";
import type { ReportBytes } from "../reports/reports.ts";
import type { KeyReportQuery } from "../reports/jobs/key_report.ts";
import type { KeyUsageQuery } from "../reports/jobs/key_usage.ts";
import { type UsageReader, usageScope } from "./usage_access.ts";
import type { MetricTotal, MetricTotalsQuery } from "../reports/jobs/metric_totals.ts";
import type { UsageOverview, UsageOverviewQuery } from "../reports/jobs/usage_overview.ts";
import type { UsageQuery } from "../reports/jobs/usage_sums.ts";

/** @returns What to group a query's sums by, so that different metrics are never added up. */
export function groupsOf<G extends UsageGroup>({ groupBy = [], metric = [] }: {
  readonly groupBy?: readonly G[] | undefined;
  readonly metric?: readonly string[] | undefined;
}): readonly (G | "metric")[] {
  const isByMetric = metric.length === 1 || groupBy.some((group) => group === "metric");
  return isByMetric ? groupBy : [...groupBy, "metric"];
}

/**
 * Adds up usage of the organization of a key or a session.
 *
 * @param options `signal`: cancels the report.
 * @returns JSON of a limited number of sums, or CSV of any number with the range as its head, such as
 *   `2026-11-01-2026-12-01`.
 * @throws {AppError} As {@linkcode usageScope}; `validation_failed`, `range_too_long`, `unavailable`.
 */
export async function sumUsage(
  context: Context,
  by: UsageReader,
  { query, format, signal }: { query: UsageQuery; format: "json" | "csv"; signal: AbortSignal },
): Promise<ReportBytes> {
  const { scope, reader } = await usageScope(context, by);
  const report = format === "json" ? "usageJson" : "usageCsv";
  return await context.reports.bytes(report, { ...query, ...scope }, { reader, signal });
}

/** @returns The totals of each metric of the active organization. @throws {AppError} `forbidden`, `range_too_long`, `unavailable`. */
export async function readMetricTotals(
  context: Context,
  session: Session,
  { query, signal }: { query: MetricTotalsQuery; signal: AbortSignal },
): Promise<MetricTotal[]> {
  const { scope, reader } = await usageScope(context, session);
  return await context.reports.read("readMetricTotals", { ...query, ...scope }, { reader, signal });
}

/** @returns What the usage page shows of the active organization. @throws {AppError} `forbidden`, `unavailable`. */
export async function readUsageOverview(
  context: Context,
  session: Session,
  { query, signal }: { query: UsageOverviewQuery; signal: AbortSignal },
): Promise<UsageOverview> {
  const { scope, reader } = await usageScope(context, session);
  return await context.reports.read("readUsageOverview", { ...query, ...scope }, { reader, signal });
}

/**
 * Reads the usage of keys by id, without keys that have none.
 *
 * @throws {AppError} `forbidden`, `validation_failed`, `unavailable`.
 */
export async function readKeyUsage(
  { reports, clock }: Context,
  access: Access,
  { query, signal }: { query: KeyUsageQuery; signal: AbortSignal },
): Promise<Map<string, KeyUsage>> {
  requirePermission(access, "usage.read");
  const { organizationId, reader } = access;
  return await reports.read("readKeyUsage", { ...query, organizationId, now: clock() }, { reader, signal });
}

/** Reads the names that an organization's usage has. @throws {AppError} `forbidden`, `unavailable`. */
export async function readUsageNames(
  { reports, clock }: Context,
  access: Access,
  signal: AbortSignal,
): Promise<{ productSlugs: string[]; metrics: string[] }> {
  requirePermission(access, "usage.read");
  const { organizationId, reader } = access;
  return await reports.read("readUsageNames", { organizationId, now: clock() }, { reader, signal });
}

/** Reads the usage of one key. @throws {AppError} `forbidden`, `unavailable`. */
export async function readKeyReport(
  { reports, clock }: Context,
  access: Access,
  { query, signal }: { query: KeyReportQuery; signal: AbortSignal },
): Promise<KeyReport> {
  requirePermission(access, "usage.read");
  const { organizationId, reader } = access;
  return await reports.read("readKeyReport", { ...query, organizationId, now: clock() }, { reader, signal });
}
