// The portal's first page: what an organization still has to do and, once it has usage, how it stands.
import { findFirstSteps } from "../db/overview.ts";
import type { SessionActor } from "../domain/actor.ts";
import { hasPermission } from "../domain/permissions.ts";
import { activeAccess } from "./access.ts";
import { keysOpenTo } from "./api_keys.ts";
import type { SessionContext } from "./context.ts";
import { requireActiveOrganization } from "./organization/membership.ts";
import { membersOf } from "./reports/report_reader.ts";
import type { OverviewQuery, PortalOverview } from "./reports/jobs/portal_overview.ts";

/** What is done of the first steps. */
export interface FirstSteps {
  /** Whether the member sees a key. */
  readonly hasKey: boolean;
  /** Whether anything was ever recorded. */
  readonly hasUsage: boolean;
  /** Whether the organization has another member. */
  readonly hasOthers: boolean;
}

/** @returns The first steps of the active organization. @throws {AppError} `forbidden`. */
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

/** @returns The numbers of the active organization's overview. @throws {AppError} `forbidden`, `unavailable`. */
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
