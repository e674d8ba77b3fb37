// All SQL of an account's end: the condition under which it may end, and everything that goes with it.
import { revokeApiKeysMadeBy } from "../api_keys.ts";
import { ifAudited } from "../audit.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { revokeInvitationsMadeBy } from "../organization/invitations.ts";

/** An organization that stands in the way of an account's end, or ends with it. */
export interface DependentOrganization {
  readonly name: string;
  /** Whether others belong to it; then the user is its last OWNER. */
  readonly hasOthers: number;
}

/** Memberships of others in the organization of `m`. */
const othersThan = (user: "?1" | "?2") =>
  `SELECT 1 FROM memberships o WHERE o.organization_id = m.organization_id AND o.user_id <> ${user}`;
const listEnds = `SELECT g.name, EXISTS (${othersThan("?1")}) AS hasOthers
  FROM memberships m JOIN organizations g ON g.id = m.organization_id
  WHERE m.user_id = ?1 AND (NOT EXISTS (${othersThan("?1")})
    OR (m.role = 'OWNER' AND NOT EXISTS (${othersThan("?1")} AND o.role = 'OWNER')))
  ORDER BY g.name COLLATE NOCASE, g.id`;

/** @returns By name, the organizations in which a user is alone, or the last OWNER. @throws {DatabaseError} */
export function listDependentOrganizations(
  database: DatabaseReader,
  userId: string,
): Promise<DependentOrganization[]> {
  return database.read(sql(listEnds, userId));
}

/**
 * @param options `organizationIds`: of all that the user belongs to; `endingCount`: in how many of them nobody else is, which
 *   end with the account.
 * @returns A statement that disables a user, unless they are the last OWNER of an organization with other members, or what the
 *   caller knows of their organizations is not right any more. Its change is what the audit entry, and everything after it, depends on.
 */
export function markAccountDeletable(
  userId: string,
  { now, organizationIds, endingCount }: {
    now: number;
    organizationIds: readonly string[];
    endingCount: number;
  },
): Statement {
  const others = othersThan("?2");
  return sql(
    `UPDATE users SET disabled_at = ?1 WHERE id = ?2
       AND NOT EXISTS (SELECT 1 FROM memberships m WHERE m.user_id = ?2 AND m.role = 'OWNER'
         AND EXISTS (${others}) AND NOT EXISTS (${others} AND o.role = 'OWNER'))
       AND (SELECT count(*) FROM memberships m WHERE m.user_id = ?2 AND NOT EXISTS (${others})) = ?3
       AND NOT EXISTS (SELECT 1 FROM memberships m WHERE m.user_id = ?2
         AND m.organization_id NOT IN (SELECT value FROM json_each(?4)))`,
    now,
    userId,
    endingCount,
    JSON.stringify(organizationIds),
  );
}

/** @returns A statement that ends one membership of an account that goes, so that its organization's log can say so. */
export function deleteMembershipWithAccount(
  { userId, organizationId }: { userId: string; organizationId: string },
  audited: string,
): Statement {
  return sql`DELETE FROM memberships
    WHERE user_id = ${userId} AND organization_id = ${organizationId} AND ${ifAudited(audited)}`;
}

/**
 * @param options `audited`: the id of the entry about the deletion.
 * @returns Statements that end what an account has, and then the account. Its keys are revoked and name nobody any more.
 */
export function deleteAccountTraces(
  userId: string,
  options: { now: number; audited: string },
): Statement[] {
  const ifDeleted = ifAudited(options.audited);
  return [
    revokeApiKeysMadeBy(userId, options),
    sql`UPDATE api_keys SET created_by = NULL WHERE created_by = ${userId} AND ${ifDeleted}`,
    revokeInvitationsMadeBy(userId, options),
    sql`DELETE FROM link_tokens WHERE subject = ${userId} AND ${ifDeleted}`,
    sql`DELETE FROM outbox WHERE subject = ${userId} AND ${ifDeleted}`,
    sql`DELETE FROM sessions WHERE user_id = ${userId} AND ${ifDeleted}`,
    sql`DELETE FROM memberships WHERE user_id = ${userId} AND ${ifDeleted}`,
    sql`DELETE FROM users WHERE id = ${userId} AND ${ifDeleted}`,
  ];
}
