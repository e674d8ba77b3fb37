// All SQL of invitations. The statement that accepts an invitation ensures that it works only once.
import {
  type Audited,
  effectiveNumber,
  hasRoomForMember,
  ifAudited,
  isSuspended,
  openInvitation,
  pendingInvitation,
} from "../access/mod.ts";
import type { Role } from "../../domain/access/session.ts";
import { membershipsPerUserMax, openInvitationsMax } from "../../domain/limits.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

export interface InvitationRow {
  readonly id: string;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly email: string;
  readonly role: Role;
  readonly invitedById: string | null;
  readonly invitedByName: string | null;
  readonly invitedByOperator: number;
  readonly createdAt: number;
  readonly sentAt: number;
  readonly expiresAt: number;
  readonly acceptedAt: number | null;
  readonly revokedAt: number | null;
}

/** `email`: canonical. `invitedBy`: null for an operator. */
interface NewInvitation
  extends Pick<InvitationRow, "id" | "organizationId" | "email" | "role" | "expiresAt"> {
  readonly invitedBy: string | null;
  readonly now: number;
}

const columns =
  sql`i.id, i.organization_id AS organizationId, o.name AS organizationName, i.email, i.role, u.id AS invitedById,
    u.name AS invitedByName, i.invited_by_operator AS invitedByOperator, i.created_at AS createdAt, i.sent_at AS sentAt, i.expires_at AS expiresAt,
    i.accepted_at AS acceptedAt, i.revoked_at AS revokedAt
  FROM invitations i JOIN organizations o ON o.id = i.organization_id AND o.deleted_at IS NULL
  LEFT JOIN users u ON u.id = i.invited_by`;

/** A condition: the organization of the invitation `i` accepts members. */
export const joinableInvitation = sql`EXISTS (SELECT 1 FROM organizations o
  WHERE o.id = i.organization_id AND NOT (${isSuspended}) AND ${hasRoomForMember})`;

/** A condition: the link is one of the invitation `i`, and has not expired. Without a link, none is needed. */
export const invitationLink = (tokenHash: string | null, now: number): Statement =>
  tokenHash === null ? sql`true` : sql`EXISTS (SELECT 1 FROM link_tokens l
    WHERE l.token_hash = ${tokenHash} AND l.purpose = 'invitation' AND l.subject = i.id AND l.expires_at > ${now})`;

const countPending = (organizationId: string, now: number): Statement =>
  sql`(SELECT count(*) FROM invitations i WHERE i.organization_id = ${organizationId} AND ${
    pendingInvitation(now)
  })`;

const countMembersWith = (email: string, organizationId: string): Statement =>
  sql`(SELECT count(*) FROM memberships m JOIN users u ON u.id = m.user_id
    WHERE m.organization_id = ${organizationId} AND u.email = ${email})`;

/**
 * Revokes an expired invitation to the address and inserts a new one, unless the address belongs to a member or has another
 * open invitation, or the organization has too many pending ones.
 */
export function insertInvitation(invitation: NewInvitation): Statement[] {
  const { id, organizationId, email, role, invitedBy, now, expiresAt } = invitation;
  return [
    sql`UPDATE invitations AS i SET revoked_at = ${now} WHERE i.organization_id = ${organizationId}
      AND i.email = ${email} AND ${openInvitation} AND i.expires_at <= ${now}`,
    sql`
      INSERT INTO invitations (id, organization_id, email, role, invited_by, invited_by_operator, created_at, sent_at,
        expires_at)
      SELECT ${id}, ${organizationId}, ${email}, ${role}, ${invitedBy}, ${
      invitedBy === null ? 1 : 0
    }, ${now}, ${now}, ${expiresAt}
      WHERE ${countMembersWith(email, organizationId)} = 0
        AND ${countPending(organizationId, now)} < ${openInvitationsMax}
      ON CONFLICT DO NOTHING`,
  ];
}

/** Finds invitations, newest first, from before the id `before`; open or closed ones, or all. */
export function findInvitations(
  database: DatabaseReader,
  organizationId: string,
  page: { limit: number; before?: string | undefined; isOpen?: boolean | undefined },
): Promise<InvitationRow[]> {
  const { limit, before = null, isOpen } = page;
  const status = isOpen === undefined ? sql`true` : isOpen ? openInvitation : sql`NOT (${openInvitation})`;
  return database.read(sql`
    SELECT ${columns} WHERE i.organization_id = ${organizationId} AND (${before} IS NULL OR i.id < ${before})
      AND ${status} ORDER BY i.id DESC LIMIT ${limit}`);
}

/** Reads an invitation of an organization as an {@linkcode InvitationRow}; no row if there is none. */
export const selectInvitation = (organizationId: string, id: string): Statement =>
  sql`SELECT ${columns} WHERE i.organization_id = ${organizationId} AND i.id = ${id}`;

/** Counts what can prevent an invitation: open ones to the address, members with it, and all pending ones. */
export async function findInvitationObstacles(
  database: DatabaseReader,
  { organizationId, email, now }: { organizationId: string; email: string; now: number },
) {
  const found = await database.readFirst<{ invited: number; members: number; pending: number }>(sql`
    SELECT (SELECT count(*) FROM invitations i
        WHERE i.organization_id = ${organizationId} AND i.email = ${email} AND ${openInvitation}) AS invited,
      ${countMembersWith(email, organizationId)} AS members,
      ${countPending(organizationId, now)} AS pending`);
  return found ?? { invited: 0, members: 0, pending: 0 };
}

/** An invitation with the state of its organization and of its email address. */
export interface InvitationOfLink extends InvitationRow {
  readonly hasAccount: number;
  readonly suspended: 0 | 1;
  readonly membersMax: number;
  readonly hasRoom: 0 | 1;
}

/** Finds the pending invitation that a link is for. */
export function findInvitationByToken(database: DatabaseReader, tokenHash: string, now: number) {
  return database.readFirst<InvitationOfLink>(sql`
    SELECT EXISTS (SELECT 1 FROM users WHERE email = i.email) AS hasAccount, ${isSuspended} AS suspended,
      ${effectiveNumber("membersMax")} AS membersMax, ${hasRoomForMember} AS hasRoom,
      ${columns}
    JOIN link_tokens l ON l.subject = i.id AND l.purpose = 'invitation'
    WHERE l.token_hash = ${tokenHash} AND l.expires_at > ${now} AND ${pendingInvitation(now)}`);
}

/** Finds the newest pending invitation to an address whose organization accepts members. */
export function findInvitationTo(database: DatabaseReader, email: string, now: number) {
  return database.readFirst<InvitationRow>(sql`
    SELECT ${columns} WHERE i.email = ${email} AND ${pendingInvitation(now)} AND ${joinableInvitation}
    ORDER BY i.id DESC LIMIT 1`);
}

/** Renews an open invitation. An expired one isn't renewed if the organization has too many pending ones. */
export function renewInvitation(
  { id, organizationId, now, expiresAt }: Pick<NewInvitation, "id" | "organizationId" | "now" | "expiresAt">,
) {
  return sql`
    UPDATE invitations AS i SET sent_at = ${now}, expires_at = ${expiresAt}
    WHERE i.id = ${id} AND i.organization_id = ${organizationId} AND ${openInvitation}
      AND (i.expires_at > ${now} OR ${countPending(organizationId, now)} < ${openInvitationsMax})`;
}

export function markInvitationRevoked(
  { id, organizationId, now }: { id: string; organizationId: string; now: number },
) {
  return sql`UPDATE invitations AS i SET revoked_at = ${now}
    WHERE i.id = ${id} AND i.organization_id = ${organizationId} AND ${openInvitation}`;
}

/**
 * Accepts an invitation for a user whose confirmed address is the invited one, who is not a member yet and can belong to another
 * organization, if this one accepts members.
 */
export function markInvitationAccepted(
  { id, tokenHash, userId, now }: { id: string; tokenHash: string | null; userId: string; now: number },
) {
  return sql`
    UPDATE invitations AS i SET accepted_at = ${now}, accepted_by = ${userId}
    WHERE i.id = ${id} AND ${pendingInvitation(now)} AND ${joinableInvitation}
      AND ${invitationLink(tokenHash, now)}
      AND EXISTS (SELECT 1 FROM users u WHERE u.id = ${userId} AND u.email = i.email
        AND u.email_verified_at IS NOT NULL AND u.disabled_at IS NULL)
      AND NOT EXISTS (SELECT 1 FROM memberships m
        WHERE m.user_id = ${userId} AND m.organization_id = i.organization_id)
      AND (SELECT count(*) FROM memberships WHERE user_id = ${userId}) < ${membershipsPerUserMax}`;
}

/**
 * Revokes the open invitations that a user may no longer send, after the audited change or end of their membership.
 * Otherwise they could regain a role by their own invitation.
 */
export function endInvitationsBy(
  { organizationId, userId, now }: { organizationId: string; userId: string; now: number },
  audited: string,
) {
  return sql`
    UPDATE invitations AS i SET revoked_at = ${now}
    WHERE i.organization_id = ${organizationId} AND i.invited_by = ${userId} AND ${openInvitation}
      AND NOT EXISTS (SELECT 1 FROM memberships m
        WHERE m.organization_id = ${organizationId} AND m.user_id = ${userId}
          AND (m.role = 'OWNER' OR (m.role = 'ADMIN' AND i.role <> 'OWNER')))
      AND ${ifAudited(audited)}`;
}

/** Revokes all open invitations that a user sent, after the audited end of their access. */
export function revokeInvitationsSentBy(userId: string, { now, audited }: Audited) {
  return sql`UPDATE invitations AS i SET revoked_at = ${now}
    WHERE i.invited_by = ${userId} AND ${openInvitation} AND ${ifAudited(audited)}`;
}
