// Usage records: recording, listing, reading and voiding them, and deleting those that are too old.
import {
  deleteOldestUsageRecords,
  findOldestRecordedAt,
  findUsageRecord,
} from "../../db/meter/usage_records.ts";
import { type RemainingExtremes, voidRecord } from "../../db/meter/usage_voids.ts";
import { notFoundError, unavailableError } from "../../domain/errors.ts";
import { retentionStepRecordsMax, usageVoidAttemptsMax } from "../../domain/limits.ts";
import {
  type StoredUsageRecord,
  toUsageRecord,
  type UsageInput,
  type UsageRecord,
} from "../../domain/meter/usage_record.ts";
import type { Context } from "../context.ts";
import type { RecordedUsage } from "./commit_group.ts";
import type { VoidedRecord } from "./remaining_extremes.ts";
import { requireApiKey, usageScope } from "./usage_access.ts";
import type { UsageRecordQuery } from "./usage_record_list.ts";

const dayMs = 24 * 3_600_000;

/**
 * Records the usage of one request, all of it or none.
 *
 * @param keyHash Of the API key.
 * @param input `bytes`: size of the request's body.
 * @returns The outcome, once the records are on disk.
 * @throws {AppError} As {@linkcode Recorder.record}.
 */
export function recordUsage(
  context: Context,
  keyHash: string,
  input: { inputs: readonly UsageInput[]; bytes: number },
): Promise<RecordedUsage> {
  return context.recorder.record({ keyHash, ...input });
}

/**
 * Lists records of the key's organization, newest timestamp first.
 *
 * @returns A page and the cursor of the next one, null at the end.
 * @throws {AppError} As {@linkcode usageScope}; `validation_failed` for a cursor whose record doesn't exist.
 */
export async function listUsageRecords(
  context: Context,
  keyHash: string,
  { query, signal }: { query: UsageRecordQuery; signal: AbortSignal },
): Promise<{ usageRecords: UsageRecord[]; nextCursor: string | null }> {
  const scope = await usageScope(context, keyHash);
  const page = await context.reports.read("readUsageRecordPage", { ...query, ...scope }, signal);
  return {
    ...page,
    usageRecords: page.usageRecords.map(({ apiKeyName: _key, voidedByName: _by, ...record }) => record),
  };
}

/** @returns A record of the key's organization. @throws {AppError} As {@linkcode usageScope}; `not_found`. */
export async function readUsageRecord(context: Context, keyHash: string, id: string): Promise<UsageRecord> {
  const { organizationId } = await usageScope(context, keyHash);
  const ids = await context.recorder.recordIds();
  const reference = ids.parse(id);
  const row = reference === null
    ? undefined
    : await findUsageRecord(context.database, { organizationId, ...reference });
  if (row === undefined) throw notFoundError();
  return toUsageRecord(row, ids);
}

/**
 * Voids a record: sums, counts, minimum and maximum no longer include it. It stays in lists, and its idempotency key stays
 * taken. Voiding it again changes nothing. Minimum and maximum become null if they depend on records that retention has
 * deleted.
 *
 * @returns The record, with the first reason.
 * @throws {AppError} `invalid_api_key`, `not_found`, `unavailable`.
 */
export async function voidUsageRecord(
  context: Context,
  keyHash: string,
  { id, reason, signal }: { id: string; reason: string; signal: AbortSignal },
): Promise<UsageRecord> {
  const now = context.clock();
  const ids = await context.recorder.recordIds();
  const reference = ids.parse(id);
  let remaining: RemainingExtremes | null = null;
  for (let attempt = 0; attempt < usageVoidAttemptsMax; attempt++) {
    const row: StoredUsageRecord | undefined = reference === null
      ? undefined
      : await voidRecord(context.database, { ...reference, keyHash, reason, now, remaining });
    if (row !== undefined && row.voidedAt !== null) return toUsageRecord(row, ids);
    const { organizationId } = await requireApiKey(context, keyHash, null);
    if (row === undefined) throw notFoundError();
    const scan: VoidedRecord = { organizationId, now, seq: row.seq };
    remaining = await context.reports.read("findRemainingExtremes", scan, signal);
  }
  throw unavailableError("Too many records of the same 15 minutes are being voided. Try again.");
}

/**
 * Deletes some of the records that were recorded longer ago than `USAGE_RETENTION_DAYS`.
 *
 * @returns Whether there may be more.
 */
export async function deleteOldUsageRecords({ database, clock, config }: Context): Promise<boolean> {
  const before = clock() - config.usageRetentionDays * dayMs;
  const oldest = await findOldestRecordedAt(database);
  if (oldest === undefined || oldest >= before) return false;
  return await deleteOldestUsageRecords(database, { before, limit: retentionStepRecordsMax }) > 0;
}
