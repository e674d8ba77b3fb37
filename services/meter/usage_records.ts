// Single usage records: listing them on the reports thread, voiding, and deleting the oldest bit by bit.
import { findActiveApiKey } from "../../db/api_keys.ts";
import {
  deleteOldUsageRecords,
  findUsageRecord,
  oldestUsageRecordedAt,
} from "../../db/meter/usage_records.ts";
import { type OtherExtremes, voidUsageRecord } from "../../db/meter/usage_voids.ts";
import { invalidApiKeyError, notFoundError, unavailableError } from "../../domain/errors.ts";
import { retentionStepRecordsMax, usageVoidAttemptsMax } from "../../domain/limits.ts";
import {
  shownUsageRecord,
  type StoredUsageRecord,
  type UsageRecord,
} from "../../domain/meter/usage_record.ts";
import type { BaseContext } from "../base_context.ts";
import { createRecordIds } from "./record_ids.ts";
import type { Reports } from "../reports/reports.ts";
import type { UsageRecordQuery } from "./usage_record_list.ts";

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
    signal: AbortSignal,
  ): Promise<{ usageRecords: UsageRecord[]; nextCursor: string | null }>;
  /** @returns A record of the key's organization. @throws {AppError} `invalid_api_key`, `not_found`. */
  readUsageRecord(keyHash: string, id: string): Promise<UsageRecord>;
  /**
   * Voids a record: sums, counts, smallest and largest go on as if it had never been; it stays in lists, and its
   * idempotency key stays taken. Voiding it again changes nothing. Smallest and largest are null from then on when they
   * depend on records that retention has deleted.
   *
   * @returns The record, with the first reason.
   * @throws {AppError} `invalid_api_key`, `not_found`, `unavailable`.
   */
  voidUsageRecord(
    keyHash: string,
    which: { id: string; reason: string },
    signal: AbortSignal,
  ): Promise<UsageRecord>;
  /**
   * Deletes some of the records that are older than the setting says; their age counts from when they were recorded.
   *
   * @returns Whether there may be more.
   */
  deleteOldUsageRecords(): Promise<boolean>;
}

const dayMs = 24 * 3_600_000;

/** @param context See {@linkcode BaseContext}. @param reports Where records are listed. */
export function createUsageRecordService(context: BaseContext, reports: Reports): UsageRecordService {
  const { database, clock, config } = context;
  const recordIds = createRecordIds(database);

  async function organizationOfKey(keyHash: string): Promise<string> {
    const key = await findActiveApiKey(database, keyHash, clock());
    if (key === undefined) throw invalidApiKeyError();
    return key.organizationId;
  }

  return {
    async listUsageRecordsByApiKey(keyHash, query, signal) {
      const organizationId = await organizationOfKey(keyHash);
      const now = clock();
      const page = await reports.read("usageRecords", { ...query, organizationId, now }, signal);
      return {
        ...page,
        usageRecords: page.usageRecords.map(({ apiKeyName: _name, ...record }) => record),
      };
    },
    async readUsageRecord(keyHash, id) {
      const organizationId = await organizationOfKey(keyHash);
      const ids = await recordIds();
      const place = ids.parse(id);
      const row = place === null ? undefined : await findUsageRecord(database, { organizationId, ...place });
      if (row === undefined) throw notFoundError();
      return shownUsageRecord(row, ids);
    },
    async voidUsageRecord(keyHash, { id, reason }, signal) {
      const now = clock();
      const ids = await recordIds();
      const place = ids.parse(id);
      let others: OtherExtremes | null = null;
      for (let attempt = 0; attempt < usageVoidAttemptsMax; attempt++) {
        const row: StoredUsageRecord | undefined = place === null
          ? undefined
          : await voidUsageRecord(database, { ...place, keyHash, reason, now, others });
        if (row !== undefined && row.voidedAt !== null) return shownUsageRecord(row, ids);
        const key = await findActiveApiKey(database, keyHash, now);
        if (key === undefined) throw invalidApiKeyError();
        if (row === undefined) throw notFoundError();
        const { organizationId } = key;
        others = await reports.read("voidScan", { organizationId, now, seq: row.seq }, signal);
      }
      throw unavailableError("Too many records of this quarter of an hour are being voided. Try again.");
    },
    async deleteOldUsageRecords() {
      const before = clock() - config.usageRetentionDays * dayMs;
      const oldest = await oldestUsageRecordedAt(database);
      if (oldest === undefined || oldest >= before) return false;
      return await deleteOldUsageRecords(database, { before, limit: retentionStepRecordsMax }) > 0;
    },
  };
}
