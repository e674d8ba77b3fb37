// Whose webhook endpoints someone works with: those of an organization, or those of operators.
import { findOwnerOfWebhook } from "../../db/outbox/webhooks.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { notFoundError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import type { Permission } from "../../domain/access/permissions.ts";
import {
  type Access,
  operatorAccess,
  requirePermission,
  requireRecentAuthentication,
  type Writer,
} from "../access/mod.ts";
import type { SessionContext } from "../context.ts";

/** A member or an operator in an organization, or an operator with the endpoints of operators. */
export type WebhookOwner = { readonly access: Access } | { readonly operator: OperatorActor };

export interface OwnerScope {
  /** Null for operators' endpoints. */
  readonly organizationId: string | null;
  readonly by: Writer;
}

/** A fault of an event's name. */
export const onlyForOperators = "is an event that only operators receive.";

type WebhookPermission = Extract<Permission, `webhooks.${string}`>;

/** Returns whose endpoints these are, and who acts. @throws {AppError} `forbidden`. */
export function ownerScope(owner: WebhookOwner, permission: WebhookPermission): OwnerScope {
  if ("operator" in owner) return { organizationId: null, by: owner.operator };
  const { organizationId } = owner.access;
  return { organizationId, by: requirePermission(owner.access, permission) };
}

/** As {@linkcode ownerScope}, for changes. The routes of operators require recent authentication. @throws {AppError} `forbidden`, `proof_required`. */
export function changingScope({ clock }: Pick<SessionContext, "clock">, owner: WebhookOwner): OwnerScope {
  const scope = ownerScope(owner, "webhooks.manage");
  if ("access" in owner && owner.access.role !== null) {
    requireRecentAuthentication(owner.access.actor, clock());
  }
  return scope;
}

/**
 * Returns a function that finds whose endpoints an operator works with: those of the owner of the endpoint `id`; without one, those of an
 * organization or of operators. It throws `not_found`.
 */
export function ownerForOperator(context: Pick<SessionContext, "database">) {
  return async (operator: OperatorActor, id: string, organizationId?: string): Promise<WebhookOwner> => {
    const idText = id === "" ? organizationId ?? null : await organizationOf(context, id);
    return idText === null ? { operator } : { access: await operatorAccess(context, operator, idText) };
  };
}

/** Returns the organization of an endpoint, null for operators'. @throws {AppError} `not_found`. */
async function organizationOf({ database }: Pick<SessionContext, "database">, id: string) {
  const found = isId("whk", id) ? await findOwnerOfWebhook(database, id) : undefined;
  if (found === undefined) throw notFoundError();
  return found.organizationId;
}
