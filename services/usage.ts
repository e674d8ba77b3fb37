// Usage: recording goes to the recorder, reading adds up rollups of one organization.
import { findActiveApiKey } from "../db/api_keys.ts";
import {
  countUsageSeries,
  listLatestUsageRecords,
  listUsageSeries,
  sumUsage,
  type UsageGroup,
  type UsageRecordRow,
  type UsageSeriesRow,
} from "../db/usage.ts";
import { AppError, invalidApiKeyError } from "../domain/errors.ts";
import { usageSumCellsMax } from "../domain/limits.ts";
import { mayDo } from "../domain/permissions.ts";
import { microsToNumber, parseSortableQuantity, sumMicros } from "../domain/quantity.ts";
import type { Session } from "../domain/session.ts";
import { isoTime, type UsageRange, usageRange, type UsageRangeInput } from "../domain/usage_window.ts";
import type { UsageInput } from "../domain/usage_record.ts";
import type { ServiceContext } from "./context.ts";
import type { RecordedUsage, Recorder } from "./recorder.ts";

/** Which usage to read. */
export interface UsageReadInput extends UsageRangeInput {
  readonly productSlug?: string | undefined;
  readonly metric?: string | undefined;
  readonly apiKeyId?: string | undefined;
  readonly groupBy?: readonly UsageGroup[] | undefined;
}

/** Usage of one window and group. The sum is exact, or beyond 2^53−1 the nearest number. */
export interface UsageSum {
  /** The window's first moment, ISO 8601 UTC. */
  readonly start: string;
  readonly productSlug?: string;
  readonly metric?: string;
  /** The key's id. */
  readonly apiKey?: string;
  readonly sum: number;
  readonly count: number;
  readonly min: number;
  readonly max: number;
}

/** Sums over a range, with the exact millionths for those who add them up further. */
export interface UsageSums {
  readonly range: UsageRange;
  readonly data: readonly (UsageSum & { readonly position: number; readonly micros: bigint })[];
}

/** The verbs of usage. */
export interface UsageService {
  /**
   * Records one request's usage under an API key, which is given by its hash.
   *
   * @returns What became of each record, once it is on disk.
   * @throws {AppError} As {@linkcode Recorder.record}.
   */
  recordUsage(keyHash: string, inputs: readonly UsageInput[], bytes: number): Promise<RecordedUsage[]>;
  /** @returns Whether a key works at this moment. */
  isActiveApiKey(keyHash: string): Promise<boolean>;
  /** Adds up usage of the key's organization. @throws {AppError} `invalid_api_key`, and as {@linkcode usageRange}. */
  readUsageByApiKey(keyHash: string, input: UsageReadInput): Promise<UsageSums>;
  /** Adds up usage of the active organization. @throws {AppError} `forbidden`, and as {@linkcode usageRange}. */
  readUsage(session: Session, input: UsageReadInput): Promise<UsageSums>;
  /** @returns Every product, metric and key that the active organization recorded with. */
  listUsageSeries(session: Session): Promise<UsageSeriesRow[]>;
  /** @returns The latest records of the active organization. */
  listLatestUsageRecords(session: Session, limit: number): Promise<UsageRecordRow[]>;
}

/** @param context See {@linkcode ServiceContext}. @param recorder Where records go. */
export function createUsageService(context: ServiceContext, recorder: Recorder): UsageService {
  const { database, clock } = context;

  async function sums(organizationId: string, input: UsageReadInput): Promise<UsageSums> {
    const range = usageRange(input, clock());
    const { productSlug, metric, apiKeyId } = input;
    const groupBy = input.groupBy ?? [];
    // Adding up costs so much for each series and window, and other requests wait for it.
    const series = await countUsageSeries(database, { organizationId, productSlug, metric, apiKeyId });
    if (series * range.windows.length > usageSumCellsMax) {
      throw new AppError(
        "range_too_long",
        `That is ${series} series in ${range.windows.length} windows. Ask for fewer windows, one product or one metric.`,
      );
    }
    const rows = await sumUsage(database, {
      organizationId,
      windows: range.windows,
      groupBy,
      productSlug,
      metric,
      apiKeyId,
    });
    const data = rows.map(({ position, high, low, micro, smallest, largest, count, ...groups }) => {
      const micros = sumMicros({ high, low, micro });
      return {
        start: isoTime(range.windows[position]?.start ?? range.from),
        ...groups,
        sum: microsToNumber(micros),
        count,
        min: parseSortableQuantity(smallest),
        max: parseSortableQuantity(largest),
        position,
        micros,
      };
    });
    return { range, data };
  }

  return {
    recordUsage: (keyHash, inputs, bytes) => recorder.record({ keyHash, inputs, bytes }),
    isActiveApiKey: async (keyHash) => await findActiveApiKey(database, keyHash, clock()) !== undefined,
    async readUsageByApiKey(keyHash, input) {
      const key = await findActiveApiKey(database, keyHash, clock());
      if (key === undefined) throw invalidApiKeyError();
      return sums(key.organizationId, input);
    },
    readUsage: async (session, input) => await sums(organizationOf(session), input),
    listUsageSeries: async (session) => await listUsageSeries(database, organizationOf(session)),
    listLatestUsageRecords: async (session, limit) =>
      await listLatestUsageRecords(database, { organizationId: organizationOf(session), limit }),
  };
}

function organizationOf(session: Session): string {
  const { organization } = session;
  if (organization === null || !mayDo(organization.role, "usage.read")) {
    throw new AppError("forbidden", "You do not belong to an organization whose usage you may see.");
  }
  return organization.organizationId;
}
