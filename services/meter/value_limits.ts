// Where limits per value stand.
import { findValueStandings, type ValueQuery } from "../../db/meter/value_limit_standings.ts";
import type { LimitUsage } from "../../domain/meter/limit_window.ts";
import type { SessionContext } from "../context.ts";
import type { JobOptions } from "../reports/reports.ts";

/** Usage, whose properties have its values. */
type ValueUsage = NonNullable<ValueQuery["series"]> & Pick<ValueQuery, "properties">;

/** Reads where the values of usage stand in all limits per value that count it, each once, with the usage that counts there. */
export async function readValuesOf<T extends ValueUsage>(
  { database }: Pick<SessionContext, "database">,
  usage: readonly T[],
  query: Omit<ValueQuery, "isComplete" | keyof ValueUsage>,
): Promise<(LimitUsage & { readonly usage: readonly T[] })[]> {
  const found = await Promise.all(usage.map(async (one) => {
    const { properties, ...series } = one;
    const { standings } = await findValueStandings(database, {
      ...query,
      series,
      properties,
      isComplete: true,
    });
    return standings.map((standing) => ({ ...standing, one }));
  }));
  const values = Map.groupBy(found.flat(), ({ limitId, ofValue }) => `${limitId} ${ofValue?.value}`).values();
  return [...values].flatMap((same) =>
    same.slice(0, 1).map((first) => ({ ...first, usage: same.map(({ one }) => one) }))
  );
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
