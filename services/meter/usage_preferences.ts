// The time zone and the metric in which a person last chose to see usage.
import {
  findUsagePreferences,
  updateUsageMetric,
  updateUsageTimezone,
  type UsagePreferences,
} from "../../db/meter/usage_preferences.ts";
import type { SessionActor } from "../../domain/actor.ts";
import type { SessionContext } from "../context.ts";
import { requireActiveOrganization } from "../organization/membership.ts";

/** @returns What a member last chose in the active organization. @throws {AppError} `forbidden`. */
export async function readUsagePreferences(
  { database }: Pick<SessionContext, "database">,
  session: SessionActor,
): Promise<UsagePreferences> {
  const { organizationId } = requireActiveOrganization(session, "usage.read");
  return await findUsagePreferences(database, { userId: session.user.id, organizationId });
}

/**
 * Remembers what a member chose, without waiting.
 *
 * @param options `known`: what is remembered. `chosen`: what they chose; null for what they left as it was.
 */
export function rememberUsagePreferences(
  { writeAs, onBackgroundError }: Pick<SessionContext, "writeAs" | "onBackgroundError">,
  session: SessionActor,
  { known, chosen: { timezone, metric } }: { known: UsagePreferences; chosen: UsagePreferences },
): void {
  const { organizationId } = requireActiveOrganization(session, "usage.read");
  const userId = session.user.id;
  const statements = [
    ...(timezone === null || timezone === known.timezone ? [] : [updateUsageTimezone(userId, timezone)]),
    ...(metric === null || metric === known.metric
      ? []
      : [updateUsageMetric({ userId, organizationId, metric })]),
  ];
  if (statements.length > 0) writeAs(session, statements).catch(onBackgroundError);
}
