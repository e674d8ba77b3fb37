// The first question of every verb in an organization: does this person belong to it, and as what.
import type { SessionActor } from "../../domain/actor.ts";
import { AppError, forbiddenError, notFoundError } from "../../domain/errors.ts";
import { type Act, mayDo } from "../../domain/permissions.ts";
import type { Membership, Session } from "../../domain/sign_in/session.ts";

/** An act that a session may do in an organization. A batch that is written with it asks for the role again. */
export interface Permit extends Membership {
  readonly actor: SessionActor;
  readonly act: Act;
  /** @returns The error for people who are not members when the batch is written. */
  readonly notMemberError: () => AppError;
}

/**
 * @param options `organizationId`: as the caller named it. `act`: what they want to do there.
 * @returns The permit to do it.
 * @throws {AppError} `not_found` for an organization that is not theirs, with the same bytes as for one that does not exist;
 *   `forbidden` when their role does not allow it.
 */
export function requireMembership(
  actor: SessionActor,
  { organizationId, act }: { organizationId: string; act: Act },
): Permit {
  const membership = actor.memberships.find((one) => one.organizationId === organizationId);
  if (membership === undefined) throw notFoundError();
  if (!mayDo(membership.role, act)) throw forbiddenError();
  return { ...membership, actor, act, notMemberError: notFoundError };
}

/**
 * Finds the organization that a session works in. Callers don't name it, so the error can say that there is none.
 *
 * @throws {AppError} `forbidden` when there is none, or when the role does not allow the act.
 */
export function requireActiveOrganization({ organization }: Session, act: Act): Membership {
  if (organization === null) throw noOrganizationError();
  if (!mayDo(organization.role, act)) throw forbiddenError();
  return organization;
}

/** @returns The same as a {@linkcode Permit}. @throws {AppError} `forbidden`. */
export function requireActivePermit(actor: SessionActor, act: Act): Permit {
  return { ...requireActiveOrganization(actor, act), actor, act, notMemberError: noOrganizationError };
}

function noOrganizationError(): AppError {
  return new AppError("forbidden", "You don't belong to an organization.");
}
