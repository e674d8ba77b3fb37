// Exchanges codes and refresh tokens for tokens, and looks access tokens up.
import { createHmac, hash, randomBytes } from "node:crypto";
import type { JWTPayload } from "jose";
import { findCode, type StoredCode, useCode } from "../../db/oauth/codes.ts";
import { findClient, type StoredClient } from "../../db/oauth/clients.ts";
import {
  deleteGrant,
  deleteGrantsBefore,
  deleteOldTokens,
  findToken,
  findTokenOfCode,
  type FoundToken,
  foundToken,
  insertGrantOfCode,
  insertToken,
  type NewToken,
  rotateRefreshToken,
  selectToken,
} from "../../db/oauth/tokens.ts";
import { newId } from "../../domain/id.ts";
import { claimsOf } from "../../domain/oauth/claims.ts";
import { accessTokenMs, idTokenMs, jwtAccessTokenMs, offlineMs } from "../../domain/oauth/oauth_limits.ts";
import { OAuthError } from "../../domain/oauth/oauth_error.ts";
import { type Form, requireParameter } from "../../domain/oauth/program_form.ts";
import { comparedUri } from "../../domain/oauth/resource_uri.ts";
import { parseScopes } from "../../domain/oauth/scope_names.ts";
import {
  generateSecretToken,
  hashSecretToken,
  isWellFormedSecretToken,
  secretTokenOf,
} from "../../domain/secret_token.ts";
import { hashToken, sessionBounds, sessionMaxMs } from "../access/mod.ts";
import type { Context } from "../context.ts";
import { isSameHash } from "./client_authentication.ts";

/** The response of the token endpoint (RFC 6749, section 5.1). */
export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: "Bearer";
  readonly expires_in: number;
  readonly scope: string;
  readonly refresh_token?: string;
  readonly id_token?: string;
}

type TokenContext = Pick<Context, "config" | "database" | "clock" | "signingKeys">;

/** The start of access and refresh tokens. Unlike keys, older ones with another `KEY_PREFIX` end: clients refresh or ask again. */
const tagOf = ({ config }: Pick<Context, "config">, kind: "access" | "refresh") =>
  `${config.keyPrefix}_${kind}_`;

/**
 * Exchanges a code (RFC 6749, section 4.1.3). A second use by the client ends what the first received.
 *
 * @throws {OAuthError} `invalid_grant`, `invalid_request`, `invalid_target`.
 */
export async function exchangeCode(
  context: TokenContext,
  client: StoredClient,
  form: Form,
): Promise<TokenResponse> {
  const { database, clock } = context;
  const codeHash = hashToken(requireParameter(form, "code"));
  const code = await findCode(database, codeHash);
  if (code === undefined || code.clientId !== client.id) throw invalidGrantError("The code is invalid.");
  checkCode(code, form);
  const now = clock();
  const { grant, access, refresh, inserts } = newGrant(context, client, now);
  const bounds = sessionBounds(context.config, now);
  const { nonce, usedAt } = code;
  const signing = usedAt === null
    ? signAhead(context, client, { found: await findTokenOfCode(database, codeHash, bounds), nonce, now })
    : null;
  const writing = usedAt === null
    ? database.write([
      useCode(codeHash, grant),
      insertGrantOfCode(grant, codeHash),
      ...inserts,
      ...deleteOldTokens(now),
      selectToken(access.row.tokenHash, bounds),
    ])
    : [];
  const [results, ahead] = await Promise.all([writing, signing]);
  if (results[0]?.changes !== 1) {
    const { grantId: first } = await findCode(database, codeHash) ?? code;
    if (first !== null) await database.write([deleteGrant(first)]);
    throw invalidGrantError("The code was used, or has expired.");
  }
  const found = foundToken(results.at(-1)?.rows[0]);
  if (found === undefined) throw invalidGrantError("The access has ended.");
  return await respond(context, client, { found, access: access.token, refresh, nonce, now, ahead });
}

/** Returns a new grant with its tokens, and the statements that insert the tokens after the grant. */
export function newGrant(context: TokenContext, client: StoredClient, now: number) {
  const grantId = newId("grt", now);
  const access = newAccessToken(context, { grantId, scopes: null, now });
  const refresh = client.grants.includes("refresh_token") ? newRefreshToken(context, { grantId, now }) : null;
  return {
    grant: { grantId, refreshSecret: randomBytes(32).toString("base64url"), now },
    access,
    refresh: refresh?.token,
    inserts: [
      insertToken(access.row),
      ...(refresh === null ? [] : [insertToken(refresh.row)]),
      deleteGrantsBefore(grantId),
    ],
  };
}

/** A signed ID token. `text`: its claims and its algorithm. */
interface SignedAhead {
  readonly text: string;
  readonly token: string;
}

/**
 * Signs the ID token of a code that may not work, because that takes as long as the commit. The result may only be used if the claims
 * are the same after it.
 */
async function signAhead(
  { config, signingKeys }: TokenContext,
  client: StoredClient,
  { found, ...about }: { found: FoundToken | undefined; nonce: string | null; now: number },
): Promise<SignedAhead | null> {
  if (found === undefined || !found.scopes.includes("openid")) return null;
  const claims = idTokenClaims(config, client, { found, ...about });
  const alg = found.idTokenAlgorithm;
  const token = await signingKeys.sign(claims, { alg, typ: "JWT" });
  return { text: JSON.stringify([claims, alg]), token };
}

/** @throws {OAuthError} If the request doesn't belong to the code. Nothing ends: the code may have been stolen. */
function checkCode(code: StoredCode, form: Form): void {
  const redirectUri = form.get("redirect_uri");
  const needsRedirect = code.scopes.split(" ").includes("openid");
  if (redirectUri === undefined ? needsRedirect : redirectUri !== code.redirectUri) {
    throw invalidGrantError("The parameter redirect_uri differs from that of the authorization.");
  }
  const verifier = form.get("code_verifier");
  const isProved = code.challenge === null
    ? verifier === undefined
    : verifier !== undefined && /^[\w.~-]{43,128}$/.test(verifier) &&
      isSameHash(hash("sha256", verifier, "base64url"), code.challenge);
  if (!isProved) throw invalidGrantError("The parameter code_verifier is wrong.");
  requireSameResource(form.get("resource"), code.resourceUri);
}

function requireSameResource(given: string | undefined, uri: string | null): void {
  if (given === undefined) return;
  if (uri === null || comparedUri(given) !== comparedUri(uri)) {
    throw new OAuthError("invalid_target", "The access is for another resource.");
  }
}

/**
 * Exchanges a refresh token for its successor and an access token. A repeat within seconds gets the same successor, until that was
 * used; any other reuse ends the grant.
 *
 * @throws {OAuthError} `invalid_grant`, `invalid_request`, `invalid_scope`, `invalid_target`.
 */
export async function refreshTokens(
  context: TokenContext,
  client: StoredClient,
  form: Form,
): Promise<TokenResponse> {
  const { config, database, clock } = context;
  const given = requireParameter(form, "refresh_token");
  const bounds = sessionBounds(config, clock());
  const { now } = bounds;
  const found = await findOfKind(context, given, "refresh");
  if (found === undefined || found.clientId !== client.id) {
    throw invalidGrantError("The refresh token is invalid, or the access has ended.");
  }
  requireSameResource(form.get("resource"), found.resource?.uri ?? null);
  const asked = form.has("scope") ? parseScopes(form.get("scope")) : null;
  if (asked?.some((scope) => !found.grantScopes.includes(scope))) {
    throw new OAuthError("invalid_scope", "The scope is wider than the one that was granted.");
  }
  const { grantId, sessionId } = found;
  const refresh = newRefreshToken(context, {
    grantId,
    now,
    from: { token: given, secret: found.refreshSecret },
  });
  const access = newAccessToken(context, { grantId, scopes: asked, now });
  const results = await database.write([
    ...deleteOldTokens(now),
    ...rotateRefreshToken({ tokenHash: hashSecretToken(given), sessionId, bounds }, {
      refresh: refresh.row,
      access: access.row,
    }),
  ]);
  if (results.at(-1)?.changes !== 1) throw invalidGrantError("The refresh token was used before.");
  const scopes = asked ?? found.grantScopes;
  return await respond(context, client, {
    found: { ...found, scopes },
    access: access.token,
    refresh: refresh.token,
    nonce: null,
  });
}

interface IssuedToken {
  readonly token: string;
  readonly row: NewToken;
}

function newAccessToken(
  context: TokenContext,
  { grantId, scopes, now }: Pick<NewToken, "grantId" | "scopes" | "now">,
): IssuedToken {
  const { token } = generateSecretToken(tagOf(context, "access"));
  const tokenHash = hashSecretToken(token);
  return { token, row: { tokenHash, kind: "access", grantId, scopes, now, expiresAt: now + accessTokenMs } };
}

/** @param options `from`: the token that it replaces, with the secret of the grant. */
function newRefreshToken(
  context: TokenContext,
  { grantId, now, from }: { grantId: string; now: number; from?: { token: string; secret: string } },
): IssuedToken {
  const tag = tagOf(context, "refresh");
  const token = from === undefined
    ? generateSecretToken(tag).token
    : secretTokenOf(tag, createHmac("sha256", from.secret).update(from.token).digest());
  const expiresAt = now + Math.max(offlineMs, sessionMaxMs(context.config));
  return {
    token,
    row: { tokenHash: hashSecretToken(token), kind: "refresh", grantId, scopes: null, now, expiresAt },
  };
}

async function findOfKind(
  context: Pick<Context, "config" | "database" | "clock">,
  token: string,
  kind: "access" | "refresh",
): Promise<FoundToken | undefined> {
  const { config, database, clock } = context;
  if (!isWellFormedSecretToken(tagOf(context, kind), token)) return undefined;
  const found = await findToken(database, hashSecretToken(token), sessionBounds(config, clock()));
  return found?.kind === kind ? found : undefined;
}

/** Returns the claims of the person of an access token. @throws {OAuthError} `invalid_token`, `insufficient_scope`. */
export async function readUserinfo(
  context: Pick<Context, "config" | "database" | "clock">,
  token: string,
): Promise<object> {
  const found = await findOfKind(context, token, "access");
  // Tokens for resources are theirs alone.
  const client = found?.resource === null ? await findClient(context.database, found.clientId) : undefined;
  if (found === undefined || client === undefined) {
    throw new OAuthError("invalid_token", "The access token is invalid, or the access has ended.");
  }
  if (!found.scopes.includes("openid")) {
    throw new OAuthError("insufficient_scope", "The scope openid is missing.");
  }
  const { access, groupNames } = client;
  return claimsOf(found, { scopes: found.scopes, access, groupNames });
}

/** Builds the response with new tokens; the ID token, and access tokens that the resource reads itself, are signed. */
export async function respond(
  { config, clock, signingKeys }: TokenContext,
  client: StoredClient,
  { found, access, refresh, nonce, now = clock(), ahead = null }: {
    found: FoundToken;
    access: string;
    refresh: string | undefined;
    nonce: string | null;
    now?: number;
    ahead?: SignedAhead | null;
  },
): Promise<TokenResponse> {
  const { scopes, resource, userId, idTokenAlgorithm: alg } = found;
  const iat = seconds(now);
  const isJwt = resource?.tokenFormat === "jwt";
  const expiresIn = seconds(isJwt ? jwtAccessTokenMs : accessTokenMs);
  const jwt = {
    iss: config.baseUrl.origin,
    sub: userId,
    aud: resource?.uri ?? "",
    client_id: client.id,
    iat,
    exp: iat + expiresIn,
    jti: newId("grt"),
    scope: scopes.join(" "),
    organization: found.organization,
  };
  const idToken = async () => {
    const claims = idTokenClaims(config, client, { found, nonce, now });
    const isSame = ahead?.text === JSON.stringify([claims, alg]);
    return await (isSame ? ahead?.token : signingKeys.sign(claims, { alg, typ: "JWT" }));
  };
  return {
    access_token: isJwt ? await signingKeys.sign(jwt, { alg: "RS256", typ: "at+jwt" }) : access,
    token_type: "Bearer",
    expires_in: expiresIn,
    scope: scopes.join(" "),
    ...(refresh === undefined ? {} : { refresh_token: refresh }),
    ...(scopes.includes("openid") ? { id_token: await idToken() } : {}),
  };
}

function idTokenClaims(
  { baseUrl }: TokenContext["config"],
  { id, access, groupNames }: StoredClient,
  { found, nonce, now }: { found: FoundToken; nonce: string | null; now: number },
): JWTPayload {
  const iat = seconds(now);
  return {
    ...claimsOf(found, { scopes: found.scopes, access, groupNames }),
    iss: baseUrl.origin,
    aud: id,
    iat,
    exp: iat + seconds(idTokenMs),
    sid: found.sessionId,
    auth_time: seconds(found.authTime),
    ...(found.amr === null ? {} : { amr: found.amr.split(" ") }),
    ...(nonce === null ? {} : { nonce }),
  };
}

const seconds = (ms: number): number => Math.floor(ms / 1_000);

const invalidGrantError = (message: string) => new OAuthError("invalid_grant", message);
