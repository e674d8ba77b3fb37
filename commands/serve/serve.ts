// `gatehouse serve`: opens the database, listens, and on SIGTERM or SIGINT finishes what is in flight and ends.
import { createApp } from "../../app.ts";
import type { Config, Settings } from "../../config.ts";
import {
  retentionIntervalMs,
  retentionRestMs,
  shutdownFlushMs,
  shutdownNoticeMs,
  shutdownTimeoutMs,
} from "../../domain/limits.ts";
import type { App } from "../../routes/env.ts";
import { BackupSchedule } from "../../services/backups.ts";
import { checkSettingNames } from "../check/setting_names.ts";
import { mailMode } from "../../services/mail/mail.ts";
import { rest } from "../../services/rest.ts";
import { createServices, type Services } from "../../services/services.ts";
import { emailTexts } from "../../views/mail/mails.tsx";
import { Listener } from "./listen.ts";
import { openLog, type ProgramLog } from "./log.ts";
import { databaseName, openForCommand } from "../open_database.ts";
import { dropWritePermission } from "../permissions.ts";
import { exitBusy, exitConfig, exitFault, readSettings } from "../settings.ts";
import { writeLine } from "../terminal.ts";

/** How often waits for slow clients are looked at, in milliseconds. */
const sweepIntervalMs = 1_000;

/**
 * Runs the server until it is told to stop.
 *
 * @param environment See {@linkcode CommandLine}.
 * @param options `version`: of the program.
 * @returns The exit status: 0 after a signal, 70 when the data file could not be trusted any more, 75 when the port or
 *   the database was not to be had, 78 when a setting is wrong.
 */
export async function serve(environment: Settings, options: { version: string }): Promise<number> {
  const settings = readSettings(environment);
  if (settings === null) return exitConfig;
  const log = await openLog(settings);
  const { promise: ended, resolve: end } = Promise.withResolvers<number>();
  const opened = await openForCommand(settings, (error) => {
    log.error("writing must not go on; the program stops", { error });
    end(exitFault);
  });
  if (typeof opened === "number") return opened;
  for (const { about, advice } of checkSettingNames(environment)) {
    log.warn("unknown setting in the environment", { name: about, advice });
  }
  const backups = await backupSchedule(settings, log);
  if (typeof backups === "number") {
    await opened.close();
    return backups;
  }

  let services: Services | undefined;
  let listener: Listener | undefined;
  try {
    let app: App | undefined;
    listener = new Listener((request, info) => {
      if (app === undefined) return new Response(null, { status: 503, headers: { "Retry-After": "1" } });
      return app.fetch(request, info);
    }, {
      port: settings.port,
      hostname: settings.host,
      log,
      onListen: (address) => {
        // The port is known only now when the settings leave it to the system.
        const config = withPort(settings, address.port);
        const context = { config, database: opened.database, clock: Date.now };
        services = createServices(context, {
          onBackgroundError: (error) => log.warn("work in the background failed", { error }),
          mailLog: log,
          emailTexts,
          startThreads: true,
        });
        const tell = (line: string) => void writeLine(`gatehouse: ${line}`, "stderr");
        const state = backups && (() => backups.state);
        app = createApp({ config, services, log, tell, backups: state }, options);
        announce(config, log);
      },
    });
  } catch (error) {
    await opened.close();
    const reason = error instanceof Error ? error.message : String(error);
    writeLine(`gatehouse: cannot listen on ${settings.host}:${settings.port}: ${reason}`, "stderr");
    return error instanceof Deno.errors.AddrInUse ? exitBusy : exitConfig;
  }

  const sweeping = setInterval(() => services?.deadlines.sweep(), sweepIntervalMs);
  const stopping = new AbortController();
  const deleting = deleteOld(() => services, { log, signal: stopping.signal });
  const mailing = services?.mail.run(stopping.signal);
  const backingUp = backups?.run(stopping.signal);
  if (backups === undefined) dropWritePermission();
  const stop = () => end(0);
  for (const signal of ["SIGTERM", "SIGINT"] as const) Deno.addSignalListener(signal, stop);
  // Sent when a terminal closes, and by tools that want log files reopened. There are none: the log is standard output.
  Deno.addSignalListener("SIGHUP", () => log.info("SIGHUP ignored: there is nothing to reload", {}));
  const status = await ended;
  log.info("stopping", { status });
  services?.drain();
  stopping.abort();
  await delay(shutdownNoticeMs);
  // A client that never finishes must not keep the recorder from writing what it has.
  const halfMs = (shutdownTimeoutMs - shutdownNoticeMs) / 2;
  const isClean = await within(halfMs, () => listener.shutdown());
  if (!isClean) log.warn("some connections did not end in time", {});
  await within(halfMs, async () => {
    await Promise.all([deleting, mailing, backingUp, services?.close()]);
    if (!isClean) await delay(shutdownFlushMs);
    await opened.close();
  });
  clearInterval(sweeping);
  await log.close();
  return status;
}

/** @returns The schedule if there is to be one; an exit status after saying why it cannot be. */
async function backupSchedule(config: Config, log: ProgramLog): Promise<BackupSchedule | undefined | number> {
  const { backups: plan, database } = config;
  if (plan === undefined || database.kind === "remote") return undefined;
  const schedule = new BackupSchedule({ path: database.path, plan, clock: Date.now, log });
  try {
    await schedule.checkFolder();
    return schedule;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    writeLine(`BACKUP_DIR: cannot write to ${JSON.stringify(plan.folder)}: ${reason}`, "stderr");
    return exitConfig;
  }
}

/** What is deleted in the background, a little with each call, which says whether there may be more. */
const deletions: Readonly<Record<string, (services: Services) => Promise<boolean>>> = {
  "old usage records": ({ usageRecords }) => usageRecords.deleteOldUsageRecords(),
  "old audit entries": ({ audit }) => audit.deleteOldAuditEvents(),
  "what deleted organizations left": ({ organizationEnd }) => organizationEnd.deleteSome(),
  "sign-ins that were not finished": ({ signIn }) => signIn.deleteEndedSignIns(),
};

/** Deletes what is too old or of no use any more, a few rows at a time, until the signal. */
async function deleteOld(
  services: () => Services | undefined,
  { log, signal }: { log: ProgramLog; signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    const running = services();
    let isMore = false;
    for (const [what, deleteSome] of Object.entries(deletions)) {
      if (running === undefined || signal.aborted) break;
      try {
        if (await deleteSome(running)) isMore = true;
      } catch (error) {
        log.warn(`deleting ${what} failed; it is tried again`, { error });
      }
    }
    await rest(isMore ? retentionRestMs : retentionIntervalMs, signal);
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function withPort(config: Config, port: number): Config {
  if (config.port !== 0) return config;
  const baseUrl = new URL(config.baseUrl);
  if (baseUrl.port === "0") baseUrl.port = String(port);
  return { ...config, port, baseUrl };
}

function announce(config: Config, log: ProgramLog): void {
  log.info("listening", {
    address: `${config.host}:${config.port}`,
    baseUrl: config.baseUrl.origin,
    database: databaseName(config),
  });
  const mails = mailMode(config);
  if (mails === "none") {
    log.warn("SMTP_URL is not set: nobody can confirm an address, reset a password or be invited", {});
  } else if (mails === "development") {
    log.info("SMTP_URL is not set: mails are shown here", { address: `${config.baseUrl.origin}/dev/mail` });
  }
  if (config.logFormat === "text") writeLine(`\n  Gatehouse is ready: open ${config.baseUrl.origin}\n`);
}

/** @returns Whether the act ended within the time; a failing act has ended too. */
async function within(ms: number, act: () => Promise<void>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => timer = setTimeout(() => resolve(false), ms));
  const done = act().then(() => true, () => false);
  try {
    return await Promise.race([done, late]);
  } finally {
    clearTimeout(timer);
  }
}
