// How routes of the operators' API authenticate. Scopes are checked here and in the transaction that writes, nowhere else.
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { OperatorActor } from "../../../domain/actor.ts";
import type { OperatorScope } from "../../../domain/operator/operator_scope.ts";
import { requireOperatorAccount, requireOperatorToken } from "../../../services/operator/operator_access.ts";
import { requireRecentAuthentication } from "../../../services/sign_in/recent_authentication.ts";
import type { AppContext, AppEnv, AppParts } from "../../env.ts";
import type { Schema } from "../../schemas/check.ts";
import { requireSession } from "../../session.ts";
import { bearerTokenHash, limitInvalidToken } from "../bearer.ts";
import { documentRoute, type Endpoint, type Handle, mount, type MountRoute } from "../endpoint.ts";

/** The access that a route requires: a scope of tokens, or an account, for which no token is enough. */
export type OperatorAccess = OperatorScope | "account";

/** A route for operators. */
type OperatorEndpoint<Body extends Schema, Query extends Schema, Params extends Schema> =
  & Omit<Endpoint<Body, Query, Params>, "tag" | "security">
  & { readonly access: OperatorAccess };

/** Mounts a route whose handler gets the operator. Accounts may use every route, writes only after a recent authentication. */
type MountOperatorRoute = <
  Body extends Schema = undefined,
  Query extends Schema = undefined,
  Params extends Schema = undefined,
>(
  endpoint: OperatorEndpoint<Body, Query, Params>,
  handle: Handle<OperatorActor, Body, Query, Params>,
) => void;

/** Mounts routes for operators: by token if there is an `Authorization` header, otherwise by session. */
export function operatorRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): MountOperatorRoute {
  const { services } = parts;

  async function authenticate(c: AppContext, access: OperatorAccess): Promise<OperatorActor> {
    const authorization = c.get("headers")["authorization"];
    if (authorization !== undefined) {
      return await requireOperatorToken(services, {
        tokenHash: bearerTokenHash(authorization),
        scope: access === "account" ? null : access,
        client: c.get("client"),
      });
    }
    const session = await requireSession(c, parts);
    const operator = requireOperatorAccount(session, services.clock());
    if (!["GET", "HEAD"].includes(c.req.method)) requireRecentAuthentication(session, services.clock());
    return operator;
  }

  return (endpoint, handle) =>
    mount(app, completed(endpoint), {
      authenticate: (c) => authenticate(c, endpoint.access),
      onError: (c, error) => Promise.resolve(limitInvalidToken(services, c, error)),
      handle,
    });
}

/** Returns functions that mount routes which only read, and others. */
export function operatorMounts(
  app: OpenAPIHono<AppEnv>,
  parts: AppParts,
  { read, write }: { readonly read: OperatorAccess; readonly write: OperatorAccess },
): { readonly read: MountRoute<OperatorActor>; readonly write: MountRoute<OperatorActor> } {
  const route = operatorRoutes(app, parts);
  return {
    read: (endpoint, handle) => route({ ...endpoint, access: read }, handle),
    write: (endpoint, handle) => route({ ...endpoint, access: write }, handle),
  };
}

/** Adds an operation to the OpenAPI document whose requests another route handles. */
export function documentOperatorRoute<Body extends Schema, Query extends Schema, Params extends Schema>(
  app: OpenAPIHono<AppEnv>,
  endpoint: OperatorEndpoint<Body, Query, Params>,
): void {
  documentRoute(app, completed(endpoint));
}

function completed<Body extends Schema, Query extends Schema, Params extends Schema>(
  { access, ...endpoint }: OperatorEndpoint<Body, Query, Params>,
): Endpoint<Body, Query, Params> {
  return {
    ...endpoint,
    tag: "Operators",
    security: access === "account" ? "operatorAccount" : "operator",
    description: [endpoint.description, accessText(access)].filter((text) => text !== undefined).join("\n\n"),
  };
}

function accessText(access: OperatorAccess): string {
  return access === "account" ? "Only for operator accounts." : `Tokens need the scope \`${access}\`.`;
}
