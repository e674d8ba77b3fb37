// The first question of every verb in an organization: is this user a member, and does their role allow this?
import type { SessionActor } from "../../domain/actor.ts";
import { AppError, forbiddenError, notFoundError } from "../../domain/errors.ts";
import { hasPermission, type Permission } from "../../domain/permissions.ts";
import type { Membership, Session } from "../../domain/sign_in/session.ts";
import type { Permit as MemberPermit } from "../sign_in/session_writes.ts";

/** A membership with a permission. */
export type Permit = Membership & MemberPermit;

/**
 * Requires a permission in the organization that the caller names.
 *
 * @throws {AppError} `not_found` if the user is not a member, exactly as if the organization did not exist; `forbidden` if
 *   their role does not have the permission.
 */
export function requireMembership(
  actor: SessionActor,
  { organizationId, permission }: { organizationId: string; permission: Permission },
): Permit {
  const membership = actor.memberships.find((one) => one.organizationId === organizationId);
  if (membership === undefined) throw notFoundError();
  if (!hasPermission(membership.role, permission)) throw forbiddenError();
  return { ...membership, actor, permission, notMemberError: notFoundError };
}

/**
 * Requires a permission in the active organization.
 *
 * @throws {AppError} `forbidden` if there is no active organization or the role does not have the permission.
 */
export function requireActiveOrganization({ organization }: Session, permission: Permission): Membership {
  if (organization === null) throw noOrganizationError();
  if (!hasPermission(organization.role, permission)) throw forbiddenError();
  return organization;
}

/** @returns The same as a {@linkcode Permit}. @throws {AppError} `forbidden`. */
export function requireActivePermit(actor: SessionActor, permission: Permission): Permit {
  const membership = requireActiveOrganization(actor, permission);
  return { ...membership, actor, permission, notMemberError: noOrganizationError };
}

function noOrganizationError(): AppError {
  return new AppError("forbidden", "You don't belong to an organization.");
}
