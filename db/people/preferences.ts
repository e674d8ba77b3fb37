// A person's preferences. They are read with the session.
import type { Preferences } from "../../domain/presentation.ts";
import { sql, type Statement } from "../engine/database.ts";

/** Changes the given preferences and keeps the others. */
export function updatePreferences(
  userId: string,
  { timezone, locale, theme }: { readonly [Name in keyof Preferences]?: Preferences[Name] | undefined },
): Statement {
  const changed = (value: unknown) => value === undefined ? 0 : 1;
  return sql`
    UPDATE users SET
      usage_timezone = iif(${changed(timezone)}, ${timezone ?? null}, usage_timezone),
      locale = iif(${changed(locale)}, ${locale ?? null}, locale),
      theme = iif(${changed(theme)}, ${theme === "system" ? null : theme ?? null}, theme)
    WHERE id = ${userId}`;
}
