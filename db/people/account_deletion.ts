// All SQL of deleting an account: the condition under which it may be deleted, and everything that is deleted with it.
import { revokeApiKeysCreatedBy } from "../keys/mod.ts";
import { type Audited, ifAudited, isSuspended } from "../access/mod.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { revokeInvitationsSentBy } from "./invitations.ts";

/** The memberships of others in the organization of `m`, another membership. */
const others =
  sql`SELECT 1 FROM memberships n WHERE n.organization_id = m.organization_id AND n.user_id <> m.user_id`;
const isOnlyMember = sql`NOT EXISTS (${others})`;
const isOnlyOwner = sql`m.role = 'OWNER' AND NOT EXISTS (${others} AND n.role = 'OWNER')`;

/** Returns the organizations of which a user is the only member or, of several (`hasOthers`), the only owner, by name. */
export function findDependentOrganizations(database: DatabaseReader, userId: string) {
  return database.read<{ name: string; hasOthers: number; suspended: number }>(sql`
    SELECT o.name, NOT ${isOnlyMember} AS hasOthers, ${isSuspended} AS suspended
    FROM memberships m JOIN organizations o ON o.id = m.organization_id
    WHERE m.user_id = ${userId} AND (${isOnlyMember} OR (${isOnlyOwner}))
    ORDER BY o.name COLLATE NOCASE, o.id`);
}

/**
 * Disables a user unless they are the only OWNER of an organization with other members or the only member of a suspended one,
 * or what the caller knows is outdated. The audit entry, and everything after it, depends on this change.
 *
 * @param known `organizationIds`: of all the user's organizations; `endingCount`: how many of them have no other members.
 */
export function markAccountDeletable(
  userId: string,
  known: { now: number; organizationIds: readonly string[]; endingCount: number },
) {
  const ofUser = sql`FROM memberships m WHERE m.user_id = ${userId}`;
  return sql`
    UPDATE users SET disabled_at = ${known.now} WHERE id = ${userId}
      AND NOT EXISTS (SELECT 1 ${ofUser} AND NOT ${isOnlyMember} AND ${isOnlyOwner})
      AND (SELECT count(*) ${ofUser} AND ${isOnlyMember}) = ${known.endingCount}
      AND NOT EXISTS (SELECT 1 FROM memberships m JOIN organizations o ON o.id = m.organization_id
        WHERE m.user_id = ${userId} AND ${isOnlyMember} AND ${isSuspended})
      AND NOT EXISTS (SELECT 1 ${ofUser}
        AND m.organization_id NOT IN (SELECT value FROM json_each(${
    JSON.stringify(known.organizationIds)
  })))`;
}

/** Ends one membership of a deleted account, so that the organization's audit log can show it. */
export function deleteMembershipWithAccount(
  { userId, organizationId }: { userId: string; organizationId: string },
  audited: string,
) {
  return sql`DELETE FROM memberships
    WHERE user_id = ${userId} AND organization_id = ${organizationId} AND ${ifAudited(audited)}`;
}

/** Revokes a deleted account's keys and invitations, and deletes everything else of it. */
export function deleteAccountTraces(userId: string, options: Audited): Statement[] {
  const ifDeleted = ifAudited(options.audited);
  return [
    ...revokeApiKeysCreatedBy(userId, options),
    sql`UPDATE api_keys SET created_by = NULL WHERE created_by = ${userId} AND ${ifDeleted}`,
    revokeInvitationsSentBy(userId, options),
    sql`DELETE FROM link_tokens WHERE subject = ${userId} AND ${ifDeleted}`,
    sql`DELETE FROM outbox WHERE subject = ${userId} AND ${ifDeleted}`,
    sql`DELETE FROM sessions WHERE user_id = ${userId} AND ${ifDeleted}`,
    sql`DELETE FROM memberships WHERE user_id = ${userId} AND ${ifDeleted}`,
    sql`DELETE FROM users WHERE id = ${userId} AND ${ifDeleted}`,
  ];
}
