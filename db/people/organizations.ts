// All SQL of organizations. A deleted one disappears immediately; its usage data is deleted in the background.
import type { OrganizationStatus } from "../../domain/console/organization.ts";
import { membershipsPerUserMax } from "../../domain/limits.ts";
import { type Audited, ifAudited, isOrganization } from "../access/mod.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { insertChangeEvent, markWebhooksDeleted } from "../outbox/mod.ts";
import { endCompanySignIn } from "./identity_providers.ts";

/** An organization as one of its members sees it. */
export interface OrganizationRow {
  readonly id: string;
  readonly name: string;
  readonly role: "OWNER" | "ADMIN" | "MEMBER";
  readonly createdAt: number;
  readonly members: number;
}

/** Inserts an organization if its owner exists and can belong to another one. */
export function insertOrganization(
  { id, name, userId, now }: { id: string; name: string; userId: string; now: number },
) {
  return sql`
    INSERT INTO organizations (id, name, created_at)
    SELECT ${id}, ${name}, ${now} WHERE EXISTS (SELECT 1 FROM users WHERE id = ${userId})
      AND (SELECT count(*) FROM memberships WHERE user_id = ${userId}) < ${membershipsPerUserMax}`;
}

const selectOrganizations = (userId: string): Statement =>
  sql`
  SELECT o.id, o.name, m.role, o.created_at AS createdAt,
    (SELECT count(*) FROM memberships n WHERE n.organization_id = o.id) AS members
  FROM memberships m JOIN organizations o ON o.id = m.organization_id WHERE m.user_id = ${userId}`;

/** Finds a user's organizations by name, each with their role. */
export function findOrganizations(database: DatabaseReader, userId: string): Promise<OrganizationRow[]> {
  return database.read(sql`${selectOrganizations(userId)} ORDER BY o.name COLLATE NOCASE, o.id`);
}

/** Reads one organization of a user as an {@linkcode OrganizationRow}; no row if they are not a member. */
export const selectOrganization = (userId: string, organizationId: string): Statement =>
  sql`${selectOrganizations(userId)} AND o.id = ${organizationId}`;

/** Renames an organization that is still called `from`. */
export function updateOrganizationName({ id, from, to }: { id: string; from: string; to: string }) {
  return sql`UPDATE organizations SET name = ${to} WHERE id = ${id} AND name = ${from}`;
}

/** Marks an organization as deleted. @param name If given, it must have this name. */
export function markOrganizationDeleted({ id, name, now }: { id: string; name?: string; now: number }) {
  const hasName = name === undefined ? sql`true` : sql`name = ${name}`;
  return sql`UPDATE organizations SET deleted_at = ${now}, plan = NULL WHERE id = ${id} AND ${hasName} AND deleted_at IS NULL`;
}

/** Marks an organization as deleted after an audited change, if this user is its only member. */
export function markOwnOrganizationDeleted({ id, now, audited }: Audited & { id: string }, userId: string) {
  const members = sql`SELECT 1 FROM memberships WHERE organization_id = ${id}`;
  return sql`UPDATE organizations SET deleted_at = ${now}, plan = NULL WHERE id = ${id} AND deleted_at IS NULL
    AND NOT EXISTS (${members} AND user_id <> ${userId}) AND EXISTS (${members} AND user_id = ${userId})
    AND ${ifAudited(audited)}`;
}

/**
 * Ends everything that could still act in a deleted organization: memberships, keys, invitations and their links, webhook
 * endpoints, and its provider and domains. Members' sessions have no active organization from then on. The deletion is an event.
 */
export function endOrganizationAccess(id: string, { now, audited }: Audited): Statement[] {
  const ofOrganization = sql`organization_id = ${id} AND ${ifAudited(audited)}`;
  const isInvitation = sql`IN (SELECT id FROM invitations WHERE ${ofOrganization})`;
  return [
    insertChangeEvent("organization.deleted", { now, audited }),
    sql`UPDATE api_keys SET revoked_at = coalesce(revoked_at, ${now}), last_request_at = NULL,
        last_request_network = NULL, last_request_agent = NULL, last_request_status = NULL, last_request_error = NULL,
        addresses = NULL, external_id = NULL, metadata = '{}'
      WHERE (revoked_at IS NULL OR last_request_at IS NOT NULL OR addresses IS NOT NULL OR external_id IS NOT NULL
        OR metadata <> '{}') AND ${ofOrganization}`,
    sql`UPDATE users SET last_organization_id = NULL
      WHERE last_organization_id = ${id} AND id IN (SELECT user_id FROM memberships WHERE ${ofOrganization})`,
    sql`DELETE FROM memberships WHERE ${ofOrganization}`,
    sql`DELETE FROM link_tokens WHERE purpose = 'invitation' AND subject ${isInvitation}`,
    sql`DELETE FROM outbox WHERE subject ${isInvitation}`,
    sql`DELETE FROM invitations WHERE ${ofOrganization}`,
    markWebhooksDeleted(sql`${id}`, { now, audited }),
    ...endCompanySignIn(sql`${id}`, { audited }),
  ];
}

/** Suspends or resumes an organization. Changes nothing if it is in that state already. */
export function updateStatus(id: string, { status, now }: { status: OrganizationStatus; now: number }) {
  return status === "suspended"
    ? sql`UPDATE organizations SET suspended_at = ${now} WHERE ${isOrganization(id)} AND suspended_at IS NULL`
    : sql`UPDATE organizations SET suspended_at = NULL WHERE ${
      isOrganization(id)
    } AND suspended_at IS NOT NULL`;
}
