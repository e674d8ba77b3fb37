// The numbers of the operators' overview, read by the reports thread from the totals over all organizations.
import { allOrganizations } from "../../db/meter/usage_sums.ts";
import { countActiveOrganizations, findBusiestOrganizations } from "../../db/operator/overview.ts";
import { parsePeriodQuery } from "../../domain/meter/usage_period.ts";
import { reportChart } from "../../domain/meter/usage_report.ts";
import type { UsageWindow } from "../../domain/meter/usage_window.ts";
import { isoTime } from "../../domain/time.ts";
import { readUsageSums, type UsageSum } from "../meter/usage_sums.ts";
import type { OperatorReportScope, ReportContext } from "../reports/report_context.ts";

const busiestMax = 12;
const chartSeriesMax = 6;
const dayMs = 24 * 3_600_000;
/** Counts as the sums that {@linkcode reportChart} takes. */
const microsPerRecord = 1_000_000n;

/** What the overview shows. */
export type OperatorOverview = Awaited<ReturnType<typeof readOperatorOverview>>;

/** Reads records by product and day of the current month in UTC, with earlier ones to compare, and the busiest organizations. */
export async function readOperatorOverview(context: ReportContext, { now }: OperatorReportScope) {
  const { database } = context;
  const { period } = parsePeriodQuery({ range: "month", timezone: "UTC" }, now);
  if (period === null) throw new Error("the current month is a period");
  const sums = (window: UsageWindow, by: "day" | "total") =>
    readUsageSums(context, {
      organizationId: allOrganizations,
      now,
      from: isoTime(window.start),
      to: isoTime(window.end),
      window: by,
      groupBy: by === "day" ? ["productSlug"] : [],
    });
  const dayStart = Math.floor(now / dayMs) * dayMs;
  const { range, data } = await sums(period, "day");
  const today = range.windows.findIndex(({ start }) => start === dayStart);
  const before = await sums(period.compared, "total");
  const sameDay = await sums({ start: dayStart - 7 * dayMs, end: now - 7 * dayMs }, "total");
  return {
    range,
    /** The part of the month before to compare with. */
    compared: period.compared,
    records: {
      month: recordsOf(data),
      monthBefore: recordsOf(before.data),
      today: recordsOf(data.filter(({ position }) => position === today)),
      /** On the same day of the week before, until the same time. */
      weekAgo: recordsOf(sameDay.data),
    },
    chart: reportChart(
      data.map((sum) => ({ ...sum, micros: BigInt(sum.count) * microsPerRecord })),
      range.windows.length,
      chartSeriesMax,
    ),
    organizations: await countActiveOrganizations(database, { now, dayStart }),
    busiest: await findBusiestOrganizations(database, { now, limit: busiestMax }),
  };
}

function recordsOf(sums: readonly UsageSum[]): number {
  return sums.reduce((total, { count }) => total + count, 0);
}
