// Limits of usage in the database of a test.
import { sql } from "../../../db/engine/database.ts";
import { restartLimits } from "../../../db/meter/usage_limits.ts";
import { newId } from "../../../domain/id.ts";
import type { LimitMode, LimitPeriod } from "../../../domain/meter/usage_limit.ts";
import type { TestApp } from "../app/app.ts";
import { poll } from "../runner/poll.ts";

/** A limit; by default of all products and metrics, and soft. */
export interface AddedLimit {
  readonly per: LimitPeriod;
  readonly productSlug?: string;
  readonly metric?: string;
  /** A whole number; null for an organization that has no such limit although its plan has. */
  readonly quantity?: number | null;
  readonly mode?: LimitMode;
  readonly notifyAt?: readonly number[];
  /** The property of a limit per value. */
  readonly by?: string;
}

/**
 * Adds a limit to the default plan, to an organization, or to a key with those that replace it; or an alert of an organization, for all
 * of its usage or that of a key with those that replace it.
 *
 * @returns Its id and number.
 */
export async function addLimit(
  { opened: { database }, now }: Pick<TestApp, "opened" | "now">,
  { organizationId = null, apiKeyId = null, alertOf = null }: {
    organizationId?: string | null;
    apiKeyId?: string | null;
    alertOf?: string | null;
  },
  { per, productSlug = "", metric = "", quantity = 1, mode = "soft", notifyAt, by = "" }: AddedLimit,
): Promise<{ id: string; number: number; per: LimitPeriod }> {
  const id = newId("lim");
  const isOfPlan = organizationId === null && apiKeyId === null && alertOf === null;
  const lineage = sql`(SELECT lineage FROM api_keys WHERE id = ${apiKeyId})`;
  const [inserted] = await database.write([
    sql`INSERT INTO usage_limits (id, plan, organization, lineage, alert_of, alert_lineage, product_slug, metric, per, quantity_whole,
        quantity_micro, mode, notify_at, property, created_seq, created_at)
      SELECT ${id}, iif(${isOfPlan ? 1 : 0}, (SELECT number FROM plans WHERE is_default = 1), NULL),
        (SELECT number FROM organizations WHERE id = ${organizationId}),
        ${alertOf === null ? lineage : null}, (SELECT number FROM organizations WHERE id = ${alertOf}),
        ${alertOf === null ? null : lineage}, ${productSlug}, ${metric}, ${per}, ${quantity},
        0, ${mode}, ${
      notifyAt === undefined ? null : JSON.stringify(notifyAt)
    }, ${by}, (SELECT seq FROM usage_cursor), ${now()}
      RETURNING number`,
    sql`UPDATE organizations SET ${restartLimits(now())} WHERE id = ${organizationId}`,
  ]);
  return { id, number: Number(inserted?.rows[0]?.["number"]), per };
}

/** Waits until the counters of limits that records don't wait for have what was recorded before they were opened. */
export async function softCountersAreKnown({ opened: { database } }: Pick<TestApp, "opened">): Promise<void> {
  await poll(async () =>
    await database.readFirst(sql`SELECT 1 FROM usage_limit_counters c
      JOIN usage_limits l ON l.number = c.usage_limit AND l.mode <> 'hard' WHERE c.is_known = 0`) ===
      undefined
  );
}

/** Returns the events about limits, in the order in which they were written, such as `limit.reached 100`. */
export async function limitEvents({ opened: { database } }: Pick<TestApp, "opened">): Promise<string[]> {
  const rows = await database.read<{ event: string }>(sql`
    SELECT type || ' ' || (facts ->> 'percent') || iif(facts ->> 'isRefusal', ' rejected', '') AS event
    FROM events WHERE type LIKE 'limit.%' ORDER BY seq`);
  return rows.map(({ event }) => event);
}
