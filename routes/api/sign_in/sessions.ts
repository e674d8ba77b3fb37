// The API of a person's own sessions.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { sessionsPerUserMax } from "../../../domain/limits.ts";
import { endOtherSessions, endSession, listSessions } from "../../../services/sign_in/sessions.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { byActor } from "../../session.ts";
import { mount } from "../endpoint.ts";
import { sessionParamsSchema, sessionsSchema } from "../../schemas/people.ts";

const path = "/api/auth/sessions";

/** Mounts `/api/auth/sessions`. */
export function sessionRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const session = byActor(parts);
  const common = { tag: "Sign-in", security: "session" } as const;
  const ended = { 204: { description: "Ended." } };

  mount(app, {
    ...common,
    method: "get",
    path,
    operationId: "listSessions",
    summary: "List your sessions",
    description:
      `There are at most ${sessionsPerUserMax}: one more sign-in ends the least recently used session.`,
    responses: { 200: { description: "Your sessions, last used first.", schema: sessionsSchema } },
  }, {
    ...session,
    handle: async (c, _input, actor) => c.json({ sessions: await listSessions(services, actor) }),
  });

  mount(app, {
    ...common,
    method: "delete",
    path: `${path}/{id}`,
    operationId: "endSession",
    summary: "End one of your sessions",
    description: "Takes effect immediately. It may be the current session.",
    params: sessionParamsSchema,
    responses: ended,
  }, {
    ...session,
    async handle(c, { params }, actor) {
      await endSession(services, actor, params.id);
      return c.body(null, 204);
    },
  });

  mount(app, {
    ...common,
    method: "delete",
    path,
    operationId: "endOtherSessions",
    summary: "End all of your other sessions",
    responses: ended,
  }, {
    ...session,
    async handle(c, _input, actor) {
      await endOtherSessions(services, actor);
      return c.body(null, 204);
    },
  });
}
