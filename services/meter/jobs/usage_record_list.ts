// A page of usage records, read by the reports thread: of very many records few may match a filter.
import {
  idempotencyKeyHash,
  type NamedUsageRecord,
  toUsageRecord,
} from "../../../domain/meter/usage_record.ts";
import type { DatabaseReader } from "../../../db/engine/database.ts";
import type { UsageFilter } from "../../../db/meter/usage_sums.ts";
import {
  endOfScan,
  findRecordIdKey,
  findUsageRecordPosition,
  findUsageRecordsByKey,
  firstUsageFrom,
  lastUsageBefore,
  type ListedUsageRecordRow,
  scanUsageRecords,
  type UsageRecordPosition,
  type UsageRecordScan,
  type UsageRecordStatus,
} from "../../../db/meter/usage_records.ts";
import { validationError } from "../../../domain/errors.ts";
import { usageRecordScanMax } from "../../../domain/limits.ts";
import { noneValue } from "../../../domain/meter/dimension.ts";
import { createUsageRecordIds, type UsageRecordIds } from "../../../domain/meter/usage_record_id.ts";
import type { JobContext, JobScope } from "../../reports/job_context.ts";

/** Times in milliseconds since 1970: `from` is included, `to` is not. */
export interface UsageRecordQuery extends UsageFilter {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly limit: number;
  /** Only those that count, or that were voided. */
  readonly status?: UsageRecordStatus | undefined;
  /** Only the record with this key; there is no next page then. */
  readonly idempotencyKey?: string | undefined;
  /** The id of the last record of the previous page. */
  readonly cursor?: string | undefined;
}

/** After every position that a record can have. */
export const newestPosition: UsageRecordPosition = { timestamp: Number.MAX_SAFE_INTEGER, series: 0, seq: 0 };

/** Returns a stored record as the organization's members see it, or as operators do, with the names of its keys. */
export function toNamedUsageRecord(
  row: ListedUsageRecordRow,
  ids: UsageRecordIds,
  { isForOperators = false } = {},
): NamedUsageRecord {
  const { apiKeyName, apiKeyCreatedBy } = row;
  const record = toUsageRecord(row, ids, { isForOperators });
  const voidedByName = row.voidedByName ?? (isForOperators ? row.voidedBy : null);
  return { ...record, apiKeyName, apiKeyCreatedBy, voidedByName };
}

export interface UsageRecordPageQuery extends UsageRecordQuery {
  /** The id of the first record of the page after the one to read. Without as many records, the newest page is read. */
  readonly newerThan?: string | undefined;
  readonly isForOperators?: boolean;
}

/**
 * Reads a page of records with the names of their keys, newest first.
 *
 * @returns The page, the cursor of the next one and the `newerThan` of the previous one; null at the ends.
 * @throws {AppError} `validation_failed` for a cursor whose record doesn't exist.
 */
export async function readUsageRecordPage(
  context: JobContext,
  { newerThan, isForOperators, ...query }: JobScope & UsageRecordPageQuery,
) {
  const ids = createUsageRecordIds(await findRecordIdKey(context.database));
  const { organizationId, cursor, limit } = query;
  const after = newerThan && await startOf(context, { organizationId, cursor: newerThan }, ids);
  const newer = after ? await findUsageRecordRows(context, { ...query, after }) : [];
  const isUpward = newer.length > limit;
  const start = isUpward ? undefined : await startOf(context, query, ids);
  const rows = start === undefined
    ? newer.slice(0, limit).reverse()
    : await findUsageRecordRows(context, { ...query, before: start });
  const usageRecords = rows.slice(0, limit).map((row) => toNamedUsageRecord(row, ids, { isForOperators }));
  return {
    usageRecords,
    nextCursor: isUpward || rows.length > limit ? usageRecords.at(-1)?.id ?? null : null,
    previousCursor: isUpward || cursor !== undefined ? usageRecords[0]?.id ?? null : null,
  };
}

/**
 * @param query `before`: the position of the last record of the previous page. `after`: that of the first record of the next
 *   page; then the rows are in the order from the oldest to the newest.
 * @returns The rows of the page, and one more if there is a page after it.
 */
export async function findUsageRecordRows(
  context: JobContext,
  query:
    & Omit<JobScope & UsageRecordQuery, "cursor" | "now">
    & ({ readonly before: UsageRecordPosition } | { readonly after: UsageRecordPosition }),
): Promise<ListedUsageRecordRow[]> {
  const { database } = context;
  const { organizationId, productSlug, metric, apiKey, from = 0, to = newestPosition.timestamp } = query;
  const { idempotencyKey, status, limit, environment, mergeRotations, properties } = query;
  const chosen = { productSlug, metric, apiKey, properties, ...(apiKey && { mergeRotations }) };
  const filter = { ...chosen, environment };
  if (idempotencyKey !== undefined) {
    const hash = idempotencyKeyHash(idempotencyKey);
    const found = await findUsageRecordsByKey(database, {
      organizationId,
      idempotencyKey,
      hash,
      from,
      to,
      filter,
    });
    return found.filter(({ voidedAt, ...row }) =>
      (status === undefined || (status === "voided") === (voidedAt !== null)) &&
      hasProperties(row.properties, properties)
    );
  }
  const isUpward = "after" in query;
  const range = {
    from: isUpward && query.after.timestamp >= from ? following(query.after) : startOfTime(from),
    before: !isUpward && query.before.timestamp < to ? query.before : startOfTime(to),
  };
  const scan = { organizationId, status, isUpward, filter };
  const isFiltered = status === "counted" || Object.values(chosen).some((value) => value !== undefined);
  return isFiltered
    ? await findInSteps(context, { ...scan, ...range, limit: limit + 1 })
    : await scanUsageRecords(database, { ...scan, ...range, limit: limit + 1 });
}

/** @param text As stored. */
function hasProperties(text: string | null, properties: UsageFilter["properties"] = {}): boolean {
  const own: Record<string, string> = JSON.parse(text ?? "{}");
  return Object.entries(properties).every(([name, values]) =>
    values.includes(Object.hasOwn(own, name) ? own[name] ?? noneValue : noneValue)
  );
}

type FilteredScan = UsageRecordScan & { readonly limit: number };

/** Skips time without matching records, and scans the rest in bounded steps. */
async function findInSteps(
  context: JobContext,
  { limit, ...scan }: FilteredScan,
): Promise<ListedUsageRecordRow[]> {
  const { database } = context;
  const found: ListedUsageRecordRow[] = [];
  // Properties aren't in the index.
  const scansMax = scan.filter.properties === undefined ? usageRecordScanMax : usageRecordScanMax / 10;
  let rest: UsageRecordScan | null = scan;
  while (rest !== null && found.length < limit) {
    if (rest !== scan) await context.pause();
    const narrowed: UsageRecordScan | null = await withoutEmptyTime(database, rest);
    if (narrowed === null) break;
    // The end of a step is fixed before it is read, so that records that are added or deleted meanwhile do not move it.
    const last = await endOfScan(database, { ...narrowed, recordsMax: scansMax });
    const edge: UsageRecordPosition | undefined = last && (scan.isUpward ? following(last) : last);
    const step = edge === undefined
      ? narrowed
      : { ...narrowed, ...(scan.isUpward ? { before: edge } : { from: edge }) };
    const stepLimit = limit - found.length;
    found.push(...await scanUsageRecords(database, { ...step, limit: stepLimit }));
    rest = edge === undefined
      ? null
      : { ...narrowed, ...(scan.isUpward ? { from: edge } : { before: edge }) };
  }
  return found;
}

/** Returns a scan that begins at the first 15 minutes with matching usage, or null without any. */
async function withoutEmptyTime(
  database: DatabaseReader,
  scan: UsageRecordScan,
): Promise<UsageRecordScan | null> {
  const { organizationId, filter, from, before } = scan;
  if (scan.isUpward) {
    const start = await firstUsageFrom(database, { organizationId, filter, from: from.timestamp });
    if (start === null || start >= before.timestamp) return null;
    return start > from.timestamp ? { ...scan, from: startOfTime(start) } : scan;
  }
  const end = await lastUsageBefore(database, { organizationId, filter, before: before.timestamp + 1 });
  if (end === null || end <= from.timestamp) return null;
  return end <= before.timestamp ? { ...scan, before: startOfTime(end) } : scan;
}

const startOfTime = (timestamp: number): UsageRecordPosition => ({ timestamp, series: 0, seq: 0 });

/** Returns the position directly after a record, in the order from the oldest to the newest. */
const following = (position: UsageRecordPosition): UsageRecordPosition => ({
  ...position,
  seq: position.seq + 1,
});

/**
 * @param query The cursor of a page, and the only organization whose records it may name.
 * @returns The position of the cursor's record, or one after every record.
 * @throws {AppError} `validation_failed` when there is no such record.
 */
export async function startOf(
  { database }: JobContext,
  { organizationId, cursor }: { readonly organizationId?: string; readonly cursor?: string | undefined },
  ids: UsageRecordIds,
): Promise<UsageRecordPosition> {
  if (cursor === undefined) return newestPosition;
  const reference = ids.parse(cursor);
  const position = reference && await findUsageRecordPosition(database, { organizationId, ...reference });
  if (!position) throw validationError([{ path: "cursor", message: "must be a “nextCursor” of this list." }]);
  return position;
}
