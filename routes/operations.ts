// Health and metrics, for the operator's machines.
import { timingSafeEqual } from "node:crypto";
import { Counter, Gauge, Registry } from "prom-client";
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { notFoundError } from "../domain/errors.ts";
import { describe } from "./api/endpoint.ts";
import { everywhere } from "./api/error_responses.ts";
import { isLoopback } from "./client_address.ts";
import type { BackupState } from "../services/backups.ts";
import type { AppContext, AppEnv, AppParts } from "./env.ts";

/** What is counted of each answer. */
export interface Metrics {
  readonly registry: Registry;
  countAnswer(method: string, status: number): void;
}

/** @param parts See {@linkcode AppParts}. @returns Counters that start at zero. */
export function createMetrics(parts: AppParts): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const known = new Set(["GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS"]);
  // Counted in a map and handed over when somebody asks: the library's own counting costs as much as routing a request.
  const counts = new Map<string, { method: string; status: string; count: number }>();
  new Counter({
    name: "gatehouse_http_answers_total",
    help: "Answers by method and status.",
    labelNames: ["method", "status"],
    registers,
    collect() {
      this.reset();
      for (const { method, status, count } of counts.values()) this.inc({ method, status }, count);
    },
  });
  new Gauge({
    name: "gatehouse_recorder_queue_records",
    help: "Usage records that wait for the next commit.",
    registers,
    collect() {
      this.set(parts.services.queuedRecords());
    },
  });
  if (parts.backups !== undefined) backupMetrics(registers, parts.backups);
  new Gauge({
    name: "process_resident_memory_bytes",
    help: "Resident memory in bytes.",
    registers,
    collect() {
      this.set(Deno.memoryUsage().rss);
    },
  });
  return {
    registry,
    countAnswer(given, status) {
      const name = `${given} ${status}`;
      let entry = counts.get(name);
      if (entry === undefined) {
        const method = known.has(given) ? given : "other";
        const same = counts.get(`${method} ${status}`);
        entry = same ?? { method, status: String(status), count: 0 };
        counts.set(`${method} ${status}`, entry);
      }
      entry.count++;
    },
  };
}

/** The age of the newest backup is `time() - gatehouse_backup_last_success_timestamp_seconds`. */
function backupMetrics(registers: Registry[], state: () => BackupState): void {
  new Gauge({
    name: "gatehouse_backup_last_success_timestamp_seconds",
    help: "When the newest scheduled backup was made, in seconds since 1970; 0 when there is none.",
    registers,
    collect() {
      this.set((state().lastAt ?? 0) / 1000);
    },
  });
  new Counter({
    name: "gatehouse_backup_failures_total",
    help: "Scheduled backups that failed since the start.",
    registers,
    collect() {
      this.reset();
      this.inc(state().failures);
    },
  });
}

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
    answers: { 200: healthy },
  }, everywhere));
  openAPIRegistry.registerPath(describe({
    ...common,
    path: "/health/ready",
    operationId: "getReadiness",
    summary: "Whether requests can be answered",
    description: "The database answers, and the process is not about to end.",
    answers: {
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
    answers: {
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
