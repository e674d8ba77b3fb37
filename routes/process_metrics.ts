// Metrics that exist once per process, however many threads serve HTTP.
import process from "node:process";
import type { BackupState } from "../services/backups.ts";
import { countFileDescriptors } from "../services/file_descriptors.ts";
import type { OwnedProcessParts } from "../services/process_parts.ts";
import type { Services } from "../services/services.ts";
import type { StreamState } from "../services/stream_state.ts";
import { ageSeconds, byLabel, type CollectMetrics, MetricSet } from "./metric_set.ts";

interface ProcessMetricsOptions {
  readonly parts: OwnedProcessParts;
  readonly services: Pick<Services, "unreadyReason">;
  /** Undefined without a schedule. */
  readonly backups?: (() => BackupState) | undefined;
  /** Present with a continuous backup. */
  readonly stream?: StreamState | undefined;
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

export function processMetrics(
  { parts, services, backups, stream, version, clock }: ProcessMetricsOptions,
): CollectMetrics {
  const set = new MetricSet();
  set.gauge("gatehouse_ready", {
    help:
      "1 if the database can be read and the last write of any request or health check succeeded, otherwise 0.",
    // Pages of the console read it too, and must not write.
    value: async () => await services.unreadyReason({ mayWrite: false }) === null ? 1 : 0,
  });
  addDatabaseMetrics(set, parts);
  addMailMetrics(set, { parts, clock });
  addWebhookMetrics(set, { parts, clock });
  if (backups !== undefined) addBackupMetrics(set, backups);
  if (stream !== undefined) addStreamMetrics(set, stream, clock);
  addProcessMetrics(set, version);
  return () => set.collect();
}

/** A libSQL server has its own metrics: then there are no samples. */
function addDatabaseMetrics(set: MetricSet, parts: OwnedProcessParts): void {
  set.gauge("gatehouse_database_bytes", {
    help: "Size of the data file and of its write-ahead log.",
    async value() {
      const size = await parts.databaseSize();
      return size === null ? null : [[{ file: "data" }, size.dataBytes], [{ file: "log" }, size.logBytes]];
    },
  });
}

function addMailMetrics(
  set: MetricSet,
  { parts, clock }: Pick<ProcessMetricsOptions, "parts" | "clock">,
): void {
  // Both gauges share one query, and have no samples when it fails.
  let outbox = Promise.resolve<Awaited<ReturnType<OwnedProcessParts["outboxState"]>> | null>(null);
  set.gauge("gatehouse_mail_outbox_emails", {
    help: "Emails waiting to be sent.",
    async value() {
      outbox = parts.outboxState().catch(() => null);
      return (await outbox)?.emails ?? null;
    },
  });
  set.gauge("gatehouse_mail_outbox_oldest_seconds", {
    help: "Age of the oldest of these.",
    async value() {
      const state = await outbox;
      return state === null ? null : ageSeconds(state.oldestAt, clock());
    },
  });
  set.counter("gatehouse_mail_attempts_total", {
    help: "Attempts to send an email by result: sent, postponed or given_up.",
    counts: () => byLabel("result", parts.mailWorker.counts),
  });
  set.counter("gatehouse_mail_withheld_total", {
    help:
      "Emails about limits that were not sent by reason: unconfirmed addresses, or no_owner in the organization.",
    counts: () => byLabel("reason", parts.mailWorker.withheld),
  });
}

function addWebhookMetrics(
  set: MetricSet,
  { parts, clock }: Pick<ProcessMetricsOptions, "parts" | "clock">,
): void {
  let deliveries = Promise.resolve<Awaited<ReturnType<OwnedProcessParts["deliveriesState"]>> | null>(null);
  set.gauge("gatehouse_webhook_deliveries_waiting", {
    help: "Webhook deliveries waiting to be sent or retried; more than 100,000 are reported as 100,000.",
    async value() {
      deliveries = parts.deliveriesState().catch(() => null);
      return (await deliveries)?.waiting ?? null;
    },
  });
  set.gauge("gatehouse_webhook_due_seconds", {
    help:
      "For how long the next endpoint with a due delivery has waited for its turn. Slow endpoints don't raise it.",
    async value() {
      const state = await deliveries;
      return state === null ? null : ageSeconds(state.turnAt, clock());
    },
  });
  set.counter("gatehouse_webhook_attempts_total", {
    help:
      "Webhook attempts by code: delivered, or the failure's code. Deliveries that overflowed were not attempted again.",
    counts: () => byLabel("code", parts.webhooks.counts),
  });
  set.counter("gatehouse_webhooks_disabled_total", {
    help: "Webhook endpoints that were disabled by reason: failing for five days, or gone.",
    counts: () => byLabel("reason", parts.webhooks.disabled),
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

function addStreamMetrics(set: MetricSet, stream: StreamState, clock: () => number): void {
  set.gauge("gatehouse_stream_ok", {
    help: "1 if the continuous backup copies everything and has a complete snapshot, otherwise 0.",
    value: () => stream.report.state === "ok" ? 1 : 0,
  });
  set.gauge("gatehouse_stream_behind_seconds", {
    help:
      "Seconds since the newest state that can be restored from the continuous backup; no sample if none can.",
    value: () => stream.health(clock()).behindSeconds,
  });
  set.gauge("gatehouse_stream_spool_bytes", {
    help: "Size of the segments next to the data file, most of which wait for their upload.",
    value: () => stream.report.spoolBytes,
  });
  set.counter("gatehouse_stream_gaps_total", {
    help: "Gaps in the continuous backup since the start: each begins a new snapshot.",
    counts: () => [[{}, stream.report.gaps]],
  });
  set.counter("gatehouse_stream_failures_total", {
    help: "Failed attempts to copy or to use the target since the start.",
    counts: () => [[{}, stream.report.failures]],
  });
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
