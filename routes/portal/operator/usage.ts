// The console's usage page. Invalid parameters never cause an error page.
import { productOf } from "../../../domain/meter/catalogue.ts";
import { parsePeriodQuery } from "../../../domain/meter/usage_period.ts";
import { slugForm } from "../../../domain/meter/usage_record.ts";
import { readUsageOfOrganizations } from "../../../services/operator/usage.ts";
import { operatorUsagePage } from "../../../views/operator/usage.tsx";
import { organizationHref } from "../../../views/operator/links.ts";
import type { UsageAddress } from "../../../views/meter/usage_filters.tsx";
import { timezoneNames } from "../../../views/text/zone.ts";
import type { App, AppContext } from "../../env.ts";
import { faultsOf, isUpdate, pageOf, periodWords } from "../meter/usage.ts";
import { csvHref, otherMetrics, reportOf } from "../meter/usage_report.ts";
import { type PortalParts, sendPage } from "../page.ts";
import { operatorFrame, operatorPages } from "./page.ts";

const path = "/operator/usage";
const csv = { path: "/api/operator/usage.csv", query: { groupBy: "organization,productSlug,metric" } };
const groups = { title: "Organizations", column: "Organization", hrefOf: organizationHref };

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
    const pages = { products: pageOf(c, "productPage"), keys: pageOf(c, "keyPage") };
    const numbers = await readUsageOfOrganizations(services, actor, {
      query: {
        period,
        unit: choice.unit,
        timezone,
        productSlug,
        metric: wanted,
        pages: { products: pages.products ?? 1, groups: pages.keys ?? 1 },
      },
      signal: c.req.raw.signal,
    });
    const { metric, unit, catalogue, products, report } = numbers;
    const address: UsageAddress = {
      path,
      range,
      days,
      window: unit === period?.defaultUnit ? null : unit,
      timezone: timezone === "UTC" ? null : timezone,
      filters: { productSlug, metric: wanted === metric ? wanted : null, apiKey: null },
      stack: null,
      pages,
    };
    const options = period && { period, address, timezone, now, groups };
    const shown = options === null || report === null ? { report: null, csvHref: null } : {
      report: reportOf({ ...numbers, report }, options),
      csvHref: csvHref({ ...numbers, report }, options, csv),
    };
    const page = operatorUsagePage({
      frame,
      address,
      ...periodWords(choice, now),
      unit,
      timezone,
      metric,
      choices: {
        products: products.map((slug) => ({ value: slug, label: productOf(catalogue, slug).name })),
        metrics: otherMetrics(numbers),
        apiKeys: null,
        timezones: isUpdate(c) ? [] : timezones,
      },
      faults: {
        ...choice.faults,
        ...faultsOf({ filters: { ...address.filters, metric }, unit }, { unit: choice.unit, metric: wanted }),
      },
      problem: numbers.problem,
      ...shown,
    });
    return await sendPage(c, page);
  });
}

function slugOf(c: AppContext, name: string): string | null {
  const text = c.req.query(name) ?? "";
  return slugForm.test(text) ? text : null;
}
