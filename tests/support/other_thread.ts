// Another HTTP thread of a test's program: it reaches what the process has one of only by messages.
import { MessageChannel } from "node:worker_threads";
import { createApp } from "../../app.ts";
import type { Metrics } from "../../routes/env.ts";
import { createMetrics } from "../../routes/metrics.ts";
import {
  type ProcessCalls,
  type ProcessParts,
  remoteProcessParts,
  servedCalls,
} from "../../services/process_parts.ts";
import { createServices, type Services } from "../../services/services.ts";
import { connectCalls } from "../../services/thread_calls.ts";
import { sender, type TestApp } from "./app.ts";

/** The thread, with the app that it serves. */
export interface OtherThread extends Pick<TestApp, "send"> {
  readonly parts: ProcessParts;
  readonly services: Services;
  readonly metrics: Metrics;
}

/** Runs another thread of a test's program while `act` runs. */
export async function withOtherThread(
  test: TestApp,
  act: (thread: OtherThread) => Promise<void>,
): Promise<void> {
  const { config, opened: { database }, now: clock } = test;
  const { port1, port2 } = new MessageChannel();
  connectCalls(port1, servedCalls(test.parts), { thread: "main thread" });
  const calls = connectCalls<ProcessCalls, object>(port2, {}, { thread: "HTTP thread 2" });
  const base = { config, database, clock };
  const parts = remoteProcessParts(base, { calls, rateLimitBuffer: test.parts.rateLimitBuffer });
  const services = createServices(base, { parts, onBackgroundError: fail });
  const metrics = createMetrics(services);
  const log = { debug: undefined, warn: fail, error: fail };
  const allMetrics = () => Promise.resolve([]);
  const app = createApp({ config, services, log, metrics, allMetrics }, { version: "0.0.0" });
  try {
    await act({ parts, services, metrics, send: sender(app, config) });
  } finally {
    await services.close();
    port1.close();
    port2.close();
  }
}

function fail(problem: unknown): never {
  throw new Error("a problem was logged", { cause: problem });
}
