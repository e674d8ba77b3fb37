// The API of one's own sessions.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { sessionsPerUserMax } from "../../../domain/limits.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { byActor } from "../../session.ts";
import { mount } from "../endpoint.ts";
import { sessionParamsSchema, sessionsSchema } from "../../schemas/people.ts";

const path = "/api/auth/sessions";

/** Mounts `/api/auth/sessions`. */
export function sessionRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { sessions } = parts.services;
  const session = byActor(parts);
  const common = { tag: "Sign-in", security: "session" } as const;

  mount(app, {
    ...common,
    method: "get",
    path,
    operationId: "listSessions",
    summary: "Where you are signed in",
    description:
      `At most ${sessionsPerUserMax}: signing in once more ends the session that was used longest ago.`,
    responses: { 200: { description: "Your sessions, the last used first.", schema: sessionsSchema } },
  }, {
    ...session,
    handle: async (c, _input, actor) => c.json({ sessions: await sessions.listSessions(actor) }),
  });

  mount(app, {
    ...common,
    method: "delete",
    path: `${path}/{id}`,
    operationId: "endSession",
    summary: "End one of your sessions",
    description: "It is refused from the very next request on. The session that asks can end itself.",
    params: sessionParamsSchema,
    responses: { 204: { description: "Ended." } },
  }, {
    ...session,
    async handle(c, { params }, actor) {
      await sessions.endSession(actor, params.id);
      return c.body(null, 204);
    },
  });

  mount(app, {
    ...common,
    method: "delete",
    path,
    operationId: "endOtherSessions",
    summary: "End all of your sessions but this one",
    responses: { 204: { description: "Ended." } },
  }, {
    ...session,
    async handle(c, _input, actor) {
      await sessions.endOtherSessions(actor);
      return c.body(null, 204);
    },
  });
}
