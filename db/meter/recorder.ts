// The SQL of the recorder: one group of requests in one transaction, with a fixed number of statements. Authentication,
// records, their idempotency keys and the rollups are one transaction: it rejects an API key that was revoked before it. The
// assembled statements are in tests/db/meter/recorder_statements.sql.
import { apiKeyUsedIntervalMs } from "../../domain/limits.ts";
import type { Environment } from "../../domain/environment.ts";
import type { StoredUsageRecord } from "../../domain/meter/usage_record.ts";
import { effectiveNumber, type KeyTerms, keyTerms, workingApiKey } from "../access/mod.ts";
import { bind, type Database, joinSql, sql, type Statement, type WriteResult } from "../engine/database.ts";
import {
  hasRecorded,
  indexHash,
  lookUpIdempotencyKeys,
  movedPositions,
  moveIdempotencyKeys,
} from "./idempotency_keys.ts";
import { verifiableKey, type VerifiableKeyRow } from "./key_verification.ts";
import {
  field,
  idempotencyKeyOfRecord,
  isOutdated,
  propertiesOfRecord,
  type RecordGroup,
  type TargetKind,
  targetsBy,
} from "./record_group.ts";
import {
  countAgainstLimits,
  type LimitState,
  limitStatements,
  type SelectSeries,
} from "./recorder_limits.ts";
import { environmentOf, isLive, numberOfKeysUsage } from "./environments.ts";
import { hasDimensions } from "./dimensions.ts";
import { hasActiveHolds } from "./hold_counts.ts";
import { addGroup, addUp } from "./rollups.ts";
import { hasValueLimits, valueStatements } from "./value_limits.ts";

/** An earlier record with the idempotency key of one of the group. */
export interface ExistingRecord extends StoredUsageRecord {
  /** Index in {@linkcode RecordGroup.records}. */
  readonly position: number;
  /** 1 when the content differs. */
  readonly differs: 0 | 1;
}

/** A new series of an organization that doesn't have room for all of its new series in the group. */
export interface LimitedSeries {
  /** Index in {@linkcode RecordGroup.series}. The organization's first ones are created while there is room. */
  readonly position: number;
  readonly organization: number;
  readonly seriesMax: number;
  /** The number of series that it can still create. */
  readonly room: number;
}

/** A series whose product or metric isn't in the catalogue. */
interface UnlistedSeries {
  /** Index in {@linkcode RecordGroup.series}. */
  readonly position: number;
  /** 1 when the product is missing; 0 when only the metric is. */
  readonly isProduct: 0 | 1;
}

export interface GroupTarget extends KeyTerms {
  /** Index in {@linkcode RecordGroup.targets}. */
  readonly position: number;
  readonly id: string | null;
  /** Why nothing was recorded for it: the API key has other addresses, its organization is suspended, the API key or the operator token may not record, its plan lacks a feature, or the key that an operator holds for ended. */
  readonly denial: "addresses" | "suspended" | "permission" | "feature" | "token" | "inactive" | null;
  /** Null without an API key. */
  readonly environment: Environment | null;
  /** Set for groups with verified API keys. */
  readonly key?: VerifiableKeyRow;
  /** Only with limits: the number of its usage, and the lineage of the API key. */
  readonly organization?: number;
  readonly lineage?: number | null;
}

export interface RecordOutcome {
  /** False if nothing was recorded because a known series may be missing: record the group again, without known series. */
  readonly isComplete: boolean;
  /** True if a series was deleted again, because none of its records was inserted. */
  readonly hasDeletedSeries: boolean;
  readonly targets: readonly GroupTarget[];
  readonly existing: readonly ExistingRecord[];
  /** By position. A request that needs a series that was not created is not recorded. */
  readonly limited: readonly LimitedSeries[];
  /** Series that aren't in the catalogue, if they must be: a request with one is not recorded. */
  readonly unlisted: readonly UnlistedSeries[];
  /** The number of records that were inserted and not deleted again. */
  readonly inserted: number;
  /** True if the database has any limits of usage; null if no target exists. */
  readonly hasLimits: boolean | null;
  /** True if any limit is per value; null if no target exists. */
  readonly hasValueLimits: boolean | null;
  /** True if any metric has dimensions; null if no target exists. */
  readonly hasDimensions: boolean | null;
  /** True if the database has any active holds; null if no target exists. */
  readonly hasHolds: boolean | null;
  /** The current windows of all limits of the group, and those that its requests don't fit into. */
  readonly limits: readonly LimitState[];
  /** The `seq` of a record is this plus its index in the group. */
  readonly firstSeq: number;
}

// The statements' texts are built once. In all of them ?1 is the records, ?2 the series and ?3 the time.

interface Target extends TargetKind {
  /** True if a series `e` may be recorded. */
  readonly condition: Statement;
  /** More fields of {@linkcode GroupTarget}, in pairs of JSON. */
  readonly fields: Statement;
  readonly isByValue: boolean;
}

const isListed = sql`EXISTS (
    SELECT 1 FROM product_metrics pm WHERE pm.product = e.value ->> 1 AND pm.slug = e.value ->> 2)`;
/** The series `?2` that aren't in the catalogue. */
export const selectUnlisted = sql`
  SELECT json_group_array(json_object('position', CAST(e.key AS INTEGER),
    'isProduct', NOT EXISTS (SELECT 1 FROM products p WHERE p.slug = e.value ->> 1))) AS list
  FROM json_each(?2) e WHERE NOT ${isListed}`;

const selectSeries = ({ join, denial, apiKey, condition }: Target): SelectSeries => (columns, more) =>
  sql`SELECT CAST(e.key AS INTEGER) AS position, ${columns}
    FROM json_each(?2) e ${join(sql`e.value ->> 0`)}
    JOIN usage_series us ON us.organization = ${numberOfKeysUsage} AND us.product_slug = e.value ->> 1
      AND us.metric = e.value ->> 2 AND us.api_key = ${apiKey} ${more.join}
    WHERE ${denial(sql`e.value ->> 0`)} IS NULL AND ${condition} AND ${more.condition}`;
const seriesFrom = (target: Target) =>
  sql`series AS MATERIALIZED (${
    selectSeries(target)(sql`us.id, us.organization, us.product_slug, us.metric`, {
      join: sql``,
      condition: sql`true`,
    })
  })`;
/** Every target may record, and no limit was reached. */
const hasAllSeries = sql`(SELECT count(*) FROM series) = json_array_length(?2)`;
/** Requests that need a series that doesn't exist: none of their records is inserted. */
const blocked = sql`blocked AS MATERIALIZED (
    SELECT DISTINCT ${field.request} AS request FROM json_each(?1) e
    WHERE NOT ${hasAllSeries} AND ${field.series} NOT IN (SELECT position FROM series)
  )`;
/** The hashes of the group's idempotency keys, in order: neighbors in the index are looked up one after the other. */
const hashed = (condition: Statement) =>
  sql`hashed AS MATERIALIZED (
    SELECT ${indexHash(field.idempotencyHash, sql`s.organization`)} AS hash, e.key AS position
    FROM json_each(?1) e CROSS JOIN series s ON s.position = ${field.series}
    WHERE ${field.idempotencyKeyLength} > 0 AND ${condition} ORDER BY 1
  )`;
const differs = sql`(rs.product_slug <> s.product_slug OR rs.metric <> s.metric
    OR r.quantity_whole <> ${field.whole} OR r.quantity_micro <> ${field.micro}
    OR r.properties IS NOT ${propertiesOfRecord}
    OR r.timestamp <> iif(${field.isTimestampGiven}, ${field.timestamp}, r.recorded_at))`;
/** Earlier records with the same idempotency key. The group is read again only for these few. */
const existing = sql`matches AS MATERIALIZED (${lookUpIdempotencyKeys(sql`q.position, k.seq`, sql`hashed`)}),
  existing AS MATERIALIZED (
    SELECT r.*, m.position, ${field.request} AS request, ${differs} AS differs,
      rs.product_slug AS first_product_slug, rs.metric AS first_metric, rs.api_key
    FROM json_each(?1) e CROSS JOIN matches m ON m.position = e.key
    CROSS JOIN series s ON s.position = ${field.series}
    CROSS JOIN usage_records r ON r.seq = m.seq AND r.organization = s.organization
      AND r.idempotency_key = ${idempotencyKeyOfRecord}
    CROSS JOIN usage_series rs ON rs.id = r.series
    WHERE EXISTS (SELECT 1 FROM matches)
  )`;
const insertRecords = (parts: Record<"with" | "idempotencyKey" | "allowed" | "condition", Statement>) =>
  sql`WITH ${parts.with}
  INSERT INTO usage_records (seq, organization, series, timestamp, recorded_at, quantity_whole, quantity_micro,
    idempotency_key, properties)
  SELECT c.seq + e.key + 1, s.organization, s.id, ${field.timestamp}, ?3, ${field.whole}, ${field.micro},
    ${parts.idempotencyKey}, ${propertiesOfRecord}
  FROM json_each(?1) e CROSS JOIN series s ON s.position = ${field.series}
  CROSS JOIN usage_cursor c ON c.only_row = 1
  WHERE ${parts.allowed} ${parts.condition}`;
/** The requests to record: without known series, those whose own series exist. */
const allowedRequests = (series: Statement, isSeriesKnown: boolean) =>
  isSeriesKnown ? { with: series, allowed: hasAllSeries } : {
    with: sql`${series}, ${blocked}`,
    allowed: sql`(${hasAllSeries} OR ${field.request} NOT IN (SELECT request FROM blocked))`,
  };
const insertAlways = (requests: ReturnType<typeof allowedRequests>, condition = sql``) =>
  insertRecords({ ...requests, idempotencyKey: sql`NULL`, condition });
const insertNew = (requests: ReturnType<typeof allowedRequests>) =>
  insertRecords({
    with: sql`${requests.with}, ${hashed(sql`true`)}, ${existing}`,
    allowed: requests.allowed,
    idempotencyKey: sql`nullif(${idempotencyKeyOfRecord}, '')`,
    condition: sql`AND e.key NOT IN (SELECT position FROM existing)
    AND ${field.request} NOT IN (SELECT request FROM existing WHERE differs)`,
  });
const insertIdempotencyKeys = (series: Statement) =>
  sql`WITH ${series}
  INSERT INTO usage_keys_recent (hash, seq)
  SELECT ${indexHash(field.idempotencyHash, sql`s.organization`)}, r.seq
  FROM json_each(?1) e CROSS JOIN series s ON s.position = ${field.series}
  CROSS JOIN usage_cursor c ON c.only_row = 1 CROSS JOIN usage_records r ON r.seq = c.seq + e.key + 1
  WHERE ${field.idempotencyKeyLength} > 0 ORDER BY 1`;
/** False when all (`?4`) records were inserted: then none of their idempotency keys existed, and all of their series have records. */
const isAnyMissing = sql`
  (SELECT count(*) FROM usage_records n WHERE n.seq > (SELECT seq FROM usage_cursor)) < ?4`;
const selectExisting = (series: Statement) =>
  sql`WITH ${series}, ${hashed(isAnyMissing)}, ${existing}
  SELECT json_group_array(json_object('position', h.position, 'differs', h.differs, 'seq', h.seq,
    'productSlug', h.first_product_slug, 'metric', h.first_metric, 'apiKeyId', k.id, 'environment', ${
    environmentOf(sql`h.organization`)
  }, 'timestamp', h.timestamp,
    'recordedAt', h.recorded_at, 'whole', h.quantity_whole, 'micro', h.quantity_micro,
    'idempotencyKey', h.idempotency_key, 'properties', h.properties, 'voidedAt', v.voided_at,
    'voidedBy', v.voided_by, 'voidReason', v.reason)) AS list
  FROM existing h LEFT JOIN api_keys k ON k.number = h.api_key LEFT JOIN usage_voids v ON v.seq = h.seq`;

const seriesMax = effectiveNumber("usageSeriesMax");
/** Selects series that don't exist yet. */
const newSeries = ({ join, denial, apiKey, condition: isAllowed }: Target, condition: Statement) =>
  sql`SELECT CAST(e.key AS INTEGER) AS position, o.number AS organization, ${numberOfKeysUsage} AS usage_number,
    e.value ->> 1 AS product_slug, e.value ->> 2 AS metric, ${apiKey} AS api_key,
    ${seriesMax} AS series_max, ${seriesMax} - o.series AS room
  FROM json_each(?2) e ${join(sql`e.value ->> 0`)}
  WHERE ${condition} AND ${denial(sql`e.value ->> 0`)} IS NULL AND ${isAllowed} AND NOT EXISTS (
    SELECT 1 FROM usage_series us WHERE us.organization = ${numberOfKeysUsage}
    AND us.product_slug = e.value ->> 1 AND us.metric = e.value ->> 2 AND us.api_key = ${apiKey})`;
/** Most organizations have room for more series than the whole group has: theirs are not looked up here. */
const selectLimited = (target: Target) =>
  sql`
  SELECT json_group_array(json_object('position', position, 'organization', organization,
    'seriesMax', series_max, 'room', room)) AS list
  FROM (SELECT n.*, count(*) OVER (PARTITION BY organization) AS requested
    FROM (${newSeries(target, sql`o.series + json_array_length(?2) > ${seriesMax}`)}) n)
  WHERE requested > room`;
const insertSeries = (target: Target) =>
  sql`INSERT INTO usage_series (organization, product_slug, metric, api_key)
  SELECT usage_number, product_slug, metric, api_key
  FROM (SELECT n.*, row_number() OVER (PARTITION BY organization ORDER BY position) AS rank
    FROM (${newSeries(target, sql`true`)}) n)
  WHERE rank <= room ORDER BY position`;
/** A rejected request leaves no series behind that never had a record. */
const deleteUnusedSeries = (series: Statement) =>
  sql`WITH ${series}
  DELETE FROM usage_series WHERE ${isAnyMissing} AND id IN (SELECT id FROM series) AND is_held = 0
    AND NOT EXISTS (SELECT 1 FROM usage_rollups r WHERE r.series = usage_series.id)`;
export const moveCursor = sql`UPDATE usage_cursor AS c SET seq = seq + ?1, ${movedPositions}
  WHERE only_row = 1 AND ${hasRecorded}`;

const hasLimits = sql`EXISTS (SELECT 1 FROM usage_limits)`;
/** Selects the targets `?1` that exist. */
const selectTargets = ({ join, denial, fields }: Target) =>
  sql`
  SELECT json_group_array(json_object('position', e.key, 'id', k.id, 'denial', ${
    denial(sql`e.value`)
  }, 'environment', k.environment,
    'seq', (SELECT seq FROM usage_cursor), 'hasLimits', ${hasLimits}, 'hasDimensions', ${hasDimensions},
    'hasHolds', ${hasActiveHolds}, 'hasValueLimits', ${hasValueLimits},
    'requestsPerSecond', ${keyTerms.requestsPerSecond}, 'ownRequestsPerSecond', ${keyTerms.ownRequestsPerSecond},
    'addresses', ${keyTerms.addresses}${fields})) AS list
  FROM json_each(?1) e ${join(sql`e.value`)}`;

function statementsOf(target: Target, isSeriesKnown: boolean) {
  const series = seriesFrom(target);
  const selectLive: SelectSeries = (columns, more) =>
    selectSeries(target)(columns, {
      ...more,
      condition: sql`${isLive(sql`us.organization`)} AND ${more.condition}`,
    });
  const requests = allowedRequests(series, isSeriesKnown);
  return {
    selectTargets: selectTargets(target),
    selectLimited: selectLimited(target),
    insertSeries: insertSeries(target),
    insertNew: insertNew(requests),
    insertAlways: insertAlways(requests),
    /** Inserts the records of the requests of `usage_hold_requests`. */
    insertListed: insertAlways(
      requests,
      sql`AND ${field.request} IN (SELECT request FROM usage_hold_requests)`,
    ),
    selectExisting: selectExisting(series),
    insertIdempotencyKeys: insertIdempotencyKeys(series),
    deleteUnusedSeries: deleteUnusedSeries(series),
    limits: limitStatements(selectLive),
    byValue: target.isByValue ? valueStatements(selectLive) : undefined,
    updateKeysUsed: target.usedKeys && updateKeysUsed(target.usedKeys),
  };
}

export const addRecords = addGroup(sql`true`);

/** Returns the statements for a kind of groups, which are built when they are needed first. */
export function statementsFor(group: RecordGroup) {
  const { by, isCatalogueRequired, hasLimits: isLimited, hasDimensions: isSplit, isSeriesKnown } = group;
  const isByValue = isLimited && group.hasValueLimits;
  const name = `${by} ${isCatalogueRequired} ${isLimited} ${isByValue} ${isSplit} ${isSeriesKnown}`;
  let statements = statementsByName.get(name);
  if (statements === undefined) {
    statements = statementsOf({
      ...targetsBy[by],
      condition: sql`${isCatalogueRequired ? isListed : sql`true`} AND ${
        isByValue ? sql`true` : sql`NOT ${isLimited ? hasValueLimits : hasLimits}`
      } AND ${isSplit ? sql`true` : sql`NOT ${hasDimensions}`}`,
      fields: joinSql([
        isLimited ? sql`, 'organization', ${numberOfKeysUsage}, 'lineage', k.lineage` : sql``,
        by === "verifiedKeys" ? sql`, 'key', ${verifiableKey}` : sql``,
      ], " "),
      isByValue,
    }, isSeriesKnown);
    statementsByName.set(name, statements);
  }
  return statements;
}
const statementsByName = new Map<string, ReturnType<typeof statementsOf>>();
/** Notes at `?3` that the API keys of the targets `?1` were used, unless they were before `?2`. */
const updateKeysUsed = (hashes: Statement) =>
  sql`UPDATE api_keys AS k SET last_used_at = ?3
  WHERE k.key_hash IN (${hashes}) AND ${workingApiKey(sql`?3`)}
    AND (k.last_used_at IS NULL OR k.last_used_at <= ?2)`;

/** Inserts the records of a group as one batch, which writes `note` before `usage_cursor` moves. */
export async function insertUsageRecords(
  database: Pick<Database, "write">,
  group: RecordGroup,
  note?: Statement,
): Promise<RecordOutcome> {
  const { now, idempotencyKeys } = group;
  const statements = statementsFor(group);
  const targets = JSON.stringify(group.targets);
  const batch: Statement[] = [bind(statements.selectTargets, targets, null, now)];
  /** Returns the statement's position in the batch. */
  const add = (statement: Statement) => batch.push(statement) - 1;
  let [insertedAt, deletedAt, existingAt, limitedAt, unlistedAt, unusedAt] = [-1, -1, -1, -1, -1, -1];
  let limitsAt: readonly number[] = [];
  const count = group.records.length;
  if (count > 0) {
    const seriesAndTime = [JSON.stringify(group.series), now] as const;
    const values = [JSON.stringify(group.records), ...seriesAndTime] as const;
    if (!group.isSeriesKnown) {
      if (group.isCatalogueRequired) unlistedAt = add(bind(selectUnlisted, null, seriesAndTime[0]));
      limitedAt = add(bind(statements.selectLimited, null, ...seriesAndTime));
      add(bind(statements.insertSeries, null, ...seriesAndTime));
    }
    const insert = idempotencyKeys > 0 ? statements.insertNew : statements.insertAlways;
    insertedAt = add(bind(insert, ...values));
    if (idempotencyKeys > 0) existingAt = add(bind(statements.selectExisting, ...values, count));
    add(addRecords);
    if (group.hasLimits) {
      const { hasHolds, questions, isUnlimited = false } = group;
      const as = isUnlimited ? "settlement" : "usage";
      const counted = { as, hasHolds, questions, byValue: statements.byValue } as const;
      [deletedAt, limitsAt] = countAgainstLimits(add, statements.limits, values, counted);
    }
    if (idempotencyKeys > 0) {
      batch.push(bind(statements.insertIdempotencyKeys, ...values), ...moveIdempotencyKeys(idempotencyKeys));
    }
    batch.push(...addUp(group.hasDimensions), ...(note === undefined ? [] : [note]));
    if (!group.isSeriesKnown) {
      unusedAt = add(bind(statements.deleteUnusedSeries, null, ...seriesAndTime, count));
    }
    add(bind(moveCursor, count, idempotencyKeys));
    if (statements.updateKeysUsed !== undefined && !group.isSeriesKnown) {
      add(bind(statements.updateKeysUsed, targets, now - apiKeyUsedIntervalMs, now));
    }
  }
  // The recorder sends few batches at a time, on behalf of many requests: a flood of other writes must not keep them out.
  const results = await database.write(batch, { bypassesQueueLimit: true });
  const { found, facts, firstSeq } = readTargets(results);
  const existing = rowsOf<ExistingRecord>(results, existingAt);
  const inserted = results[insertedAt]?.changes ?? 0;
  return {
    isComplete: !group.isSeriesKnown || inserted > 0 || existing.length === count ||
      isOutdated(group, facts),
    hasDeletedSeries: (results[unusedAt]?.changes ?? 0) > 0,
    targets: found,
    existing,
    limited: rowsOf<LimitedSeries>(results, limitedAt).sort((a, b) => a.position - b.position),
    unlisted: rowsOf<UnlistedSeries>(results, unlistedAt),
    inserted: inserted - (results[deletedAt]?.changes ?? 0),
    ...facts,
    limits: limitsAt.flatMap((at) => rowsOf<LimitState>(results, at)),
    firstSeq,
  };
}

/** Reads what the first statement of a group returned. */
export function readTargets(results: readonly WriteResult[]) {
  type Facts = Record<"hasLimits" | "hasValueLimits" | "hasDimensions" | "hasHolds", 0 | 1> & { seq: number };
  const found = rowsOf<GroupTarget & Facts>(results, 0);
  const [first] = found;
  const isSet = (fact: 0 | 1 | undefined) => fact === undefined ? null : fact === 1;
  const facts = {
    hasLimits: isSet(first?.hasLimits),
    hasValueLimits: isSet(first?.hasValueLimits),
    hasDimensions: isSet(first?.hasDimensions),
    hasHolds: isSet(first?.hasHolds),
  };
  return { found, facts, firstSeq: (first?.seq ?? 0) + 1 };
}

/** Returns the rows that a statement returned as a list in JSON, which costs less than rows in messages of the writer. */
export function rowsOf<T>(results: readonly WriteResult[], index: number): T[] {
  return JSON.parse(String(results[index]?.rows[0]?.["list"] ?? "[]"));
}
