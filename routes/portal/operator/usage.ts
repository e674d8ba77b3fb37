// The console's usage page. Invalid parameters never cause an error page.
import { parsePeriodQuery } from "../../../domain/meter/usage_period.ts";
import { slugForm } from "../../../domain/meter/usage_record.ts";
import type { OperatorUsage } from "../../../services/operator/usage_overview.ts";
import type { UsageReport } from "../../../views/meter/usage.tsx";
import { type UsageAddress, usageHref } from "../../../views/meter/usage_filters.tsx";
import type { KeyUsageProps } from "../../../views/meter/usage_tables.tsx";
import { organizationHref } from "../../../views/operator/links.ts";
import { operatorUsagePage } from "../../../views/operator/usage.tsx";
import { daysWords, timezoneNames, zoneWords } from "../../../views/text/zone.ts";
import type { App, AppContext } from "../../env.ts";
import { reportOf } from "../meter/usage_report.ts";
import { type PortalParts, sendPage } from "../page.ts";
import { operatorFrame, operatorPages } from "./page.ts";

const path = "/operator/usage";
const csv = { path: "/api/operator/usage.csv", groupBy: "organization,productSlug,metric" };

/** Mounts `/operator/usage`. */
export function operatorUsagePages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const { get } = operatorPages(app, parts);
  const timezones = timezoneNames();
  get(path, async (c, actor) => {
    const frame = operatorFrame(parts, actor);
    const { now } = frame;
    const choice = parsePeriodQuery(c.req.query(), now);
    const { period, timezone, range, days } = choice;
    const [productSlug, wanted] = [slugOf(c, "productSlug"), slugOf(c, "metric")];
    const usage = await services.reports.read("readOperatorUsage", {
      now,
      period,
      unit: choice.unit,
      timezone,
      productSlug,
      metric: wanted,
    }, c.req.raw.signal);
    const { metric, unit, choices, report } = usage;
    const window = unit === period?.defaultUnit ? null : unit;
    const filters = { productSlug, metric, apiKey: null };
    const address: UsageAddress = { path, range, days, window, timezone, filters };
    const shown = period === null || report === null ? null : reportOf(withCustomers(report), {
      unit,
      period,
      address,
      keys: report.customers.most,
      now,
      csv,
    });
    const page = operatorUsagePage({
      frame,
      address,
      label: period === null ? null : `${daysWords(period, timezone)}, ${zoneWords(timezone)}`,
      unit,
      choices: { ...choices, apiKeys: null, timezones },
      faults: {
        ...choice.faults,
        ...(wanted === null || metric === wanted ? {} : { metric: `No data for “${wanted}”.` }),
        ...(unit === choice.unit
          ? {}
          : { window: `Too many ${choice.unit}s for one page. Showing ${unit}s.` }),
      },
      problem: usage.problem,
      report: shown && withLinks(shown, report?.customers.most ?? []),
      products: report && productsOf(report, address),
    });
    return await sendPage(c, page);
  });
}

type Report = NonNullable<OperatorUsage["report"]>;

/** @returns The report with organizations in place of keys. */
function withCustomers({ customers: { most, others, count }, ...report }: Report) {
  return {
    ...report,
    keys: { most: most.map(({ id, ...one }) => ({ ...one, apiKeyId: id })), others, keys: count },
  };
}

function withLinks(report: UsageReport, customers: readonly { readonly id: string }[]): UsageReport {
  const keys = report.keys.keys.map((key, index) => ({
    ...key,
    href: organizationHref(customers[index]?.id ?? ""),
  }));
  return { ...report, keys: { ...report.keys, keys } };
}

function productsOf({ products: { most, others } }: Report, address: UsageAddress): KeyUsageProps {
  const { filters } = address;
  return {
    keys: most.map(({ productSlug, ...usage }) => ({
      ...usage,
      name: productSlug,
      href: usageHref({ ...address, filters: { ...filters, productSlug } }),
    })),
    others,
    unit: filters.metric ?? "records",
  };
}

function slugOf(c: AppContext, name: string): string | null {
  const text = c.req.query(name) ?? "";
  return slugForm.test(text) ? text : null;
}
