// Organizations: create, rename, transfer, delete.
import { endInvitationsBy } from "../../db/organization/invitations.ts";
import {
  demoteOwner,
  findMember,
  insertMembership,
  promoteToOwner,
} from "../../db/organization/memberships.ts";
import {
  endOrganizationAccess,
  findOrganization,
  findOrganizations,
  insertOrganization,
  markOrganizationDeleted,
  type OrganizationRow,
  selectOrganization,
  updateOrganizationName,
} from "../../db/organization/organizations.ts";
import type { SessionActor } from "../../domain/actor.ts";
import { AppError, notFoundError, unavailableError, validationError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import { membershipsPerUserMax } from "../../domain/limits.ts";
import { isoTime } from "../../domain/time.ts";
import type { Organization } from "../../domain/organization.ts";
import { isTypedName } from "../../domain/typed_name.ts";
import { writeAndRead, writeChange } from "../change.ts";
import type { SessionContext } from "../context.ts";
import { requireRecentAuthentication } from "../sign_in/recent_authentication.ts";
import { requireMembership } from "./membership.ts";

/** Lists the actor's organizations by name. */
export async function listOrganizations(context: SessionContext, actor: SessionActor) {
  return (await findOrganizations(context.database, actor.user.id)).map(toOrganization);
}

/** @throws {AppError} `not_found`. */
export async function getOrganization(context: SessionContext, actor: SessionActor, id: string) {
  const row = isId("org", id) ? await findOrganization(context.database, actor.user.id, id) : undefined;
  if (row === undefined) throw notFoundError();
  return toOrganization(row);
}

/** Creates an organization that the actor owns. It does not become the active one. @throws {AppError} `limit_reached`. */
export async function createOrganization(
  context: SessionContext,
  actor: SessionActor,
  name: string,
): Promise<Organization> {
  const now = context.clock();
  const id = newId("org");
  const userId = actor.user.id;
  const isCreated = await writeChange(context, actor, {
    statement: insertOrganization({ id, name, now }, { userId, membershipsMax: membershipsPerUserMax }),
    entry: { action: "organization.created", organizationId: id, target: { id, name } },
    after: ({ audited }) => [insertMembership({ userId, organizationId: id, role: "OWNER", now }, audited)],
  });
  if (!isCreated) throw membershipLimitError();
  return { id, name, role: "OWNER", memberCount: 1, createdAt: isoTime(now) };
}

/** Renames an organization. @throws {AppError} `not_found`, `forbidden`. */
export async function renameOrganization(
  context: SessionContext,
  actor: SessionActor,
  { id, name }: { id: string; name: string },
): Promise<Organization> {
  const permit = requireMembership(actor, { organizationId: id, permission: "organization.manage" });
  const { name: from } = permit;
  if (from === name) return await getOrganization(context, actor, id);
  const details = { from, to: name };
  const { isMade, row } = await writeAndRead<OrganizationRow>(context, permit, {
    statement: updateOrganizationName({ id, ...details }),
    entry: { action: "organization.renamed", organizationId: id, target: { id, name }, details },
  }, selectOrganization(actor.user.id, id));
  if (isMade || row().name === name) return toOrganization(row());
  throw unavailableError("Someone else just renamed the organization. Try again.");
}

/**
 * Makes another member an owner, and the actor an admin.
 *
 * @throws {AppError} `not_found`, `forbidden`, `proof_required`, `validation_failed` for a user who is not another member.
 */
export async function transferOrganization(
  context: SessionContext,
  actor: SessionActor,
  { id, userId }: { id: string; userId: string },
): Promise<Organization> {
  const permit = requireMembership(actor, { organizationId: id, permission: "organization.manage" });
  const now = context.clock();
  requireRecentAuthentication(actor, now);
  const notMember = validationError([{ path: "userId", message: "must be the id of another member." }]);
  if (userId === actor.user.id) throw notMember;
  const member = await findMember(context.database, id, { userId, now });
  const target = { id: userId, name: member?.name ?? null };
  const formerOwner = { organizationId: id, userId: actor.user.id };
  const { isMade, row } = await writeAndRead<OrganizationRow>(context, permit, {
    statement: promoteToOwner({ organizationId: id, userId }),
    entry: { action: "organization.transferred", organizationId: id, target },
    after: ({ audited }) => [
      demoteOwner(formerOwner, audited),
      endInvitationsBy({ ...formerOwner, now }, audited),
    ],
  }, selectOrganization(actor.user.id, id));
  if (!isMade) throw notMember;
  return toOrganization(row());
}

/**
 * Deletes an organization. Its keys, memberships and invitations end immediately; its usage data is deleted in the background.
 *
 * @param input `confirmedName`: the organization's name, typed to confirm.
 * @throws {AppError} `not_found`, `forbidden`, `proof_required`, `validation_failed` if the name does not match.
 */
export async function deleteOrganization(
  context: SessionContext,
  actor: SessionActor,
  { id, confirmedName }: { id: string; confirmedName: string },
): Promise<void> {
  const permit = requireMembership(actor, { organizationId: id, permission: "organization.manage" });
  const { name } = permit;
  const now = context.clock();
  requireRecentAuthentication(actor, now);
  const otherName = validationError([{ path: "name", message: "must match the organization's name." }]);
  if (!isTypedName(confirmedName, name)) throw otherName;
  const isDeleted = await writeChange(context, permit, {
    statement: markOrganizationDeleted({ id, name, now }),
    entry: { action: "organization.deleted", organizationId: id, target: { id, name } },
    after: (audited) => endOrganizationAccess(id, audited),
  });
  if (!isDeleted) throw otherName;
}

/** @returns The error for a user who has reached the limit of organizations. */
export function membershipLimitError(): AppError {
  return new AppError(
    "limit_reached",
    `You can belong to at most ${membershipsPerUserMax} organizations. Leave one first.`,
  );
}

function toOrganization({ id, name, role, createdAt, members }: OrganizationRow): Organization {
  return { id, name, role, memberCount: members, createdAt: isoTime(createdAt) };
}
