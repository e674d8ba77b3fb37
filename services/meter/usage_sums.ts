// Adding usage up: rollups of one organization, by window and group. It runs on the reports thread.
import {
  findUsageExtent,
  type RollupUnit,
  sumUsage,
  type UsageExtent,
  type UsageFilter,
  type UsageGroup,
  type UsageQuery,
  type UsageSumRow,
} from "../../db/meter/usage_sums.ts";
import { unknownLargest, unknownSmallest } from "../../db/meter/usage_voids.ts";
import { AppError } from "../../domain/errors.ts";
import { rollupHourMs, usageSumRowsMax, usageTurnRollupsMax, usageTurnRowsMax } from "../../domain/limits.ts";
import { microsToNumber, sumMicros } from "../../domain/meter/quantity.ts";
import {
  isoTimeIn,
  type UsageRange,
  usageRange,
  type UsageRangeInput,
} from "../../domain/meter/usage_window.ts";
import type { ReportContext, ReportScope } from "../reports/report_context.ts";

/** Which usage to read. */
export interface UsageReadInput extends UsageRangeInput, UsageFilter {
  readonly groupBy?: readonly UsageGroup[] | undefined;
}

/** Usage of one window and group. The sum is exact, or beyond 2^53−1 the nearest number. */
export interface UsageSum {
  /** The window's first moment, and the first one after it: ISO 8601 on the clock of the range's time zone. */
  readonly start: string;
  readonly end: string;
  readonly productSlug?: string;
  readonly metric?: string;
  /** The key's id. */
  readonly apiKey?: string;
  readonly sum: number;
  readonly count: number;
  /** Null when not known: its record was voided after retention had deleted others of the quarter of an hour. */
  readonly min: number | null;
  readonly max: number | null;
}

/** Usage of one window and group, as exact as it was recorded. */
export interface ExactUsage extends Omit<UsageSum, "sum" | "min" | "max"> {
  /** The window's place in the range. */
  readonly position: number;
  /** The exact sum, smallest and largest in millionths. */
  readonly micros: bigint;
  readonly smallest: bigint | null;
  readonly largest: bigint | null;
  readonly apiKeyName?: string;
}

/** A sum with what those need who add it up further or show it to people. */
export type ExactUsageSum = UsageSum & ExactUsage;

/** Sums over a range, by window and then by group. */
export interface UsageSums {
  readonly range: UsageRange;
  readonly data: readonly ExactUsageSum[];
}

/** Sums over a range, as they are added up: any number of them. */
export interface UsageSumStream {
  readonly range: UsageRange;
  /** There are no more than so many. */
  readonly sumsMax: number;
  /**
   * The next sums, whole windows at a time, with a turn for other reports between them. Each is made when it is asked for:
   * what many sums are made of would otherwise be in memory together.
   *
   * @returns Sums from the first on, with each call.
   */
  parts(): AsyncGenerator<Iterable<ExactUsage>>;
}

/** Begins to add up usage. @throws {AppError} As {@linkcode usageRange}. */
export async function streamUsageSums(
  context: ReportContext,
  { organizationId, now, ...input }: ReportScope & UsageReadInput,
): Promise<UsageSumStream> {
  const range = usageRange(input, now);
  const { productSlug, metric, apiKey, groupBy = [] } = input;
  const query = { organizationId, productSlug, metric, apiKey, groupBy };
  const extent = await findUsageExtent(context.database, query);
  return {
    range,
    sumsMax: range.windows.length * (query.groupBy.length === 0 ? 1 : extent.series),
    parts: () => addUp(context, { query, range, extent }),
  };
}

/**
 * Adds usage up.
 *
 * @returns All sums. @throws {AppError} As {@linkcode usageRange}; `range_too_long` for more than 100,000 sums.
 */
export async function readUsageSums(
  context: ReportContext,
  input: ReportScope & UsageReadInput,
): Promise<UsageSums> {
  const { range, parts } = await streamUsageSums(context, input);
  const data: ExactUsageSum[] = [];
  for await (const part of parts()) {
    for (const sum of part) data.push(withNumbers(sum));
    if (data.length > usageSumRowsMax) throw tooManySums();
  }
  return { range, data };
}

/** @returns The error for more sums than one response may have. */
export function tooManySums(): AppError {
  return new AppError(
    "range_too_long",
    `That is more than ${usageSumRowsMax} sums. Ask for fewer windows, one product or one metric.`,
  );
}

/**
 * Adds up in turns of some milliseconds: one organization may have years of many series.
 *
 * @param options `extent`: what there is to add up; nothing else of the range is looked at.
 */
async function* addUp(
  context: ReportContext,
  { query, range, extent }: {
    query: Omit<UsageQuery, "windows" | "unit">;
    range: UsageRange;
    extent: UsageExtent;
  },
): AsyncGenerator<Iterable<ExactUsage>> {
  const windows = range.windows.map(({ start, end }, position) => ({
    position,
    start: Math.max(start, extent.start),
    end: Math.min(end, extent.end),
  })).filter(({ start, end }) => start < end);
  const series = Math.max(1, extent.series);
  const stepMs = Math.max(1, Math.floor(usageTurnRollupsMax / series)) * rollupHourMs;
  // Without groups a window is one row; with them it may be one for each series.
  const rowsOfWindow = query.groupBy.length === 0 ? 1 : series;
  const windowsMax = Math.max(1, Math.floor(usageTurnRowsMax / rowsOfWindow));
  // Sums of a window that goes on in the next step.
  let open = new Map<string, AddedUp>();
  let isFirst = true;
  for (const { pieces, goesOn } of steps(windows, { stepMs, windowsMax })) {
    if (!isFirst) await context.turn();
    isFirst = false;
    const { hour, quarter } = byUnit(pieces);
    const hours = hour.length === 0
      ? []
      : await sumUsage(context.database, { ...query, windows: hour, unit: "hour" });
    const quarters = quarter.length === 0
      ? []
      : await sumUsage(context.database, { ...query, windows: quarter, unit: "quarter" });
    if (goesOn || open.size > 0 || (hours.length > 0 && quarters.length > 0)) {
      for (const row of [...hours, ...quarters]) {
        const name = JSON.stringify([row.position, ...query.groupBy.map((group) => row[group])]);
        open.set(name, addedUp(open.get(name), row));
      }
      if (!goesOn) {
        yield shownSums(inOrder([...open.values()], query.groupBy), range);
        open = new Map();
      }
    } else yield shownSums(hours.length > 0 ? hours : quarters, range);
  }
}

/** @returns The whole hours of the windows, and what is left of them, in quarters. */
function byUnit(windows: UsageQuery["windows"]): Readonly<Record<RollupUnit, UsageQuery["windows"]>> {
  const hour: WindowPiece[] = [];
  const quarter: WindowPiece[] = [];
  for (const { position, start, end } of windows) {
    const firstHour = Math.ceil(start / rollupHourMs) * rollupHourMs;
    const afterHours = Math.max(firstHour, Math.floor(end / rollupHourMs) * rollupHourMs);
    const before = { position, start, end: Math.min(firstHour, end) };
    const hours = { position, start: firstHour, end: afterHours };
    const after = { position, start: afterHours, end };
    if (hours.start < hours.end) hour.push(hours);
    for (const piece of [before, after]) if (piece.start < piece.end) quarter.push(piece);
  }
  return { hour, quarter };
}

/** The order that the database gives to sums of one step: by window, then by group. */
function inOrder(sums: AddedUp[], groupBy: readonly UsageGroup[]): AddedUp[] {
  return sums.sort(({ row: a }, { row: b }) => {
    if (a.position !== b.position) return a.position - b.position;
    for (const group of groupBy) {
      const [name, other] = [a[group] ?? "", b[group] ?? ""];
      if (name !== other) return name < other ? -1 : 1;
    }
    return 0;
  });
}

type WindowPiece = UsageQuery["windows"][number];

/** Cuts windows into steps: many short windows, or a part of a long one, which then goes on in the next step. */
function* steps(
  windows: readonly WindowPiece[],
  { stepMs, windowsMax }: { stepMs: number; windowsMax: number },
): Generator<{ pieces: readonly WindowPiece[]; goesOn: boolean }> {
  let pieces: WindowPiece[] = [];
  let lengthMs = 0;
  for (const { position, start, end } of windows) {
    for (let from = start; from < end; from += stepMs) {
      const piece = { position, start: from, end: Math.min(from + stepMs, end) };
      const isFull = pieces.length >= windowsMax || lengthMs + (piece.end - piece.start) > stepMs;
      if (isFull && pieces.length > 0) {
        yield { pieces, goesOn: from > start };
        pieces = [];
        lengthMs = 0;
      }
      pieces.push(piece);
      lengthMs += piece.end - piece.start;
    }
  }
  if (pieces.length > 0) yield { pieces, goesOn: false };
}

/** One sum while it is added up: smallest and largest in millionths. */
interface AddedUp {
  readonly row: UsageSumRow;
  readonly micros: bigint;
  readonly count: number;
  readonly smallest: bigint;
  readonly largest: bigint;
}

function addedUp(before: AddedUp | undefined, row: UsageSumRow): AddedUp {
  const [micros, smallest, largest] = [sumMicros(row), BigInt(row.smallest), BigInt(row.largest)];
  if (before === undefined) return { row, micros, count: row.count, smallest, largest };
  return {
    row,
    micros: before.micros + micros,
    count: before.count + row.count,
    smallest: before.smallest < smallest ? before.smallest : smallest,
    largest: before.largest > largest ? before.largest : largest,
  };
}

function* shownSums(sums: readonly (AddedUp | UsageSumRow)[], range: UsageRange): Generator<ExactUsage> {
  let shown = { position: -1, start: "", end: "" };
  for (const sum of sums) {
    const { row, micros, count, smallest, largest } = "row" in sum ? sum : addedUp(undefined, sum);
    const { position, productSlug, metric, apiKey, apiKeyName } = row;
    if (position !== shown.position) {
      const { start, end } = range.windows[position] ?? { start: range.from, end: range.to };
      shown = {
        position,
        start: isoTimeIn(start, range.timezone),
        end: isoTimeIn(end, range.timezone),
      };
    }
    yield {
      start: shown.start,
      end: shown.end,
      ...(productSlug === undefined ? {} : { productSlug }),
      ...(metric === undefined ? {} : { metric }),
      ...(apiKey === undefined || apiKeyName === undefined ? {} : { apiKey, apiKeyName }),
      position,
      micros,
      count,
      smallest: smallest === BigInt(unknownSmallest) ? null : smallest,
      largest: largest === BigInt(unknownLargest) ? null : largest,
    };
  }
}

/** @returns The same with the nearest numbers. */
export function withNumbers(exact: ExactUsage): ExactUsageSum {
  const { micros, smallest, largest } = exact;
  return {
    ...exact,
    sum: microsToNumber(micros),
    min: smallest === null ? null : microsToNumber(smallest),
    max: largest === null ? null : microsToNumber(largest),
  };
}
