// Looks up tokens of applications: one read, with everything that decides whether a token still works.
import type { Role } from "../../domain/access/session.ts";
import type { SessionBounds } from "../access/mod.ts";
import { bind, type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { grantTables, liveGrant } from "./tokens.ts";

/** A token that works, with the person and the organization that it speaks for. */
export interface FoundToken {
  readonly clientId: string;
  readonly userId: string;
  /** With spaces between them. */
  readonly scopes: string;
  /** Null for tokens of userinfo. */
  readonly resource: { readonly id: string; readonly uri: string } | null;
  readonly organization: {
    readonly id: string;
    readonly name: string;
    readonly role: Role;
  } | null;
  readonly kind: "access" | "refresh";
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** A token, and the caller that asks about it: a resource or a client, both null if the secret is wrong. */
export interface FoundCaller {
  readonly resourceId: string | null;
  readonly clientId: string | null;
  readonly token: FoundToken | null;
}

/** One question: the caller's id, the hash of its secret, and the hash of the token. */
export type TokenQuestion = readonly [caller: string, secretHash: string, tokenHash: string];

type TokenRow = [
  clientId: string,
  userId: string,
  scopes: string,
  resource: [id: string, uri: string] | null,
  organization: [id: string, name: string, role: Role] | null,
  kind: "access" | "refresh",
  createdAt: number,
  expiresAt: number,
];

const bounds = { createdAfter: sql`?2`, seenAfter: sql`?3`, now: sql`?4` };

/** Selects a JSON list: the resource and the client that ask, and the token. */
const answer = (
  { caller, secretHash, tokenHash }: Record<"caller" | "secretHash" | "tokenHash", Statement>,
) =>
  sql`json_array(
    (SELECT a.id FROM oauth_resources a WHERE a.id = ${caller} AND a.secret_hash = ${secretHash}),
    (SELECT a.id FROM oauth_clients a WHERE a.id = ${caller} AND a.secret_hash = ${secretHash}
      AND a.disabled_at IS NULL),
    (SELECT json_array(g.client_id, g.user_id, t.scopes, iif(r.id IS NULL, NULL, json_array(r.id, r.uri)),
        iif(o.id IS NULL, NULL, json_array(o.id, o.name, m.role)), t.kind, t.created_at, t.expires_at)
      FROM oauth_tokens t CROSS JOIN ${grantTables}
      WHERE t.token_hash = ${tokenHash} AND g.id = t.grant_id AND t.expires_at > ?4 AND t.used_at IS NULL
        AND ${liveGrant(bounds)}))`;

// Built once. A list of one takes longer than the first does.
const selectOne = sql`SELECT json_array(${
  answer({ caller: sql`?1`, secretHash: sql`?5`, tokenHash: sql`?6` })
}) AS rows`;
const selectMany = sql`SELECT json_group_array(${
  answer({
    caller: sql`(q.value ->> 0)`,
    secretHash: sql`(q.value ->> 1)`,
    tokenHash: sql`(q.value ->> 2)`,
  })
}) AS rows FROM json_each(?1) q`;

/** Finds tokens, in the order of the questions. Read each time, so that nothing is stale. */
export async function findTokens(
  database: DatabaseReader,
  questions: readonly TokenQuestion[],
  { createdAfter, seenAfter, now }: SessionBounds,
): Promise<FoundCaller[]> {
  const [first, second] = questions;
  if (first === undefined) return [];
  const times = [createdAfter, seenAfter, now] as const;
  const found = await database.readFirst<{ rows: string }>(
    second === undefined
      ? bind(selectOne, first[0], ...times, first[1], first[2])
      : bind(selectMany, JSON.stringify(questions), ...times),
  );
  const rows = JSON.parse(found?.rows ?? "[]") as [string | null, string | null, TokenRow | null][];
  return rows.map(([resourceId, clientId, token]) => ({
    resourceId,
    clientId,
    token: token && toToken(token),
  }));
}

function toToken(
  [clientId, userId, scopes, resource, organization, kind, createdAt, expiresAt]: TokenRow,
): FoundToken {
  return {
    clientId,
    userId,
    scopes,
    resource: resource && { id: resource[0], uri: resource[1] },
    organization: organization && {
      id: organization[0],
      name: organization[1],
      role: organization[2],
    },
    kind,
    createdAt,
    expiresAt,
  };
}

/**
 * Revokes a token of a client: an access token alone, a refresh token with everything that came from the same grant. Does nothing to
 * tokens of other clients.
 */
export function revokeToken(tokenHash: string, clientId: string): Statement[] {
  const own = sql`SELECT t.grant_id FROM oauth_tokens t JOIN oauth_grants g ON g.id = t.grant_id
    WHERE t.token_hash = ${tokenHash} AND g.client_id = ${clientId}`;
  return [
    sql`DELETE FROM oauth_grants WHERE id IN (${own} AND t.kind = 'refresh')`,
    sql`DELETE FROM oauth_tokens WHERE token_hash = ${tokenHash} AND grant_id IN (${own})`,
  ];
}
