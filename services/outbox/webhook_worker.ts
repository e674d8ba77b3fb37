// Delivers events to webhook endpoints; one worker serves the process, and any number of servers share the work. A delivery is leased
// for each attempt, so it arrives at least once, each time with the id of its event. Nothing here delays requests.
import { ifAudited, insertAuditEvent } from "../../db/access/mod.ts";
import { sql, type Statement } from "../../db/engine/database.ts";
import {
  claimDeliveries,
  endAllLeases,
  failOverflow,
  fanOutEvents,
  findClaimed,
  findDueWork,
  findLeasedTest,
  holdDeliveries,
  type LeasedDelivery,
} from "../../db/outbox/deliveries.ts";
import {
  type AttemptResult,
  disableFailing,
  endAttempt,
  giveBack,
  insertAttempt,
  insertDisabledMails,
} from "../../db/outbox/delivery_results.ts";
import { insertEvent } from "../../db/outbox/events.ts";
import type { Actor } from "../../domain/access/actor.ts";
import { type DeliveryFault, deliveryFaults } from "../../domain/outbox/delivery.ts";
import { eventBody } from "../../domain/outbox/event.ts";
import { retryWaitMs } from "../../domain/outbox/retry.ts";
import { webhookSignature } from "../../domain/outbox/signature.ts";
import { webhookName } from "../../domain/outbox/webhook.ts";
import {
  webhookAttemptTimeoutMs,
  webhookFailingMaxMs,
  webhookLeaseMs,
  webhookPollIntervalMs,
  webhookRequestsOfServerMax,
  webhookShutdownGraceMs,
  webhookSlowMs,
  webhookSlowRequestsOfServerMax,
  webhookUnreadableWaitMs,
} from "../../domain/outbox/webhook_limits.ts";
import type { BaseContext } from "../base_context.ts";
import { AddressGuard } from "./address_guard.ts";
import { post, type PostResult } from "./post.ts";
import { Secrets, SecretsError } from "../secrets.ts";
import { sleep } from "../sleep.ts";

/** The worker as all threads use it. */
export interface WebhookAccess {
  /** Tells the worker that deliveries may be due. */
  wake(): void;
  /** Makes the one attempt of a test that is leased for it. Resolves when its result is written. */
  sendTest(deliveryId: string): Promise<void>;
}

export interface WebhookWorkerOptions {
  readonly log: {
    info(message: string, values: Record<string, unknown>): void;
    warn(message: string, values: Record<string, unknown>): void;
  };
  /** Called after emails were queued. */
  readonly wakeMail?: () => void;
  /** For tests. From 0 to 1. */
  readonly random?: () => number;
  /** For tests: the time after which a request and its endpoint are slow. */
  readonly slowMs?: number;
  /** For tests: limits of an attempt, and of requests in progress when the server stops. */
  readonly timeoutMs?: number;
  readonly graceMs?: number;
}

/** `slow`: in progress for long, or to an endpoint that was slow or failing before. */
type RequestKind = "slow" | "test" | "other";

/** A result waits however many other batches do: there is at most one for each request in progress. */
const bounded = { bypassesQueueLimit: true };
const system: Actor = { type: "system", client: { address: "", userAgent: "", requestId: null } };

export class WebhookWorker implements WebhookAccess {
  readonly #base: BaseContext;
  readonly #options: WebhookWorkerOptions;
  readonly #guard: AddressGuard;
  readonly #secrets: Secrets;
  readonly #slowMs: number;
  /** Results of attempts since the start, and deliveries that overflowed. */
  readonly counts = Object.fromEntries(["delivered", ...deliveryFaults].map((code) => [code, 0])) as Record<
    "delivered" | DeliveryFault,
    number
  >;
  /** Endpoints that were disabled since the start, by reason. */
  readonly disabled = { failing: 0, gone: 0 };
  readonly #sending = new Map<Promise<void>, RequestKind>();
  readonly #stopped = new AbortController();
  #woken = new AbortController();
  #isStopping = false;
  #isFailing = false;
  /** True once the leases of an earlier process on the data file have ended. Servers that share a database wait for them. */
  #hasEndedLeases: boolean;
  #hasWarnedOfSecrets = false;

  constructor(base: BaseContext, options: WebhookWorkerOptions) {
    this.#base = base;
    this.#options = options;
    this.#slowMs = options.slowMs ?? webhookSlowMs;
    this.#guard = new AddressGuard(base.config);
    this.#secrets = new Secrets(base.config.secretsKeys);
    this.#hasEndedLeases = base.config.database.kind === "remote";
  }

  wake(): void {
    this.#woken.abort();
  }

  /** Delivers until the signal. Requests in progress then have {@linkcode webhookShutdownGraceMs}; another server makes the others. */
  async run(signal: AbortSignal): Promise<void> {
    let grace: ReturnType<typeof setTimeout> | undefined;
    signal.addEventListener("abort", () => {
      this.#isStopping = true;
      grace = setTimeout(() => this.#stopped.abort(), this.#options.graceMs ?? webhookShutdownGraceMs);
      this.wake();
    }, { once: true });
    while (!signal.aborted) {
      this.#woken = new AbortController();
      let restMs = webhookPollIntervalMs;
      try {
        if (!this.#hasEndedLeases) await this.#base.database.write(endAllLeases(this.#base.clock()));
        this.#hasEndedLeases = true;
        const { nextDueAt } = await this.#startDue();
        if (this.#isFailing) this.#options.log.info("webhooks are delivered again", {});
        this.#isFailing = false;
        if (nextDueAt !== null) restMs = Math.max(0, Math.min(restMs, nextDueAt - this.#base.clock()));
      } catch (error) {
        if (!this.#isFailing) this.#options.log.warn("retrying failed delivery of webhooks", { error });
        this.#isFailing = true;
      }
      await sleep(restMs, this.#woken.signal);
    }
    await Promise.all(this.#sending.keys());
    clearTimeout(grace);
  }

  /** Sends everything that is due and waits for the results. Returns when the next delivery is due; null for none. */
  async deliverDue(): Promise<{ sent: number; nextDueAt: number | null }> {
    let sent = 0;
    for (;;) {
      const { started, nextDueAt } = await this.#startDue();
      sent += started;
      if (this.#sending.size === 0) return { sent, nextDueAt };
      await Promise.race(this.#sending.keys());
    }
  }

  async sendTest(deliveryId: string): Promise<void> {
    const delivery = await findLeasedTest(this.#base.database, deliveryId);
    if (delivery !== undefined) await this.#start(delivery, "test");
  }

  /** Writes the deliveries of new events and starts to send those that are due, as many as there is room for. */
  async #startDue(): Promise<{ started: number; nextDueAt: number | null }> {
    const { database, clock } = this.#base;
    let started = 0;
    for (;;) {
      const due = await findDueWork(database);
      const now = clock();
      if (due.hasEvents) await database.write(fanOutEvents(now));
      const failed = due.isOverflowing ? await this.#failOverflow(now) : 0;
      const [held] = due.isToHold ? await database.write([holdDeliveries(now)]) : [];
      const { slots, slowSlots } = this.#room();
      const turns = [slots > 0 ? due.turnAt : null, slowSlots > 0 ? due.slowTurnAt : null]
        .filter((turnAt) => turnAt !== null);
      const nextDueAt = turns.length === 0 ? null : Math.min(...turns);
      const isTurn = nextDueAt !== null && nextDueAt <= now;
      const isMore = due.hasEvents || failed + (held?.changes ?? 0) > 0;
      if (this.#isStopping || !(isTurn || isMore)) return { started, nextDueAt };
      if (!isTurn) continue;
      const claim = { now, leasedUntil: now + webhookLeaseMs, slots, slowSlots };
      const [claimed] = await database.write(claimDeliveries(claim));
      const numbers = (claimed?.rows ?? []).map(({ number }) => Number(number));
      const deliveries = numbers.length === 0 ? [] : await findClaimed(database, numbers);
      for (const delivery of deliveries) this.#start(delivery);
      started += deliveries.length;
    }
  }

  /** Slow requests have at most half of the places, also if more have become slow. Tests have places of their own. */
  #room(): { slots: number; slowSlots: number } {
    const countOf = (kind: RequestKind) => [...this.#sending.values()].filter((one) => one === kind).length;
    const [slow, other] = [countOf("slow"), countOf("other")];
    const slowMax = webhookRequestsOfServerMax / 2;
    const free = webhookRequestsOfServerMax - other - Math.min(slow, slowMax);
    const slots = Math.max(0, Math.min(free, webhookSlowRequestsOfServerMax - other - slow));
    return { slots, slowSlots: Math.max(0, Math.min(slots, slowMax - slow)) };
  }

  async #failOverflow(now: number): Promise<number> {
    const [, failed] = await this.#base.database.write(failOverflow(now));
    const { changes = 0 } = failed ?? {};
    this.counts.overflow += changes;
    return changes;
  }

  #start(
    delivery: LeasedDelivery,
    kind: RequestKind = delivery.isSlow === 1 ? "slow" : "other",
  ): Promise<void> {
    const becomeSlow = () => {
      this.#sending.set(sending, "slow");
      this.wake();
    };
    const timer = kind === "other" ? setTimeout(becomeSlow, this.#slowMs) : undefined;
    const sending = this.#send(delivery)
      .catch((error) => this.#options.log.warn("the result of a webhook delivery was not written", { error }))
      .finally(() => {
        clearTimeout(timer);
        this.#sending.delete(sending);
        this.wake();
      });
    this.#sending.set(sending, kind);
    return sending;
  }

  async #send(delivery: LeasedDelivery): Promise<void> {
    const { clock, database } = this.#base;
    const secrets = this.#open(delivery);
    if (secrets === null) {
      const now = clock();
      await database.write(giveBack(delivery, { now, turnAt: now + webhookUnreadableWaitMs }), bounded);
      return;
    }
    const at = clock();
    const { eventId, type, eventAt, facts, testOf, organization } = delivery;
    const event = { id: eventId, type, at: eventAt, facts, webhook: testOf };
    const body = eventBody(event, { isForOperators: organization === 0 });
    const timestamp = Math.floor(at / 1000);
    const result = await post(this.#guard, {
      url: new URL(delivery.url),
      headers: {
        "content-type": "application/json",
        "user-agent": "Gatehouse-Webhooks",
        "webhook-id": eventId,
        "webhook-timestamp": String(timestamp),
        "webhook-signature": webhookSignature(secrets, { id: eventId, timestamp, body }),
      },
      body,
      timeoutMs: this.#options.timeoutMs ?? webhookAttemptTimeoutMs,
      signal: this.#stopped.signal,
    });
    if (this.#stopped.signal.aborted && result.status === null) {
      await database.write(giveBack(delivery, { now: clock(), turnAt: clock() }), bounded);
    } else await this.#end(delivery, { at, result });
  }

  /** Returns the secrets to sign with, or null if one can't be decrypted. */
  #open({ webhookId, secret, oldSecret, oldSecretUntil }: LeasedDelivery): string[] | null {
    const isOldUsed = oldSecret !== null && (oldSecretUntil ?? 0) > this.#base.clock();
    try {
      return [secret, ...(isOldUsed ? [oldSecret] : [])].map((stored) =>
        this.#secrets.open(webhookId, stored)
      );
    } catch (error) {
      if (!(error instanceof SecretsError)) throw error;
      if (!this.#hasWarnedOfSecrets) {
        this.#options.log.warn("webhooks are not sent: their secrets can't be decrypted", {
          reason: error.message,
        });
      }
      this.#hasWarnedOfSecrets = true;
      return null;
    }
  }

  async #end(delivery: LeasedDelivery, { at, result }: { at: number; result: PostResult }): Promise<void> {
    const now = this.#base.clock();
    const { code, status: responseStatus, durationMs, retryAfter } = result;
    const random = (this.#options.random ?? Math.random)();
    const waitMs = code === null || delivery.testOf !== null
      ? null
      : retryWaitMs(delivery.attempts + 1, { retryAfter, now, random });
    const attempt: AttemptResult = {
      at,
      durationMs: Math.round(durationMs),
      code,
      responseStatus,
      retryAt: waitMs === null ? null : now + waitMs,
      isSlow: code !== null || durationMs > this.#slowMs,
    };
    const reason = responseStatus === 410 ? "gone" : "failing";
    const mayDisable = code !== null && delivery.testOf === null &&
      (reason === "gone" || now - (delivery.failingSince ?? now) >= webhookFailingMaxMs);
    const disabling = mayDisable ? disableWebhook(delivery, { now, reason }) : [];
    const noted = insertAttempt(delivery, attempt);
    const results = await this.#base.database.write([
      ...noted,
      ...disabling,
      ...endAttempt(delivery, attempt, now),
      ...(mayDisable ? [holdDeliveries(now)] : []),
    ], bounded);
    this.counts[code ?? "delivered"]++;
    // The audit entry follows the change.
    if (!mayDisable || results[noted.length + 1]?.rows.length !== 1) return;
    this.disabled[reason]++;
    this.#options.log.info("webhook disabled", { webhookId: delivery.webhookId, reason });
    this.#options.wakeMail?.();
  }
}

/** Disables an endpoint with the audit entry, an event for other endpoints, and emails. */
function disableWebhook(
  delivery: LeasedDelivery,
  { now, reason }: { now: number; reason: "failing" | "gone" },
): Statement[] {
  const { webhookId: id, url, description, organization, organizationId, organizationName } = delivery;
  const name = webhookName({ url, description });
  const audit = insertAuditEvent(system, {
    action: "webhook.disabled",
    organizationId,
    target: { id, name },
    details: { reason },
  }, { now });
  const audited = { now, audited: audit.id };
  return [
    disableFailing(delivery, { now, reason }),
    audit.statement,
    insertEvent({
      type: "webhook.disabled",
      organization: organization === 0 ? null : sql`${organization}`,
      at: now,
      facts: { webhook: { id, reason } },
    }, ifAudited(audit.id)),
    ...insertDisabledMails(delivery, {
      ...(organizationName !== null && { organization: organizationName }),
      webhook: name,
      webhookId: id,
      reason,
    }, audited),
  ];
}
