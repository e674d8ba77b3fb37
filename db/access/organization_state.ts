// What other statements ask of an organization: the numbers that limit it, its own or those of its plan; whether it is suspended;
// who manages it, and whether an invitation to it is open.
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

/** The columns of the numbers, in `plans` and in `organizations`. */
export const numberColumns = {
  apiKeysMax: sql`api_keys_max`,
  membersMax: sql`members_max`,
  usageSeriesMax: sql`usage_series_max`,
  requestsPerSecond: sql`requests_per_second`,
  holdsMax: sql`holds_max`,
} as const;

type PlanNumber = keyof typeof numberColumns;

/** Selects a number of the organization `o`. Requests per second are null while they follow the setting. */
export function effectiveNumber(number: PlanNumber): Statement {
  const column = numberColumns[number];
  return sql`coalesce(o.${column}, (SELECT pl.${column} FROM plans pl WHERE pl.number = o.plan))`;
}

/** Selects the features of the plan of the organization `o`, a JSON list; null once it is deleted. */
export const planFeatures = sql`(SELECT pl.features FROM plans pl WHERE pl.number = o.plan)`;

/** Selects the budget of new keys in the plan of the organization `o`, for `parseBudget`; null once it is deleted. */
export const planBudget = sql`(SELECT pl.default_budget FROM plans pl WHERE pl.number = o.plan)`;

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

/** A condition: the organization `o` is suspended, so its keys don't work. */
export const isSuspended = sql`o.suspended_at IS NOT NULL`;

/** The organization that is active when a user `u` signs in: the last active one, or their oldest if they left it. */
export const landingOrganization = sql`coalesce(
  (SELECT m.organization_id FROM memberships m WHERE m.user_id = u.id AND m.organization_id = u.last_organization_id),
  (SELECT m.organization_id FROM memberships m WHERE m.user_id = u.id ORDER BY m.created_at LIMIT 1))`;

export interface OrganizationReference {
  readonly id: string;
  readonly name: string;
  readonly externalId: string | null;
  readonly timezone: string;
  readonly suspendedAt: number | null;
}

/** A condition on a row of `organizations`: it is this organization, and not deleted. */
export const isOrganization = (id: string): Statement => sql`id = ${id} AND deleted_at IS NULL`;

export function findOrganizationReference(
  database: DatabaseReader,
  by: { readonly id: string } | { readonly externalId: string },
): Promise<OrganizationReference | undefined> {
  const condition = "id" in by ? sql`o.id = ${by.id}` : sql`o.external_id = ${by.externalId}`;
  return database.readFirst(
    sql`SELECT o.id, o.name, o.external_id AS externalId, o.timezone, o.suspended_at AS suspendedAt
    FROM organizations o WHERE ${condition} AND o.deleted_at IS NULL`,
  );
}

/** True for an organization that exists or existed. */
export async function existsOrganization(database: DatabaseReader, id: string): Promise<boolean> {
  return await database.readFirst(sql`SELECT 1 FROM organizations WHERE id = ${id}`) !== undefined;
}

export const organizationNumber = (id: string): Statement =>
  sql`(SELECT number FROM organizations WHERE id = ${id})`;

/** A condition: the invitation `i` was neither accepted nor revoked. It may have expired. */
export const openInvitation = sql`i.accepted_at IS NULL AND i.revoked_at IS NULL`;

/** A condition: the invitation `i` can be accepted at `now`. */
export const pendingInvitation = (now: number): Statement => sql`${openInvitation} AND i.expires_at > ${now}`;

/** The members `m` who manage an organization, with their users `u`: a source of rows with its condition. */
export const managersOf = (organizationId: string | null): Statement =>
  sql`memberships m JOIN users u ON u.id = m.user_id
    WHERE m.organization_id = ${organizationId} AND m.role IN ('OWNER', 'ADMIN')`;
