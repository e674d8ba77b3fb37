// One definition for each API route: the schemas that check its input also describe it in the OpenAPI document.
import { type OpenAPIHono, type RouteConfig, z } from "@hono/zod-openapi";
import type { SessionActor } from "../../domain/access/actor.ts";
import { type ErrorCode, validationError } from "../../domain/errors.ts";
import { isFreeTextName, type JsonBody, readJsonBody, textFault } from "../body.ts";
import type { AppContext, AppEnv, AppParts } from "../env.ts";
import { foldProperties } from "../meter/schemas/usage_properties.ts";
import { check, type Output, type Schema } from "../schemas/check.ts";
import { requireSession } from "../session.ts";
import {
  headersOf,
  type OwnHeaders,
  requiresScheme,
  type Security,
  securityRequirements,
  type Tag,
} from "./openapi/components.ts";
import { commonErrors, errorResponses } from "./openapi/error_responses.ts";

interface EndpointResponse {
  readonly description: string;
  /** The JSON body. For any other type of content, set `contentType` instead. */
  readonly schema?: z.ZodType;
  readonly contentType?: string;
  /** Headers that only this response has, and always has. */
  readonly headers?: OwnHeaders;
}

export interface Endpoint<Body extends Schema, Query extends Schema, Params extends Schema> {
  /** The method and the path in OpenAPI's form, such as `GET /api/portal/api-keys/{id}`. */
  readonly route: `${"GET" | "POST" | "PUT" | "PATCH" | "DELETE"} /${string}`;
  /** Other methods get the same response. The document has only that of `route`. */
  readonly anyMethod?: true;
  readonly tag: Tag;
  /** The name in generated clients. */
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly security: Security;
  readonly body?: Body;
  /** Alternative bodies, by content type. {@linkcode OtherBody} chooses between them, or the handler if there is no `body`. */
  readonly otherBodies?: Readonly<Record<string, z.ZodType>>;
  readonly bodyBytesMax?: number;
  /** A missing body means an empty object. */
  readonly bodyOptional?: boolean;
  readonly query?: Query;
  readonly params?: Params;
  readonly headers?: z.ZodObject;
  readonly responses: Readonly<Record<number, EndpointResponse>>;
  /** Its own errors, in addition to those that follow from its input. */
  readonly errors?: readonly ErrorCode[];
  /** Its errors are also problem details (RFC 9457). See routes/errors.ts. */
  readonly hasProblems?: boolean;
}

interface Input<Body extends Schema, Query extends Schema, Params extends Schema> {
  readonly body: Output<Body>;
  readonly query: Output<Query>;
  readonly params: Output<Params>;
  readonly bytes: number;
}

/** Handles an alternative body, which is not checked. */
export interface OtherBody {
  /** The content type that the request must have, in lower case; empty for none. */
  readonly contentType: string;
  /** A missing body means an empty object. */
  readonly optional: boolean;
  /** All values may have tabs and line ends. */
  readonly isFreeText?: boolean;
  /** The handler checks texts. */
  readonly isUnchecked?: boolean;
  readonly handle: (body: JsonBody) => Promise<Response>;
}

interface Authentication<Auth> {
  /** Runs before the body is read, so that an unauthenticated caller learns nothing about the input. */
  readonly authenticate: (c: AppContext) => Auth | Promise<Auth>;
  /** Maps every error before it becomes a response. */
  readonly onError?: (c: AppContext, error: unknown) => Promise<unknown>;
}

/** Returns a response, or the JSON body of the route's first response; ignored if that has no schema. */
export type Handle<Auth, Body extends Schema, Query extends Schema, Params extends Schema> = (
  c: AppContext,
  input: Input<Body, Query, Params>,
  auth: Auth,
) => Response | object | void | Promise<Response | object | void>;

export type MountRoute<Auth> = <
  Body extends Schema = undefined,
  Query extends Schema = undefined,
  Params extends Schema = undefined,
>(
  endpoint: Omit<Endpoint<Body, Query, Params>, "tag" | "security">,
  handle: Handle<Auth, Body, Query, Params>,
) => void;

type Common = Pick<Endpoint<Schema, Schema, Schema>, "tag" | "errors">;

export function publicRoutes(app: OpenAPIHono<AppEnv>, common: Common): MountRoute<null> {
  return (endpoint, handle) =>
    mount(app, { ...common, security: "none", ...endpoint }, { authenticate: () => null, handle });
}

export function sessionRoutes(
  app: OpenAPIHono<AppEnv>,
  parts: AppParts,
  common: Common,
): MountRoute<SessionActor> {
  const authenticate = (c: AppContext) => requireSession(c, parts);
  return (endpoint, handle) => {
    const errors = [...common.errors ?? [], ...endpoint.errors ?? []];
    mount(app, { ...common, security: "session", ...endpoint, errors }, { authenticate, handle });
  };
}

/**
 * Returns a function that mounts routes whose handlers get an access instead of the actor.
 *
 * @param accessOf Gets the parameter `id` of the path, and `organizationId` of the query, if there are any.
 */
export function withAccess<Actor, Access>(
  route: MountRoute<Actor>,
  accessOf: (actor: Actor, id: string, organizationId?: string) => Access | Promise<Access>,
): MountRoute<Access> {
  return (endpoint, handle) =>
    route(endpoint, async (c, input, actor) => {
      const { id = "" } = (input.params ?? {}) as { id?: string };
      const { organizationId } = (input.query ?? {}) as { organizationId?: string };
      return await handle(c, input, await accessOf(actor, id, organizationId));
    });
}

/** Path and OpenAPI texts of one variant of a route that exists for members and for operators. */
export type RouteWords =
  & Pick<Endpoint<Schema, Schema, Schema>, "route" | "operationId" | "summary">
  & Partial<Pick<Endpoint<Schema, Schema, Schema>, "description" | "errors" | "params">>;

/** Mounts a route and adds it to the OpenAPI document. Any error that the handler throws becomes the error response. */
export function mount<
  Auth,
  Body extends Schema = undefined,
  Query extends Schema = undefined,
  Params extends Schema = undefined,
>(
  app: OpenAPIHono<AppEnv>,
  endpoint: Endpoint<Body, Query, Params>,
  handler: Authentication<Auth> & {
    readonly handle: Handle<Auth, Body, Query, Params>;
    /** Chooses an alternative body by the request's headers. Null for the route's own body. */
    readonly otherBody?: (c: AppContext, auth: Auth) => OtherBody | null;
  },
): void {
  documentRoute(app, endpoint);
  const { method, path } = splitRoute(endpoint);
  const status = Number(Object.keys(endpoint.responses)[0]);
  const hasBody = endpoint.responses[status]?.schema !== undefined;
  const { bodyBytesMax: bytesMax, bodyOptional: optional = false } = endpoint;
  const bodyOptions = { ...(bytesMax === undefined ? {} : { bytesMax }), optional };
  const pattern = path.replaceAll(/\{(\w+)\}/g, ":$1");
  const respond = async (c: AppContext) => {
    try {
      const auth = await handler.authenticate(c);
      const query = check(endpoint.query, queryOf(c), "query");
      const params = endpoint.params === undefined
        ? undefined
        : check(endpoint.params, c.req.param(), "params");
      const other = handler.otherBody?.(c, auth) ?? null;
      if (other !== null) {
        const { contentType: type, handle, ...options } = other;
        return await handle(await readJsonBody(c, { ...bodyOptions, type, ...options }));
      }
      const { value, bytes } = endpoint.body === undefined ? noBody : await readJsonBody(c, bodyOptions);
      const body = check(endpoint.body, value, "body");
      const input = { body, query, params, bytes } as Input<Body, Query, Params>;
      const result = await handler.handle(c, input, auth);
      if (result instanceof Response) return result;
      return hasBody && result ? c.json(result, status as 200) : c.body(null, status as 204);
    } catch (error) {
      throw handler.onError === undefined ? error : await handler.onError(c, error);
    }
  };
  app.on(method, pattern, respond);
  if (endpoint.anyMethod) app.all(pattern, respond);
}

const noBody = { value: {}, bytes: 0 };

/** Returns the value of each parameter, or a list if it is repeated. */
export function queryOf(c: AppContext): ReturnType<typeof foldProperties> {
  const query: Record<string, string | string[]> = {};
  if (!c.req.url.includes("?")) return query;
  for (const [name, values] of Object.entries(c.req.queries())) {
    const isFree = isFreeTextName(name);
    const fault = [textFault(name), ...values.map((value) => textFault(value, isFree))].find((found) =>
      found !== null
    );
    if (fault) throw validationError([{ path: name, message: fault }]);
    query[name] = values.length > 1 ? values : values[0] ?? "";
  }
  return foldProperties(query);
}

/** Registrations that wait for the first OpenAPI document. */
const undocumented = new WeakMap<OpenAPIHono<AppEnv>, (() => void)[]>();

/** Adds to the OpenAPI document when it is first built: few processes ever show it, and it takes a third of the time of mounting. */
export function whenDocumented(app: OpenAPIHono<AppEnv>, register: () => void): void {
  const waiting = undocumented.get(app) ?? [];
  undocumented.set(app, waiting);
  waiting.push(register);
}

/** Completes the registry of the OpenAPI document. */
export function registerDocumented(app: OpenAPIHono<AppEnv>): void {
  for (const register of undocumented.get(app)?.splice(0) ?? []) register();
}

/** Adds a route to the OpenAPI document. `errors`: by default, its own and those that follow from its input. */
export function documentRoute(
  app: OpenAPIHono<AppEnv>,
  endpoint: Endpoint<Schema, Schema, Schema>,
  errors?: readonly ErrorCode[],
): void {
  whenDocumented(app, () => register(app, endpoint, errors ?? endpointErrors(endpoint)));
}

function register(
  app: OpenAPIHono<AppEnv>,
  endpoint: Endpoint<Schema, Schema, Schema>,
  errors: readonly ErrorCode[],
): void {
  const { security, body, otherBodies, query, params, headers } = endpoint;
  const responses = Object.entries(endpoint.responses).map(([status, response]) => {
    const { description, schema, contentType, headers: own } = response;
    const content = schema !== undefined || contentType !== undefined
      ? { [contentType ?? "application/json"]: { schema: schema ?? z.string() } }
      : undefined;
    return [status, { description, headers: headersOf({ security, own }), content }] as const;
  });
  const bodies = Object.entries({ ...(body && { "application/json": body }), ...otherBodies });
  const route = {
    ...splitRoute(endpoint),
    tags: [endpoint.tag],
    operationId: endpoint.operationId,
    summary: endpoint.summary,
    description: endpoint.description,
    security: [...securityRequirements[security]],
    request: {
      body: bodies.length === 0 ? undefined : {
        required: !endpoint.bodyOptional,
        content: Object.fromEntries(bodies.map(([type, schema]) => [type, { schema }])),
      },
      query,
      params,
      headers,
    },
    responses: { ...Object.fromEntries(responses), ...errorResponses(errors, endpoint.hasProblems) },
  };
  app.openAPIRegistry.registerPath(route as RouteConfig);
}

function endpointErrors(endpoint: Endpoint<Schema, Schema, Schema>): ErrorCode[] {
  const codes: ErrorCode[] = [
    ...commonErrors,
    ...endpoint.errors ?? [],
    // Unknown query parameters are always rejected, and every operation needs the database.
    "validation_failed",
    "unavailable",
  ];
  const hasBody = endpoint.body !== undefined || endpoint.otherBodies !== undefined;
  if (hasBody) codes.push("request_timeout", "body_too_large", "unsupported_media_type");
  if (endpoint.params !== undefined) codes.push("not_found");
  if (requiresScheme(endpoint.security, "session")) codes.push("unauthenticated");
  // A change that depends on a role is a change in an organization.
  const isForRoles = endpoint.security === "session" && codes.includes("forbidden");
  if (isForRoles && !endpoint.route.startsWith("GET")) codes.push("organization_suspended");
  if (requiresScheme(endpoint.security, "apiKey")) {
    codes.push("invalid_api_key", "organization_suspended", "permission_missing", "rate_limited");
  }
  if (endpoint.security === "operatorToken") {
    codes.push("invalid_operator_token", "scope_missing", "rate_limited");
  }
  if (endpoint.security === "operator" || endpoint.security === "operatorAccount") {
    codes.push(
      "invalid_operator_token",
      "scope_missing",
      "second_factor_required",
      "not_found",
      "rate_limited",
    );
    if (!endpoint.route.startsWith("GET")) codes.push("proof_required");
  }
  if (!/^GET|^POST \/api\/v1\//.test(endpoint.route)) codes.push("cross_site");
  return codes;
}

function splitRoute({ route }: Pick<Endpoint<Schema, Schema, Schema>, "route">) {
  const [method = "", path = ""] = route.split(" ");
  return { method: method.toLowerCase(), path };
}
