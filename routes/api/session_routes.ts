// API routes for signed-in users: all share how they authenticate.
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { SessionActor } from "../../domain/actor.ts";
import type { ErrorCode } from "../../domain/errors.ts";
import type { AppContext, AppEnv, AppParts } from "../env.ts";
import type { Schema } from "../schemas/check.ts";
import { requireSession } from "../session.ts";
import { type Endpoint, type Input, mount } from "./endpoint.ts";
import type { Tag } from "./openapi/components.ts";

/** Mounts a route whose handler gets checked input and the session. Without a result, the response has no body. */
export type MountSessionRoute = <
  Body extends Schema = undefined,
  Query extends Schema = undefined,
  Params extends Schema = undefined,
>(
  endpoint: Omit<Endpoint<Body, Query, Params>, "tag" | "security">,
  handle: (
    c: AppContext,
    input: Input<Body, Query, Params>,
    actor: SessionActor,
  ) => Response | void | Promise<Response | void>,
) => void;

/** @param common What the routes have in common. `errors`: the default. */
export function sessionRoutes(
  app: OpenAPIHono<AppEnv>,
  parts: AppParts,
  common: { tag: Tag; errors?: readonly ErrorCode[] },
): MountSessionRoute {
  const authenticate = (c: AppContext) => requireSession(c, parts);
  return (endpoint, handle) =>
    mount(app, { ...common, security: "session", ...endpoint }, {
      authenticate,
      handle: async (c, input, actor) =>
        await handle(c, input, actor) ?? c.body(null, Number(Object.keys(endpoint.responses)[0]) as 204),
    });
}
