// The SQL of the portal's first page.
import { type ApiKeyScope, hasTwoStep } from "../access/mod.ts";
import { type DatabaseReader, sql } from "../engine/database.ts";
import { numberOf } from "../meter/mod.ts";

/** @param scope `createdBy`: only keys of this user. */
export function findFirstSteps(
  database: DatabaseReader,
  { organizationId, createdBy }: ApiKeyScope,
) {
  // With a creator, the plus makes the database read their keys, and not all of the organization.
  const isInScope = createdBy === undefined
    ? sql`organization_id = ${organizationId}`
    : sql`created_by = ${createdBy} AND +organization_id = ${organizationId}`;
  return database.readFirst<{ hasKey: number; hasUsage: number; hasOthers: number }>(sql`SELECT
    EXISTS (SELECT 1 FROM api_keys WHERE ${isInScope}) AS hasKey,
    EXISTS (SELECT 1 FROM usage_series WHERE organization = ${numberOf(organizationId)}) AS hasUsage,
    EXISTS (SELECT 1 FROM memberships WHERE organization_id = ${organizationId} LIMIT 1 OFFSET 1) AS hasOthers`);
}

/** Returns the names of members without two-step sign-in, by the age of their accounts, and counts them all. */
export async function findMembersWithoutTwoStep(
  database: DatabaseReader,
  { organizationId, limit }: { organizationId: string; limit: number },
): Promise<{ names: string[]; count: number }> {
  const rows = await database.read<{ name: string; members: number }>(sql`
    SELECT u.name, count(*) OVER () AS members FROM memberships m JOIN users u ON u.id = m.user_id
    WHERE m.organization_id = ${organizationId} AND NOT ${hasTwoStep} ORDER BY u.id LIMIT ${limit}`);
  return { names: rows.map(({ name }) => name), count: rows[0]?.members ?? 0 };
}
