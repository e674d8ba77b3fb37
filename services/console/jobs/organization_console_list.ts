// A page of the console's list of organizations, read by the reports thread: there may be 100,000.
import { isKnownMetric, sumWindows } from "../../../db/meter/mod.ts";
import { findOrganizationNumbers, findOrganizationsByNumber } from "../../../db/console/organizations.ts";
import { consolePageItemsMax } from "../../../domain/limits.ts";
import { hasLevel } from "../../../domain/console/organization.ts";
import { monthSoFar } from "../../../domain/meter/month_so_far.ts";
import { sumMicros } from "../../../domain/meter/quantity.ts";
import { percentChange, percentOf } from "../../../domain/meter/usage_report.ts";
import type { OrganizationList } from "../../../domain/console/organization_list.ts";
import type { JobContext, JobTime } from "../../reports/job_context.ts";
import { findCatalogue } from "../../meter/jobs/mod.ts";
import { type OrganizationFilter, toOrganization } from "./organization_list.ts";
import {
  isRankedSort,
  rankOrganizations,
  readLimitLevels,
  readOrganizationCounts,
} from "./organization_ranking.ts";
import { monthUsage, readMetrics, readMonthUsage } from "./organization_usage.ts";

/** Reads a page of the console's list. An unknown metric is ignored. */
export async function readOrganizationList(
  context: JobContext,
  { page: wanted, ...filter }: OrganizationFilter & JobTime & { readonly page: number },
): Promise<OrganizationList> {
  const { database } = context;
  const { search, planId, status, limits, sort, now } = filter;
  const isKnown = filter.metric !== undefined && await isKnownMetric(database, filter.metric);
  const metrics = await readMetrics(context, { now, metric: isKnown ? filter.metric : undefined });
  const [metric = null] = metrics;
  const matching = await findOrganizationNumbers(
    database,
    { search, planId },
    sort === "name" ? "name" : "createdAt",
  );
  await context.pause();
  const levels = await readLimitLevels(context, { now });
  const suspended = new Set(await findOrganizationNumbers(database, { status: "suspended" }, "createdAt"));
  const counts = { all: matching.length, suspended: 0, rejected: 0, above: 0, near: 0 };
  const found = matching.filter((number) => {
    const level = levels.get(number);
    const isSuspended = suspended.has(number);
    if (isSuspended) counts.suspended++;
    if (level !== undefined) counts[level]++;
    return (limits === undefined || hasLevel(limits, level)) &&
      (status === undefined || isSuspended === (status === "suspended"));
  });
  await context.pause();
  const ordered = isRankedSort(sort)
    ? (await rankOrganizations(context, found, { sort, metric, now })).numbers
    : found;
  const pages = Math.max(1, Math.ceil(ordered.length / consolePageItemsMax));
  const page = Math.min(wanted, pages);
  const numbers = ordered.slice((page - 1) * consolePageItemsMax, page * consolePageItemsMax);
  const rows = await findOrganizationsByNumber(database, numbers, now);
  const usage = await readMonthUsage(context, { rows, metric, now, hasDays: true });
  const totals = metric === null
    ? []
    : await sumWindows(database, [monthSoFar(now)], { organizations: [0], metric });
  const all = totals.reduce((sum, row) => sum + sumMicros(row), 0n);
  return {
    lines: rows.map((row) => {
      const used = usage(row);
      return {
        organization: { ...toOrganization(row), usage: monthUsage(metric, used) },
        level: levels.get(row.number) ?? null,
        days: used?.days ?? [],
        change: used && percentChange(used.micros, used.previousMicros),
        share: used && percentOf(used.micros, all),
      };
    }),
    counts,
    total: ordered.length,
    page,
    pages,
    metrics,
    metric,
    catalogue: await findCatalogue(context, {}),
    organizations: await readOrganizationCounts(context, { now }),
  };
}
