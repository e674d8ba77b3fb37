// `gatehouse openapi`: prints the OpenAPI document. It needs no database.
import { createApp } from "../app.ts";
import type { Settings } from "../config.ts";
import { type Database, DatabaseError } from "../db/engine/database.ts";
import { createMetrics } from "../routes/metrics.ts";
import { createProcessParts } from "../services/process_parts.ts";
import { createServices } from "../services/services.ts";
import { readSettings } from "./settings.ts";
import { writeLine } from "./terminal.ts";

export async function openApiCommand(environment: Settings, options: { version: string }): Promise<number> {
  const config = readSettings(environment);
  const fail = () => Promise.reject(new DatabaseError("unavailable", "this command has no database"));
  const database: Database = {
    source: { kind: "file", path: "" },
    read: fail,
    readFirst: fail,
    write: fail,
    close: () => Promise.resolve(),
  };
  const base = { config, database, clock: Date.now };
  const onBackgroundError = () => {};
  const parts = createProcessParts(base, { onBackgroundError });
  const services = createServices(base, { parts, onBackgroundError });
  const log = { debug: undefined, warn: () => {}, error: () => {} };
  const metrics = createMetrics(services);
  const allMetrics = () => Promise.resolve([]);
  const app = createApp({ config, services, log, metrics, allMetrics }, options);
  const response = await app.request("/api/openapi.json");
  return writeLine(JSON.stringify(await response.json(), null, 2));
}
