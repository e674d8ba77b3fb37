// The numbers of the console's usage page, read by the reports thread: of all organizations, of those with a plan, or of one.
import {
  findOrganizationOfApiKey,
  findOrganizationReference,
  type OrganizationReference,
} from "../../../db/access/mod.ts";
import { listUsedProducts } from "../../../db/meter/mod.ts";
import { findPlanReferences } from "../../../db/billing/mod.ts";
import { isId } from "../../../domain/id.ts";
import { plansMax, usagePageChoicesMax } from "../../../domain/limits.ts";
import { externalIdPrefix } from "../../../domain/console/organization.ts";
import type { JobContext, JobTime } from "../../reports/job_context.ts";
import { readOrganizationPage } from "./organization_list.ts";
import {
  readFilteredReport,
  type UsagePageFilters,
  type UsagePageQuery,
  type UsageReportQuery,
} from "../../meter/jobs/mod.ts";

/** Maximum number of organizations that a search returns. */
const foundMax = 10;

export type OperatorUsagePageQuery =
  & Pick<UsageReportQuery, "period" | "unit" | "timezone" | "page">
  & Pick<UsagePageQuery, "stack">
  & {
    readonly filters: UsagePageFilters & {
      /** An id, or `external:` and an external id. */
      readonly organizationId: string | null;
      readonly planId: string | null;
    };
    /** A part of a name or an external id, or an id; null for no search. */
    readonly search: string | null;
  };

export type OperatorUsagePage = Awaited<ReturnType<typeof readOperatorUsagePage>>;

/** Reads what the page shows. Without a known metric, the one with the most records in the period is selected. */
export async function readOperatorUsagePage(
  context: JobContext,
  { filters: requested, search, ...input }: JobTime & OperatorUsagePageQuery,
) {
  const { database } = context;
  const { now } = input;
  const plans = await findPlanReferences(database, plansMax);
  const plan = plans.find(({ id }) => id === requested.planId) ?? null;
  const { organization, found } = await findOrganization(context, {
    ...requested,
    planId: plan?.id ?? null,
    search,
    now,
  });
  const organizationId = organization?.id ?? null;
  const scope = {
    now,
    organizationIds: organization === null ? undefined : [organization.id],
    planId: plan?.id,
  };
  const { apiKeys, filters, ...read } = await readFilteredReport(context, scope, {
    ...input,
    organizationId,
    filters: requested,
    groups: organization === null ? ["organization", "productSlug"] : ["productSlug", "apiKey"],
  });
  const products = await listUsedProducts(database, { organizationId, limit: usagePageChoicesMax });
  return {
    ...read,
    filters: { ...filters, organization, plan },
    /** The organizations that the search found, unless it was a single one, which is the filter then. */
    found,
    choices: { products: products.toSorted(), apiKeys, plans },
  };
}

type FoundOrganization = Pick<OrganizationReference, "id" | "name" | "externalId">;

/** Finds the organization to filter by: the chosen one, that of the chosen key, or the only one that a search finds. */
async function findOrganization(
  context: JobContext,
  { organizationId, planId, apiKey, search, now }: OperatorUsagePageQuery["filters"] & {
    search: string | null;
    now: number;
  },
): Promise<{ organization: FoundOrganization | null; found: readonly FoundOrganization[] }> {
  const { database } = context;
  if (search !== null) {
    const exact = await findOrganizationReference(database, idIn(search));
    const { organizations: found } = exact === undefined
      ? await readOrganizationPage(context, {
        search,
        planId: planId ?? undefined,
        sort: "name",
        limit: foundMax,
        now,
      })
      : { organizations: [exact] };
    const [only] = found;
    const names = found.map(({ id, name, externalId }) => ({ id, name, externalId }));
    return found.length === 1 && only !== undefined
      ? { organization: only, found: [] }
      : { organization: null, found: names };
  }
  const id = organizationId ??
    (apiKey === null ? undefined : await findOrganizationOfApiKey(database, apiKey));
  const organization = id === undefined ? undefined : await findOrganizationReference(database, idIn(id));
  return { organization: organization ?? null, found: [] };
}

function idIn(text: string): { readonly id: string } | { readonly externalId: string } {
  if (isId("org", text)) return { id: text };
  return { externalId: text.startsWith(externalIdPrefix) ? text.slice(externalIdPrefix.length) : text };
}
