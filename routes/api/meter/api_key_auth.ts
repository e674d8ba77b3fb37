// How a request proves that it has an API key: `Authorization: Bearer`. The key itself goes no further than its hash.
import { hashApiKey, isWellFormedApiKey } from "../../../domain/api_key.ts";
import { AppError, type ErrorCode, invalidApiKeyError } from "../../../domain/errors.ts";
import { beforeLargeBody } from "../../body.ts";
import type { AppContext, AppParts } from "../../env.ts";
import type { ApiKeyLimits } from "../../middleware/api_key_limits.ts";

/** What {@linkcode mount} needs of a route that takes API keys. */
export interface ApiKeyAuth {
  /** @returns The key's hash. @throws {AppError} `invalid_api_key`, `rate_limited`. */
  authenticate(c: AppContext): Promise<string>;
  /** @returns The error to answer with: what is wrong with a request is told to those who have a key that works. */
  onError(c: AppContext, error: unknown): Promise<unknown>;
}

/** Errors that say nothing of the request's content. */
const aboutTheKey: ReadonlySet<ErrorCode> = new Set(["invalid_api_key", "rate_limited", "unavailable"]);

/** @param limits How often a key may call, and an address be refused. */
export function apiKeyAuth({ services }: AppParts, limits: ApiKeyLimits): ApiKeyAuth {
  const { usage } = services;
  return {
    async authenticate(c) {
      const keyHash = bearerKeyHash(c);
      // A key is looked up before it may cost much: a large body, or anything where too many keys were rejected.
      const lookUp = async () => {
        if (!(await usage.isActiveApiKey(keyHash))) throw invalidApiKeyError();
      };
      if (limits.isSuspicious(c)) await lookUp();
      else await beforeLargeBody(c, lookUp);
      limits.admit(c, keyHash);
      return keyHash;
    },
    async onError(c, error) {
      const isAboutInput = error instanceof AppError && !aboutTheKey.has(error.code);
      const isStranger = isAboutInput && !(await usage.isActiveApiKey(bearerKeyHash(c)));
      return limits.noteFailure(c, isStranger ? invalidApiKeyError() : error);
    },
  };
}

function bearerKeyHash(c: AppContext): string {
  const token = /^Bearer +([^\s]+)$/i.exec(c.get("headers")["authorization"] ?? "")?.[1];
  if (token === undefined || !isWellFormedApiKey(token)) throw invalidApiKeyError();
  return hashApiKey(token);
}
