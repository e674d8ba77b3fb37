// The page of usage: totals, a chart, the most active keys, the latest records. Whatever its address says, it answers
// with a page.
import type { UsageFilter } from "../../db/usage.ts";
import { AppError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import type { Session } from "../../domain/session.ts";
import { type ReportChoice, reportChoice, type ReportPeriod } from "../../domain/usage_period.ts";
import { slugForm } from "../../domain/usage_record.ts";
import {
  type QueryWindow,
  type UsageWindow,
  type WindowUnit,
  windowUnits,
} from "../../domain/usage_window.ts";
import type { UsageReadInput, UsageSums } from "../../services/usage.ts";
import { exampleCurl } from "../../views/components/code.tsx";
import type { Assets } from "../../views/layout.tsx";
import { daysWords, timezoneNames, zoneWords } from "../../views/text/zone.ts";
import { type UsageAddress, type UsageFaults, usagePage } from "../../views/usage.tsx";
import type { App, AppContext, AppParts } from "../env.ts";
import { inOrganization, portalFrame, sendPage } from "./page.ts";
import {
  choicesOf,
  fittingSeries,
  keyNames,
  type Known,
  reportOf,
  type ReportSums,
  span,
} from "./usage_report.ts";

const latestRecords = 10;

type Filters = UsageAddress["filters"];

/** Mounts `/portal/usage`. */
export function portalUsageRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { usage, usageRecords, clock } = parts.services;
  const timezones = timezoneNames();

  app.get(
    "/portal/usage",
    inOrganization(parts, async (c, session) => {
      const now = clock();
      const choice = reportChoice(c.req.query(), now);
      const [series, apiKeys] = await Promise.all([
        usage.listUsageSeries(session),
        usage.listUsageApiKeys(session),
      ]);
      const known = { series, keyNames: keyNames(apiKeys) };
      const chosen = await chosenFilters(c, session, { known, period: choice.period });
      const { filters } = chosen;
      const { period, timezone } = choice;
      const [read, records] = await Promise.all([
        period === null ? null : readSums(session, { ...choice, period, filters }),
        usageRecords.listUsageRecords(session, {
          limit: latestRecords,
          ...filterOf(filters),
        }),
      ]);
      const unit = read?.unit ?? choice.unit;
      const window = unit === period?.defaultUnit ? null : unit;
      const address = { range: choice.range, days: choice.days, window, timezone, filters };
      return sendPage(
        c,
        usagePage({
          frame: portalFrame(parts, assets, session),
          address,
          label: period === null ? null : `${daysWords(period, timezone)}, ${zoneWords(timezone)}`,
          unit,
          choices: { ...choicesOf(known, filters), timezones },
          faults: {
            ...choice.faults,
            ...chosen.faults,
            ...(unit === choice.unit
              ? {}
              : { window: `Too many ${choice.unit}s for one page: shown by ${unit}.` }),
          },
          report: period === null || read === null || read.sums === null
            ? null
            : reportOf(read.sums, { period, address, known, now }),
          trouble: read?.trouble ?? null,
          records: records.usageRecords,
          example: series.length > 0
            ? null
            : { curl: exampleCurl(`${parts.config.baseUrl.origin}/api/v1/usage`, null) },
        }),
      );
    }),
  );

  /** Sums of different metrics mean nothing: without a choice that fits, the metric with the most records is shown. */
  async function chosenFilters(
    c: AppContext,
    session: Session,
    { known, period }: { known: Known; period: ReportPeriod | null },
  ): Promise<{ filters: Filters; faults: UsageFaults }> {
    const given = (name: string) => c.req.query(name) || null;
    const slug = (name: string) => slugForm.test(given(name) ?? "") ? given(name) : null;
    const productSlug = slug("productSlug");
    const wantedKey = given("apiKey");
    const isKey = wantedKey !== null && isId("key", wantedKey) &&
      (known.keyNames.has(wantedKey) || known.series.some(({ apiKeyId }) => apiKeyId === wantedKey));
    const apiKey = isKey ? wantedKey : null;
    const keyFault = wantedKey === null || isKey ? {} : { apiKey: "There is no such key: all are shown." };
    const fitting = fittingSeries(known.series, { productSlug, apiKey });
    const wanted = slug("metric");
    const isWanted = wanted !== null &&
      (fitting.length === 0 || fitting.some((one) => one.metric === wanted));
    const most = isWanted || period === null ? null : await busiestMetric(session, {
      ...span(period),
      ...filterOf({ productSlug, metric: null, apiKey }),
    });
    const metric = isWanted ? wanted : most ?? (fitting[0] ?? known.series[0])?.metric ?? null;
    const faults = wanted === null || isWanted
      ? keyFault
      : { ...keyFault, metric: `Never recorded here: “${wanted}”.` };
    return { filters: { productSlug, metric, apiKey }, faults };
  }

  async function busiestMetric(session: Session, input: UsageReadInput): Promise<string | null> {
    const sums = await unlessTooMuch(usage.readUsage(session, {
      ...input,
      window: "total",
      groupBy: ["metric"],
    }));
    const [most] = sums instanceof AppError ? [] : sums.data.toSorted((a, b) => b.count - a.count);
    return most?.metric ?? null;
  }

  /** Reads by the windows that were asked for or, when those are too many, by the next longer ones. */
  async function readSums(
    session: Session,
    { period, filters, unit: wanted, timezone }: ReportChoice & { period: ReportPeriod; filters: Filters },
  ): Promise<{ unit: WindowUnit; sums: ReportSums | null; trouble: string | null }> {
    const read = (stretch: UsageWindow, window: QueryWindow, groupBy: ("productSlug" | "apiKey")[]) =>
      unlessTooMuch(usage.readUsage(session, {
        ...span(stretch),
        window,
        timezone,
        ...filterOf(filters),
        groupBy,
      }));
    const tooMuch = ({ message }: AppError) => ({ unit: wanted, sums: null, trouble: message });
    let unit = wanted;
    let byProduct = await read(period, unit, ["productSlug"]);
    for (const longer of windowUnits.slice(windowUnits.indexOf(wanted) + 1)) {
      if (!(byProduct instanceof AppError)) break;
      unit = longer;
      byProduct = await read(period, unit, ["productSlug"]);
    }
    if (byProduct instanceof AppError) return tooMuch(byProduct);
    const [byKey, before] = await Promise.all([
      read(period, "total", ["apiKey"]),
      read(period.compared, "total", []),
    ]);
    if (byKey instanceof AppError) return tooMuch(byKey);
    if (before instanceof AppError) return tooMuch(before);
    return { unit, sums: { unit, byProduct, byKey, before }, trouble: null };
  }
}

function filterOf({ productSlug, metric, apiKey }: Filters): UsageFilter {
  return {
    ...(productSlug === null ? {} : { productSlug: [productSlug] }),
    ...(metric === null ? {} : { metric: [metric] }),
    ...(apiKey === null ? {} : { apiKey: [apiKey] }),
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
