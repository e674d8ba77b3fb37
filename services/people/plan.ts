// The plan of an organization, as its members and operators see it next to its limits.
import { findOrganizationPlan } from "../../db/billing/mod.ts";
import { notFoundError } from "../../domain/errors.ts";
import type { OrganizationPlan } from "../../domain/billing/plan.ts";
import { type Access, requirePermission } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";

/** Reads an organization's plan. @throws {AppError} `forbidden`, `not_found`. */
export async function readPlan(
  { database }: Pick<SessionContext, "database">,
  access: Access,
): Promise<OrganizationPlan> {
  requirePermission(access, "usage.read");
  const row = await findOrganizationPlan(database, access.organizationId);
  if (row === undefined) throw notFoundError();
  const { name, timezone } = row;
  return {
    plan: { name, features: JSON.parse(row.features), featureNames: JSON.parse(row.featureNames) },
    timezone,
  };
}
