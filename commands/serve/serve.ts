// `gatehouse serve`: opens the database, listens, and on SIGTERM or SIGINT finishes requests in progress and ends.
import { setTimeout as delay } from "node:timers/promises";
import { createApp } from "../../app.ts";
import type { Config, Settings } from "../../config.ts";
import { messageOf } from "../../domain/errors.ts";
import {
  retentionIntervalMs,
  retentionRestMs,
  shutdownFlushMs,
  shutdownNoticeMs,
  shutdownTimeoutMs,
} from "../../domain/limits.ts";
import { collectAll } from "../../routes/metric_set.ts";
import { createMetrics } from "../../routes/metrics.ts";
import { processMetrics } from "../../routes/process_metrics.ts";
import { BackupSchedule } from "../../services/backups.ts";
import { checkSettingNames } from "../check/setting_names.ts";
import { mailMode } from "../../services/mail/mail.ts";
import { deleteOldUsageRecords } from "../../services/meter/usage_records.ts";
import { sleep } from "../../services/sleep.ts";
import { deleteOldAuditEvents } from "../../services/audit.ts";
import { deleteSomeOfDeletedOrganizations } from "../../services/organization/organization_deletion.ts";
import { createProcessParts } from "../../services/process_parts.ts";
import { createServices, type Services } from "../../services/services.ts";
import { emailTexts } from "../../views/mail/mails.tsx";
import { Listener, settlesWithin } from "./listen.ts";
import { openLog, type ProgramLog } from "./log.ts";
import { databaseName, type OpenedDatabase, openForCommand } from "../open_database.ts";
import { dropWritePermission } from "../permissions.ts";
import { CommandError, exitStatus, readSettings, SettingsError } from "../settings.ts";
import { writeLine } from "../terminal.ts";
import { cleanUpSignIns } from "../../services/sign_in/sign_in.ts";

/** How often waits for slow clients are checked, in milliseconds. */
const sweepIntervalMs = 1_000;

/**
 * Runs the server until SIGTERM or SIGINT.
 *
 * @returns The exit status: 0 after a signal, 70 if the data file can no longer be trusted.
 * @throws {CommandError}
 */
export async function serve(environment: Settings, options: { version: string }): Promise<number> {
  const config = readSettings(environment);
  const log = await openLog(config);
  try {
    // Fails before a database is created.
    Deno.listen({ hostname: config.host, port: config.port }).close();
  } catch (error) {
    throw portError(config, error);
  }
  const { promise: ended, resolve: end } = Promise.withResolvers<number>();
  const opened = await openForCommand(config, {
    onFatal: (error) => {
      log.error("stopping: the data file can no longer be trusted", { error });
      end(exitStatus.internal);
    },
  });
  for (const { about, advice } of checkSettingNames(environment)) {
    log.warn("unknown setting in the environment", { name: about, advice });
  }
  let backups: BackupSchedule | undefined;
  let stop: () => Promise<void>;
  try {
    backups = await openBackupSchedule(config, log);
    stop = startServer({ config, log, opened, backups, ...options });
  } catch (error) {
    await opened.close();
    throw error instanceof CommandError ? error : portError(config, error);
  }
  if (backups === undefined) dropWritePermission();
  for (const signal of ["SIGTERM", "SIGINT"] as const) Deno.addSignalListener(signal, () => end(0));
  // Sent when a terminal closes, and by tools that rotate log files. The log is standard output.
  Deno.addSignalListener("SIGHUP", () => log.info("SIGHUP ignored: there is nothing to reload", {}));
  const status = await ended;
  log.info("stopping", { status });
  await stop();
  await log.close();
  return status;
}

function portError({ host, port }: Config, error: unknown): CommandError {
  const status = error instanceof Deno.errors.AddrInUse ? exitStatus.busy : exitStatus.config;
  return new CommandError(`cannot listen on ${host}:${port}: ${messageOf(error)}`, status);
}

/** @returns The schedule, if there is one. @throws {SettingsError} */
async function openBackupSchedule(
  { backups: plan, database }: Config,
  log: ProgramLog,
): Promise<BackupSchedule | undefined> {
  if (plan === undefined || database.kind === "remote") return undefined;
  const schedule = new BackupSchedule({ path: database.path, plan, clock: Date.now, log });
  try {
    await schedule.checkFolder();
    return schedule;
  } catch (error) {
    throw new SettingsError(
      `BACKUP_DIR: cannot write to ${JSON.stringify(plan.folder)}: ${messageOf(error)}`,
    );
  }
}

interface ServerParts {
  readonly config: Config;
  readonly log: ProgramLog;
  readonly opened: OpenedDatabase;
  readonly backups: BackupSchedule | undefined;
  readonly version: string;
}

/** Starts to listen, and the background work. @returns A function that stops both and closes the database. */
function startServer({ config: settings, log, opened, backups, version }: ServerParts): () => Promise<void> {
  const listener = new Listener((request, info) => app.fetch(request, info), {
    hostname: settings.host,
    port: settings.port,
    log,
  });
  // The port is known only now if the settings leave it to the operating system.
  const config = withPort(settings, listener.port);
  const base = { config, database: opened.database, clock: Date.now };
  const onBackgroundError = (error: unknown) => log.warn("background work failed", { error });
  const parts = createProcessParts(base, {
    onBackgroundError,
    mail: { log, texts: emailTexts },
    startThreads: true,
  });
  const services = createServices(base, { parts, onBackgroundError });
  const metrics = createMetrics(services);
  const ofProcess = processMetrics({
    parts,
    backups: backups && (() => backups.state),
    version,
    clock: Date.now,
  });
  const print = (line: string) => void writeLine(`gatehouse: ${line}`, "stderr");
  const app = createApp({
    config,
    services,
    log,
    print,
    metrics,
    allMetrics: () => collectAll([ofProcess, metrics.collect]),
  }, { version });
  announce(config, log);
  const stopping = new AbortController();
  const { signal } = stopping;
  const sweeping = setInterval(() => services.deadlines.sweep(), sweepIntervalMs);
  const working = [
    deleteOldData(services, { log, signal }),
    parts.mailWorker.run(signal),
    backups?.run(signal),
  ];
  return async function stop() {
    services.drain();
    stopping.abort();
    await delay(shutdownNoticeMs);
    // A client that never finishes must not keep the recorder from writing its queue.
    const halfMs = (shutdownTimeoutMs - shutdownNoticeMs) / 2;
    const isClean = await settlesWithin(halfMs, listener.shutdown());
    if (!isClean) log.warn("some connections did not end in time", {});
    const close = async () => {
      await Promise.all([...working, services.close()]);
      await parts.close();
      if (!isClean) await delay(shutdownFlushMs);
      await opened.close();
    };
    await settlesWithin(halfMs, close());
    clearInterval(sweeping);
  };
}

/** What is deleted in the background, a little at a time. Each function returns whether there may be more. */
const deletions: Readonly<Record<string, (services: Services) => Promise<boolean>>> = {
  "old usage records": deleteOldUsageRecords,
  "old audit entries": deleteOldAuditEvents,
  "data of deleted organizations": deleteSomeOfDeletedOrganizations,
  "sign-ins that were not finished": cleanUpSignIns,
};

/** Deletes old and unused data, a few rows at a time, until the signal. */
async function deleteOldData(
  services: Services,
  { log, signal }: { log: ProgramLog; signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    let isMore = false;
    for (const [what, deleteSome] of Object.entries(deletions)) {
      if (signal.aborted) break;
      try {
        if (await deleteSome(services)) isMore = true;
      } catch (error) {
        log.warn("retrying failed deletion", { what, error });
      }
    }
    await sleep(isMore ? retentionRestMs : retentionIntervalMs, signal);
  }
}

function withPort(config: Config, port: number): Config {
  if (config.port !== 0) return config;
  const baseUrl = new URL(config.baseUrl);
  if (baseUrl.port === "0") baseUrl.port = String(port);
  return { ...config, port, baseUrl };
}

function announce(config: Config, log: ProgramLog): void {
  const { origin } = config.baseUrl;
  log.info("listening", {
    address: `${config.host}:${config.port}`,
    baseUrl: origin,
    database: databaseName(config),
  });
  const mode = mailMode(config);
  if (mode === "none") {
    log.warn("SMTP_URL is not set: email confirmation, password resets and invitations are unavailable", {});
  } else if (mode === "development") {
    log.info("SMTP_URL is not set: emails are shown at this address instead of being sent", {
      address: `${origin}/dev/mail`,
    });
  }
  if (config.logFormat === "text") writeLine(`\n  Gatehouse is ready: open ${origin}\n`);
}
