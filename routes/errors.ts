// Turns errors into JSON responses. routes/portal/errors.ts turns them into pages.
import { STATUS_CODES } from "node:http";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { DatabaseError } from "../db/engine/database.ts";
import { AppError, unavailableError } from "../domain/errors.ts";
import type { AppContext, AppParts } from "./env.ts";

/** Returns the error for the caller. Unexpected errors are logged with their cause and become `internal`. */
export function toAppError(error: unknown, c: AppContext, parts: AppParts): AppError {
  if (error instanceof AppError) return error;
  // The client has gone, and won't read the response.
  const { signal } = c.req.raw;
  if (signal.aborted && error === signal.reason) return unavailableError("The connection was closed.");
  const values = { requestId: c.get("requestId"), method: c.req.method, path: c.req.path, error };
  if (error instanceof DatabaseError && error.kind === "unavailable") {
    parts.log.warn("database unavailable", values);
    return unavailableError("The database is temporarily unavailable. Try again shortly.");
  }
  parts.log.error("request failed", values);
  return new AppError("internal", "Something went wrong on our side. The error has been logged.");
}

/** Sets the headers of an error response and records it for the metrics. Every error response passes here. */
export function setErrorHeaders(c: AppContext, error: AppError): void {
  c.set("error", error);
  if (error.retryAfterSeconds !== undefined) c.header("Retry-After", String(error.retryAfterSeconds));
  if (error.allow !== undefined) c.header("Allow", error.allow.join(", "));
  if (error.code === "invalid_api_key" || error.code === "invalid_operator_token") {
    c.header("WWW-Authenticate", "Bearer");
    // The response is the same to the byte for a missing, an unknown and a revoked key or token.
    c.set("responseHeaders", undefined);
  }
}

/** OpenMeter's SDKs call this path, and show only the `detail` of problem details (RFC 9457) to their users. */
const problemsPath = "/api/v1/events";

export function jsonError(c: AppContext, error: AppError): Response {
  setErrorHeaders(c, error);
  const { code, message, details = error.limits ?? error.holds } = error;
  const status = error.status as ContentfulStatusCode;
  const body = {
    error: { code, message, ...(details === undefined ? {} : { details }) },
    requestId: c.get("requestId"),
  };
  if (c.req.path !== problemsPath) return c.json(body, status);
  const problem = { type: "about:blank", title: STATUS_CODES[status], status, detail: detailOf(error) };
  return c.json({ ...problem, ...body }, status, { "Content-Type": "application/problem+json" });
}

/** Returns the message of an error, and the first problem if there are several. */
function detailOf({ message, details = [] }: AppError): string {
  const [first] = details;
  return details.length > 1 && first ? `${message} “${first.path}”: ${first.message}` : message;
}
