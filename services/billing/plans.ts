// Plans: what organizations may use.
import type { Changes } from "../../domain/changes.ts";
import { parseBudget, parseLimits, replaceLimits } from "../../db/meter/mod.ts";
import {
  deletePlanRow,
  findPlan,
  findPlanReference,
  findPlans,
  insertPlan,
  makePlanDefault,
  planNumber,
  type PlanRow,
  selectPlan,
  updatePlan,
} from "../../db/billing/plans.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { AppError, notFoundError, validationError } from "../../domain/errors.ts";
import { featureName, type FeatureNames, namesOf } from "../../domain/feature.ts";
import { joinPath } from "../../domain/json_bounds.ts";
import { isId, newId } from "../../domain/id.ts";
import { sortedPermissions } from "../../domain/keys/key_permissions.ts";
import { plansMax } from "../../domain/limits.ts";
import { type BudgetLimit, hasQuantity, limitsText, type NewLimit } from "../../domain/meter/usage_limit.ts";
import { type Plan, planDifferences, planNumberNames, type PlanNumbers } from "../../domain/billing/plan.ts";
import { isoTime } from "../../domain/time.ts";
import { writeAndRead, writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { invalidCursorError, type PageInput, readPage } from "../pages.ts";

/** Lists plans, the oldest first. @throws {AppError} `validation_failed` for an invalid cursor. */
export async function listPlans(
  context: SessionContext,
  { limit, cursor }: PageInput,
): Promise<{ plans: Plan[]; nextCursor: string | null }> {
  if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) throw invalidCursorError();
  const after = cursor === undefined ? undefined : Number(cursor);
  const { rows, nextCursor } = await readPage(
    (limit) => findPlans(context.database, { limit, after }),
    { limit, cursorOf: ({ number }) => String(number) },
  );
  return { plans: rows.map((row) => toPlan(context, row, row.organizations)), nextCursor };
}

/** @throws {AppError} `not_found`. */
export async function getPlan(context: SessionContext, id: string): Promise<Plan> {
  const row = isId("plan", id) ? await findPlan(context.database, id) : undefined;
  if (row === undefined) throw notFoundError();
  return toPlan(context, row, row.organizations);
}

interface NewPlanInput extends Omit<PlanNumbers, "requestsPerSecond"> {
  readonly name: string;
  readonly isDefault?: boolean | undefined;
  /** Default: the value of the setting. */
  readonly requestsPerSecond?: number | undefined;
  readonly limits: readonly NewLimit[];
  readonly defaultBudget?: readonly BudgetLimit[] | undefined;
  readonly features?: readonly string[] | undefined;
  readonly featureNames?: FeatureNames | undefined;
}

/** Creates a plan. @throws {AppError} `validation_failed`, `plan_taken`, `limit_reached`. */
export async function createPlan(
  context: SessionContext,
  actor: OperatorActor,
  { limits, isDefault, defaultBudget = [], features = [], featureNames = {}, ...input }: NewPlanInput,
): Promise<Plan> {
  const { name, requestsPerSecond = context.config.apiKeyRequestsPerSecond } = input;
  const id = newId("plan");
  requireFeatures(features, featureNames);
  const { isMade, row } = await writeAndRead<PlanRow>(context, actor, {
    statement: insertPlan(
      {
        ...input,
        id,
        defaultBudget,
        features: sortedPermissions(features),
        featureNames: namesOf(sortedPermissions(features), featureNames),
        requestsPerSecond,
        now: context.clock(),
      },
      { plansMax },
    ),
    entry: { action: "plan.created", organizationId: null, target: { id, name } },
    after: (audited) => [
      ...replaceLimits({ column: "plan", number: planNumber(id) }, limits, audited),
      ...(isDefault ? makePlanDefault(id, audited) : []),
    ],
  }, selectPlan(id));
  if (isMade) return toPlan(context, row(), 0);
  throw await findPlanReference(context.database, { name }) === undefined
    ? new AppError("limit_reached", `There can be at most ${plansMax} plans. Delete one first.`)
    : planTakenError();
}

/**
 * Fields to change. Omitted fields keep their values. Lists and names replace the whole list or all names: limits with the scope of an
 * existing one keep what counts against them, and features that `features` lacks lose their names. `isDefault`: true makes it the default.
 */
export type PlanChange = Changes<NewPlanInput>;

/** Changes a plan, effective on the next request. @throws {AppError} `not_found`, `plan_taken`, `validation_failed`. */
export async function changePlan(
  context: SessionContext,
  actor: OperatorActor,
  { id, ...change }: PlanChange & { id: string },
): Promise<Plan> {
  const before = await getPlan(context, id);
  const details = changesOf(before, change);
  if (Object.keys(details).length === 0) return before;
  const { name = before.name, isDefault, limits, defaultBudget } = change;
  const features = change.features && sortedPermissions(change.features);
  const featureNames = namesOf(features ?? before.features, change.featureNames ?? before.featureNames);
  const owner = { column: "plan", number: planNumber(id) } as const;
  // A number that stays the setting's is not written.
  const numbers = Object.fromEntries(
    planNumberNames.flatMap((number) => details[number] === undefined ? [] : [[number, change[number]]]),
  );
  const { isMade, row } = await writeAndRead<PlanRow>(context, actor, {
    statement: updatePlan(id, { ...numbers, name, defaultBudget, features, featureNames }),
    entry: { action: "plan.changed", organizationId: null, target: { id, name }, details },
    after: (audited) => [
      ...(limits === undefined ? [] : replaceLimits(owner, limits, audited)),
      ...(isDefault ? makePlanDefault(id, audited) : []),
    ],
  }, selectPlan(id));
  if (!isMade) throw planTakenError();
  if (limits !== undefined) await context.recorder.checkChangedLimits(owner);
  return toPlan(context, row(), before.organizationCount);
}

/** Deletes a plan. @throws {AppError} `not_found`; `plan_in_use` for the default plan and for plans of organizations. */
export async function deletePlan(context: SessionContext, actor: OperatorActor, id: string): Promise<void> {
  const { name } = await getPlan(context, id);
  const isDeleted = await writeChange(context, actor, {
    statement: deletePlanRow(id),
    entry: { action: "plan.deleted", organizationId: null, target: { id, name } },
  });
  if (isDeleted) return;
  const { isDefault, organizationCount } = await getPlan(context, id);
  throw new AppError("plan_in_use", inUseText(isDefault, organizationCount));
}

function inUseText(isDefault: boolean, organizations: number): string {
  if (isDefault) return "This is the default plan. Make another plan the default first.";
  return organizations === 1
    ? "1 organization has this plan. Give it another one first."
    : `${organizations} organizations have this plan. Give them another one first.`;
}

/** @throws {AppError} `validation_failed` for names of other features. */
function requireFeatures(features: readonly string[], names: FeatureNames): void {
  const faults = Object.keys(names).filter((feature) => !features.includes(feature))
    .map((feature) => ({
      path: joinPath("featureNames", feature),
      message: "is not a feature of the plan.",
    }));
  if (faults.length > 0) throw validationError(faults);
}

/** Returns what differs, for the audit log. @throws {AppError} `validation_failed` if there would be no default plan, or for names of other features. */
function changesOf(
  before: Plan,
  {
    name,
    isDefault,
    defaultBudget = before.defaultBudget,
    features = before.features,
    featureNames,
    ...change
  }: PlanChange,
): Record<string, string> {
  if (before.isDefault && isDefault === false) {
    const message = "can't be turned off. Make another plan the default instead.";
    throw validationError([{ path: "isDefault", message }]);
  }
  const changes = planDifferences(before, change);
  if (name !== undefined && name !== before.name) Object.assign(changes, { from: before.name, to: name });
  requireFeatures(features, featureNames ?? {});
  const named = features.filter((feature) =>
    featureName(feature, before.featureNames) !== featureName(feature, featureNames ?? before.featureNames)
  );
  if (named.length > 0) changes["featureNames"] = sortedPermissions(named).join(", ");
  const [from, to] = [before.features, sortedPermissions(features)]
    .map((names) => names.join(", ") || "none");
  if (from !== to) Object.assign(changes, { features: to, previousFeatures: from });
  const [oldBudget, newBudget] = [before.defaultBudget, defaultBudget].map(limitsText);
  if (oldBudget !== newBudget) {
    Object.assign(changes, {
      defaultBudget: newBudget || "none",
      previousDefaultBudget: oldBudget || "none",
    });
  }
  if (isDefault === true && !before.isDefault) changes["isDefault"] = "true";
  return changes;
}

function planTakenError(): AppError {
  return new AppError("plan_taken", "There is already a plan with this name.");
}

function toPlan({ config }: SessionContext, row: PlanRow, organizationCount: number): Plan {
  return {
    id: row.id,
    name: row.name,
    isDefault: row.isDefault === 1,
    apiKeysMax: row.apiKeysMax,
    membersMax: row.membersMax,
    requestsPerSecond: row.requestsPerSecond ?? config.apiKeyRequestsPerSecond,
    usageSeriesMax: row.usageSeriesMax,
    limits: parseLimits(row.limits).filter(hasQuantity),
    holdsMax: row.holdsMax,
    defaultBudget: parseBudget(row.defaultBudget),
    features: JSON.parse(row.features),
    featureNames: JSON.parse(row.featureNames),
    organizationCount,
    createdAt: isoTime(row.createdAt),
  };
}
