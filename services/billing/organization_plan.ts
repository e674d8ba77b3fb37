// What changes when operators give an organization another plan, other limits, or another time zone.
import { insertChangeEvent } from "../../db/outbox/mod.ts";
import { type Audited, ifAudited, organizationNumber } from "../../db/access/mod.ts";
import type { DatabaseReader } from "../../db/engine/database.ts";
import { parseLimits, recheckLimits, replaceLimits, timezoneRows } from "../../db/meter/mod.ts";
import {
  updateOrganizationPlan,
  updateOverrides,
  updateTimezone,
} from "../../db/billing/organization_plan.ts";
import { findPlanReference, type PlanRow, selectPlan } from "../../db/billing/plans.ts";
import { validationError } from "../../domain/errors.ts";
import type { OperatedOrganization } from "../../domain/console/organization.ts";
import { planDifferences, type PlanOverridesChange } from "../../domain/billing/plan.ts";
import { hasScopeOf, type NewLimit } from "../../domain/meter/usage_limit.ts";
import { valueLimitsMax } from "../../domain/meter/value_limit.ts";
import type { Change } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";

/** Fields to change. Omitted fields keep their values. */
export interface OrganizationPlanChange {
  readonly planId?: string | undefined;
  readonly overrides?: PlanOverridesChange | undefined;
  readonly timezone?: string | undefined;
}

/** Finds the plan that an operator chose. @throws {AppError} `validation_failed` if there is no such plan. */
export async function requirePlan(database: DatabaseReader, planId: string, path = "planId") {
  const plan = await findPlanReference(database, { id: planId });
  if (plan === undefined) throw validationError([{ path, message: "must be the id of a plan." }]);
  return plan;
}

/** Returns a change for each value that differs. @throws {AppError} `validation_failed` for an unknown plan. */
export async function planChangesOf(
  { database, clock }: SessionContext,
  before: OperatedOrganization,
  { name = before.name, planId, overrides = {}, timezone }: OrganizationPlanChange & {
    name?: string | undefined;
  },
): Promise<Change[]> {
  const { id } = before;
  const now = clock();
  const about = { organizationId: id, target: { id, name } };
  const owner = { column: "organization", number: organizationNumber(id) } as const;
  const changes: Change[] = [];
  await requireFewValueLimits(database, before, { planId, limits: overrides.limits });
  if (planId !== undefined && planId !== before.planId) {
    const to = await requirePlan(database, planId);
    const from = await findPlanReference(database, { id: before.planId });
    const details = { ...(from === undefined ? {} : { from: from.name }), to: to.name };
    const entry = { ...about, action: "organization.plan_changed", details } as const;
    const after = (audited: Audited) => [
      recheckLimits(owner, ifAudited(audited.audited)),
      insertChangeEvent("organization.plan_changed", audited, { plan: { id: planId, name: to.name } }),
    ];
    changes.push({ statement: updateOrganizationPlan(id, planId, now), entry, after });
  }
  const inherited = overrides.limits && await database.readFirst<PlanRow>(selectPlan(before.planId));
  const details = planDifferences(before.overrides, overrides, inherited && parseLimits(inherited.limits));
  if (Object.keys(details).length > 0) {
    const limits = details["limits"] === undefined ? undefined : overrides.limits;
    changes.push({
      statement: updateOverrides(id, { ...overrides, limits }, now),
      entry: { ...about, action: "organization.limits_changed", details },
      after: (audited) => limits === undefined ? [] : replaceLimits(owner, limits, audited),
    });
  }
  if (timezone !== undefined && timezone !== before.timezone) {
    const details = { from: before.timezone, to: timezone };
    const entry = { ...about, action: "organization.timezone_changed", details } as const;
    const after = ({ audited }: Audited) => [
      ...timezoneRows(timezone, now),
      recheckLimits(owner, ifAudited(audited)),
    ];
    changes.push({ statement: updateTimezone(id, timezone, now), entry, after });
  }
  return changes;
}

/** @throws {AppError} `validation_failed` if too many limits per value would apply. */
async function requireFewValueLimits(
  database: DatabaseReader,
  { planId, overrides }: OperatedOrganization,
  change: { planId?: string | undefined; limits?: readonly NewLimit[] | undefined },
): Promise<void> {
  const { limits: own = overrides.limits } = change;
  if (change.planId === undefined && (change.limits === undefined || !own.some(({ by }) => by))) return;
  const plan = await database.readFirst<PlanRow>(selectPlan(change.planId ?? planId));
  const inherited = parseLimits(plan?.limits ?? "[]").filter((limit) =>
    !own.some((one) => hasScopeOf(one, limit))
  );
  const applied = [...inherited, ...own.filter(({ quantity }) => quantity !== null)].filter(({ by }) => by);
  if (applied.length <= valueLimitsMax) return;
  const path = change.limits === undefined ? "planId" : "overrides.limits";
  const message = `must leave at most ${valueLimitsMax} limits per value, with those of the plan.`;
  throw validationError([{ path, message }]);
}
