// SQL of back-channel logouts: applications to tell that a session, or access, has ended. Triggers write the rows, in the transaction
// that ends it.
import type { IdTokenAlgorithm } from "../../domain/oauth/client.ts";
import type { SessionBounds } from "../access/mod.ts";
import { sql, type Statement } from "../engine/database.ts";

/** A condition: there is something to send. */
export const hasDueLogouts = (now: number): Statement =>
  sql`EXISTS (SELECT 1 FROM oauth_logouts WHERE due_at <= ${now})`;

/** A logout that this server sends until its lease ends. */
export interface ClaimedLogout {
  readonly number: number;
  readonly clientId: string;
  readonly userId: string;
  readonly sessionId: string;
  /** Including this one. */
  readonly attempts: number;
  readonly uri: string;
  readonly algorithm: IdTokenAlgorithm;
}

/** Those of sessions that had expired anyway, and of clients that want none anymore, are deleted in steps of this many. */
const deletedMax = 500;

/** Deletes some of those that nobody wants to be told; then claims some of the others that are due, as rows. */
export function claimLogouts(
  { now, createdAfter, seenAfter }: SessionBounds,
  { leasedUntil, limit }: { leasedUntil: number; limit: number },
): Statement[] {
  const client = sql`FROM oauth_clients c WHERE c.id = oauth_logouts.client_id`;
  const isOver =
    sql`(coalesce(session_created_at <= ${createdAfter} OR session_seen_at <= ${seenAfter} OR session_expires_at <= ${now}, 0)
      OR NOT EXISTS (SELECT 1 ${client} AND c.backchannel_logout_uri IS NOT NULL AND c.disabled_at IS NULL))`;
  const due = sql`SELECT number FROM oauth_logouts WHERE due_at <= ${now}`;
  return [
    sql`DELETE FROM oauth_logouts WHERE number IN (${due} AND ${isOver} ORDER BY due_at LIMIT ${deletedMax})`,
    sql`UPDATE oauth_logouts SET due_at = ${leasedUntil}, attempts = attempts + 1
      WHERE number IN (${due} AND NOT ${isOver} ORDER BY due_at LIMIT ${limit})
      RETURNING number, client_id AS clientId, user_id AS userId, session_id AS sessionId, attempts,
        (SELECT c.backchannel_logout_uri ${client}) AS uri, (SELECT c.id_token_algorithm ${client}) AS algorithm`,
  ];
}

/** Ends a logout, or sets when it is sent again, unless it was claimed again. @param dueAt Null to end it. */
export function endLogout({ number, attempts }: ClaimedLogout, dueAt: number | null): Statement {
  const own = sql`number = ${number} AND attempts = ${attempts}`;
  return dueAt === null
    ? sql`DELETE FROM oauth_logouts WHERE ${own}`
    : sql`UPDATE oauth_logouts SET due_at = ${dueAt} WHERE ${own}`;
}
