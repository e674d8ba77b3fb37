// Parts that exist once per process, however many threads serve HTTP. The main thread owns them; other threads call it.
import { dataFileSize } from "../db/engine/data_file.ts";
import { findOutboxState, type OutboxState } from "../db/outbox/mails.ts";
import { type DeliveriesState, findDeliveriesState } from "../db/outbox/deliveries.ts";
import type { PasswordOwner } from "../domain/people/password.ts";
import type { BaseContext } from "./base_context.ts";
import type { DevelopmentMail, MailAccess } from "./outbox/mail.ts";
import { MailWorker, type MailWorkerOptions } from "./outbox/mail_worker.ts";
import { RateLimitMemory, type RateLimitState } from "./rate_limiter.ts";
import { createRateLimits, type RateLimits } from "./rate_limits.ts";
import { type ReportsConnector, ReportsThread } from "./reports/reports_thread.ts";
import {
  AddressAttempts,
  type AttemptCounter,
  type AttemptOutcome,
  type Attempts,
} from "./access/address_attempts.ts";
import { PasswordHasher, type PasswordHashing } from "./access/password_hasher.ts";
import { type WebhookAccess, WebhookWorker, type WebhookWorkerOptions } from "./outbox/webhook_worker.ts";

/** The parts as a thread uses them. */
export interface ProcessParts {
  readonly hasher: PasswordHashing;
  readonly attempts: Attempts;
  readonly rateLimits: RateLimits;
  readonly reportsThread: ReportsConnector;
  readonly mailWorker: MailAccess;
  readonly webhooks: WebhookAccess;
}

/** The parts themselves, on the main thread. */
export interface OwnedProcessParts extends ProcessParts {
  readonly mailWorker: MailWorker;
  readonly webhooks: WebhookWorker;
  /** For {@linkcode remoteProcessParts}. */
  readonly rateLimitBuffer: SharedArrayBuffer;
  outboxState(): Promise<OutboxState>;
  deliveriesState(): Promise<DeliveriesState>;
  /** Returns null for a remote database. */
  databaseSize(): ReturnType<typeof dataFileSize>;
  /** Ends the threads. Call it after all services are closed. */
  close(): Promise<void>;
}

interface ProcessPartsOptions {
  /** Receives errors that no request waits for. */
  readonly onBackgroundError: (error: unknown) => void;
  /** By default, no email is sent. */
  readonly mail?: MailWorkerOptions;
  /** For tests. */
  readonly webhooks?: Partial<WebhookWorkerOptions> | undefined;
  /** A shared hasher, which stays open. */
  readonly passwordHasher?: PasswordHasher;
  /** For tests. */
  readonly newReportsWorker?: () => Worker;
}

export function createProcessParts(
  base: BaseContext,
  { onBackgroundError, mail, webhooks, passwordHasher, newReportsWorker }: ProcessPartsOptions,
): OwnedProcessParts {
  const hasher = passwordHasher ?? new PasswordHasher(navigator.hardwareConcurrency);
  const reportsThread = new ReportsThread(base.database.source, {
    onFailure: onBackgroundError,
    ...(newReportsWorker && { newWorker: newReportsWorker }),
  });
  const memory = new RateLimitMemory();
  const rateLimits = createRateLimits({ ...base, memory });
  const noLog = { info: () => {}, warn: () => {} };
  const mailWorker = new MailWorker(base, mail ?? { log: noLog });
  return {
    hasher,
    attempts: {
      failures: new AddressAttempts(rateLimits.addressFailures),
      sessionChecks: new AddressAttempts(rateLimits.sessionPasswordChecks),
    },
    rateLimits,
    rateLimitBuffer: memory.buffer,
    reportsThread,
    mailWorker,
    webhooks: new WebhookWorker(base, {
      log: mail?.log ?? noLog,
      wakeMail: () => mailWorker.wake(),
      ...webhooks,
    }),
    outboxState: () => findOutboxState(base.database),
    deliveriesState: () => findDeliveriesState(base.database),
    databaseSize: () => dataFileSize(base.config.database),
    close: async () => {
      await reportsThread.close();
      if (passwordHasher === undefined) hasher.close();
    },
  };
}

/** Calls of other threads to the main thread. All arguments and results can be cloned or transferred. */
export interface ProcessCalls {
  hashPassword(password: string): Promise<string>;
  verifyPassword(phc: string | undefined, password: string): Promise<boolean>;
  passwordFault(password: string, owner: PasswordOwner): Promise<string | null>;
  beginAttempt(kind: keyof Attempts, address: string): Promise<RateLimitState>;
  endAttempt(kind: keyof Attempts, ended: AttemptOutcome & { readonly address: string }): Promise<void>;
  connectReports(port: MessagePort): Promise<void>;
  wakeMail(): Promise<void>;
  developmentMails(): Promise<readonly DevelopmentMail[]>;
  wakeWebhooks(): Promise<void>;
  sendTest(deliveryId: string): Promise<void>;
}

/** Offers the parts of the main thread to other threads. */
export function servedCalls(
  { hasher, attempts, reportsThread, mailWorker, webhooks }: ProcessParts,
): ProcessCalls {
  return {
    hashPassword: (password) => hasher.hash(password),
    verifyPassword: (phc, password) => hasher.verify(phc, password),
    passwordFault: (password, owner) => hasher.fault(password, owner),
    beginAttempt: (kind, address) => attempts[kind].begin(address),
    endAttempt: async (kind, { address, isFailure }) => await attempts[kind].end(address, { isFailure }),
    connectReports: (port) => reportsThread.connect(port),
    wakeMail: () => Promise.resolve(mailWorker.wake()),
    developmentMails: () => mailWorker.developmentMails(),
    wakeWebhooks: () => Promise.resolve(webhooks.wake()),
    sendTest: (deliveryId) => webhooks.sendTest(deliveryId),
  };
}

/** Uses the parts of the main thread in another thread. */
export function remoteProcessParts(
  { config, clock }: Pick<BaseContext, "config" | "clock">,
  { calls, rateLimitBuffer }: { calls: ProcessCalls; rateLimitBuffer: SharedArrayBuffer },
): ProcessParts {
  const counter = (kind: keyof Attempts): AttemptCounter => ({
    begin: (address) => calls.beginAttempt(kind, address),
    end: (address, { isFailure }) => calls.endAttempt(kind, { address, isFailure }),
  });
  return {
    hasher: {
      hash: (password) => calls.hashPassword(password),
      verify: (phc, password) => calls.verifyPassword(phc, password),
      fault: (password, owner) => calls.passwordFault(password, owner),
    },
    attempts: { failures: counter("failures"), sessionChecks: counter("sessionChecks") },
    rateLimits: createRateLimits({ config, clock, memory: new RateLimitMemory(rateLimitBuffer) }),
    reportsThread: { connect: (port) => calls.connectReports(port) },
    mailWorker: {
      // If the call fails, the worker finds the email a little later.
      wake: () => void calls.wakeMail().catch(() => {}),
      developmentMails: () => calls.developmentMails(),
    },
    webhooks: {
      wake: () => void calls.wakeWebhooks().catch(() => {}),
      sendTest: (deliveryId) => calls.sendTest(deliveryId),
    },
  };
}
