// The standings of limits: the usage of each in its current window.
import {
  findLimitStandings,
  type LimitQuery,
  type LimitStandingRow,
} from "../../db/meter/limit_standings.ts";
import { limitStanding, type LimitUsage } from "../../domain/meter/limit_window.ts";
import { sumMicros, type SumParts } from "../../domain/meter/quantity.ts";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import type { Session } from "../../domain/sign_in/session.ts";
import type { Context, SessionContext } from "../context.ts";
import { requireActiveOrganization } from "../organization/membership.ts";
import { keysOf, membersOf } from "../reports/report_reader.ts";
import type { ReportOptions } from "../reports/reports.ts";
import { requireApiKey, type UsageReader } from "./usage_access.ts";

/**
 * Reads every limit that applies, exactly: usage without a counter is summed on the reports thread.
 *
 * @throws {AppError} `unavailable`. @throws {DatabaseError}
 */
export async function readLimits(
  { database, reports, clock }: Pick<SessionContext, "database" | "reports" | "clock">,
  which: Omit<LimitQuery, "now">,
  options: ReportOptions,
): Promise<LimitStanding[]> {
  const now = clock();
  const rows = await findLimitStandings(database, { ...which, now });
  const { organizationId } = which;
  return (await sumMissing({ reports }, { organizationId, rows, now }, options)).map(limitStanding);
}

/**
 * Fills in usage for limits of an organization that have no counter.
 *
 * @param limits `now`: when the limits were read, in milliseconds since 1970.
 * @throws {AppError} `unavailable`. @throws {DatabaseError}
 */
export async function sumMissing(
  { reports }: Pick<SessionContext, "reports">,
  { organizationId, rows, now }: {
    readonly organizationId: string;
    readonly rows: readonly LimitStandingRow[];
    readonly now: number;
  },
  options: ReportOptions,
): Promise<LimitUsage[]> {
  const limits = rows.filter(({ used }) => used === null);
  const sums = limits.length === 0
    ? []
    : await reports.read("sumLimits", { organizationId, limits, now }, options);
  const summed = new Map(limits.map(({ limitId }, at) => [limitId, sums[at]]));
  return rows.map((row) => usageOf(row, row.used ?? summed.get(row.limitId) ?? noUsage, now));
}

const noUsage: SumParts = { high: "0", low: "0", micro: "0" };

function usageOf(
  { productSlug, metric, quantity, ...row }: LimitStandingRow,
  used: SumParts,
  at: number,
): LimitUsage {
  return {
    ...row,
    productSlug: productSlug || null,
    metric: metric || null,
    micros: sumMicros(quantity),
    usedMicros: sumMicros(used),
    at,
  };
}

/**
 * Reads the limits of a key, given by its hash, or of a session's active organization.
 *
 * @param signal Cancels reading. @throws {AppError} As `usageScope`; `unavailable`.
 */
export async function readOwnLimits(
  context: Context,
  by: UsageReader,
  signal: AbortSignal,
): Promise<LimitStanding[]> {
  if (typeof by !== "string") {
    const { organizationId } = requireActiveOrganization(by, "usage.read");
    return await readLimits(context, { organizationId }, { reader: membersOf(organizationId), signal });
  }
  const { id: apiKeyId, organizationId } = await requireApiKey(context, by, "usage:read");
  return await readLimits(context, { organizationId, apiKeyId }, { reader: keysOf(organizationId), signal });
}

/**
 * Reads the limits of a key of a session's active organization: the organization's, then the key's budget.
 *
 * @param options `signal`: cancels reading. @throws {AppError} `forbidden`, `unavailable`.
 */
export async function readKeyLimits(
  context: SessionContext,
  session: Session,
  { apiKeyId, signal }: { apiKeyId: string; signal: AbortSignal },
): Promise<LimitStanding[]> {
  const { organizationId } = requireActiveOrganization(session, "usage.read");
  return await readLimits(context, { organizationId, apiKeyId }, {
    reader: membersOf(organizationId),
    signal,
  });
}
