// The portal's first page: the first steps of an organization and, once it has usage, its numbers.
import { findFirstSteps } from "../../db/console/portal_overview.ts";
import { type Access, may, requirePermission } from "../access/mod.ts";
import { keysSeenBy } from "../keys/mod.ts";
import type { SessionContext } from "../context.ts";
import type { OverviewQuery, PortalOverview } from "./jobs/portal_overview.ts";

/** Reads which of the first steps an organization has done: the member sees a key, anything was ever recorded, there is another member. */
export async function readFirstSteps({ database }: SessionContext, access: Access) {
  const row = await findFirstSteps(database, keysSeenBy(access));
  return { hasKey: row?.hasKey === 1, hasUsage: row?.hasUsage === 1, hasOthers: row?.hasOthers === 1 };
}

/** Reads the numbers of an organization's overview. @throws {AppError} `forbidden`, `unavailable`. */
export async function readOverview(
  { reports, clock }: SessionContext,
  access: Access,
  { query, signal }: { query: OverviewQuery; signal: AbortSignal },
): Promise<PortalOverview> {
  requirePermission(access, "usage.read");
  return await reports.read("readPortalOverview", {
    ...keysSeenBy(access),
    ...query,
    now: clock(),
    seesMembers: may(access, "memberDetails.read"),
  }, { reader: access.reader, signal });
}
