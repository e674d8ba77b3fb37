// Tells which client sends a request to an endpoint of programs: with its secret, an assertion signed with its key, or as a public client
// with its id alone.
import { Buffer } from "node:buffer";
import { hash, timingSafeEqual } from "node:crypto";
import type { JWTPayload } from "jose";
import { findClient, type StoredClient } from "../../db/oauth/clients.ts";
import { useAssertion } from "../../db/oauth/documents.ts";
import type { ClientInfo } from "../../domain/access/actor.ts";
import { addressGroup } from "../../domain/address_group.ts";
import { AppError } from "../../domain/errors.ts";
import { assertionAlgorithms } from "../../domain/oauth/client_document.ts";
import { assertionMs, assertionToleranceMs } from "../../domain/oauth/oauth_limits.ts";
import { OAuthError } from "../../domain/oauth/oauth_error.ts";
import { hashSecretToken } from "../../domain/secret_token.ts";
import type { Context } from "../context.ts";
import type { RateLimitState } from "../rate_limiter.ts";

export interface ClientCredentials {
  readonly id: string;
  /** The SHA-256 of the secret; null without one. */
  readonly secretHash: string | null;
  /** A JWT (RFC 7523); null without one. */
  readonly assertion: string | null;
}

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/**
 * Reads the credentials of a request: HTTP Basic, or fields of its form. Nothing is checked.
 *
 * @param authorization The header.
 * @throws {OAuthError} `invalid_client` without any, `invalid_request` for both.
 */
export function readClientCredentials(
  authorization: string | undefined,
  form: ReadonlyMap<string, string>,
): ClientCredentials {
  const basic = readBasic(authorization);
  const id = form.get("client_id");
  const secret = form.get("client_secret");
  const assertion = form.get("client_assertion") ?? null;
  if (assertion !== null && (secret ?? authorization) !== undefined) throw repeatedError();
  if (assertion !== null && form.get("client_assertion_type") !== assertionType) throw invalidClientError();
  if (basic === null) {
    const name = id ?? (assertion && subjectOf(assertion));
    if (name === null || name === undefined || authorization !== undefined) throw invalidClientError();
    return { id: name, secretHash: secret === undefined ? null : hashSecretToken(secret), assertion };
  }
  if (secret !== undefined || id !== undefined && id !== basic.id) throw repeatedError();
  return { ...basic, assertion };
}

const repeatedError = () => new OAuthError("invalid_request", "Send the client's credentials once.");

/** Requests with an assertion needn't name the client again. */
function subjectOf(assertion: string): string | null {
  try {
    const claims = JSON.parse(Buffer.from(assertion.split(".")[1] ?? "", "base64url").toString());
    return typeof claims.sub === "string" ? claims.sub : null;
  } catch {
    return null;
  }
}

type BasicCredentials = Pick<ClientCredentials, "id" | "secretHash">;

/** Reads the credentials of HTTP Basic; null without them. An empty password is none. */
function readBasic(header = ""): BasicCredentials | null {
  const [, basic] = /^Basic ([\w+/=-]+)$/i.exec(header) ?? [];
  if (basic === undefined) return null;
  const [id, secret] = decodeBasic(basic);
  return { id, secretHash: secret === "" ? null : hashSecretToken(secret) };
}

/** Both parts are encoded as in forms (RFC 6749, section 2.3.1). */
function decodeBasic(text: string): [string, string] {
  const pair = Buffer.from(text, "base64").toString();
  const colon = pair.indexOf(":");
  if (colon === -1) throw invalidClientError();
  const parts: [string, string] = [pair.slice(0, colon), pair.slice(colon + 1)];
  if (!/[+%]/.test(pair)) return parts;
  try {
    const decode = (part: string) => decodeURIComponent(part.replaceAll("+", " "));
    return [decode(parts[0]), decode(parts[1])];
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
  context: AuthenticationContext,
  { id, secretHash: given, assertion }: ClientCredentials,
  from: ClientInfo,
): Promise<StoredClient> {
  const { rateLimits: { clientSecrets } } = context;
  const client = await findClient(context.database, id);
  if (client === undefined || !client.enabled) throw invalidClientError();
  const { type, secretHash } = client;
  if (type === "public") {
    if (given !== null || assertion !== null) throw invalidClientError();
    return client;
  }
  const isRight = secretHash === null
    ? assertion !== null && await isOwnAssertion(context, { id, assertion, from })
    : given !== null && isSameHash(given, secretHash);
  if (!isRight) throw wrongSecretError(clientSecrets.take(from, `${client.id} `));
  return client;
}

type AuthenticationContext = Pick<
  Context,
  "clientDocuments" | "clock" | "config" | "database" | "rateLimits"
>;

/** True for an assertion that the client signed for this service, the first time. Unknown keys are read once a minute. */
async function isOwnAssertion(
  { clientDocuments, clock, config, database }: AuthenticationContext,
  { id, assertion, from }: { id: string; assertion: string; from: ClientInfo },
): Promise<boolean> {
  const { createLocalJWKSet, errors, jwtVerify } = await import("jose");
  const { origin } = config.baseUrl;
  const now = clock();
  const verify = async (again: boolean): Promise<JWTPayload | null> => {
    const keys = await clientDocuments.keys(id, { again, place: addressGroup(from.address) });
    if (keys === null) return null;
    const { payload } = await jwtVerify(assertion, createLocalJWKSet(keys), {
      issuer: id,
      subject: id,
      audience: [origin, `${origin}/oauth/token`],
      algorithms: assertionAlgorithms,
      requiredClaims: ["exp", "jti"],
      clockTolerance: assertionToleranceMs / 1_000,
      currentDate: new Date(now),
    });
    return payload;
  };
  try {
    const payload = await verify(false).catch((error) => {
      if (error instanceof errors.JWKSNoMatchingKey) return verify(true);
      throw error;
    });
    const expiresAt = (payload?.exp ?? 0) * 1_000;
    if (payload === null || expiresAt > now + assertionMs) return false;
    const use = { clientId: id, hash: hash("sha256", String(payload.jti)) };
    const results = await database.write(
      useAssertion({ ...use, expiresAt: expiresAt + assertionToleranceMs, now }),
    );
    return results.at(-1)?.changes === 1;
  } catch (error) {
    // Its keys can't be read now, or it is none of them.
    if (error instanceof errors.JOSEError || error instanceof AppError) return false;
    throw error;
  }
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
  new OAuthError("invalid_client", "The client is unknown, or its secret or assertion is wrong.");
