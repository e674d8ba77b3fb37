// The one place that turns an error into an answer: JSON for programs, a page for people.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { DatabaseError } from "../db/engine/database.ts";
import { AppError, unavailableError } from "../domain/errors.ts";
import type { AppContext, AppParts } from "./env.ts";

/**
 * Says what a caller may know of an error. Anything unexpected is logged with its cause and becomes "internal".
 *
 * @returns The error to show.
 */
export function publicError(error: unknown, c: AppContext, parts: AppParts): AppError {
  if (error instanceof AppError) return error;
  const values = { requestId: c.get("requestId"), method: c.req.method, path: c.req.path, error };
  if (error instanceof DatabaseError && error.kind === "unavailable") {
    parts.log.warn("the database did not answer", values);
    return unavailableError("The database does not answer at this moment. Try again shortly.");
  }
  parts.log.error("a request failed", values);
  return new AppError("internal", "Something went wrong on our side. It has been logged.");
}

/** Sets the headers that go with an error, and notes its code for the metrics: every error response passes here. */
export function setErrorHeaders(c: AppContext, error: AppError): void {
  c.set("errorCode", error.code);
  if (error.retryAfterSeconds !== undefined) c.header("Retry-After", String(error.retryAfterSeconds));
  if (error.allow !== undefined) c.header("Allow", error.allow.join(", "));
  if (error.code === "invalid_api_key") {
    c.header("WWW-Authenticate", "Bearer");
    // A missing key, an unknown one and a revoked one get the same answer, to the byte.
    c.set("responseHeaders", undefined);
  }
}

/** @returns The error as JSON, as every API route answers it. */
export function jsonError(c: AppContext, error: AppError): Response {
  setErrorHeaders(c, error);
  const { code, message, details } = error;
  return c.json(
    {
      error: { code, message, ...(details === undefined ? {} : { details }) },
      requestId: c.get("requestId"),
    },
    error.status as ContentfulStatusCode,
  );
}
