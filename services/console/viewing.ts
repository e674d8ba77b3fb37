// Viewing an organization's pages as its owners see them. Both audit logs say so, and their entry is what lets an operator read on.
import { insertAuditEvent, type OrganizationReference } from "../../db/access/mod.ts";
import { type OperatorActor, operatorIdentity } from "../../domain/access/actor.ts";
import { operatorViewMs } from "../../domain/limits.ts";
import { listAuditEvents, type OperatorAccess, operatorAccessTo } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";

const action = "organization.viewed";

/** Lets an operator view an organization for an hour. @throws {AppError} As `writeAs`. */
export async function startViewing(
  { clock, writeAs }: SessionContext,
  access: OperatorAccess,
): Promise<void> {
  const { actor, organizationId, organizationName: name } = access;
  const entry = { action, organizationId, target: { id: organizationId, name } } as const;
  await writeAs(actor, [insertAuditEvent(actor, entry, { now: clock(), always: true }).statement]);
}

/** Returns an access that only reads; null if the operator has not started viewing the organization in the last hour. */
export async function viewingAccess(
  context: SessionContext,
  actor: OperatorActor,
  organization: OrganizationReference,
): Promise<OperatorAccess | null> {
  const access = operatorAccessTo(actor, organization);
  const { id } = operatorIdentity(actor);
  if (id === null) return null;
  const from = context.clock() - operatorViewMs;
  const { events } = await listAuditEvents(context, access, {
    actions: [action],
    actorId: id,
    from,
    limit: 1,
    cursor: undefined,
  });
  return events.length === 0 ? null : operatorAccessTo({ ...actor, isViewing: true }, organization);
}
