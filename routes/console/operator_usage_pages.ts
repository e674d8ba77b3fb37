// The console's usage page: of all organizations, those with a plan, or one. Invalid parameters never cause an error page.
import { searchCharactersMax } from "../../domain/limits.ts";
import { wholeText } from "../../domain/search.ts";
import { operatorAccess } from "../../services/access/mod.ts";
import { readForOperator } from "../../services/console/mod.ts";
import type { OperatorUsagePage } from "../../services/console/jobs/mod.ts";
import { organizationHref } from "../../views/components/links.ts";
import type { OrganizationFilter } from "../../views/meter/usage_filters.tsx";
import { operatorUsagePage } from "../../views/console/usage.tsx";
import type { App, AppContext } from "../env.ts";
import { explorerOf, readRejected, usageRequest } from "../meter/usage_pages.ts";
import { mountPage } from "../portal/noun_pages.ts";
import { consolePages } from "../portal/operator_page.ts";
import type { PortalParts } from "../portal/page.ts";

const path = "/operator/usage";

export function operatorUsagePages(app: App, parts: PortalParts): void {
  mountPage(consolePages(app, parts, "operator/usage"), path, async (c, { actor, frame }) => {
    const requested = usageRequest(c, { now: frame.now });
    const { organizationId, planId, ...search } = organizationQuery(c);
    const numbers = await readForOperator(parts.services, actor, {
      job: "readOperatorUsagePage",
      ...requested.query,
      ...search,
      filters: { ...requested.query.filters, organizationId, planId },
      signal: c.req.raw.signal,
    });
    const { organization, plan } = numbers.filters;
    const explorer = explorerOf(c, requested, {
      numbers,
      path,
      organization: organizationFilter(numbers, search.search),
      csv: {
        path: "/api/operator/usage.csv",
        query: { mergeRotations: "true", groupBy: "organization," },
      },
    });
    const rejected = organization && await readRejected(
      parts.services,
      await operatorAccess(parts.services, actor, organization.id),
      numbers,
    );
    const ofOrganization = organization && { ...frame, base: organizationHref(organization.id) };
    return operatorUsagePage({
      frame,
      ...explorer,
      ...{ chosen: organization, plan },
      rejected: rejected && ofOrganization && { ...rejected, frame: ofOrganization },
    });
  });
}

function organizationQuery(c: AppContext) {
  const given = (name: string) =>
    wholeText(c.req.query(name)?.slice(0, searchCharactersMax) ?? "").trim() || null;
  return { organizationId: given("organizationId"), planId: given("planId"), search: given("organization") };
}

function organizationFilter(
  { filters: { organization }, found }: OperatorUsagePage,
  search: string | null,
): OrganizationFilter {
  return {
    name: organization?.name ?? null,
    search: search === null || organization !== null ? null : { text: search, found: found.map(toChoice) },
  };
}

function toChoice({ id, name, externalId }: OperatorUsagePage["found"][number]) {
  return { value: id, label: externalId === null ? name : `${name} (${externalId})` };
}
