// Metrics of the program, for Prometheus. Labels never contain names, addresses or ids.
import process from "node:process";
import { type Metric, Registry } from "prom-client";
import { countFileDescriptors } from "../services/file_descriptors.ts";
import { Histogram } from "../services/histogram.ts";
import type { BackupState } from "../services/backups.ts";
import type { Services } from "../services/services.ts";
import type { AppContext, AppParts } from "./env.ts";
import { routePattern } from "./known_routes.ts";

/** The program's metrics. */
export interface Metrics {
  readonly registry: Registry;
  /** Counts a response. @param startedAt When its request arrived, by `performance.now()`. */
  countResponse(c: AppContext, startedAt: number): void;
}

/** @param options `version`: of the program. @returns Metrics that start at zero. */
export function createMetrics({ services, backups }: AppParts, options: { version: string }): Metrics {
  const set = new MetricSet();
  const countResponse = addRequestMetrics(set);
  addRecorderMetrics(set, services);
  addDatabaseMetrics(set, services);
  addReportMetrics(set, services);
  addMailMetrics(set, services);
  if (backups !== undefined) addBackupMetrics(set, backups);
  addProcessMetrics(set, options.version);
  return { registry: set.registry, countResponse };
}

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number, metricName?: string];

type GaugeValue = number | Sample[] | null;

interface Definition {
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly collect: () => Iterable<Sample> | Promise<Iterable<Sample>>;
}

/** Metrics whose values are counted elsewhere and read on request: counting with the library is slow. */
class MetricSet {
  readonly registry = new Registry();

  counter(name: string, { help, counts }: { help: string; counts: () => Iterable<Sample> }): void {
    this.#add(name, { type: "counter", help, collect: counts });
  }

  /** @param options `value`: one value, samples by label, or null for no sample. */
  gauge(
    name: string,
    { help, value }: { help: string; value: () => GaugeValue | Promise<GaugeValue> },
  ): void {
    const collect = async () => {
      const values = await value();
      return typeof values === "number" ? [[{}, values]] as Sample[] : values ?? [];
    };
    this.#add(name, { type: "gauge", help, collect });
  }

  histogram(
    name: string,
    { help, histograms }: { help: string; histograms: () => Iterable<readonly [Labels, Histogram]> },
  ): void {
    const collect = () =>
      [...histograms()].flatMap(([labels, histogram]) => samplesOf(histogram, { name, labels }));
    this.#add(name, { type: "histogram", help, collect });
  }

  #add(name: string, { type, help, collect }: Definition): void {
    const get = async () => {
      const toValue = ([labels, value, metricName = name]: Sample) => ({ labels, value, metricName });
      return { name, help, type, values: Array.from(await collect(), toValue), aggregator: "sum" };
    };
    this.registry.registerMetric({ name, help, type, get } as unknown as Metric);
  }
}

function samplesOf(histogram: Histogram, { name, labels }: { name: string; labels: Labels }): Sample[] {
  const counts = histogram.cumulativeCounts();
  const bounds = [...histogram.bounds.map(String), "+Inf"];
  return [
    ...bounds.map((le, index): Sample => [{ ...labels, le }, counts[index] ?? 0, `${name}_bucket`]),
    [labels, histogram.sum, `${name}_sum`],
    [labels, counts.at(-1) ?? 0, `${name}_count`],
  ];
}

const durationBucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const knownMethods = new Set(["GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS"]);

interface RouteCounts {
  readonly labels: { readonly method: string; readonly route: string };
  readonly statuses: Map<number, number>;
  readonly seconds: Histogram;
}

/** Counts by route pattern, so that the number of series doesn't depend on what clients send. */
function addRequestMetrics(set: MetricSet): Metrics["countResponse"] {
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
    const code = c.get("errorCode");
    if (code !== undefined) errors.set(code, (errors.get(code) ?? 0) + 1);
  };
}

function addRecorderMetrics(set: MetricSet, { recorder, clock }: Services): void {
  set.counter("gatehouse_usage_records_total", {
    help:
      "Usage records by result: recorded, duplicate, conflict, limited (series limit) or rejected (invalid key).",
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
  });
}

/** A libSQL server has its own metrics: then there are no samples. */
function addDatabaseMetrics(set: MetricSet, services: Services): void {
  set.gauge("gatehouse_database_bytes", {
    help: "Size of the data file and of its write-ahead log.",
    async value() {
      const size = await services.databaseSize();
      return size === null ? null : [[{ file: "data" }, size.dataBytes], [{ file: "log" }, size.logBytes]];
    },
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

/** The age of the newest backup is `time() - gatehouse_backup_last_success_timestamp_seconds`. */
function addBackupMetrics(set: MetricSet, state: () => BackupState): void {
  set.gauge("gatehouse_backup_last_success_timestamp_seconds", {
    help: "Time of the newest scheduled backup, in seconds since 1970; 0 for none.",
    value: () => (state().lastAt ?? 0) / 1000,
  });
  set.counter("gatehouse_backup_failures_total", {
    help: "Scheduled backups that failed since the start.",
    counts: () => [[{}, state().failures]],
  });
}

function addMailMetrics(set: MetricSet, services: Services): void {
  // Both gauges share one query, and have no samples when it fails.
  let outbox = Promise.resolve<Awaited<ReturnType<Services["outboxState"]>> | null>(null);
  set.gauge("gatehouse_mail_outbox_emails", {
    help: "Emails waiting to be sent.",
    async value() {
      outbox = services.outboxState().catch(() => null);
      return (await outbox)?.emails ?? null;
    },
  });
  set.gauge("gatehouse_mail_outbox_oldest_seconds", {
    help: "Age of the oldest of these.",
    async value() {
      const state = await outbox;
      return state === null ? null : ageSeconds(state.oldestAt, services.clock());
    },
  });
  set.counter("gatehouse_mail_attempts_total", {
    help: "Attempts to send an email by result: sent, postponed or given_up.",
    counts: () => byLabel("result", services.mail.counts),
  });
}

function byLabel(label: string, counts: object): Sample[] {
  return Object.entries(counts).map(([value, count]) => [{ [label]: value }, count]);
}

function ageSeconds(from: number | null, now: number): number {
  return from === null ? 0 : Math.max(0, now - from) / 1000;
}

function addProcessMetrics(set: MetricSet, version: string): void {
  const startedAt = Date.now() / 1000 - process.uptime();
  set.gauge("gatehouse_build_info", {
    help: "The running version; always 1.",
    value: () => [[{ version, deno: Deno.version.deno }, 1]],
  });
  set.gauge("process_start_time_seconds", {
    help: "When the process started, in seconds since 1970.",
    value: () => startedAt,
  });
  set.counter("process_cpu_seconds_total", {
    help: "CPU time of all threads.",
    counts() {
      const { user, system } = process.cpuUsage();
      return [[{}, (user + system) / 1e6]];
    },
  });
  set.gauge("process_open_fds", {
    help: "Open file descriptors, including connections.",
    value: countFileDescriptors,
  });
  set.gauge("process_resident_memory_bytes", {
    help: "Resident memory.",
    value: () => Deno.memoryUsage().rss,
  });
}
