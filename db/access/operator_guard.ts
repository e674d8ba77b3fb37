// What must be true when a batch is written for an operator: in its own transaction, because a token may be revoked, or a session end,
// while a request's body arrives.
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { liveSession, type SessionBounds } from "./sessions.ts";

export type OperatorGuard =
  | { readonly tokenId: string; readonly scope: string; readonly now: number }
  | SessionBounds & { readonly sessionId: string; readonly secondFactorAfter: number };

type OperatorRejection = "token" | "scope" | "ended" | "not_operator" | "second_factor";

/** A condition: the token `t` works at `now`. */
export const activeOperatorToken = (now: number | Statement): Statement =>
  sql`t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > ${now})`;

const operatorTokenMay = (scope: string): Statement => sql`instr(t.scopes, ${JSON.stringify(scope)}) > 0`;

function rejection(guard: OperatorGuard): Statement {
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

/** Makes its batch fail with a `constraint` error unless the operator may write. */
export function requireOperator(guard: OperatorGuard): Statement {
  return sql`INSERT INTO refused_writes (reason)
    SELECT reason FROM (${rejection(guard)}) WHERE reason IS NOT NULL`;
}

export async function findOperatorRejection(database: DatabaseReader, guard: OperatorGuard) {
  const row = await database.readFirst<{ reason: OperatorRejection | null }>(rejection(guard));
  return row?.reason ?? null;
}
