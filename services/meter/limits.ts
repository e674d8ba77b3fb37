// The standings of limits: the usage of each in its current window.
import { findLimitStandings, type LimitStandingRow } from "../../db/meter/limit_standings.ts";
import { limitStanding, type LimitUsage } from "../../domain/meter/limit_window.ts";
import { sumMicros, type SumParts } from "../../domain/meter/quantity.ts";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import type { SessionContext } from "../context.ts";
import type { JobOptions } from "../reports/reports.ts";
import { type UsageAccess, usageScope } from "./usage_access.ts";
import { readValueLimits } from "./value_limits.ts";

/**
 * Reads every limit that applies to a key, given or that of the access, or else to the organization, exactly: usage without a
 * counter is summed on the reports thread.
 *
 * @throws {AppError} As `usageScope`; `unavailable`.
 */
export async function readLimits(
  context: SessionContext,
  access: UsageAccess,
  { apiKeyId, properties = null, signal }: {
    apiKeyId?: string | undefined;
    /** Whose values are shown of limits per value; otherwise those that are closest to their limit. */
    properties?: Readonly<Record<string, string>> | null;
    signal: AbortSignal;
  },
): Promise<LimitStanding[]> {
  const { organizationId, now } = usageScope(context, access);
  const id = "keyHash" in access ? access.actor.id : apiKeyId;
  const options = { reader: access.reader, signal };
  const query = { organizationId, apiKeyId: id, now };
  const [rows, values] = await Promise.all([
    findLimitStandings(context.database, query),
    readValueLimits(context, { ...query, properties }, options),
  ]);
  const limits = await sumMissing(context, { organizationId, rows, now }, options);
  return [...limits, ...values].map(limitStanding);
}

/** Fills in usage for limits that have no counter, or share grants with a window that has none. `now`: when they were read. @throws {AppError} `unavailable`. */
export async function sumMissing(
  { reports }: Pick<SessionContext, "reports">,
  { organizationId, rows, now }: {
    readonly organizationId: string;
    readonly rows: readonly LimitStandingRow[];
    readonly now: number;
  },
  options: JobOptions,
): Promise<LimitUsage[]> {
  const limits = rows.filter(({ used, reserved }) => used === null || reserved === null);
  const sums = limits.length === 0
    ? []
    : await reports.read("sumLimits", { organizationId, limits, now }, options);
  const summed = new Map(limits.map(({ limitId }, at) => [limitId, sums[at]]));
  return rows.map((row) => {
    const sum = summed.get(row.limitId);
    const reserved = row.reserved ?? sum?.reserved ?? null;
    return usageOf({ ...row, reserved }, row.used ?? sum?.used ?? noUsage, now);
  });
}

export const noUsage: SumParts = { high: "0", low: "0", micro: "0" };

export function usageOf(
  { productSlug, metric, quantity, reserved, ...row }: LimitStandingRow,
  used: SumParts,
  at: number,
): LimitUsage {
  return {
    ...row,
    productSlug: productSlug || null,
    metric: metric || null,
    micros: sumMicros(quantity),
    usedMicros: sumMicros(used),
    heldMicros: sumMicros(row.held),
    reservedMicros: BigInt(reserved ?? 0),
    at,
  };
}
