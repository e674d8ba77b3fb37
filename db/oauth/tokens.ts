// SQL of grants and their tokens. Each look-up joins what a token depends on, so that ended access is rejected immediately.
import {
  expiredRowsMax,
  grantsOfSessionMax,
  offlineMs,
  refreshAgainMs,
} from "../../domain/oauth/oauth_limits.ts";
import type { IdTokenAlgorithm } from "../../domain/oauth/client.ts";
import type { Subject } from "../../domain/oauth/claims.ts";
import { domainPermits, liveSession, type SessionBounds, updateSessionSeen } from "../access/mod.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { deleteAllPendingSignIns } from "../people/mod.ts";

/** The tables that {@linkcode liveGrant} reads, from the grant `g` on. */
const tablesOf = (grants: Statement): Statement =>
  sql`${grants} g JOIN oauth_clients c ON c.id = g.client_id JOIN users u ON u.id = g.user_id
  LEFT JOIN sessions s ON s.id = g.session_id LEFT JOIN oauth_resources r ON r.id = g.resource_id
  LEFT JOIN organizations o ON o.id = g.organization_id
  LEFT JOIN memberships m ON m.user_id = g.user_id AND m.organization_id = g.organization_id`;
export const grantTables = tablesOf(sql`oauth_grants`);

const rankOf = (role: Statement): Statement => sql`instr('MEMBER ADMIN  OWNER', ${role})`;

/**
 * A condition on {@linkcode grantTables}: the session lasts, or the offline time for someone whose domain requires no provider; the
 * client is enabled, and still open to the person in the organization. A suspension pauses tokens of resources.
 */
export function liveGrant(bounds: Readonly<Record<keyof SessionBounds, number | Statement>>): Statement {
  return sql`c.disabled_at IS NULL AND u.disabled_at IS NULL
    AND coalesce(g.offline_until > ${bounds.now}, true)
    AND (g.offline_until IS NOT NULL AND ${domainPermits(sql`u.email`, {})} OR s.id IS NOT NULL AND ${
    liveSession(bounds)
  })
    AND (g.organization_id IS NULL OR m.role IS NOT NULL AND o.deleted_at IS NULL)
    AND (g.resource_id IS NULL OR o.suspended_at IS NULL)
    AND (c.access IS NULL OR (g.organization_id IN (SELECT value FROM json_each(c.access, '$.organizationIds'))
      AND ${rankOf(sql`m.role`)} >= ${rankOf(sql`json_extract(c.access, '$.minRole')`)}))`;
}

/** A token whose grant is live. */
export interface FoundToken extends Subject {
  readonly kind: "access" | "refresh";
  readonly grantId: string;
  readonly clientId: string;
  readonly sessionId: string;
  /** The person's organization is null if the grant speaks for none. */
  readonly scopes: readonly string[];
  readonly grantScopes: readonly string[];
  readonly resource:
    | { readonly id: string; readonly uri: string; readonly tokenFormat: "opaque" | "jwt" }
    | null;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly refreshSecret: string;
  readonly authTime: number;
  readonly amr: string | null;
  readonly idTokenAlgorithm: IdTokenAlgorithm;
}

interface TokenRow {
  readonly row?: unknown;
}

const isTrue = (condition: Statement): Statement => sql`json(iif(${condition}, 'true', 'false'))`;

/** As JSON: the organization that a grant speaks for, and the resource; null without one. */
export const organizationJson =
  sql`iif(o.id IS NULL, NULL, json_object('id', o.id, 'name', o.name, 'role', m.role))`;
export const resourceJson =
  sql`iif(r.id IS NULL, NULL, json_object('id', r.id, 'uri', r.uri, 'tokenFormat', r.token_format))`;

/** A {@linkcode FoundToken} as JSON, with spaces between scopes. */
const tokenColumns =
  sql`json_object('kind', t.kind, 'grantId', g.id, 'clientId', g.client_id, 'sessionId', g.session_id, 'scopes', t.scopes,
  'grantScopes', g.scopes, 'resource', ${resourceJson}, 'createdAt', t.created_at, 'expiresAt', t.expires_at,
  'refreshSecret', g.refresh_secret, 'authTime', g.auth_time, 'amr', g.amr, 'idTokenAlgorithm', c.id_token_algorithm,
  'userId', u.id, 'name', u.name, 'email', u.email, 'emailVerified', ${
    isTrue(sql`u.email_verified_at IS NOT NULL`)
  },
  'organization', ${organizationJson}, 'isOperator', ${
    isTrue(sql`u.operator_since IS NOT NULL AND s.second_factor_at IS NOT NULL`)
  },
  'memberships', (SELECT json_group_array(json_object('id', n.organization_id, 'role', n.role)) FROM memberships n
    WHERE n.user_id = u.id))`;

/** Reads a token that works now, or a used refresh token, for {@linkcode foundToken}. */
export const selectToken = (tokenHash: string, bounds: SessionBounds): Statement =>
  sql`SELECT ${tokenColumns} AS row FROM oauth_tokens t CROSS JOIN ${grantTables}
    WHERE t.token_hash = ${tokenHash} AND g.id = t.grant_id AND t.expires_at > ${bounds.now} AND ${
    liveGrant(bounds)
  }`;

export function foundToken(found: TokenRow | undefined): FoundToken | undefined {
  if (found === undefined) return undefined;
  const { scopes, grantScopes, ...token } = JSON.parse(String(found.row));
  return { ...token, scopes: scopes.split(" "), grantScopes: grantScopes.split(" ") };
}

export async function findToken(
  database: DatabaseReader,
  tokenHash: string,
  bounds: SessionBounds,
): Promise<FoundToken | undefined> {
  return foundToken(await database.readFirst<TokenRow>(selectToken(tokenHash, bounds)));
}

/** Finds the token that a code would be exchanged for, without its ids and secrets. */
export async function findTokenOfCode(
  database: DatabaseReader,
  codeHash: string,
  bounds: SessionBounds,
): Promise<FoundToken | undefined> {
  const code = sql`(SELECT 'access' AS kind, '' AS id, '' AS refresh_secret, NULL AS offline_until, *
    FROM oauth_codes WHERE code_hash = ${codeHash} AND used_at IS NULL AND expires_at > ${bounds.now})`;
  return foundToken(
    await database.readFirst<TokenRow>(
      sql`SELECT ${tokenColumns} AS row FROM ${code} t CROSS JOIN ${tablesOf(code)} WHERE ${
        liveGrant(bounds)
      }`,
    ),
  );
}

/** A condition: a user has given access to applications. */
export const hasGrants = (userId: Statement): Statement =>
  sql`EXISTS (SELECT 1 FROM oauth_grants g WHERE g.user_id = ${userId})`;

export interface NewGrant {
  readonly grantId: string;
  readonly refreshSecret: string;
  readonly now: number;
}

/** Inserts a grant with the columns that a statement selects. Access that may outlive the session begins with `offline_access`. */
export function insertGrant({ grantId, refreshSecret, now }: NewGrant, source: Statement): Statement {
  return sql`
    INSERT INTO oauth_grants (id, client_id, user_id, session_id, organization_id, resource_id, scopes, auth_time, amr,
      offline_until, created_at, refresh_secret)
    SELECT ${grantId}, client_id, user_id, session_id, organization_id, resource_id, scopes, auth_time, amr,
      iif(' ' || scopes || ' ' LIKE '% offline_access %', ${
    now + offlineMs
  }, NULL), ${now}, ${refreshSecret} FROM (${source})`;
}

export const insertGrantOfCode = (grant: NewGrant, codeHash: string): Statement =>
  insertGrant(
    grant,
    sql`SELECT * FROM oauth_codes WHERE code_hash = ${codeHash} AND grant_id = ${grant.grantId}`,
  );

export interface NewToken {
  readonly tokenHash: string;
  readonly kind: "access" | "refresh";
  readonly grantId: string;
  /** Null for those of the grant. */
  readonly scopes: readonly string[] | null;
  readonly now: number;
  readonly expiresAt: number;
}

/** Inserts a token if its grant exists and the condition is true. */
export function insertToken(token: NewToken, condition = sql`true`): Statement {
  return sql`
    INSERT INTO oauth_tokens (token_hash, kind, grant_id, scopes, created_at, expires_at)
    SELECT ${token.tokenHash}, ${token.kind}, id, coalesce(${
    token.scopes?.join(" ") ?? null
  }, scopes), ${token.now},
      ${token.expiresAt}
    FROM oauth_grants WHERE id = ${token.grantId} AND ${condition} ON CONFLICT DO NOTHING`;
}

/** Deletes some tokens and some grants that have expired. */
export const deleteOldTokens = (now: number): Statement[] => [
  sql`DELETE FROM oauth_tokens WHERE token_hash IN (SELECT token_hash FROM oauth_tokens WHERE expires_at <= ${now}
    ORDER BY expires_at LIMIT ${expiredRowsMax})`,
  sql`DELETE FROM oauth_grants WHERE id IN (SELECT id FROM oauth_grants WHERE offline_until <= ${now}
    ORDER BY offline_until LIMIT ${expiredRowsMax})`,
];

/**
 * Deletes grants of the same session, client, organization and resource as a new one, beyond a maximum: first those without tokens, then
 * the oldest.
 */
export const deleteGrantsBefore = (grantId: string): Statement =>
  sql`DELETE FROM oauth_grants WHERE id IN (SELECT g.id FROM oauth_grants n CROSS JOIN oauth_grants g ON g.session_id = n.session_id
    WHERE n.id = ${grantId} AND +g.client_id = n.client_id AND g.organization_id IS n.organization_id
      AND +g.resource_id IS n.resource_id
    ORDER BY EXISTS (SELECT 1 FROM oauth_tokens t WHERE t.grant_id = g.id) DESC, g.created_at DESC, g.id DESC
    LIMIT ${expiredRowsMax} OFFSET ${grantsOfSessionMax})`;

/** Ends everything that people and applications are signed in with. */
export const endAllSessions: readonly Statement[] = [
  deleteAllPendingSignIns,
  sql`DELETE FROM sessions`,
  sql`DELETE FROM portal_sessions`,
  sql`DELETE FROM oauth_codes`,
  sql`DELETE FROM oauth_devices`,
  sql`DELETE FROM oauth_grants`,
];

/** Ends a grant with its tokens. */
export const deleteGrant = (grantId: string): Statement =>
  sql`DELETE FROM oauth_grants WHERE id = ${grantId}`;

/**
 * Replaces a refresh token. The last of the statements inserts the access token: it changes a row only if the refresh token was
 * unused, or was used a moment ago and its successor never was. Any other reuse ends the grant.
 *
 * @param used `tokenHash`: of the presented token.
 */
export function rotateRefreshToken(
  used: { readonly tokenHash: string; readonly sessionId: string; readonly bounds: SessionBounds },
  { refresh, access }: { readonly refresh: NewToken; readonly access: NewToken },
): Statement[] {
  const { tokenHash, sessionId, bounds } = used;
  const { now } = bounds;
  const presented = sql`oauth_tokens p WHERE p.token_hash = ${tokenHash} AND p.kind = 'refresh'`;
  const isFirstUse = sql`EXISTS (SELECT 1 FROM ${presented} AND p.successor_hash = ${refresh.tokenHash}
    AND p.used_at > ${now - refreshAgainMs} AND NOT EXISTS (SELECT 1 FROM oauth_tokens n
      WHERE n.token_hash = p.successor_hash AND n.used_at IS NOT NULL))`;
  return [
    sql`UPDATE oauth_tokens SET used_at = ${now}, successor_hash = ${refresh.tokenHash}
      WHERE token_hash = ${tokenHash} AND kind = 'refresh' AND used_at IS NULL AND expires_at > ${now}
        AND EXISTS (SELECT 1 FROM ${grantTables} WHERE g.id = oauth_tokens.grant_id AND ${
      liveGrant(bounds)
    })`,
    sql`DELETE FROM oauth_grants WHERE id = ${refresh.grantId} AND EXISTS (SELECT 1 FROM ${presented}
      AND p.used_at IS NOT NULL) AND NOT (${isFirstUse})`,
    insertToken(refresh, isFirstUse),
    sql`${updateSessionSeen(sessionId, now)} AND ${isFirstUse}`,
    insertToken(access, isFirstUse),
  ];
}
