// Who acts in an organization: a member by their role, or an operator. Callers resolve an access, and verbs ask it for permission.
import { findOrganizationReference, type OrganizationReference } from "../../db/access/organization_state.ts";
import type { OperatorActor, PortalSessionActor, SessionActor } from "../../domain/access/actor.ts";
import { AppError, forbiddenError, notFoundError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import { externalIdPrefix } from "../../domain/console/organization.ts";
import {
  hasPermission,
  isReadPermission,
  type Permission,
  rolesWith,
} from "../../domain/access/permissions.ts";
import type { Membership, Role } from "../../domain/access/session.ts";
import type { SessionContext } from "../context.ts";
import { type JobReader, membersOf, operatorReader } from "../reports/job_reader.ts";
import type { Writer } from "./session_writes.ts";

interface OrganizationAccess {
  readonly organizationId: string;
  readonly organizationName: string;
  /** The organization's time zone, an IANA name. */
  readonly timezone: string;
  /** Stands for this access on the reports thread. */
  readonly reader: JobReader;
}

export interface MemberAccess extends OrganizationAccess {
  readonly actor: SessionActor;
  readonly role: Role;
  /** Returns the error for a user who is no longer a member when a batch is written. */
  readonly notMemberError: () => AppError;
}

export interface OperatorAccess extends OrganizationAccess {
  readonly actor: OperatorActor;
  readonly role: null;
}

/** A product's customer, with some pages of the organization. */
export interface PortalSessionAccess extends OrganizationAccess {
  readonly actor: PortalSessionActor;
  readonly role: null;
}

export type Access = MemberAccess | OperatorAccess | PortalSessionAccess;

/** The permissions of operators in organizations. Roles, ownership and deletion have verbs of their own for operators. */
const operatorPermissions: ReadonlySet<Permission> = new Set<Permission>([
  "apiKeys.read",
  "apiKeys.createOwn",
  "apiKeys.manageAll",
  "usage.read",
  "members.read",
  "memberDetails.read",
  "members.manage",
  "owners.manage",
  "audit.read",
  "webhooks.read",
  "webhooks.manage",
  "alerts.manage",
  "sso.read",
  "sso.stop",
]);

/** Returns a member's access to the active organization. @throws {AppError} `forbidden` if there is none. */
export function activeAccess(actor: SessionActor): MemberAccess {
  if (actor.organization === null) throw noOrganizationError();
  return memberAccess(actor, actor.organization, noOrganizationError);
}

/** Returns a member's access to an organization. @throws {AppError} `not_found`, as if it did not exist. */
export function accessTo(actor: SessionActor, organizationId: string): MemberAccess {
  const membership = actor.memberships.find((one) => one.organizationId === organizationId);
  if (membership === undefined) throw notFoundError();
  return memberAccess(actor, membership, notFoundError);
}

/** Finds an organization by its id, or `external:` and its external id, for an operator. @throws {AppError} `not_found`. */
export async function operatorAccess(
  context: Pick<SessionContext, "database">,
  actor: OperatorActor,
  idText: string,
): Promise<OperatorAccess> {
  return operatorAccessTo(actor, await resolveOrganization(context, idText));
}

/** Returns an operator's access to an organization that exists or is being created. */
export function operatorAccessTo(
  actor: OperatorActor,
  { id, name, timezone }: Pick<OrganizationReference, "id" | "name" | "timezone">,
): OperatorAccess {
  return {
    actor,
    role: null,
    organizationId: id,
    organizationName: name,
    timezone,
    reader: operatorReader(actor),
  };
}

/** Finds the organization with an id, or with `external:` and an external id. @throws {AppError} `not_found`. */
export async function resolveOrganization(
  { database }: Pick<SessionContext, "database">,
  idText: string,
): Promise<OrganizationReference> {
  const organization = idText.startsWith(externalIdPrefix)
    ? await findOrganizationReference(database, { externalId: idText.slice(externalIdPrefix.length) })
    : isId("org", idText)
    ? await findOrganizationReference(database, { id: idText })
    : undefined;
  if (organization === undefined) throw notFoundError();
  return organization;
}

/** Returns the id that a filter names, which may be that of a deleted organization. @throws {AppError} As `resolveOrganization`. */
export async function organizationIdOf(
  context: Pick<SessionContext, "database">,
  idText: string,
): Promise<string> {
  return isId("org", idText) ? idText : (await resolveOrganization(context, idText)).id;
}

export function may(access: Access, permission: Permission): boolean {
  if (access.role !== null) return hasPermission(access.role, permission);
  const { actor } = access;
  if (actor.type === "portalSession") return actor.permissions.has(permission);
  return operatorPermissions.has(permission) && (!actor.isViewing || isReadPermission(permission));
}

/** True for operators, also while they view an organization as its customers do. */
export function isOperator({ actor }: Access): boolean {
  return actor.type === "operator";
}

/** True for those who see which operator did something. Customers only see that it was the operator. */
export function seesOperators({ actor }: Access): boolean {
  return actor.type === "operator" && !actor.isViewing;
}

/** Returns the writer, whose permission `writeAs` checks again in the transaction. @throws {AppError} `forbidden`. */
export function requirePermission(access: Access, permission: Permission): Writer {
  if (!may(access, permission)) {
    throw forbiddenError(access.role === null ? undefined : rolesWith(permission)[0]);
  }
  if (access.role === null) return access.actor;
  const { actor, organizationId, notMemberError } = access;
  return { actor, organizationId, permission, notMemberError };
}

function memberAccess(
  actor: SessionActor,
  { organizationId, name, role, timezone }: Membership,
  notMemberError: () => AppError,
): MemberAccess {
  return {
    actor,
    role,
    organizationId,
    organizationName: name,
    timezone,
    reader: membersOf(organizationId),
    notMemberError,
  };
}

function noOrganizationError(): AppError {
  return new AppError("forbidden", "You don't belong to an organization.");
}
