// The numbers of the portal's overview, read by the reports thread.
import { findMembersWithoutTwoStep } from "../../../db/console/portal_overview.ts";
import type { ApiKeyScope } from "../../../db/access/mod.ts";
import { readKeyList } from "../../keys/jobs/mod.ts";
import { readUsageReport, type UsageReportQuery } from "../../meter/jobs/mod.ts";
import type { JobContext, JobScope } from "../../reports/job_context.ts";

const namedMax = 3;

export interface OverviewQuery extends Pick<UsageReportQuery, "period" | "unit" | "timezone"> {
  /** The metric of the chart, if it was used; null for the one with the most records. */
  readonly metric: string | null;
}

export type PortalOverview = Awaited<ReturnType<typeof readPortalOverview>>;

/** @param input `createdBy`: only keys of this user expire. `seesMembers`: whether to look for members without two-step sign-in. */
export async function readPortalOverview(
  context: JobContext,
  input: JobScope & OverviewQuery & Pick<ApiKeyScope, "createdBy"> & { readonly seesMembers: boolean },
) {
  const { seesMembers, createdBy, organizationId, now, ...query } = input;
  const scope = { organizationId, now };
  const usage = await readUsageReport(context, {
    ...scope,
    ...query,
    filter: {},
    ...{ groups: ["productSlug", "apiKey"], stack: "productSlug", page: 1, isDetailed: false },
  });
  await context.pause();
  const { lines, counts } = await readKeyList(context, {
    ...scope,
    createdBy,
    state: "expiring",
    search: "",
    order: "end",
    page: 1,
  });
  return {
    usage,
    expiring: {
      count: counts.expiring,
      keys: lines.slice(0, namedMax).map(({ row: { id, name }, current: { endsAt } }) => ({
        id,
        name,
        endsAt,
      })),
    },
    withoutTwoStep: seesMembers
      ? await findMembersWithoutTwoStep(context.database, { organizationId, limit: namedMax })
      : null,
  };
}
