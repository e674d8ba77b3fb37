// The server of every HTTP thread: the app, on a port that it shares with the other threads.
import { createHotApp } from "../../hot_app.ts";
import type { Config } from "../../config.ts";
import { messageOf } from "../../domain/errors.ts";
import type { App, AppParts } from "../../routes/env.ts";
import type { CollectMetrics } from "../../routes/metric_set.ts";
import { createMetrics } from "../../routes/metrics.ts";
import type { Services } from "../../services/services.ts";
import { CommandError, exitStatus } from "../settings.ts";
import { writeLine } from "../terminal.ts";
import { Listener } from "./listen.ts";
import type { ProgramLog } from "./log.ts";

/** The interval of checks for slow clients. */
const sweepIntervalMs = 1_000;

interface HttpServerOptions {
  /** The thread's number, from 1. */
  readonly thread: number;
  readonly config: Config;
  readonly log: ProgramLog;
  /** True if other threads listen on the same port. */
  readonly sharesPort: boolean;
}

export class HttpServer {
  /** The settings with the open port. */
  readonly config: Config;
  readonly #thread: number;
  readonly #log: ProgramLog;
  readonly #listener: Listener;
  #app: Pick<App, "fetch"> | undefined;
  #services: Services | undefined;
  #sweeping: ReturnType<typeof setInterval> | undefined;
  #isReady = false;

  /** Opens the port. @throws {CommandError} */
  constructor({ thread, config, log, sharesPort }: HttpServerOptions) {
    const { host: hostname, port } = config;
    try {
      this.#listener = new Listener(
        (request, info) => this.#app?.fetch(request, info) ?? new Response(null, { status: 503 }),
        { hostname, port, sharesPort, log },
      );
    } catch (error) {
      throw portFailure(config, error);
    }
    this.#thread = thread;
    this.#log = log;
    this.config = withPort(config, this.#listener.port);
  }

  /** Handles requests from now on, and returns the metrics of this thread. */
  start(
    { services, allMetrics, streamState, version }: Pick<AppParts, "allMetrics" | "streamState"> & {
      readonly services: Services;
      readonly version: string;
    },
  ): CollectMetrics {
    const metrics = createMetrics(services, { thread: this.#thread });
    const unreadyReason = async () => this.#isReady ? await services.unreadyReason() : "starting";
    this.#services = services;
    this.#sweeping = setInterval(() => services.deadlines.sweep(), sweepIntervalMs);
    const parts: AppParts = {
      config: this.config,
      services: { ...services, unreadyReason },
      log: this.#log,
      print: (line) => void writeLine(`gatehouse: ${line}`, "stderr"),
      metrics,
      allMetrics,
      streamState,
    };
    this.#app = createHotApp(parts, async () => (await import("../../app.ts")).createApp(parts, { version }));
    return metrics.collect;
  }

  /** Lets `/health/ready` return 200: all threads have started. */
  markReady(): void {
    this.#isReady = true;
  }

  /** Makes `/health/ready` return 503. All requests are still handled. */
  drain(): void {
    this.#services?.drain();
  }

  /** Rejects new requests and completes those in progress. */
  async finish(): Promise<void> {
    await this.#listener.finish();
  }

  /** Call this when all threads have finished: until then, new connections to this thread must not be left waiting. */
  async closePort(): Promise<void> {
    await this.#listener.close();
  }

  /** Writes accepted records. The database stays open. */
  async close(): Promise<void> {
    await this.#services?.close();
    clearInterval(this.#sweeping);
  }
}

/** Checks that no other program has the port open: a shared port could be opened nevertheless. @throws {CommandError} */
export function requireFreePort(config: Config): void {
  try {
    Deno.listen({ hostname: config.host, port: config.port }).close();
  } catch (error) {
    throw portFailure(config, error);
  }
}

function portFailure({ host, port }: Config, error: unknown): CommandError {
  const status = error instanceof Deno.errors.AddrInUse ? exitStatus.busy : exitStatus.config;
  return new CommandError(`cannot listen on ${host}:${port}: ${messageOf(error)}`, status);
}

/** Adds the port, which is known only when it is open if the settings leave it to the operating system. */
function withPort(config: Config, port: number): Config {
  if (config.port !== 0) return config;
  const baseUrl = new URL(config.baseUrl);
  if (baseUrl.port === "0") baseUrl.port = String(port);
  return { ...config, port, baseUrl };
}
