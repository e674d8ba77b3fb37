// The HTTP threads besides the main one, as the main thread sees them. When one of them ends, the program must stop.
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import type { Config } from "../../config.ts";
import type { MainDatabase } from "../../db/engine/database.ts";
import { messageOf } from "../../domain/errors.ts";
import { autoHttpThreadsMax } from "../../domain/limits.ts";
import type { CollectMetrics } from "../../routes/metric_set.ts";
import { connectCalls } from "../../services/thread_calls.ts";
import { CommandError, exitStatus } from "../settings.ts";
import type { HttpThreadCalls, HttpThreadData, MainThreadCalls } from "./http_calls.ts";

/** @returns Whether several threads can listen on one port. */
export function canSharePort(): boolean {
  // Deno exits if `reusePort` is used without --unstable-net, which also adds this function.
  return Deno.build.os === "linux" && "listenDatagram" in Deno;
}

/** @returns How many threads are to serve HTTP, if they can share the port. */
export function wantedHttpThreads({ httpThreads }: Config): number {
  return httpThreads === "auto" ? Math.min(navigator.hardwareConcurrency, autoHttpThreadsMax) : httpThreads;
}

/** What is the same for all threads. */
type Shared = "threads" | "settings" | "version" | "rateLimitBuffer";

interface HttpThreadsOptions extends Pick<HttpThreadData, Shared> {
  readonly database: MainDatabase;
  /** What the threads may call. */
  readonly calls: MainThreadCalls;
  /** Called when a thread ends by itself. */
  readonly onEnd: (reason: string) => void;
}

/** The calls to one thread. */
type HttpThread = ReturnType<typeof connectCalls<HttpThreadCalls, MainThreadCalls>>;

/** The threads after the first one. */
export class HttpThreads {
  readonly #threads: readonly HttpThread[];

  private constructor(threads: readonly HttpThread[]) {
    this.#threads = threads;
  }

  /** Starts the threads, and waits until all handle requests. @throws {CommandError} */
  static async start(options: HttpThreadsOptions): Promise<HttpThreads> {
    const threads = Array.from(
      { length: options.threads - 1 },
      (_, index) => startThread(index + 2, options),
    );
    for (const failure of await Promise.all(threads.map((thread) => thread.start()))) {
      if (failure !== null) throw new CommandError(failure.message, failure.status);
    }
    return new HttpThreads(threads);
  }

  /** Collects the metrics of each. */
  get metrics(): readonly CollectMetrics[] {
    return this.#threads.map((thread) => () => thread.collectMetrics());
  }

  /** See `HttpServer`. */
  async markReady(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.markReady()));
  }

  /** Rejects all writes, because the writer has died. */
  failDatabase(message: string): void {
    for (const thread of this.#threads) thread.failDatabase.asEvent(message);
  }

  /** See `HttpServer`. */
  drain(): void {
    for (const thread of this.#threads) thread.drain.asEvent();
  }

  /** See `HttpServer`. */
  async finish(): Promise<boolean> {
    const areClean = await Promise.all(this.#threads.map((thread) => thread.finish()));
    return areClean.every((isClean) => isClean);
  }

  /** Writes what was accepted, and closes the threads' databases. */
  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }
}

function startThread(
  number: number,
  { database, calls, onEnd, ...shared }: HttpThreadsOptions,
): HttpThread {
  const { port1, port2 } = new MessageChannel();
  const share = database.share();
  const ports = share.kind === "file" ? [port2, share.port as unknown as MessagePort] : [port2];
  const workerData: HttpThreadData = { ...shared, thread: number, share, port: port2 };
  const worker = new Worker(new URL("./http_worker.ts", import.meta.url), {
    name: `http-${number}`,
    workerData,
    transferList: ports,
  });
  const thread = connectCalls<HttpThreadCalls, MainThreadCalls>(port1, calls, { thread: "main thread" });
  let reason = "it ended";
  worker.on("error", (error) => reason = messageOf(error));
  worker.on("exit", () => {
    const error = new CommandError(`HTTP thread ${number} stopped: ${reason}`, exitStatus.internal);
    thread.$close(error);
    onEnd(error.message);
  });
  return thread;
}
