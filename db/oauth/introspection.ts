// Looks up tokens of applications: one read, with everything that decides whether a token still works.
import type { SessionBounds } from "../access/mod.ts";
import { bind, type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import {
  type FoundToken as GrantedToken,
  grantTables,
  liveGrant,
  organizationJson,
  resourceJson,
} from "./tokens.ts";

/** A token that works, with the person and the organization that it speaks for. */
export interface FoundToken extends
  Pick<
    GrantedToken,
    "kind" | "clientId" | "userId" | "resource" | "organization" | "createdAt" | "expiresAt"
  > {
  /** With spaces between them. */
  readonly scopes: string;
}

/** A token, and the caller that asks about it: a resource or a client, both null if the secret is wrong. */
export interface FoundCaller {
  readonly resourceId: string | null;
  readonly clientId: string | null;
  readonly token: FoundToken | null;
}

/** One question: the caller's id, the hash of its secret, and the hash of the token. */
export type TokenQuestion = readonly [caller: string, secretHash: string, tokenHash: string];

type CallerRow = [id: string, secretHash: string | null];
type TokenRow = FoundToken & { readonly hash: string };

const bounds = { createdAfter: sql`?3`, seenAfter: sql`?4`, now: sql`?5` };

/** Selects JSON lists of the resources and the clients that ask, and of the tokens: each once, however many ask. */
const select = (isCaller: Statement, isToken: Statement) =>
  sql`SELECT json_array(
    (SELECT json_group_array(json_array(a.id, a.secret_hash)) FROM oauth_resources a WHERE a.id ${isCaller}),
    (SELECT json_group_array(json_array(a.id, a.secret_hash)) FROM oauth_clients a WHERE a.id ${isCaller}
      AND a.disabled_at IS NULL),
    (SELECT json_group_array(json_object('hash', t.token_hash, 'clientId', g.client_id, 'userId', g.user_id,
        'scopes', t.scopes, 'resource', ${resourceJson}, 'organization', ${organizationJson}, 'kind', t.kind,
        'createdAt', t.created_at, 'expiresAt', t.expires_at))
      FROM oauth_tokens t CROSS JOIN ${grantTables}
      WHERE t.token_hash ${isToken} AND g.id = t.grant_id AND t.expires_at > ?5 AND t.used_at IS NULL
        AND ${liveGrant(bounds)})) AS rows`;

// Built once. A list of one takes longer than the first does.
const selectOne = select(sql`= ?1`, sql`= ?2`);
const selectMany = select(
  sql`IN (SELECT value FROM json_each(?1))`,
  sql`IN (SELECT value FROM json_each(?2))`,
);

/** Finds the answers to questions. Read each time, so that nothing is stale. */
export async function findTokens(
  database: DatabaseReader,
  questions: readonly TokenQuestion[],
  { createdAfter, seenAfter, now }: SessionBounds,
): Promise<ReadonlyMap<TokenQuestion, FoundCaller>> {
  const callers = [...new Set(questions.map(([caller]) => caller))];
  const hashes = [...new Set(questions.map(([, , tokenHash]) => tokenHash))];
  const times = [createdAfter, seenAfter, now] as const;
  const found = await database.readFirst<{ rows: string }>(
    callers.length === 1 && hashes.length === 1
      ? bind(selectOne, callers[0] ?? "", hashes[0] ?? "", ...times)
      : bind(selectMany, JSON.stringify(callers), JSON.stringify(hashes), ...times),
  );
  const lists = JSON.parse(found?.rows ?? "[[],[],[]]") as [CallerRow[], CallerRow[], TokenRow[]];
  const [resources, clients] = [new Map(lists[0]), new Map(lists[1])];
  const tokens = new Map(lists[2].map((token) => [token.hash, token]));
  return new Map(questions.map((question) => {
    const [caller, secretHash, tokenHash] = question;
    return [question, {
      resourceId: resources.get(caller) === secretHash ? caller : null,
      clientId: clients.get(caller) === secretHash ? caller : null,
      token: tokens.get(tokenHash) ?? null,
    }];
  }));
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
