// The routes with sums of usage: one returns JSON, the other CSV.
import type { z } from "@hono/zod-openapi";
import type { ErrorCode } from "../../domain/errors.ts";
import type { UsageRangeInput } from "../../domain/meter/usage_window.ts";
import type { JobBytes } from "../../services/reports/reports.ts";
import type { AppParts } from "../env.ts";
import type { MountRoute, RouteWords } from "../api/endpoint.ts";
import { csvResponse, sendCsv, sendJson, usageFile } from "../api/job_bytes.ts";

/** @param options `read`: returns the sums in a format. */
export function sumRoutes<Actor, Query extends UsageRangeInput>(
  route: MountRoute<Actor>,
  { services }: AppParts,
  { path, query, sums, json, csv, errors, read }:
    & Record<"json" | "csv", Omit<RouteWords, "route">>
    & {
      path: `/${string}`;
      query: z.ZodType<Query>;
      sums: z.ZodType;
      errors: readonly ErrorCode[];
      read: (
        actor: Actor,
        options: { query: Query; format: "json" | "csv"; signal: AbortSignal },
      ) => Promise<JobBytes>;
    },
): void {
  route({
    ...json,
    route: `GET ${path}`,
    query,
    responses: { 200: { description: "Sums by window and group.", schema: sums } },
    errors,
  }, async (c, { query }, actor) => {
    return sendJson(c, await read(actor, { query, format: "json", signal: c.req.raw.signal }));
  });

  route({
    ...csv,
    route: `GET ${path}.csv`,
    query,
    responses: { 200: csvResponse },
    errors,
  }, async (c, { query }, actor) => {
    const sums = await read(actor, { query, format: "csv", signal: c.req.raw.signal });
    return sendCsv(c, sums, usageFile(query, services.clock()));
  });
}
