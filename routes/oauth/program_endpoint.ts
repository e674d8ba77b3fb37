// Endpoints that programs call by the conventions of OAuth: forms, errors with `error`, and every origin without credentials.
import { DatabaseError } from "../../db/engine/database.ts";
import { AppError } from "../../domain/errors.ts";
import { anonymousBodyBytesMax } from "../../domain/limits.ts";
import { issuerFault } from "../../domain/oauth/issuer.ts";
import { OAuthError } from "../../domain/oauth/oauth_error.ts";
import type { Form } from "../../domain/oauth/program_form.ts";
import { readText } from "../body.ts";
import type { App, AppContext, AppParts } from "../env.ts";
import { toAppError } from "../errors.ts";

const openHeaders = [
  ["access-control-allow-origin", "*"],
  ["cross-origin-resource-policy", "cross-origin"],
  ["referrer-policy", "no-referrer"],
] as const;

export interface ProgramEndpoint {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** The value of Cache-Control for public documents. */
  readonly cache?: string;
  /** @param form Empty for GET. Repeated parameters are rejected, unknown ones ignored. */
  readonly handle: (c: AppContext, form: Form) => Promise<object> | object;
}

/** Mounts an endpoint that reads no cookies, and its preflight. */
export function mountProgramEndpoint(app: App, parts: AppParts, endpoint: ProgramEndpoint): void {
  const { method, path, cache, handle } = endpoint;
  const fault = issuerFault(parts.config.baseUrl);
  app.on(method, path, async (c) => {
    c.set("isForPrograms", true);
    c.set("responseHeaders", cache === undefined ? openHeaders : [...openHeaders, ["cache-control", cache]]);
    try {
      if (fault !== null) throw new OAuthError("temporarily_unavailable", fault);
      return c.json(await handle(c, method === "POST" ? await readForm(c) : new Map()));
    } catch (error) {
      return errorResponse(c, error, parts);
    }
  });
  app.options(path, (c) => {
    c.set("responseHeaders", [
      ...openHeaders,
      ["access-control-allow-methods", `${method}, OPTIONS`],
      ["access-control-allow-headers", "Authorization, Content-Type, MCP-Protocol-Version"],
      ["access-control-max-age", "600"],
    ]);
    return c.body(null, 204);
  });
}

async function readForm(c: AppContext): Promise<Form> {
  const type = c.get("headers")["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== undefined && type !== "application/x-www-form-urlencoded") {
    throw new OAuthError("invalid_request", "Send a form.");
  }
  const form = new Map<string, string>();
  for (const [name, value] of fieldsOf((await readText(c, anonymousBodyBytesMax)).text)) {
    if (form.has(name)) throw new OAuthError("invalid_request", "A parameter is repeated.");
    // An empty parameter counts as missing (RFC 6749, section 3.2).
    if (value !== "") form.set(name, value);
  }
  return form;
}

/** Most forms have nothing encoded, and `URLSearchParams` takes several times as long. */
function fieldsOf(text: string): Iterable<readonly [string, string]> {
  if (/[%+]/.test(text)) return new URLSearchParams(text);
  return text.split("&").filter((field) => field !== "").map((field) => {
    const end = field.indexOf("=");
    return end === -1 ? [field, ""] : [field.slice(0, end), field.slice(end + 1)];
  });
}

function errorResponse(c: AppContext, error: unknown, parts: AppParts): Response {
  const fault = error instanceof OAuthError ? error : oauthErrorOf(error, c, parts);
  const headers = c.get("responseHeaders") ?? [];
  const realm = parts.config.baseUrl.origin;
  const challenge = fault.code === "invalid_client"
    ? [["www-authenticate", `Basic realm="${realm}"`] as const]
    : fault.code === "invalid_token" || fault.code === "insufficient_scope"
    ? [
      [
        "www-authenticate",
        `Bearer realm="${realm}", error="${fault.code}", error_description="${fault.message}"`,
      ] as const,
    ]
    : [];
  const retry = fault.code === "temporarily_unavailable" ? [["retry-after", "5"] as const] : [];
  c.set("responseHeaders", [...headers, ...challenge, ...retry]);
  return c.json({ error: fault.code, error_description: fault.message }, fault.status as 400);
}

/** Unexpected errors are logged, and keep their cause to themselves. */
function oauthErrorOf(error: unknown, c: AppContext, parts: AppParts): OAuthError {
  const isForClient = error instanceof AppError ||
    error instanceof DatabaseError && error.kind === "unavailable";
  const { status } = toAppError(error, c, parts);
  if (isForClient && status < 500) return new OAuthError("invalid_request", "The request is malformed.");
  return new OAuthError("temporarily_unavailable", "Try again in a moment.");
}
