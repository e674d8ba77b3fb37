// All SQL of memberships.
import type { Role } from "../../domain/sign_in/session.ts";
import { ifAudited } from "../audit.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

/** A member as the others see them. Times in milliseconds since 1970. */
export interface MemberRow {
  readonly userId: string;
  readonly name: string;
  readonly email: string;
  readonly role: Role;
  readonly joinedAt: number;
  readonly hasTotp: number;
  /** Active API keys that they made here. */
  readonly apiKeys: number;
}

/** Which membership. */
export interface MembershipKey {
  readonly organizationId: string;
  readonly userId: string;
}

/** @returns A statement that makes a user a member, after an audited change; one who is a member already stays as they are. */
export function insertMembership(
  membership: { userId: string; organizationId: string; role: Role; now: number },
  audited: string,
): Statement {
  return sql(
    `INSERT INTO memberships (user_id, organization_id, role, created_at) SELECT ?, ?, ?, ? WHERE ${ifAudited}
     ON CONFLICT (user_id, organization_id) DO NOTHING`,
    membership.userId,
    membership.organizationId,
    membership.role,
    membership.now,
    audited,
  );
}

const columns = `u.id AS userId, u.name, u.email, m.role, m.created_at AS joinedAt,
    EXISTS (SELECT 1 FROM totp t WHERE t.user_id = u.id AND t.confirmed_at IS NOT NULL) AS hasTotp,
    (SELECT count(*) FROM api_keys k WHERE k.created_by = u.id AND k.organization_id = m.organization_id
       AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?1)) AS apiKeys
  FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.organization_id = ?2`;

/** @returns Members in the order of their accounts, from after the user `after`. @throws {DatabaseError} */
export function listMembers(
  database: DatabaseReader,
  organizationId: string,
  page: { now: number; limit: number; after?: string | undefined },
): Promise<MemberRow[]> {
  return database.read(sql(
    `SELECT ${columns} AND (?3 IS NULL OR u.id > ?3) ORDER BY u.id LIMIT ?4`,
    page.now,
    organizationId,
    page.after ?? null,
    page.limit,
  ));
}

/** @returns One member, or undefined. @throws {DatabaseError} */
export function findMember(
  database: DatabaseReader,
  organizationId: string,
  { userId, now }: { userId: string; now: number },
): Promise<MemberRow | undefined> {
  return database.readFirst(sql(`SELECT ${columns} AND u.id = ?3`, now, organizationId, userId));
}

/** @returns How many members there are of each role. @throws {DatabaseError} */
export function countMembers(
  database: DatabaseReader,
  organizationId: string,
): Promise<{ role: Role; members: number }[]> {
  return database.read(
    sql`SELECT role, count(*) AS members FROM memberships WHERE organization_id = ${organizationId} GROUP BY role`,
  );
}

/** @returns The names of the OWNERs who can sign in, in the order of their accounts. @throws {DatabaseError} */
export function listOwners(
  database: DatabaseReader,
  organizationId: string,
  { limit }: { limit: number },
): Promise<{ name: string; email: string }[]> {
  return database.read(sql`SELECT u.name, u.email FROM memberships m JOIN users u ON u.id = m.user_id
     WHERE m.organization_id = ${organizationId} AND m.role = 'OWNER' AND u.disabled_at IS NULL ORDER BY u.id LIMIT ${limit}`);
}

/** A condition: another OWNER than the one changed stays. Takes the organization's id and the user's. */
const anotherOwner = `EXISTS (SELECT 1 FROM memberships o WHERE o.organization_id = ? AND o.user_id <> ?
  AND o.role = 'OWNER')`;

/**
 * @returns A statement that gives a member another role, unless their role is no longer `from` or they are the last OWNER. Of two
 *   OWNERs who demote each other at the same moment, the second one changes nothing.
 */
export function updateMemberRole(
  { organizationId, userId }: MembershipKey,
  roles: { from: Role; to: Role },
): Statement {
  return sql(
    `UPDATE memberships SET role = ? WHERE organization_id = ? AND user_id = ? AND role = ?
       AND (role <> 'OWNER' OR ${anotherOwner})`,
    roles.to,
    organizationId,
    userId,
    roles.from,
    organizationId,
    userId,
  );
}

/** @returns A statement that makes an OWNER an ADMIN after an audited change: they handed the organization over. */
export function stepDownFromOwner(
  { organizationId, userId }: MembershipKey,
  audited: string,
): Statement {
  return sql(
    `UPDATE memberships SET role = 'ADMIN' WHERE organization_id = ? AND user_id = ? AND role = 'OWNER'
       AND ${anotherOwner} AND ${ifAudited}`,
    organizationId,
    userId,
    organizationId,
    userId,
    audited,
  );
}

/** @returns A statement that makes a member an OWNER. */
export function makeOwner({ organizationId, userId }: MembershipKey): Statement {
  return sql`UPDATE memberships SET role = 'OWNER' WHERE organization_id = ${organizationId} AND user_id = ${userId}`;
}

/** @returns A statement that ends a membership, unless its role is no longer the given one or it is the last OWNER's. */
export function deleteMembership({ organizationId, userId }: MembershipKey, role: Role): Statement {
  return sql(
    `DELETE FROM memberships WHERE organization_id = ? AND user_id = ? AND role = ?
       AND (role <> 'OWNER' OR ${anotherOwner})`,
    organizationId,
    userId,
    role,
    organizationId,
    userId,
  );
}

/**
 * @param options `handTo`: who gets the member's keys; left out, they are revoked.
 * @returns Statements that end a former member's traces in an organization, after the audited removal.
 */
export function endMember(
  { organizationId, userId }: MembershipKey,
  options: { now: number; audited: string; handTo?: string | undefined },
): Statement[] {
  const { now, audited, handTo } = options;
  return [
    handTo === undefined
      ? sql(
        `UPDATE api_keys SET revoked_at = ? WHERE organization_id = ? AND created_by = ? AND revoked_at IS NULL
           AND ${ifAudited}`,
        now,
        organizationId,
        userId,
        audited,
      )
      : sql(
        // Who made a key that is over is history.
        `UPDATE api_keys SET created_by = ? WHERE organization_id = ? AND created_by = ? AND revoked_at IS NULL
           AND ${ifAudited}`,
        handTo,
        organizationId,
        userId,
        audited,
      ),
    sql(
      `UPDATE sessions SET organization_id = NULL WHERE user_id = ? AND organization_id = ? AND ${ifAudited}`,
      userId,
      organizationId,
      audited,
    ),
  ];
}
