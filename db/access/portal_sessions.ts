// SQL of portal sessions. Whether one is live is said once here: its operator token works, its organization exists, and it has not ended.
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { activeOperatorToken } from "./operator_guard.ts";
import { isSuspended } from "./organization_state.ts";

const sessions = sql`portal_sessions p JOIN operator_tokens t ON t.id = p.operator_token_id
  JOIN organizations o ON o.id = p.organization_id`;

/** A condition on {@linkcode sessions}: the session is live at `now`. */
const livePortalSession = (now: number): Statement =>
  sql`p.ended_at IS NULL AND p.expires_at > ${now} AND o.deleted_at IS NULL AND ${activeOperatorToken(now)}`;

export interface NewPortalSession {
  readonly id: string;
  readonly organizationId: string;
  readonly operatorTokenId: string;
  readonly entryHash: string;
  readonly entryExpiresAt: number;
  /** A JSON list. */
  readonly pages: string;
  readonly isReadOnly: boolean;
  readonly userExternalId: string | null;
  readonly userName: string | null;
  readonly returnUrl: string | null;
  readonly now: number;
  readonly expiresAt: number;
}

/** Inserts a session if its organization exists and has fewer than `liveMax` live ones that are open or can still be opened. */
export function insertPortalSession(session: NewPortalSession, { liveMax }: { liveMax: number }): Statement {
  const { id, organizationId, operatorTokenId, entryHash, entryExpiresAt, pages, now, expiresAt } = session;
  return sql`
    INSERT INTO portal_sessions (id, organization_id, operator_token_id, entry_hash, entry_expires_at, pages, read_only,
      user_external_id, user_name, return_url, created_at, expires_at)
    SELECT ${id}, o.id, ${operatorTokenId}, ${entryHash}, ${entryExpiresAt}, ${pages},
      ${
    session.isReadOnly ? 1 : 0
  }, ${session.userExternalId}, ${session.userName}, ${session.returnUrl}, ${now},
      ${expiresAt}
    FROM organizations o WHERE o.id = ${organizationId} AND o.deleted_at IS NULL AND (
      SELECT count(*) FROM ${sessions} WHERE p.organization_id = ${organizationId} AND ${
    livePortalSession(now)
  }
        AND (p.token_hash IS NOT NULL OR p.entry_expires_at > ${now})) < ${liveMax}`;
}

interface EntryUse {
  readonly entryHash: string;
  readonly tokenHash: string;
  readonly now: number;
}

/** Opens a live session: the cookie's token works from now on, and the address only for the same token, up to `reentryMs` longer. */
export function openPortalSession(
  { entryHash, tokenHash, now }: EntryUse,
  { reentryMs }: { reentryMs: number },
): Statement {
  return sql`
    UPDATE portal_sessions SET token_hash = ${tokenHash}, entry_expires_at = min(entry_expires_at, ${
    now + reentryMs
  })
    WHERE (token_hash IS NULL OR token_hash = ${tokenHash}) AND entry_hash = ${entryHash}
      AND entry_expires_at > ${now} AND id IN (SELECT p.id FROM ${sessions}
        WHERE p.entry_hash = ${entryHash} AND ${livePortalSession(now)})`;
}

/** Ends the session that another client, or this one a while ago, has opened with the same address. */
export function endReopenedPortalSession({ entryHash, tokenHash, now }: EntryUse): Statement {
  return sql`UPDATE portal_sessions SET ended_at = ${now}
    WHERE entry_hash = ${entryHash} AND ended_at IS NULL AND token_hash IS NOT NULL
      AND (token_hash <> ${tokenHash} OR entry_expires_at <= ${now})`;
}

export function endPortalSession(id: string, now: number): Statement {
  return sql`UPDATE portal_sessions SET ended_at = ${now} WHERE id = ${id} AND ended_at IS NULL`;
}

/** Says whose session it is, and not whether it is live. */
export function findPortalSessionOwner(
  database: DatabaseReader,
  by: { readonly id: string } | { readonly entryHash: string },
) {
  const condition = "id" in by ? sql`p.id = ${by.id}` : sql`p.entry_hash = ${by.entryHash}`;
  return database.readFirst<PortalSessionOwnerRow>(sql`
    SELECT p.id, p.organization_id AS organizationId, p.user_name AS userName, t.name AS tokenName
    FROM portal_sessions p JOIN operator_tokens t ON t.id = p.operator_token_id WHERE ${condition}`);
}

export interface PortalSessionOwnerRow {
  readonly id: string;
  readonly organizationId: string;
  readonly userName: string | null;
  readonly tokenName: string;
}

export interface PortalSessionRow extends PortalSessionOwnerRow {
  readonly organizationName: string;
  readonly timezone: string;
  readonly suspendedAt: number | null;
  /** A JSON list. */
  readonly pages: string;
  readonly readOnly: 0 | 1;
  readonly returnUrl: string | null;
}

/** Finds a live session by its id and one of the tokens that came with a request. */
export function findLivePortalSession(
  database: DatabaseReader,
  { id, tokenHashes, now }: { id: string; tokenHashes: readonly string[]; now: number },
): Promise<PortalSessionRow | undefined> {
  return database.readFirst(sql`
    SELECT p.id, p.organization_id AS organizationId, p.user_name AS userName, t.name AS tokenName,
      o.name AS organizationName, o.timezone, o.suspended_at AS suspendedAt, p.pages, p.read_only AS readOnly,
      p.return_url AS returnUrl
    FROM ${sessions} WHERE p.id = ${id} AND ${livePortalSession(now)}
      AND p.token_hash IN (SELECT value FROM json_each(${JSON.stringify(tokenHashes)}))`);
}

/** Selects why a session may not write. */
export function portalSessionGuard({ id, now }: { id: string; now: number }): Statement {
  return sql`
    SELECT CASE WHEN s.id IS NULL THEN 'ended' WHEN s.read_only THEN 'read_only' WHEN s.suspended THEN 'suspended'
      END AS reason
    FROM (SELECT 1) LEFT JOIN (SELECT p.id, p.read_only, ${isSuspended} AS suspended FROM ${sessions}
      WHERE p.id = ${id} AND ${livePortalSession(now)}) s`;
}

export function deletePortalSessionsBefore(before: number, { limit }: { limit: number }): Statement {
  return sql`DELETE FROM portal_sessions
    WHERE id IN (SELECT id FROM portal_sessions WHERE expires_at < ${before} LIMIT ${limit})`;
}
