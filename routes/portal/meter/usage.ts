// The page of usage: totals, a chart, the most active keys, the latest records. Whatever its address says, it answers
// with a page.
import { isId } from "../../../domain/id.ts";
import { reportChoice } from "../../../domain/meter/usage_period.ts";
import { slugForm } from "../../../domain/meter/usage_record.ts";
import { readUsageOverview } from "../../../services/meter/usage.ts";
import type { OverviewFilters } from "../../../services/meter/usage_overview.ts";
import { exampleCurl } from "../../../views/components/code.tsx";
import type { Assets } from "../../../views/layout.tsx";
import { daysWords, timezoneNames, zoneWords } from "../../../views/text/zone.ts";
import { usagePage } from "../../../views/meter/usage.tsx";
import type { App, AppContext, AppParts } from "../../env.ts";
import { inOrganization, portalFrame, sendPage } from "../page.ts";
import { reportOf } from "./usage_report.ts";

/** Mounts `/portal/usage`. */
export function portalUsageRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { services } = parts;
  const timezones = timezoneNames();

  app.get(
    "/portal/usage",
    inOrganization(parts, async (c, session) => {
      const now = services.clock();
      const choice = reportChoice(c.req.query(), now);
      const { period, timezone } = choice;
      const given = givenFilters(c);
      const numbers = await readUsageOverview(services, session, {
        query: { period, unit: choice.unit, timezone, filters: given.filters },
        signal: c.req.raw.signal,
      });
      const { filters, unit, choices } = numbers;
      const window = unit === period?.defaultUnit ? null : unit;
      const address = { range: choice.range, days: choice.days, window, timezone, filters };
      const isUnknownKey = filters.apiKey !== given.filters.apiKey || given.isNoKey;
      const wantedMetric = given.filters.metric;
      const isUnknownMetric = wantedMetric !== null && wantedMetric !== filters.metric;
      return sendPage(
        c,
        usagePage({
          frame: portalFrame(parts, assets, session),
          address,
          label: period === null ? null : `${daysWords(period, timezone)}, ${zoneWords(timezone)}`,
          unit,
          choices: { ...choices, timezones },
          faults: {
            ...choice.faults,
            ...(isUnknownKey ? { apiKey: "There is no such key: all are shown." } : {}),
            ...(isUnknownMetric ? { metric: `Never recorded here: “${wantedMetric}”.` } : {}),
            ...(unit === choice.unit
              ? {}
              : { window: `Too many ${choice.unit}s for one page: shown by ${unit}.` }),
          },
          report: period === null || numbers.report === null
            ? null
            : reportOf(numbers.report, { by: unit, period, address, keys: choices.apiKeys, now }),
          trouble: numbers.problem,
          records: numbers.records,
          example: numbers.hasUsage
            ? null
            : { curl: exampleCurl(`${parts.config.baseUrl.origin}/api/v1/usage`, null) },
        }),
      );
    }),
  );
}

/** @returns What the address asks for, and whether its key cannot be one. */
function givenFilters(c: AppContext): { filters: OverviewFilters; isNoKey: boolean } {
  const given = (name: string) => c.req.query(name) || null;
  const slug = (name: string) => slugForm.test(given(name) ?? "") ? given(name) : null;
  const key = given("apiKey");
  const apiKey = key !== null && isId("key", key) ? key : null;
  return {
    filters: { productSlug: slug("productSlug"), metric: slug("metric"), apiKey },
    isNoKey: key !== apiKey,
  };
}
