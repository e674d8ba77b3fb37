// Usage: recording goes to the recorder, reading adds up rollups of one organization.
import { findActiveApiKey, listApiKeys } from "../db/api_keys.ts";
import type { Database } from "../db/database.ts";
import {
  findUsageExtent,
  listUsageSeries,
  type RollupUnit,
  sumUsage,
  type UsageExtent,
  type UsageFilter,
  type UsageGroup,
  type UsageQuery,
  type UsageSeriesRow,
  type UsageSumRow,
} from "../db/usage.ts";
import { AppError, invalidApiKeyError } from "../domain/errors.ts";
import {
  rollupHourMs,
  usagePageApiKeysMax,
  usagePageSeriesMax,
  usageStepRollupsMax,
  usageStepRowsMax,
  usageSumRowsMax,
} from "../domain/limits.ts";
import { mayDo } from "../domain/permissions.ts";
import { microsToNumber, sumMicros } from "../domain/quantity.ts";
import type { Session } from "../domain/session.ts";
import { isoTimeIn, type UsageRange, usageRange, type UsageRangeInput } from "../domain/usage_window.ts";
import type { UsageInput } from "../domain/usage_record.ts";
import type { ServiceContext } from "./context.ts";
import type { RecordedUsage } from "./record_group.ts";
import type { Recorder } from "./recorder.ts";
import { nextTurn } from "./turn.ts";

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
  readonly min: number;
  readonly max: number;
}

/** Usage of one window and group, as exact as it was recorded. */
export interface ExactUsage extends Omit<UsageSum, "sum" | "min" | "max"> {
  /** The window's place in the range. */
  readonly position: number;
  /** The exact sum, smallest and largest in millionths. */
  readonly micros: bigint;
  readonly smallest: bigint;
  readonly largest: bigint;
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
  /**
   * The next sums, whole windows at a time; other requests go on meanwhile. Each is made when it is asked for: what many
   * sums are made of would otherwise be there all at once, and outlive the collections of what is young.
   */
  readonly parts: AsyncGenerator<Iterable<ExactUsage>>;
}

/** What those who see usage may know of a key. */
export interface UsageApiKey {
  readonly id: string;
  readonly name: string;
  readonly keyPrefix: string;
}

/** The verbs of usage. */
export interface UsageService {
  /**
   * Records one request's usage under an API key, which is given by its hash.
   *
   * @returns What became of the records, once they are on disk.
   * @throws {AppError} As {@linkcode Recorder.record}.
   */
  recordUsage(keyHash: string, inputs: readonly UsageInput[], bytes: number): Promise<RecordedUsage>;
  /** @returns Whether a key works at this moment. */
  isActiveApiKey(keyHash: string): Promise<boolean>;
  /** Adds up usage of the key's organization. @throws {AppError} `invalid_api_key`, and as {@linkcode usageRange}. */
  readUsageByApiKey(keyHash: string, input: UsageReadInput): Promise<UsageSums>;
  /** Like {@linkcode readUsageByApiKey}, for any number of sums. @throws {AppError} Before the first part. */
  streamUsageByApiKey(keyHash: string, input: UsageReadInput): Promise<UsageSumStream>;
  /** Adds up usage of the active organization. @throws {AppError} `forbidden`, and as {@linkcode usageRange}. */
  readUsage(session: Session, input: UsageReadInput): Promise<UsageSums>;
  /** Like {@linkcode readUsage}, for any number of sums. @throws {AppError} Before the first part. */
  streamUsage(session: Session, input: UsageReadInput): Promise<UsageSumStream>;
  /** @returns Products, metrics and keys that the active organization recorded with, for people to choose from. */
  listUsageSeries(session: Session): Promise<UsageSeriesRow[]>;
  /** @returns The newest keys of the active organization, whoever made them: whose usage one sees, their names too. */
  listUsageApiKeys(session: Session): Promise<UsageApiKey[]>;
}

/** @param context See {@linkcode ServiceContext}. @param recorder Where records go. */
export function createUsageService(context: ServiceContext, recorder: Recorder): UsageService {
  const { database, clock } = context;

  async function stream(organizationId: string, input: UsageReadInput): Promise<UsageSumStream> {
    const range = usageRange(input, clock());
    const { productSlug, metric, apiKey, groupBy = [] } = input;
    const query = { organizationId, productSlug, metric, apiKey, groupBy };
    const extent = await findUsageExtent(database, query);
    return { range, parts: addUp(database, { query, range, extent }) };
  }

  async function organizationOfKey(keyHash: string): Promise<string> {
    const key = await findActiveApiKey(database, keyHash, clock());
    if (key === undefined) throw invalidApiKeyError();
    return key.organizationId;
  }

  async function sums(organizationId: string, input: UsageReadInput): Promise<UsageSums> {
    const { range, parts } = await stream(organizationId, input);
    const data: ExactUsageSum[] = [];
    for await (const part of parts) {
      for (const sum of part) data.push(withNumbers(sum));
      if (data.length > usageSumRowsMax) {
        throw new AppError(
          "range_too_long",
          `That is more than ${usageSumRowsMax} sums. Ask for fewer windows, one product or one metric.`,
        );
      }
    }
    return { range, data };
  }

  return {
    recordUsage: (keyHash, inputs, bytes) => recorder.record({ keyHash, inputs, bytes }),
    isActiveApiKey: async (keyHash) => await findActiveApiKey(database, keyHash, clock()) !== undefined,
    readUsageByApiKey: async (keyHash, input) => await sums(await organizationOfKey(keyHash), input),
    streamUsageByApiKey: async (keyHash, input) => await stream(await organizationOfKey(keyHash), input),
    readUsage: async (session, input) => await sums(organizationOf(session), input),
    streamUsage: async (session, input) => await stream(organizationOf(session), input),
    listUsageSeries: async (session) =>
      await listUsageSeries(database, { organizationId: organizationOf(session), limit: usagePageSeriesMax }),
    async listUsageApiKeys(session) {
      const scope = { organizationId: organizationOf(session) };
      const rows = await listApiKeys(database, scope, { limit: usagePageApiKeysMax });
      return rows.map(({ id, name, keyPrefix }) => ({ id, name, keyPrefix }));
    },
  };
}

/** @returns The active organization's id. @throws {AppError} `forbidden` to who may not see its usage. */
export function organizationOf(session: Session): string {
  const { organization } = session;
  if (organization === null || !mayDo(organization.role, "usage.read")) {
    throw new AppError("forbidden", "You do not belong to an organization whose usage you may see.");
  }
  return organization.organizationId;
}

/**
 * Adds up in steps of a few milliseconds, between which other requests have their turn.
 *
 * @param options `extent`: what there is to add up; nothing else of the range is looked at.
 */
async function* addUp(
  database: Database,
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
  const stepMs = Math.max(1, Math.floor(usageStepRollupsMax / series)) * rollupHourMs;
  // Without groups a window is one row; with them it may be one for each series.
  const rowsOfWindow = query.groupBy.length === 0 ? 1 : series;
  const windowsMax = Math.max(1, Math.floor(usageStepRowsMax / rowsOfWindow));
  // Sums of a window that goes on in the next step.
  let open = new Map<string, AddedUp>();
  let isFirst = true;
  for (const { pieces, goesOn } of steps(windows, { stepMs, windowsMax })) {
    if (!isFirst) await nextTurn();
    isFirst = false;
    const { hour, quarter } = byUnit(pieces);
    const hours = hour.length === 0
      ? []
      : await sumUsage(database, { ...query, windows: hour, unit: "hour" });
    const quarters = quarter.length === 0
      ? []
      : await sumUsage(database, { ...query, windows: quarter, unit: "quarter" });
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
      smallest,
      largest,
    };
  }
}

function withNumbers(exact: ExactUsage): ExactUsageSum {
  const { micros, smallest, largest } = exact;
  return {
    ...exact,
    sum: microsToNumber(micros),
    min: microsToNumber(smallest),
    max: microsToNumber(largest),
  };
}
