// An HTTP thread besides the main one: the same app on the same port, with its own connection to the database.
import { workerData } from "node:worker_threads";
import { parseConfig } from "../../config.ts";
import type { SharedDatabase } from "../../db/engine/database.ts";
import { openShared } from "../../db/engine/open.ts";
import type { CollectMetrics } from "../../routes/metric_set.ts";
import { remoteProcessParts } from "../../services/process_parts.ts";
import { StreamState } from "../../services/stream_state.ts";
import { createServices } from "../../services/services.ts";
import { connectCalls } from "../../services/thread_calls.ts";
import { databaseFailure } from "../open_database.ts";
import { CommandError } from "../settings.ts";
import type { HttpThreadCalls, HttpThreadData, MainThreadCalls, StartFailure } from "./http_calls.ts";
import { HttpServer } from "./http_server.ts";
import { openLog } from "./log.ts";

interface Started {
  readonly database: SharedDatabase;
  readonly server: HttpServer;
  readonly collectMetrics: CollectMetrics;
}

function serveThread(data: HttpThreadData): void {
  let started: Started | undefined;
  const running = () => {
    if (started === undefined) throw new Error("the thread has not started");
    return started;
  };
  const main = connectCalls<MainThreadCalls, HttpThreadCalls>(data.port, {
    async start() {
      try {
        started = await startThread(data, main);
        return null;
      } catch (error) {
        return startFailure(error);
      }
    },
    markReady: () => running().server.markReady(),
    collectMetrics: () => running().collectMetrics(),
    failDatabase: (message) => started?.database.fail(message),
    drain: () => running().server.drain(),
    finish: () => running().server.finish(),
    closePort: () => running().server.closePort(),
    async close() {
      const { server, database } = running();
      await server.close();
      await database.close();
    },
  }, { thread: `HTTP thread ${data.thread}` });
}

/** @throws {CommandError} */
async function startThread(
  { thread, threads, settings, version, share, rateLimitBuffer, streamBuffer }: HttpThreadData,
  main: MainThreadCalls,
): Promise<Started> {
  const result = parseConfig(settings, { isTerminal: Deno.stdout.isTerminal() });
  if ("faults" in result) throw new Error(result.faults.join("\n"));
  const { config } = result;
  const log = await openLog(config);
  // The writer also tells the main thread when it must stop.
  const database = await openShared(share, { onFatal: () => {} }).catch((error) => {
    throw databaseFailure(config, error);
  });
  const server = new HttpServer({ thread, config, log, sharesPort: true });
  const base = { config, database, clock: Date.now };
  const services = createServices(base, {
    parts: remoteProcessParts(base, { calls: main, rateLimitBuffer }),
    onBackgroundError: (error) => log.warn("background work failed", { error }),
    httpThreads: threads,
  });
  const allMetrics = () => main.allMetrics();
  const streamState = streamBuffer && new StreamState(streamBuffer);
  return { database, server, collectMetrics: server.start({ services, allMetrics, streamState, version }) };
}

function startFailure(error: unknown): StartFailure {
  if (!(error instanceof CommandError)) throw error;
  return { message: error.message, status: error.status };
}

serveThread(workerData as HttpThreadData);
