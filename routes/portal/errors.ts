// Shows the portal's errors: on an error page, or next to the form that caused them.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { AppError, type ErrorCode } from "../../domain/errors.ts";
import { isEmbedPath } from "../../domain/keys/portal_session.ts";
import { isConsolePath } from "../../domain/people/return_to.ts";
import type { Session } from "../../domain/access/session.ts";
import { activeAccess } from "../../services/access/mod.ts";
import { listOwners } from "../../services/people/mod.ts";
import { errorPage } from "../../views/error.tsx";
import { formMessage } from "../schemas/messages.ts";
import type { AppContext } from "../env.ts";
import { setErrorHeaders } from "../errors.ts";
import { findSession, sessionActor } from "../session.ts";
import { embedError, sessionOver } from "./embed/session.ts";
import { changedListMark, presented } from "./presented.ts";
import { gateFrame, portalFrame, type PortalParts, redirect, sendPage, toSignIn } from "./page.ts";

export const errorTitles: Partial<Record<ErrorCode, string>> = {
  not_found: "Page not found",
  method_not_allowed: "Method not allowed",
  cross_site: "Request from another site",
  rate_limited: "Too many attempts",
  unavailable: "Temporarily unavailable",
  forbidden: "You don't have permission",
  organization_suspended: "Organization suspended",
  second_factor_required: "Second factor required",
  organization_switched: "You switched organizations",
  mail_unavailable: "Email isn't set up",
};

export async function pageError(c: AppContext, error: AppError, parts: PortalParts): Promise<Response> {
  const isEmbedded = isEmbedPath(c.req.path);
  // The session ended after it was looked up.
  if (error.code === "unauthenticated") return isEmbedded ? await sessionOver(c, parts) : toSignIn(c, parts);
  const firstPage = firstPageOf(c, error);
  if (firstPage !== null) return redirect(c, firstPage);
  setErrorHeaders(c, error);
  const title = errorTitles[error.code] ?? "Something went wrong";
  if (isEmbedded) return await embedError(c, error, { parts, title });
  // The page must also come when the database is unavailable.
  const session = await findSession(c, parts).catch(() => null);
  const isConsole = session?.isOperator === true && isConsolePath(c.req.path);
  const frame = session === null ? gateFrame(parts) : { ...portalFrame(parts, session), isConsole };
  const page = errorPage({
    frame,
    status: error.status,
    title,
    message: error.message,
    requestId: c.get("requestId"),
    helpers: error.code === "forbidden" && session !== null && !isConsole
      ? await helpersFor(c, parts, session)
      : [],
    // The page may be there for people who are signed in.
    returnTo: error.code === "not_found" && c.req.method === "GET" ? addressOf(c) : null,
  });
  const send = () => sendPage(c, page, error.status as ContentfulStatusCode);
  return session === null ? send() : await presented(c, parts, { session, run: send });
}

/** Returns owners of the person's organization, who can do what the person may not. */
async function helpersFor(c: AppContext, { services }: PortalParts, session: Session) {
  const { organization, ...rest } = sessionActor(c, session);
  if (organization === null) return [];
  return await listOwners(services, activeAccess({ ...rest, organization })).catch(() => []);
}

/** Returns the address of a list's first page if its cursor is of a list that has changed, such as that of a closed month. */
function firstPageOf(c: AppContext, { details }: AppError): string | null {
  if (c.req.method !== "GET" || !details?.some(({ path }) => path === "cursor")) return null;
  const url = new URL(c.req.url);
  if (!url.searchParams.has("cursor")) return null;
  url.searchParams.delete("cursor");
  url.searchParams.set(changedListMark, "1");
  return url.pathname + url.search;
}

function addressOf(c: AppContext): string {
  const { pathname, search } = new URL(c.req.url);
  return pathname + search;
}

/** Errors that no input can fix: they get an error page. All others appear next to the form, which keeps its input. */
export const errorsWithoutForm: ReadonlySet<ErrorCode> = new Set([
  "unauthenticated",
  "forbidden",
  "not_found",
  "cross_site",
  "internal",
]);

/** In place of messages about fields that forms hide. */
const formMessages: Partial<Record<ErrorCode, string>> = {
  idempotency_conflict: "This form was sent before, with other values. Open it again to send these.",
};

/** Turns an error into messages for a form. @throws The error itself when it isn't about the input. */
export function formError(c: AppContext, error: unknown) {
  if (!(error instanceof AppError) || errorsWithoutForm.has(error.code)) throw error;
  setErrorHeaders(c, error);
  const fields = fieldErrors(error);
  return {
    code: error.code,
    message: formMessages[error.code] ?? (Object.keys(fields).length > 0 ? null : error.message),
    fields,
    status: error.status as ContentfulStatusCode,
  };
}

function fieldErrors(error: AppError): Record<string, string> {
  const messages: Record<string, string> = {};
  for (const { path, message } of error.details ?? []) {
    messages[path] ??= formMessage(message);
  }
  return messages;
}
