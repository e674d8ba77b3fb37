// A range of days from two optional date fields.
import { parseDay, periodFaults } from "../../domain/meter/usage_period.ts";

/**
 * Returns a range without bounds for missing days: `from` is included, `to` is not. `errors`: a sentence for each invalid field.
 *
 * @param days The first and the last day, both included, such as `2026-11-01`.
 */
export function dayRange(
  days: { readonly from: string | null; readonly to: string | null },
  timezone: string,
) {
  const [from, to] = [dayOf(days.from, timezone), dayOf(days.to, timezone)];
  const isReversed = from.start !== undefined && to.start !== undefined && from.start > to.start;
  const toError = to.error ?? (isReversed ? periodFaults.dayOrder : undefined);
  return {
    from: from.start,
    to: to.end,
    errors: {
      ...(from.error === undefined ? {} : { from: from.error }),
      ...(toError === undefined ? {} : { to: toError }),
    },
  };
}

function dayOf(text: string | null, timezone: string): { start?: number; end?: number; error?: string } {
  if (text === null) return {};
  const day = parseDay(text);
  if (typeof day === "string") return { error: day };
  const start = day.toZonedDateTime(timezone);
  return { start: start.epochMilliseconds, end: start.add({ days: 1 }).epochMilliseconds };
}
