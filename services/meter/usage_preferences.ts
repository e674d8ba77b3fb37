// The time zone and the metric in which a person last chose to see usage.
import {
  findUsagePreferences,
  updateUsageMetric,
  updateUsageTimezone,
  type UsagePreferences,
} from "../../db/meter/usage_preferences.ts";
import { type Access, requirePermission } from "../access.ts";
import type { SessionContext } from "../context.ts";

const none: UsagePreferences = { timezone: null, metric: null };

/** Reads what a member last chose in the organization. Operators have no preferences there. @throws {AppError} `forbidden`. */
export async function readUsagePreferences(
  { database }: Pick<SessionContext, "database">,
  access: Access,
): Promise<UsagePreferences> {
  requirePermission(access, "usage.read");
  if (access.role === null) return none;
  const { actor: { user }, organizationId } = access;
  return await findUsagePreferences(database, { userId: user.id, organizationId });
}

/**
 * Remembers what a member chose, without waiting. Operators change no one's preferences.
 *
 * @param options `known`: what is remembered. `chosen`: what they chose; null for what they left as it was.
 */
export function rememberUsagePreferences(
  { writeAs, onBackgroundError }: Pick<SessionContext, "writeAs" | "onBackgroundError">,
  access: Access,
  { known, chosen: { timezone, metric } }: { known: UsagePreferences; chosen: UsagePreferences },
): void {
  requirePermission(access, "usage.read");
  if (access.role === null) return;
  const { actor, organizationId } = access;
  const userId = actor.user.id;
  const statements = [
    ...(timezone === null || timezone === known.timezone ? [] : [updateUsageTimezone(userId, timezone)]),
    ...(metric === null || metric === known.metric
      ? []
      : [updateUsageMetric({ userId, organizationId, metric })]),
  ];
  if (statements.length > 0) writeAs(actor, statements).catch(onBackgroundError);
}
