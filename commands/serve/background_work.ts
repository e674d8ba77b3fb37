// The server's background work: deletions, emails and other upkeep.
import {
  limitNoticesIntervalMs,
  retentionIntervalMs,
  retentionRestMs,
  statementIntervalMs,
  timezoneIntervalMs,
} from "../../domain/limits.ts";
import type { DueKind } from "../../db/due_work.ts";
import { unusedKeysIntervalMs } from "../../domain/keys/key_limits.ts";
import type { WithheldMails } from "../../domain/outbox/limit_mail_reach.ts";
import { domainLookUpsIntervalMs } from "../../domain/people/company_sign_in.ts";
import { expiringKeysIntervalMs } from "../../domain/outbox/webhook_limits.ts";
import { deleteOldAuditEvents } from "../../services/access/mod.ts";
import { DueWork } from "../../services/due_work.ts";
import {
  deleteCountersOfRemovedLimits,
  deleteOldCounters,
  deleteOldUsageRecords,
  deleteRemovedDimensions,
  fillDimensions,
  LimitCounters,
  mailLimitNotices,
  recheckSomeLimits,
  refreshTimezones,
} from "../../services/meter/mod.ts";
import { deleteOldPortalSessions, noteExpiringKeys, remindOfUnusedKeys } from "../../services/keys/mod.ts";
import { closeDueStatement } from "../../services/billing/mod.ts";
import {
  cleanUpSignIns,
  deleteSomeOfDeletedOrganizations,
  lookUpDomains,
} from "../../services/people/mod.ts";
import { createResealing } from "../../services/secrets_upkeep.ts";
import type { Services } from "../../services/services.ts";
import { shortenSomeSessions } from "../../db/access/mod.ts";
import { sleep } from "../../services/sleep.ts";
import { deleteOldEvents } from "../../services/outbox/mod.ts";

interface BackgroundLog {
  info(message: string, values: Record<string, unknown>): void;
  warn(message: string, values: Record<string, unknown>): void;
}

interface BackgroundOptions {
  readonly log: BackgroundLog;
  readonly withheld: WithheldMails;
  readonly signal: AbortSignal;
  /** For tests. */
  readonly dueIntervalMs?: number;
}

/** Runs background work until the signal aborts. */
export async function workInBackground(services: Services, options: BackgroundOptions): Promise<void> {
  const { signal, dueIntervalMs } = options;
  const due = new DueWork(services, dueIntervalMs);
  await Promise.all([
    due.run(signal),
    deleteOldData(services, options),
    ...repeatedWork(services, options).map((work) => repeat(work, { ...options, due })),
  ]);
}

interface RepeatedWork {
  readonly what: string;
  readonly pauseMs: number;
  /** Due work of this kind ends the pause. */
  readonly kind?: DueKind;
  readonly step: () => Promise<boolean>;
}

export function repeatedWork(
  services: Services,
  { log, withheld }: Pick<BackgroundOptions, "log" | "withheld">,
): RepeatedWork[] {
  const counters = new LimitCounters(services, { onError: services.onBackgroundError });
  return [
    { what: "statement", pauseMs: statementIntervalMs, step: () => closeStatement(services, log) },
    {
      what: "update of time zones",
      pauseMs: timezoneIntervalMs,
      step: () => refreshTimezones(services).then(() => false),
    },
    {
      what: "emails about limits",
      pauseMs: limitNoticesIntervalMs,
      step: () => mailLimitNotices(services, withheld),
    },
    {
      what: "check of changed limits",
      pauseMs: retentionIntervalMs,
      kind: "limitRechecks",
      step: () => recheckSomeLimits(services, counters),
    },
    {
      what: "events and emails about expiring keys",
      pauseMs: expiringKeysIntervalMs,
      step: () => noteExpiringKeys(services),
    },
    {
      what: "sums of new dimensions",
      pauseMs: retentionIntervalMs,
      kind: "unfilled",
      step: () => fillDimensions(services),
    },
    {
      what: "emails about unused keys",
      pauseMs: unusedKeysIntervalMs,
      step: () => remindOfUnusedKeys(services),
    },
    {
      what: "look-up of domains",
      pauseMs: domainLookUpsIntervalMs,
      step: () => lookUpDomains(services),
    },
  ];
}

/** Deletions and other upkeep in the background, a little at a time. Each returns true if there may be more. */
export const deletions: Readonly<Record<string, (services: Services) => Promise<boolean>>> = {
  "old usage records": deleteOldUsageRecords,
  "old audit entries": deleteOldAuditEvents,
  "data of deleted organizations": deleteSomeOfDeletedOrganizations,
  "old counters of limits": deleteOldCounters,
  "counters of removed limits": deleteCountersOfRemovedLimits,
  "sign-ins that were not finished": cleanUpSignIns,
  "old portal sessions": deleteOldPortalSessions,
  "sessions that an organization shortens": ({ database }) => shortenSomeSessions(database),
  "sums of removed dimensions": deleteRemovedDimensions,
  "old events and webhook deliveries": deleteOldEvents,
  "secrets under an older key": createResealing(),
};

/** Deletes old and unused data and encrypts stored secrets, a few rows at a time, until the signal aborts. */
async function deleteOldData(
  services: Services,
  { log, signal }: Pick<BackgroundOptions, "log" | "signal">,
): Promise<void> {
  while (!signal.aborted) {
    let isMore = false;
    for (const [what, deleteSome] of Object.entries(deletions)) {
      if (signal.aborted) break;
      try {
        if (await deleteSome(services)) isMore = true;
      } catch (error) {
        log.warn("retrying failed upkeep", { what, error });
      }
    }
    await sleep(isMore ? retentionRestMs : retentionIntervalMs, signal);
  }
}

/** Repeats a step until the signal aborts: immediately after true, otherwise after a pause, and after an error within a minute. */
async function repeat(
  { what, pauseMs, kind, step }: RepeatedWork,
  { log, signal, due }: Pick<BackgroundOptions, "log" | "signal"> & { due: DueWork },
): Promise<void> {
  while (!signal.aborted) {
    const woken = kind === undefined ? signal : AbortSignal.any([signal, due.signalOf(kind)]);
    try {
      if (!await step()) await sleep(pauseMs, woken);
    } catch (error) {
      if (!signal.aborted) log.warn(`retrying failed ${what}`, { error });
      await sleep(Math.min(pauseMs, retentionIntervalMs), woken);
    }
  }
}

/** Completes a statement, or closes one that is due. Returns true if there was one. */
async function closeStatement(services: Services, log: BackgroundLog): Promise<boolean> {
  const statement = await closeDueStatement(services);
  if (statement !== null) log.info("statement closed", { period: statement.period });
  return statement !== null;
}
