// The metric that a member last chose on usage pages of an organization.
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

interface Member {
  readonly userId: string;
  readonly organizationId: string;
}

/** Returns the metric's slug; null if the member never chose one. */
export async function findUsageMetric(
  database: DatabaseReader,
  { userId, organizationId }: Member,
): Promise<string | null> {
  const row = await database.readFirst<{ metric: string | null }>(sql`
    SELECT usage_metric AS metric FROM memberships
    WHERE user_id = ${userId} AND organization_id = ${organizationId}`);
  return row?.metric ?? null;
}

export function updateUsageMetric(
  { userId, organizationId, metric }: Member & { metric: string },
): Statement {
  return sql`
    UPDATE memberships SET usage_metric = ${metric}
    WHERE user_id = ${userId} AND organization_id = ${organizationId}`;
}
