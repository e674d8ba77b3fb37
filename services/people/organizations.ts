// Organizations of members: list, create, rename, transfer, delete; and their plan, which operators see too.
import { findOrganizationPlan } from "../../db/billing/mod.ts";
import { insertChangeEvent } from "../../db/outbox/mod.ts";
import { renameCompanyProvider } from "../../db/people/identity_providers.ts";
import { endInvitationsBy } from "../../db/people/invitations.ts";
import { demoteOwner, findMember, insertMembership, promoteToOwner } from "../../db/people/memberships.ts";
import {
  endOrganizationAccess,
  findOrganizations,
  insertOrganization,
  markOrganizationDeleted,
  type OrganizationRow,
  selectOrganization,
  updateOrganizationName,
} from "../../db/people/organizations.ts";
import type { SessionActor } from "../../domain/access/actor.ts";
import type { OrganizationPlan } from "../../domain/billing/plan.ts";
import { AppError, notFoundError, unavailableError, validationError } from "../../domain/errors.ts";
import { newId } from "../../domain/id.ts";
import { membershipsPerUserMax } from "../../domain/limits.ts";
import { isoTime } from "../../domain/time.ts";
import type { Organization } from "../../domain/organization.ts";
import { isTypedName } from "../../domain/typed_name.ts";
import {
  type Access,
  type MemberAccess,
  requireAllowed,
  requirePermission,
  requireRecentAuthentication,
  writeAndRead,
  writeChange,
} from "../access/mod.ts";
import type { SessionContext } from "../context.ts";

export async function listOrganizations(context: SessionContext, actor: SessionActor) {
  return (await findOrganizations(context.database, actor.user.id)).map(toOrganization);
}

/** @throws {AppError} `not_found`. */
export async function getOrganization(
  { database }: SessionContext,
  { actor, organizationId }: MemberAccess,
): Promise<Organization> {
  const row = await database.readFirst<OrganizationRow>(selectOrganization(actor.user.id, organizationId));
  if (row === undefined) throw notFoundError();
  return toOrganization(row);
}

/** Reads an organization's plan. @throws {AppError} `forbidden`, `not_found`. */
export async function readPlan(
  { database }: Pick<SessionContext, "database">,
  access: Access,
): Promise<OrganizationPlan> {
  requirePermission(access, "usage.read");
  const row = await findOrganizationPlan(database, access.organizationId);
  if (row === undefined) throw notFoundError();
  const { name, timezone } = row;
  return {
    plan: { name, features: JSON.parse(row.features), featureNames: JSON.parse(row.featureNames) },
    timezone,
  };
}

/** Creates an organization that the actor owns. It does not become the active one. @throws {AppError} `limit_reached`, `rate_limited`. */
export async function createOrganization(
  context: SessionContext,
  actor: SessionActor,
  name: string,
): Promise<Organization> {
  const now = context.clock();
  const id = newId("org");
  const userId = actor.user.id;
  requireAllowed(context.rateLimits.organizations.take(userId));
  const isCreated = await writeChange(context, actor, {
    statement: insertOrganization({ id, name, userId, now }),
    entry: { action: "organization.created", organizationId: id, target: { id, name } },
    after: (audited) => [
      insertMembership({ userId, organizationId: id, role: "OWNER", now }, audited.audited),
      insertChangeEvent("organization.created", audited),
    ],
  });
  if (!isCreated) throw membershipLimitError();
  return { id, name, role: "OWNER", memberCount: 1, createdAt: isoTime(now) };
}

/** @throws {AppError} `not_found`, `forbidden`. */
export async function renameOrganization(
  context: SessionContext,
  access: MemberAccess,
  name: string,
): Promise<Organization> {
  const writer = requirePermission(access, "organization.manage");
  const { actor, organizationId: id, organizationName: from } = access;
  if (from === name) return await getOrganization(context, access);
  const details = { from, to: name };
  const { isMade, row } = await writeAndRead<OrganizationRow>(context, writer, {
    statement: updateOrganizationName({ id, ...details }),
    entry: { action: "organization.renamed", organizationId: id, target: { id, name }, details },
    after: (audited) => [renameCompanyProvider(id, name, audited)],
  }, selectOrganization(actor.user.id, id));
  if (isMade || row().name === name) return toOrganization(row());
  throw unavailableError("Someone else just renamed the organization. Try again.");
}

/** Makes another member an owner, and the actor an admin. @throws {AppError} `forbidden`, `proof_required`, `validation_failed`. */
export async function transferOrganization(
  context: SessionContext,
  access: MemberAccess,
  userId: string,
): Promise<Organization> {
  const writer = requirePermission(access, "organization.manage");
  const { actor, organizationId } = access;
  const now = context.clock();
  requireRecentAuthentication(actor, now);
  const notMember = validationError([{ path: "userId", message: "must be the id of another member." }]);
  if (userId === actor.user.id) throw notMember;
  const member = await findMember(context.database, organizationId, { userId, now });
  const target = { id: userId, name: member?.name ?? null };
  const formerOwner = { organizationId, userId: actor.user.id };
  const { isMade, row } = await writeAndRead<OrganizationRow>(context, writer, {
    statement: promoteToOwner({ organizationId, userId }),
    entry: { action: "organization.transferred", organizationId, target },
    after: ({ audited }) => [
      demoteOwner(formerOwner, audited),
      endInvitationsBy({ ...formerOwner, now }, audited),
    ],
  }, selectOrganization(actor.user.id, organizationId));
  if (!isMade) throw notMember;
  return toOrganization(row());
}

/**
 * Deletes an organization. Its keys, memberships and invitations end immediately; its usage data is deleted in the background.
 *
 * @param confirmedName The organization's name, typed to confirm.
 * @throws {AppError} `forbidden`, `proof_required`, `validation_failed` if the name does not match.
 */
export async function deleteOrganization(
  context: SessionContext,
  access: MemberAccess,
  confirmedName: string,
): Promise<void> {
  const writer = requirePermission(access, "organization.manage");
  const { actor, organizationId: id, organizationName: name } = access;
  const now = context.clock();
  requireRecentAuthentication(actor, now);
  const otherName = validationError([{ path: "name", message: "must match the organization's name." }]);
  if (!isTypedName(confirmedName, name)) throw otherName;
  const isDeleted = await writeChange(context, writer, {
    statement: markOrganizationDeleted({ id, name, now }),
    entry: { action: "organization.deleted", organizationId: id, target: { id, name } },
    after: (audited) => endOrganizationAccess(id, audited),
  });
  if (!isDeleted) throw otherName;
}

export function membershipLimitError(): AppError {
  return new AppError(
    "limit_reached",
    `You can belong to at most ${membershipsPerUserMax} organizations. Leave one first.`,
  );
}

function toOrganization({ id, name, role, createdAt, members }: OrganizationRow): Organization {
  return { id, name, role, memberCount: members, createdAt: isoTime(createdAt) };
}
