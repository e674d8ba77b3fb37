// The usage of a key in the last days, as lists and small charts show it.

import { zonedTime } from "../time.ts";
import type { CatalogueMetric } from "./catalogue.ts";
import type { UsageWindow } from "./usage_window.ts";

/** The days of a key's usage, with today. */
export const keyUsageDays = 30;

/** Returns those days in a time zone, also where a day doesn't begin at midnight. */
export function keyUsagePeriod(now: number, timezone: string): UsageWindow {
  const today = zonedTime(now, timezone).toPlainDate();
  const startOfDay = (day: Temporal.PlainDate) => day.toZonedDateTime(timezone).epochMilliseconds;
  return {
    start: startOfDay(today.subtract({ days: keyUsageDays - 1 })),
    end: startOfDay(today.add({ days: 1 })),
  };
}

/** The usage of a key, with those that it replaced. */
export interface KeyUsage {
  /** The metric with the most records. The other numbers are only of this one. */
  readonly metric: CatalogueMetric;
  /** The total in millionths. */
  readonly micros: bigint;
  readonly records: number;
  /** The quantity of each day, today last. */
  readonly values: readonly number[];
}
