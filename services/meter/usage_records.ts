// Usage records: listing and reading them, and deleting those that are too old.
import {
  deleteOldestUsageRecords,
  findOldestRecordedAt,
  findUsageRecord,
} from "../../db/meter/usage_records.ts";
import { notFoundError } from "../../domain/errors.ts";
import { retentionStepRecordsMax } from "../../domain/limits.ts";
import type { NamedUsageRecord, UsageRecord } from "../../domain/meter/usage_record.ts";
import { seesOperators } from "../access/mod.ts";
import type { Context, SessionContext } from "../context.ts";
import { inEnvironment, type UsageAccess, usageScope } from "./usage_access.ts";
import {
  toNamedUsageRecord,
  type UsageRecordPageQuery,
  type UsageRecordQuery,
} from "./jobs/usage_record_list.ts";
import type { UsageRecordView } from "./jobs/usage_record_view.ts";

const dayMs = 24 * 3_600_000;

/**
 * Lists records, newest timestamp first.
 *
 * @returns A page and the cursor of the next one, null at the end.
 * @throws {AppError} As {@linkcode usageScope}; `validation_failed` for a cursor whose record doesn't exist; `unavailable`.
 */
export async function listUsageRecords(
  context: SessionContext,
  access: UsageAccess,
  { query, signal }: { query: UsageRecordQuery; signal: AbortSignal },
): Promise<{ usageRecords: UsageRecord[]; nextCursor: string | null }> {
  const input = {
    ...inEnvironment(access, query),
    ...usageScope(context, access),
    isForOperators: isForOperators(access),
  };
  const { usageRecords, nextCursor } = await context.reports.read("readUsageRecordPage", input, {
    reader: access.reader,
    signal,
  });
  return { usageRecords: usageRecords.map(withoutNames), nextCursor };
}

/** Lists records with the choices of their page's filters. @throws {AppError} As {@linkcode usageScope}; `unavailable`. */
export async function viewUsageRecords(
  context: SessionContext,
  access: UsageAccess,
  { query, signal }: { query: UsageRecordPageQuery; signal: AbortSignal },
): Promise<UsageRecordView> {
  const input = { ...query, ...usageScope(context, access), isForOperators: isForOperators(access) };
  return await context.reports.read("readUsageRecordView", input, { reader: access.reader, signal });
}

/** Finds a record, with the names of its keys. @throws {AppError} As {@linkcode usageScope}; `not_found`. */
export async function readUsageRecord(
  context: SessionContext,
  access: UsageAccess,
  id: string,
): Promise<NamedUsageRecord> {
  const { organizationId } = usageScope(context, access);
  const ids = await context.recorder.recordIds();
  const reference = ids.parse(id);
  const row = reference === null
    ? undefined
    : await findUsageRecord(context.database, { organizationId, ...reference });
  if (row === undefined) throw notFoundError();
  return toNamedUsageRecord(row, ids, { isForOperators: isForOperators(access) });
}

/** Returns a record as the APIs do. */
export function withoutNames(
  { apiKeyName: _name, apiKeyCreatedBy: _createdBy, voidedByName: _by, ...record }: NamedUsageRecord,
): UsageRecord {
  return record;
}

function isForOperators(access: UsageAccess): boolean {
  return "role" in access && seesOperators(access);
}

/** Deletes some records that are past `USAGE_RETENTION_DAYS`. Returns true if there may be more. */
export async function deleteOldUsageRecords({ database, clock, config }: Context): Promise<boolean> {
  const before = clock() - config.usageRetentionDays * dayMs;
  const oldest = await findOldestRecordedAt(database);
  if (oldest === undefined || oldest >= before) return false;
  return await deleteOldestUsageRecords(database, { before, limit: retentionStepRecordsMax }) > 0;
}
