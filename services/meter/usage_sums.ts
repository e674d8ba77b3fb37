// Sums of usage by window and group, added up from rollups by the reports thread.
import {
  findUsageExtent,
  type RollupQuery,
  type RollupSumRow,
  sumRollups,
  type UsageExtent,
  type UsageFilter,
  type UsageGroup,
} from "../../db/meter/usage_sums.ts";
import { unknownMaximum, unknownMinimum } from "../../db/meter/usage_voids.ts";
import { AppError } from "../../domain/errors.ts";
import { rollupHourMs, usageStepRollupsMax, usageStepRowsMax, usageSumRowsMax } from "../../domain/limits.ts";
import { sumMicros } from "../../domain/meter/quantity.ts";
import { type UsageRange, usageRange, type UsageRangeInput } from "../../domain/meter/usage_window.ts";
import { isoTimeIn } from "../../domain/time.ts";
import type { ReportContext, ReportScope } from "../reports/report_context.ts";

/** Which usage to add up. */
export interface UsageQuery extends UsageRangeInput, UsageFilter {
  readonly groupBy?: readonly UsageGroup[] | undefined;
}

/** Exact usage of one window and group: integers in millionths. */
export interface UsageSum {
  /** Index of the window in the range. */
  readonly position: number;
  /** The window's first moment and the first one after it: ISO 8601 in the range's time zone. */
  readonly start: string;
  readonly end: string;
  readonly productSlug?: string | undefined;
  readonly metric?: string | undefined;
  /** The key's id. */
  /** Null for usage without a key. */
  readonly apiKey?: string | null | undefined;
  readonly apiKeyName?: string | null | undefined;
  readonly micros: bigint;
  readonly count: number;
  /** Null when unknown: a record was voided after retention had deleted others of its 15 minutes. */
  readonly minMicros: bigint | null;
  readonly maxMicros: bigint | null;
}

/** Starts adding up usage. @returns Sums that are produced while they are read. @throws {AppError} As {@linkcode usageRange}. */
export async function streamUsageSums(
  context: ReportContext,
  { organizationId, now, ...input }: ReportScope & UsageQuery,
) {
  const range = usageRange(input, now);
  const { productSlug, metric, apiKey, groupBy = [] } = input;
  const query = { organizationId, productSlug, metric, apiKey, groupBy };
  const extent = await findUsageExtent(context.database, query);
  return {
    range,
    /** An upper bound of the number of sums. */
    sumsMax: range.windows.length * (groupBy.length === 0 ? 1 : extent.series),
    /** Adds up some windows at a time, from the first on with each call. */
    batches: () => addUp(context, { query, range, extent }),
  };
}

/**
 * Adds up usage.
 *
 * @returns All sums, by window and then by group.
 * @throws {AppError} As {@linkcode usageRange}; `range_too_long` for more than 100,000 sums.
 */
export async function readUsageSums(
  context: ReportContext,
  input: ReportScope & UsageQuery,
): Promise<{ range: UsageRange; data: UsageSum[] }> {
  const { range, batches } = await streamUsageSums(context, input);
  const data: UsageSum[] = [];
  for await (const batch of batches()) {
    data.push(...batch);
    if (data.length > usageSumRowsMax) throw tooManySumsError();
  }
  return { range, data };
}

/** @returns How many records each of some keys has, by window. @throws {AppError} As {@linkcode usageRange}. */
export async function countUsage(
  context: ReportContext,
  { apiKeyIds, ...input }: ReportScope & UsageQuery & { readonly apiKeyIds: readonly string[] },
) {
  const { range, batches } = await streamUsageSums(context, { ...input, groupBy: ["apiKey"] });
  const wanted = new Set(apiKeyIds);
  const counts = new Map<string, number[]>();
  for await (const batch of batches()) {
    for (const { apiKey, position, count } of batch) {
      if (!apiKey || !wanted.has(apiKey)) continue;
      const ofKey = counts.get(apiKey) ?? range.windows.map(() => 0);
      ofKey[position] = count;
      counts.set(apiKey, ofKey);
    }
  }
  return {
    /** The first moment of each window, in milliseconds since 1970. */
    starts: range.windows.map(({ start }) => start),
    /** By key; without keys that recorded nothing. */
    counts,
  };
}

/** @returns The error for more sums than one response may have. */
export function tooManySumsError(): AppError {
  return new AppError(
    "range_too_long",
    `This query returns more than ${usageSumRowsMax} sums. Request fewer windows, or filter by product or metric.`,
  );
}

/**
 * Adds up in steps of some milliseconds, because one organization may have years of many series.
 *
 * @param options `extent`: where there are rollups at all.
 * @returns Sums by window and then by group. Each is built when it is read, so that not all are in memory together.
 */
async function* addUp(
  context: ReportContext,
  { query, range, extent }: {
    query: Omit<RollupQuery, "windows" | "unit">;
    range: UsageRange;
    extent: UsageExtent;
  },
): AsyncGenerator<Iterable<UsageSum>> {
  const windows = range.windows.map(({ start, end }, position) => ({
    position,
    start: Math.max(start, extent.start),
    end: Math.min(end, extent.end),
  })).filter(({ start, end }) => start < end);
  const series = Math.max(1, extent.series);
  const stepMs = Math.max(1, Math.floor(usageStepRollupsMax / series)) * rollupHourMs;
  // Without groups a window is one row; with them it may be one for each series.
  const rowsOfWindow = query.groupBy.length === 0 ? 1 : series;
  const windowsMax = Math.max(1, Math.floor(usageStepRowsMax / rowsOfWindow));
  let merged = new Map<string, MergedRows>();
  let isFirst = true;
  for (const { pieces, isContinued } of steps(windows, { stepMs, windowsMax })) {
    if (!isFirst) await context.pause();
    isFirst = false;
    const piecesByUnit = byUnit(pieces);
    for (const unit of ["hour", "quarter"] as const) {
      const windows = piecesByUnit[unit];
      if (windows.length === 0) continue;
      for (const row of await sumRollups(context.database, { ...query, windows, unit })) merge(merged, row);
    }
    if (isContinued) continue;
    yield toUsageSums([...merged.values()].sort(inOrder(query.groupBy)), range);
    merged = new Map();
  }
}

type WindowPiece = RollupQuery["windows"][number];

/** Cuts windows into steps: many short windows, or a part of a long one, which the next step then continues. */
function* steps(
  windows: readonly WindowPiece[],
  { stepMs, windowsMax }: { stepMs: number; windowsMax: number },
): Generator<{ pieces: readonly WindowPiece[]; isContinued: boolean }> {
  let pieces: WindowPiece[] = [];
  let lengthMs = 0;
  for (const { position, start, end } of windows) {
    for (let from = start; from < end; from += stepMs) {
      const piece = { position, start: from, end: Math.min(from + stepMs, end) };
      const isFull = pieces.length >= windowsMax || lengthMs + (piece.end - piece.start) > stepMs;
      if (isFull && pieces.length > 0) {
        yield { pieces, isContinued: from > start };
        pieces = [];
        lengthMs = 0;
      }
      pieces.push(piece);
      lengthMs += piece.end - piece.start;
    }
  }
  if (pieces.length > 0) yield { pieces, isContinued: false };
}

/** @returns The whole hours of the windows, and the rest of them in quarters. */
function byUnit(windows: readonly WindowPiece[]): Record<RollupQuery["unit"], WindowPiece[]> {
  const pieces: Record<RollupQuery["unit"], WindowPiece[]> = { hour: [], quarter: [] };
  for (const { position, start, end } of windows) {
    const firstHour = Math.ceil(start / rollupHourMs) * rollupHourMs;
    const afterHours = Math.max(firstHour, Math.floor(end / rollupHourMs) * rollupHourMs);
    const add = (unit: RollupQuery["unit"], from: number, to: number) => {
      if (from < to) pieces[unit].push({ position, start: from, end: to });
    };
    add("quarter", start, Math.min(firstHour, end));
    add("hour", firstHour, afterHours);
    add("quarter", afterHours, end);
  }
  return pieces;
}

/** The sum of the rows that have the window and group of `row`. */
interface MergedRows {
  readonly row: RollupSumRow;
  micros: bigint;
  count: number;
  min: bigint;
  max: bigint;
}

function merge(merged: Map<string, MergedRows>, row: RollupSumRow): void {
  // No part of the name has a space in it.
  const name = `${row.position} ${row.productSlug} ${row.metric} ${row.apiKey}`;
  const [micros, min, max] = [sumMicros(row), BigInt(row.smallest), BigInt(row.largest)];
  const sum = merged.get(name);
  if (sum === undefined) {
    merged.set(name, { row, micros, count: row.count, min, max });
    return;
  }
  sum.micros += micros;
  sum.count += row.count;
  if (min < sum.min) sum.min = min;
  if (max > sum.max) sum.max = max;
}

/** By window, then by the names of the groups. */
function inOrder(groupBy: readonly UsageGroup[]) {
  return ({ row: a }: MergedRows, { row: b }: MergedRows): number => {
    if (a.position !== b.position) return a.position - b.position;
    for (const group of groupBy) {
      const [name, other] = [a[group] ?? "", b[group] ?? ""];
      if (name !== other) return name < other ? -1 : 1;
    }
    return 0;
  };
}

function* toUsageSums(sums: readonly MergedRows[], range: UsageRange): Generator<UsageSum> {
  let window = { position: -1, start: "", end: "" };
  for (const { row, micros, count, min, max } of sums) {
    const { position, productSlug, metric, apiKey, apiKeyName } = row;
    if (position !== window.position) {
      const { start, end } = range.windows[position] ?? { start: range.from, end: range.to };
      const [first, after] = [start, end].map((ms) => isoTimeIn(ms, range.timezone));
      window = { position, start: first ?? "", end: after ?? "" };
    }
    yield {
      ...window,
      productSlug,
      metric,
      apiKey,
      apiKeyName,
      micros,
      count,
      minMicros: min === unknownMinimum ? null : min,
      maxMicros: max === unknownMaximum ? null : max,
    };
  }
}
