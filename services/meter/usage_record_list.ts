// A page of usage records, read by the reports thread: of very many records few may match a filter.
import { idempotencyKeyHash, toUsageRecord } from "../../domain/meter/usage_record.ts";
import type { UsageFilter } from "../../db/meter/usage_sums.ts";
import {
  endOfScan,
  findRecordIdKey,
  findUsageRecordPosition,
  findUsageRecordsByKey,
  lastUsageBefore,
  type ListedUsageRecordRow,
  scanUsageRecords,
  type UsageRecordPosition,
} from "../../db/meter/usage_records.ts";
import { validationError } from "../../domain/errors.ts";
import { usageRecordScanMax } from "../../domain/limits.ts";
import { createUsageRecordIds, type UsageRecordIds } from "../../domain/meter/usage_record_id.ts";
import type { ReportContext, ReportScope } from "../reports/report_context.ts";

/** Which records to list. Times in milliseconds since 1970: `from` is included, `to` is not. */
export interface UsageRecordQuery extends UsageFilter {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly limit: number;
  /** Only the record with this key; there is no next page then. */
  readonly idempotencyKey?: string | undefined;
  /** The id of the last record of the previous page. */
  readonly cursor?: string | undefined;
}

/** After every position that a record can have. */
export const newestPosition: UsageRecordPosition = { timestamp: Number.MAX_SAFE_INTEGER, series: 0, seq: 0 };

/**
 * Reads a page of records with the names of their keys, newest first.
 *
 * @returns The page and the cursor of the next one, null at the end.
 * @throws {AppError} `validation_failed` for a cursor whose record doesn't exist.
 */
export async function readUsageRecordPage(context: ReportContext, query: ReportScope & UsageRecordQuery) {
  const ids = createUsageRecordIds(await findRecordIdKey(context.database));
  const before = await startOf(context, query, ids);
  const rows = await findUsageRecordRows(context, { ...query, before });
  const usageRecords = rows.slice(0, query.limit).map((row) => ({
    ...toUsageRecord(row, ids),
    apiKeyName: row.apiKeyName,
    voidedByName: row.voidedByName,
  }));
  const nextCursor = rows.length > query.limit ? usageRecords.at(-1)?.id ?? null : null;
  return { usageRecords, nextCursor };
}

/**
 * @param query `before`: the position of the last record of the previous page.
 * @returns The rows of the page, and one more if there is a next page.
 */
export async function findUsageRecordRows(
  context: ReportContext,
  query: Omit<ReportScope & UsageRecordQuery, "cursor" | "now"> & { readonly before: UsageRecordPosition },
): Promise<ListedUsageRecordRow[]> {
  const { database } = context;
  const { organizationId, productSlug, metric, apiKey, from = 0, to = newestPosition.timestamp } = query;
  const { idempotencyKey } = query;
  const filter = { productSlug, metric, apiKey };
  if (idempotencyKey !== undefined) {
    const hash = idempotencyKeyHash(idempotencyKey);
    return await findUsageRecordsByKey(database, { organizationId, idempotencyKey, hash, from, to, filter });
  }
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const oldest: UsageRecordPosition = { timestamp: from, series: 0, seq: 0 };
  const found: ListedUsageRecordRow[] = [];
  let before: UsageRecordPosition | undefined = query.before.timestamp < to
    ? query.before
    : { timestamp: to, series: 0, seq: 0 };
  if (!isFiltered) {
    const scan = { organizationId, from: oldest, before };
    return await scanUsageRecords(database, { ...scan, filter, limit: query.limit + 1 });
  }
  while (before !== undefined && found.length <= query.limit) {
    // Skips time without matching records, and scans the rest in bounded steps.
    const end = await lastUsageBefore(database, { organizationId, filter, before: before.timestamp + 1 });
    if (end === null || end <= from) break;
    if (end <= before.timestamp) before = { timestamp: end, series: 0, seq: 0 };
    // The end of a step is fixed before it is read, so that records that are added or deleted meanwhile do not move it.
    const scan = { organizationId, from: oldest, before };
    const last = await endOfScan(database, { ...scan, recordsMax: usageRecordScanMax });
    const limit = query.limit + 1 - found.length;
    found.push(...await scanUsageRecords(database, { ...scan, from: last ?? oldest, filter, limit }));
    before = last;
    if (before !== undefined && found.length <= query.limit) await context.pause();
  }
  return found;
}

/**
 * @param query The cursor of a page, and the only organization whose records it may name.
 * @returns The position of the cursor's record, or one after every record.
 * @throws {AppError} `validation_failed` when there is no such record.
 */
export async function startOf(
  { database }: ReportContext,
  { organizationId, cursor }: { readonly organizationId?: string; readonly cursor?: string | undefined },
  ids: UsageRecordIds,
): Promise<UsageRecordPosition> {
  if (cursor === undefined) return newestPosition;
  const reference = ids.parse(cursor);
  const position = reference && await findUsageRecordPosition(database, { organizationId, ...reference });
  if (!position) throw validationError([{ path: "cursor", message: "must be a “nextCursor” of this list." }]);
  return position;
}
