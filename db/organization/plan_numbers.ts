// The numbers that limit an organization: its own, or else those of its plan.
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

/** The columns of the numbers, in `plans` and in `organizations`. */
export const numberColumns = {
  apiKeysMax: sql`api_keys_max`,
  membersMax: sql`members_max`,
  usageSeriesMax: sql`usage_series_max`,
  requestsPerSecond: sql`requests_per_second`,
} as const;

type PlanNumber = keyof typeof numberColumns;

/** Selects a number of the organization `o`. Requests per second are null while they follow the setting. */
export function effectiveNumber(number: PlanNumber): Statement {
  const column = numberColumns[number];
  return sql`coalesce(o.${column}, (SELECT pl.${column} FROM plans pl WHERE pl.number = o.plan))`;
}

/** Selects the features of the plan of the organization `o`, a JSON list; null once it is deleted. */
export const planFeatures = sql`(SELECT pl.features FROM plans pl WHERE pl.number = o.plan)`;

/** A condition: the organization `o` has room for one more member. */
export const hasRoomForMember = sql`(SELECT count(*) FROM memberships me WHERE me.organization_id = o.id)
  < ${effectiveNumber("membersMax")}`;

/** Finds a number of an organization that isn't deleted. */
export async function findEffectiveNumber(
  database: DatabaseReader,
  organizationId: string,
  number: Exclude<PlanNumber, "requestsPerSecond">,
): Promise<number | undefined> {
  const row = await database.readFirst<{ number: number }>(sql`
    SELECT ${effectiveNumber(number)} AS number FROM organizations o
    WHERE o.id = ${organizationId} AND o.deleted_at IS NULL`);
  return row?.number;
}
