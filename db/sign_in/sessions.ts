// All SQL of sessions. The token itself is never here, only its SHA-256.
import type { Membership, Role, Session } from "../../domain/sign_in/session.ts";
import { ifAudited } from "../audit.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { landingOrganization } from "../account/users.ts";

/** What signing in writes. */
export interface NewSession {
  readonly id: string;
  readonly tokenHash: string;
  readonly userId: string;
  readonly now: number;
  /** Where the client is, and what it calls itself. */
  readonly address: string;
  readonly userAgent: string;
  /** Hashes of the tokens that the client has from before. */
  readonly replaces: readonly string[];
}

/** A session with its times, in milliseconds since 1970, and what it was found by. */
export interface FoundSession {
  readonly session: Session;
  readonly createdAt: number;
  readonly lastSeenAt: number;
  readonly tokenHash: string;
}

/** Times after which a session counts no more, in milliseconds since 1970. */
export interface SessionBounds {
  readonly createdAfter: number;
  readonly seenAfter: number;
}

function insertSessionIf(session: NewSession, condition: Statement): Statement {
  const { tokenHash, id, userId, now, address, userAgent } = session;
  return sql`
    INSERT INTO sessions
      (token_hash, id, user_id, organization_id, created_at, last_seen_at, proved_at, address, user_agent)
    SELECT ${tokenHash}, ${id}, u.id, ${landingOrganization}, ${now}, ${now}, ${now}, ${address}, ${userAgent}
    FROM users u WHERE u.id = ${userId} AND u.disabled_at IS NULL AND ${condition}`;
}

/**
 * @returns A statement that inserts a session, with the user's last organization as the active one if they still
 *   belong to it, else their oldest. It does nothing for a user who does not exist, is disabled, has got another
 *   password since `passwordHash` was checked, or has turned two-step sign-in on.
 */
export function insertSession(session: NewSession, passwordHash: string): Statement {
  return insertSessionIf(
    session,
    sql`u.password_hash = ${passwordHash}
      AND NOT EXISTS (SELECT 1 FROM totp t WHERE t.user_id = u.id AND t.confirmed_at IS NOT NULL)`,
  );
}

/** @returns A statement like {@linkcode insertSession} for somebody who proved more than a password in this batch. */
export function insertAuditedSession(session: NewSession, audited: string): Statement {
  return insertSessionIf(session, ifAudited(audited));
}

/**
 * @param options `max`: sessions of one person.
 * @returns Statements, for after the one that inserts a session, that end what it takes the place of if it was inserted: the
 *   sessions whose tokens came along, of anyone, and those of the person that were used longest ago.
 */
export function endReplacedSessions(session: NewSession, { max }: { max: number }): Statement[] {
  const isInserted = "EXISTS (SELECT 1 FROM sessions WHERE token_hash = ?1)";
  return [
    ...(session.replaces.length === 0 ? [] : [sql(
      `DELETE FROM sessions WHERE token_hash IN (SELECT value FROM json_each(?2)) AND token_hash <> ?1 AND ${isInserted}`,
      session.tokenHash,
      JSON.stringify(session.replaces),
    )]),
    sql(
      `DELETE FROM sessions WHERE ${isInserted} AND token_hash IN (
         SELECT token_hash FROM sessions WHERE user_id = ?2
         ORDER BY token_hash = ?1 DESC, last_seen_at DESC, id DESC LIMIT -1 OFFSET ?3)`,
      session.tokenHash,
      session.userId,
      max,
    ),
  ];
}

type SessionRow = [
  id: string,
  lastSeenAt: number,
  organizationId: string | null,
  userId: string,
  name: string,
  email: string,
  emailVerifiedAt: number | null,
  memberships: [organizationId: string, name: string, role: Role][],
  authenticatedAt: number,
  createdAt: number,
  tokenHash: string,
];

const findOne = findBy("s.token_hash = ?");
const findMany = findBy("s.token_hash IN (SELECT value FROM json_each(?))");

/** One JSON column: each further column costs the native driver as much as the look-up of a row. */
function findBy(condition: string): string {
  return `SELECT json_array(s.id, s.last_seen_at, s.organization_id, u.id, u.name, u.email, u.email_verified_at, (
         SELECT json_group_array(json_array(m.organization_id, o.name, m.role))
         FROM memberships m JOIN organizations o ON o.id = m.organization_id WHERE m.user_id = u.id
       ), s.proved_at, s.created_at, s.token_hash) AS row
     FROM sessions s JOIN users u ON u.id = s.user_id
     WHERE ${condition} AND s.created_at > ? AND s.last_seen_at > ? AND u.disabled_at IS NULL`;
}

/**
 * Finds who tokens belong to: one read, every time, so that nothing is stale.
 *
 * @param tokenHashes SHA-256 of each token, in hexadecimal; mostly one.
 * @param bounds Older sessions are not found.
 * @returns The sessions that are valid, each with its user and memberships.
 * @throws {DatabaseError}
 */
export async function findSessions(
  database: DatabaseReader,
  tokenHashes: readonly string[],
  bounds: SessionBounds,
): Promise<FoundSession[]> {
  const [first] = tokenHashes;
  if (first === undefined) return [];
  const { createdAfter, seenAfter } = bounds;
  if (tokenHashes.length === 1) {
    const found = await database.readFirst<{ row: string }>(sql(findOne, first, createdAfter, seenAfter));
    return found === undefined ? [] : [parseRow(found.row)];
  }
  const hashes = JSON.stringify(tokenHashes);
  const rows = await database.read<{ row: string }>(sql(findMany, hashes, createdAfter, seenAfter));
  return rows.map(({ row }) => parseRow(row));
}

function parseRow(text: string): FoundSession {
  const [
    id,
    lastSeenAt,
    organizationId,
    userId,
    name,
    email,
    emailVerifiedAt,
    rows,
    authenticatedAt,
    createdAt,
    tokenHash,
  ] = JSON.parse(text) as SessionRow;
  const memberships: Membership[] = rows.map(([organizationId, name, role]) => ({
    organizationId,
    name,
    role,
  }));
  // Sorted here: the remote server's parser takes no ORDER BY within an aggregate.
  if (memberships.length > 1) memberships.sort(byName);
  const organization = memberships.find((m) => m.organizationId === organizationId) ?? memberships[0] ?? null;
  const user = { id: userId, name, email, emailVerified: emailVerifiedAt !== null };
  const session = { id, user, organization, memberships, authenticatedAt };
  return { session, createdAt, lastSeenAt, tokenHash };
}

function byName(a: Membership, b: Membership): number {
  return a.name.localeCompare(b.name, "en") || (a.organizationId < b.organizationId ? -1 : 1);
}

/** @returns A statement that notes when a session was last seen. */
export function updateSessionSeen(sessionId: string, now: number): Statement {
  return sql`UPDATE sessions SET last_seen_at = max(last_seen_at, ${now}) WHERE id = ${sessionId}`;
}

/** A session in the list of a person's own. Times in milliseconds since 1970. */
export interface SessionRowOfUser {
  readonly id: string;
  readonly createdAt: number;
  readonly lastSeenAt: number;
  readonly address: string;
  readonly userAgent: string;
}

/**
 * @param page `always`: the id of a session that is among them, however long ago it was used.
 * @returns A user's sessions that were used last, in no order. @throws {DatabaseError}
 */
export function listSessionsOfUser(
  database: DatabaseReader,
  userId: string,
  { bounds, always, limit }: { bounds: SessionBounds; always: string; limit: number },
): Promise<SessionRowOfUser[]> {
  return database.read(
    sql`SELECT id, created_at AS createdAt, last_seen_at AS lastSeenAt, address, user_agent AS userAgent FROM sessions
     WHERE user_id = ${userId} AND created_at > ${bounds.createdAfter} AND last_seen_at > ${bounds.seenAfter} ORDER BY id = ${always} DESC, last_seen_at DESC, id DESC LIMIT ${limit}`,
  );
}

/** @returns A statement that ends one session of a user. */
export function deleteSessionOfUser(userId: string, sessionId: string): Statement {
  return sql`DELETE FROM sessions WHERE user_id = ${userId} AND id = ${sessionId}`;
}

/** @returns A statement that ends a user's sessions, but for the one to keep. */
export function deleteSessionsOfUser(userId: string, options: { keep?: string } = {}): Statement {
  return sql`DELETE FROM sessions WHERE user_id = ${userId} AND id <> ${options.keep ?? ""}`;
}

/** @returns The same, after an audited change. */
export function deleteSessionsIfAudited(
  userId: string,
  options: { keep?: string; audited: string },
): Statement {
  return sql`DELETE FROM sessions
    WHERE user_id = ${userId} AND id <> ${options.keep ?? ""} AND ${ifAudited(options.audited)}`;
}

const hasTwoSteps =
  sql`EXISTS (SELECT 1 FROM totp t WHERE t.user_id = sessions.user_id AND t.confirmed_at IS NOT NULL)`;

/**
 * @returns A statement that notes that the person behind a session has just given their password. It does nothing while
 *   two-step sign-in is on: then a proof takes a code too.
 */
export function updateSessionAuthenticated(sessionId: string, now: number): Statement {
  return sql`UPDATE sessions SET proved_at = ${now} WHERE id = ${sessionId} AND NOT ${hasTwoSteps}`;
}

/** @returns A statement that notes that they have just given a code too, after an audited use of it. */
export function updateSessionAuthenticatedIfAudited(
  sessionId: string,
  { now, audited }: { now: number; audited: string },
): Statement {
  return sql`UPDATE sessions SET proved_at = ${now} WHERE id = ${sessionId} AND ${ifAudited(audited)}`;
}

/**
 * @returns A statement that gives a session another token, after an audited change of its password. Where that is all it takes
 *   to sign in, it is a proof, too.
 */
export function updateSessionToken(
  sessionId: string,
  options: { tokenHash: string; now: number; audited: string },
): Statement {
  return sql`
    UPDATE sessions SET token_hash = ${options.tokenHash},
      proved_at = iif(${hasTwoSteps}, proved_at, ${options.now})
    WHERE id = ${sessionId} AND ${ifAudited(options.audited)}`;
}

/** @returns A statement that makes an organization a session's active one, if the user belongs to it. */
export function updateSessionOrganization(
  session: { id: string; userId: string },
  organizationId: string,
): Statement {
  return sql`UPDATE sessions SET organization_id = ${organizationId} WHERE id = ${session.id} AND user_id = ${session.userId}
       AND EXISTS (SELECT 1 FROM memberships WHERE user_id = ${session.userId} AND organization_id = ${organizationId})`;
}

/** @returns A statement that ends sessions. */
export function deleteSessions(tokenHashes: readonly string[]): Statement {
  return sql`DELETE FROM sessions WHERE token_hash IN (SELECT value FROM json_each(${
    JSON.stringify(tokenHashes)
  }))`;
}

/** @returns A statement that removes a user's sessions that have ended by age; signing in is the time for it. */
export function deleteEndedSessions(userId: string, bounds: SessionBounds): Statement {
  return sql`DELETE FROM sessions WHERE user_id = ${userId} AND (created_at <= ${bounds.createdAfter} OR last_seen_at <= ${bounds.seenAfter})`;
}
