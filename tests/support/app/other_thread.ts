// Another HTTP thread of a test's program: it reaches the parts that exist once per process only by messages.
import { MessageChannel } from "node:worker_threads";
import { collectAll, type CollectMetrics } from "../../../routes/metric_set.ts";
import { createMetrics } from "../../../routes/metrics.ts";
import { type ProcessParts, remoteProcessParts, servedCalls } from "../../../services/process_parts.ts";
import { createServices, type Services } from "../../../services/services.ts";
import { connectCalls } from "../../../services/thread_calls.ts";
import { sender, startedApp, type TestApp } from "./app.ts";

/** The thread, with the app that it serves. */
export interface OtherThread extends Pick<TestApp, "app" | "send"> {
  readonly parts: ProcessParts;
  readonly services: Services;
}

/** What the main thread calls. */
interface ThreadCalls {
  readonly collectMetrics: CollectMetrics;
}

/** Runs another thread of a test's program while `act` runs. */
export async function withOtherThread(
  test: TestApp,
  act: (thread: OtherThread) => Promise<void>,
): Promise<void> {
  const { config, opened: { database }, now: clock } = test;
  const { port1, port2 } = new MessageChannel();
  const mainCalls = { ...servedCalls(test.parts), allMetrics: () => collectAll(test.metricSources) };
  const thread = connectCalls<ThreadCalls, typeof mainCalls>(port1, mainCalls, { thread: "main thread" });
  const threadCalls: ThreadCalls = { collectMetrics: () => metrics.collect() };
  const calls = connectCalls<typeof mainCalls, ThreadCalls>(port2, threadCalls, { thread: "HTTP thread 2" });
  test.metricSources.push(() => thread.collectMetrics());
  const base = { config, database, clock };
  const parts = remoteProcessParts(base, { calls, rateLimitBuffer: test.parts.rateLimitBuffer });
  const services = createServices(base, { parts, onBackgroundError: fail });
  const metrics = createMetrics(services);
  const log = { debug: undefined, warn: fail, error: fail };
  const appParts = { config, services, log, metrics, allMetrics: () => calls.allMetrics() };
  const app = startedApp(appParts);
  try {
    await act({ app, parts, services, send: sender(app, config) });
  } finally {
    test.metricSources.pop();
    await services.close();
    port1.close();
    port2.close();
  }
}

function fail(problem: unknown): never {
  throw new Error("a problem was logged", { cause: problem });
}
