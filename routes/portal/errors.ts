// Errors of pages, as a page.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { AppError, type ErrorCode } from "../../domain/errors.ts";
import { errorPage } from "../../views/error.tsx";
import type { Assets } from "../../views/layout.tsx";
import type { AppContext, AppParts } from "../env.ts";
import { setErrorHeaders } from "../errors.ts";
import { findSession } from "../session.ts";
import { gateFrame, portalFrame, sendPage, toSignIn } from "./page.ts";

const titles: Partial<Record<ErrorCode, string>> = {
  not_found: "Page not found",
  method_not_allowed: "Not like this",
  cross_site: "This came from another site",
  rate_limited: "Too many attempts",
  unavailable: "Not available at this moment",
  forbidden: "You may not do this",
  organization_switched: "You switched organizations",
  mail_unavailable: "This service sends no mail",
};

/** @returns A function that shows an error in the frame in which the person is. */
export function errorAnswer(
  parts: AppParts,
  assets: Assets,
): (c: AppContext, error: AppError) => Promise<Response> {
  return async (c, error) => {
    // The session ended after it was looked up.
    if (error.code === "unauthenticated") return toSignIn(c);
    // When the database does not answer, nobody can be found; the page must come all the same.
    const session = await findSession(c, parts).catch(() => null);
    const frame = session === null ? gateFrame(parts, assets) : portalFrame(parts, assets, session);
    setErrorHeaders(c, error);
    const page = errorPage({
      frame,
      status: error.status,
      title: titles[error.code] ?? "That did not work",
      message: error.message,
      requestId: c.get("requestId"),
    });
    return sendPage(c, page, error.status as ContentfulStatusCode);
  };
}

/** Errors that a person can do something about in the form itself. */
const shownBesideForms: ReadonlySet<ErrorCode> = new Set([
  "validation_failed",
  "invalid_credentials",
  "invalid_code",
  "codes_locked",
  "email_taken",
  "sign_up_closed",
  "rate_limited",
  "key_limit_reached",
  "limit_reached",
  "last_owner",
  "already_member",
  "already_invited",
  "two_step_state",
  "unavailable",
  "mail_unavailable",
]);

/**
 * @returns What to show above a form and beside its fields.
 * @throws The error itself when it is not about what was typed.
 */
export function formError(
  c: AppContext,
  error: unknown,
): { message: string | null; fields: Record<string, string>; status: ContentfulStatusCode } {
  if (!(error instanceof AppError) || !shownBesideForms.has(error.code)) throw error;
  setErrorHeaders(c, error);
  // What was refused is no new page in the history.
  c.header("HX-Push-Url", "false");
  const fields = fieldErrors(error);
  return {
    message: Object.keys(fields).length > 0 ? null : error.message,
    fields,
    status: error.status as ContentfulStatusCode,
  };
}

function fieldErrors(error: AppError): Record<string, string> {
  const messages: Record<string, string> = {};
  for (const { path, message } of error.details ?? []) {
    const text = /^[a-z]/.test(message) ? `This ${message}` : message;
    messages[path] ??= text;
  }
  return messages;
}
