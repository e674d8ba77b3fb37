// Suspending and resuming an organization, which only operators can do. While it is suspended, requests with its keys are denied,
// and its members can only read.
import { insertChangeEvent } from "../../db/outbox/mod.ts";
import { updateStatus } from "../../db/people/organizations.ts";
import type { OrganizationStatus } from "../../domain/console/organization.ts";
import { type Change, type OperatorAccess, writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";

export async function changeStatus(
  context: SessionContext,
  access: OperatorAccess,
  status: OrganizationStatus,
): Promise<void> {
  await writeChange(context, access.actor, statusChange(context, access, status));
}

/** Returns the change that suspends or resumes an organization, for a batch with other changes. */
export function statusChange(
  { clock }: Pick<SessionContext, "clock">,
  { organizationId, organizationName }: Pick<OperatorAccess, "organizationId" | "organizationName">,
  status: OrganizationStatus,
): Change {
  const action = status === "suspended" ? "organization.suspended" : "organization.resumed";
  return {
    statement: updateStatus(organizationId, { status, now: clock() }),
    entry: { action, organizationId, target: { id: organizationId, name: organizationName } },
    after: (audited) => [insertChangeEvent(action, audited)],
  };
}
