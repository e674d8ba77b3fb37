// What must be true when a batch is written for a session. A session is looked up before a request's body is read, and the body
// may take ten seconds: until then the session may end, or its user may lose their role.
import { type DatabaseReader, sql, type Statement, type Value } from "../engine/database.ts";
import type { SessionBounds } from "./sessions.ts";

/** The session that writes, and the role that it needs. */
export interface SessionGuard extends SessionBounds {
  readonly sessionId: string;
  /** The organization that the act is in and the roles that allow it; null for acts that need no role. */
  readonly role: { readonly organizationId: string; readonly anyOf: readonly string[] } | null;
}

/** Why a session may not write: it has ended, its user is not a member, or their role does not allow the act. */
export type SessionRejection = "ended" | "not_member" | "role";

const reason = `SELECT CASE
    WHEN s.id IS NULL THEN 'ended'
    WHEN ?4 IS NULL THEN NULL
    WHEN m.role IS NULL THEN 'not_member'
    WHEN m.role NOT IN (SELECT value FROM json_each(?5)) THEN 'role'
  END AS reason
  FROM (SELECT 1)
  LEFT JOIN sessions s ON s.id = ?1 AND s.created_at > ?2 AND s.last_seen_at > ?3
    AND EXISTS (SELECT 1 FROM users u WHERE u.id = s.user_id AND u.disabled_at IS NULL)
  LEFT JOIN memberships m ON m.user_id = s.user_id AND m.organization_id = ?4`;

function argsOf({ sessionId, createdAfter, seenAfter, role }: SessionGuard): Value[] {
  const organizationId = role?.organizationId ?? null;
  return [sessionId, createdAfter, seenAfter, organizationId, JSON.stringify(role?.anyOf ?? [])];
}

/** @returns A statement that makes its batch fail with a `constraint` error unless the session may write. */
export function requireSession(guard: SessionGuard): Statement {
  return sql(
    `INSERT INTO refused_writes (reason) SELECT reason FROM (${reason}) WHERE reason IS NOT NULL`,
    ...argsOf(guard),
  );
}

/** @returns Why the session may not write, or null when it may. @throws {DatabaseError} */
export async function findSessionRejection(
  database: DatabaseReader,
  guard: SessionGuard,
): Promise<SessionRejection | null> {
  const row = await database.readFirst<{ reason: SessionRejection | null }>(sql(reason, ...argsOf(guard)));
  return row?.reason ?? null;
}
