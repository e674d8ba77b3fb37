// A person's own preferences: time zone, number and date format, theme, and the metric that they last chose for usage.
import { findUsageMetric, updateUsageMetric } from "../../db/meter/mod.ts";
import { updatePreferences } from "../../db/people/users.ts";
import type { SessionActor } from "../../domain/access/actor.ts";
import type { Preferences } from "../../domain/presentation.ts";
import { type Access, requirePermission } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";

/** Changes the given preferences, and returns all of them. */
export async function changePreferences(
  { writeAs }: Pick<SessionContext, "writeAs">,
  actor: SessionActor,
  { timezone, locale, theme }: { readonly [Name in keyof Preferences]?: Preferences[Name] | undefined },
): Promise<Preferences> {
  const known = actor.preferences;
  const changed = {
    timezone: timezone === undefined ? known.timezone : timezone,
    locale: locale === undefined ? known.locale : locale,
    theme: theme ?? known.theme,
  };
  await writeAs(actor, [updatePreferences(actor.user.id, { timezone, locale, theme })]);
  return changed;
}

/** Reads the metric that a member last chose in the organization. Operators have no choices there. @throws {AppError} `forbidden`. */
export async function readUsageMetric(
  { database }: Pick<SessionContext, "database">,
  access: Access,
): Promise<string | null> {
  requirePermission(access, "usage.read");
  if (access.role === null) return null;
  const { actor: { user }, organizationId } = access;
  return await findUsageMetric(database, { userId: user.id, organizationId });
}

/**
 * Remembers what a member chose, without waiting. Operators change no one's preferences. Choosing the organization's time zone
 * means following it.
 *
 * @param options `knownMetric`: what is remembered. Null for what they left as it was.
 */
export function rememberUsageChoices(
  { writeAs, onBackgroundError }: Pick<SessionContext, "writeAs" | "onBackgroundError">,
  access: Access,
  { knownMetric, metric, timezone }: {
    knownMetric: string | null;
    metric: string | null;
    timezone: string | null;
  },
): void {
  requirePermission(access, "usage.read");
  if (access.role === null) return;
  const { actor, organizationId } = access;
  const userId = actor.user.id;
  const own = timezone === access.timezone ? null : timezone;
  const statements = [
    ...(timezone === null || own === actor.preferences.timezone
      ? []
      : [updatePreferences(userId, { timezone: own })]),
    ...(metric === null || metric === knownMetric
      ? []
      : [updateUsageMetric({ userId, organizationId, metric })]),
  ];
  if (statements.length > 0) writeAs(actor, statements).catch(onBackgroundError);
}
