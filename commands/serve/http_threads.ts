// The HTTP threads besides the main one, as the main thread sees them. When one of them ends, the program must stop.
import process from "node:process";
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import type { Config } from "../../config.ts";
import type { MainDatabase } from "../../db/engine/database.ts";
import { messageOf } from "../../domain/errors.ts";
import { autoHttpThreadsMax, firstThreadBytes, furtherThreadBytes } from "../../domain/limits.ts";
import type { CollectMetrics } from "../../routes/metric_set.ts";
import { settlesWithin } from "../../services/sleep.ts";
import { connectCalls } from "../../services/thread_calls.ts";
import { CommandError, exitStatus } from "../settings.ts";
import type { HttpThreadCalls, HttpThreadData, MainThreadCalls } from "./http_calls.ts";

export function canSharePort(): boolean {
  // Deno exits if `reusePort` is used without --unstable-net, which also adds this function.
  return Deno.build.os === "linux" && "listenDatagram" in Deno;
}

/** The cores and the bytes of memory that the program may use, by the machine or its container. */
interface Machine {
  readonly cores: number;
  readonly memoryBytes: number;
}

function thisMachine(): Machine {
  return {
    cores: navigator.hardwareConcurrency,
    // 0 for no limit on some systems.
    memoryBytes: Math.min(process.constrainedMemory() || Infinity, Deno.systemMemoryInfo().total),
  };
}

/** Returns the number of HTTP threads, if they can share the port. Default: as many as cores and memory allow. */
export function wantedHttpThreads({ httpThreads, database }: Config, machine = thisMachine()): number {
  if (httpThreads !== "auto") return httpThreads;
  // A libSQL server takes no more from several threads than from one.
  if (database.kind === "remote") return 1;
  const { cores, memoryBytes } = machine;
  const further = Math.max(0, Math.floor((memoryBytes - firstThreadBytes) / furtherThreadBytes));
  return Math.min(cores, autoHttpThreadsMax, 1 + further);
}

interface HttpThreadsOptions extends Omit<HttpThreadData, "thread" | "share" | "port"> {
  readonly database: MainDatabase;
  /** Calls that the threads make to the main thread. */
  readonly calls: MainThreadCalls;
  /** Called when a thread ends unexpectedly. */
  readonly onEnd: (reason: string) => void;
}

type HttpThread = ReturnType<typeof startThread>;

/**
 * Starts the threads after the first one, and waits until all handle requests. They start one after another: workers of Deno that load
 * modules at the same time sometimes wait for each other forever.
 *
 * @throws {CommandError}
 */
export async function startHttpThreads({ onEnd, ...options }: HttpThreadsOptions) {
  const threads: HttpThread[] = [];
  for (let number = 2; number <= options.threads; number++) {
    threads.push(await startedThread(number, options));
  }
  for (const { ended } of threads) ended.then(onEnd);
  return {
    metrics: threads.map(({ calls }): CollectMetrics => () => calls.collectMetrics()),
    /** Calls all threads that are still running. */
    callAll: async (call: (calls: HttpThread["calls"]) => Promise<void>) => {
      await Promise.allSettled(threads.map(({ calls }) => call(calls)));
    },
  };
}

/**
 * Time for each attempt to start a thread: seldom, a worker of Deno never begins to run (denoland/deno#32034). Later attempts have
 * longer, because a machine with much other work needs longer, and starting again adds to it.
 */
const startTimeoutsMs = [15_000, 30_000, 60_000];

/** Starts a thread, and another one in its place if it hangs. @throws {CommandError} */
async function startedThread(
  number: number,
  options: Omit<HttpThreadsOptions, "onEnd">,
): Promise<HttpThread> {
  for (const timeoutMs of startTimeoutsMs) {
    const thread = startThread(number, options);
    const starting = thread.calls.start();
    if (await settlesWithin(timeoutMs, starting)) {
      const failure = await starting;
      if (failure !== null) throw new CommandError(failure.message, failure.status);
      return thread;
    }
    thread.worker.terminate();
  }
  throw new CommandError(`HTTP thread ${number} does not start`, exitStatus.busy);
}

function startThread(
  number: number,
  { database, calls: offered, ...shared }: Omit<HttpThreadsOptions, "onEnd">,
) {
  const { port1, port2 } = new MessageChannel();
  const share = database.share();
  const workerData: HttpThreadData = { ...shared, thread: number, share, port: port2 };
  const worker = new Worker(new URL("./http_worker.ts", import.meta.url), {
    name: `http-${number}`,
    workerData,
    transferList: share.kind === "file" ? [port2, share.port as unknown as MessagePort] : [port2],
  });
  const calls = connectCalls<HttpThreadCalls, MainThreadCalls>(port1, offered, { thread: "main thread" });
  const { promise: ended, resolve: end } = Promise.withResolvers<string>();
  let reason = "it ended";
  worker.on("error", (error) => reason = messageOf(error));
  worker.on("exit", () => {
    const message = `HTTP thread ${number} stopped: ${reason}`;
    calls.$close(new CommandError(message, exitStatus.internal));
    end(message);
  });
  return { calls, ended, worker };
}
