// The API of a user's own sessions.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { sessionsPerUserMax } from "../../../domain/limits.ts";
import { endOtherSessions, endSession, listSessions } from "../../../services/sign_in/sessions.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { sessionRoutes } from "../endpoint.ts";
import { sessionParamsSchema, sessionsSchema } from "../../schemas/people.ts";

const path = "/api/auth/sessions";

/** Mounts `/api/auth/sessions`. */
export function ownSessionRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = sessionRoutes(app, parts, { tag: "Sign-in" });
  const ended = { 204: { description: "Ended." } };

  route({
    route: `GET ${path}`,
    operationId: "listSessions",
    summary: "List your sessions",
    description:
      `There are at most ${sessionsPerUserMax}: one more sign-in ends the least recently used session.`,
    responses: { 200: { description: "Your sessions, last used first.", schema: sessionsSchema } },
  }, async (_c, _input, actor) => ({ sessions: await listSessions(services, actor) }));

  route({
    route: `DELETE ${path}/{id}`,
    operationId: "endSession",
    summary: "End one of your sessions",
    description: "Takes effect immediately. It may be the current session.",
    params: sessionParamsSchema,
    responses: ended,
  }, (_c, { params }, actor) => endSession(services, actor, params.id));

  route({
    route: `DELETE ${path}`,
    operationId: "endOtherSessions",
    summary: "End all of your other sessions",
    responses: ended,
  }, (_c, _input, actor) => endOtherSessions(services, actor));
}
