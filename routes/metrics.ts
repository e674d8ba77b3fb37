// The metrics that each HTTP thread counts. `/metrics` adds up all threads and the metrics of the process.
import { Histogram } from "../services/histogram.ts";
import type { Services } from "../services/services.ts";
import type { Metrics } from "./env.ts";
import { routePattern } from "./known_routes.ts";
import { ageSeconds, byLabel, MetricSet } from "./metric_set.ts";

/** Returns metrics that start at zero. `thread`: the number of this thread, from 1. */
export function createMetrics(services: Services, { thread }: { thread: number } = { thread: 1 }): Metrics {
  const set = new MetricSet();
  const countResponse = addRequestMetrics(set, String(thread));
  addRecorderMetrics(set, services);
  addReportMetrics(set, services);
  return { collect: () => set.collect(), countResponse };
}

const durationBucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const knownMethods = new Set(["GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS"]);

interface RouteCounts {
  readonly labels: { readonly method: string; readonly route: string };
  readonly statuses: Map<number, number>;
  readonly seconds: Histogram;
}

/** Counts by route pattern, so that the number of series doesn't depend on what clients send. */
function addRequestMetrics(set: MetricSet, thread: string): Metrics["countResponse"] {
  const routes = new Map<string, RouteCounts>();
  const errors = new Map<string, number>();
  set.counter("gatehouse_http_requests_total", {
    help: "Requests by method, route pattern and response status.",
    *counts() {
      for (const { labels, statuses } of routes.values()) {
        for (const [status, count] of statuses) yield [{ ...labels, status: String(status) }, count];
      }
    },
  });
  set.counter("gatehouse_http_thread_requests_total", {
    help: "Requests by the thread that handled them.",
    *counts() {
      const statuses = [...routes.values()].flatMap((route) => [...route.statuses.values()]);
      yield [{ thread }, statuses.reduce((sum, count) => sum + count, 0)];
    },
  });
  set.gauge("gatehouse_http_thread_heap_bytes", {
    help: "Memory of JavaScript objects by the thread that serves HTTP, including garbage.",
    value: () => [[{ thread }, Deno.memoryUsage().heapUsed]],
  });
  set.histogram("gatehouse_http_request_duration_seconds", {
    help: "Time from a request's arrival to its response's headers, by method and route pattern.",
    *histograms() {
      for (const { labels, seconds } of routes.values()) yield [labels, seconds];
    },
  });
  set.counter("gatehouse_http_errors_total", {
    help: "Error responses by code, such as invalid_credentials for failed sign-ins and rate_limited.",
    *counts() {
      for (const [code, count] of errors) yield [{ code }, count];
    },
  });
  return (c, startedAt) => {
    const method = knownMethods.has(c.req.method) ? c.req.method : "other";
    const route = routePattern(c) || "unmatched";
    const name = `${method} ${route}`;
    let counts = routes.get(name);
    if (counts === undefined) {
      const seconds = new Histogram(durationBucketsSeconds);
      counts = { labels: { method, route }, statuses: new Map(), seconds };
      routes.set(name, counts);
    }
    const { status } = c.res;
    counts.statuses.set(status, (counts.statuses.get(status) ?? 0) + 1);
    counts.seconds.observe((performance.now() - startedAt) / 1000);
    const code = c.get("error")?.code;
    if (code !== undefined) errors.set(code, (errors.get(code) ?? 0) + 1);
  };
}

function addRecorderMetrics(set: MetricSet, { recorder, clock }: Services): void {
  set.counter("gatehouse_usage_records_total", {
    help:
      "Usage records by result: recorded, duplicate, conflict, limited (series limit) or rejected (a key that is invalid or may not record).",
    counts: () => byLabel("result", recorder.metrics.counts),
  });
  set.histogram("gatehouse_recorder_commit_duration_seconds", {
    help: "Time to write a group of usage records to disk, including the wait for the writer.",
    histograms: () => [[{}, recorder.metrics.commitSeconds]],
  });
  set.histogram("gatehouse_recorder_commit_records", {
    help: "Usage records in a commit.",
    histograms: () => [[{}, recorder.metrics.commitRecords]],
  });
  set.gauge("gatehouse_recorder_queue_records", {
    help: "Usage records waiting for a commit.",
    value: () => recorder.metrics.queuedRecords,
  });
  set.gauge("gatehouse_recorder_queue_oldest_seconds", {
    help: "How long the oldest of these has been waiting.",
    value: () => ageSeconds(recorder.metrics.oldestQueuedAt, clock()),
    aggregator: "max",
  });
}

function addReportMetrics(set: MetricSet, { reports }: Services): void {
  set.gauge("gatehouse_reports_running", {
    help: "Usage queries and exports in progress.",
    value: () => reports.counts.running,
  });
  set.gauge("gatehouse_reports_waiting", {
    help: "Usage queries and exports waiting for others or for their clients.",
    value: () => reports.counts.waiting,
  });
}
