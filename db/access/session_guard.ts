// The conditions for writing a batch for a session. A session is looked up before a request's body is read, which may take
// ten seconds: meanwhile the session may end, or its user may lose their role.
import { sql } from "../engine/database.ts";
import { isSuspended } from "./organization_state.ts";
import { liveSession, type SessionBounds } from "./sessions.ts";

/** The session that writes, and the role that it needs. */
interface SessionWriter extends SessionBounds {
  readonly sessionId: string;
  /** The organization, and the roles that permit the action; null if none is needed. `isReading`: it changes nothing there. */
  readonly role:
    | { readonly organizationId: string; readonly anyOf: readonly string[]; readonly isReading: boolean }
    | null;
}

/** Selects why a session may not write: it has ended, or its user or the organization lacks what the role needs. */
export function sessionGuard({ sessionId, role, ...bounds }: SessionWriter) {
  const organizationId = role?.organizationId ?? null;
  return sql`
    SELECT CASE
      WHEN s.id IS NULL THEN 'ended'
      WHEN ${organizationId} IS NULL THEN NULL
      WHEN m.role IS NULL THEN 'not_member'
      WHEN m.role NOT IN (SELECT value FROM json_each(${JSON.stringify(role?.anyOf ?? [])})) THEN 'role'
      WHEN ${isSuspended} AND NOT ${role?.isReading === true ? 1 : 0} THEN 'suspended'
    END AS reason
    FROM (SELECT 1)
    LEFT JOIN (
      SELECT s.id, s.user_id FROM sessions s JOIN users u ON u.id = s.user_id
      WHERE s.id = ${sessionId} AND ${liveSession(bounds)}) s
    LEFT JOIN memberships m ON m.user_id = s.user_id AND m.organization_id = ${organizationId}
    LEFT JOIN organizations o ON o.id = m.organization_id`;
}
