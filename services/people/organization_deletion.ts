// Deletes the usage data of deleted organizations in the background, a little at a time.
import { deleteSomeOfOrganization, findDeletedOrganization } from "../../db/people/organization_deletion.ts";
import { deletedUsageKeptMs } from "../../domain/limits.ts";
import type { BaseContext } from "../base_context.ts";

/**
 * Deletes some data of one deleted organization. Its sums stay until the month in which it was deleted is in a closed statement, at
 * most 400 days. Several servers can do this at the same time, and stop at any moment: the next call continues.
 *
 * @returns True if there may be more.
 */
export async function deleteSomeOfDeletedOrganizations(
  { database, clock }: Pick<BaseContext, "database" | "clock">,
): Promise<boolean> {
  const times = { now: clock(), keptSince: clock() - deletedUsageKeptMs };
  const organization = await findDeletedOrganization(database, times);
  if (organization === undefined) return false;
  await deleteSomeOfOrganization(database, organization.id, times);
  return true;
}
