// Tells which client sends a request to an endpoint of programs: with its secret, or as a public client with its id alone.
import { timingSafeEqual } from "node:crypto";
import { findClient, type StoredClient } from "../../db/oauth/clients.ts";
import type { ClientInfo } from "../../domain/access/actor.ts";
import { OAuthError } from "../../domain/oauth/oauth_error.ts";
import { hashSecretToken } from "../../domain/secret_token.ts";
import type { Context } from "../context.ts";
import type { RateLimitState } from "../rate_limiter.ts";

export interface ClientCredentials {
  readonly id: string;
  /** Null without a secret. */
  readonly secret: string | null;
}

/**
 * Reads the credentials of a request: HTTP Basic, or fields of its form.
 *
 * @param authorization The header.
 * @throws {OAuthError} `invalid_client` without any, `invalid_request` for both.
 */
export function readClientCredentials(
  authorization: string | undefined,
  form: ReadonlyMap<string, string>,
): ClientCredentials {
  const [, basic] = /^Basic ([\w+/=-]+)$/i.exec(authorization ?? "") ?? [];
  const id = form.get("client_id");
  const secret = form.get("client_secret");
  if (basic === undefined) {
    if (id === undefined || authorization !== undefined) throw invalidClientError();
    return { id, secret: secret ?? null };
  }
  const [name, password] = decodeBasic(basic);
  if (secret !== undefined || id !== undefined && id !== name) {
    throw new OAuthError("invalid_request", "Send the client's credentials once.");
  }
  return { id: name, secret: password };
}

/** Both parts are encoded as in forms (RFC 6749, section 2.3.1). */
function decodeBasic(text: string): [string, string] {
  const bytes = Uint8Array.from(base64Bytes(text));
  const pair = new TextDecoder().decode(bytes);
  const colon = pair.indexOf(":");
  if (colon === -1) throw invalidClientError();
  try {
    const decode = (part: string) => decodeURIComponent(part.replaceAll("+", " "));
    return [decode(pair.slice(0, colon)), decode(pair.slice(colon + 1))];
  } catch {
    throw invalidClientError();
  }
}

function base64Bytes(text: string): number[] {
  try {
    return [...atob(text)].map((character) => character.charCodeAt(0));
  } catch {
    throw invalidClientError();
  }
}

/**
 * Returns the client of a request. Wrong secrets are limited by client and address, so that nobody locks a client out.
 *
 * @throws {OAuthError} `invalid_client`.
 */
export async function authenticateClient(
  { database, rateLimits: { clientSecrets } }: Pick<Context, "database" | "rateLimits">,
  { id, secret }: ClientCredentials,
  from: ClientInfo,
): Promise<StoredClient> {
  const client = await findClient(database, id);
  if (client === undefined || !client.enabled) throw invalidClientError();
  if (client.secretHash === null) {
    if (secret !== null && secret !== "") throw invalidClientError();
    return client;
  }
  const isRight = secret !== null && isSameHash(hashSecretToken(secret), client.secretHash);
  if (!isRight) throw wrongSecretError(clientSecrets.take(from, `${client.id} `));
  return client;
}

/** @param state Of the limit, after the wrong secret was counted. */
export function wrongSecretError({ isAllowed }: RateLimitState): OAuthError {
  return isAllowed
    ? invalidClientError()
    : new OAuthError("temporarily_unavailable", "Too many wrong secrets. Try again in a minute.");
}

/** Compares hashes, in constant time. */
export function isSameHash(a: string, b: string): boolean {
  const encoder = new TextEncoder();
  const [left, right] = [encoder.encode(a), encoder.encode(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

export const invalidClientError = () =>
  new OAuthError("invalid_client", "The client is unknown or its secret is wrong.");
