// All SQL of what operators do with users. Unlike everything else it is not limited to an organization: only verbs that take an
// operator may use it.
import { isId } from "../../domain/id.ts";
import type { Role } from "../../domain/access/session.ts";
import { insertUser, type NewUser, worksAt } from "../people/mod.ts";
import {
  activeApiKey,
  endLastingAccess,
  hasRoomForMember,
  hasTwoStep,
  openInvitation,
  pendingInvitation,
  type UserCredentials,
} from "../access/mod.ts";
import { listedOrganizationsMax } from "../../domain/limits.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { hasGrants } from "../oauth/mod.ts";
import { insertLinkToken, type NewLinkToken } from "../outbox/mod.ts";
import { hasText, indexedText } from "../text_search.ts";

/** Inserts a user, unless the organization does not exist or has no room for a member. */
export function insertJoiningUser(user: NewUser, organizationId: string): Statement {
  return insertUser(
    user,
    sql`EXISTS (SELECT 1 FROM organizations o
      WHERE o.id = ${organizationId} AND o.deleted_at IS NULL AND ${hasRoomForMember})`,
  );
}

/** Makes a link valid, if its user exists and is not disabled. */
export function insertLinkForUser(token: NewLinkToken): Statement {
  return insertLinkToken(token, sql`FROM users WHERE id = ${token.subject} AND disabled_at IS NULL`);
}

export interface ChangeableUsers {
  /** False excludes operators from the change. */
  readonly alsoOperators: boolean;
}

const isChangeable = ({ alsoOperators }: ChangeableUsers) =>
  alsoOperators ? sql`true` : sql`operator_since IS NULL`;

/** Disables a user at a time, or with null enables them, unless they already are. */
export function updateDisabled(userId: string, at: number | null, users: ChangeableUsers): Statement {
  return sql`UPDATE users SET disabled_at = ${at}
    WHERE id = ${userId} AND (disabled_at IS NULL) = (${at} IS NOT NULL) AND ${isChangeable(users)}`;
}

/** Changes nothing, but only if a user is not disabled and still has this address: for the audit entry after it. */
export function confirmUserIsEnabled(userId: string, email: string) {
  return sql`UPDATE users SET disabled_at = NULL
    WHERE id = ${userId} AND email = ${email} AND disabled_at IS NULL`;
}

/** Ends what outlives a user's sessions, if there is anything to end. The sessions are ended after it. */
export const endLastingAccessOfAnyUser = (
  userId: string,
  { now, ...users }: ChangeableUsers & { now: number },
): Statement =>
  endLastingAccess(
    userId,
    now,
    sql`${isChangeable(users)} AND (EXISTS (SELECT 1 FROM sessions s WHERE s.user_id = users.id)
      OR ${hasGrants(sql`users.id`)})`,
  );

export async function findIsOperator(database: DatabaseReader, userId: string): Promise<boolean> {
  const isOperator = sql`SELECT 1 FROM users WHERE id = ${userId} AND operator_since IS NOT NULL`;
  return await database.readFirst(isOperator) !== undefined;
}

/** A page of something that a user created, at `now` in milliseconds since 1970. */
type CreatedPage = Readonly<Record<"now" | "limit", number>>;

const activeKeysOf = (userId: string, now: number) =>
  sql`FROM api_keys k WHERE k.created_by = ${userId} AND ${activeApiKey(now)}`;

/** Counts the active keys that a user created, in any organization. */
export async function countActiveKeysOfUser(database: DatabaseReader, userId: string, now: number) {
  const row = await database.readFirst<{ keys: number }>(
    sql`SELECT count(*) AS keys ${activeKeysOf(userId, now)}`,
  );
  return row?.keys ?? 0;
}

export function findActiveKeysOfUser(database: DatabaseReader, userId: string, { now, limit }: CreatedPage) {
  return database.read<{ id: string; name: string; organizationId: string }>(
    sql`SELECT id, name, organization_id AS organizationId ${activeKeysOf(userId, now)} LIMIT ${limit}`,
  );
}

export function findPendingInvitationsOfUser(
  database: DatabaseReader,
  userId: string,
  { now, limit }: CreatedPage,
): Promise<{ id: string; email: string; organizationId: string }[]> {
  return database.read(sql`
    SELECT i.id, i.email, i.organization_id AS organizationId FROM invitations i
    WHERE i.invited_by = ${userId} AND ${pendingInvitation(now)} LIMIT ${limit}`);
}

export function revokeInvitationOfUser(userId: string, { id, now }: { id: string; now: number }) {
  return sql`UPDATE invitations AS i SET revoked_at = ${now}
    WHERE i.id = ${id} AND i.invited_by = ${userId} AND ${openInvitation}`;
}

export interface ListedUserRow extends Omit<UserCredentials, "passwordHash" | "organizationId"> {
  readonly createdAt: number;
  readonly isOperator: number;
  /** The last sign-in among the existing sessions. */
  readonly lastSignInAt: number | null;
  /** JSON: a list of `[id, name, role]`, in no particular order. */
  readonly memberships: string;
}

export type ListedMemberships = readonly (readonly [id: string, name: string, role: Role])[];

const listed = sql`u.id, u.email, u.name, u.created_at AS createdAt, u.email_verified_at AS emailVerifiedAt,
  u.disabled_at AS disabledAt, u.operator_since IS NOT NULL AS isOperator, ${hasTwoStep} AS hasTotp,
  u.has_password AS hasPassword,
  (SELECT max(s.created_at) FROM sessions s WHERE s.user_id = u.id) AS lastSignInAt,
  (SELECT json_group_array(json_array(id, name, role)) FROM (
    SELECT o.id, o.name, m.role FROM memberships m JOIN organizations o ON o.id = m.organization_id
    WHERE m.user_id = u.id LIMIT ${listedOrganizationsMax})) AS memberships`;

/** Returns users by email address, from after the address `after`. */
export function findUsers(database: DatabaseReader, { after, limit }: { after: string; limit: number }) {
  return database.read<ListedUserRow>(sql`
    SELECT ${listed} FROM users u WHERE u.email > ${after} ORDER BY u.email LIMIT ${limit}`);
}

export function findListedUser(database: DatabaseReader, userId: string) {
  return database.readFirst<ListedUserRow>(sql`SELECT ${listed} FROM users u WHERE u.id = ${userId}`);
}

export interface UserQuery {
  /** A part of the name or address, or the whole id; any by default. */
  readonly search?: string | undefined;
  readonly status?: "active" | "disabled" | undefined;
  /** Only users with a lower number, that is older ones. */
  readonly below: number;
  readonly limit: number;
}

export function searchUsers(database: DatabaseReader, query: UserQuery) {
  return database.read<ListedUserRow & { number: number }>(sql`
    SELECT p.number, ${listed} FROM (${userNumbers(query)}) p CROSS JOIN users u ON u.id = p.id
    ORDER BY p.number DESC`);
}

function userNumbers({ search, status, below, limit }: UserQuery): Statement {
  const indexed = search === undefined ? null : indexedText(sql`f.user_search`, search);
  const isFound = search === undefined
    ? sql`true`
    : isId("usr", search)
    ? sql`x.user_id = ${search}`
    : sql`(${hasText(sql`x.name`, search)} OR ${hasText(sql`x.email`, search)})`;
  if (status === "disabled") {
    // They are few among all users, so they come first, from an index of their own. The plus sign keeps the database from
    // searching again for each of them.
    const isIndexed = indexed && sql`+x.number IN (SELECT f.rowid FROM user_search f WHERE ${indexed})`;
    return sql`SELECT x.number, u.id FROM users u CROSS JOIN user_texts x ON x.user_id = u.id
      WHERE u.disabled_at IS NOT NULL AND x.number < ${below} AND ${isIndexed ?? isFound}
      ORDER BY x.number DESC LIMIT ${limit}`;
  }
  const isActive = status === "active" ? sql`AND u.disabled_at IS NULL` : sql``;
  if (indexed === null) {
    return sql`SELECT x.number, u.id FROM user_texts x CROSS JOIN users u ON u.id = x.user_id
      WHERE x.number < ${below} AND ${isFound} ${isActive} ORDER BY x.number DESC LIMIT ${limit}`;
  }
  // The index is read in the order of the list, so a text that many have in common takes no longer than a rare one.
  return sql`SELECT x.number, u.id FROM user_search f CROSS JOIN user_texts x ON x.number = f.rowid
    CROSS JOIN users u ON u.id = x.user_id
    WHERE f.rowid < ${below} AND ${indexed} ${isActive} ORDER BY f.rowid DESC LIMIT ${limit}`;
}

/** Makes a user an operator from a time on, or with null a user like any other, unless they are one already. */
export function updateOperator(userId: string, since: number | null): Statement {
  return sql`UPDATE users SET operator_since = ${since}
    WHERE id = ${userId} AND (operator_since IS NULL) = (${since} IS NOT NULL)`;
}

interface ListedOperatorRow {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly operatorSince: number;
  readonly disabledAt: number | null;
  readonly hasTotp: number;
  readonly passkeys: number;
}

/** Returns every operator by email address, with the number of passkeys that work at a host. There are few: each was named by someone. */
export function findOperators(database: DatabaseReader, host: string): Promise<ListedOperatorRow[]> {
  return database.read(sql`
    SELECT u.id, u.email, u.name, u.operator_since AS operatorSince, u.disabled_at AS disabledAt,
      ${hasTwoStep} AS hasTotp, (SELECT count(*) FROM passkeys p WHERE p.user_id = u.id AND ${
    worksAt(host)
  }) AS passkeys
    FROM users u WHERE u.operator_since IS NOT NULL ORDER BY u.email`);
}
