// Middleware for MCP servers made with @modelcontextprotocol/sdk: requires an API key or an access token for each HTTP request, and
// holds and settles the usage of each tool call. The SDK's types are described by their form, so that it is no dependency.
import { ApiError, rejectUnknown } from "./errors.ts";
import { deny, type ExpressMiddleware, type ExpressRequest, type ExpressResponse } from "./express.ts";
import { denialResponse, type Handler, type IdentifiedHandler } from "./fetch.ts";
import type { Gatehouse } from "./gatehouse.ts";
import type { HeldUsage, Hold, HoldTerms } from "./holds.ts";
import { type EndHold, endOfHold, type FoundUsage } from "./key_hold.ts";
import { bearerToken, type KeyOptions, keyRule, type VerifiedApiKey } from "./key_rule.ts";
import { type Decision, headerOf, type MaybePromise, type RequestView, requireValues } from "./middleware.ts";
import { viewOf } from "./node_server.ts";
import { type TokenOptions, tokenRule, type VerifiedAccess } from "./token_rule.ts";

export type { VerifiedApiKey } from "./key_rule.ts";
export type { TokenOptions, VerifiedAccess } from "./token_rule.ts";

/** Options of {@linkcode requireKey}. `R` is the request of the framework. */
export interface McpKeyOptions<R>
  extends Pick<KeyOptions<R, never>, "gatehouse" | "permission" | "feature" | "addressFrom"> {
  /** The URL of the server's protected resource metadata (RFC 9728), which responses without a valid key name. */
  readonly resourceMetadata?: string;
}

/** The sender of a request, as the SDK describes it. Tools get it as `extra.authInfo`. */
export interface AuthInfo {
  /** The API key or the access token. Don't log it or pass it on. */
  token: string;
  /** The id of the API key, or of the application. */
  clientId: string;
  /** The key's permissions, or the token's scopes. */
  scopes: string[];
  /** In seconds since 1970. Not set for keys that don't expire. */
  expiresAt?: number;
  /** For {@linkcode apiKeyOf} and {@linkcode accessOf}. */
  extra: Record<string, unknown>;
}

/** The part of the SDK's `extra` that says who calls. */
export interface CallExtra {
  readonly authInfo?: { readonly extra?: Record<string, unknown> | undefined } | undefined;
}

/** Returns the API key that calls a tool, and its organization. @throws {Error} Without `requireKey`. */
export function apiKeyOf(extra: CallExtra): VerifiedApiKey {
  const apiKey = extra?.authInfo?.extra?.["apiKey"];
  if (apiKey === undefined) throw new Error("requireKey did not run for this request");
  return apiKey as VerifiedApiKey;
}

/** Returns the access of the person whose application calls a tool. @throws {Error} Without `requireToken`. */
export function accessOf(extra: CallExtra): VerifiedAccess {
  const access = extra?.authInfo?.extra?.["access"];
  if (access === undefined) throw new Error("requireToken did not run for this request");
  return access as VerifiedAccess;
}

/**
 * Middleware for Express, before the SDK's transport: requires an access token of Gatehouse for this resource. Mount it for all
 * paths: it also serves the resource's metadata (RFC 9728).
 */
export function requireToken<R extends ExpressRequest, S extends ExpressResponse>(
  options: TokenOptions,
): ExpressMiddleware<R, S> {
  const { metadataPath, metadata, decide } = tokenRule(options);
  return function requireToken(request, response, next) {
    const view = viewOf(request, request.headersDistinct);
    if (new URL(view.url).pathname === metadataPath) return deny(response, metadataResponse(metadata));
    decide(view).then(({ passed, denial }) => {
      if (denial !== undefined) return deny(response, denial);
      Object.assign(request, { auth: authInfoOfAccess(passed) });
      next();
    }).catch(next);
  };
}

/** Protects a handler as {@linkcode requireToken} does. It gets `authInfo` for `WebStandardStreamableHTTPServerTransport`. */
export function requireTokenFetch<Rest extends unknown[]>(
  options: TokenOptions,
  handler: IdentifiedHandler<{ authInfo: AuthInfo }, Rest>,
): Handler<Rest> {
  const { metadataPath, metadata, decide } = tokenRule(options);
  return async function requireToken(request, ...rest) {
    if (new URL(request.url).pathname === metadataPath) return denialResponse(metadataResponse(metadata));
    const { passed, denial } = await decide(request);
    return denial === undefined
      ? handler(request, { authInfo: authInfoOfAccess(passed) }, ...rest)
      : denialResponse(denial);
  };
}

/** Clients in browsers read it, too. */
const metadataResponse = (body: string) => ({
  status: 200,
  headers: { "Content-Type": "application/json", "Access-Control-Allow-Origin": "*" },
  body,
});

function authInfoOfAccess({ token, access }: { token: string; access: VerifiedAccess }): AuthInfo {
  const { clientId, scopes, expiresAt } = access;
  return {
    token,
    clientId,
    scopes: [...scopes],
    expiresAt: Math.floor(expiresAt.getTime() / 1000),
    extra: { access },
  };
}

/** Middleware for Express, before the SDK's transport: requires an API key that works and meets the conditions. */
export function requireKey<R extends ExpressRequest, S extends ExpressResponse>(
  options: McpKeyOptions<R>,
): ExpressMiddleware<R, S> {
  const decide = mcpRule(options);
  return function requireKey(request, response, next) {
    decide(request, viewOf(request, request.headersDistinct)).then(({ passed, denial }) => {
      if (denial !== undefined) return deny(response, denial);
      // The SDK's transport reads this.
      Object.assign(request, { auth: passed });
      next();
    }).catch(next);
  };
}

/** Protects a handler as {@linkcode requireKey} does. It gets `authInfo` for `WebStandardStreamableHTTPServerTransport`. */
export function requireKeyFetch<Rest extends unknown[]>(
  options: McpKeyOptions<Request>,
  handler: IdentifiedHandler<{ authInfo: AuthInfo }, Rest>,
): Handler<Rest> {
  const decide = mcpRule(options);
  return async function requireKey(request, ...rest) {
    const { passed, denial } = await decide(request, request);
    return denial === undefined ? handler(request, { authInfo: passed }, ...rest) : denialResponse(denial);
  };
}

/** Decides about the API keys of requests. @throws {TypeError} */
function mcpRule<R>(options: McpKeyOptions<R>) {
  requireValues(options);
  const { gatehouse, permission = [], feature = [], addressFrom, resourceMetadata, ...unknown } = options;
  rejectUnknown(unknown, "requireKey");
  const metadata = resourceMetadata && [`resource_metadata="${new URL(resourceMetadata)}"`];
  const scope = `scope="${[permission].flat().join(" ")}"`;
  const rule = keyRule<R, never>({ gatehouse, permission, feature, ...(addressFrom && { addressFrom }) });
  return async function decide(request: R, view: RequestView): Promise<Decision<AuthInfo>> {
    const { passed, headers, denial } = await rule.decide(request, view);
    const token = bearerToken(headerOf(view, "authorization"));
    if (denial === undefined) return { passed: authInfoOf(token ?? "", passed), headers };
    const { message, ...data } = JSON.parse(String(denial.body)).error;
    const challenges: Record<string, string[]> = {
      // A request without a token gets no error code (RFC 6750, section 3.1).
      invalid_api_key: token === undefined ? [] : ['error="invalid_token"'],
      permission_missing: ['error="insufficient_scope"', scope],
    };
    const challenge = challenges[data.code]?.concat(metadata || []);
    // A challenge has at least one parameter.
    if (challenge?.length === 0) challenge.push('realm="mcp"');
    return {
      denial: {
        status: denial.status,
        headers: {
          ...denial.headers,
          ...challenge && { "WWW-Authenticate": `Bearer ${challenge.join(", ")}` },
        },
        // As MCP's transport wants it: without an id, because the body wasn't read.
        body: JSON.stringify({ jsonrpc: "2.0", error: { code: -32000, message, data } }),
      },
    };
  };
}

function authInfoOf(token: string, apiKey: VerifiedApiKey): AuthInfo {
  const { id, permissions, expiresAt } = apiKey;
  const seconds = expiresAt === null ? {} : { expiresAt: Math.floor(Date.parse(expiresAt) / 1000) };
  return { token, clientId: id, scopes: [...permissions], ...seconds, extra: { apiKey } };
}

/** Options of {@linkcode meterTool}. `A` are the arguments of the handler. */
export interface ToolOptions<A extends unknown[]> extends Pick<HoldTerms, "expiresIn" | "onExpiry"> {
  readonly gatehouse: Gatehouse;
  /** The name of the tool, which becomes the property `tool` of its usage. */
  readonly tool: string;
  /** The most that a call may use: 1 to 8 usages, or a function that returns them. Without room for it, the tool doesn't run. */
  readonly hold: Usages | ((...args: A) => MaybePromise<Usages>);
}

type Usages = HeldUsage | readonly HeldUsage[];

/** A call of a metered tool. */
export interface ToolCall {
  readonly hold: Hold;
  /**
   * The usage so far, which counts however the handler ends. An empty list means that nothing was used. If it isn't set, what was
   * held counts, and nothing if the handler throws or returns an error.
   */
  used?: FoundUsage;
}

const calls = new WeakMap<object, ToolCall>();

/** Returns the call that a handler runs for, so that it can set `used`. @throws {Error} Without {@linkcode meterTool}. */
export function callOf(extra: CallExtra): ToolCall {
  const call = calls.get(extra);
  if (call === undefined) throw new Error("meterTool did not run for this call");
  return call;
}

/**
 * Meters a tool: holds usage before each call, and settles it afterwards. Returns the handler for `registerTool`. If a call is
 * rejected, its result is an error that models see, with `_meta["gatehouse/error"]`: `{ code, retryAfter?, details? }`.
 *
 * @throws {TypeError} For an unknown option, or one without a value.
 */
// deno-lint-ignore no-explicit-any
export function meterTool<H extends (...args: any[]) => unknown>(
  options: ToolOptions<Parameters<H>>,
  handler: H,
): H {
  requireValues(options);
  const { gatehouse, tool, hold, expiresIn, onExpiry, ...unknown } = options;
  rejectUnknown(unknown, "meterTool");
  const meteredTool = async (...args: Parameters<H>): Promise<unknown> => {
    let end: EndHold<boolean>;
    try {
      const extra: CallExtra = args.at(-1);
      const { payer, user } = payerOf(extra);
      const named = (usages: Usages) =>
        [usages].flat().map((one) => ({ ...one, properties: { ...one.properties, tool, ...user } }));
      const usage = named(typeof hold === "function" ? await hold(...args) : hold);
      const held = await gatehouse.hold({ usage, ...payer, expiresIn, onExpiry });
      const call: ToolCall = { hold: held.hold };
      calls.set(extra, call);
      const settle = (isError: boolean): FoundUsage => {
        if (call.used !== undefined) return call.used && named(call.used);
        return isError ? undefined : usage;
      };
      end = endOfHold({ gatehouse, hold: held.hold, request: call, settle });
    } catch (error) {
      return rejectedCall(error, tool);
    }
    let isError = true;
    try {
      const result = await handler(...args);
      isError = (result as { isError?: boolean } | null)?.isError === true;
      return result;
    } finally {
      // In the background, and repeated until Gatehouse has decided.
      end(isError);
    }
  };
  return meteredTool as H;
}

/** Returns whose usage a call is: of the API key, or of the organization that the person acts for, with `user` as a property. */
function payerOf(extra: CallExtra) {
  if (extra?.authInfo?.extra?.["access"] === undefined) return { payer: { apiKeyId: apiKeyOf(extra).id } };
  const { organization, userId } = accessOf(extra);
  return { payer: { organizationId: organization.id }, user: { user: userId } };
}

/** Errors that are the customer's. The messages of others aren't for customers. */
const customerCodes = [
  "limit_exceeded",
  "hold_limit_reached",
  "series_limit_reached",
  "key_inactive",
  "organization_suspended",
];

function rejectedCall(error: unknown, tool: string) {
  const isCustomers = error instanceof ApiError && customerCodes.includes(error.code);
  // deno-lint-ignore no-console
  if (!isCustomers) console.error(`[gatehouse] A call of the tool ${tool} was rejected: ${error}`);
  const { code, message, details, retryAfterMs } = isCustomers
    ? error
    : { code: "unavailable", message: "Usage can't be checked right now.", details: [], retryAfterMs: 5_000 };
  const retryAfter = retryAfterMs === null ? undefined : Math.ceil(retryAfterMs / 1000);
  const seconds = retryAfter === 1 ? "1 second" : `${retryAfter} seconds`;
  const text = retryAfter === undefined ? message : `${message} Try again in ${seconds}.`;
  const facts = { code, retryAfter, ...(details.length > 0 && { details }) };
  return { content: [{ type: "text", text }], isError: true, _meta: { "gatehouse/error": facts } };
}
