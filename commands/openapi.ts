// `gatehouse openapi`: prints the OpenAPI document. It needs no database.
import { createApp } from "../app.ts";
import type { Settings } from "../config.ts";
import type { Database } from "../db/engine/database.ts";
import { DatabaseError } from "../db/engine/database.ts";
import { createServices } from "../services/services.ts";
import { exitConfig, readSettings } from "./settings.ts";
import { writeLine } from "./terminal.ts";

/** @param environment See {@linkcode CommandLine}. @param options `version`: of the program. @returns The exit status. */
export async function openApiCommand(environment: Settings, options: { version: string }): Promise<number> {
  const config = readSettings(environment);
  if (config === null) return exitConfig;
  const none = () => Promise.reject(new DatabaseError("unavailable", "this command has no database"));
  const database: Database = {
    source: { kind: "file", path: "" },
    read: none,
    readFirst: none,
    write: none,
    close: () => Promise.resolve(),
  };
  const services = createServices({ config, database, clock: Date.now }, { onBackgroundError: () => {} });
  const log = { debug: undefined, warn: () => {}, error: () => {} };
  const answer = await createApp({ config, services, log }, options).request("/api/openapi.json");
  return writeLine(JSON.stringify(await answer.json(), null, 2));
}
