// The portal's first page: the first steps of an organization and, once it has usage, the overview.
import { parsePeriodQuery } from "../../domain/meter/usage_period.ts";
import { slugForm } from "../../domain/meter/usage_record.ts";
import { hasPermission } from "../../domain/permissions.ts";
import { activeAccess } from "../../services/access.ts";
import { listAuditEvents } from "../../services/audit.ts";
import { readExampleUsage } from "../../services/reports/jobs/catalogue.ts";
import { readOwnLimits } from "../../services/meter/limits.ts";
import { readUsagePreferences, rememberUsagePreferences } from "../../services/meter/usage_preferences.ts";
import { readFirstSteps, readOverview } from "../../services/overview.ts";
import type { PortalOverview } from "../../services/reports/jobs/portal_overview.ts";
import { exampleCurl } from "../../views/components/code.tsx";
import { apiKeyHref } from "../../views/components/key_name.tsx";
import type { UsageReport } from "../../views/meter/usage.tsx";
import { filteredHref, firstPages, type UsageAddress } from "../../views/meter/usage_filters.tsx";
import { firstStepsPage } from "../../views/overview/first_steps.tsx";
import { overviewPage } from "../../views/overview/overview.tsx";
import { monthWords } from "../../views/text/time.ts";
import { onClock, zoneWords } from "../../views/text/zone.ts";
import type { App, AppContext } from "../env.ts";
import { inTime } from "./in_time.ts";
import { isChoice, nearestFirst } from "./meter/usage.ts";
import { reportOf } from "./meter/usage_report.ts";
import { home, type MemberActor, memberRoutes, portalFrame, type PortalParts, sendPage } from "./page.ts";

const activityMax = 5;

export function portalOverviewRoutes(app: App, parts: PortalParts): void {
  const { services, config } = parts;
  memberRoutes(app, parts).get(home, async (c, session) => {
    const { hasUsage, ...steps } = await readFirstSteps(services, session);
    if (hasUsage) return await showOverview(c, parts, session);
    const frame = portalFrame(parts, session);
    const curl = exampleCurl(`${config.baseUrl.origin}/api/v1/usage`, await readExampleUsage(services));
    return await sendPage(c, firstStepsPage({ frame, ...steps, curl }));
  });
}

async function showOverview(c: AppContext, parts: PortalParts, session: MemberActor): Promise<Response> {
  const { services } = parts;
  const frame = portalFrame(parts, session);
  const { now } = frame;
  const known = await readUsagePreferences(services, session);
  const choice = parsePeriodQuery({ range: "month", timezone: known.timezone ?? "UTC" }, now);
  const { period, unit, timezone } = choice;
  const wanted = c.req.query("metric") ?? "";
  const metric = slugForm.test(wanted) ? wanted : null;
  const [numbers, limits, audit] = await Promise.all([
    period && inTime((signal) =>
      readOverview(services, session, {
        query: { period, unit, timezone, metric: metric ?? known.metric },
        signal,
      })
    ),
    inTime((signal) => readOwnLimits(services, session, signal)),
    hasPermission(session.organization.role, "audit.read")
      ? listAuditEvents(services, activeAccess(session), { limit: activityMax })
      : null,
  ]);
  if (isChoice(c) && metric === numbers?.usage.metric) {
    rememberUsagePreferences(services, session, { known, chosen: { timezone: null, metric } });
  }
  const page = overviewPage({
    frame,
    href: metricHref(metric),
    label: `${monthWords(onClock(now, timezone))} so far, in ${zoneWords(timezone)}`,
    numbers: numbers && { ...numbers, catalogue: numbers.usage.catalogue },
    usage: numbers && usageOf(numbers, { session, choice, now }),
    limits: limits && nearestFirst(limits),
    activity: audit && audit.events,
  });
  return await sendPage(c, page);
}

function metricHref(metric: string | null): string {
  return metric === null ? home : `${home}?${new URLSearchParams({ metric })}`;
}

/** Returns the month's usage: metrics lead to their chart here, bars and keys to their pages. */
function usageOf(
  { usage: { report, ...usage } }: PortalOverview,
  { session, choice: { period, timezone, days }, now }: {
    session: MemberActor;
    choice: ReturnType<typeof parsePeriodQuery>;
    now: number;
  },
): UsageReport | null {
  if (report === null || period === null) return null;
  const address: UsageAddress = {
    path: "/portal/usage",
    range: "month",
    days,
    window: null,
    timezone: null,
    filters: { productSlug: null, metric: usage.metric, apiKey: null },
    stack: null,
    pages: firstPages,
  };
  const mayOpenAll = hasPermission(session.organization.role, "apiKeys.manageAll");
  const shown = reportOf({ ...usage, report }, {
    period,
    address,
    timezone,
    now,
    groups: {
      title: "Busiest keys",
      column: "API key",
      hrefOf: (id) => mayOpenAll ? apiKeyHref(home, id) : filteredHref(address, { apiKey: id }),
    },
    csv: { path: "", query: {} },
  });
  const metrics = shown.strip.metrics.map((one) => ({ ...one, href: metricHref(one.metric.slug) }));
  return {
    ...shown,
    chart: shown.chart && { ...shown.chart, isSmall: true },
    strip: { ...shown.strip, metrics },
  };
}
