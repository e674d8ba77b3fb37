// What is left of deleted organizations goes in the background, a little at a time.
import { deleteSomeOfOrganization } from "../../db/organization/organization_deletion.ts";
import { findDeletedOrganization } from "../../db/organization/organizations.ts";
import {
  organizationEndApiKeysMax,
  organizationEndRecordsMax,
  organizationEndRollupsMax,
  organizationEndSeriesMax,
} from "../../domain/limits.ts";
import type { BaseContext } from "../base_context.ts";

/** The end of deleted organizations. */
export interface OrganizationEndService {
  /**
   * Deletes a little of what a deleted organization left behind. It may end at any moment, and be done by several servers at
   * once: the next call goes on where there is something left.
   *
   * @returns Whether there may be more. @throws {DatabaseError}
   */
  deleteSome(): Promise<boolean>;
}

/** @param context See {@linkcode BaseContext}. */
export function createOrganizationEndService({ database }: BaseContext): OrganizationEndService {
  return {
    async deleteSome() {
      const organization = await findDeletedOrganization(database);
      if (organization === undefined) return false;
      await deleteSomeOfOrganization(database, organization.id, {
        records: organizationEndRecordsMax,
        rollups: organizationEndRollupsMax,
        series: organizationEndSeriesMax,
        apiKeys: organizationEndApiKeysMax,
      });
      return true;
    },
  };
}
