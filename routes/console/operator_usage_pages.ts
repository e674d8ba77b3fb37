// The console's usage page: of all organizations, those with a plan, or one. Invalid parameters never cause an error page.
import { searchCharactersMax } from "../../domain/limits.ts";
import { wholeText } from "../../domain/search.ts";
import { readUsageOfOrganizations } from "../../services/console/mod.ts";
import type { OperatorUsagePage } from "../../services/console/jobs/mod.ts";
import { filteredHref, type UsageAddress } from "../../views/meter/usage_address.ts";
import type { OrganizationFilter } from "../../views/meter/usage_organizations.tsx";
import { operatorUsagePage } from "../../views/console/usage.tsx";
import type { App, AppContext } from "../env.ts";
import { csvGroup, usageFilters, usageRequest } from "../meter/usage_pages.ts";
import { shownReport } from "../meter/usage_report.ts";
import { type PortalParts, sendPage } from "../portal/page.ts";
import { operatorFrame, operatorPages } from "../portal/operator_page.ts";

const path = "/operator/usage";
/** Organizations to choose without a search. */
const busiestMax = 8;

export function operatorUsagePages(app: App, parts: PortalParts): void {
  operatorPages(app, parts).get(path, async (c, actor) => {
    const frame = operatorFrame(parts, actor);
    const requested = usageRequest(c, frame.now);
    const { organizationId, planId, ...search } = organizationQuery(c);
    const numbers = await readUsageOfOrganizations(parts.services, actor, {
      query: {
        ...requested.query,
        ...search,
        stack: requested.stack,
        filters: { ...requested.query.filters, organizationId, planId },
      },
      signal: c.req.raw.signal,
    });
    const { organization, plan } = numbers.filters;
    const stacks = organization === null ? ["organization", "product"] as const : ["product", "key"] as const;
    const shown = usageFilters(c, requested, {
      numbers,
      path,
      stacks,
      organization: organizationFilter(numbers, search.search),
    });
    const page = operatorUsagePage({
      frame,
      ...shown,
      ...shownReport(numbers, {
        ...shown,
        period: requested.choice.period,
        now: frame.now,
        stacks,
        groups: groupsOf(numbers, shown.address),
        trends: numbers.trends,
        csv: {
          path: "/api/operator/usage.csv",
          query: {
            mergeRotations: "true",
            groupBy: `organization,${csvGroup(shown.address.stack)},metric`,
          },
        },
      }),
      problem: numbers.problem,
      chosen: organization,
      plan,
    });
    return await sendPage(c, page);
  });
}

function organizationQuery(c: AppContext) {
  const given = (name: string) =>
    wholeText(c.req.query(name)?.slice(0, searchCharactersMax) ?? "").trim() || null;
  return { organizationId: given("organizationId"), planId: given("planId"), search: given("organization") };
}

function organizationFilter(
  { filters: { organization }, group, found, report }: OperatorUsagePage,
  search: string | null,
): OrganizationFilter {
  const lines = group === "organization" ? report?.groups.lines ?? [] : [];
  return {
    name: organization?.name ?? null,
    busiest: lines.flatMap(({ id, name }) => id === null ? [] : [{ value: id, label: name ?? id }])
      .slice(0, busiestMax),
    search: search === null || organization !== null ? null : { text: search, found: found.map(toChoice) },
  };
}

function toChoice({ id, name, externalId }: OperatorUsagePage["found"][number]) {
  return { value: id, label: externalId === null ? name : `${name} (${externalId})` };
}

/** Returns the subject of the second table: organizations, or the keys of one. */
function groupsOf({ group, choices }: OperatorUsagePage, address: UsageAddress) {
  if (group === "organization") {
    return {
      title: "Organizations",
      column: "Organization",
      noName: "Deleted organizations",
      hrefOf: (id: string) => filteredHref(address, { organizationId: id, apiKey: null }),
    };
  }
  const names = new Map(choices.apiKeys?.map(({ id, name }) => [id, name]));
  return {
    title: "API keys",
    column: "Key",
    nameOf: (id: string) => names.get(id),
    hrefOf: (id: string) => filteredHref(address, { apiKey: id }),
  };
}
