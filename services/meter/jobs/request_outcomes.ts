// Counts of outcomes by window, added up by the reports thread.
import { countOutcomes } from "../../../db/meter/request_outcomes.ts";
import { rollupHourMs, usageSumRowsMax } from "../../../domain/limits.ts";
import { type Outcome, outcomes, outcomesKeptMs } from "../../../domain/meter/outcome.ts";
import { type UsageRange, usageRange, type UsageRangeInput } from "../../../domain/meter/usage_window.ts";
import { isoTimeIn } from "../../../domain/time.ts";
import type { JobContext, JobScope } from "../../reports/job_context.ts";
import { tooManySumsError } from "./usage_sums.ts";

/** Hours that one step reads. */
const hoursPerReadMax = 96;

export interface OutcomeQuery extends UsageRangeInput {
  /** Only these keys, by id. */
  readonly apiKey?: readonly string[] | undefined;
  readonly groupBy?: "apiKey" | undefined;
}

export interface OutcomeCount {
  /** The first moment of the window, and the first one after it: ISO 8601 in the query's time zone. */
  readonly start: string;
  readonly end: string;
  /** Only if grouped by key. */
  readonly apiKey?: string;
  readonly outcome: Outcome;
  readonly count: number;
}

/** Adds up outcomes. An hour belongs to the window in which it begins. @throws {AppError} As `usageRange`; `range_too_long` above 100,000. */
export async function sumOutcomes(
  context: JobContext,
  { organizationId, now, apiKey, groupBy, ...given }: JobScope & OutcomeQuery,
) {
  const range = usageRange(given, now);
  const isByKey = groupBy === "apiKey";
  const counts = new Map<string, OutcomeCount & { readonly position: number; readonly number: number }>();
  const hours = hoursOf(range, now);
  const [from, to] = [range.from, range.to].map((ms) => isoTimeIn(ms, range.timezone));
  for (let at = 0; at < hours.length; at += hoursPerReadMax) {
    if (at > 0) await context.pause();
    const rows = await countOutcomes(context.database, organizationId, {
      hours: hours.slice(at, at + hoursPerReadMax),
      apiKey,
      isByKey,
    });
    for (const { position, apiKey, outcome: number, count } of rows) {
      const name = `${position} ${apiKey ?? ""} ${number}`;
      const window = range.windows[position] ?? { start: range.from, end: range.to };
      counts.set(name, {
        position,
        number,
        start: isoTimeIn(window.start, range.timezone),
        end: isoTimeIn(window.end, range.timezone),
        ...apiKey !== null && { apiKey },
        outcome: outcomes[number] ?? "invalid",
        count: count + (counts.get(name)?.count ?? 0),
      });
    }
    if (counts.size > usageSumRowsMax) throw tooManySumsError();
  }
  const sorted = [...counts.values()].sort((a, b) =>
    a.position - b.position || compare(a.apiKey, b.apiKey) || a.number - b.number
  );
  const data = sorted.map(({ position: _position, number: _number, ...count }): OutcomeCount => count);
  return { from: from ?? "", to: to ?? "", window: range.unit, data };
}

/** Returns the hours of a range for which counts may be kept, with the positions of their windows. */
function hoursOf(
  { from, to, windows }: UsageRange,
  now: number,
): (readonly [position: number, hour: number])[] {
  const first = Math.floor(Math.max(from, now - outcomesKeptMs) / rollupHourMs);
  const last = Math.ceil(Math.min(to, now + rollupHourMs) / rollupHourMs) - 1;
  const hours: (readonly [number, number])[] = [];
  for (let hour = first, position = 0; hour <= last; hour++) {
    const start = Math.max(hour * rollupHourMs, from);
    while (position < windows.length - 1 && (windows[position]?.end ?? to) <= start) position++;
    hours.push([position, hour]);
  }
  return hours;
}

function compare(a = "", b = ""): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
