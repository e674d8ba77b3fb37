// Deletes the usage data of deleted organizations in the background, a little at a time.
import { deleteSomeOfOrganization } from "../../db/organization/organization_deletion.ts";
import { findDeletedOrganization } from "../../db/organization/organizations.ts";
import {
  organizationEndApiKeysMax,
  organizationEndRecordsMax,
  organizationEndRollupsMax,
  organizationEndSeriesMax,
} from "../../domain/limits.ts";
import type { BaseContext } from "../base_context.ts";

/**
 * Deletes some data of one deleted organization. Several servers can do this at the same time, and stop at any moment: the
 * next call continues.
 *
 * @returns Whether there may be more. @throws {DatabaseError}
 */
export async function deleteSomeOfDeletedOrganizations({ database }: Pick<BaseContext, "database">) {
  const organization = await findDeletedOrganization(database);
  if (organization === undefined) return false;
  await deleteSomeOfOrganization(database, organization.id, {
    records: organizationEndRecordsMax,
    rollups: organizationEndRollupsMax,
    series: organizationEndSeriesMax,
    apiKeys: organizationEndApiKeysMax,
  });
  return true;
}
