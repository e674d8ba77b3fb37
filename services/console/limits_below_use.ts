// What operators are warned about before they lower limits.
import type { LimitedOrganizations } from "../../db/billing/mod.ts";
import {
  type EffectiveLimits,
  effectiveLimits,
  type LimitsBelowUse,
  loweredLimits,
} from "../../domain/billing/lowered_limits.ts";
import { eachNumber } from "../../domain/billing/plan.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import type { SessionContext } from "../context.ts";
import { getPlan, type OrganizationPlanChange, type PlanChange } from "../billing/mod.ts";
import { getOrganization } from "./organizations.ts";
import { readForOperator } from "./usage.ts";

/** Finds organizations that use more than a changed plan would allow. @throws {AppError} `not_found`, `unavailable`. */
export async function planLimitsBelowUse(
  context: SessionContext,
  actor: OperatorActor,
  { id, limits, signal, ...numbers }: PlanChange & { id: string; signal?: AbortSignal },
): Promise<LimitsBelowUse> {
  const before = await getPlan(context, id);
  const after = effectiveLimits({ ...before, limits: [] }, {
    ...eachNumber((name) => numbers[name] ?? null),
    limits: limits ?? before.limits,
  });
  return await limitsBelowUse(context, actor, { planId: id }, { before, after, signal });
}

/** Finds what an organization uses more of than a change would allow. @throws {AppError} `not_found`, `unavailable`. */
export async function organizationLimitsBelowUse(
  context: SessionContext,
  actor: OperatorActor,
  { idText, planId, overrides = {}, signal }: OrganizationPlanChange & {
    idText: string;
    signal?: AbortSignal;
  },
): Promise<LimitsBelowUse> {
  const { id, overrides: own, ...organization } = await getOrganization(context, idText);
  const before = effectiveLimits(await getPlan(context, organization.planId), own);
  const after = effectiveLimits(await getPlan(context, planId ?? organization.planId), {
    ...eachNumber((name) => {
      const number = overrides[name];
      return number === undefined ? own[name] : number;
    }),
    limits: overrides.limits ?? own.limits,
  });
  return await limitsBelowUse(context, actor, { organizationId: id }, { before, after, signal });
}

async function limitsBelowUse(
  context: SessionContext,
  actor: OperatorActor,
  which: LimitedOrganizations,
  { before, after, signal }: {
    before: EffectiveLimits;
    after: EffectiveLimits;
    signal: AbortSignal | undefined;
  },
): Promise<LimitsBelowUse> {
  const lowered = loweredLimits(before, after);
  const isNone = lowered.limits.length === 0 && Object.keys(lowered.numbers).length === 0;
  if (isNone) return { organizationCount: 0, found: [], isComplete: true };
  return await readForOperator(context, actor, { job: "searchLimitsBelowUse", which, lowered, signal });
}
