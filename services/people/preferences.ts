// A person's own preferences: time zone, number and date format, theme.
import { updatePreferences } from "../../db/people/preferences.ts";
import type { SessionActor } from "../../domain/access/actor.ts";
import type { Preferences } from "../../domain/presentation.ts";
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
