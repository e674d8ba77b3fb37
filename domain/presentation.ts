// How texts look for the person whose request is handled: their number and date format, their time zone and theme. Everything that
// is not the page of a signed-in person (the API, CSV, emails, the command line) gets the default.
import { AsyncLocalStorage } from "node:async_hooks";
import { defaultLocale, type Locale } from "./locale.ts";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

/** A person's own choices. Null follows the organization, and the browser. */
export interface Preferences {
  /** An IANA name. */
  readonly timezone: string | null;
  readonly locale: Locale | null;
  readonly theme: Theme;
}

export interface Presentation {
  readonly locale: Locale;
  readonly theme: Theme;
  /** The time zone of shown times, an IANA name. */
  timezone: string;
  /** The time zone of limits. */
  organizationTimezone: string;
  /** The page without filters, if it shows the last ones. */
  unfilteredHref: string | null;
  /** True for the first page of a list in place of another one, which no longer exists. */
  isListChanged: boolean;
}

const defaults: Readonly<Presentation> = Object.freeze({
  locale: defaultLocale,
  theme: "system",
  timezone: "UTC",
  organizationTimezone: "UTC",
  unfilteredHref: null,
  isListChanged: false,
});
const current = new AsyncLocalStorage<Presentation>();

/** Returns the presentation of the request that the caller works for. */
export function presentation(): Readonly<Presentation> {
  return current.getStore() ?? defaults;
}

/** Runs a function, and everything that it starts, with a presentation of its own. */
export function presentedIn<T>(own: Presentation, run: () => T): T {
  return current.run(own, run);
}

/** Shows the times of the current request in a zone. */
export function showTimesIn(zones: Pick<Presentation, "timezone" | "organizationTimezone">): void {
  Object.assign(current.getStore() ?? {}, zones);
}
