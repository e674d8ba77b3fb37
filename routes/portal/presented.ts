// Shows pages as the person wants them: with their number and date format, time zone and theme, and lists with their last filters.
import { negotiatedLocale } from "../../domain/locale.ts";
import { presentedIn } from "../../domain/presentation.ts";
import type { Session } from "../../domain/access/session.ts";
import type { AppContext, AppParts } from "../env.ts";
import { lastFilters } from "./last_filters.ts";

/** In an address, says that the list has changed since its page was opened. */
export const changedListMark = "changed";

interface PresentedRequest {
  readonly session: Session;
  /** Shows times in this zone instead of the person's. */
  readonly timezone?: string;
  readonly run: () => Response | Promise<Response>;
}

/** Handles a request for a page of a person. */
export async function presented(
  c: AppContext,
  { config }: AppParts,
  { session, timezone, run }: PresentedRequest,
): Promise<Response> {
  const { preferences, organization } = session;
  const organizationTimezone = organization?.timezone ?? "UTC";
  const { unfilteredHref, remember } = lastFilters(c, session, config);
  const own = {
    locale: preferences.locale ?? negotiatedLocale(c.get("headers")["accept-language"]),
    theme: preferences.theme,
    timezone: timezone ?? preferences.timezone ?? organizationTimezone,
    organizationTimezone,
    unfilteredHref,
    isListChanged: c.req.query(changedListMark) !== undefined,
  };
  const response = await presentedIn(own, run);
  remember(response);
  return response;
}
