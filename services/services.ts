// Everything that the routes can ask for, made once at start and closed once at the end.
import type { EmailTexts } from "../domain/mail/mail.ts";
import type { BaseContext } from "./base_context.ts";
import type { Context } from "./context.ts";
import { createRateLimits } from "./rate_limits.ts";
import { Credentials } from "./sign_in/credentials.ts";
import { Deadlines } from "./deadlines.ts";
import { MailBudgets } from "./mail/mail_budgets.ts";
import { Mail, type MailLog } from "./mail/mail.ts";
import type { MailTransport } from "./mail/mail_transport.ts";
import type { ServerMetrics } from "./server_metrics.ts";
import { PasswordHasher } from "./sign_in/password_hasher.ts";
import { Recorder } from "./meter/recorder.ts";
import { SecondStepCodes } from "./sign_in/second_step_codes.ts";
import { Reports } from "./reports/reports.ts";
import { SessionSearch } from "./sign_in/session_search.ts";
import { createWriteAs } from "./sign_in/session_writes.ts";
import { dataFileSize, ping } from "../db/engine/diagnostics.ts";
import { findOutboxState } from "../db/mail/outbox.ts";

/** The verbs of the program. */
export interface Services extends Context {
  /** Swept about once a second by whoever runs the program. */
  readonly deadlines: Deadlines;
  /** @returns Whether the database answers and the program is not shutting down. */
  isReady(): Promise<boolean>;
  readonly metrics: ServerMetrics;
  /** From now on {@linkcode isReady} says no, and no report begins. */
  drain(): void;
  /** Writes what was accepted; the database stays open. */
  close(): Promise<void>;
}

/** How the services tell what no request waits for, and what tests replace. */
export interface ServicesOptions {
  /** Told of faults that no request waits for. */
  readonly onBackgroundError: (error: unknown) => void;
  /** Where the outbox's worker tells what happens; nowhere by default. */
  readonly mailLog?: MailLog;
  /** Instead of the mail server that the settings name. */
  readonly mailTransport?: MailTransport | undefined;
  /** Emails are only sent with their texts; they can be written to the outbox without. */
  readonly emailTexts?: EmailTexts;
  /** Instead of one of their own, which ends with them. */
  readonly passwordHasher?: PasswordHasher;
  /** All threads start now instead of when they are first needed: see {@linkcode PasswordHasher}. */
  readonly startThreads?: boolean;
}

/** @param base See {@linkcode BaseContext}. @param options See {@linkcode ServicesOptions}. */
export function createServices(base: BaseContext, options: ServicesOptions): Services {
  const { onBackgroundError } = options;
  const recorder = new Recorder(base);
  const hasher = options.passwordHasher ??
    new PasswordHasher(navigator.hardwareConcurrency, { startNow: options.startThreads ?? false });
  const reports = new Reports(base.database.source, { onFailure: onBackgroundError });
  if (options.startThreads === true) reports.start();
  const rateLimits = createRateLimits(base);
  const credentials = new Credentials(base, { hasher, rateLimits, onBackgroundError });
  const mail = new Mail(base, {
    log: options.mailLog ?? { info: () => {}, warn: () => {} },
    texts: options.emailTexts,
    transport: options.mailTransport,
  });
  const context: Context = {
    ...base,
    writeAs: createWriteAs(base),
    rateLimits,
    credentials,
    secondStepCodes: new SecondStepCodes(base, { credentials, mail }),
    sessionSearch: new SessionSearch(base, { onBackgroundError }),
    mail,
    mailBudgets: new MailBudgets(base, rateLimits),
    recorder,
    reports,
    onBackgroundError,
  };
  let isDraining = false;
  return {
    ...context,
    deadlines: new Deadlines(base.clock),
    async isReady() {
      if (isDraining) return false;
      try {
        await ping(context.database);
        return true;
      } catch {
        return false;
      }
    },
    metrics: {
      reports: () => reports.counts,
      recorder: () => recorder.metrics,
      mail: { counts: mail.counts, outbox: () => findOutboxState(context.database) },
      databaseSize: () => dataFileSize(context.config.database),
      clock: context.clock,
    },
    drain: () => {
      isDraining = true;
      reports.drain();
    },
    close: async () => {
      await Promise.all([recorder.close(), reports.close()]);
      if (options.passwordHasher === undefined) hasher.close();
    },
  };
}
