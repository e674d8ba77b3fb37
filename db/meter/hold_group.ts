// The SQL of holds and settlements: one group of requests in one transaction, with a fixed number of statements. What a group holds is
// inserted as if it were recorded, counted as held, and deleted again, so that the same statements decide what fits. Settlements are
// records that no limit rejects. In all texts ?3 is the time and ?4 the list of requests.
import { apiKeyUsedIntervalMs } from "../../domain/limits.ts";
import { holdKeptExpiredMs, holdKeptMs, type StoredHold } from "../../domain/meter/hold.ts";
import {
  activeOperatorToken,
  effectiveNumber,
  keyMay,
  operatorGuard,
  rejectWrite,
  workingApiKey,
} from "../access/mod.ts";
import { bind, type Database, integer, sql, type Statement } from "../engine/database.ts";
import { numberOfKeysUsage } from "./environments.ts";
import { forgetEnding, type HeldColumns, subtractHeld } from "./hold_counts.ts";
import { holdJson, selectBeyond } from "./holds.ts";
import { type RecordGroup, targetsBy } from "./record_group.ts";
import {
  addRecords,
  type LimitedSeries,
  moveCursor,
  readTargets,
  type RecordOutcome,
  rowsOf,
  selectUnlisted,
  statementsFor,
} from "./recorder.ts";
import { countAgainstLimits, type Counted, type LimitState } from "./recorder_limits.ts";
import { isCounter } from "./open_counters.ts";
import { addUp } from "./rollups.ts";
import { comparable, limitQuantity } from "./usage_limits.ts";
import { selectBeyondOfValues } from "./value_limit_standings.ts";
import { addNewHolds } from "./value_limits.ts";

/** A new hold. `start`: the position of its first record in the group. `records`: see `holdRecordsText`. */
export interface NewHold
  extends Pick<StoredHold, "id" | "heldBy" | "expiresInMs" | "idempotencyKey" | "records"> {
  readonly start: number;
  readonly target: string;
  readonly isRecordedOnExpiry: boolean;
  /** The operator token that holds. Null for a key, and for other operators, whom the writer checks. */
  readonly token: HoldingToken | null;
}

export interface HoldingToken {
  readonly id: string;
  readonly scope: string;
}

/** The end of a hold. `start`: null without records. `keyHash`: of the key that settles it; null for an operator or its expiry. */
export interface Settlement extends Pick<StoredHold, "id"> {
  readonly start: number | null;
  readonly keyHash: string | null;
  /** Those of the key that the client's address was checked against. */
  readonly addresses: string | null;
  /** The operator token that settles. Null for a key, for other operators, whom the writer checks, and for its expiry. */
  readonly token: HoldingToken | null;
  readonly records: string;
  /** True if its own records are recorded because it expired. */
  readonly isExpiry: boolean;
}

/** The requests of the group that were held or settled, in the transaction; and the holds as they are afterwards, by request. */
export interface HoldOutcome {
  readonly outcome: RecordOutcome;
  readonly chosen: ReadonlySet<number>;
  readonly holds: ReadonlyMap<number, StoredHold>;
}

export interface Beyond {
  readonly id: string;
  readonly limitId: string;
  readonly own: readonly [string, string, string];
  readonly used: readonly [string, string, string];
  /** For `parseHeld`. */
  readonly held: HeldColumns;
  readonly whole: string;
  readonly micro: string;
}

const now = sql`CAST(?3 AS INTEGER)`;
const part = (index: number) => sql`(e.value ->> ${integer(index)})`;
/** The first record of a request was inserted, and so were all. */
const isInserted = (start: Statement) =>
  sql`EXISTS (SELECT 1 FROM usage_records r WHERE r.seq = (SELECT seq FROM usage_cursor) + ${start} + 1)`;
const chosen = sql`(SELECT request FROM usage_hold_requests)`;
const selectChosen = sql`SELECT json_group_array(request) AS list FROM usage_hold_requests`;

function holdStatements(by: RecordGroup["by"]) {
  const { join, denial } = targetsBy[by];
  const target = part(2);
  const from = sql`FROM json_each(?4) e ${join(target)}`;
  const isOpen = sql`${denial(target)} IS NULL`;
  return {
    /** Requests with an idempotency key that no hold has, up to the number of active holds. Those that have expired don't count. */
    choose: sql`INSERT INTO usage_hold_requests (request)
      SELECT request FROM (
        SELECT request, row_number() OVER (PARTITION BY organization ORDER BY request) + iif(active < most - json_array_length(?4), 0, active - (SELECT count(*) FROM usage_holds x WHERE x.organization = f.organization
            AND x.status = 'active' AND x.expires_at <= ${now} AND x.is_recorded_on_expiry = 0)) AS rank, most
        FROM (SELECT ${
      part(0)
    } AS request, ${numberOfKeysUsage} AS organization, coalesce(c.active, 0) AS active,
            ${effectiveNumber("holdsMax")} AS most
          ${from} LEFT JOIN usage_hold_counts c ON c.organization = ${numberOfKeysUsage}
          WHERE ${isOpen} AND NOT EXISTS (SELECT 1 FROM usage_holds h
            WHERE h.organization = ${numberOfKeysUsage} AND h.idempotency_key = ${part(4)})) f
      ) WHERE rank <= most`,
    /** Holds with the idempotency keys of requests. */
    selectExisting: sql`SELECT json_group_array(json_object('request', ${part(0)}, ${holdJson})) AS list
      ${from} CROSS JOIN usage_holds h ON h.organization = ${numberOfKeysUsage} AND h.idempotency_key = ${
      part(4)
    }
      WHERE ${isOpen}`,
    insert: sql`INSERT INTO usage_holds (id, organization, api_key, lineage, held_by, status, records,
        is_recorded_on_expiry, created_at, expires_in, expires_at, idempotency_key)
      SELECT ${part(3)}, ${numberOfKeysUsage}, k.number, k.lineage, ${part(8)}, 'active', ${part(5)}, ${
      part(6)
    },
        ${now}, ${part(7)}, ${now} + ${part(7)}, ${part(4)}
      ${from} WHERE ${part(0)} IN ${chosen} AND ${isInserted(part(1))} ORDER BY e.key`,
    selectHeld: sql`SELECT json_group_array(json_object('request', ${part(0)}, ${holdJson})) AS list
      FROM json_each(?4) e CROSS JOIN usage_holds h ON h.id = ${part(3)}`,
  };
}
const holdStatementsBy = new Map<string, ReturnType<typeof holdStatements>>();

const keepSeries = sql`UPDATE usage_series SET is_held = 1 WHERE is_held = 0 AND id IN
    (SELECT r.series FROM usage_records r WHERE r.seq > (SELECT seq FROM usage_cursor))`;

/** Starts a batch with the statements that a group of records has first. */
function startBatch(group: RecordGroup, list: string) {
  const statements = statementsFor(group);
  const batch: Statement[] = [bind(statements.selectTargets, JSON.stringify(group.targets), null, group.now)];
  /** Returns the statement's position in the batch. */
  const add = (statement: Statement) => batch.push(statement) - 1;
  const seriesAndTime = [JSON.stringify(group.series), group.now] as const;
  const values = [JSON.stringify(group.records), ...seriesAndTime] as const;
  return {
    statements,
    batch,
    add,
    values,
    addSeries() {
      const unlistedAt = group.isCatalogueRequired ? add(bind(selectUnlisted, null, seriesAndTime[0])) : -1;
      const limitedAt = add(bind(statements.selectLimited, null, ...seriesAndTime));
      add(bind(statements.insertSeries, null, ...seriesAndTime));
      return { unlistedAt, limitedAt };
    },
    listed: (statement: Statement) => add(bind(statement, null, null, group.now, list)),
    count(counted: Omit<Counted, "hasHolds" | "questions" | "byValue">) {
      add(addRecords);
      const { limits, byValue } = statements;
      const { questions } = group;
      return countAgainstLimits(add, limits, values, { ...counted, hasHolds: true, questions, byValue });
    },
    deleteSeries: () =>
      add(bind(statements.deleteUnusedSeries, null, ...seriesAndTime, group.records.length)),
  };
}

/** Notes that the keys of targets were used. */
function noteUse(group: RecordGroup, targets: readonly string[]): Statement[] {
  const { updateKeysUsed } = statementsFor(group);
  return updateKeysUsed === undefined || targets.length === 0
    ? []
    : [bind(updateKeysUsed, JSON.stringify(targets), group.now - apiKeyUsedIntervalMs, group.now)];
}

/** Returns statements that undo a batch if an operator token that holds doesn't work anymore. */
function tokensOf(holds: readonly NewHold[], now: number): Statement[] {
  const tokens = new Map(
    holds.flatMap(({ token }) => token === null ? [] : [[`${token.id} ${token.scope}`, token]]),
  );
  return [...tokens.values()].map(({ id, scope }) => rejectWrite(operatorGuard({ tokenId: id, scope, now })));
}

/**
 * Makes the holds of a group, each whole or not at all. Those with a known idempotency key, or without room, are left out.
 *
 * @throws {DatabaseError} `constraint`, with nothing written, if an operator token that holds doesn't work anymore.
 */
export async function insertHolds(
  database: Pick<Database, "write">,
  group: RecordGroup,
  holds: readonly NewHold[],
): Promise<HoldOutcome> {
  let own = holdStatementsBy.get(group.by);
  if (own === undefined) holdStatementsBy.set(group.by, own = holdStatements(group.by));
  const list = JSON.stringify(holds.map((hold, request) => [
    request,
    hold.start,
    hold.target,
    hold.id,
    hold.idempotencyKey,
    hold.records,
    hold.isRecordedOnExpiry ? 1 : 0,
    hold.expiresInMs,
    hold.heldBy,
  ]));
  const { statements, batch, add, values, addSeries, listed, count, deleteSeries } = startBatch(group, list);
  const { unlistedAt, limitedAt } = addSeries();
  listed(own.choose);
  const chosenAt = add(selectChosen);
  const hasKeys = holds.some(({ idempotencyKey }) => idempotencyKey !== null);
  const existingAt = hasKeys ? listed(own.selectExisting) : -1;
  const insertedAt = add(bind(statements.insertListed, ...values));
  const [deletedAt, limitsAt] = count({
    as: "holds",
    more: [
      bind(own.insert, null, null, group.now, list),
      // Nothing is used yet.
      sql`UPDATE usage_limit_added SET sum_high = 0, sum_low = 0, sum_micro = 0`,
      ...(statements.byValue === undefined ? [] : [
        bind(addNewHolds, null, null, null, list),
        sql`UPDATE usage_value_added SET sum_high = 0, sum_low = 0, sum_micro = 0`,
      ]),
    ],
  });
  const heldAt = listed(own.selectHeld);
  add(keepSeries);
  deleteSeries();
  add(sql`DELETE FROM usage_added`);
  add(sql`DELETE FROM usage_hold_requests`);
  add(sql`DELETE FROM usage_records WHERE seq > (SELECT seq FROM usage_cursor)`);
  batch.push(...noteUse(group, group.targets), ...tokensOf(holds, group.now));
  const results = await database.write(batch, { bypassesQueueLimit: true });
  const { found, facts, firstSeq } = readTargets(results);
  return {
    outcome: {
      isComplete: true,
      hasDeletedSeries: false,
      targets: found,
      existing: [],
      limited: rowsOf<LimitedSeries>(results, limitedAt).sort((a, b) => a.position - b.position),
      unlisted: rowsOf(results, unlistedAt),
      inserted: (results[insertedAt]?.changes ?? 0) - (results[deletedAt]?.changes ?? 0),
      ...facts,
      limits: limitsAt.flatMap((at) => rowsOf<LimitState>(results, at)),
      firstSeq,
    },
    chosen: new Set(rowsOf<number>(results, chosenAt)),
    holds: byRequest([
      ...rowsOf<HoldOfRequest>(results, existingAt),
      ...rowsOf<HoldOfRequest>(results, heldAt),
    ]),
  };
}

type HoldOfRequest = StoredHold & { readonly request: number };

function byRequest(holds: readonly HoldOfRequest[]): Map<number, StoredHold> {
  return new Map(holds.map(({ request, ...hold }) => [request, hold]));
}

const holdOf = sql`CROSS JOIN usage_holds h ON h.id = ${part(2)}`;
/** Requests whose hold can be settled, by whom they come from. */
const chooseSettlements = sql`INSERT INTO usage_hold_requests (request, hold)
  SELECT ${part(0)}, h.number FROM json_each(?4) e ${holdOf}
  CROSS JOIN organizations o ON o.number = abs(h.organization) AND o.deleted_at IS NULL
  WHERE iif(${part(5)}, h.status = 'active' AND h.is_recorded_on_expiry AND h.expires_at <= ${now},
      h.status IN ('active', 'expired') AND h.created_at > ${now} - ${integer(holdKeptExpiredMs)})
    AND (${part(3)} IS NULL OR (h.held_by = 'key' AND EXISTS (SELECT 1 FROM api_keys k
      WHERE k.key_hash = ${part(3)} AND k.addresses IS ${part(6)} AND k.organization_id = o.id AND ${
  workingApiKey(now)
} AND ${keyMay("usage:write")}
        AND (k.environment = 'test') = (h.organization < 0))))
    AND (${part(7)} IS NULL OR EXISTS (SELECT 1 FROM operator_tokens t WHERE t.id = ${part(7)}
      AND ${activeOperatorToken(now)} AND ${part(8)} IN (SELECT value FROM json_each(t.scopes))))`;
const dropRejected = sql`DELETE FROM usage_hold_requests WHERE request IN (
    SELECT ${part(0)} FROM json_each(?4) e WHERE ${part(1)} IS NOT NULL AND NOT ${isInserted(part(1))})`;
const markEnding = sql`INSERT OR IGNORE INTO usage_holds_ending (hold) SELECT hold FROM usage_hold_requests`;
const endSettled = sql`UPDATE usage_holds AS h SET status = iif(${
  part(5)
}, 'recorded', 'settled'), ended_at = ${now},
    kept_until = iif(${part(5)}, h.created_at + ${integer(holdKeptExpiredMs)}, ${now} + ${
  integer(holdKeptMs)
}),
    settlement = ${part(4)}, first_seq = (SELECT seq FROM usage_cursor) + ${part(1)} + 1,
    recorded_at = iif(${part(1)} IS NULL, NULL, ${now})
  FROM json_each(?4) e WHERE h.id = ${part(2)} AND ${part(0)} IN ${chosen}`;
const selectEnded = sql`SELECT json_group_array(json_object('request', ${part(0)}, ${holdJson})) AS list
  FROM json_each(?4) e ${holdOf}`;
const holdsOfGroup = sql`usage_hold_requests q CROSS JOIN usage_holds h ON h.number = q.hold`;
const selectBeyondOfGroup = selectBeyond(
  holdsOfGroup,
  now,
  // Usually, all windows of the group have room, and nothing else is read.
  sql`EXISTS (SELECT 1 FROM usage_limit_added a CROSS JOIN usage_limit_counters n ON ${isCounter}
      CROSS JOIN usage_limits l ON l.number = a.usage_limit AND l.mode <> 'soft' WHERE ${
    comparable(
      sql`(n.sum_high + n.held_high)`,
      sql`(n.sum_low + n.held_low)`,
      sql`(n.sum_micro + n.held_micro)`,
    )
  } > ${limitQuantity})`,
);
const selectBeyondOfGroupByValue = selectBeyondOfValues(holdsOfGroup, now);

/** Records what holds are settled with, and ends them, each with all of its records or not at all. */
export async function settleHolds(
  database: Pick<Database, "write">,
  group: RecordGroup,
  settlements: readonly Settlement[],
): Promise<HoldOutcome & { readonly beyond: readonly Beyond[] }> {
  const list = JSON.stringify(
    settlements.map(({ id, start, keyHash, addresses, token, records, isExpiry }, request) => [
      request,
      start,
      id,
      keyHash,
      records,
      isExpiry ? 1 : 0,
      addresses,
      token?.id ?? null,
      token?.scope ?? null,
    ]),
  );
  const { statements, batch, add, values, addSeries, listed, count, deleteSeries } = startBatch(group, list);
  const { unlistedAt, limitedAt } = addSeries();
  listed(chooseSettlements);
  const insertedAt = add(bind(statements.insertListed, ...values));
  listed(dropRejected);
  const [, limitsAt, beyondAt] = count({
    as: "settlement",
    select: bind(selectBeyondOfGroup, null, null, group.now),
    more: [markEnding, subtractHeld, bind(endSettled, null, null, group.now, list), forgetEnding],
  });
  const chosenAt = add(selectChosen);
  const endedAt = listed(selectEnded);
  const beyondOfValuesAt = statements.byValue === undefined
    ? []
    : [add(bind(selectBeyondOfGroupByValue, null, null, group.now))];
  add(sql`DELETE FROM usage_hold_requests`);
  batch.push(...addUp(group.hasDimensions));
  deleteSeries();
  add(bind(moveCursor, group.records.length, 0));
  const keyHashes = [...new Set(settlements.flatMap(({ keyHash }) => keyHash ?? []))];
  batch.push(...noteUse({ ...group, by: "keys" }, keyHashes));
  const results = await database.write(batch, { bypassesQueueLimit: true });
  const { found, facts, firstSeq } = readTargets(results);
  return {
    outcome: {
      isComplete: true,
      hasDeletedSeries: false,
      targets: found,
      existing: [],
      limited: rowsOf<LimitedSeries>(results, limitedAt).sort((a, b) => a.position - b.position),
      unlisted: rowsOf(results, unlistedAt),
      inserted: results[insertedAt]?.changes ?? 0,
      ...facts,
      limits: limitsAt.flatMap((at) => rowsOf<LimitState>(results, at)),
      firstSeq,
    },
    chosen: new Set(rowsOf<number>(results, chosenAt)),
    holds: byRequest(rowsOf<HoldOfRequest>(results, endedAt)),
    beyond: [beyondAt, ...beyondOfValuesAt].flatMap((at) => rowsOf<Beyond>(results, at)),
  };
}
