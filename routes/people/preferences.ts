// The API of a person's own preferences.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { changePreferences } from "../../services/people/mod.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { changePreferencesSchema, preferencesSchema } from "./schemas/preferences.ts";
import { sessionRoutes } from "../api/endpoint.ts";

const path = "/api/auth/preferences";

export function preferencesRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const route = sessionRoutes(app, parts, { tag: "Account" });
  const responses = { 200: { description: "Your preferences.", schema: preferencesSchema } };

  route({
    route: `GET ${path}`,
    operationId: "getPreferences",
    summary: "Get your preferences",
    responses,
  }, (_c, _input, actor) => actor.preferences);

  route({
    route: `PATCH ${path}`,
    operationId: "changePreferences",
    summary: "Change your preferences",
    description:
      "Pages show numbers, dates and times accordingly. Responses of the API, CSV files and emails don't change.",
    body: changePreferencesSchema,
    responses,
  }, (_c, { body }, actor) => changePreferences(parts.services, actor, body));
}
