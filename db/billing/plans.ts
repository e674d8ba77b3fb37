// All SQL of plans.
import {
  type NumberOverridesChange,
  planNumberNames,
  type PlanNumbers,
  type PlanNumbersChange,
} from "../../domain/billing/plan.ts";
import type { FeatureNames } from "../../domain/feature.ts";
import type { BudgetLimit } from "../../domain/meter/usage_limit.ts";
import { type Audited, ifAudited, numberColumns } from "../access/mod.ts";
import { type DatabaseReader, joinSql, sql, type Statement } from "../engine/database.ts";
import { limitsJson, storedBudget } from "../meter/mod.ts";

export interface PlanRow extends Omit<PlanNumbers, "requestsPerSecond"> {
  readonly number: number;
  /** Null for that of the setting. */
  readonly requestsPerSecond: number | null;
  readonly id: string;
  readonly name: string;
  readonly isDefault: number;
  readonly createdAt: number;
  /** For `parseLimits`. */
  readonly limits: string;
  /** For `parseBudget`. */
  readonly defaultBudget: string;
  /** A JSON list. */
  readonly features: string;
  /** JSON: names by feature. */
  readonly featureNames: string;
}

type CountedPlanRow = PlanRow & { readonly organizations: number };

/** Returns assignments of numbers, to a plan or as overrides of an organization. Omitted numbers keep their values. */
export function assignNumbers(numbers: NumberOverridesChange): Statement[] {
  return planNumberNames.flatMap((name) => {
    const value = numbers[name];
    return value === undefined ? [] : [sql`${numberColumns[name]} = ${value}`];
  });
}

const columns =
  sql`p.number, p.id, p.name, p.is_default AS isDefault, p.api_keys_max AS apiKeysMax, p.members_max AS membersMax,
    p.requests_per_second AS requestsPerSecond, p.usage_series_max AS usageSeriesMax, p.holds_max AS holdsMax,
    p.created_at AS createdAt, p.default_budget AS defaultBudget, p.features, p.feature_names AS featureNames, ${
    limitsJson({ column: "plan", number: sql`p.number` })
  } AS limits`;

const selectCounted = sql`SELECT ${columns},
  (SELECT count(*) FROM organizations o WHERE o.plan = p.number) AS organizations FROM plans p`;

export const selectPlan = (id: string): Statement => sql`SELECT ${columns} FROM plans p WHERE p.id = ${id}`;

/** Returns plans, the oldest first, from after the number `after`. */
export function findPlans(
  database: DatabaseReader,
  { limit, after = 0 }: { limit: number; after?: number | undefined },
): Promise<CountedPlanRow[]> {
  return database.read(sql`${selectCounted} WHERE p.number > ${after} ORDER BY p.number LIMIT ${limit}`);
}

export function findPlan(database: DatabaseReader, id: string) {
  return database.readFirst<CountedPlanRow>(sql`${selectCounted} WHERE p.id = ${id}`);
}

export function findPlanReference(
  database: DatabaseReader,
  by: { readonly id: string } | { readonly name: string },
): Promise<{ readonly id: string; readonly name: string } | undefined> {
  const condition = "id" in by ? sql`id = ${by.id}` : sql`name = ${by.name}`;
  return database.readFirst(sql`SELECT id, name FROM plans WHERE ${condition}`);
}

/** Finds the plan of an organization that isn't deleted, with the organization's time zone. */
export function findOrganizationPlan(
  database: DatabaseReader,
  organizationId: string,
): Promise<Pick<PlanRow, "name" | "features" | "featureNames"> & { readonly timezone: string } | undefined> {
  return database.readFirst(
    sql`SELECT p.name, p.features, p.feature_names AS featureNames, o.timezone FROM organizations o JOIN plans p ON p.number = o.plan
    WHERE o.id = ${organizationId}`,
  );
}

/** Returns the names of plans, sorted. */
export function findPlanReferences(
  database: DatabaseReader,
  limit: number,
): Promise<{ readonly id: string; readonly name: string }[]> {
  return database.read(sql`SELECT id, name FROM plans ORDER BY name COLLATE NOCASE LIMIT ${limit}`);
}

export const planNumber = (id: string): Statement => sql`(SELECT number FROM plans WHERE id = ${id})`;

/** Inserts a plan, unless its name is taken or there are `plansMax` plans. */
export function insertPlan(
  { id, name, defaultBudget, features, featureNames, now, ...numbers }: PlanNumbers & {
    id: string;
    name: string;
    defaultBudget: readonly BudgetLimit[];
    features: readonly string[];
    featureNames: FeatureNames;
    now: number;
  },
  { plansMax }: { plansMax: number },
) {
  return sql`
    INSERT INTO plans (id, name, is_default, api_keys_max, members_max, requests_per_second, usage_series_max, holds_max,
      default_budget, features, feature_names, created_at)
    SELECT ${id}, ${name}, 0, ${numbers.apiKeysMax}, ${numbers.membersMax}, ${numbers.requestsPerSecond},
      ${numbers.usageSeriesMax}, ${numbers.holdsMax}, ${storedBudget(defaultBudget)}, ${
    JSON.stringify(features)
  }, ${JSON.stringify(featureNames)}, ${now}
    WHERE (SELECT count(*) FROM plans) < ${plansMax} ON CONFLICT DO NOTHING`;
}

/** Changes a plan, even if nothing differs, unless the name is taken. */
export function updatePlan(
  id: string,
  { name, defaultBudget, features, featureNames, ...numbers }: PlanNumbersChange & {
    name: string;
    defaultBudget: readonly BudgetLimit[] | undefined;
    features: readonly string[] | undefined;
    featureNames: FeatureNames;
  },
) {
  const texts = [
    sql`name = ${name}`,
    sql`feature_names = ${JSON.stringify(featureNames)}`,
    ...(defaultBudget === undefined ? [] : [sql`default_budget = ${storedBudget(defaultBudget)}`]),
    ...(features === undefined ? [] : [sql`features = ${JSON.stringify(features)}`]),
  ];
  return sql`UPDATE plans SET ${joinSql([...texts, ...assignNumbers(numbers)], ", ")}
    WHERE id = ${id} AND NOT EXISTS (SELECT 1 FROM plans o WHERE o.name = ${name} AND o.id <> ${id})`;
}

export function makePlanDefault(id: string, { audited }: Audited): Statement[] {
  // Two statements, as there is never more than one.
  return [
    sql`UPDATE plans SET is_default = 0 WHERE is_default = 1 AND ${ifAudited(audited)}`,
    sql`UPDATE plans SET is_default = 1 WHERE id = ${id} AND ${ifAudited(audited)}`,
  ];
}

/** Deletes a plan with its limits, unless it is the default or organizations have it. */
export function deletePlanRow(id: string) {
  return sql`DELETE FROM plans WHERE id = ${id} AND is_default = 0
    AND NOT EXISTS (SELECT 1 FROM organizations o WHERE o.plan = plans.number)`;
}
