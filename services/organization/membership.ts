// Permissions in the active organization, for verbs that don't take an access yet.
import type { SessionActor } from "../../domain/actor.ts";
import { AppError, forbiddenError } from "../../domain/errors.ts";
import { hasPermission, type Permission } from "../../domain/permissions.ts";
import type { Membership, Session } from "../../domain/sign_in/session.ts";
import type { Permit as MemberPermit } from "../sign_in/session_writes.ts";

/** A membership with a permission. */
export type Permit = Membership & MemberPermit;

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
