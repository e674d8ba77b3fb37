// The route that products ask who is signed in.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { sessionUser } from "../../domain/access/session.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { sessionUserSchema } from "./schemas/sign_in.ts";
import { findSession } from "../session.ts";
import { mount } from "../api/endpoint.ts";

export function sessionUserRoute(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  mount(app, {
    tag: "Sign-in",
    security: "maybeSession",
    route: "GET /api/auth/me",
    operationId: "getSessionUser",
    summary: "Get the signed-in user",
    description: "Returns 200 with `authenticated: false` if there is no valid session.",
    responses: { 200: { description: "The signed-in user.", schema: sessionUserSchema } },
  }, {
    authenticate: (c) => findSession(c, parts),
    handle: (_c, _input, session) => sessionUser(session),
  });
}
