// The usage page, and what all explorers of usage share. Invalid parameters never cause an error page. What people choose is
// remembered.
import { environments } from "../../domain/environment.ts";
import { dimensionPropertiesMax } from "../../domain/meter/dimension.ts";
import { isId } from "../../domain/id.ts";
import { productOf } from "../../domain/meter/catalogue.ts";
import { outcomes } from "../../domain/meter/outcome.ts";
import { currentUse } from "../../domain/meter/usage_grant.ts";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import { presentation } from "../../domain/presentation.ts";
import { parsePeriodQuery, type ReportRange } from "../../domain/meter/usage_period.ts";
import { slugForm } from "../../domain/meter/usage_record.ts";
import { queryWindows } from "../../domain/meter/usage_window.ts";
import { isoTime } from "../../domain/time.ts";
import { type Access, may } from "../../services/access/mod.ts";
import { listRejections, readExampleUsage, readUsage } from "../../services/meter/mod.ts";
import type { OperatorUsagePage } from "../../services/console/jobs/mod.ts";
import type { UsagePageFilters, UsagePageNumbers } from "../../services/meter/jobs/mod.ts";
import { readUsageMetric, rememberUsageChoices } from "../../services/people/mod.ts";
import { exampleCurl } from "../../views/components/code.tsx";
import { opens } from "../../views/components/embed_bar.tsx";
import { apiKeyHref, mayOpenKey } from "../../views/components/key_name.tsx";
import type { PortalFrame } from "../../views/layout.tsx";
import { newAlertHref } from "../../views/meter/alerts.tsx";
import type { ExplorerProps } from "../../views/meter/explorer.tsx";
import { recordsHref } from "../../views/meter/records.tsx";
import { usagePage } from "../../views/meter/usage.tsx";
import { type UsageAddress, type UsageStackName, usageStackNames } from "../../views/meter/usage_address.ts";
import type { OrganizationFilter, UsageFilterProps } from "../../views/meter/usage_filters.tsx";
import { unitWords } from "../../views/text/quantity.ts";
import { monthWords } from "../../views/text/time.ts";
import { daysWords, onClock, shortDaysWords, timezoneNames, zoneWords } from "../../views/text/zone.ts";
import type { App, AppContext } from "../env.ts";
import { isChoice, isUpdate } from "../portal/choice.ts";
import { type PortalParts, sendPage } from "../portal/page.ts";
import { organizationPages } from "../portal/viewer.ts";
import type { Viewer } from "../portal/form.ts";
import { isPropertyGroup } from "./schemas/usage_properties.ts";
import {
  comparedWords,
  groupOf,
  otherMetrics,
  propertyChoices,
  type ReportKey,
  reportOf,
  stackOf,
} from "./usage_report.ts";

const pagesMax = 1_000;
const chosenOutcomes = [...outcomes, "rejected"] as const;
const rejectionsShownMax = 10;
type Choice = ReturnType<typeof parsePeriodQuery>;

export function usagePages(app: App, parts: PortalParts): void {
  const { services } = parts;
  organizationPages(app, parts).get("/usage", async (c, viewer) => {
    const { access, frame } = viewer;
    const knownMetric = await readUsageMetric(services, access);
    const { signal } = c.req.raw;
    const { numbers, explorer } = await readExplorer(c, parts, viewer, { knownMetric, signal });
    const { metric, address: { filters } } = explorer;
    if (isChoice(c)) {
      rememberUsageChoices(services, access, {
        knownMetric,
        metric: filters.metric,
        timezone: explorer.address.timezone,
      });
    }
    const page = usagePage({
      frame,
      ...explorer,
      newAlertHref: may(access, "alerts.manage") && filters.environment !== "test"
        ? newAlertHref(frame.base, { ...filters, metric })
        : null,
      rejected: await readRejected(services, access, numbers),
      empty: numbers.hasUsage ? null : {
        curl: frame.viewed === null && !frame.isReadOnly && opens(frame, "keys")
          ? await readExampleCurl(parts)
          : null,
      },
    });
    return await sendPage(c, page);
  });
}

/** Reads the explorer of an organization's usage or, at `path`, of a key's. */
export async function readExplorer(
  c: AppContext,
  { services }: PortalParts,
  { access, frame }: Viewer,
  { knownMetric, signal, apiKey, path = `${frame.base}/usage`, usualRange }: {
    knownMetric: string | null;
    signal: AbortSignal;
    apiKey?: string;
    path?: string;
    usualRange?: ReportRange;
  },
) {
  const requested = usageRequest(c, { now: frame.now, usualRange });
  const query = {
    ...requested.query,
    filters: { ...requested.query.filters, ...apiKey !== undefined && { apiKey } },
    usualMetric: knownMetric,
    groups: apiKey === undefined ? ["productSlug", "apiKey"] as const : ["productSlug"] as const,
  };
  const numbers = await readUsage(services, access, { job: "readUsagePage", query, signal });
  const explorer = explorerOf(c, requested, {
    numbers,
    path,
    isOfKey: apiKey !== undefined,
    csv: csvOf(frame),
  });
  return {
    numbers,
    explorer: { ...explorer, links: linksOf(numbers, { frame, isOfKey: apiKey !== undefined }) },
  };
}

/** Returns the last rejections for the tab of outcomes; null for other tabs. */
export async function readRejected(
  services: PortalParts["services"],
  access: Access,
  { report, filters: { apiKey, environment }, catalogue }: UsagePageNumbers | OperatorUsagePage,
) {
  if (report?.stacked !== "outcome") return null;
  const { rejections } = await listRejections(services, access, {
    ...{ environment, mergeRotations: true, limit: rejectionsShownMax },
    apiKey: apiKey === null ? undefined : [apiKey],
  });
  return { rejections, catalogue };
}

/** Returns pages about what is shown: the key, and single records. */
function linksOf(
  { filters, choices }: UsagePageNumbers,
  { frame, isOfKey }: { frame: PortalFrame; isOfKey: boolean },
) {
  const { metric, productSlug, apiKey, environment } = filters;
  const key = isOfKey ? undefined : choices.apiKeys.find(({ id }) => id === apiKey);
  const [property] = Object.entries(filters.properties).map((pair) => pair.join("="));
  const records = {
    ...{ productSlug, metric, apiKey, property: property ?? null },
    environment: environment === "test" ? environment : null,
  };
  return [
    ...(key && mayOpenKey(frame, key.createdBy)
      ? [{ href: apiKeyHref(frame.base, key.id), label: "Open key" }]
      : []),
    ...(opens(frame, "usage") ? [{ href: recordsHref(frame.base, records), label: "Open records" }] : []),
  ];
}

export function usageRequest(
  c: AppContext,
  { now, usualRange }: { now: number; usualRange?: ReportRange | undefined },
) {
  const query = c.req.query();
  const choice = parsePeriodQuery({ ...query, usualTimezone: presentation().timezone, usualRange }, now);
  const { period, unit, timezone } = choice;
  const wanted = Number(query["page"]);
  const page = Number.isInteger(wanted) && wanted > 1 && wanted <= pagesMax ? wanted : null;
  const stack = stackIn(query["stack"] ?? "");
  return {
    choice,
    now,
    page,
    query: {
      ...{ period, unit, timezone, filters: requestedFilters(c) },
      page: page ?? 1,
      /** Null for the first table. */
      stack: stack && groupOf(stack),
    },
    stack,
  };
}

interface ExplorerOptions {
  readonly numbers: UsagePageNumbers | OperatorUsagePage;
  readonly path: string;
  /** True on the page of a key, which has no other keys. */
  readonly isOfKey?: boolean;
  /** Set in the console only. */
  readonly organization?: OrganizationFilter | null;
  /** The address of the chart's numbers as a file. */
  readonly csv: { readonly path: string; readonly query: Readonly<Record<string, string>> };
}

/** Returns the explorer of the numbers that were read, with the address that the page has with their filters. */
export function explorerOf(
  c: AppContext,
  request: ReturnType<typeof usageRequest>,
  options: ExplorerOptions,
): ExplorerProps {
  const { choice, now } = request;
  const { numbers, organization = null, isOfKey = false } = options;
  const { unit, choices, catalogue, report, filters: { metric } } = numbers;
  const { period, timezone } = choice;
  const address = addressOf(c, request, options);
  const keys: readonly ReportKey[] = choices.apiKeys ?? [];
  return {
    address,
    ...periodWords(choice, now),
    comparedWords: period === null ? null : comparedWords({ address, period, timezone, now }),
    ...{ unit, timezone, metric, organization },
    report: period && report && reportOf({ ...numbers, report }, { period, address, timezone, now, keys }),
    problem: numbers.problem ?? (period === null ? null : noUsage),
    csvHref: csvHref(address, options, choice),
    links: [],
    choices: {
      products: choices.products.map((slug) => ({ value: slug, label: productOf(catalogue, slug).name })),
      metrics: otherMetrics(numbers),
      properties: propertyChoices(numbers, address.filters),
      apiKeys: isOfKey
        ? undefined
        : choices.apiKeys?.map(({ id, name }) => ({ value: id, label: name })) ?? null,
      ..."plans" in choices && { plans: choices.plans.map(({ id, name }) => ({ value: id, label: name })) },
      timezones: isUpdate(c) ? [] : timezoneNames(),
      units: choice.units,
    },
    faults: {
      ...choice.faults,
      ...unit !== choice.unit &&
        { window: `Too many windows for one page. Showing usage by ${unitWords(unit)}.` },
      ...filterFaults(c.req.query(), options),
    },
  };
}

const noUsage = "No usage in this range. Choose another range or remove filters.";

function addressOf(
  c: AppContext,
  { choice, page, query, stack }: ReturnType<typeof usageRequest>,
  { numbers: { filters, report, unit }, path, isOfKey = false }: ExplorerOptions,
): UsageAddress {
  const { metric } = query.filters;
  const of = "plan" in filters
    ? { organizationId: filters.organization?.id ?? null, planId: filters.plan?.id ?? null }
    : {};
  const stacked = report?.stacked === report?.tables[0]?.group ? null : report?.stacked;
  return {
    path,
    range: choice.range,
    days: choice.days,
    window: unit === choice.period?.defaultUnit ? null : unit,
    compare: choice.compare,
    comparedDays: choice.comparedDays,
    timezone: c.req.query("timezone") && choice.faults.timezone === undefined ? choice.timezone : null,
    filters: {
      productSlug: filters.productSlug,
      apiKey: isOfKey ? null : filters.apiKey,
      environment: filters.environment === "test" ? filters.environment : null,
      ...of,
      metric: metric === filters.metric ? metric : null,
      outcome: report?.stacked === "outcome" ? query.filters.outcome ?? null : null,
      ...propertyNames(filters.properties ?? {}),
    },
    stack: report === null ? stack : stacked ? stackOf(stacked) : null,
    page,
    hasNumbers: c.req.query("numbers") === "1",
  };
}

/** Returns the numbers of the chart as a file; null without a report. */
function csvHref(
  address: UsageAddress,
  { numbers: { filters, report, metric }, csv }: ExplorerOptions,
  { period, timezone }: Choice,
): string | null {
  if (period === null || report === null || report.stacked === "outcome") return null;
  const { groupBy = "", ...more } = csv.query;
  const group = report.stacked === "organization" ? "productSlug" : report.stacked;
  const window = queryWindows.find((one) => one === report.unit) ?? (report.unit === "4h" ? "hour" : "day");
  const query = {
    ...{ from: isoTime(period.start), to: isoTime(period.end), window, timezone },
    ...address.filters,
    apiKey: filters.apiKey,
    metric,
    ...more,
    groupBy: `${groupBy}${group},metric`,
  };
  const given = Object.entries(query).flatMap(([name, value]) => value ? [[name, value]] : []);
  return `${csv.path}?${new URLSearchParams(given)}`;
}

/** Returns a sentence for each filter of the address that has no effect. */
function filterFaults(
  given: Readonly<Record<string, string>>,
  { numbers: { filters, report }, isOfKey = false, organization = null }: ExplorerOptions,
): UsageFilterProps["faults"] {
  const { productSlug = "", metric = "", apiKey = "", stack = "", organizationId = "", planId = "" } = given;
  const search = organization?.search ?? null;
  return {
    ...productSlug !== "" && filters.productSlug === null &&
      { productSlug: `No data for “${productSlug}”. Showing all products.` },
    ...apiKey !== "" && filters.apiKey === null && !isOfKey && { apiKey: "Key not found. Showing all keys." },
    ...metric !== "" && metric !== filters.metric && { metric: `No data for “${metric}”.` },
    ...stack === "outcome" && report !== null && report.stacked !== stack &&
      { stack: "Choose one organization, and no product, to see outcomes." },
    ...stack !== "" && stackIn(stack) === null && { stack: "Unknown chart. Showing the default chart." },
    ...Object.fromEntries(
      Object.keys(given).filter((name) =>
        isPropertyGroup(name) && filters.properties?.[name.slice(11)] === undefined
      )
        .map((name) => [name, `Usage isn't summed by ${name.slice(11)}. Showing all values.`]),
    ),
    ..."plan" in filters && planId !== "" && filters.plan === null &&
      { planId: "Plan not found. Showing all plans." },
    ..."plan" in filters && filters.organization === null && search === null && organizationId !== "" &&
      { organizationId: "Organization not found. Showing all organizations." },
    ...search?.found.length === 0 &&
      { organization: `No organization matches “${search.text}”. Showing all organizations.` },
  };
}

/** Returns a command that records usage. */
export async function readExampleCurl({ config, services }: PortalParts): Promise<string> {
  return exampleCurl(`${config.baseUrl.origin}/api/v1/usage`, await readExampleUsage(services));
}

/** Returns those with the largest part used first. */
export function nearestFirst(limits: readonly LimitStanding[]): LimitStanding[] {
  return limits.toSorted((a, b) => usedPart(b) - usedPart(a));
}

function usedPart(limit: LimitStanding): number {
  const { used, quantity } = currentUse(limit);
  return quantity === 0 ? Infinity : used / quantity;
}

/** Returns the range in words, with the time zone and without. */
function periodWords({ period, timezone, range }: Choice, now: number) {
  if (period === null) return { label: null, rangeWords: null };
  const month = monthWords(onClock(period.start, timezone));
  const words = range === "today"
    ? "Today"
    : range === "24h"
    ? "Last 24 hours"
    : range === "month"
    ? `${month} so far`
    : range === "last-month"
    ? month
    : daysWords(period, timezone);
  const passed = { ...period, end: range === "month" ? now + 1 : period.end };
  return {
    label: `${words}, in ${zoneWords(timezone)}`,
    rangeWords: range === "24h" ? null : shortDaysWords(passed, timezone),
  };
}

function csvOf({ viewed, isReadOnly, session, embed, base }: PortalFrame) {
  const query = { mergeRotations: "true" };
  if (embed !== null) return { path: `${base}/usage/sums.csv`, query };
  // The operator's session has no part in the organization.
  const organizationId = isReadOnly ? session.organization?.organizationId : viewed?.id;
  return organizationId === undefined
    ? { path: "/api/portal/usage.csv", query }
    : { path: "/api/operator/usage.csv", query: { ...query, organizationId } };
}

/** Returns the filters of the address; null for those without a valid form. */
function requestedFilters(c: AppContext): UsagePageFilters {
  const { productSlug = "", metric = "", apiKey = "", environment, outcome } = c.req.query();
  const slug = (text: string) => slugForm.test(text) ? text : null;
  return {
    productSlug: slug(productSlug),
    metric: slug(metric),
    apiKey: isId("key", apiKey) ? apiKey : null,
    environment: environments.find((one) => one === environment) ?? null,
    outcome: chosenOutcomes.find((one) => one === outcome) ?? null,
    properties: Object.fromEntries(
      Object.entries(c.req.query()).filter(([name, value]) => isPropertyGroup(name) && value !== "")
        .slice(0, dimensionPropertiesMax).map(([name, value]) => [name.slice(11), value]),
    ),
  };
}

/** Returns values of properties by their names in addresses. */
function propertyNames(properties: Readonly<Record<string, string>>) {
  return Object.fromEntries(Object.entries(properties).map(([name, value]) => [`properties.${name}`, value]));
}

function stackIn(text: string): UsageStackName | null {
  return usageStackNames.find((name) => name === text) ?? (isPropertyGroup(text) ? text : null);
}
