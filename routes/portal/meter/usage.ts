// The usage page: totals, a chart, the most active keys and the latest records. Invalid parameters never cause an error page.
import { isId } from "../../../domain/id.ts";
import { parsePeriodQuery } from "../../../domain/meter/usage_period.ts";
import { slugForm } from "../../../domain/meter/usage_record.ts";
import { readOwnLimits } from "../../../services/meter/limits.ts";
import { readUsageOverview } from "../../../services/meter/usage.ts";
import type { OverviewFilters } from "../../../services/meter/usage_overview.ts";
import { exampleCurl } from "../../../views/components/code.tsx";
import { daysWords, timezoneNames, zoneWords } from "../../../views/text/zone.ts";
import { usagePage } from "../../../views/meter/usage.tsx";
import type { App, AppContext } from "../../env.ts";
import { inTime } from "../in_time.ts";
import { memberRoutes, portalFrame, type PortalParts, sendPage } from "../page.ts";
import { reportOf } from "./usage_report.ts";

/** Mounts `/portal/usage`. */
export function portalUsageRoutes(app: App, parts: PortalParts): void {
  const { get } = memberRoutes(app, parts);
  const { services } = parts;
  const timezones = timezoneNames();

  get("/portal/usage", async (c, session) => {
    const now = services.clock();
    const choice = parsePeriodQuery(c.req.query(), now);
    const { period, timezone, range, days } = choice;
    const requested = requestedFilters(c);
    const [numbers, limits] = await Promise.all([
      readUsageOverview(services, session, {
        query: { period, unit: choice.unit, timezone, filters: requested },
        signal: c.req.raw.signal,
      }),
      inTime((signal) => readOwnLimits(services, session, signal)),
    ]);
    const { filters, unit, choices } = numbers;
    const window = unit === period?.defaultUnit ? null : unit;
    const address = { path: "/portal/usage", range, days, window, timezone, filters };
    const isKeyFound = filters.apiKey === (c.req.query("apiKey") || null);
    const isMetricFound = requested.metric === null || requested.metric === filters.metric;
    return sendPage(
      c,
      usagePage({
        frame: portalFrame(parts, session),
        address,
        label: period === null ? null : `${daysWords(period, timezone)}, ${zoneWords(timezone)}`,
        unit,
        choices: { ...choices, timezones },
        faults: {
          ...choice.faults,
          ...(isKeyFound ? {} : { apiKey: "Key not found. Showing all keys." }),
          ...(isMetricFound ? {} : { metric: `No data for “${requested.metric}”.` }),
          ...(unit === choice.unit
            ? {}
            : { window: `Too many ${choice.unit}s for one page. Showing ${unit}s.` }),
        },
        report: period === null || numbers.report === null
          ? null
          : reportOf(numbers.report, { unit, period, address, keys: choices.apiKeys, now }),
        problem: numbers.problem,
        limits,
        records: numbers.records,
        example: numbers.hasUsage
          ? null
          : { curl: exampleCurl(`${parts.config.baseUrl.origin}/api/v1/usage`, null) },
      }),
    );
  });
}

/** @returns The filters of the address; null for those without a valid form. */
function requestedFilters(c: AppContext): OverviewFilters {
  const { productSlug = "", metric = "", apiKey = "" } = c.req.query();
  const slug = (text: string) => slugForm.test(text) ? text : null;
  return {
    productSlug: slug(productSlug),
    metric: slug(metric),
    apiKey: isId("key", apiKey) ? apiKey : null,
  };
}
