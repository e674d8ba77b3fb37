// The console's usage page, of all organizations together. Invalid parameters never cause an error page.
import { readUsageOfOrganizations } from "../../../services/operator/usage.ts";
import { organizationHref } from "../../../views/operator/links.ts";
import { operatorUsagePage } from "../../../views/operator/usage.tsx";
import type { App } from "../../env.ts";
import { usageFilters, usageRequest } from "../meter/usage.ts";
import { shownReport } from "../meter/usage_report.ts";
import { type PortalParts, sendPage } from "../page.ts";
import { operatorFrame, operatorPages } from "./page.ts";

const path = "/operator/usage";
const csv = { path: "/api/operator/usage.csv", query: { groupBy: "organization,productSlug,metric" } };
const groups = { title: "Organizations", column: "Organization", hrefOf: organizationHref };

export function operatorUsagePages(app: App, parts: PortalParts): void {
  operatorPages(app, parts).get(path, async (c, actor) => {
    const frame = operatorFrame(parts, actor);
    const requested = { ...usageRequest(c, frame.now), stack: null };
    const numbers = await readUsageOfOrganizations(parts.services, actor, {
      query: requested.query,
      signal: c.req.raw.signal,
    });
    const shown = usageFilters(c, requested, { numbers, path });
    const { period } = requested.choice;
    const page = operatorUsagePage({
      frame,
      ...shown,
      ...shownReport(numbers, { ...shown, period, now: frame.now, groups, csv }),
      problem: numbers.problem,
    });
    return await sendPage(c, page);
  });
}
