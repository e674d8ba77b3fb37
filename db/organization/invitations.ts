// All SQL of invitations. That an invitation is good once is a condition of the statement that accepts it.
import type { Role } from "../../domain/sign_in/session.ts";
import { ifAudited } from "../audit.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

/** An invitation as stored. Times in milliseconds since 1970. */
export interface InvitationRow {
  readonly id: string;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly email: string;
  readonly role: Role;
  readonly invitedById: string | null;
  readonly invitedByName: string | null;
  readonly createdAt: number;
  readonly sentAt: number;
  readonly expiresAt: number;
  readonly acceptedAt: number | null;
  readonly revokedAt: number | null;
}

/** What inviting writes. */
export interface NewInvitation {
  readonly id: string;
  readonly organizationId: string;
  /** Canonical. */
  readonly email: string;
  readonly role: Role;
  readonly invitedBy: string;
  readonly now: number;
  readonly expiresAt: number;
}

const columns =
  `i.id, i.organization_id AS organizationId, o.name AS organizationName, i.email, i.role, u.id AS invitedById,
    u.name AS invitedByName, i.created_at AS createdAt, i.sent_at AS sentAt, i.expires_at AS expiresAt,
    i.accepted_at AS acceptedAt, i.revoked_at AS revokedAt
  FROM invitations i JOIN organizations o ON o.id = i.organization_id AND o.deleted_at IS NULL
  LEFT JOIN users u ON u.id = i.invited_by`;
const isOpen = "accepted_at IS NULL AND revoked_at IS NULL";
/** Those of an organization that can be accepted now. */
const openCount = (organization: string, now: string) =>
  `SELECT count(*) FROM invitations WHERE organization_id = ${organization} AND ${isOpen} AND expires_at > ${now}`;

/** A condition: the actor may invite people with a role. Takes the organization's id, the actor's, and the role. */
const mayInvite = (organization: string, actor: string, role: string) =>
  `EXISTS (SELECT 1 FROM memberships a WHERE a.organization_id = ${organization} AND a.user_id = ${actor}
    AND (a.role = 'OWNER' OR (a.role = 'ADMIN' AND ${role} <> 'OWNER')))`;

/**
 * @param options `openMax`: with so many open invitations nothing is inserted.
 * @returns Statements that end one that is too old, and that insert a new one, unless the address belongs to a member or
 *   another invitation for it is open.
 */
export function insertInvitation(invitation: NewInvitation, options: { openMax: number }): Statement[] {
  const { organizationId, email, now } = invitation;
  return [
    sql(
      `UPDATE invitations SET revoked_at = ?1 WHERE organization_id = ?2 AND email = ?3 AND ${isOpen} AND expires_at <= ?1`,
      now,
      organizationId,
      email,
    ),
    sql(
      `INSERT INTO invitations (id, organization_id, email, role, invited_by, created_at, sent_at, expires_at)
       SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7
       WHERE NOT EXISTS (SELECT 1 FROM memberships m JOIN users u ON u.id = m.user_id
           WHERE m.organization_id = ?2 AND u.email = ?3)
         AND (${openCount("?2", "?6")}) < ?8
       ON CONFLICT DO NOTHING`,
      invitation.id,
      organizationId,
      email,
      invitation.role,
      invitation.invitedBy,
      now,
      invitation.expiresAt,
      options.openMax,
    ),
  ];
}

/** @returns Invitations newest first, from before the id `before`. @throws {DatabaseError} */
export function listInvitations(
  database: DatabaseReader,
  organizationId: string,
  page: { limit: number; before?: string | undefined; onlyOpen?: boolean; onlyEnded?: boolean },
): Promise<InvitationRow[]> {
  const isOpenHere = `(i.${isOpen.replace("AND ", "AND i.")})`;
  return database.read(sql(
    `SELECT ${columns} WHERE i.organization_id = ?1 AND (?2 IS NULL OR i.id < ?2)
       AND (?3 = 0 OR ${isOpenHere}) AND (?4 = 0 OR NOT ${isOpenHere}) ORDER BY i.id DESC LIMIT ?5`,
    organizationId,
    page.before ?? null,
    page.onlyOpen ? 1 : 0,
    page.onlyEnded ? 1 : 0,
    page.limit,
  ));
}

/** @returns One invitation of an organization, or undefined. @throws {DatabaseError} */
export function findInvitation(
  database: DatabaseReader,
  organizationId: string,
  id: string,
): Promise<InvitationRow | undefined> {
  return database.readFirst(sql(
    `SELECT ${columns} WHERE i.organization_id = ? AND i.id = ?`,
    organizationId,
    id,
  ));
}

/** @returns What stands in the way of an invitation: numbers of people, and of open invitations. @throws {DatabaseError} */
export async function findInvitationObstacles(
  database: DatabaseReader,
  { organizationId, email, now }: { organizationId: string; email: string; now: number },
): Promise<{ invited: number; members: number; open: number }> {
  const found = await database.readFirst<{ invited: number; members: number; open: number }>(sql(
    `SELECT (SELECT count(*) FROM invitations WHERE organization_id = ?1 AND email = ?2 AND ${isOpen}) AS invited,
       (SELECT count(*) FROM memberships m JOIN users u ON u.id = m.user_id
         WHERE m.organization_id = ?1 AND u.email = ?2) AS members,
       (${openCount("?1", "?3")}) AS open`,
    organizationId,
    email,
    now,
  ));
  return found ?? { invited: 0, members: 0, open: 0 };
}

/** An invitation that a link leads to, and whether its address has an account. */
export type InvitationOfLink = InvitationRow & { readonly hasAccount: number };

/** @returns The open invitation that a link is for, or undefined. @throws {DatabaseError} */
export function findInvitationByToken(
  database: DatabaseReader,
  tokenHash: string,
  now: number,
): Promise<InvitationOfLink | undefined> {
  return database.readFirst(sql(
    `SELECT EXISTS (SELECT 1 FROM users WHERE email = i.email) AS hasAccount, ${columns}
     JOIN link_tokens l ON l.subject = i.id AND l.purpose = 'invitation'
     WHERE l.token_hash = ?1 AND l.expires_at > ?2 AND i.expires_at > ?2 AND i.accepted_at IS NULL
       AND i.revoked_at IS NULL`,
    tokenHash,
    now,
  ));
}

/**
 * @param options `openMax`: with so many open invitations one that is too old stays so.
 * @returns A statement that lets an open invitation start over.
 */
export function renewInvitation(
  invitation: { id: string; organizationId: string; now: number; expiresAt: number },
  options: { openMax: number },
): Statement {
  return sql(
    `UPDATE invitations SET sent_at = ?1, expires_at = ?2 WHERE id = ?3 AND organization_id = ?4 AND ${isOpen}
       AND (expires_at > ?1 OR (${openCount("?4", "?1")}) < ?5)`,
    invitation.now,
    invitation.expiresAt,
    invitation.id,
    invitation.organizationId,
    options.openMax,
  );
}

/** @returns A statement that revokes an open invitation. */
export function revokeInvitationStatement(
  invitation: { id: string; organizationId: string; now: number },
): Statement {
  return sql(
    `UPDATE invitations SET revoked_at = ? WHERE id = ? AND organization_id = ? AND ${isOpen}`,
    invitation.now,
    invitation.id,
    invitation.organizationId,
  );
}

/**
 * @param options `membershipsMax`: with so many the user joins no further organization.
 * @returns A statement that uses an invitation up, for a user whose proved address is the invited one and who is no member yet.
 */
export function acceptInvitationStatement(
  invitation: { id: string; tokenHash: string; userId: string; now: number },
  options: { membershipsMax: number },
): Statement {
  return sql(
    `UPDATE invitations SET accepted_at = ?1, accepted_by = ?2
     WHERE id = ?3 AND ${isOpen} AND expires_at > ?1
       AND EXISTS (SELECT 1 FROM link_tokens WHERE token_hash = ?4 AND purpose = 'invitation' AND subject = ?3
         AND expires_at > ?1)
       AND EXISTS (SELECT 1 FROM users u WHERE u.id = ?2 AND u.email = invitations.email
         AND u.email_verified_at IS NOT NULL AND u.disabled_at IS NULL)
       AND NOT EXISTS (SELECT 1 FROM memberships m
         WHERE m.user_id = ?2 AND m.organization_id = invitations.organization_id)
       AND (SELECT count(*) FROM memberships WHERE user_id = ?2) < ?5`,
    invitation.now,
    invitation.userId,
    invitation.id,
    invitation.tokenHash,
    options.membershipsMax,
  );
}

/**
 * @returns A statement that ends the open invitations that somebody could not make any more, after the audited change of their
 *   role or the end of their membership: nobody comes back by an invitation to a role that was taken from them.
 */
export function endInvitationsBy(
  { organizationId, userId, now }: { organizationId: string; userId: string; now: number },
  audited: string,
): Statement {
  return sql(
    `UPDATE invitations SET revoked_at = ?1 WHERE organization_id = ?2 AND invited_by = ?3 AND ${isOpen}
       AND NOT ${mayInvite("?2", "?3", "invitations.role")} AND ${ifAudited.replace("?", "?4")}`,
    now,
    organizationId,
    userId,
    audited,
  );
}

/** @returns A statement that ends every open invitation that a user sent, after the audited end of their access. */
export function revokeInvitationsMadeBy(
  userId: string,
  { now, audited }: { now: number; audited: string },
): Statement {
  return sql(
    `UPDATE invitations SET revoked_at = ? WHERE invited_by = ? AND ${isOpen} AND ${ifAudited}`,
    now,
    userId,
    audited,
  );
}
