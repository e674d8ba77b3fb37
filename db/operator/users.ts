// All SQL of what the operator does with users. Unlike everything else it is bounded by no organization: nothing that a
// request can reach may use it.
import type { Role } from "../../domain/sign_in/session.ts";
import { activeApiKey } from "../api_keys.ts";
import { type Database, sql, type Statement } from "../engine/database.ts";
import type { NewLinkToken } from "../mail/link_tokens.ts";
import { openInvitation, pendingInvitation } from "../organization/invitations.ts";
import { insertNewUser, type NewUser, newUserArgs } from "../account/users.ts";

/** @returns A statement like `insertUser`, which also does nothing unless there is an organization of this id. */
export function insertJoiningUser(user: NewUser, organizationId: string): Statement {
  return sql(
    `${insertNewUser} WHERE EXISTS (SELECT 1 FROM organizations WHERE id = ?7 AND deleted_at IS NULL)
     ON CONFLICT (email) DO NOTHING`,
    ...newUserArgs(user),
    organizationId,
  );
}

/** @returns A statement that makes a link work, if its subject is a user who exists and is not disabled. */
export function insertLinkForUser(token: NewLinkToken): Statement {
  return sql`INSERT INTO link_tokens (token_hash, purpose, subject, email, created_at, expires_at)
     SELECT ${token.tokenHash}, ${token.purpose}, u.id, ${token.email}, ${token.now}, ${token.expiresAt} FROM users u WHERE u.id = ${token.subject} AND u.disabled_at IS NULL`;
}

/** @returns A statement that disables a user; one who is disabled keeps the time. */
export function markUserDisabled(userId: string, now: number): Statement {
  return sql`UPDATE users SET disabled_at = ${now} WHERE id = ${userId} AND disabled_at IS NULL`;
}

/** @returns A statement that enables a disabled user. */
export function markUserEnabled(userId: string): Statement {
  return sql`UPDATE users SET disabled_at = NULL WHERE id = ${userId} AND disabled_at IS NOT NULL`;
}

/** An active key, and where it is. */
export interface KeyOfUser {
  readonly id: string;
  readonly name: string;
  readonly organizationId: string;
}

const activeKeysOf = (userId: string, now: number) =>
  sql`FROM api_keys k WHERE k.created_by = ${userId} AND ${activeApiKey(now)}`;

/** @returns How many active keys, of any organization, a user made. @throws {DatabaseError} */
export async function countActiveKeysOfUser(
  database: Database,
  userId: string,
  now: number,
): Promise<number> {
  const row = await database.readFirst<{ keys: number }>(
    sql`SELECT count(*) AS keys ${activeKeysOf(userId, now)}`,
  );
  return row?.keys ?? 0;
}

/** @returns Some of a user's active keys, of any organization. @throws {DatabaseError} */
export function listActiveKeysOfUser(
  database: Database,
  userId: string,
  { now, limit }: { now: number; limit: number },
): Promise<KeyOfUser[]> {
  return database.read(
    sql`SELECT id, name, organization_id AS organizationId ${activeKeysOf(userId, now)} LIMIT ${limit}`,
  );
}

/** An open invitation, and where it leads. */
export interface InvitationOfUser {
  readonly id: string;
  readonly email: string;
  readonly organizationId: string;
}

/** @returns Some of the invitations that a user sent and that can still be accepted. @throws {DatabaseError} */
export function listOpenInvitationsOfUser(
  database: Database,
  userId: string,
  { now, limit }: { now: number; limit: number },
): Promise<InvitationOfUser[]> {
  return database.read(sql`
    SELECT i.id, i.email, i.organization_id AS organizationId FROM invitations i
    WHERE i.invited_by = ${userId} AND ${pendingInvitation(now)} LIMIT ${limit}`);
}

/** @returns A statement that revokes an open invitation of a user. */
export function revokeInvitationOfUser(userId: string, invitation: { id: string; now: number }): Statement {
  return sql`UPDATE invitations AS i SET revoked_at = ${invitation.now}
    WHERE i.id = ${invitation.id} AND i.invited_by = ${userId} AND ${openInvitation}`;
}

/** A user in the operator's list. Times in milliseconds since 1970. */
export interface ListedUserRow {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly createdAt: number;
  readonly emailVerifiedAt: number | null;
  readonly disabledAt: number | null;
  readonly hasTotp: number;
  /** Of the sessions that are still there. */
  readonly lastSignInAt: number | null;
  /** JSON: a list of `[id, name, role]`, in no order. */
  readonly memberships: string;
}

/** What {@linkcode ListedUserRow.memberships} is. */
export type ListedMemberships = readonly (readonly [id: string, name: string, role: Role])[];

/** @returns Users by address, from after the address `after`. @throws {DatabaseError} */
export function listUsers(
  database: Database,
  { after, limit }: { after: string; limit: number },
): Promise<ListedUserRow[]> {
  return database.read(
    sql`SELECT u.id, u.email, u.name, u.created_at AS createdAt, u.email_verified_at AS emailVerifiedAt,
       u.disabled_at AS disabledAt,
       EXISTS (SELECT 1 FROM totp t WHERE t.user_id = u.id AND t.confirmed_at IS NOT NULL) AS hasTotp,
       (SELECT max(s.created_at) FROM sessions s WHERE s.user_id = u.id) AS lastSignInAt,
       (SELECT json_group_array(json_array(o.id, o.name, m.role))
         FROM memberships m JOIN organizations o ON o.id = m.organization_id WHERE m.user_id = u.id) AS memberships
     FROM users u WHERE u.email > ${after} ORDER BY u.email LIMIT ${limit}`,
  );
}
