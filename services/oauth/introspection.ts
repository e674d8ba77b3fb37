// Introspection (RFC 7662) and revocation (RFC 7009): whether a token works now, told only to those whom it concerns.
import {
  findTokens,
  type FoundCaller,
  type FoundToken,
  revokeToken,
  type TokenQuestion,
} from "../../db/oauth/introspection.ts";
import type { ClientInfo } from "../../domain/access/actor.ts";
import { apiKeyStatus } from "../../domain/keys/api_key.ts";
import { keyLookup } from "../../domain/keys/imported_key.ts";
import { hashSecretToken } from "../../domain/secret_token.ts";
import { isAllowedFrom } from "../address_blocks.ts";
import { acceptOperatorToken, sessionBounds } from "../access/mod.ts";
import type { BaseContext } from "../base_context.ts";
import type { Context } from "../context.ts";
import { GatheredReads } from "../gathered_reads.ts";
import { type ClientCredentials, wrongSecretError } from "./client_authentication.ts";

/** The response about a token that doesn't work, or doesn't concern the caller. */
const inactive = { active: false } as const;

export type Introspection = typeof inactive | Readonly<Record<string, unknown>> & { readonly active: true };

/** Questions of one read, as of verifications of keys. */
const questionsPerReadMax = 100;

/** Finds tokens, those of concurrent requests with one read. */
export class TokenSearch {
  readonly #reads: GatheredReads<TokenQuestion, ReadonlyMap<TokenQuestion, FoundCaller>>;

  constructor({ config, database, clock }: BaseContext) {
    this.#reads = new GatheredReads(
      (questions) => findTokens(database, questions, sessionBounds(config, clock())),
      questionsPerReadMax,
    );
  }

  async find(question: TokenQuestion): Promise<FoundCaller> {
    return (await this.#reads.find([question])).get(question) as FoundCaller;
  }
}

/** The credentials of a client or a resource, and where they come from. */
interface Credentials extends Pick<ClientCredentials, "id" | "secretHash"> {
  readonly client: ClientInfo;
}

/**
 * Describes a token for the resource that it is for, or the client that has it.
 *
 * @throws {OAuthError} `invalid_client` for wrong credentials.
 */
export async function introspectToken(
  { config, tokenSearch, rateLimits: { clientSecrets } }: Context,
  { id, secretHash, client }: Credentials,
  token: string,
): Promise<Introspection> {
  const found = await tokenSearch.find([id, secretHash ?? "", hashSecretToken(token)]);
  if (found.resourceId === null && found.clientId === null) {
    throw wrongSecretError(clientSecrets.take(client, `${id} `));
  }
  const isOwn = found.resourceId === null
    ? found.token?.clientId === found.clientId
    : found.token?.kind === "access" && found.token.resource?.id === found.resourceId;
  return found.token !== null && isOwn ? described(found.token, config.baseUrl.origin) : inactive;
}

/**
 * Describes a token or an API key for an operator token, as far as its scopes permit.
 *
 * @throws {AppError} `invalid_operator_token`, `scope_missing` for a token with neither of the scopes.
 */
export async function introspectForOperator(
  context: Context,
  { tokenHash, client }: { tokenHash: string; client: ClientInfo },
  token: string,
): Promise<Introspection> {
  const { config, credentialSearch, tokenSearch } = context;
  const keyHash = keyLookup(token)?.keyHash ?? null;
  const found = await credentialSearch.find({ tokenHash, keyHash, series: [] });
  acceptOperatorToken(context, found.token, { scope: ["tokens:introspect", "keys:verify"], client });
  const scopes: readonly string[] = JSON.parse(found.token?.scopes ?? "[]");
  const { key } = found;
  if (key !== undefined) {
    // It is unknown where the key was used from.
    const works = apiKeyStatus(key, found.now) === "active" && !key.isDisabled &&
      isAllowedFrom(key.addresses, { address: null });
    const { organization } = key;
    if (!scopes.includes("keys:verify") || !works || organization === null || organization.isSuspended) {
      return inactive;
    }
    return {
      active: true,
      client_id: key.id,
      scope: key.permissions.join(" "),
      token_type: "api_key",
      ...(key.expiresAt === null ? {} : { exp: Math.floor(key.expiresAt / 1000) }),
      organization: { id: organization.id, name: organization.name },
    };
  }
  if (!scopes.includes("tokens:introspect")) return inactive;
  const { token: row } = await tokenSearch.find(["", "", hashSecretToken(token)]);
  return row === null ? inactive : described(row, config.baseUrl.origin);
}

function described(token: FoundToken, issuer: string): Introspection {
  const { organization, resource } = token;
  return {
    active: true,
    iss: issuer,
    sub: token.userId,
    client_id: token.clientId,
    aud: resource?.uri ?? issuer,
    scope: token.scopes,
    token_type: token.kind === "access" ? "Bearer" : "refresh_token",
    iat: Math.floor(token.createdAt / 1000),
    exp: Math.floor(token.expiresAt / 1000),
    organization,
  };
}

/**
 * Revokes a token of a client. With another client's token, nothing happens, and the response is the same.
 *
 * @param clientId An authenticated client, or a public one, whose tokens are the proof.
 */
export async function revokeClientToken(
  { database }: Context,
  clientId: string,
  token: string,
): Promise<void> {
  await database.write(revokeToken(hashSecretToken(token), clientId));
}
