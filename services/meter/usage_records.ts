// Usage records: recording, listing, reading and voiding them, and deleting those that are too old.
import {
  deleteOldestUsageRecords,
  findOldestRecordedAt,
  findUsageRecord,
} from "../../db/meter/usage_records.ts";
import type { ClientInfo } from "../../domain/actor.ts";
import { notFoundError } from "../../domain/errors.ts";
import { retentionStepRecordsMax } from "../../domain/limits.ts";
import { toUsageRecord, type UsageRecord } from "../../domain/meter/usage_record.ts";
import type { Session } from "../../domain/sign_in/session.ts";
import type { Context } from "../context.ts";
import { requireApiKey, type UsageReader, usageScope } from "./usage_access.ts";
import {
  type NamedUsageRecord,
  toNamedUsageRecord,
  type UsageRecordQuery,
} from "../reports/jobs/usage_record_list.ts";
import type { UsageRecordView, UsageRecordViewQuery } from "../reports/jobs/usage_record_view.ts";
import { type VoidInput, voidRecordAs } from "./usage_voids.ts";

const dayMs = 24 * 3_600_000;

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
  const { scope, reader } = await usageScope(context, keyHash);
  const { usageRecords, nextCursor } = await context.reports.read("readUsageRecordPage", {
    ...query,
    ...scope,
  }, { reader, signal });
  return {
    nextCursor,
    usageRecords: usageRecords.map(withoutNames),
  };
}

/**
 * Lists records of the active organization, with the choices of the page's filters.
 *
 * @throws {AppError} `forbidden`, `unavailable`.
 */
export async function viewUsageRecords(
  context: Context,
  session: Session,
  { query, signal }: { query: UsageRecordViewQuery; signal: AbortSignal },
): Promise<UsageRecordView> {
  const { scope, reader } = await usageScope(context, session);
  return await context.reports.read("readUsageRecordView", { ...query, ...scope }, { reader, signal });
}

/** @returns A record of the key's organization. @throws {AppError} As {@linkcode usageScope}; `not_found`. */
export async function readUsageRecord(context: Context, keyHash: string, id: string): Promise<UsageRecord> {
  return withoutNames(await readNamedUsageRecord(context, keyHash, id));
}

/** @returns The same with the names of its keys, also for a member. @throws {AppError} As {@linkcode readUsageRecord}. */
export async function readNamedUsageRecord(
  context: Context,
  by: UsageReader,
  id: string,
): Promise<NamedUsageRecord> {
  const { scope: { organizationId } } = await usageScope(context, by);
  const ids = await context.recorder.recordIds();
  const reference = ids.parse(id);
  const row = reference === null
    ? undefined
    : await findUsageRecord(context.database, { organizationId, ...reference });
  if (row === undefined) throw notFoundError();
  return toNamedUsageRecord(row, ids);
}

function withoutNames(
  { apiKeyName: _name, apiKeyCreatedBy: _createdBy, voidedByName: _by, ...record }: NamedUsageRecord,
): UsageRecord {
  return record;
}

/**
 * Voids a record of the key's organization; see {@linkcode voidRecordAs}.
 *
 * @param client Of the request, for the audit log.
 * @returns The record, with the first reason.
 * @throws {AppError} `invalid_api_key`, `organization_suspended`, `permission_missing`, `not_found`, `unavailable`.
 */
export async function voidUsageRecord(
  context: Context,
  keyHash: string,
  { client, ...input }: VoidInput & { readonly client: ClientInfo },
): Promise<UsageRecord> {
  const { database } = context;
  const { id, name } = await requireApiKey(context, keyHash, "usage:void");
  const actor = { type: "apiKey", id, name, client } as const;
  const record = await voidRecordAs(context, { actor, keyHash, voidedBy: id, writer: database }, {
    ...input,
    // Again before each attempt: the batch voids nothing for a key that may not, without saying why.
    find: async (reference) => {
      const { organizationId } = await requireApiKey(context, keyHash, "usage:void");
      return await findUsageRecord(database, { organizationId, ...reference });
    },
  });
  return toUsageRecord(record, await context.recorder.recordIds());
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
