// The address of the page of usage records.
import type { Environment } from "../../domain/environment.ts";
import type { DayBounds } from "../components/filter_menu.tsx";
import { listHref } from "../components/list_filters.tsx";

/** The choices in the page's address. Null: everything. */
export interface RecordsAddress extends DayBounds {
  readonly status: "counted" | "voided" | null;
  readonly productSlug: string | null;
  readonly metric: string | null;
  /** A key's id. */
  readonly apiKey: string | null;
  /** Null: that of the key; live without one. */
  readonly environment: Environment | null;
  /** An idempotency key. */
  readonly search: string | null;
  /** The value of a property, such as `region=eu`. */
  readonly property: string | null;
  /** An IANA name; null for the default. */
  readonly timezone: string | null;
}

export interface RecordsPosition {
  readonly cursor?: string;
  readonly newerThan?: string;
}

/** Returns the page's address. @param base As in `PortalFrame`. */
export function recordsHref(
  base: string,
  address: Partial<RecordsAddress> = {},
  position: RecordsPosition = {},
): string {
  return listHref(`${base}/usage/records`, { ...address, ...position });
}
