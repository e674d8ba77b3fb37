// What was delivered to the endpoints of the filled portal in the last two weeks.
import { sql } from "../../../db/engine/database.ts";
import {
  type EventType,
  eventTypes,
  operatorEventTypes,
  receivesEvent,
} from "../../../domain/outbox/event_types.ts";
import { webhookRetryWaitsMs } from "../../../domain/outbox/webhook_limits.ts";
import { addDeliveries, attemptsAt, type NewDelivery } from "../webhooks/deliveries.ts";
import type { Scene } from "./scene.ts";

const hourMs = 3_600_000;
const days = 14;
const delivered = { code: null, responseStatus: 204 } as const;
const unavailable = { code: "status", responseStatus: 503 } as const;
const timedOut = { code: "timeout", responseStatus: null } as const;
const refused = { code: "refused", responseStatus: null } as const;

/** Delivers events of the last days to all endpoints: one every six hours to each. */
export async function fillDeliveries({ test }: Scene): Promise<void> {
  const endpoints = await test.opened.database.read<{
    id: string;
    organization: number;
    events: string;
    failingSince: number | null;
    disabledAt: number | null;
  }>(
    sql`SELECT id, organization, events, failing_since AS failingSince, disabled_at AS disabledAt FROM webhooks ORDER BY number`,
  );
  const now = test.now();
  const times = Array.from(
    { length: days * 4 },
    (_, index) => now - (days * 4 - index) * 6 * hourMs + 60_000,
  );
  for (const { id, organization, events, failingSince, disabledAt } of endpoints) {
    const types = (Object.keys(eventTypes) as EventType[])
      .filter((type) =>
        receivesEvent(JSON.parse(events), type) && type !== "webhook.test" &&
        (organization === 0 || !operatorEventTypes.has(type))
      );
    // Few of a disabled endpoint, so that crawls reach those of the others.
    const deliveries = times.slice(disabledAt === null ? 0 : -6).map((createdAt, index): NewDelivery => {
      const type = types[index % types.length] ?? "webhook.test";
      if (disabledAt !== null && createdAt > disabledAt) return { type, status: "held", createdAt };
      if (failingSince !== null && createdAt > failingSince) {
        return failingDelivery({ type, createdAt, now }, index % 2 === 0 ? unavailable : timedOut);
      }
      if (index % 8 === 7) return failingDelivery({ type, createdAt, now }, refused);
      const made = scheduleFrom(createdAt).slice(0, index % 10 === 3 ? 3 : 1).filter((at) => at <= now);
      const attempts = attemptsAt(made, delivered);
      return { type, status: "delivered", createdAt, endedAt: made.at(-1) ?? createdAt, attempts };
    });
    if (failingSince !== null) {
      const createdAt = now - 60_000;
      const attempts = attemptsAt([createdAt], unavailable);
      deliveries.push({
        ...{ type: "webhook.test", status: "failed", createdAt, endedAt: createdAt, attempts, isTest: true },
      });
    }
    await addDeliveries(test.opened.database, id, deliveries);
    await test.opened.database.write([
      sql`UPDATE webhooks SET created_at = created_at - ${days * 24 * hourMs} WHERE id = ${id}`,
    ]);
  }
}

/** Waits for its next attempt, or failed after the last one. */
function failingDelivery(
  { type, createdAt, now }: { type: EventType; createdAt: number; now: number },
  fault: typeof unavailable | typeof timedOut | typeof refused,
): NewDelivery {
  const schedule = scheduleFrom(createdAt);
  const attempts = attemptsAt(schedule.filter((at) => at <= now), fault, fault);
  const dueAt = schedule[attempts.length];
  return dueAt === undefined
    ? { type, status: "failed", createdAt, endedAt: schedule.at(-1) ?? createdAt, attempts }
    : { type, status: "waiting", createdAt, dueAt, attempts };
}

/** Returns the times of all attempts. */
function scheduleFrom(createdAt: number): number[] {
  let at = createdAt;
  return [0, ...webhookRetryWaitsMs].map((waitMs) => at += waitMs);
}
