// The portal's first page: the first steps of an organization and, once it has usage, the overview.
import { parsePeriodQuery } from "../../domain/meter/usage_period.ts";
import { presentation } from "../../domain/presentation.ts";
import { slugForm } from "../../domain/meter/usage_record.ts";
import { listAuditEvents, may } from "../../services/access/mod.ts";
import { readLimits, readProductNames } from "../../services/meter/mod.ts";
import { readPlan, readUsageMetric, rememberUsageChoices } from "../../services/people/mod.ts";
import { listFailingWebhooks } from "../../services/outbox/mod.ts";
import { readFirstSteps, readOverview } from "../../services/console/mod.ts";
import type { OverviewQuery, PortalOverview } from "../../services/console/jobs/mod.ts";
import { apiKeyHref, managesAllKeys } from "../../views/components/key_name.tsx";
import type { PortalFrame } from "../../views/layout.tsx";
import type { UsageReport } from "../../views/meter/usage.tsx";
import { firstStepsPage } from "../../views/console/first_steps.tsx";
import { overviewPage } from "../../views/console/portal_overview.tsx";
import { monthWords } from "../../views/text/time.ts";
import { onClock, zoneWords } from "../../views/text/zone.ts";
import type { App, AppContext } from "../env.ts";
import { isChoice } from "./choice.ts";
import type { Viewer } from "./form.ts";
import { inTime } from "./in_time.ts";
import { nearestFirst, readExampleCurl } from "./meter/usage.ts";
import { monthReport } from "./meter/usage_report.ts";
import { type PortalParts, sendPage } from "./page.ts";
import { customerPages } from "./viewer.ts";

const activityMax = 5;

export function portalOverviewRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  customerPages(app, parts).get("", async (c, viewer) => {
    const { access, frame } = viewer;
    const { hasUsage, ...steps } = await readFirstSteps(services, access);
    // The steps are those of a member.
    if (hasUsage || frame.isReadOnly) return await showOverview(c, parts, viewer);
    const curl = await readExampleCurl(parts);
    return await sendPage(c, firstStepsPage({ frame, ...steps, curl }));
  });
}

async function showOverview(c: AppContext, parts: PortalParts, viewer: Viewer): Promise<Response> {
  const { services } = parts;
  const { access, frame } = viewer;
  const knownMetric = await readUsageMetric(services, access);
  const wanted = c.req.query("metric") ?? "";
  const metric = slugForm.test(wanted) ? wanted : null;
  const { timezone } = presentation();
  const [{ numbers, usage }, limits, { plan }, audit, failing] = await Promise.all([
    readMonth(parts, viewer, { timezone, metric: metric ?? knownMetric }),
    inTime((signal) => readLimits(services, access, { signal })),
    readPlan(services, access),
    may(access, "audit.read") ? listAuditEvents(services, access, { limit: activityMax }) : null,
    may(access, "webhooks.read") ? listFailingWebhooks(services, { access }) : [],
  ]);
  if (isChoice(c) && metric === numbers?.usage.metric) {
    rememberUsageChoices(services, access, { knownMetric, metric, timezone: null });
  }
  const page = overviewPage({
    frame,
    href: metricHref(frame, metric),
    label: `${monthWords(onClock(frame.now, timezone))} so far, in ${zoneWords(timezone)}`,
    numbers,
    catalogue: numbers?.catalogue ?? await readProductNames(services),
    usage,
    limits: limits && nearestFirst(limits),
    plan: plan.name,
    failing,
    activity: audit && audit.events,
  });
  return await sendPage(c, page);
}

function metricHref({ base }: PortalFrame, metric: string | null): string {
  return metric === null ? base : `${base}?${new URLSearchParams({ metric })}`;
}

/** Reads this month for an overview. @returns Null for unavailable parts. */
export async function readMonth(
  { services }: PortalParts,
  { access, frame }: Viewer,
  { metric, timezone }: Pick<OverviewQuery, "metric" | "timezone">,
) {
  const choice = parsePeriodQuery({ range: "month", timezone }, frame.now);
  const { period, unit } = choice;
  const numbers = period &&
    await inTime((signal) =>
      readOverview(services, access, { query: { period, unit, timezone: choice.timezone, metric }, signal })
    );
  return {
    numbers: numbers && { ...numbers, catalogue: numbers.usage.catalogue },
    usage: numbers && usageOf(numbers, { frame, choice }),
  };
}

/** Returns the month's usage. Keys link to their pages for those who may open all of them. */
function usageOf(
  { usage: { report, ...usage } }: PortalOverview,
  { frame, choice: { period, timezone, days } }: {
    frame: PortalFrame;
    choice: ReturnType<typeof parsePeriodQuery>;
  },
): UsageReport | null {
  if (report === null || period === null) return null;
  const shown = monthReport({ ...usage, report }, {
    base: frame.base,
    now: frame.now,
    period,
    days,
    timezone,
    metricHref: (slug) => metricHref(frame, slug),
    groups: { title: "Busiest keys", column: "API key" },
    keyHref: (id) => managesAllKeys(frame) ? apiKeyHref(frame.base, id) : null,
  });
  return { ...shown, chart: shown.chart && { ...shown.chart, isSmall: true } };
}
