// All SQL of memberships, also of those that people get by signing in with an organization's own provider.
import type { Role } from "../../domain/access/session.ts";
import { membershipsPerUserMax, ownersShownMax } from "../../domain/limits.ts";
import type { CompanyRole } from "../../domain/people/company_sign_in.ts";
import type { IdentityProvider } from "../../domain/people/identity_provider.ts";
import { revokeApiKeysAfter } from "../keys/mod.ts";
import {
  activeApiKey,
  type Audited,
  effectiveNumber,
  hasRoomForMember,
  hasTwoStep,
  ifAudited,
  isSuspended,
} from "../access/mod.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

/** A member as the other members see them. */
export interface MemberRow {
  readonly userId: string;
  readonly name: string;
  readonly email: string;
  readonly role: Role;
  readonly joinedAt: number;
  readonly hasTotp: number;
  /** Active API keys that they created in the organization. */
  readonly apiKeys: number;
}

interface MembershipKey {
  readonly organizationId: string;
  readonly userId: string;
}

/** Adds a member after an audited change, unless they already are one. */
export function insertMembership(
  membership: { userId: string; organizationId: string; role: Role; now: number },
  audited: string,
) {
  const { userId, organizationId, role, now } = membership;
  return sql`
    INSERT INTO memberships (user_id, organization_id, role, created_at)
    SELECT ${userId}, ${organizationId}, ${role}, ${now} WHERE ${ifAudited(audited)}
    ON CONFLICT (user_id, organization_id) DO NOTHING`;
}

const selectMembers = (organizationId: string, now: number): Statement =>
  sql`
  SELECT u.id AS userId, u.name, u.email, m.role, m.created_at AS joinedAt,
    ${hasTwoStep} AS hasTotp,
    (SELECT count(*) FROM api_keys k WHERE k.created_by = u.id AND k.organization_id = m.organization_id
      AND ${activeApiKey(now)}) AS apiKeys
  FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.organization_id = ${organizationId}`;

/** Finds members by the age of their accounts, from after the user `after`. */
export function findMembers(
  database: DatabaseReader,
  organizationId: string,
  { now, limit, after = null }: { now: number; limit: number; after?: string | null | undefined },
): Promise<MemberRow[]> {
  return database.read(sql`${selectMembers(organizationId, now)}
    AND (${after} IS NULL OR u.id > ${after}) ORDER BY u.id LIMIT ${limit}`);
}

export function findMember(
  database: DatabaseReader,
  organizationId: string,
  { userId, now }: { userId: string; now: number },
): Promise<MemberRow | undefined> {
  return database.readFirst(sql`${selectMembers(organizationId, now)} AND u.id = ${userId}`);
}

export function findMemberCounts(database: DatabaseReader, organizationId: string) {
  return database.read<{ role: Role; members: number }>(sql`
    SELECT role, count(*) AS members FROM memberships WHERE organization_id = ${organizationId} GROUP BY role`);
}

/** Finds the first owners who can sign in, by the age of their accounts. */
export function findOwners(database: DatabaseReader, organizationId: string) {
  return database.read<{ name: string; email: string }>(sql`
    SELECT u.name, u.email FROM memberships m JOIN users u ON u.id = m.user_id
    WHERE m.organization_id = ${organizationId} AND m.role = 'OWNER' AND u.disabled_at IS NULL
    ORDER BY u.id LIMIT ${ownersShownMax}`);
}

const isMembership = ({ organizationId, userId }: MembershipKey): Statement =>
  sql`organization_id = ${organizationId} AND user_id = ${userId}`;

/** A condition: the organization has another owner. */
const hasOtherOwner = ({ organizationId, userId }: MembershipKey): Statement =>
  sql`EXISTS (SELECT 1 FROM memberships o
    WHERE o.organization_id = ${organizationId} AND o.user_id <> ${userId} AND o.role = 'OWNER')`;

/**
 * Gives a member another role, unless their role is no longer `from` or they are the last owner. If two owners demote each
 * other at the same time, only the first statement changes anything.
 */
export function updateMemberRole(member: MembershipKey, { from, to }: { from: Role; to: Role }) {
  return sql`UPDATE memberships SET role = ${to}
    WHERE ${isMembership(member)} AND role = ${from} AND (role <> 'OWNER' OR ${hasOtherOwner(member)})`;
}

/** Makes an owner an admin after the audited transfer of their ownership. */
export function demoteOwner(member: MembershipKey, audited: string) {
  return sql`UPDATE memberships SET role = 'ADMIN'
    WHERE ${isMembership(member)} AND role = 'OWNER' AND ${hasOtherOwner(member)} AND ${ifAudited(audited)}`;
}

export function promoteToOwner(member: MembershipKey) {
  return sql`UPDATE memberships SET role = 'OWNER' WHERE ${isMembership(member)}`;
}

/** Removes a member, unless their role is no longer the given one or they are the last owner. */
export function deleteMembership(member: MembershipKey, role: Role) {
  return sql`DELETE FROM memberships
    WHERE ${isMembership(member)} AND role = ${role} AND (role <> 'OWNER' OR ${hasOtherOwner(member)})`;
}

/** Ends a former member's access after the audited removal, and revokes their keys unless `handTo` gets them. */
export function endMemberAccess(member: MembershipKey, options: Audited & { handTo?: string | undefined }) {
  const { audited, handTo } = options;
  const { organizationId, userId } = member;
  const isTheirs = sql`k.organization_id = ${organizationId} AND k.created_by = ${userId}`;
  return [
    // Revoked keys keep their creator.
    ...(handTo === undefined ? revokeApiKeysAfter(isTheirs, options) : [
      sql`UPDATE api_keys AS k SET created_by = ${handTo}
        WHERE ${isTheirs} AND k.revoked_at IS NULL AND ${ifAudited(audited)}`,
    ]),
    sql`UPDATE sessions SET organization_id = NULL WHERE ${isMembership(member)} AND ${ifAudited(audited)}`,
  ];
}

/** A condition: the organization accepts members. */
export const isCompanyJoinable = (organizationId: string): Statement =>
  sql`EXISTS (SELECT 1 FROM organizations o WHERE o.id = ${organizationId} AND o.deleted_at IS NULL
    AND NOT (${isSuspended}) AND ${hasRoomForMember})`;

/** Makes a user `u` a member if the condition holds, the organization accepts members, and they aren't in too many. */
export function insertCompanyMembership(
  { userId, organizationId, role, now }: {
    userId: string;
    organizationId: string;
    role: CompanyRole;
    now: number;
  },
  condition: Statement,
): Statement {
  return sql`
    INSERT INTO memberships (user_id, organization_id, role, created_at)
    SELECT u.id, ${organizationId}, ${role}, ${now} FROM users u
    WHERE u.id = ${userId} AND u.disabled_at IS NULL AND ${condition} AND ${isCompanyJoinable(organizationId)}
      AND (SELECT count(*) FROM memberships n WHERE n.user_id = u.id) < ${membershipsPerUserMax}
    ON CONFLICT (user_id, organization_id) DO NOTHING`;
}

export interface CompanyRoom extends Readonly<Record<"isMember" | "suspended" | "hasRoom", 0 | 1>> {
  readonly membersMax: number;
  /** Of the user, in all organizations. */
  readonly memberships: number;
}

/** Finds what can keep someone from joining the organization whose own provider it is; nothing for a provider of the service. */
export async function findCompanyRoom(
  database: DatabaseReader,
  { organizationId }: Pick<IdentityProvider, "organizationId">,
  userId: string,
): Promise<CompanyRoom | undefined> {
  if (organizationId === null) return undefined;
  return await database.readFirst(sql`
    SELECT EXISTS (SELECT 1 FROM memberships m WHERE m.organization_id = o.id AND m.user_id = ${userId}) AS isMember,
      ${isSuspended} AS suspended, ${hasRoomForMember} AS hasRoom, ${
    effectiveNumber("membersMax")
  } AS membersMax,
      (SELECT count(*) FROM memberships n WHERE n.user_id = ${userId}) AS memberships
    FROM organizations o WHERE o.id = ${organizationId} AND o.deleted_at IS NULL`);
}
