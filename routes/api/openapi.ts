// The OpenAPI document, made from the route definitions that validate requests.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { sessionCookieName } from "../cookies.ts";
import type { AppEnv } from "../env.ts";

/**
 * Mounts `/api/openapi.json`.
 *
 * @param app With every API route mounted.
 * @param options `baseUrl`: the public address. `version`: of the program.
 */
export function openApiRoute(app: OpenAPIHono<AppEnv>, options: { baseUrl: string; version: string }): void {
  app.openAPIRegistry.registerComponent("securitySchemes", "session", {
    type: "apiKey",
    in: "cookie",
    name: sessionCookieName,
    description: "The cookie that signing in sets.",
  });
  app.openAPIRegistry.registerComponent("securitySchemes", "apiKey", {
    type: "http",
    scheme: "bearer",
    description: "An API key that a customer made in the portal.",
  });
  let text: string | undefined;
  app.get("/api/openapi.json", (c) => {
    text ??= JSON.stringify(app.getOpenAPI31Document({
      openapi: "3.1.0",
      info: {
        title: "Gatehouse",
        version: options.version,
        description: "Sign-in, API keys and usage metering for the products of one company.",
        license: { name: "MIT" },
      },
      servers: [{ url: options.baseUrl }],
    }));
    c.set("answerHeaders", [["Cache-Control", "public, max-age=60"]]);
    return c.body(text, 200, { "Content-Type": "application/json" });
  });
}
