// What must be true when a batch is written for an operator: in its own transaction, because a token may be revoked, or a session end,
// while a request's body arrives.
import { sql, type Statement } from "../engine/database.ts";
import { liveSession, type SessionBounds } from "./sessions.ts";

type OperatorCredential =
  | { readonly tokenId: string; readonly scope: string; readonly now: number }
  | SessionBounds & { readonly sessionId: string; readonly secondFactorAfter: number };

/** A condition: the token `t` works at `now`. */
export const activeOperatorToken = (now: number | Statement): Statement =>
  sql`t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > ${now})`;

const operatorTokenMay = (scope: string): Statement => sql`instr(t.scopes, ${JSON.stringify(scope)}) > 0`;

/** Selects why an operator may not write. */
export function operatorGuard(guard: OperatorCredential): Statement {
  if ("tokenId" in guard) {
    return sql`
    SELECT CASE WHEN t.id IS NULL THEN 'token' WHEN NOT ${
      operatorTokenMay(guard.scope)
    } THEN 'scope' END AS reason
    FROM (SELECT 1) LEFT JOIN operator_tokens t ON t.id = ${guard.tokenId} AND ${
      activeOperatorToken(guard.now)
    }`;
  }
  return sql`
    SELECT CASE
      WHEN s.id IS NULL THEN 'ended'
      WHEN s.operator_since IS NULL THEN 'not_operator'
      WHEN coalesce(s.second_factor_at, 0) <= ${guard.secondFactorAfter} THEN 'second_factor'
    END AS reason
    FROM (SELECT 1) LEFT JOIN (
      SELECT s.id, s.second_factor_at, u.operator_since FROM sessions s JOIN users u ON u.id = s.user_id
      WHERE s.id = ${guard.sessionId} AND ${liveSession(guard)}) s`;
}
