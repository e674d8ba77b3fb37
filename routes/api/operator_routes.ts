// How routes of the operators' API authenticate. Scopes are checked here and in the transaction that writes, nowhere else.
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { OperatorActor } from "../../domain/access/actor.ts";
import type { OperatorScope } from "../../domain/access/operator_scope.ts";
import {
  requireOperatorAccount,
  requireOperatorToken,
  requireRecentAuthentication,
} from "../../services/access/mod.ts";
import type { AppContext, AppEnv, AppParts } from "../env.ts";
import type { Schema } from "../schemas/check.ts";
import { requireSession } from "../session.ts";
import { bearerTokenHash, limitInvalidToken } from "./bearer.ts";
import { type Endpoint, mount, type MountRoute } from "./endpoint.ts";

/** The access that a route requires: a scope of tokens, or an account, for which no token is enough. */
type RequiredAccess = OperatorScope | readonly OperatorScope[] | "account";

/**
 * Mounts routes for operators: by token if there is an `Authorization` header, otherwise by session. Accounts may use every
 * route, others than GET only after a recent authentication.
 *
 * @param access `read`: what GET requires. `write`: what other methods require, by default an account. Of several scopes, a token needs
 *   one. `tokensOnly`: accounts can't use the routes.
 */
export function operatorRoutes(
  app: OpenAPIHono<AppEnv>,
  parts: AppParts,
  { read, write = "account", tokensOnly = false }: {
    readonly read: RequiredAccess;
    readonly write?: RequiredAccess;
    readonly tokensOnly?: boolean;
  },
): MountRoute<OperatorActor> {
  const { services } = parts;

  async function authenticate(c: AppContext, access: RequiredAccess): Promise<OperatorActor> {
    const authorization = c.get("headers")["authorization"];
    if (authorization !== undefined || tokensOnly) {
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

  return (endpoint, handle) => {
    const access = endpoint.route.startsWith("GET ") ? read : write;
    const completed = forOperators(endpoint, access);
    mount(app, tokensOnly ? { ...completed, security: "operatorToken" } : completed, {
      authenticate: (c) => authenticate(c, access),
      onError: (c, error) => Promise.resolve(limitInvalidToken(services, c, error)),
      handle,
    });
  };
}

/** Completes a route for the OpenAPI document. */
export function forOperators<Body extends Schema, Query extends Schema, Params extends Schema>(
  endpoint: Omit<Endpoint<Body, Query, Params>, "tag" | "security">,
  access: RequiredAccess,
): Endpoint<Body, Query, Params> {
  const isForAccounts = access === "account";
  const scopes = [access].flat().map((scope) => `\`${scope}\``).join(" or ");
  const who = isForAccounts ? "Only for operator accounts." : `Tokens need the scope ${scopes}.`;
  const { description } = endpoint;
  return {
    ...endpoint,
    tag: "Operators",
    security: isForAccounts ? "operatorAccount" : "operator",
    description: description === undefined ? who : `${description}\n\n${who}`,
  };
}
