// Health checks and metrics, for the operator's monitoring.
import { timingSafeEqual } from "node:crypto";
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { notFoundError } from "../domain/errors.ts";
import { documentRoute } from "./api/endpoint.ts";
import { unreadyReasons } from "../services/readiness.ts";
import { streamStates } from "../services/stream_state.ts";
import { commonErrors } from "./api/openapi/error_responses.ts";
import { isLocalRequest } from "./client_address.ts";
import type { AppContext, AppEnv, AppParts } from "./env.ts";
import { metricsContentType, metricsText } from "./metric_set.ts";

export function operationRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  describeOperations(app);

  app.get("/health/live", (c) => c.json({ status: "ok" }));

  app.get("/health/ready", async (c) => {
    const reason = await parts.services.unreadyReason();
    // A backup that is behind must not take a server that works out of its balancer.
    const backup = parts.streamState?.health(Date.now());
    if (reason === null) return c.json({ status: "ok", ...backup && { backup } });
    c.header("Retry-After", "1");
    return c.json({ status: "unavailable", reason }, 503);
  });

  app.get("/metrics", async (c) => {
    // Without permission, the page seems not to exist.
    if (!maySeeMetrics(c, parts.config.metricsToken)) throw notFoundError();
    return c.body(metricsText(await parts.allMetrics()), 200, { "Content-Type": metricsContentType });
  });
}

const backupSchema = z.object({
  state: z.enum(streamStates).describe(
    "`ok`: the copy is complete. `snapshot`: its first snapshot is being made. `gap`: nothing is copied at the moment. " +
      "`refused`: another server uses the target. `failed`: restart the server.",
  ),
  behindSeconds: z.number().int().nullable().describe(
    "Seconds since the newest state that can be restored; null if none can.",
  ),
}).describe("With a continuous backup: how far it is. It never makes the server unready.");

/** Documents these routes. They ignore query parameters, which load balancers and scrapers may add. */
function describeOperations(app: OpenAPIHono<AppEnv>): void {
  const common = { tag: "Operations", security: "none" } as const;
  const healthy = {
    description: "Healthy.",
    schema: z.object({ status: z.literal("ok").describe("The status.") }),
  };
  documentRoute(app, {
    ...common,
    route: "GET /health/live",
    operationId: "getLiveness",
    summary: "Check liveness",
    description: "Responds as long as the process runs.",
    responses: { 200: healthy },
  }, commonErrors);
  documentRoute(app, {
    ...common,
    route: "GET /health/ready",
    operationId: "getReadiness",
    summary: "Check readiness",
    description:
      "Checks that the database can be read and written, and that the server is not shutting down.",
    responses: {
      200: { ...healthy, schema: healthy.schema.extend({ backup: backupSchema.optional() }) },
      503: {
        description: "Not ready.",
        headers: { "Retry-After": { description: "Seconds to wait before the next try.", example: "1" } },
        schema: z.object({
          status: z.literal("unavailable").describe("The status."),
          reason: z.enum(unreadyReasons).describe(
            "Why. With `disk_full`, `database_locked`, `write_failed` and `write_delayed`, requests that only " +
              "read still work.",
          ),
        }),
      },
    },
  }, commonErrors);
  documentRoute(app, {
    ...common,
    route: "GET /metrics",
    security: "metricsToken",
    operationId: "getMetrics",
    summary: "Get metrics",
    description: "Without `METRICS_TOKEN`, only requests from the same machine get a response.",
    responses: {
      200: {
        description: "Metrics in Prometheus text format.",
        contentType: metricsContentType,
      },
    },
  }, [...commonErrors, "not_found", "unavailable"]);
}

function maySeeMetrics(c: AppContext, token: string | undefined): boolean {
  if (token === undefined) return isLocalRequest(c);
  const given = new TextEncoder().encode(c.req.header("Authorization") ?? "");
  const wanted = new TextEncoder().encode(`Bearer ${token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}
