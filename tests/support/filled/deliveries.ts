// What was delivered to the endpoints of the filled portal in the last two weeks.
import { sql } from "../../../db/engine/database.ts";
import {
  type EventType,
  eventTypes,
  operatorEventTypes,
  receivesEvent,
} from "../../../domain/webhooks/event_types.ts";
import { webhookRetryWaitsMs } from "../../../domain/webhooks/webhook_limits.ts";
import { addDeliveries, attemptsAt, type NewDelivery } from "../webhooks/deliveries.ts";
import { seededRandom } from "../runner/random.ts";
import type { Scene } from "./scene.ts";

const hourMs = 3_600_000;
const days = 14;
const delivered = { code: null, responseStatus: 204 } as const;
const unavailable = { code: "status", responseStatus: 503 } as const;
const timedOut = { code: "timeout", responseStatus: null } as const;
const refused = { code: "refused", responseStatus: null } as const;

/** Delivers events of the last days to all endpoints: about one in three hours to each. */
export async function fillDeliveries({ test }: Scene): Promise<void> {
  const endpoints = await test.opened.database.read<{
    id: string;
    organization: number;
    events: string;
    failingSince: number | null;
    disabledAt: number | null;
    disabledReason: string | null;
  }>(
    sql`SELECT id, organization, events, failing_since AS failingSince, disabled_at AS disabledAt, disabled_reason AS disabledReason FROM webhooks ORDER BY number`,
  );
  const now = test.now();
  const random = seededRandom(27);
  for (const { id, organization, events, failingSince, disabledAt, disabledReason } of endpoints) {
    const types = (Object.keys(eventTypes) as EventType[])
      .filter((type) =>
        receivesEvent(JSON.parse(events), type) && type !== "webhook.test" &&
        (organization === 0 || !operatorEventTypes.has(type))
      );
    const times = Array.from(
      { length: disabledAt === null ? days * 8 : 6 },
      () => now - random.between(0, days * 24 * hourMs),
    )
      .sort();
    const deliveries = times.map((createdAt): NewDelivery => {
      const type = random.pick(types);
      if (disabledAt !== null && createdAt > disabledAt) return { type, status: "held", createdAt };
      if (failingSince !== null && createdAt > failingSince) {
        return failingDelivery({ type, createdAt, now }, random.pick([unavailable, timedOut]));
      }
      if (random.chance(0.04)) return failingDelivery({ type, createdAt, now }, refused);
      const made = scheduleFrom(createdAt).slice(0, random.chance(0.1) ? 3 : 1).filter((at) => at <= now);
      const attempts = attemptsAt(made, delivered);
      return { type, status: "delivered", createdAt, endedAt: made.at(-1) ?? createdAt, attempts };
    });
    if (failingSince !== null) {
      const createdAt = now - 60_000;
      const attempts = attemptsAt([createdAt], unavailable);
      const isTest = true;
      deliveries.push({
        ...{ type: "webhook.test", status: "failed", createdAt, endedAt: createdAt, attempts, isTest },
      });
    }
    if (disabledAt !== null && disabledReason === "gone") {
      const attempts = attemptsAt([disabledAt], { code: "status", responseStatus: 410 });
      const type = types[0] ?? "webhook.test";
      deliveries.push({ type, status: "held", createdAt: disabledAt - 800, attempts });
    }
    await addDeliveries(test.opened.database, id, deliveries);
    const last = Math.max(
      0,
      ...deliveries.flatMap(({ status, endedAt = 0 }) => status === "delivered" ? [endedAt] : []),
    );
    await test.opened.database.write([
      sql`UPDATE webhooks SET last_delivered_at = nullif(${last}, 0),
        created_at = created_at - ${days * 24 * hourMs} WHERE id = ${id}`,
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
