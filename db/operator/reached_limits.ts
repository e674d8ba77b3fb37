// The SQL that finds the organizations that have reached a hard limit.
import type { LimitScope } from "../../domain/meter/usage_limit.ts";
import { type DatabaseReader, sql } from "../engine/database.ts";
import { ahead, comparable, isApplied, limitQuantity, windowNumber } from "../meter/usage_limits.ts";

export interface ReachedLimit extends LimitScope {
  readonly id: string;
  readonly name: string;
}

/** At most so many of the newest notices are searched. */
const noticesMax = 10_000;

/**
 * Returns organizations with a hard limit that is used up in the current window, or that rejected a request; the latest first, each
 * once.
 *
 * @param query `since`: when the rejected request was at the earliest.
 */
export async function findReachedLimits(
  database: DatabaseReader,
  { now, since, limit }: { now: number; since: number; limit: number },
): Promise<ReachedLimit[]> {
  const time = sql`CAST(${now} AS INTEGER)`;
  const per = sql`iif(l.per IN ('minute', 'hour'), 'day', l.per)`;
  return await database.read<ReachedLimit>(sql`
    SELECT o.id, o.name, nullif(l.product_slug, '') AS productSlug, nullif(l.metric, '') AS metric, l.per
    FROM (SELECT * FROM usage_limit_notices ORDER BY noted_at DESC LIMIT ${noticesMax}) n
    CROSS JOIN usage_limits l ON l.number = n.usage_limit AND l.mode = 'hard'
    CROSS JOIN organizations o ON o.number = n.organization AND o.deleted_at IS NULL AND ${isApplied()}
    LEFT JOIN usage_limit_counters c ON c.usage_limit = n.usage_limit AND c.organization = n.organization
      AND c.window_number = n.window_number
    WHERE n.level <> 'near' AND n.window_number = ${windowNumber(per, time, ahead(sql`o.timezone`, time))}
      AND ((n.level = 'refused' AND n.noted_at >= ${since})
        OR ${comparable(sql`c.sum_high`, sql`c.sum_low`, sql`c.sum_micro`)} >= ${limitQuantity})
    GROUP BY o.number ORDER BY max(n.noted_at) DESC LIMIT ${limit}`);
}
