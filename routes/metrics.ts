// What the program measures about itself, for Prometheus. No label ever holds a name, an address or an id.
import process from "node:process";
import { type Metric, Registry } from "prom-client";
import { countFileDescriptors } from "../services/file_descriptors.ts";
import { Histogram } from "../services/histogram.ts";
import type { BackupState } from "../services/backups.ts";
import type { ServerMetrics } from "../services/server_metrics.ts";
import type { AppContext, AppParts } from "./env.ts";
import { routePattern } from "./known_routes.ts";

/** The program's metrics. */
export interface Metrics {
  readonly registry: Registry;
  /** Counts a response. @param startedAt When its request came, by `performance.now()`. */
  countResponse(c: AppContext, startedAt: number): void;
}

/** @param parts See {@linkcode AppParts}. @param options `version`: of the program. @returns Counters that start at zero. */
export function createMetrics({ services, backups }: AppParts, options: { version: string }): Metrics {
  const registry = new Registry();
  const { metrics } = services;
  const countResponse = addRequestMetrics(registry);
  addRecorderMetrics(registry, metrics);
  addDatabaseMetrics(registry, metrics);
  addReportMetrics(registry, metrics);
  addMailMetrics(registry, metrics);
  if (backups !== undefined) addBackupMetrics(registry, backups);
  addProcessMetrics(registry, options.version);
  return { registry, countResponse };
}

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number, metricName?: string];

interface Collected {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly collect: () => Iterable<Sample> | Promise<Iterable<Sample>>;
}

/** Adds a metric whose values are counted elsewhere and read when someone asks: the library's own counting is slow. */
function add(registry: Registry, { name, help, type, collect }: Collected): void {
  const metric = {
    name,
    help,
    type,
    async get() {
      const values = Array.from(
        await collect(),
        ([labels, value, metricName = name]) => ({ labels, value, metricName }),
      );
      return { name, help, type, values, aggregator: "sum" };
    },
  };
  registry.registerMetric(metric as unknown as Metric);
}

/** @returns A distribution as a histogram's samples. */
function* histogram(name: string, labels: Labels, distribution: Histogram): Generator<Sample> {
  const counts = distribution.cumulativeCounts();
  const count = counts.at(-1) ?? 0;
  for (const [index, bound] of distribution.bounds.entries()) {
    yield [{ ...labels, le: String(bound) }, counts[index] ?? 0, `${name}_bucket`];
  }
  yield [{ ...labels, le: "+Inf" }, count, `${name}_bucket`];
  yield [labels, distribution.sum, `${name}_sum`];
  yield [labels, count, `${name}_count`];
}

const durationBucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const knownMethods = new Set(["GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS"]);

interface RouteCounts {
  readonly labels: { readonly method: string; readonly route: string };
  readonly statuses: Map<number, number>;
  readonly seconds: Histogram;
}

/** By the pattern of the route: the number of series doesn't depend on what clients send. */
function addRequestMetrics(registry: Registry): Metrics["countResponse"] {
  const routes = new Map<string, RouteCounts>();
  const errors = new Map<string, number>();
  add(registry, {
    name: "gatehouse_http_requests_total",
    help: "Requests by method, route pattern and response status.",
    type: "counter",
    *collect() {
      for (const { labels, statuses } of routes.values()) {
        for (const [status, count] of statuses) yield [{ ...labels, status: String(status) }, count];
      }
    },
  });
  const duration = "gatehouse_http_request_duration_seconds";
  add(registry, {
    name: duration,
    help: "Time from a request's arrival to its response's headers, by method and route pattern.",
    type: "histogram",
    *collect() {
      for (const { labels, seconds } of routes.values()) yield* histogram(duration, labels, seconds);
    },
  });
  add(registry, {
    name: "gatehouse_http_errors_total",
    help:
      "Error responses by error code: invalid_credentials for failed sign-ins, rate_limited for limits, and so on.",
    type: "counter",
    *collect() {
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
    const code = c.get("errorCode");
    if (code !== undefined) errors.set(code, (errors.get(code) ?? 0) + 1);
  };
}

function addRecorderMetrics(registry: Registry, { recorder, clock }: ServerMetrics): void {
  add(registry, {
    name: "gatehouse_usage_records_total",
    help:
      "Usage records by result: recorded, duplicate, conflict, limited (series limit) or rejected (invalid key).",
    type: "counter",
    *collect() {
      for (const [result, count] of Object.entries(recorder().counts)) yield [{ result }, count];
    },
  });
  const duration = "gatehouse_recorder_commit_duration_seconds";
  add(registry, {
    name: duration,
    help: "Time that a group of usage records takes to be on disk, waiting for the writer included.",
    type: "histogram",
    collect: () => histogram(duration, {}, recorder().commitSeconds),
  });
  const size = "gatehouse_recorder_commit_records";
  add(registry, {
    name: size,
    help: "Usage records in a commit.",
    type: "histogram",
    collect: () => histogram(size, {}, recorder().commitRecords),
  });
  add(registry, {
    name: "gatehouse_recorder_queue_records",
    help: "Usage records waiting for a commit.",
    type: "gauge",
    collect: () => [[{}, recorder().queuedRecords]],
  });
  add(registry, {
    name: "gatehouse_recorder_queue_oldest_seconds",
    help: "How long the oldest of these has been waiting.",
    type: "gauge",
    collect: () => [[{}, ageSeconds(recorder().oldestQueuedAt, clock())]],
  });
}

/** Without samples where there is no file: a libSQL server has metrics of its own. */
function addDatabaseMetrics(registry: Registry, { databaseSize }: ServerMetrics): void {
  add(registry, {
    name: "gatehouse_database_bytes",
    help: "Size of the data file and of its write-ahead log.",
    type: "gauge",
    async collect() {
      const size = await databaseSize();
      return size === null ? [] : [[{ file: "data" }, size.dataBytes], [{ file: "log" }, size.logBytes]];
    },
  });
}

function addReportMetrics(registry: Registry, { reports }: ServerMetrics): void {
  add(registry, {
    name: "gatehouse_reports_running",
    help: "Usage queries and exports under way.",
    type: "gauge",
    collect: () => [[{}, reports().running]],
  });
  add(registry, {
    name: "gatehouse_reports_waiting",
    help: "Usage queries and exports waiting for their turn or for their clients.",
    type: "gauge",
    collect: () => [[{}, reports().waiting]],
  });
}

/** The age of the newest backup is `time() - gatehouse_backup_last_success_timestamp_seconds`. */
function addBackupMetrics(registry: Registry, state: () => BackupState): void {
  add(registry, {
    name: "gatehouse_backup_last_success_timestamp_seconds",
    help: "When the newest scheduled backup was made, in seconds since 1970; 0 when there is none.",
    type: "gauge",
    collect: () => [[{}, (state().lastAt ?? 0) / 1000]],
  });
  add(registry, {
    name: "gatehouse_backup_failures_total",
    help: "Scheduled backups that failed since the start.",
    type: "counter",
    collect: () => [[{}, state().failures]],
  });
}

function addMailMetrics(registry: Registry, { mail, clock }: ServerMetrics): void {
  // Both come from one look at the database, and neither is there while it doesn't answer.
  let outbox = Promise.resolve<Awaited<ReturnType<typeof mail.outbox>> | null>(null);
  add(registry, {
    name: "gatehouse_mail_outbox_emails",
    help: "Emails waiting to be sent.",
    type: "gauge",
    async collect() {
      outbox = mail.outbox().catch(() => null);
      const state = await outbox;
      return state === null ? [] : [[{}, state.emails]];
    },
  });
  add(registry, {
    name: "gatehouse_mail_outbox_oldest_seconds",
    help: "Age of the oldest of these.",
    type: "gauge",
    async collect() {
      const state = await outbox;
      return state === null ? [] : [[{}, ageSeconds(state.oldestAt, clock())]];
    },
  });
  add(registry, {
    name: "gatehouse_mail_attempts_total",
    help: "Attempts to send an email by result: sent, postponed or given_up.",
    type: "counter",
    *collect() {
      for (const [result, count] of Object.entries(mail.counts)) yield [{ result }, count];
    },
  });
}

function ageSeconds(from: number | null, now: number): number {
  return from === null ? 0 : Math.max(0, now - from) / 1000;
}

function addProcessMetrics(registry: Registry, version: string): void {
  const startedAt = Date.now() / 1000 - process.uptime();
  add(registry, {
    name: "gatehouse_build_info",
    help: "The running version; always 1.",
    type: "gauge",
    collect: () => [[{ version, deno: Deno.version.deno }, 1]],
  });
  add(registry, {
    name: "process_start_time_seconds",
    help: "When the process started, in seconds since 1970.",
    type: "gauge",
    collect: () => [[{}, startedAt]],
  });
  add(registry, {
    name: "process_cpu_seconds_total",
    help: "CPU time of all threads.",
    type: "counter",
    collect() {
      const { user, system } = process.cpuUsage();
      return [[{}, (user + system) / 1e6]];
    },
  });
  add(registry, {
    name: "process_open_fds",
    help: "Open file descriptors, connections included.",
    type: "gauge",
    collect() {
      const count = countFileDescriptors();
      return count === null ? [] : [[{}, count]];
    },
  });
  add(registry, {
    name: "process_resident_memory_bytes",
    help: "Resident memory.",
    type: "gauge",
    collect: () => [[{}, Deno.memoryUsage().rss]],
  });
}
