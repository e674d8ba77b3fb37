// Single usage records: listing, voiding, and deleting the oldest bit by bit.
import { findActiveApiKey } from "../db/api_keys.ts";
import type { UsageFilter } from "../db/usage.ts";
import {
  deleteOldUsageRecords,
  endOfLook,
  findUsageRecord,
  findUsageRecordPosition,
  findUsageRecordsByKey,
  lastUsageBefore,
  type ListedUsageRecordRow,
  listUsageRecords,
  oldestUsageRecordedAt,
  type UsageRecordPosition,
  type UsageRecordScan,
  voidUsageRecord,
} from "../db/usage_records.ts";
import { invalidApiKeyError, notFoundError, validationError } from "../domain/errors.ts";
import { retentionStepRecordsMax, usageRecordScanMax } from "../domain/limits.ts";
import type { Session } from "../domain/session.ts";
import {
  idempotencyKeyHash,
  parseUsageRecordId,
  shownUsageRecord,
  type UsageRecord,
} from "../domain/usage_record.ts";
import type { ServiceContext } from "./context.ts";
import { nextTurn } from "./turn.ts";
import { organizationOf } from "./usage.ts";

/** Which records to list. Times in milliseconds since 1970: `from` is included, `to` is not; without them, all. */
export interface UsageRecordQuery extends UsageFilter {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly limit: number;
  /** Only the record that has it; then there is no further page. */
  readonly idempotencyKey?: string | undefined;
  /** The id of the last record of the page before. */
  readonly cursor?: string | undefined;
}

/** A record with the name of its key, for people. */
export interface NamedUsageRecord extends UsageRecord {
  readonly apiKeyName: string;
}

/** The verbs of usage records. */
export interface UsageRecordService {
  /**
   * Lists records of the key's organization, newest first by timestamp.
   *
   * @returns A page, and the cursor of the next, or null at the end.
   * @throws {AppError} `invalid_api_key`; `validation_failed` for a cursor that names no record any more.
   */
  listUsageRecordsByApiKey(
    keyHash: string,
    query: UsageRecordQuery,
  ): Promise<{ usageRecords: UsageRecord[]; nextCursor: string | null }>;
  /** The same for the active organization. @throws {AppError} `forbidden`, `validation_failed`. */
  listUsageRecords(
    session: Session,
    query: UsageRecordQuery,
  ): Promise<{ usageRecords: NamedUsageRecord[]; nextCursor: string | null }>;
  /** @returns A record of the key's organization. @throws {AppError} `invalid_api_key`, `not_found`. */
  readUsageRecord(keyHash: string, id: string): Promise<UsageRecord>;
  /**
   * Voids a record: sums, counts, smallest and largest go on as if it had never been; it stays in lists, and its
   * idempotency key stays taken. Voiding it again changes nothing.
   *
   * @returns The record, with the first reason.
   * @throws {AppError} `invalid_api_key`, `not_found`.
   */
  voidUsageRecord(keyHash: string, which: { id: string; reason: string }): Promise<UsageRecord>;
  /**
   * Deletes some of the records that are older than the setting says; their age counts from when they were recorded.
   *
   * @returns Whether there may be more.
   */
  deleteOldUsageRecords(): Promise<boolean>;
}

const dayMs = 24 * 3_600_000;
/** After every position that a record can have. */
const newest: UsageRecordPosition = { timestamp: Number.MAX_SAFE_INTEGER, series: 0, seq: 0 };

/** @param context See {@linkcode ServiceContext}. */
export function createUsageRecordService(context: ServiceContext): UsageRecordService {
  const { database, clock, config } = context;

  async function list(organizationId: string, query: UsageRecordQuery) {
    const rows = await find(organizationId, query);
    const page = rows.slice(0, query.limit).map((row) => ({
      ...shownUsageRecord(row),
      apiKeyName: row.apiKeyName,
    }));
    return { usageRecords: page, nextCursor: rows.length > query.limit ? page.at(-1)?.id ?? null : null };
  }

  /** @returns One record more than the page has, when there is one. */
  async function find(organizationId: string, query: UsageRecordQuery): Promise<ListedUsageRecordRow[]> {
    const { productSlug, metric, apiKey, from = 0, to = newest.timestamp, idempotencyKey } = query;
    const filter = { productSlug, metric, apiKey };
    if (idempotencyKey !== undefined) {
      const hash = idempotencyKeyHash(idempotencyKey);
      return await findUsageRecordsByKey(database, {
        organizationId,
        idempotencyKey,
        hash,
        from,
        to,
        filter,
      });
    }
    const isFiltered = Object.values(filter).some((value) => value !== undefined);
    const oldest: UsageRecordPosition = { timestamp: from, series: 0, seq: 0 };
    const found: ListedUsageRecordRow[] = [];
    let before: UsageRecordPosition | undefined = await firstPosition(organizationId, query);
    if (!isFiltered) {
      const limit = query.limit + 1;
      return await listUsageRecords(database, { organizationId, filter, from: oldest, before, limit });
    }
    while (before !== undefined && found.length <= query.limit) {
      // Among many records few may fit: what lies between is skipped, and the rest is looked at in steps.
      const end = await lastUsageBefore(database, { organizationId, filter, before: before.timestamp + 1 });
      if (end === null || end <= from) break;
      if (end <= before.timestamp) before = { timestamp: end, series: 0, seq: 0 };
      // Where a step ends is settled before it is read: records that come or go meanwhile move no border.
      const look: UsageRecordScan = { organizationId, from: oldest, before };
      const last = await endOfLook(database, { ...look, recordsMax: usageRecordScanMax });
      const limit = query.limit + 1 - found.length;
      found.push(...await listUsageRecords(database, { ...look, from: last ?? oldest, filter, limit }));
      before = last;
      if (before !== undefined && found.length <= query.limit) await nextTurn();
    }
    return found;
  }

  async function firstPosition(organizationId: string, query: UsageRecordQuery) {
    const start = query.to === undefined ? newest : { timestamp: query.to, series: 0, seq: 0 };
    if (query.cursor === undefined) return start;
    const place = parseUsageRecordId(query.cursor);
    const position = place && await findUsageRecordPosition(database, { organizationId, ...place });
    if (!position) {
      throw validationError([{ path: "cursor", message: "must be a “nextCursor” of this list." }]);
    }
    return position.timestamp < start.timestamp ? position : start;
  }

  async function organizationOfKey(keyHash: string): Promise<string> {
    const key = await findActiveApiKey(database, keyHash, clock());
    if (key === undefined) throw invalidApiKeyError();
    return key.organizationId;
  }

  return {
    async listUsageRecordsByApiKey(keyHash, query) {
      const { usageRecords, nextCursor } = await list(await organizationOfKey(keyHash), query);
      return { usageRecords: usageRecords.map(({ apiKeyName: _name, ...record }) => record), nextCursor };
    },
    async readUsageRecord(keyHash, id) {
      const organizationId = await organizationOfKey(keyHash);
      const place = parseUsageRecordId(id);
      const row = place === null ? undefined : await findUsageRecord(database, { organizationId, ...place });
      if (row === undefined) throw notFoundError();
      return shownUsageRecord(row);
    },
    listUsageRecords: async (session, query) => await list(organizationOf(session), query),
    async voidUsageRecord(keyHash, { id, reason }) {
      const now = clock();
      const place = parseUsageRecordId(id);
      const row = place === null
        ? undefined
        : await voidUsageRecord(database, { ...place, keyHash, reason, now });
      if (row !== undefined) return shownUsageRecord(row);
      throw await findActiveApiKey(database, keyHash, now) === undefined
        ? invalidApiKeyError()
        : notFoundError();
    },
    async deleteOldUsageRecords() {
      const before = clock() - config.usageRetentionDays * dayMs;
      const oldest = await oldestUsageRecordedAt(database);
      if (oldest === undefined || oldest >= before) return false;
      return await deleteOldUsageRecords(database, { before, limit: retentionStepRecordsMax }) > 0;
    },
  };
}
