// All SQL of organizations. Deleting one takes it from sight at once; what it recorded is deleted in the background.
import { ifAudited } from "../audit.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

/** What making an organization writes. */
export interface NewOrganization {
  readonly id: string;
  readonly name: string;
  readonly now: number;
}

/** An organization as one of its members sees it. */
export interface OrganizationRow {
  readonly id: string;
  readonly name: string;
  readonly role: "OWNER" | "ADMIN" | "MEMBER";
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly members: number;
}

/** @returns A statement that inserts an organization for a user who exists and belongs to fewer than `membershipsMax`. */
export function insertOrganization(
  organization: NewOrganization,
  owner: { userId: string; membershipsMax: number },
): Statement {
  return sql`INSERT INTO organizations (id, name, created_at)
     SELECT ${organization.id}, ${organization.name}, ${organization.now} WHERE EXISTS (SELECT 1 FROM users WHERE id = ${owner.userId})
       AND (SELECT count(*) FROM memberships WHERE user_id = ${owner.userId}) < ${owner.membershipsMax}`;
}

const columns = `o.id, o.name, m.role, o.created_at AS createdAt,
  (SELECT count(*) FROM memberships n WHERE n.organization_id = o.id) AS members
  FROM memberships m JOIN organizations o ON o.id = m.organization_id WHERE m.user_id = ?`;

/** @returns A user's organizations by name, each with their role. @throws {DatabaseError} */
export function listOrganizations(database: DatabaseReader, userId: string): Promise<OrganizationRow[]> {
  return database.read(sql(`SELECT ${columns} ORDER BY o.name COLLATE NOCASE, o.id`, userId));
}

/** @returns One organization of a user, or undefined when they do not belong to it. @throws {DatabaseError} */
export function findOrganization(
  database: DatabaseReader,
  userId: string,
  organizationId: string,
): Promise<OrganizationRow | undefined> {
  return database.readFirst(sql(`SELECT ${columns} AND o.id = ?`, userId, organizationId));
}

/** @returns A statement that renames an organization that is still called `from`. */
export function updateOrganizationName(organization: { id: string; from: string; to: string }): Statement {
  return sql`UPDATE organizations SET name = ${organization.to} WHERE id = ${organization.id} AND name = ${organization.from}`;
}

/** @returns A statement that marks an organization of this name as deleted. */
export function markOrganizationDeleted(organization: { id: string; name: string; now: number }): Statement {
  return sql`UPDATE organizations SET deleted_at = ${organization.now} WHERE id = ${organization.id} AND name = ${organization.name} AND deleted_at IS NULL`;
}

/** @returns A statement that marks an organization as deleted whose only member is this user, after an audited change. */
export function markOwnOrganizationDeleted(
  organization: { id: string; now: number; audited: string },
  userId: string,
): Statement {
  return sql(
    `UPDATE organizations SET deleted_at = ?1 WHERE id = ?2 AND deleted_at IS NULL
       AND NOT EXISTS (SELECT 1 FROM memberships WHERE organization_id = ?2 AND user_id <> ?3)
       AND EXISTS (SELECT 1 FROM memberships WHERE organization_id = ?2 AND user_id = ?3)
       AND ${ifAudited.replace("?", "?4")}`,
    organization.now,
    organization.id,
    userId,
    organization.audited,
  );
}

/**
 * @param options `audited`: the id of the entry about the deletion.
 * @returns Statements that end everything that could still act in a deleted organization: memberships, sessions that have it
 *   active, keys, invitations and their links.
 */
export function endOrganization(
  organizationId: string,
  options: { now: number; audited: string },
): Statement[] {
  const { now, audited } = options;
  const invited = "SELECT id FROM invitations WHERE organization_id = ?";
  return [
    sql(
      `UPDATE api_keys SET revoked_at = ? WHERE organization_id = ? AND revoked_at IS NULL AND ${ifAudited}`,
      now,
      organizationId,
      audited,
    ),
    sql(
      `UPDATE sessions SET organization_id = NULL WHERE organization_id = ? AND ${ifAudited}`,
      organizationId,
      audited,
    ),
    sql(
      `UPDATE users SET last_organization_id = NULL WHERE last_organization_id = ?1
         AND id IN (SELECT user_id FROM memberships WHERE organization_id = ?1) AND ${
        ifAudited.replace("?", "?2")
      }`,
      organizationId,
      audited,
    ),
    sql(`DELETE FROM memberships WHERE organization_id = ? AND ${ifAudited}`, organizationId, audited),
    sql(
      `DELETE FROM link_tokens WHERE purpose = 'invitation' AND subject IN (${invited}) AND ${ifAudited}`,
      organizationId,
      audited,
    ),
    sql(`DELETE FROM outbox WHERE subject IN (${invited}) AND ${ifAudited}`, organizationId, audited),
    sql(`DELETE FROM invitations WHERE organization_id = ? AND ${ifAudited}`, organizationId, audited),
  ];
}

/** @returns The id of an organization whose usage is still to be deleted, or undefined. @throws {DatabaseError} */
export function findDeletedOrganization(database: DatabaseReader): Promise<{ id: string } | undefined> {
  return database.readFirst(sql`SELECT id FROM organizations WHERE deleted_at IS NOT NULL LIMIT 1`);
}
