// Shows pages as the person wants them: with their number and date format, time zone and theme.
import { negotiatedLocale } from "../../domain/locale.ts";
import { presentedIn } from "../../domain/presentation.ts";
import type { Session } from "../../domain/sign_in/session.ts";
import type { AppContext } from "../env.ts";

/** Handles a request for a page of a person. @param options `timezone`: a fixed one, such as the console's. */
export function presented<T>(
  c: AppContext,
  { preferences, organization }: Session,
  { run, timezone }: { run: () => T; timezone?: string },
): T {
  const organizationTimezone = organization?.timezone ?? "UTC";
  const own = {
    locale: preferences.locale ?? negotiatedLocale(c.get("headers")["accept-language"]),
    theme: preferences.theme,
    timezone: timezone ?? preferences.timezone ?? organizationTimezone,
    organizationTimezone,
    unfilteredHref: null,
  };
  return presentedIn(own, run);
}
