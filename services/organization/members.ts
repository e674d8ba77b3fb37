// Members of an organization: list them, change their roles, remove them. Every organization keeps an owner.
import { endInvitationsBy } from "../../db/organization/invitations.ts";
import {
  deleteMembership,
  endMemberAccess,
  findMember,
  findMemberCounts,
  findMembers,
  findOwners,
  type MemberRow,
  type MembershipKey,
  updateMemberRole,
} from "../../db/organization/memberships.ts";
import type { OperatorActor, SessionActor } from "../../domain/actor.ts";
import { AppError, notFoundError, unavailableError, validationError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import { ownersShownMax } from "../../domain/limits.ts";
import { isoTime } from "../../domain/time.ts";
import type { Member } from "../../domain/organization.ts";
import { hasPermission } from "../../domain/permissions.ts";
import type { Role } from "../../domain/sign_in/session.ts";
import { writeChange } from "../change.ts";
import type { SessionContext } from "../context.ts";
import { type PageInput, readPage, requireIdCursor } from "../pages.ts";
import { requireRecentAuthentication } from "../sign_in/recent_authentication.ts";
import { requireMembership } from "./membership.ts";

/** Lists members by the age of their accounts. @throws {AppError} `not_found`, `validation_failed`. */
export async function listMembers(
  context: SessionContext,
  actor: SessionActor,
  input: PageInput & { organizationId: string },
): Promise<{ members: Member[]; nextCursor: string | null }> {
  requireMembership(actor, { ...input, permission: "members.read" });
  return await readMemberPage(context, actor, input);
}

/** The same for someone who may see the members. @throws {AppError} `validation_failed`. */
export async function readMemberPage(
  { database, clock }: SessionContext,
  actor: SessionActor | OperatorActor,
  { organizationId, limit, cursor }: PageInput & { organizationId: string },
): Promise<{ members: Member[]; nextCursor: string | null }> {
  requireIdCursor(cursor, "usr");
  const { rows, nextCursor } = await readPage(
    (limit) => findMembers(database, organizationId, { now: clock(), limit, after: cursor }),
    { limit, cursorOf: ({ userId }) => userId },
  );
  return { members: rows.map((row) => toMember(row, { actor, organizationId })), nextCursor };
}

/** Counts the members of each role. @throws {AppError} `not_found`. */
export async function countMembers(context: SessionContext, actor: SessionActor, organizationId: string) {
  requireMembership(actor, { organizationId, permission: "members.read" });
  const counts = { OWNER: 0, ADMIN: 0, MEMBER: 0 };
  for (const { role, members } of await findMemberCounts(context.database, organizationId)) {
    counts[role] = members;
  }
  return counts;
}

/** Lists some of the owners, who can change roles. @throws {AppError} `not_found`. */
export async function listOwners(
  { database }: SessionContext,
  actor: SessionActor,
  organizationId: string,
): Promise<{ name: string; email: string }[]> {
  requireMembership(actor, { organizationId, permission: "members.read" });
  return await findOwners(database, organizationId, { limit: ownersShownMax });
}

/** @throws {AppError} `not_found`. */
export async function getMember(context: SessionContext, actor: SessionActor, key: MembershipKey) {
  requireMembership(actor, { organizationId: key.organizationId, permission: "members.read" });
  return toMember(await findRow(context, key), { ...key, actor });
}

/**
 * Gives a member another role. Making someone an owner requires recent authentication: the new owner can do everything,
 * including ending the actor's own ownership.
 *
 * @throws {AppError} `not_found`, `forbidden`, `proof_required`, `last_owner`.
 */
export async function changeMemberRole(
  context: SessionContext,
  actor: SessionActor,
  { role, ...key }: MembershipKey & { role: Role },
): Promise<Member> {
  const { organizationId, userId } = key;
  const permit = requireMembership(actor, { organizationId, permission: "owners.manage" });
  const before = await findRow(context, key);
  if (before.role === role) return toMember(before, { actor, organizationId });
  const now = context.clock();
  if (role === "OWNER") requireRecentAuthentication(actor, now);
  const target = { id: userId, name: before.name };
  const details = { from: before.role, to: role };
  const isChanged = await writeChange(context, permit, {
    statement: updateMemberRole(key, details),
    entry: { action: "member.role_changed", organizationId, target, details },
    after: ({ audited }) => [endInvitationsBy({ ...key, now }, audited)],
  });
  if (isChanged) return toMember({ ...before, role }, { actor, organizationId });
  const present = await findRow(context, key);
  // An identical change was made at the same time.
  if (present.role === role) return toMember(present, { actor, organizationId });
  throw await whyUnchanged(context, { organizationId, role: present.role });
}

/**
 * Removes a member, or lets the actor leave. The keys that the member created here are revoked or handed to the actor.
 *
 * @throws {AppError} `not_found`, `forbidden`, `last_owner`, `validation_failed` for keeping the keys when leaving.
 */
export async function removeMember(
  context: SessionContext,
  actor: SessionActor,
  { keepKeys, ...key }: MembershipKey & { keepKeys: boolean },
): Promise<void> {
  const { organizationId, userId } = key;
  const isOwn = userId === actor.user.id;
  const permission = isOwn ? "members.leave" : "members.manage";
  const membership = requireMembership(actor, { organizationId, permission });
  if (isOwn && keepKeys) {
    throw validationError([{ path: "keys", message: "can only be “keep” when you remove someone else." }]);
  }
  const { name, role } = await findRow(context, key);
  const permit = isOwn || role !== "OWNER"
    ? membership
    : requireMembership(actor, { organizationId, permission: "owners.manage" });
  const isRemoved = await writeChange(context, permit, {
    statement: deleteMembership(key, role),
    entry: {
      action: isOwn ? "member.left" : "member.removed",
      organizationId,
      target: { id: userId, name },
      details: { role, keys: keepKeys ? "handed over" : "revoked" },
    },
    after: ({ now, audited }) => [
      ...endMemberAccess(key, { now, audited, handTo: keepKeys ? actor.user.id : undefined }),
      endInvitationsBy({ ...key, now }, audited),
    ],
  });
  if (isRemoved) return;
  throw await whyUnchanged(context, { organizationId, role: (await findRow(context, key)).role });
}

async function findRow(context: SessionContext, { organizationId, userId }: MembershipKey) {
  const row = isId("usr", userId)
    ? await findMember(context.database, organizationId, { userId, now: context.clock() })
    : undefined;
  if (row === undefined) throw notFoundError();
  return row;
}

/** @returns The error for a member who was not changed: they are the last owner, or someone else just changed them. */
async function whyUnchanged(
  { database }: SessionContext,
  { organizationId, role }: { organizationId: string; role: Role },
): Promise<AppError> {
  const counts = await findMemberCounts(database, organizationId);
  const owners = counts.find((one) => one.role === "OWNER")?.members ?? 0;
  return role === "OWNER" && owners === 1
    ? new AppError("last_owner", "An organization needs an owner. Make someone else an owner first.")
    : unavailableError("Someone else just changed the members. Try again.");
}

function toMember(
  row: MemberRow,
  { actor, organizationId }: { actor: SessionActor | OperatorActor; organizationId: string },
): Member {
  const seesTwoStep = actor.type === "operator" || row.userId === actor.user.id ||
    hasPermission(roleIn(actor, organizationId), "members.manage");
  return {
    user: { id: row.userId, name: row.name, email: row.email },
    role: row.role,
    joinedAt: isoTime(row.joinedAt),
    twoStep: seesTwoStep ? row.hasTotp === 1 : null,
    activeApiKeys: row.apiKeys,
  };
}

function roleIn({ memberships }: SessionActor, organizationId: string): Role {
  return memberships.find((one) => one.organizationId === organizationId)?.role ?? "MEMBER";
}
