// Reads the head of the console's pages of one organization, which is the same on all tabs.
import { metricOf } from "../../domain/meter/catalogue.ts";
import { microsToDecimal } from "../../domain/meter/quantity.ts";
import { parsePeriodQuery } from "../../domain/meter/usage_period.ts";
import { percentChange } from "../../domain/meter/usage_report.ts";
import { presentation } from "../../domain/presentation.ts";
import type { OperatedOrganization } from "../../domain/console/organization.ts";
import type { OperatorAccess } from "../../services/access/mod.ts";
import { readLimits, readUsage } from "../../services/meter/mod.ts";
import { getPlan } from "../../services/billing/mod.ts";
import type { OrganizationHead, OrganizationTab } from "../../views/components/organization_head.tsx";
import { shortDaysWords } from "../../views/text/zone.ts";
import type { AppParts } from "../env.ts";
import { inTime } from "../portal/in_time.ts";

export async function readOrganizationHead(
  parts: AppParts,
  access: OperatorAccess,
  { organization, tab }: { organization: OperatedOrganization; tab: OrganizationTab },
): Promise<OrganizationHead> {
  const { services } = parts;
  const [plan, limits, usage] = await Promise.all([
    getPlan(services, organization.planId),
    inTime((signal) => readLimits(services, access, { signal })),
    tab === "overview" ? inTime((signal) => readMonth(parts, access, signal)) : null,
  ]);
  return { tab, organization, plan, limits, usage };
}

/** Reads this month's usage of the metric with the most records. */
async function readMonth(
  { services }: AppParts,
  access: OperatorAccess,
  signal: AbortSignal,
) {
  const now = services.clock();
  const { period, timezone } = parsePeriodQuery({ range: "month", timezone: presentation().timezone }, now);
  if (period === null) return { main: null };
  const { metrics: [main], catalogue } = await readUsage(services, access, {
    job: "readUsageTotals",
    query: { period, timezone },
    signal,
  });
  return {
    main: main === undefined ? null : {
      metric: metricOf(catalogue, main.metric),
      total: microsToDecimal(main.micros),
      change: percentChange(main.micros, main.before),
      compared: shortDaysWords(period.compared, timezone, now),
    },
  };
}
