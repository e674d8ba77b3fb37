// All SQL of the operator's verbs. Unlike everything else it is not limited to an organization, so nothing that a request can
// reach may use it.
import type { Role } from "../../domain/sign_in/session.ts";
import { insertUser, type NewUser, type UserCredentials } from "../account/users.ts";
import { activeApiKey } from "../api_keys.ts";
import { type Database, sql, type Statement } from "../engine/database.ts";
import { insertLinkToken, type NewLinkToken } from "../mail/link_tokens.ts";
import { openInvitation, pendingInvitation } from "../organization/invitations.ts";
import { hasTwoStep } from "../sign_in/two_step.ts";

/** @returns A statement like `insertUser`, which also does nothing unless the organization exists. */
export function insertJoiningUser(user: NewUser, organizationId: string): Statement {
  return insertUser(
    user,
    sql`EXISTS (SELECT 1 FROM organizations WHERE id = ${organizationId} AND deleted_at IS NULL)`,
  );
}

/** Makes a link valid, if its user exists and is not disabled. */
export function insertLinkForUser(token: NewLinkToken): Statement {
  return insertLinkToken(token, sql`FROM users WHERE id = ${token.subject} AND disabled_at IS NULL`);
}

/** Disables a user, unless they already are. */
export function markUserDisabled(userId: string, now: number) {
  return sql`UPDATE users SET disabled_at = ${now} WHERE id = ${userId} AND disabled_at IS NULL`;
}

/** Enables a disabled user. */
export function markUserEnabled(userId: string) {
  return sql`UPDATE users SET disabled_at = NULL WHERE id = ${userId} AND disabled_at IS NOT NULL`;
}

/** A page of something that a user created, at `now` in milliseconds since 1970. */
type CreatedPage = Readonly<Record<"now" | "limit", number>>;

const activeKeysOf = (userId: string, now: number) =>
  sql`FROM api_keys k WHERE k.created_by = ${userId} AND ${activeApiKey(now)}`;

/** @returns How many active keys of any organization a user created. */
export async function countActiveKeysOfUser(database: Database, userId: string, now: number) {
  const row = await database.readFirst<{ keys: number }>(
    sql`SELECT count(*) AS keys ${activeKeysOf(userId, now)}`,
  );
  return row?.keys ?? 0;
}

/** @returns Some of a user's active keys, of any organization. */
export function findActiveKeysOfUser(database: Database, userId: string, { now, limit }: CreatedPage) {
  return database.read<{ id: string; name: string; organizationId: string }>(
    sql`SELECT id, name, organization_id AS organizationId ${activeKeysOf(userId, now)} LIMIT ${limit}`,
  );
}

/** @returns Some of the pending invitations that a user sent. */
export function findPendingInvitationsOfUser(
  database: Database,
  userId: string,
  { now, limit }: CreatedPage,
): Promise<{ id: string; email: string; organizationId: string }[]> {
  return database.read(sql`
    SELECT i.id, i.email, i.organization_id AS organizationId FROM invitations i
    WHERE i.invited_by = ${userId} AND ${pendingInvitation(now)} LIMIT ${limit}`);
}

/** Revokes an open invitation of a user. */
export function revokeInvitationOfUser(userId: string, { id, now }: { id: string; now: number }) {
  return sql`UPDATE invitations AS i SET revoked_at = ${now}
    WHERE i.id = ${id} AND i.invited_by = ${userId} AND ${openInvitation}`;
}

/** A user in the operator's list. Times in milliseconds since 1970. */
export interface ListedUserRow extends Omit<UserCredentials, "passwordHash" | "organizationId"> {
  readonly createdAt: number;
  /** Of the sessions that still exist. */
  readonly lastSignInAt: number | null;
  /** JSON: a list of `[id, name, role]`, in no particular order. */
  readonly memberships: string;
}

/** The type of {@linkcode ListedUserRow.memberships}. */
export type ListedMemberships = readonly (readonly [id: string, name: string, role: Role])[];

/** @returns Users by email address, starting after the address `after`. */
export function findUsers(database: Database, { after, limit }: { after: string; limit: number }) {
  return database.read<ListedUserRow>(sql`
    SELECT u.id, u.email, u.name, u.created_at AS createdAt, u.email_verified_at AS emailVerifiedAt,
      u.disabled_at AS disabledAt, ${hasTwoStep} AS hasTotp,
      (SELECT max(s.created_at) FROM sessions s WHERE s.user_id = u.id) AS lastSignInAt,
      (SELECT json_group_array(json_array(o.id, o.name, m.role))
        FROM memberships m JOIN organizations o ON o.id = m.organization_id WHERE m.user_id = u.id) AS memberships
    FROM users u WHERE u.email > ${after} ORDER BY u.email LIMIT ${limit}`);
}
