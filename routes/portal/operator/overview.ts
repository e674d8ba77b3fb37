// The first page of the operator console.
import { percentChange } from "../../../domain/meter/usage_report.ts";
import { groupDigits } from "../../../domain/number_text.ts";
import type { OperatorOverview } from "../../../services/operator/overview.ts";
import { Change } from "../../../views/components/change.tsx";
import type { ChartProps } from "../../../views/components/chart.tsx";
import { type Health, healthOf } from "../../../views/operator/health.ts";
import { organizationHref } from "../../../views/operator/links.ts";
import { type Attention, type Customer, overviewPage } from "../../../views/operator/overview.tsx";
import { clockTime } from "../../../views/text/time.ts";
import { daysWords, windowNames } from "../../../views/text/zone.ts";
import type { App } from "../../env.ts";
import { readSystemState } from "../../system_state.ts";
import { type PortalParts, sendPage } from "../page.ts";
import { operatorFrame, operatorHome, operatorPages } from "./page.ts";

/** Mounts `/operator`. */
export function operatorOverviewRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  const { get } = operatorPages(app, parts);
  get(operatorHome, async (c, actor) => {
    const frame = operatorFrame(parts, actor);
    const { now } = frame;
    const [overview, state] = await Promise.all([
      services.reports.read("readOperatorOverview", { now }, c.req.raw.signal),
      readSystemState(parts),
    ]);
    const health = healthOf(state, frame);
    const page = overviewPage({
      frame,
      updated: clockTime(now),
      figures: figuresOf(overview, now),
      chart: overview.records.month === 0 ? null : chartOf(overview, now),
      customers: customersOf(overview),
      activeCount: overview.organizations.active,
      attention: attentionOf(health),
      health,
    });
    return await sendPage(c, page);
  });
}

function figuresOf({ records, compared, organizations }: OperatorOverview, now: number) {
  const change = (current: number, before: number, period: string) =>
    Change({ percent: percentChange(BigInt(current), BigInt(before)), period });
  return [
    {
      label: "Records today",
      number: records.today,
      note: change(records.today, records.weekAgo, `a week ago, until ${clockTime(now).slice(0, 5)}`),
    },
    {
      label: "Records this month",
      number: records.month,
      note: change(records.month, records.monthBefore, daysWords(compared, "UTC", now)),
    },
    {
      label: "Active organizations today",
      number: organizations.activeToday,
      note: `of ${groupDigits(organizations.all)}`,
    },
    {
      label: "Active this month",
      number: organizations.active,
      note: change(organizations.active, organizations.activeBefore, "all of last month"),
    },
  ];
}

function chartOf({ range, chart }: OperatorOverview, now: number): ChartProps {
  const names = windowNames(range.windows, { unit: "day", timezone: "UTC", now });
  return {
    title: "Records of all organizations by day, this month, UTC",
    description: `Stacked bars for ${chart.series.join(", ")}. The table below has the same numbers.`,
    windows: chart.windows.map((window, position) => ({
      ...names[position] ?? { label: "", name: "", startsDay: false },
      ...window,
    })),
    series: chart.series,
    unit: "records",
    by: "day",
  };
}

function customersOf({ busiest, records }: OperatorOverview): Customer[] {
  return busiest.map((customer) => ({
    name: customer.name,
    href: customer.isDeleted === 1 ? null : organizationHref(customer.id),
    note: customer.isDeleted === 1 ? "Deleted" : customer.externalId ?? customer.id,
    records: customer.records,
    share: records.month === 0 ? null : 100 * customer.records / records.month,
    recordsBefore: customer.recordsBefore,
  }));
}

function attentionOf(health: readonly Health[]): Attention[] {
  return health.flatMap(({ name, icon, tone, state, trouble }) =>
    trouble === null ? [] : [{
      icon,
      tone: tone === "bad" ? tone : "soon" as const,
      title: `${name}: ${state.toLowerCase()}`,
      text: trouble,
      href: "/operator/system",
      label: "View",
    }]
  );
}
