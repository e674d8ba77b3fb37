// The usage page: the totals of all metrics, a chart, products, keys, limits and the latest records. Invalid parameters never cause
// an error page. What people choose is remembered.
import { environments } from "../../domain/environment.ts";
import { dimensionPropertiesMax } from "../../domain/meter/dimension.ts";
import { isId } from "../../domain/id.ts";
import { productOf } from "../../domain/meter/catalogue.ts";
import { currentUse } from "../../domain/meter/usage_grant.ts";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import { presentation } from "../../domain/presentation.ts";
import { parsePeriodQuery } from "../../domain/meter/usage_period.ts";
import { slugForm } from "../../domain/meter/usage_record.ts";
import { type Access, may } from "../../services/access/mod.ts";
import { readExampleUsage, readLimitMailReach, readLimits, readUsage } from "../../services/meter/mod.ts";
import type { OperatorUsagePage } from "../../services/console/jobs/mod.ts";
import type { UsagePageFilters, UsagePageNumbers } from "../../services/meter/jobs/mod.ts";
import { readPlan, readUsageMetric, rememberUsageChoices } from "../../services/people/mod.ts";
import { exampleCurl } from "../../views/components/code.tsx";
import { opens } from "../../views/components/embed_bar.tsx";
import { apiKeyHref, mayOpenKey } from "../../views/components/key_name.tsx";
import type { PortalFrame } from "../../views/layout.tsx";
import { newAlertHref } from "../../views/meter/alerts.tsx";
import { usagePage } from "../../views/meter/usage.tsx";
import {
  filteredHref,
  type UsageAddress,
  type UsageStackName,
  usageStackNames,
} from "../../views/meter/usage_address.ts";
import type { UsageFilterProps } from "../../views/meter/usage_filters.tsx";
import type { OrganizationFilter } from "../../views/meter/usage_organizations.tsx";
import { monthWords } from "../../views/text/time.ts";
import { daysWords, onClock, shortDaysWords, timezoneNames, zoneWords } from "../../views/text/zone.ts";
import type { App, AppContext } from "../env.ts";
import { isChoice, isUpdate } from "../portal/choice.ts";
import { inTime } from "../portal/in_time.ts";
import { type PortalParts, sendPage } from "../portal/page.ts";
import { organizationPages } from "../portal/viewer.ts";
import { isPropertyGroup } from "./schemas/usage_properties.ts";
import { comparedWords, otherMetrics, propertyChoices, shownReport } from "./usage_report.ts";

const pagesMax = 1_000;
type Choice = ReturnType<typeof parsePeriodQuery>;

export function usagePages(app: App, parts: PortalParts): void {
  const { services } = parts;
  organizationPages(app, parts).get("/usage", async (c, { access, frame }) => {
    const knownMetric = await readUsageMetric(services, access);
    const requested = usageRequest(c, frame.now);
    const { stack } = requested;
    const query = {
      ...requested.query,
      usualMetric: knownMetric,
      stack: stack === "key" ? "apiKey" : stack !== null && isPropertyGroup(stack) ? stack : "productSlug",
    } as const;
    const [numbers, limits] = await Promise.all([
      readUsage(services, access, { job: "readUsagePage", query, signal: c.req.raw.signal }),
      readPageLimits(parts, access),
    ]);
    const shown = usageFilters(c, requested, { numbers, path: `${frame.base}/usage` });
    const { timezone, filters: { metric, environment } } = shown.address;
    const isTest = environment === "test";
    if (isChoice(c)) rememberUsageChoices(services, access, { knownMetric, metric, timezone });
    const page = usagePage({
      frame,
      ...shown,
      ...shownReport(numbers, {
        ...shown,
        period: requested.choice.period,
        now: frame.now,
        trends: numbers.trends,
        groups: keyGroups(numbers, shown.address, frame),
        csv: csvOf(shown.address, frame),
      }),
      problem: numbers.problem,
      catalogue: numbers.catalogue,
      ...limits,
      ...(isTest ? { limits: null } : {}),
      ...(frame.embed !== null && { mailReach: null }),
      newAlertHref: may(access, "alerts.manage") && !isTest
        ? newAlertHref(frame.base, { ...shown.address.filters, metric: shown.metric })
        : null,
      records: numbers.records,
      empty: numbers.hasUsage ? null : {
        curl: frame.viewed === null && !frame.isReadOnly && opens(frame, "keys")
          ? await readExampleCurl(parts)
          : null,
      },
    });
    return await sendPage(c, page);
  });
}

export function usageRequest(c: AppContext, now: number) {
  const query = c.req.query();
  const choice = parsePeriodQuery({ ...query, usualTimezone: presentation().timezone }, now);
  const { period, unit, timezone } = choice;
  const pages = { products: pageOf(c, "productPage"), keys: pageOf(c, "keyPage") };
  return {
    choice,
    now,
    pages,
    stack: stackOf(query["stack"] ?? ""),
    query: {
      period,
      unit,
      timezone,
      filters: requestedFilters(c),
      pages: { products: pages.products ?? 1, groups: pages.keys ?? 1 },
    },
  };
}

interface FilterOptions {
  readonly numbers: UsagePageNumbers | OperatorUsagePage;
  readonly path: string;
  /** Subjects that the chart can stack, the default first. */
  readonly stacks?: readonly UsageStackName[];
  /** Set in the console only. */
  readonly organization?: OrganizationFilter | null;
}

/** Returns the filters above the numbers that were read, with the address that the page has with them. */
export function usageFilters(
  c: AppContext,
  request: ReturnType<typeof usageRequest>,
  options: FilterOptions,
): UsageFilterProps & { readonly label: string | null } {
  const { choice, now, pages, query } = request;
  const { numbers, path, stacks = ["product", "key"], organization = null } = options;
  const { filters, unit, choices, catalogue } = numbers;
  const { period, timezone } = choice;
  const { metric } = query.filters;
  const of = "plan" in filters
    ? { organizationId: filters.organization?.id ?? null, planId: filters.plan?.id ?? null }
    : {};
  const { productSlug, apiKey } = filters;
  const environment = filters.environment === "test" ? filters.environment : null;
  const address: UsageAddress = {
    path,
    range: choice.range,
    days: choice.days,
    window: unit === period?.defaultUnit ? null : unit,
    compare: choice.compare,
    comparedDays: choice.comparedDays,
    timezone: c.req.query("timezone") && choice.faults.timezone === undefined ? timezone : null,
    filters: {
      ...{ productSlug, apiKey, environment, ...of, metric: metric === filters.metric ? metric : null },
      ...propertyNames(filters.properties ?? {}),
    },
    stack: [...stacks, ...numbers.report?.values.map(({ property }) => property) ?? []]
      .find((one, index) => index > 0 && one === request.stack) ?? null,
    pages,
  };
  return {
    address,
    ...periodWords(choice, now),
    comparedWords: period === null ? null : comparedWords({ address, period, timezone, now }),
    unit,
    timezone,
    metric: filters.metric,
    organization,
    choices: {
      products: choices.products.map((slug) => ({ value: slug, label: productOf(catalogue, slug).name })),
      metrics: otherMetrics(numbers),
      properties: propertyChoices(numbers, address.filters),
      apiKeys: choices.apiKeys?.map(({ id, name }) => ({ value: id, label: name })) ?? null,
      ...("plans" in choices
        ? { plans: choices.plans.map(({ id, name }) => ({ value: id, label: name })) }
        : {}),
      timezones: isUpdate(c) ? [] : timezoneNames(),
    },
    faults: {
      ...choice.faults,
      ...(unit === choice.unit ? {} : { window: `Too many ${choice.unit}s for one page. Showing ${unit}s.` }),
      ...filterFaults(c.req.query(), options),
    },
  };
}

/** Returns a sentence for each filter of the address that has no effect. */
function filterFaults(
  given: Readonly<Record<string, string>>,
  { numbers: { filters }, stacks = ["product", "key"], organization = null }: FilterOptions,
): UsageFilterProps["faults"] {
  const { productSlug = "", metric = "", apiKey = "", stack = "", organizationId = "", planId = "" } = given;
  const search = organization?.search ?? null;
  const isKnownStack = organization === null ? stacks : usageStackNames;
  return {
    ...(productSlug !== "" && filters.productSlug === null
      ? { productSlug: `No data for “${productSlug}”. Showing all products.` }
      : {}),
    ...(apiKey !== "" && filters.apiKey === null ? { apiKey: "Key not found. Showing all keys." } : {}),
    ...(metric === "" || metric === filters.metric ? {} : { metric: `No data for “${metric}”.` }),
    ...(stack === "" || isKnownStack.some((one) => one === stack) || isPropertyGroup(stack)
      ? {}
      : { stack: "Unknown chart. Showing the default chart." }),
    ...Object.fromEntries(
      Object.keys(given).filter((name) =>
        isPropertyGroup(name) && filters.properties?.[name.slice(11)] === undefined
      )
        .map((name) => [name, `Usage isn't summed by ${name.slice(11)}. Showing all values.`]),
    ),
    ...("plan" in filters && planId !== "" && filters.plan === null
      ? { planId: "Plan not found. Showing all plans." }
      : {}),
    ...("plan" in filters && filters.organization === null && search === null && organizationId !== ""
      ? { organizationId: "Organization not found. Showing all organizations." }
      : {}),
    ...(search === null || search.found.length > 0
      ? {}
      : { organization: `No organization matches “${search.text}”. Showing all organizations.` }),
  };
}

/** Reads where limits stand, who gets emails about them, and the name of the plan. */
async function readPageLimits({ services }: PortalParts, access: Access) {
  const [limits, mailReach, { plan }] = await Promise.all([
    inTime((signal) => readLimits(services, access, { signal })),
    readLimitMailReach(services, access),
    readPlan(services, access),
  ]);
  return { limits: limits && nearestFirst(limits), mailReach, plan: plan.name };
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
  const words = range === "24h"
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

function keyGroups({ choices }: UsagePageNumbers, address: UsageAddress, frame: PortalFrame) {
  const keys = new Map(choices.apiKeys.map((key) => [key.id, key]));
  return {
    title: "API keys",
    column: "Key",
    nameOf: (id: string) => keys.get(id)?.name,
    hrefOf: (id: string) =>
      mayOpenKey(frame, keys.get(id)?.createdBy ?? null)
        ? apiKeyHref(frame.base, id)
        : filteredHref(address, { apiKey: id }),
    stateOf: (id: string) => stateOf(keys.get(id), frame.now),
  };
}

function csvOf({ stack }: UsageAddress, { viewed, isReadOnly, session, embed, base }: PortalFrame) {
  // The operator's session has no part in the organization.
  const organizationId = isReadOnly ? session.organization?.organizationId : viewed?.id;
  return {
    path: embed !== null
      ? `${base}/usage/sums.csv`
      : organizationId === undefined
      ? "/api/portal/usage.csv"
      : "/api/operator/usage.csv",
    query: {
      ...(organizationId !== undefined && embed === null && { organizationId }),
      groupBy: `${csvGroup(stack)},metric`,
      mergeRotations: "true",
    },
  };
}

/** Returns the subject that groups the chart's numbers. */
export function csvGroup(stack: UsageStackName | null): string {
  return stack === "key" ? "apiKey" : stack !== null && isPropertyGroup(stack) ? stack : "productSlug";
}

function stateOf(
  key: { revokedAt: number | null; expiresAt: number | null } | undefined,
  now: number,
): string | null {
  if (!key) return null;
  if (key.revokedAt !== null) return "Revoked";
  return key.expiresAt !== null && key.expiresAt <= now ? "Expired" : null;
}

/** Returns the filters of the address; null for those without a valid form. */
function requestedFilters(c: AppContext): UsagePageFilters {
  const { productSlug = "", metric = "", apiKey = "", environment } = c.req.query();
  const slug = (text: string) => slugForm.test(text) ? text : null;
  return {
    productSlug: slug(productSlug),
    metric: slug(metric),
    apiKey: isId("key", apiKey) ? apiKey : null,
    environment: environments.find((one) => one === environment) ?? null,
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

function stackOf(text: string): UsageStackName | null {
  return usageStackNames.find((name) => name === text) ?? (isPropertyGroup(text) ? text : null);
}

/** Returns a page of a table; null for the first. */
function pageOf(c: AppContext, name: string): number | null {
  const page = Number(c.req.query(name));
  return Number.isInteger(page) && page > 1 && page <= pagesMax ? page : null;
}
