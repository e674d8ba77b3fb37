// SQL that reads and writes refills, and writes the grants of their next turns ahead. A turn is written once on any number of servers:
// each batch holds only if the refill is as it was read.
import { newId } from "../../domain/id.ts";
import {
  type GivenTurn,
  type RefillPeriod,
  type RefillTurn,
  refillTurns,
} from "../../domain/meter/usage_refill.ts";
import { type Audited, ifAudited } from "../access/mod.ts";
import { type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";
import { recheckLimits } from "./limit_rows.ts";
import { openCounters } from "./open_counters.ts";
import { hasRoom, type NewGrant, startBalance, type UsageGrantRow } from "./usage_grant_rows.ts";
import { isAccount, neverEnds, nextTurn } from "./usage_grants.ts";
import { isApplied, windowAt } from "./usage_limits.ts";

/** The terms on which a grant repeats. */
interface Refilled {
  readonly every: RefillPeriod;
  readonly rollover: 0 | 1;
  readonly until: number | null;
}

export type UsageRefillRow =
  & Omit<UsageGrantRow, keyof Refilled | "used" | "startsAt" | "expiresAt" | "refillId" | "idempotencyKey">
  & Refilled;

const selectFrom = (condition: Statement) =>
  sql`SELECT r.id, r.limit_id AS limitId, nullif(r.product_slug, '') AS productSlug, nullif(r.metric, '') AS metric,
    r.per, CAST(r.quantity_micros AS TEXT) AS quantity, r.every, r.rollover, nullif(r.ends_at, ${
    integer(neverEnds)
  }) AS until,
    r.created_at AS createdAt, r.voided_at AS voidedAt, r.reason, r.void_reason AS voidReason
  FROM organizations o CROSS JOIN usage_refills r ON r.organization = o.number WHERE ${condition}`;

/** Selects one refill of an organization. */
export const selectRefill = (organizationId: string, id: string): Statement =>
  selectFrom(sql`o.id = ${organizationId} AND r.id = ${id}`);

/** Finds refills of an organization, the newest first, from after the id `before`. */
export function findRefills(
  database: DatabaseReader,
  organizationId: string,
  { limit, before = null }: { limit: number; before?: string | null | undefined },
): Promise<UsageRefillRow[]> {
  return database.read(
    sql`${
      selectFrom(sql`o.id = ${organizationId} AND (${before} IS NULL OR r.id < ${before})`)
    } ORDER BY r.id DESC LIMIT ${limit}`,
  );
}

export type NewRefill = Omit<NewGrant, "expiresAt"> & Refilled;

/** Inserts a refill of a limit, unless its idempotency key is taken, or too many refills or grants of the limit are active. */
export function insertRefill(
  organizationId: string,
  { id, limitId, quantity, every, rollover, until, reason, idempotencyKey }: NewRefill,
  { now, grantsMax, refillsMax }: { now: number; grantsMax: number; refillsMax: number },
): Statement {
  const whole = sql`CAST(${quantity.whole} AS INTEGER)`;
  return sql`
    INSERT INTO usage_refills (id, organization, limit_id, product_slug, metric, per, quantity_micros, every, rollover,
      ends_at, created_at, reason, write_at)
    SELECT ${id}, o.number, l.id, l.product_slug, l.metric, l.per,
      ${whole} * 1000000 + CAST(${quantity.micro} AS INTEGER), ${every}, ${rollover}, ${
    until ?? neverEnds
  }, ${now},
      ${reason}, 0
    FROM organizations o CROSS JOIN usage_limits l ON l.id = ${limitId} AND ${isApplied()}
    WHERE o.id = ${organizationId} AND o.deleted_at IS NULL AND ${hasRoom({ now, activeMax: grantsMax })}
      AND (SELECT count(*) FROM usage_refills r WHERE r.organization = o.number AND r.product_slug = l.product_slug
        AND r.metric = l.metric AND r.per = l.per AND r.voided_at IS NULL AND r.ends_at > ${now}) < ${refillsMax}
      AND NOT EXISTS (SELECT 1 FROM usage_grants g WHERE g.organization = o.number
        AND g.idempotency_key = ${idempotencyKey})`;
}

interface Schedule extends Refilled {
  readonly timezone: string;
}

/** After an audited refill: its first grants, of which the current one has the idempotency key. */
export function insertFirstTurns(
  { id, idempotencyKey, ...schedule }: Schedule & { readonly id: string; readonly idempotencyKey: string },
  { now, audited }: Audited,
): Statement[] {
  const turns = refillTurns(schedule, { turns: [], last: null, now });
  const isNew = sql`r.id = ${id} AND ${ifAudited(audited)}`;
  return [
    upsertTurns(turns, { now, isRefill: isNew, firstKey: idempotencyKey }),
    setNextTurns(sql`(SELECT r.organization FROM usage_refills r WHERE ${isNew})`, now),
    setWriteAt(turns, { now, isRefill: isNew, timezone: schedule.timezone }),
  ];
}

/** Inserts the grants of turns, or moves those that haven't started, and the ends of those that have. */
function upsertTurns(
  turns: readonly RefillTurn[],
  { now, isRefill, firstKey = null }: { now: number; isRefill: Statement; firstKey?: string | null },
): Statement {
  const list = turns.map((turn, at) => {
    const id = newId("gra");
    // A caller can't have used the key of a grant that nobody asked for.
    return { ...turn, id, key: at === 0 && firstKey !== null ? firstKey : id };
  });
  return sql`
    INSERT INTO usage_grants (id, organization, limit_id, product_slug, metric, per, quantity_micros, created_at,
      starts_at, ends_at, reason, idempotency_key, refill, turn)
    SELECT e.value ->> 'id', r.organization, r.limit_id, r.product_slug, r.metric, r.per, r.quantity_micros, ${now},
      e.value ->> 'startsAt', e.value ->> 'endsAt', r.reason, e.value ->> 'key', r.number, e.value ->> 'turn'
    FROM usage_refills r CROSS JOIN json_each(${JSON.stringify(list)}) e WHERE ${isRefill} ORDER BY e.key
    ON CONFLICT (refill, turn) WHERE refill IS NOT NULL DO UPDATE SET
      starts_at = iif(starts_at > ${now}, excluded.starts_at, starts_at),
      ends_at = iif(ends_at > ${now}, excluded.ends_at, ends_at)`;
}

/** Notes when the next grants of an organization start, for each scope. */
export const setNextTurns = (organization: Statement, now: number): Statement =>
  sql`UPDATE usage_grant_accounts AS t SET turn_at = ${nextTurn(sql`CAST(${now} AS INTEGER)`)}
    WHERE t.organization = ${organization} AND t.turn_at > ${now}`;

/** Notes when the next grants of a refill are due: when its next turn begins, or immediately if the time zone is another one. */
const setWriteAt = (
  turns: readonly RefillTurn[],
  { now, isRefill, timezone }: { now: number; isRefill: Statement; timezone: string },
): Statement => {
  const starts = turns.filter(({ hasStarted, startsAt }) => !hasStarted && startsAt > now);
  const next = Math.min(neverEnds, ...starts.map(({ startsAt }) => startsAt));
  return sql`UPDATE usage_refills AS r SET write_at = iif(
      (SELECT o.timezone FROM organizations o WHERE o.number = r.organization) = ${timezone}, ${next}, 0)
    WHERE ${isRefill}`;
};

/** A refill that has grants to write or to move. */
export interface DueRefill extends Schedule {
  readonly number: number;
  readonly organization: number;
  readonly writeAt: number;
  /** The last turn with a grant. */
  readonly last: string | null;
  readonly turns: readonly GivenTurn[];
}

/** Grants `g` of recent turns, which are all that may not have ended: two months and a day at most. */
const isRecent = (now: number) => sql`g.turn > ${new Date(now - recentTurnsMs).toISOString().slice(0, 10)}`;
const recentTurnsMs = 70 * 86_400_000;

/** A condition: a refill has grants to write or to move. */
export const hasDueRefills = (now: number): Statement =>
  sql`EXISTS (SELECT 1 FROM usage_refills WHERE write_at <= ${now})`;

/** Finds the first one. */
export async function findDueRefill(database: DatabaseReader, now: number): Promise<DueRefill | undefined> {
  const row = await database.readFirst<Omit<DueRefill, "turns"> & { turns: string }>(sql`
    SELECT r.number, r.organization, r.every, r.rollover, nullif(r.ends_at, ${
    integer(neverEnds)
  }) AS until, o.timezone,
      r.write_at AS writeAt, (SELECT max(g.turn) FROM usage_grants g WHERE g.refill = r.number) AS last,
      (SELECT json_group_array(json_object('turn', g.turn, 'hasStarted', json(iif(g.starts_at <= ${now}, 'true', 'false'))))
        FROM usage_grants g WHERE g.refill = r.number AND ${isRecent(now)} AND g.ends_at > ${now}) AS turns
    FROM usage_refills r CROSS JOIN organizations o ON o.number = r.organization
    WHERE r.write_at <= ${now} ORDER BY r.write_at LIMIT 1`);
  return row && { ...row, turns: JSON.parse(row.turns) };
}

/**
 * Writes the grants of a refill's next turns, and moves those that haven't started, unless another server did. If a turn has begun since,
 * a new balance starts, and limits that have room again are looked for.
 */
export function writeTurns(refill: DueRefill, now: number): Statement[] {
  const { number, organization, writeAt, timezone } = refill;
  const turns = refillTurns(refill, { ...refill, now });
  const isRefill = sql`r.number = ${number} AND r.write_at = ${writeAt} AND r.voided_at IS NULL AND EXISTS (
    SELECT 1 FROM organizations o WHERE o.number = r.organization AND o.timezone = ${timezone})`;
  const listed = JSON.stringify(turns.map(({ turn }) => turn));
  return [
    upsertTurns(turns, { now, isRefill }),
    // A new time zone can move a turn to the refill's end.
    sql`DELETE FROM usage_grants AS g WHERE ${
      isRecent(now)
    } AND refill = (SELECT r.number FROM usage_refills r WHERE ${isRefill})
      AND starts_at > ${now} AND voided_at IS NULL AND turn NOT IN (SELECT value FROM json_each(${listed}))`,
    setNextTurns(sql`(SELECT r.organization FROM usage_refills r WHERE ${isRefill})`, now),
    sql`INSERT OR IGNORE INTO usage_limit_added
      (usage_limit, organization, window_number, at, sum_high, sum_low, sum_micro)
    SELECT l.number, o.number, ${windowAt(sql`CAST(${now} AS INTEGER)`)}, CAST(${now} AS INTEGER), 0, 0, 0
    FROM organizations o CROSS JOIN usage_grant_accounts t ON t.organization = o.number AND t.turn_at <= ${now}
    CROSS JOIN usage_limits l ON ${
      isAccount(sql`o.number`)
    } AND ${isApplied()} WHERE o.number = ${organization}`,
    openCounters,
    recheckLimits(
      { column: "organization", number: sql`${organization}` },
      sql`EXISTS (SELECT 1 FROM usage_limit_added)`,
    ),
    ...startBalance(now),
    setWriteAt(turns, { now, isRefill, timezone }),
  ];
}

/** Voids a refill that wasn't voided before. */
export const voidRefillRow = (
  organizationId: string,
  { id, reason, now }: { id: string; reason: string; now: number },
): Statement =>
  sql`UPDATE usage_refills SET voided_at = ${now}, void_reason = ${reason}, write_at = ${neverEnds}
    WHERE id = ${id} AND voided_at IS NULL
      AND organization = (SELECT o.number FROM organizations o WHERE o.id = ${organizationId})`;

/** After a refill was voided: its grants that haven't ended can't be used anymore. */
export const voidTurns = (
  { id, reason, organization }: { id: string; reason: string; organization: Statement },
  { now, audited }: Audited,
): Statement[] => [
  sql`UPDATE usage_grants SET voided_at = ${now}, void_reason = ${reason}
    WHERE refill = (SELECT r.number FROM usage_refills r WHERE r.id = ${id}) AND voided_at IS NULL
      AND ends_at > ${now} AND ${ifAudited(audited)}`,
  setNextTurns(organization, now),
];

/** Deletes the refills of an organization. */
export const deleteRefills = (organization: Statement): Statement =>
  sql`DELETE FROM usage_refills WHERE organization = ${organization}`;
