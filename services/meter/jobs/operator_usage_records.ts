// A page of operators' list of usage records, read on the reports thread.
import type { UsageFilter } from "../../../db/meter/usage_sums.ts";
import {
  findLastUsageRecord,
  findOrganizationsWith,
  findRecordIdKey,
  findUsageRecordAfter,
  type ListedUsageRecordRow,
  type OrganizationUsageRecord,
  scanAllUsageRecords,
  type UsageRecordPosition,
} from "../../../db/meter/usage_records.ts";
import { usageRecordScanMax } from "../../../domain/limits.ts";
import { toUsageRecord, type UsageRecord } from "../../../domain/meter/usage_record.ts";
import { createUsageRecordIds } from "../../../domain/meter/usage_record_id.ts";
import { findUsageRecordRows, newestPosition, startOf, type UsageRecordQuery } from "./usage_record_list.ts";
import type { JobContext, JobTime } from "../../reports/job_context.ts";

export interface OperatorUsageRecord extends UsageRecord {
  readonly organizationId: string;
}

export interface OperatorRecordQuery extends UsageRecordQuery {
  /** All by default. Exactly one with an idempotency key. */
  readonly organizationIds?: readonly string[] | undefined;
}

type Row = ListedUsageRecordRow & OrganizationUsageRecord;

/** The clocks of instances may differ by this much. */
const clocksMs = 24 * 3_600_000;

/**
 * Reads a page of records: those of named organizations, or of the organizations of named keys, by timestamp; those of all
 * organizations in order of recording, because no index has them by timestamp. Newest first.
 *
 * @returns The page and the cursor of the next one, null at the end.
 * @throws {AppError} `validation_failed` for a cursor whose record doesn't exist.
 */
export async function readOperatorRecordPage(
  context: JobContext,
  query: JobTime & OperatorRecordQuery,
): Promise<{ usageRecords: OperatorUsageRecord[]; nextCursor: string | null }> {
  const { database } = context;
  const ids = createUsageRecordIds(await findRecordIdKey(database));
  const before = await startOf(context, { cursor: query.cursor }, ids);
  const { organizationIds, apiKey: apiKeyIds } = query;
  const by = organizationIds !== undefined
    ? { organizationIds }
    : apiKeyIds !== undefined
    ? { apiKeyIds }
    : null;
  const rows = by === null ? await rowsOfAll(context, query, before) : await rowsOfSome(context, query, {
    organizationIds: await findOrganizationsWith(database, by),
    before,
  });
  const usageRecords = rows.slice(0, query.limit).map((row) => ({
    ...toUsageRecord(row, ids, { isForOperators: true }),
    organizationId: row.organizationId,
  }));
  const nextCursor = rows.length > query.limit ? usageRecords.at(-1)?.id ?? null : null;
  return { usageRecords, nextCursor };
}

async function rowsOfSome(
  context: JobContext,
  query: OperatorRecordQuery,
  { organizationIds, before }: { organizationIds: readonly string[]; before: UsageRecordPosition },
): Promise<Row[]> {
  const all: Row[] = [];
  for (const organizationId of organizationIds) {
    const rows = await findUsageRecordRows(context, { ...query, organizationId, before });
    all.push(...rows.map((row) => ({ ...row, organizationId })));
    await context.pause();
  }
  return all.sort((a, b) => b.timestamp - a.timestamp || b.series - a.series || b.seq - a.seq);
}

/** Scans the records of all organizations in bounded steps. */
async function rowsOfAll(
  context: JobContext,
  query: OperatorRecordQuery,
  position: UsageRecordPosition,
): Promise<Row[]> {
  const { database } = context;
  const { productSlug, metric, environment, from = 0, to = newestPosition.timestamp, limit } = query;
  const filter: UsageFilter = { productSlug, metric, environment };
  const found: Row[] = [];
  const oldest = await findUsageRecordAfter(database, 0);
  let before = position === newestPosition ? await findLastUsageRecord(database) + 1 : position.seq;
  while (oldest !== undefined && before > oldest.seq && found.length <= limit) {
    const after = Math.max(before - usageRecordScanMax, 0);
    const scan = { from, to, after, before, filter, limit: limit + 1 - found.length };
    found.push(...await scanAllUsageRecords(database, scan));
    before = after + 1;
    // Records from before were recorded before.
    const first = await findUsageRecordAfter(database, after);
    if (first !== undefined && first.recordedAt < from - clocksMs) break;
    await context.pause();
  }
  return found;
}
