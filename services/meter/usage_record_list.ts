// A page of usage records, read on the reports thread: among very many records few may match a filter.
import type { UsageFilter } from "../../db/meter/usage_sums.ts";
import {
  endOfLook,
  findUsageRecordPosition,
  findUsageRecordsByKey,
  lastUsageBefore,
  type ListedUsageRecordRow,
  listUsageRecords as listRows,
  type UsageRecordPosition,
  type UsageRecordScan,
} from "../../db/meter/usage_records.ts";
import { validationError } from "../../domain/errors.ts";
import { usageRecordScanMax } from "../../domain/limits.ts";
import { idempotencyKeyHash, shownUsageRecord, type UsageRecord } from "../../domain/meter/usage_record.ts";
import type { UsageRecordIds } from "../../domain/meter/usage_record_id.ts";
import { createRecordIds } from "./record_ids.ts";
import type { ReportContext, ReportScope } from "../reports/report_context.ts";

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

/** A page of a list. */
export interface UsageRecordPage {
  readonly usageRecords: NamedUsageRecord[];
  /** The cursor of the next page; null at the end. */
  readonly nextCursor: string | null;
}

/** After every position that a record can have. */
const newest: UsageRecordPosition = { timestamp: Number.MAX_SAFE_INTEGER, series: 0, seq: 0 };

/** Lists records, newest first. @throws {AppError} `validation_failed` for a cursor that names no record any more. */
export async function listUsageRecords(
  context: ReportContext,
  query: ReportScope & UsageRecordQuery,
): Promise<UsageRecordPage> {
  const ids = await createRecordIds(context.database)();
  const rows = await find(context, query, ids);
  const page = rows.slice(0, query.limit).map((row) => ({
    ...shownUsageRecord(row, ids),
    apiKeyName: row.apiKeyName,
  }));
  return { usageRecords: page, nextCursor: rows.length > query.limit ? page.at(-1)?.id ?? null : null };
}

/** @returns One record more than the page has, when there is one. */
async function find(
  context: ReportContext,
  query: ReportScope & UsageRecordQuery,
  ids: UsageRecordIds,
): Promise<ListedUsageRecordRow[]> {
  const { database } = context;
  const { organizationId, productSlug, metric, apiKey, from = 0, to = newest.timestamp } = query;
  const { idempotencyKey } = query;
  const filter = { productSlug, metric, apiKey };
  if (idempotencyKey !== undefined) {
    const hash = idempotencyKeyHash(idempotencyKey);
    return await findUsageRecordsByKey(database, { organizationId, idempotencyKey, hash, from, to, filter });
  }
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const oldest: UsageRecordPosition = { timestamp: from, series: 0, seq: 0 };
  const found: ListedUsageRecordRow[] = [];
  let before: UsageRecordPosition | undefined = await firstPosition(context, query, ids);
  if (!isFiltered) {
    const limit = query.limit + 1;
    return await listRows(database, { organizationId, filter, from: oldest, before, limit });
  }
  while (before !== undefined && found.length <= query.limit) {
    // Among many records few may fit: what lies between is skipped, and the rest is looked at in turns.
    const end = await lastUsageBefore(database, { organizationId, filter, before: before.timestamp + 1 });
    if (end === null || end <= from) break;
    if (end <= before.timestamp) before = { timestamp: end, series: 0, seq: 0 };
    // Where a look ends is settled before it is read: records that come or go meanwhile move no border.
    const look: UsageRecordScan = { organizationId, from: oldest, before };
    const last = await endOfLook(database, { ...look, recordsMax: usageRecordScanMax });
    const limit = query.limit + 1 - found.length;
    found.push(...await listRows(database, { ...look, from: last ?? oldest, filter, limit }));
    before = last;
    if (before !== undefined && found.length <= query.limit) await context.turn();
  }
  return found;
}

async function firstPosition(
  { database }: ReportContext,
  query: ReportScope & UsageRecordQuery,
  ids: UsageRecordIds,
) {
  const { organizationId, to, cursor } = query;
  const start = to === undefined ? newest : { timestamp: to, series: 0, seq: 0 };
  if (cursor === undefined) return start;
  const place = ids.parse(cursor);
  const position = place && await findUsageRecordPosition(database, { organizationId, ...place });
  if (!position) {
    throw validationError([{ path: "cursor", message: "must be a “nextCursor” of this list." }]);
  }
  return position.timestamp < start.timestamp ? position : start;
}
