// Where limits per value stand.
import { findValueStandings, type ValueQuery } from "../../db/meter/value_limit_standings.ts";
import type { LimitUsage } from "../../domain/meter/limit_window.ts";
import type { SessionContext } from "../context.ts";
import type { JobOptions } from "../reports/reports.ts";

/** Reads where the values of usage stand in all limits per value that count it. */
export async function readValuesOf(
  { database }: Pick<SessionContext, "database">,
  query: Omit<ValueQuery, "isComplete">,
): Promise<LimitUsage[]> {
  return (await findValueStandings(database, { ...query, isComplete: true })).standings;
}

/**
 * Reads where the values of some properties stand, and the values that are closest to each other limit, on the reports thread.
 *
 * @throws {AppError} `unavailable`.
 */
export async function readValueLimits(
  { database, reports }: Pick<SessionContext, "database" | "reports">,
  query: Omit<ValueQuery, "isComplete">,
  options: JobOptions,
): Promise<LimitUsage[]> {
  const { organizationId, now } = query;
  const { standings, others } = await findValueStandings(database, { ...query, isComplete: false });
  if (others.length === 0) return standings;
  return [
    ...standings,
    ...await reports.read("closestValues", { organizationId, windows: others, now }, options),
  ];
}
