// Counts of outcomes by window, added up by the reports thread.
import { countOutcomes, type OutcomeFilter, type OutcomeRow } from "../../../db/meter/request_outcomes.ts";
import { rollupHourMs, usageSumRowsMax, usageWindowsMax } from "../../../domain/limits.ts";
import { type Outcome, outcomes, outcomesKeptMs } from "../../../domain/meter/outcome.ts";
import { type UsageRange, usageRange, type UsageRangeInput } from "../../../domain/meter/usage_window.ts";
import { isoTimeIn } from "../../../domain/time.ts";
import type { JobContext, JobScope } from "../../reports/job_context.ts";
import { tooManySumsError } from "./usage_sums.ts";

/** Hours that one step reads. */
const hoursPerReadMax = 48;

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
  const inZone = (ms: number) => isoTimeIn(ms, range.timezone);
  // By names that sort like their windows, keys and outcomes.
  const counts = new Map<string, OutcomeCount>();
  const filter = { organizationId, now, apiKey, isByKey: groupBy === "apiKey" };
  for await (const row of readOutcomes(context, { ...range, ...filter })) {
    const { position, outcome, count } = row;
    const name = `${usageWindowsMax + position} ${row.apiKey ?? ""} ${outcomes.length + outcome}`;
    const { start, end } = range.windows[position] ?? { start: range.from, end: range.to };
    const known = counts.get(name) ?? {
      ...{ start: inZone(start), end: inZone(end) },
      ...row.apiKey !== null && { apiKey: row.apiKey },
      ...{ outcome: outcomes[outcome] ?? "invalid", count: 0 },
    };
    counts.set(name, { ...known, count: known.count + count });
    if (counts.size > usageSumRowsMax) throw tooManySumsError();
  }
  const data = [...counts].sort(([a], [b]) => a < b ? -1 : 1).map(([, count]) => count);
  return { from: inZone(range.from), to: inZone(range.to), window: range.unit, data };
}

/** Returns counts with the positions of their windows, some hours at a time: a window may be in several. */
export async function* readOutcomes(
  context: JobContext,
  { organizationId, now, from, to, windows, ...filter }:
    & JobScope
    & Pick<UsageRange, "from" | "to" | "windows">
    & OutcomeFilter
    & { readonly isByKey?: boolean },
): AsyncGenerator<OutcomeRow> {
  const hours = hoursOf({ from, to, windows }, now);
  for (let at = 0; at < hours.length; at += hoursPerReadMax) {
    if (at > 0) await context.pause();
    const some = { ...filter, hours: hours.slice(at, at + hoursPerReadMax) };
    yield* await countOutcomes(context.database, organizationId, some);
  }
}

/** Returns the hours of a range for which counts may be kept, with the positions of their windows. */
function hoursOf(
  { from, to, windows }: Pick<UsageRange, "from" | "to" | "windows">,
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
