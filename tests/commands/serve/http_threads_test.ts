// How many threads serve HTTP by default.
import assert from "node:assert/strict";
import { wantedHttpThreads } from "../../../commands/serve/http_threads.ts";
import { type Config, parseConfig } from "../../../config.ts";

function configOf(settings: Readonly<Record<string, string>>): Config {
  const result = parseConfig(settings, { isTerminal: false });
  assert("config" in result);
  return result.config;
}

Deno.test("by default, a data file gets a thread for each core, and a libSQL server gets one", () => {
  const perCore = Math.min(navigator.hardwareConcurrency, 8);
  assert.equal(wantedHttpThreads(configOf({})), perCore);
  assert.equal(wantedHttpThreads(configOf({ DATABASE_URL: "http://127.0.0.1:8080" })), 1);
  assert.equal(
    wantedHttpThreads(configOf({ DATABASE_URL: "http://127.0.0.1:8080", HTTP_THREADS: "3" })),
    3,
  );
});
