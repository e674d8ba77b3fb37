// Members of an organization: list them, change their roles, remove them. Every organization keeps an owner.
import { insertChangeEvent } from "../../db/outbox/mod.ts";
import { endInvitationsBy } from "../../db/people/invitations.ts";
import {
  deleteMembership,
  endMemberAccess,
  findMember,
  findMemberCounts,
  findMembers,
  findOwners,
  type MemberRow,
  updateMemberRole,
} from "../../db/people/memberships.ts";
import { AppError, notFoundError, unavailableError, validationError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import { isoTime } from "../../domain/time.ts";
import type { Member } from "../../domain/organization.ts";
import type { Role } from "../../domain/access/session.ts";
import {
  type Access,
  may,
  type MemberAccess,
  requirePermission,
  requireRecentAuthentication,
  writeChange,
} from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { type PageInput, readPage, requireIdCursor } from "../pages.ts";

/** Lists members by the age of their accounts. @throws {AppError} `forbidden`, `validation_failed`. */
export async function listMembers(
  { database, clock }: SessionContext,
  access: Access,
  { limit, cursor }: PageInput,
): Promise<{ members: Member[]; nextCursor: string | null }> {
  requirePermission(access, "members.read");
  requireIdCursor(cursor, "usr");
  const { rows, nextCursor } = await readPage(
    (limit) => findMembers(database, access.organizationId, { now: clock(), limit, after: cursor }),
    { limit, cursorOf: ({ userId }) => userId },
  );
  return { members: rows.map((row) => toMember(row, access)), nextCursor };
}

/** Counts the members of each role. @throws {AppError} `forbidden`. */
export async function countMembers(
  { database }: SessionContext,
  access: Access,
): Promise<Record<Role, number>> {
  requirePermission(access, "members.read");
  const counts = { OWNER: 0, ADMIN: 0, MEMBER: 0 };
  for (const { role, members } of await findMemberCounts(database, access.organizationId)) {
    counts[role] = members;
  }
  return counts;
}

/** Lists some of the owners, who can change roles. @throws {AppError} `forbidden`. */
export async function listOwners({ database }: SessionContext, access: Access) {
  requirePermission(access, "members.read");
  return await findOwners(database, access.organizationId);
}

/** @throws {AppError} `not_found`, `forbidden`. */
export async function getMember(context: SessionContext, access: Access, userId: string): Promise<Member> {
  requirePermission(access, "members.read");
  return toMember(await findRow(context, access, userId), access);
}

/**
 * Gives a member another role. Making someone an owner requires recent authentication: the new owner can do everything,
 * including ending the actor's own ownership.
 *
 * @throws {AppError} `not_found`, `forbidden`, `proof_required`, `last_owner`.
 */
export async function changeMemberRole(
  context: SessionContext,
  access: MemberAccess,
  { userId, role }: { userId: string; role: Role },
): Promise<Member> {
  const writer = requirePermission(access, "owners.manage");
  const { organizationId } = access;
  const before = await findRow(context, access, userId);
  if (before.role === role) return toMember(before, access);
  const now = context.clock();
  if (role === "OWNER") requireRecentAuthentication(access.actor, now);
  const membership = { organizationId, userId };
  const target = { id: userId, name: before.name };
  const details = { from: before.role, to: role };
  const isChanged = await writeChange(context, writer, {
    statement: updateMemberRole(membership, details),
    entry: { action: "member.role_changed", organizationId, target, details },
    after: ({ audited }) => [endInvitationsBy({ ...membership, now }, audited)],
  });
  if (isChanged) return toMember({ ...before, role }, access);
  const present = await findRow(context, access, userId);
  // An identical change was made at the same time.
  if (present.role === role) return toMember(present, access);
  throw await unchangedError(context, access, present.role);
}

/**
 * Removes a member, or lets the actor leave. The keys that the member created here are revoked or handed to the actor.
 *
 * @throws {AppError} `not_found`, `forbidden`, `last_owner`, `validation_failed` for keeping the keys when leaving.
 */
export async function removeMember(
  context: SessionContext,
  access: MemberAccess,
  { userId, keepKeys }: { userId: string; keepKeys: boolean },
): Promise<void> {
  const { organizationId } = access;
  const actorId = access.actor.user.id;
  const isOwn = userId === actorId;
  const permission = isOwn ? "members.leave" : "members.manage";
  requirePermission(access, permission);
  if (isOwn && keepKeys) {
    throw validationError([{ path: "keys", message: "can only be “keep” when you remove someone else." }]);
  }
  const { name, role } = await findRow(context, access, userId);
  const writer = requirePermission(access, !isOwn && role === "OWNER" ? "owners.manage" : permission);
  const membership = { organizationId, userId };
  const isRemoved = await writeChange(context, writer, {
    statement: deleteMembership(membership, role),
    entry: {
      action: isOwn ? "member.left" : "member.removed",
      organizationId,
      target: { id: userId, name },
      details: { role, keys: keepKeys ? "handed over" : "revoked" },
    },
    after: ({ now, audited }) => [
      insertChangeEvent("member.removed", { now, audited }),
      ...endMemberAccess(membership, { now, audited, handTo: keepKeys ? actorId : undefined }),
      endInvitationsBy({ ...membership, now }, audited),
    ],
  });
  if (isRemoved) return;
  const present = await findRow(context, access, userId);
  throw await unchangedError(context, access, present.role);
}

async function findRow(
  { database, clock }: SessionContext,
  { organizationId }: Access,
  userId: string,
): Promise<MemberRow> {
  const row = isId("usr", userId)
    ? await findMember(database, organizationId, { userId, now: clock() })
    : undefined;
  if (row === undefined) throw notFoundError();
  return row;
}

/** Explains why a member was not changed: they are the last owner, or someone else just changed them. */
async function unchangedError(
  { database }: SessionContext,
  { organizationId }: Access,
  role: Role,
): Promise<AppError> {
  const counts = await findMemberCounts(database, organizationId);
  const owners = counts.find((one) => one.role === "OWNER")?.members ?? 0;
  return role === "OWNER" && owners === 1
    ? new AppError("last_owner", "An organization needs an owner. Make someone else an owner first.")
    : unavailableError("Someone else just changed the members. Try again.");
}

function toMember(row: MemberRow, access: Access): Member {
  const isOwn = access.role !== null && row.userId === access.actor.user.id;
  return {
    user: { id: row.userId, name: row.name, email: row.email },
    role: row.role,
    joinedAt: isoTime(row.joinedAt),
    twoStep: isOwn || may(access, "memberDetails.read") ? row.hasTotp === 1 : null,
    activeApiKeys: row.apiKeys,
  };
}
