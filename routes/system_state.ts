// The state of this instance, for the operator console: a few of the metrics, in words that people use.
import type { SystemState } from "../domain/console/system_state.ts";
import type { AppParts } from "./env.ts";
import type { MetricValues } from "./metric_set.ts";

/** Reads the state of all threads of this instance. @throws {AppError} `unavailable` when one does not respond in time. */
export async function readSystemState(
  { allMetrics, config, streamState }: AppParts,
): Promise<SystemState> {
  const read = reader(await allMetrics());
  const dataBytes = read.sum("gatehouse_database_bytes", { file: "data" });
  const waiting = read.sum("gatehouse_mail_outbox_emails");
  const backedUpAt = read.sum("gatehouse_backup_last_success_timestamp_seconds") ?? 0;
  const number = (name: string, labels?: Readonly<Record<string, string>>) => read.sum(name, labels) ?? 0;
  return {
    version: read.label("gatehouse_build_info", "version"),
    deno: read.label("gatehouse_build_info", "deno"),
    startedAt: number("process_start_time_seconds") * 1000,
    memoryBytes: number("process_resident_memory_bytes"),
    threads: read.count("gatehouse_http_thread_requests_total"),
    requests: number("gatehouse_http_thread_requests_total"),
    internalErrors: number("gatehouse_http_errors_total", { code: "internal" }),
    queue: {
      records: number("gatehouse_recorder_queue_records"),
      oldestSeconds: read.max("gatehouse_recorder_queue_oldest_seconds"),
    },
    reports: { running: number("gatehouse_reports_running"), waiting: number("gatehouse_reports_waiting") },
    database: dataBytes === null
      ? null
      : { dataBytes, logBytes: number("gatehouse_database_bytes", { file: "log" }) },
    mail: waiting === null ? null : {
      waiting,
      oldestSeconds: number("gatehouse_mail_outbox_oldest_seconds"),
      givenUp: number("gatehouse_mail_attempts_total", { result: "given_up" }),
    },
    backups: config.backups === undefined ? null : {
      lastAt: backedUpAt === 0 ? null : backedUpAt * 1000,
      failures: number("gatehouse_backup_failures_total"),
      everyHours: config.backups.everyHours,
    },
    stream: streamState === undefined ? null : {
      ...streamState.health(Date.now()),
      everySeconds: config.stream?.seconds ?? 0,
    },
  };
}

function reader(all: readonly MetricValues[]) {
  const samples = (name: string, labels: Readonly<Record<string, string>> = {}) =>
    all.flat().filter((metric) => metric.name === name).flatMap((metric) => [...metric.values])
      .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value));
  return {
    count: (name: string) => samples(name).length,
    /** Returns null without samples. */
    sum(name: string, labels?: Readonly<Record<string, string>>): number | null {
      const values = samples(name, labels);
      return values.length === 0 ? null : values.reduce((sum, { value }) => sum + value, 0);
    },
    max: (name: string) => Math.max(0, ...samples(name).map(({ value }) => value)),
    label: (name: string, label: string) => String(samples(name)[0]?.labels[label] ?? ""),
  };
}
