// Reads API keys and operator tokens from requests, and limits rejected ones.
import { AppError, invalidOperatorTokenError } from "../../domain/errors.ts";
import { isWellFormedOperatorToken } from "../../domain/access/operator_token.ts";
import { hashSecretToken } from "../../domain/secret_token.ts";
import type { RateLimitState } from "../../services/rate_limiter.ts";
import type { Services } from "../../services/services.ts";
import type { AppContext } from "../env.ts";

export function bearerToken(authorization: string | undefined): string | undefined {
  return /^Bearer +([^\s]+)$/i.exec(authorization ?? "")?.[1];
}

/**
 * Counts a rejected credential against the client's address, and returns the error, or `rate_limited` after too many.
 *
 * @param kind In the plural, for the message.
 */
export function limitRejected(
  { rateLimits: { rejectedApiKeys } }: Services,
  c: AppContext,
  error: AppError,
  kind: string,
): AppError {
  const state = rejectedApiKeys.take(c.get("client"));
  return state.isAllowed ? error : rateLimited(state, `Too many invalid ${kind} from this address.`);
}

/** Returns the hash of the operator token in an `Authorization` header. @throws {AppError} `invalid_operator_token`. */
export function bearerTokenHash(authorization: string | undefined): string {
  const token = bearerToken(authorization);
  if (token === undefined || !isWellFormedOperatorToken(token)) throw invalidOperatorTokenError();
  return hashSecretToken(token);
}

/** Counts an invalid operator token against the client's address, and returns the error to respond with. */
export function limitInvalidToken(services: Services, c: AppContext, error: unknown): unknown {
  const isInvalid = error instanceof AppError && error.code === "invalid_operator_token";
  return isInvalid ? limitRejected(services, c, error, "operator tokens") : error;
}

export function rateLimited({ resetMs }: RateLimitState, message: string): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil(resetMs / 1000));
  return new AppError("rate_limited", message, { retryAfterSeconds });
}
