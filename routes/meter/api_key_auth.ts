// Authenticates requests by API key (`Authorization: Bearer`) and limits their rate. Only the key's hash leaves this file.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { AppError, type ErrorCode, invalidApiKeyError } from "../../domain/errors.ts";
import { type KeyLookup, keyLookup } from "../../domain/keys/imported_key.ts";
import { countOf } from "../../domain/number_text.ts";
import { noteLimitedApiKey } from "../../services/access/mod.ts";
import {
  type CountedRequest,
  countRequest,
  findKeyError,
  type KeyAccess,
  keyAccess,
  requireApiKey,
} from "../../services/meter/mod.ts";
import type { Services } from "../../services/services.ts";
import { beforeLargeBody } from "../body.ts";
import type { AppContext, AppEnv, AppParts } from "../env.ts";
import { bearerToken, limitRejected, rateLimited } from "../api/bearer.ts";
import { mount, type MountRoute } from "../api/endpoint.ts";

/** Errors that don't depend on the content of the request. */
const keyErrors: ReadonlySet<ErrorCode> = new Set([
  "invalid_api_key",
  "organization_suspended",
  "permission_missing",
  "rate_limited",
  "unavailable",
]);

/** Returns the options of {@linkcode mount} for routes that accept API keys. `allowsSuspended`: also those of suspended organizations. */
export function apiKeyAuth({ services }: AppParts, options: { readonly allowsSuspended?: boolean } = {}) {
  const { rejectedApiKeys } = services.rateLimits;

  const requireActive = async (c: AppContext, keyHash: string) =>
    void await requireApiKey(services, keyHash, { client: c.get("client"), ...options });

  const hasSentInvalidKeys = (c: AppContext) =>
    !rejectedApiKeys.isUnused && !rejectedApiKeys.peek(c.get("client")).isAllowed;

  return {
    /** Returns the key's hash. @throws {AppError} `invalid_api_key`, `organization_suspended`, `rate_limited`. */
    async authenticate(c: AppContext): Promise<string> {
      const lookup = bearerKey(c);
      const { keyHash } = lookup;
      const request = await countRequest(services, lookup, c.get("client"));
      if (request === undefined) {
        c.set("invalidKey", keyHash);
        throw invalidApiKeyError();
      }
      // From here on, the key has authenticated the request: a rejected one is a use, too.
      c.set("keyRequest", request);
      // Usually recording checks the key. It is looked up earlier if the body is large, or if the address has sent many
      // invalid keys.
      if (hasSentInvalidKeys(c)) await requireActive(c, keyHash);
      else await beforeLargeBody(c, () => requireActive(c, keyHash));
      requireAllowed(c, services, request);
      return keyHash;
    },
    /** Callers without a working key learn nothing about the rest of the request. Also limits invalid keys by address. */
    async onError(c: AppContext, error: unknown): Promise<unknown> {
      if (!(error instanceof AppError)) return error;
      const keyError = keyErrors.has(error.code)
        ? error
        : await findKeyError(services, bearerKey(c).keyHash, { client: c.get("client"), ...options });
      if (keyError?.code !== "invalid_api_key") return keyError ?? error;
      c.set("invalidKey", c.get("keyRequest")?.keyHash ?? c.get("invalidKey"));
      return limitRejected(services, c, keyError, "API keys");
    },
  };
}

/** Mounts routes that accept API keys, and whose handlers get the key's access. */
export function keyRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): MountRoute<KeyAccess> {
  const { authenticate, onError } = apiKeyAuth(parts);
  return (endpoint, handle) =>
    mount(app, { tag: "Usage", security: "apiKey", ...endpoint }, {
      authenticate: async (c) => await keyAccess(parts.services, await authenticate(c), c.get("client")),
      onError,
      handle,
    });
}

/** Sets the rate limit headers (draft-ietf-httpapi-ratelimit-headers). @throws {AppError} `rate_limited`. */
function requireAllowed(c: AppContext, services: Services, { keyHash, limit }: CountedRequest): void {
  if (limit === null) return;
  const { perSecond, state } = limit;
  c.set("responseHeaders", [
    ["ratelimit", `"key";r=${Math.max(0, state.remaining)};t=${Math.ceil(state.resetMs / 1000)}`],
    ["ratelimit-policy", `"key";q=${perSecond};w=1`],
  ]);
  if (state.isAllowed) return;
  noteLimitedApiKey(services, keyHash, c.get("client"));
  throw rateLimited(state, `This key is limited to ${countOf(perSecond, "request")} per second.`);
}

function bearerKey(c: AppContext): KeyLookup {
  const { authorization, "x-api-key": misplaced } = c.get("headers");
  const lookup = keyLookup(bearerToken(authorization) ?? "");
  if (lookup === null) throw invalidApiKeyError(authorization === undefined && misplaced !== undefined);
  return lookup;
}
