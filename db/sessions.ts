// All SQL of sessions. The token itself is never here, only its SHA-256.
import type { Membership, Role, Session } from "../domain/session.ts";
import { type Database, sql, type Statement } from "./database.ts";

/** What signing in writes. */
export interface NewSession {
  readonly id: string;
  readonly tokenHash: string;
  readonly userId: string;
  readonly now: number;
  /** Where the client is, and what it calls itself. */
  readonly address: string;
  readonly userAgent: string;
}

/** A session with the time at which it was last seen, in milliseconds since 1970. */
export interface FoundSession {
  readonly session: Session;
  readonly lastSeenAt: number;
}

/** Times after which a session counts no more, in milliseconds since 1970. */
export interface SessionBounds {
  readonly createdAfter: number;
  readonly seenAfter: number;
}

/**
 * @returns A statement that inserts a session, with the user's last organization as the active one if they still
 *   belong to it, else their oldest. It does nothing for a user who does not exist, is disabled, or has got another
 *   password since `passwordHash` was checked, and returns the session's id when it did something.
 */
export function insertSession(session: NewSession, passwordHash: string): Statement {
  return sql(
    `INSERT INTO sessions (token_hash, id, user_id, organization_id, created_at, last_seen_at, address, user_agent)
     SELECT ?, ?, u.id, coalesce(
         (SELECT m.organization_id FROM memberships m
          WHERE m.user_id = u.id AND m.organization_id = u.last_organization_id),
         (SELECT m.organization_id FROM memberships m WHERE m.user_id = u.id ORDER BY m.created_at LIMIT 1)
       ), ?, ?, ?, ?
     FROM users u WHERE u.id = ? AND u.disabled_at IS NULL AND u.password_hash = ? RETURNING id`,
    session.tokenHash,
    session.id,
    session.now,
    session.now,
    session.address,
    session.userAgent,
    session.userId,
    passwordHash,
  );
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
];

const findOne = findBy("s.token_hash = ?");
const findMany = findBy("s.token_hash IN (SELECT value FROM json_each(?))");

/** One JSON column: each further column costs the native driver as much as the look-up of a row. */
function findBy(condition: string): string {
  return `SELECT json_array(s.id, s.last_seen_at, s.organization_id, u.id, u.name, u.email, u.email_verified_at, (
         SELECT json_group_array(json_array(m.organization_id, o.name, m.role))
         FROM memberships m JOIN organizations o ON o.id = m.organization_id WHERE m.user_id = u.id
       )) AS row
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
  database: Database,
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
  const [id, lastSeenAt, organizationId, userId, name, email, emailVerifiedAt, rows] = JSON.parse(
    text,
  ) as SessionRow;
  const memberships: Membership[] = rows.map(([organizationId, name, role]) => ({
    organizationId,
    name,
    role,
  }));
  // Sorted here: the remote server's parser takes no ORDER BY within an aggregate.
  if (memberships.length > 1) memberships.sort(byName);
  const organization = memberships.find((m) => m.organizationId === organizationId) ?? memberships[0] ?? null;
  const user = { id: userId, name, email, emailVerified: emailVerifiedAt !== null };
  return { session: { id, user, organization, memberships }, lastSeenAt };
}

function byName(a: Membership, b: Membership): number {
  return a.name.localeCompare(b.name, "en") || (a.organizationId < b.organizationId ? -1 : 1);
}

/** @returns A statement that notes when a session was last seen. */
export function updateSessionSeen(sessionId: string, now: number): Statement {
  return sql("UPDATE sessions SET last_seen_at = max(last_seen_at, ?) WHERE id = ?", now, sessionId);
}

/** @returns A statement that ends sessions. */
export function deleteSessions(tokenHashes: readonly string[]): Statement {
  return sql(
    "DELETE FROM sessions WHERE token_hash IN (SELECT value FROM json_each(?))",
    JSON.stringify(tokenHashes),
  );
}

/** @returns A statement that removes a user's sessions that have ended by age; signing in is the time for it. */
export function deleteEndedSessions(userId: string, bounds: SessionBounds): Statement {
  return sql(
    "DELETE FROM sessions WHERE user_id = ? AND (created_at <= ? OR last_seen_at <= ?)",
    userId,
    bounds.createdAfter,
    bounds.seenAfter,
  );
}
