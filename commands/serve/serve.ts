// `gatehouse serve`: opens the database, listens, and on SIGTERM or SIGINT finishes requests in progress and ends.
import { setTimeout as delay } from "node:timers/promises";
import type { Config, Settings } from "../../config.ts";
import { missingFolder } from "../../db/engine/data_file.ts";
import { messageOf } from "../../domain/errors.ts";
import { shutdownFlushMs, shutdownNoticeMs, shutdownTimeoutMs } from "../../domain/limits.ts";
import { collectAll } from "../../routes/metric_set.ts";
import { processMetrics } from "../../routes/process_metrics.ts";
import { BackupSchedule } from "../../services/backups.ts";
import type { ContinuousBackup } from "../../services/continuous_backup.ts";
import { checkSettingNames } from "../check/setting_names.ts";
import { endUnlistedClients } from "../../services/oauth/mod.ts";
import { mailMode } from "../../services/outbox/mod.ts";
import { settlesWithin } from "../../services/sleep.ts";
import { createProcessParts, servedCalls } from "../../services/process_parts.ts";
import { createServices } from "../../services/services.ts";
import { emailTextsOf } from "../../views/outbox/mails.tsx";
import { workInBackground } from "./background_work.ts";
import { withLogo } from "./brand_logo.ts";
import { HttpServer, requireFreePort } from "./http_server.ts";
import { canSharePort, startHttpThreads, wantedHttpThreads } from "./http_threads.ts";
import { openLog, type ProgramLog } from "./log.ts";
import { databaseName, type OpenedDatabase, openForCommand } from "../open_database.ts";
import { loadNativeCode } from "../native_code.ts";
import { dropWritePermission } from "../permissions.ts";
import { exitStatus, readAllSettings, SettingsError } from "../settings.ts";
import { writeLine } from "../terminal.ts";

const movedAdvice =
  "set DATABASE_URL to the new database once the move is complete, or run gatehouse move --cancel";

/** Time for the requests in progress when the server stops, and then for closing what they used. */
const shutdownHalfMs = (shutdownTimeoutMs - shutdownNoticeMs) / 2;

/**
 * Runs the server until SIGTERM or SIGINT.
 *
 * @returns The exit status: 0 after a signal, 70 if the data file can no longer be trusted or an HTTP thread stopped, 78 if the database
 *   was moved.
 * @throws {CommandError}
 */
export async function serve(environment: Settings, options: { version: string }): Promise<number> {
  const read = readAllSettings(environment);
  const settings = await withLogo(read.settings, read.config.brand.logo);
  const config = { ...read.config, brand: { ...read.config.brand, logo: settings["BRAND_LOGO"] } };
  const log = await openLog(config);
  // Both fail before a database is created.
  requireFreePort(config);
  await loadNativeCode();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let status = 0;
  const fail = (message: string, values: Record<string, unknown>, failed: number = exitStatus.internal) => {
    log.error(message, values);
    status = failed;
    end();
  };
  const { promise: databaseFailed, resolve: noteDatabaseFailure } = Promise.withResolvers<void>();
  const { stream: plan } = config;
  const loaded = plan && { plan, ...await import("../../services/continuous_backup.ts") };
  let stream: ContinuousBackup | undefined;
  const opened = await openForCommand(config, {
    beforeOpen: (path) => {
      if (loaded !== undefined) stream = new loaded.ContinuousBackup({ path, plan: loaded.plan, log });
      return stream?.turns;
    },
    onFatal: (error) => {
      // Only a move ends a server on a libSQL server. Each write fails, so this happens more than once.
      if (config.database.kind === "remote") {
        if (status !== exitStatus.config) {
          fail(`stopping: ${error.message}`, { advice: movedAdvice }, exitStatus.config);
        }
        return;
      }
      noteDatabaseFailure();
      fail("stopping: the data file can no longer be trusted", { error });
    },
  });
  for (const { about, advice } of checkSettingNames(environment)) {
    log.warn("unknown setting in the environment", { name: about, advice });
  }
  for (const signal of ["SIGTERM", "SIGINT"] as const) Deno.addSignalListener(signal, () => end());
  // Sent when a terminal closes, and by tools that rotate log files. The log is standard output.
  Deno.addSignalListener("SIGHUP", () => log.info("SIGHUP ignored: there is nothing to reload", {}));
  let backups: BackupSchedule | undefined;
  let stop: () => Promise<void>;
  try {
    backups = await openBackupSchedule(config, log);
    const database = { opened, databaseFailed };
    stop = await startServer({ ...options, ...database, config, settings, log, backups, stream, fail });
  } catch (error) {
    await opened.close();
    throw error;
  }
  if (backups === undefined && stream === undefined) dropWritePermission();
  await ended;
  log.info("stopping", { status });
  await stop();
  await stream?.finish();
  await log.close();
  return status;
}

/** @throws {SettingsError} */
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
    const problem = missingFolder(plan.folder) ??
      `cannot write to ${JSON.stringify(plan.folder)}: ${messageOf(error)}`;
    throw new SettingsError(`BACKUP_DIR: ${problem}`);
  }
}

interface ServerOptions {
  readonly config: Config;
  /** The settings that `config` was read from. */
  readonly settings: Settings;
  readonly log: ProgramLog;
  readonly opened: OpenedDatabase;
  readonly backups: BackupSchedule | undefined;
  readonly stream: ContinuousBackup | undefined;
  readonly version: string;
  /** Resolves when the writer has died. */
  readonly databaseFailed: Promise<void>;
  /** Ends the program with status 70. */
  readonly fail: (message: string, values: Record<string, unknown>) => void;
}

/** Starts all HTTP threads, and the background work. Returns a function that stops both and closes the database. */
async function startServer(options: ServerOptions): Promise<() => Promise<void>> {
  const { log, opened, backups, stream, version } = options;
  const threadCount = countHttpThreads(options);
  requireFreePort(options.config);
  const server = new HttpServer({ ...options, thread: 1, sharesPort: threadCount > 1 });
  const { config } = server;
  const base = { config, database: opened.database, clock: Date.now };
  const onBackgroundError = (error: unknown) => log.warn("background work failed", { error });
  const parts = createProcessParts(base, {
    onBackgroundError,
    mail: { log, texts: emailTextsOf(config.brand) },
  });
  const services = createServices(base, { parts, onBackgroundError, httpThreads: threadCount });
  await endUnlistedClients(services);
  const backupState = backups && (() => backups.state);
  const streamState = stream?.state;
  const sources = [
    processMetrics({ parts, services, backups: backupState, stream: streamState, version, clock: Date.now }),
  ];
  const allMetrics = () => collectAll(sources);
  sources.push(server.start({ services, allMetrics, streamState, version }));
  const threads = await startHttpThreads({
    threads: threadCount,
    settings: { ...options.settings, PORT: String(config.port), BASE_URL: config.baseUrl.origin },
    version,
    database: opened.database,
    rateLimitBuffer: parts.rateLimitBuffer,
    streamBuffer: streamState?.buffer,
    calls: { ...servedCalls(parts), allMetrics },
    onEnd: (reason) => options.fail("stopping: a thread has died", { reason }),
  });
  sources.push(...threads.metrics);
  const share = stream && opened.database.share();
  if (share?.kind === "file") stream?.start(share);
  options.databaseFailed.then(() => threads.callAll((calls) => calls.failDatabase("it has died")));
  announce(config, { log, httpThreads: threadCount });
  server.markReady();
  await threads.callAll((calls) => calls.markReady());
  const stopping = new AbortController();
  const { signal } = stopping;
  const working = [
    workInBackground(services, { log, signal, withheld: parts.mailWorker.withheld }),
    parts.mailWorker.run(signal),
    parts.webhooks.run(signal),
    backups?.run(signal),
  ];
  return async function stop() {
    server.drain();
    stopping.abort();
    threads.callAll((calls) => calls.drain());
    await delay(shutdownNoticeMs);
    // Neither a client that never finishes nor a thread that hangs must keep the recorders from writing their queues.
    const isClean = await settlesWithin(
      shutdownHalfMs,
      Promise.all([server.finish(), threads.callAll((calls) => calls.finish())]),
    );
    if (isClean) await Promise.all([server.closePort(), threads.callAll((calls) => calls.closePort())]);
    else log.warn("some connections did not end in time", {});
    const close = async () => {
      await Promise.all([...working, server.close(), threads.callAll((calls) => calls.close())]);
      await parts.close();
      if (!isClean) await delay(shutdownFlushMs);
      await stream?.seal();
      await opened.close();
    };
    if (!await settlesWithin(shutdownHalfMs, close())) opened.warnOfLog();
  };
}

function countHttpThreads({ config, log }: ServerOptions): number {
  const wanted = wantedHttpThreads(config);
  if (wanted === 1 || canSharePort()) return wanted;
  log.warn("serving with one HTTP thread: threads can share a port only on Linux, with --unstable-net", {});
  return 1;
}

function announce(config: Config, { log, httpThreads }: { log: ProgramLog; httpThreads: number }): void {
  const { origin } = config.baseUrl;
  log.info("listening", {
    address: `${config.host}:${config.port}`,
    baseUrl: origin,
    database: databaseName(config),
    httpThreads,
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
