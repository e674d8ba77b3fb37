// The portal's first page: the first steps of an organization and, once it has usage, the overview.
import { parsePeriodQuery } from "../../domain/meter/usage_period.ts";
import { slugForm } from "../../domain/meter/usage_record.ts";
import { activeAccess, may } from "../../services/access.ts";
import { listAuditEvents } from "../../services/audit.ts";
import { readLimits } from "../../services/meter/limits.ts";
import { readUsagePreferences, rememberUsagePreferences } from "../../services/meter/usage_preferences.ts";
import { readPlan } from "../../services/organization/plan.ts";
import { readFirstSteps, readOverview } from "../../services/overview.ts";
import type { PortalOverview } from "../../services/reports/jobs/portal_overview.ts";
import { apiKeyHref, managesAllKeys } from "../../views/components/key_name.tsx";
import type { PortalFrame } from "../../views/layout.tsx";
import type { UsageReport } from "../../views/meter/usage.tsx";
import { firstStepsPage } from "../../views/overview/first_steps.tsx";
import { overviewPage } from "../../views/overview/overview.tsx";
import { monthWords } from "../../views/text/time.ts";
import { onClock, zoneWords } from "../../views/text/zone.ts";
import type { App, AppContext } from "../env.ts";
import { inTime } from "./in_time.ts";
import { isChoice, nearestFirst, readExampleCurl } from "./meter/usage.ts";
import { monthReport } from "./meter/usage_report.ts";
import { home, type MemberActor, memberRoutes, portalFrame, type PortalParts, sendPage } from "./page.ts";

const activityMax = 5;

export function portalOverviewRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  memberRoutes(app, parts).get(home, async (c, session) => {
    const { hasUsage, ...steps } = await readFirstSteps(services, activeAccess(session));
    if (hasUsage) return await showOverview(c, parts, session);
    const frame = portalFrame(parts, session);
    const curl = await readExampleCurl(parts);
    return await sendPage(c, firstStepsPage({ frame, ...steps, curl }));
  });
}

async function showOverview(c: AppContext, parts: PortalParts, session: MemberActor): Promise<Response> {
  const { services } = parts;
  const frame = portalFrame(parts, session);
  const { now } = frame;
  const access = activeAccess(session);
  const known = await readUsagePreferences(services, access);
  const choice = parsePeriodQuery({ range: "month", timezone: known.timezone ?? "UTC" }, now);
  const { period, unit, timezone } = choice;
  const wanted = c.req.query("metric") ?? "";
  const metric = slugForm.test(wanted) ? wanted : null;
  const [numbers, limits, { plan }, audit] = await Promise.all([
    period && inTime((signal) =>
      readOverview(services, access, {
        query: { period, unit, timezone, metric: metric ?? known.metric },
        signal,
      })
    ),
    inTime((signal) => readLimits(services, access, { signal })),
    readPlan(services, access),
    may(access, "audit.read") ? listAuditEvents(services, access, { limit: activityMax }) : null,
  ]);
  if (isChoice(c) && metric === numbers?.usage.metric) {
    rememberUsagePreferences(services, access, { known, chosen: { timezone: null, metric } });
  }
  const page = overviewPage({
    frame,
    href: metricHref(metric),
    label: `${monthWords(onClock(now, timezone))} so far, in ${zoneWords(timezone)}`,
    numbers: numbers && { ...numbers, catalogue: numbers.usage.catalogue },
    usage: numbers && usageOf(numbers, { frame, choice }),
    limits: limits && nearestFirst(limits),
    plan: plan.name,
    activity: audit && audit.events,
  });
  return await sendPage(c, page);
}

function metricHref(metric: string | null): string {
  return metric === null ? home : `${home}?${new URLSearchParams({ metric })}`;
}

/** Returns the month's usage. Keys lead to their pages for those who may open all of them. */
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
    metricHref,
    groups: { title: "Busiest keys", column: "API key" },
    keyHref: (id) => managesAllKeys(frame) ? apiKeyHref(frame.base, id) : null,
  });
  return { ...shown, chart: shown.chart && { ...shown.chart, isSmall: true } };
}
