// SQL of what organizations use of what their plan limits.
import type { SumParts } from "../../domain/meter/quantity.ts";
import type { LimitScope } from "../../domain/meter/usage_limit.ts";
import type { UsageWindow } from "../../domain/meter/usage_window.ts";
import type { CountedNumber } from "../../domain/billing/lowered_limits.ts";
import type { NumberOverrides } from "../../domain/billing/plan.ts";
import { activeApiKey } from "../access/mod.ts";
import { type DatabaseReader, joinSql, sql, type Statement } from "../engine/database.ts";
import { allMonths, limitsJson, windowSums } from "../meter/mod.ts";
import { planNumber } from "./plans.ts";

export type LimitedOrganizations = { readonly planId: string } | { readonly organizationId: string };

/** An organization with its overrides, and the counts of its limited things. */
export interface LimitedOrganizationRow extends NumberOverrides {
  readonly number: number;
  readonly id: string;
  readonly name: string;
  readonly timezone: string;
  readonly series: number;
  /** For `parseLimits`. */
  readonly limits: string;
  /** JSON: by the names of the limits. */
  readonly counts: string;
}

/** Returns organizations by number, from after one, with the counts in `counted`. */
export function findLimitedOrganizations(
  database: DatabaseReader,
  which: LimitedOrganizations,
  { counted, after, limit, now }: {
    counted: readonly CountedNumber[];
    after: number;
    limit: number;
    now: number;
  },
): Promise<LimitedOrganizationRow[]> {
  const isOne = "planId" in which
    ? sql`o.plan = ${planNumber(which.planId)}`
    : sql`o.id = ${which.organizationId} AND o.deleted_at IS NULL`;
  const counts: Readonly<Record<CountedNumber, Statement>> = {
    apiKeysMax: sql`(SELECT count(*) FROM api_keys k WHERE k.organization_id = o.id AND ${
      activeApiKey(now)
    })`,
    membersMax: sql`(SELECT count(*) FROM memberships m WHERE m.organization_id = o.id)`,
    usageSeriesMax: sql`o.series`,
  };
  const pairs = counted.map((name) => sql`${name}, ${counts[name]}`);
  return database.read(sql`
    SELECT o.number, o.id, o.name, o.timezone, o.series, o.api_keys_max AS apiKeysMax, o.members_max AS membersMax,
      o.requests_per_second AS requestsPerSecond, o.usage_series_max AS usageSeriesMax,
      o.holds_max AS holdsMax,
      ${limitsJson({ column: "organization", number: sql`o.number` })} AS limits,
      json_object(${joinSql(pairs, ", ")}) AS counts
    FROM organizations o WHERE ${isOne} AND o.number > ${after} ORDER BY o.number LIMIT ${limit}`);
}

/** Sums what organizations, by number, used in a window; null for all time. Those that used nothing are left out. */
export function sumUse(
  database: DatabaseReader,
  { productSlug, metric }: LimitScope,
  organizations: readonly number[],
  window: UsageWindow | null,
): Promise<(SumParts & { readonly organization: number })[]> {
  const isOne = sql`organization IN (SELECT value FROM json_each(${JSON.stringify(organizations)}))`;
  const counts =
    sql`coalesce(${productSlug}, s.product_slug) = s.product_slug AND coalesce(${metric}, s.metric) = s.metric`;
  const pieces = window === null
    ? sql`SELECT r.series, r.sum_high, r.sum_low, r.sum_micro FROM ${allMonths} m
      CROSS JOIN usage_rollups_monthly r ON r.month = m.month AND r.${isOne}`
    : windowSums(window, { months: sql`r.${isOne}`, series: sql`e.${isOne}` });
  return database.read(sql`
    SELECT s.organization, CAST(sum(p.sum_high) AS TEXT) AS high, CAST(sum(p.sum_low) AS TEXT) AS low,
      CAST(sum(p.sum_micro) AS TEXT) AS micro
    FROM (${pieces}) p JOIN usage_series s ON s.id = p.series WHERE ${counts} GROUP BY 1`);
}
