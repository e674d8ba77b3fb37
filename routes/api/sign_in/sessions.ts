// The API of a person's own sessions.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { sessionsPerUserMax } from "../../../domain/limits.ts";
import { endOtherSessions, endSession, listSessions } from "../../../services/sign_in/sessions.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { sessionEndpoints } from "../session_endpoint.ts";
import { sessionParamsSchema, sessionsSchema } from "../../schemas/people.ts";

const path = "/api/auth/sessions";

/** Mounts `/api/auth/sessions`. */
export function sessionRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const mount = sessionEndpoints(app, parts, { tag: "Sign-in" });
  const ended = { 204: { description: "Ended." } };

  mount({
    method: "get",
    path,
    operationId: "listSessions",
    summary: "List your sessions",
    description:
      `There are at most ${sessionsPerUserMax}: one more sign-in ends the least recently used session.`,
    responses: { 200: { description: "Your sessions, last used first.", schema: sessionsSchema } },
  }, async (actor) => ({ sessions: await listSessions(services, actor) }));

  mount({
    method: "delete",
    path: `${path}/{id}`,
    operationId: "endSession",
    summary: "End one of your sessions",
    description: "Takes effect immediately. It may be the current session.",
    params: sessionParamsSchema,
    responses: ended,
  }, (actor, { params }) => endSession(services, actor, params.id));

  mount({
    method: "delete",
    path,
    operationId: "endOtherSessions",
    summary: "End all of your other sessions",
    responses: ended,
  }, (actor) => endOtherSessions(services, actor));
}
