// The context of all verbs with its long-lived parts, created at start and closed at the end.
import { dataFileSize } from "../db/engine/data_file.ts";
import { ping } from "../db/engine/diagnostics.ts";
import { findOutboxState, type OutboxState } from "../db/mail/outbox.ts";
import type { EmailTexts } from "../domain/mail/mail.ts";
import type { BaseContext } from "./base_context.ts";
import type { Context } from "./context.ts";
import { Deadlines } from "./deadlines.ts";
import { Mail, type MailLog } from "./mail/mail.ts";
import { MailBudgets } from "./mail/mail_budgets.ts";
import type { MailTransport } from "./mail/mail_transport.ts";
import { Recorder } from "./meter/recorder.ts";
import { createRateLimits } from "./rate_limits.ts";
import { Reports } from "./reports/reports.ts";
import { Credentials } from "./sign_in/credentials.ts";
import { PasswordHasher } from "./sign_in/password_hasher.ts";
import { SecondStepCodes } from "./sign_in/second_step_codes.ts";
import { SessionSearch } from "./sign_in/session_search.ts";
import { createWriteAs } from "./sign_in/session_writes.ts";

/** What the routes and the server need: the context of verbs, and the state of the program. */
export interface Services extends Context {
  /** The server sweeps them about once a second. */
  readonly deadlines: Deadlines;
  /** @returns Whether the database responds and the program is not shutting down. */
  isReady(): Promise<boolean>;
  /** @throws {DatabaseError} */
  outboxState(): Promise<OutboxState>;
  /** @returns The size of the data file; null for a remote database. */
  databaseSize(): ReturnType<typeof dataFileSize>;
  /** Makes {@linkcode isReady} return false, and starts no more reports. */
  drain(): void;
  /** Writes what was accepted; the database stays open. */
  close(): Promise<void>;
}

/** Options of {@linkcode createServices}. */
export interface ServicesOptions {
  /** Receives errors that no request waits for. */
  readonly onBackgroundError: (error: unknown) => void;
  /** The log of sent emails; none by default. */
  readonly mailLog?: MailLog;
  /** Replaces the mail server of the settings. */
  readonly mailTransport?: MailTransport | undefined;
  /** Emails are only sent with their texts; they can be written to the outbox without. */
  readonly emailTexts?: EmailTexts;
  /** A shared hasher, which stays open. */
  readonly passwordHasher?: PasswordHasher;
  /** Starts all threads now instead of when they are first needed: see {@linkcode PasswordHasher}. */
  readonly startThreads?: boolean;
}

/** Creates the context and starts its long-lived parts. */
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
      return await ping(base.database).then(() => true, () => false);
    },
    outboxState: () => findOutboxState(base.database),
    databaseSize: () => dataFileSize(base.config.database),
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
