// Health and metrics, for the operator's own monitoring.
import { timingSafeEqual } from "node:crypto";
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { notFoundError } from "../domain/errors.ts";
import { describe } from "./api/endpoint.ts";
import { everywhere } from "./api/openapi/error_responses.ts";
import { isLoopback } from "./client_address.ts";
import type { AppContext, AppEnv, AppParts } from "./env.ts";
import type { Metrics } from "./metrics.ts";

/** Mounts `/health/*` and `/metrics`. */
export function operationRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts, metrics: Metrics): void {
  describeOperations(app);

  app.get("/health/live", (c) => c.json({ status: "ok" }));

  app.get("/health/ready", async (c) => {
    if (await parts.services.isReady()) return c.json({ status: "ok" });
    c.header("Retry-After", "1");
    return c.json({ status: "unavailable" }, 503);
  });

  app.get("/metrics", async (c) => {
    // Whoever may not see them is not told that they are here.
    if (!maySeeMetrics(c, parts.config.metricsToken)) throw notFoundError();
    return c.body(await metrics.registry.metrics(), 200, { "Content-Type": metrics.registry.contentType });
  });
}

/** These take whatever query a load balancer or a scraper adds. */
function describeOperations({ openAPIRegistry }: OpenAPIHono<AppEnv>): void {
  const common = { method: "get", tag: "Operations", security: "none" } as const;
  const healthy = {
    description: "All is well.",
    schema: z.object({ status: z.literal("ok").openapi({ description: "What is the matter." }) }),
  };
  openAPIRegistry.registerPath(describe({
    ...common,
    path: "/health/live",
    operationId: "getLiveness",
    summary: "Whether the process is up",
    responses: { 200: healthy },
  }, everywhere));
  openAPIRegistry.registerPath(describe({
    ...common,
    path: "/health/ready",
    operationId: "getReadiness",
    summary: "Whether requests can be answered",
    description: "The database answers, and the process is not about to end.",
    responses: {
      200: healthy,
      503: {
        description: "Not now.",
        headers: { "Retry-After": { description: "After how many seconds to try again.", example: "1" } },
        schema: z.object({
          status: z.literal("unavailable").openapi({ description: "What is the matter." }),
        }),
      },
    },
  }, everywhere));
  openAPIRegistry.registerPath(describe({
    ...common,
    path: "/metrics",
    security: "metricsToken",
    operationId: "getMetrics",
    summary: "Metrics, for Prometheus",
    responses: {
      200: {
        description: "Prometheus' text format.",
        contentType: "text/plain; version=0.0.4; charset=utf-8",
      },
    },
  }, [...everywhere, "not_found"]));
}

function maySeeMetrics(c: AppContext, token: string | undefined): boolean {
  if (token === undefined) {
    // Behind a proxy on the same machine every peer is loopback: then the forwarded client counts, trusted or not.
    return isLoopback(c.env?.remoteAddr?.hostname ?? "127.0.0.1") &&
      c.req.header("X-Forwarded-For") === undefined &&
      c.req.header("Forwarded") === undefined;
  }
  const given = new TextEncoder().encode(c.req.header("Authorization") ?? "");
  const wanted = new TextEncoder().encode(`Bearer ${token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}
