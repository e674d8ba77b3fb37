// The SQL of outcomes of requests with API keys: counts by hour, and the last rejections of each key.
import {
  type Outcome,
  outcomeNumber,
  outcomes,
  type RejectingLimit,
  type Rejection,
  rejectionsOfKeyMax,
} from "../../domain/meter/outcome.ts";
import type { Environment } from "../../domain/environment.ts";
import { isoTime } from "../../domain/time.ts";
import { bind, type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";
import { numberOf } from "./usage_sums.ts";

/** The outcomes of requests with a key in an hour. */
export interface KeyOutcomes {
  readonly keyHash: string;
  /** Since 1970. */
  readonly hour: number;
  /** By the outcome's number; the last is of requests that were rejected because the key doesn't work. */
  readonly counts: readonly number[];
  readonly rejections: readonly KeyRejection[];
}

export interface KeyRejection {
  readonly at: number;
  readonly requestId: string;
  /** The position in `counts`. */
  readonly outcome: number;
  readonly message: string | null;
  readonly limit: RejectingLimit | null;
}

/** The position in `counts` of requests with a key that doesn't work. The database knows why. */
export const notWorking = outcomes.length;

const outcome = (name: Outcome) => integer(outcomeNumber(name));

/** The stored outcome of a row of outcomes `e` with the key `k`. Null if the key works again. */
const storedOutcome = (given: Statement, at: Statement) =>
  sql`CASE WHEN ${given} <> ${integer(notWorking)} THEN ${given}
    WHEN k.revoked_at IS NOT NULL THEN ${outcome("revoked")}
    WHEN k.expires_at <= ${at} THEN ${outcome("expired")}
    WHEN k.disabled_at IS NOT NULL THEN ${outcome("disabled")}
    WHEN k.addresses IS NOT NULL THEN ${outcome("address_denied")} END`;

const keysOfOutcomes = sql`json_each(?1) e
  CROSS JOIN api_keys k ON k.key_hash = e.value ->> 'keyHash'
  CROSS JOIN organizations o ON o.id = k.organization_id AND o.deleted_at IS NULL`;

const insertCounts = sql`
  INSERT INTO api_key_outcomes (hour, organization, api_key, outcome, count)
  SELECT e.value ->> 'hour', o.number, k.number, ${storedOutcome(sql`c.key`, sql`?2`)} AS stored, c.value
  FROM ${keysOfOutcomes} CROSS JOIN json_each(e.value, '$.counts') c
  WHERE c.value > 0 AND stored IS NOT NULL
  ON CONFLICT DO UPDATE SET count = count + excluded.count`;

const given = sql`r.value ->> 'outcome'`;
const insertRejections = sql`
  INSERT INTO api_key_rejections (at, request_id, organization, api_key, outcome, message, rejecting_limit)
  SELECT r.value ->> 'at', r.value ->> 'requestId', o.number, k.number,
    ${
  storedOutcome(given, sql`r.value ->> 'at'`)
} AS stored, r.value ->> 'message', nullif(r.value -> 'limit', 'null')
  FROM ${keysOfOutcomes} CROSS JOIN json_each(e.value, '$.rejections') r
  WHERE stored IS NOT NULL
  ON CONFLICT DO NOTHING`;

const deleteOldest = sql`
  DELETE FROM api_key_rejections WHERE (at, request_id) IN (
    SELECT r.at, r.request_id FROM ${keysOfOutcomes}
    CROSS JOIN api_key_rejections r ON r.api_key = k.number AND (r.at, r.request_id) <= (
      SELECT n.at, n.request_id FROM api_key_rejections n WHERE n.api_key = k.number
      ORDER BY n.at DESC, n.request_id DESC LIMIT 1 OFFSET ${integer(rejectionsOfKeyMax)})
    WHERE json_array_length(e.value, '$.rejections') > 0)`;

/** Adds outcomes of requests. Unknown keys add nothing. */
export function addOutcomes(added: readonly KeyOutcomes[], now: number): Statement[] {
  const json = JSON.stringify(added);
  return [bind(insertCounts, json, now), bind(insertRejections, json), bind(deleteOldest, json)];
}

/** Finds which of some hashes are those of keys, working or not. */
export async function findKnownHashes(
  database: DatabaseReader,
  keyHashes: readonly string[],
): Promise<Set<string>> {
  const rows = await database.read<{ keyHash: string }>(sql`
    SELECT k.key_hash AS keyHash FROM json_each(${JSON.stringify(keyHashes)}) h
    CROSS JOIN api_keys k ON k.key_hash = h.value`);
  return new Set(rows.map(({ keyHash }) => keyHash));
}

export interface OutcomeRow {
  readonly position: number;
  /** Null unless grouped by key. */
  readonly apiKey: string | null;
  readonly outcome: number;
  readonly count: number;
}

export interface OutcomeFilter {
  /** Only these keys, by id. */
  readonly apiKey?: readonly string[] | undefined;
  /** True for all keys of their lineages. */
  readonly mergeRotations?: boolean | undefined;
  readonly environment?: Environment | undefined;
}

/** The condition on rows `r`. */
const isOf = ({ apiKey, mergeRotations = false, environment }: OutcomeFilter) => {
  const named = sql`json_each(${JSON.stringify(apiKey)}) i CROSS JOIN api_keys m ON m.id = i.value`;
  const isNamed = apiKey === undefined
    ? sql``
    : mergeRotations
    ? sql`AND r.api_key IN (SELECT n.number FROM ${named} CROSS JOIN api_keys n ON n.lineage = m.lineage)`
    : sql`AND r.api_key IN (SELECT m.number FROM ${named})`;
  return environment === undefined
    ? isNamed
    : sql`${isNamed} AND (SELECT n.environment FROM api_keys n WHERE n.number = r.api_key) = ${environment}`;
};

/** Counts outcomes of an organization. @param options `hours`: since 1970, each with the position to count it at. */
export function countOutcomes(
  database: DatabaseReader,
  organizationId: string,
  { hours, isByKey = false, ...filter }: OutcomeFilter & {
    hours: readonly (readonly [position: number, hour: number])[];
    isByKey?: boolean;
  },
): Promise<OutcomeRow[]> {
  const [key, group] = isByKey
    ? [sql`(SELECT k.id FROM api_keys k WHERE k.number = r.api_key)`, sql`r.api_key,`]
    : [sql`NULL`, sql``];
  return database.read(sql`
    SELECT h.value ->> 0 AS position, ${key} AS apiKey, r.outcome, sum(r.count) AS count
    FROM json_each(${JSON.stringify(hours)}) h
    CROSS JOIN api_key_outcomes r ON r.hour = h.value ->> 1 AND r.organization = ${numberOf(organizationId)}
      ${isOf(filter)}
    GROUP BY h.value ->> 0, ${group} r.outcome`);
}

interface RejectionRow {
  readonly at: number;
  readonly outcome: number;
  readonly message: string | null;
  readonly rejectingLimit: string | null;
  readonly requestId: string;
  readonly keyId: string;
  readonly keyName: string;
}

/** Finds rejections of an organization, the newest first. @param options `before`: only those before this one. */
export async function findRejections(
  database: DatabaseReader,
  organizationId: string,
  { before, limit, ...filter }: OutcomeFilter & {
    before: { readonly at: number; readonly requestId: string } | null;
    limit: number;
  },
): Promise<Rejection[]> {
  const isBefore = before === null
    ? sql``
    : sql`AND (r.at, r.request_id) < (${before.at}, ${before.requestId})`;
  // The keys that are named are found by their own index.
  const ofOrganization = filter.apiKey === undefined
    ? sql`r.organization = ${numberOf(organizationId)}`
    : sql`+r.organization = ${numberOf(organizationId)}`;
  const rows = await database.read<RejectionRow>(sql`
    SELECT r.at, r.outcome, r.message, r.rejecting_limit AS rejectingLimit, r.request_id AS requestId,
      k.id AS keyId, k.name AS keyName
    FROM api_key_rejections r CROSS JOIN api_keys k ON k.number = r.api_key
    WHERE ${ofOrganization} ${isOf(filter)} ${isBefore}
    ORDER BY r.at DESC, r.request_id DESC LIMIT ${limit}`);
  return rows.map(({ at, outcome, message, rejectingLimit, requestId, keyId, keyName }) => ({
    time: isoTime(at),
    outcome: outcomes[outcome] ?? "invalid",
    message,
    limit: rejectingLimit === null ? null : JSON.parse(rejectingLimit),
    requestId,
    apiKey: { id: keyId, name: keyName },
  }));
}

interface OldOutcomes {
  readonly hour: number;
  readonly at: number;
}

export const hasOldOutcomes = ({ hour, at }: OldOutcomes): Statement =>
  sql`EXISTS (SELECT 1 FROM api_key_outcomes WHERE hour < ${hour})
    OR EXISTS (SELECT 1 FROM api_key_rejections WHERE at < ${at})`;

/** Deletes some counts of hours, and some rejections, before these. @param rows The maximum number of each. */
export const deleteOldOutcomes = ({ hour, at }: OldOutcomes, rows: number): Statement[] => [
  deleteSomeCounts(sql`api_key_outcomes r WHERE r.hour < ${hour}`, rows),
  deleteSomeRejections(sql`r.at < ${at}`, rows),
];

/** The counts `r` of an organization, given by its number, hour by hour. */
export const countsOfOutcomes = (organization: Statement) =>
  sql`(WITH RECURSIVE hours (hour) AS (
    SELECT min(hour) FROM api_key_outcomes WHERE ${organization} IS NOT NULL
    UNION ALL SELECT (SELECT min(n.hour) FROM api_key_outcomes n WHERE n.hour > h.hour)
    FROM hours h WHERE h.hour IS NOT NULL)
    SELECT hour FROM hours WHERE hour IS NOT NULL) h
    CROSS JOIN api_key_outcomes r ON r.hour = h.hour AND r.organization = ${organization}`;

/** Deletes some outcomes of an organization, given by its number. */
export function deleteOutcomesOf(
  { organization, rows }: { organization: Statement; rows: number },
): Statement[] {
  return [
    deleteSomeCounts(countsOfOutcomes(organization), rows),
    deleteSomeRejections(sql`r.organization = ${organization}`, rows),
  ];
}

const deleteSomeCounts = (from: Statement, rows: number) =>
  sql`DELETE FROM api_key_outcomes WHERE (hour, organization, api_key, outcome) IN (
    SELECT r.hour, r.organization, r.api_key, r.outcome FROM ${from} LIMIT ${rows})`;

const deleteSomeRejections = (condition: Statement, rows: number) =>
  sql`DELETE FROM api_key_rejections WHERE (at, request_id) IN (
    SELECT r.at, r.request_id FROM api_key_rejections r WHERE ${condition} LIMIT ${rows})`;
