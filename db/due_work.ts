// The one question of a server that has nothing to do.
import { type DatabaseReader, sql } from "./engine/database.ts";
import { hasFence } from "./engine/move_fence.ts";
import { areAllFilled } from "./meter/aggregation_list.ts";
import { hasDueWebhooks } from "./outbox/deliveries.ts";

/** Background work that begins with a change: by a request, or by another server. */
export type DueKind = "webhooks" | "limitRechecks" | "unfilled";
export const dueKinds: readonly DueKind[] = ["webhooks", "limitRechecks", "unfilled"];

interface Due {
  readonly kinds: readonly DueKind[];
  /** True if `gatehouse move` has made the database read-only. */
  readonly isReadOnly: boolean;
}

/** Finds the kinds of work that are due. */
export async function findDue(database: DatabaseReader, now: number): Promise<Due> {
  const row = await database.readFirst<Record<DueKind | "isReadOnly", 0 | 1>>(sql`
    SELECT ${hasDueWebhooks(now)} AS webhooks, EXISTS (SELECT 1 FROM limit_rechecks) AS limitRechecks,
      (NOT ${areAllFilled} OR EXISTS (SELECT 1 FROM usage_dimensions WHERE removed_at IS NULL AND unfilled_seq > 0)) AS unfilled,
      ${hasFence} AS isReadOnly`);
  return { kinds: dueKinds.filter((kind) => row?.[kind] === 1), isReadOnly: row?.isReadOnly === 1 };
}
