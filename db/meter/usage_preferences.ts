// People's choices on usage pages: the time zone and, in each organization, the metric that they last chose.
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

export interface UsagePreferences {
  /** An IANA name; null if they never chose one. */
  readonly timezone: string | null;
  /** A metric's slug; null if they never chose one. */
  readonly metric: string | null;
}

export async function findUsagePreferences(
  database: DatabaseReader,
  { userId, organizationId }: { userId: string; organizationId: string },
): Promise<UsagePreferences> {
  const row = await database.readFirst<UsagePreferences>(sql`
    SELECT u.usage_timezone AS timezone, m.usage_metric AS metric
    FROM users u LEFT JOIN memberships m ON m.user_id = u.id AND m.organization_id = ${organizationId}
    WHERE u.id = ${userId}`);
  return row ?? { timezone: null, metric: null };
}

export function updateUsageTimezone(userId: string, timezone: string): Statement {
  return sql`UPDATE users SET usage_timezone = ${timezone} WHERE id = ${userId}`;
}

export function updateUsageMetric(
  { userId, organizationId, metric }: { userId: string; organizationId: string; metric: string },
): Statement {
  return sql`
    UPDATE memberships SET usage_metric = ${metric}
    WHERE user_id = ${userId} AND organization_id = ${organizationId}`;
}
