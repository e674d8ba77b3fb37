// SQL that reads and ends single holds, and deletes old ones. Groups of them are made and settled in hold_group.ts.
import type { Environment } from "../../domain/environment.ts";
import { holdKeptMs, type HoldStatus, type StoredHold } from "../../domain/meter/hold.ts";
import { isSuspended, keyMay, workingApiKey } from "../access/mod.ts";
import {
  type Database,
  type DatabaseReader,
  integer,
  joinSql,
  sql,
  type Statement,
} from "../engine/database.ts";
import { isUsageOf, ofAnyKey, usageNumbers } from "./environments.ts";
import {
  beyondList,
  endExpiredHolds,
  forgetEnding,
  heldSums,
  isOver,
  ofWindow,
  selectHeld,
  subtractHeld,
  windowOfHold,
} from "./hold_counts.ts";
import { raisedQuantity } from "./usage_grants.ts";
import { countedSeq, isApplied } from "./usage_limits.ts";
import { selectBeyondOfValues } from "./value_limit_standings.ts";

const organizationOfHold = sql`(SELECT o.id FROM organizations o WHERE o.number = abs(h.organization))`;
const keyOfHold = sql`(SELECT k.id FROM api_keys k WHERE k.number = h.api_key)`;
/** The pairs of a JSON object of the hold `h`, a {@linkcode StoredHold}. */
export const holdJson: Statement = sql`'number', h.number, 'id', h.id, 'organization', h.organization,
    'organizationId', ${organizationOfHold}, 'apiKeyId', ${keyOfHold}, 'heldBy', h.held_by, 'status', h.status,
    'records', h.records, 'isRecordedOnExpiry', h.is_recorded_on_expiry, 'createdAt', h.created_at,
    'expiresInMs', h.expires_in, 'expiresAt', h.expires_at, 'endedAt', h.ended_at,
    'idempotencyKey', h.idempotency_key, 'settlement', h.settlement, 'firstSeq', h.first_seq,
    'recordedAt', h.recorded_at`;
/** Selects holds `h` as JSON, for {@linkcode parseHold}. */
const selectHolds = (condition: Statement): Statement =>
  sql`SELECT json_object(${holdJson}) AS hold FROM usage_holds h WHERE ${condition}`;

interface HoldRow {
  readonly hold: string;
}

export const parseHold = ({ hold }: HoldRow): StoredHold => JSON.parse(hold);

/** @param organizationId Only of this organization; null for any that isn't deleted. */
export async function findHold(
  database: DatabaseReader,
  id: string,
  organizationId: string | null = null,
): Promise<StoredHold | undefined> {
  const row = await database.readFirst<HoldRow>(
    selectHolds(sql`h.id = ${id} AND EXISTS (SELECT 1 FROM organizations o
    WHERE o.number = abs(h.organization) AND o.deleted_at IS NULL AND o.id = coalesce(${organizationId}, o.id))`),
  );
  return row && parseHold(row);
}

export interface HoldFilter {
  readonly organizationId?: string | undefined;
  /** Null for both. */
  readonly environment: Environment | null;
  readonly status?: HoldStatus | undefined;
  /** Holds for any of these. */
  readonly apiKey?: string | readonly string[] | undefined;
}

/** Finds holds, the newest first, from after the id `before`. */
export async function findHolds(
  database: DatabaseReader,
  { organizationId, environment, status, apiKey }: HoldFilter,
  { limit, before = null, now }: { limit: number; before?: string | null | undefined; now: number },
): Promise<StoredHold[]> {
  const conditions = [sql`true`];
  if (organizationId !== undefined) {
    const number = sql`(SELECT o.number FROM organizations o WHERE o.id = ${organizationId})`;
    const numbers = usageNumbers(number, environment === null ? { apiKey: [] } : { environment });
    conditions.push(sql`h.organization IN (${joinSql(numbers, ", ")})`);
  }
  if (apiKey !== undefined) {
    const ids = JSON.stringify([apiKey].flat());
    conditions.push(
      sql`h.api_key IN (SELECT k.number FROM json_each(${ids}) j JOIN api_keys k ON k.id = j.value)`,
    );
  }
  if (status === "active") conditions.push(sql`h.status = 'active' AND NOT ${isOver(sql`${now}`)}`);
  else if (status === "expired") {
    conditions.push(
      sql`(h.status IN ('expired', 'recorded') OR (h.status = 'active' AND ${isOver(sql`${now}`)}))`,
    );
  } else if (status !== undefined) conditions.push(sql`h.status = ${status}`);
  if (before !== null) {
    conditions.push(sql`h.number < (SELECT b.number FROM usage_holds b WHERE b.id = ${before})`);
  }
  const rows = await database.read<HoldRow>(
    sql`${selectHolds(joinSql(conditions, " AND "))} ORDER BY h.number DESC LIMIT ${limit}`,
  );
  return rows.map(parseHold);
}

/** A change by an API key, or by an operator, whom the writer checks. */
interface ChangedHold {
  readonly id: string;
  readonly keyHash: string | null;
  /** Those of the key that the client's address was checked against. */
  readonly addresses: string | null;
  readonly now: number;
}

const mayChange = ({ keyHash, addresses, now }: ChangedHold) =>
  keyHash === null ? sql`true` : sql`(h.held_by = 'key' AND EXISTS (SELECT 1 FROM api_keys k
      JOIN organizations o ON o.id = k.organization_id
      WHERE k.key_hash = ${keyHash} AND o.number = abs(h.organization) AND ${workingApiKey(now)}
        AND k.addresses IS ${addresses} AND ${
    keyMay("usage:write")
  } AND (k.environment = 'test') = (h.organization < 0)))`;

/** Releases a hold that is active, or that has expired. The last statement but one changes its row if it does. */
export function releaseHold(change: ChangedHold): Statement[] {
  return [
    sql`INSERT INTO usage_holds_ending (hold) SELECT h.number FROM usage_holds h
      WHERE h.id = ${change.id} AND h.status = 'active' AND ${mayChange(change)}`,
    subtractHeld,
    forgetEnding,
    sql`UPDATE usage_holds AS h SET status = 'released', ended_at = coalesce(h.ended_at, CAST(iif(${
      isOver(sql`${change.now}`)
    }, h.expires_at, ${change.now}) AS INTEGER)),
        kept_until = CAST(${change.now} AS INTEGER) + ${integer(holdKeptMs)}
      WHERE h.id = ${change.id} AND h.status IN ('active', 'expired') AND ${mayChange(change)}`,
  ];
}

/** Extends an active hold, if that is later, while its key works and its organization isn't suspended. */
export const extendHold = (change: ChangedHold & { readonly expiresAt: number }): Statement =>
  sql`UPDATE usage_holds AS h SET expires_at = max(h.expires_at, CAST(${change.expiresAt} AS INTEGER))
    WHERE h.id = ${change.id} AND h.status = 'active' AND h.expires_at > ${change.now} AND ${
    mayChange(change)
  }
      AND (h.api_key IS NULL OR EXISTS (SELECT 1 FROM api_keys k WHERE k.number = h.api_key AND ${
    workingApiKey(change.now)
  }))
      AND EXISTS (SELECT 1 FROM organizations o WHERE o.number = abs(h.organization) AND o.suspended_at IS NULL)`;

/** Selects a hold after a change of its batch, for {@linkcode parseHold}. */
export const selectHold = (id: string): Statement => selectHolds(sql`h.id = ${id}`);

/** Finds holds whose records are due because they have expired. */
export async function findHoldsToRecord(
  database: DatabaseReader,
  { now, limit }: { now: number; limit: number },
): Promise<StoredHold[]> {
  const rows = await database.read<HoldRow>(
    sql`${
      selectHolds(sql`h.status = 'active' AND h.expires_at <= ${now} AND h.is_recorded_on_expiry = 1
      AND EXISTS (SELECT 1 FROM organizations o WHERE o.number = abs(h.organization) AND o.deleted_at IS NULL)`)
    } ORDER BY h.expires_at LIMIT ${limit}`,
  );
  return rows.map(parseHold);
}

/** A condition: a hold has expired and is still active. */
export const hasExpiredHolds = (now: number): Statement =>
  sql`EXISTS (SELECT 1 FROM usage_holds WHERE status = 'active' AND expires_at <= ${now})`;

const endSome = endExpiredHolds(sql`h.number IN (SELECT x.number FROM usage_holds x
    WHERE x.status = 'active' AND x.expires_at <= ?1 AND x.is_recorded_on_expiry = 0 LIMIT 1000)`);

/** Ends some holds that have expired. Nothing depends on it: they count for nothing since they have expired. */
export async function endSomeExpired(database: Pick<Database, "write">, now: number): Promise<void> {
  await database.write(endSome(now));
}

/** Deletes holds that are not kept any longer. Returns how many. */
export async function deleteOldHolds(
  database: Pick<Database, "write">,
  { now, limit }: { now: number; limit: number },
): Promise<number> {
  const [result] = await database.write([
    sql`DELETE FROM usage_holds WHERE number IN
      (SELECT number FROM usage_holds WHERE kept_until <= ${now} LIMIT ${limit})`,
  ]);
  return result?.changes ?? 0;
}

/** Deletes some holds of an organization, given by its number, with those of its test keys. */
export const deleteHolds = ({ organization, rows }: { organization: Statement; rows: number }): Statement =>
  sql`DELETE FROM usage_holds WHERE number IN (SELECT number FROM usage_holds
    WHERE ${isUsageOf(sql`organization`, organization, ofAnyKey)} LIMIT ${rows})`;

export const hasOldHolds = (now: number): Statement =>
  sql`SELECT 1 FROM usage_holds WHERE kept_until <= ${now} LIMIT 1`;

/**
 * Selects a JSON list of the limits that reject, in the windows of settled holds, with what counts there and what the settlement itself
 * does: `Beyond`. Counters that lack earlier usage have what was counted so far, because settlements wait for no counter.
 *
 * @param holds Has the holds `h`. @param condition Without it, none are selected.
 */
export const selectBeyond = (holds: Statement, now: Statement, condition = sql`true`): Statement => {
  const raised = raisedQuantity(sql`o.number`, now, sql`d.window_number`);
  return sql`SELECT ${beyondList(selectHeld(ofWindow(sql`d.window_number`), now), raised)} AS list
    FROM (
      SELECT h.id, o.number AS organization, l.number AS usage_limit, ${windowOfHold} AS window_number, ${heldSums}
      FROM ${holds} CROSS JOIN organizations o ON o.number = h.organization
      CROSS JOIN json_each(coalesce(h.settlement, '[]')) p CROSS JOIN usage_limits l ON ${
    isApplied({
      lineage: sql`h.lineage`,
      series: { productSlug: sql`(p.value ->> 0)`, metric: sql`(p.value ->> 1)` },
    })
  } AND l.mode <> 'soft' WHERE ${condition} GROUP BY 1, 2, 3
    ) d CROSS JOIN usage_limits l ON l.number = d.usage_limit CROSS JOIN organizations o ON o.number = d.organization
    CROSS JOIN usage_limit_counters n ON n.usage_limit = l.number AND n.organization = o.number
      AND n.window_number = d.window_number AND n.opened_seq >= ${countedSeq}`;
};

/** True if an organization is suspended. */
export async function isSuspendedNow(database: DatabaseReader, organizationId: string): Promise<boolean> {
  return await database.readFirst(
    sql`SELECT 1 FROM organizations o WHERE o.id = ${organizationId} AND ${isSuspended}`,
  ) !==
    undefined;
}

/** As {@linkcode selectBeyond}, of one hold. */
export async function findBeyond<T>(database: DatabaseReader, id: string, now: number): Promise<T[]> {
  const parts = [sql`(SELECT * FROM usage_holds WHERE id = ${id}) h`, sql`CAST(${now} AS INTEGER)`] as const;
  const rows = await database.read<{ list: string }>(
    sql`${selectBeyond(...parts)} UNION ALL ${selectBeyondOfValues(...parts)}`,
  );
  return rows.flatMap(({ list }) => JSON.parse(list));
}
