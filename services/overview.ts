// The portal's first page: an organization's first steps and, once it has usage, its numbers.
import { findFirstSteps } from "../db/overview.ts";
import type { SessionActor } from "../domain/actor.ts";
import { hasPermission } from "../domain/permissions.ts";
import { activeAccess } from "./access.ts";
import { keysOpenTo } from "./api_keys.ts";
import type { SessionContext } from "./context.ts";
import { requireActiveOrganization } from "./organization/membership.ts";
import { membersOf } from "./reports/report_reader.ts";
import type { OverviewQuery, PortalOverview } from "./reports/jobs/portal_overview.ts";

/** Steps that are done. `hasKey`: the member sees a key. `hasOthers`: another member. */
export interface FirstSteps {
  readonly hasKey: boolean;
  readonly hasUsage: boolean;
  readonly hasOthers: boolean;
}

/** @throws {AppError} `forbidden`. */
export async function readFirstSteps(
  { database }: SessionContext,
  session: SessionActor,
): Promise<FirstSteps> {
  const row = await findFirstSteps(database, keysOpenTo(activeAccess(session)).scope);
  return {
    hasKey: row?.hasKey === 1,
    hasUsage: row?.hasUsage === 1,
    hasOthers: row?.hasOthers === 1,
  };
}

/** Reads the numbers of the active organization's overview. @throws {AppError} `forbidden`, `unavailable`. */
export async function readOverview(
  { reports, clock }: SessionContext,
  session: SessionActor,
  { query, signal }: { query: OverviewQuery; signal: AbortSignal },
): Promise<PortalOverview> {
  const { organizationId, role } = requireActiveOrganization(session, "usage.read");
  return await reports.read("readPortalOverview", {
    ...keysOpenTo(activeAccess(session)).scope,
    ...query,
    now: clock(),
    seesMembers: hasPermission(role, "members.manage"),
  }, { reader: membersOf(organizationId), signal });
}
