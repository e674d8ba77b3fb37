// What was delivered to the endpoints of the filled portal in the last two weeks.
import { sql } from "../../../db/engine/database.ts";
import {
  type EventType,
  eventTypes,
  operatorEventTypes,
  receivesEvent,
} from "../../../domain/webhooks/event_types.ts";
import { addDeliveries, attemptsAt, type NewDelivery } from "../webhooks/deliveries.ts";
import { seededRandom } from "../runner/random.ts";
import type { Scene } from "./scene.ts";

const hourMs = 3_600_000;
const days = 14;
const delivered = { code: null, responseStatus: 204 } as const;
const waits = [0, 5_000, 300_000, 1_800_000, 2 * hourMs, 5 * hourMs];

/** Delivers events of the last days to all endpoints: about one in three hours to each. */
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
  const random = seededRandom(27);
  for (const { id, organization, events, failingSince, disabledAt } of endpoints) {
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
      const isFailing = failingSince !== null && createdAt > failingSince;
      const all = runningSum(waits, createdAt);
      if (isFailing) {
        const made = all.filter((at) => at <= now);
        const fault = {
          code: made.length % 2 === 0 ? "status" : "timeout",
          responseStatus: made.length % 2 === 0 ? 503 : null,
        } as const;
        return {
          type,
          status: "waiting",
          createdAt,
          dueAt: now + 47 * 60_000,
          attempts: attemptsAt(made, fault, fault),
        };
      }
      if (random.chance(0.04)) {
        return {
          type,
          status: "failed",
          createdAt,
          endedAt: all.at(-1) ?? createdAt,
          attempts: attemptsAt(all, { code: "refused", responseStatus: null }),
        };
      }
      const made = all.slice(0, random.chance(0.1) ? 3 : 1);
      return {
        type,
        status: "delivered",
        createdAt,
        endedAt: made.at(-1) ?? createdAt,
        attempts: attemptsAt(made, delivered),
      };
    });
    if (failingSince !== null) {
      const fault = { code: "status", responseStatus: 503 } as const;
      const attempts = attemptsAt([now - 60_000], fault);
      const createdAt = now - 60_000;
      deliveries.push({ type: "webhook.test", status: "failed", createdAt, endedAt: createdAt, attempts });
    }
    await addDeliveries(test.opened.database, id, deliveries);
  }
}

function runningSum(waitsMs: readonly number[], start: number): number[] {
  let at = start;
  return waitsMs.map((waitMs) => at += waitMs);
}
