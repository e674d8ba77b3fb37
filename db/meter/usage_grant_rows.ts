// SQL that reads and writes grants. Their use is noted in usage_grants.ts.
import { lowBits, type Quantity } from "../../domain/meter/quantity.ts";
import type { LimitPeriod } from "../../domain/meter/usage_limit.ts";
import type { RefillPeriod } from "../../domain/meter/usage_refill.ts";
import { type Audited, ifAudited } from "../access/mod.ts";
import { bind, type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";
import { clearNotices } from "./limit_clearing.ts";
import { recheckLimits } from "./limit_rows.ts";
import { openCounters } from "./open_counters.ts";
import { isAccount, isOpen, neverEnds, nextTurn, takeFromGrants } from "./usage_grants.ts";
import { activeHolds, windowOfHold } from "./hold_counts.ts";
import { isApplied, windowAt } from "./usage_limits.ts";

export interface UsageGrantRow {
  readonly id: string;
  readonly limitId: string;
  readonly productSlug: string | null;
  readonly metric: string | null;
  readonly per: LimitPeriod;
  /** In millionths, as texts. */
  readonly quantity: string;
  readonly used: string;
  readonly createdAt: number;
  readonly startsAt: number;
  readonly expiresAt: number | null;
  readonly refillId: string | null;
  readonly every: RefillPeriod | null;
  readonly rollover: number | null;
  readonly until: number | null;
  readonly voidedAt: number | null;
  readonly reason: string;
  readonly voidReason: string | null;
  readonly idempotencyKey: string;
}

const selectFrom = (condition: Statement) =>
  sql`SELECT g.id, g.limit_id AS limitId, nullif(g.product_slug, '') AS productSlug, nullif(g.metric, '') AS metric,
    g.per, CAST(g.quantity_micros AS TEXT) AS quantity, CAST(g.used_micros AS TEXT) AS used, g.created_at AS createdAt,
    iif(g.starts_at = 0, g.created_at, g.starts_at) AS startsAt,
    nullif(g.ends_at, ${integer(neverEnds)}) AS expiresAt, r.id AS refillId, r.every, r.rollover,
    nullif(r.ends_at, ${integer(neverEnds)}) AS until, g.voided_at AS voidedAt, g.reason,
    g.void_reason AS voidReason, g.idempotency_key AS idempotencyKey
  FROM usage_grants g JOIN organizations o ON o.number = g.organization
  LEFT JOIN usage_refills r ON r.number = g.refill WHERE ${condition}`;

/** Selects one grant of an organization, by its id or its idempotency key. */
export const selectGrant = (
  organizationId: string,
  by: { readonly id: string } | { readonly idempotencyKey: string },
): Statement =>
  selectFrom(
    sql`o.id = ${organizationId} AND ${
      "id" in by ? sql`g.id = ${by.id}` : sql`g.idempotency_key = ${by.idempotencyKey}`
    }`,
  );

/** Selects one grant by its idempotency key, or a row of nulls. */
export const selectGrantOrNulls = (organizationId: string, idempotencyKey: string): Statement =>
  sql`SELECT f.* FROM (SELECT 1) LEFT JOIN (${selectGrant(organizationId, { idempotencyKey })}) f`;

/** Finds grants of an organization, the newest first, from after the id `before`. */
export function findGrants(
  database: DatabaseReader,
  organizationId: string,
  { limit, before = null }: { limit: number; before?: string | null | undefined },
): Promise<UsageGrantRow[]> {
  return database.read(
    sql`${
      selectFrom(sql`o.id = ${organizationId} AND (${before} IS NULL OR g.id < ${before})`)
    } ORDER BY g.id DESC LIMIT ${limit}`,
  );
}

export interface GrantedLimit extends Pick<UsageGrantRow, "productSlug" | "metric"> {
  /** Set if it is per value. */
  readonly by?: string | null;
}

/** Finds a limit that applies to an organization as a whole. */
export function findGrantedLimit(
  database: DatabaseReader,
  organizationId: string,
  limitId: string,
): Promise<GrantedLimit | undefined> {
  return database.readFirst(sql`
    SELECT nullif(l.property, '') AS "by", nullif(l.product_slug, '') AS productSlug, nullif(l.metric, '') AS metric
    FROM organizations o CROSS JOIN usage_limits l ON l.id = ${limitId} AND ${isApplied({ counts: "any" })}
    WHERE o.id = ${organizationId} AND o.deleted_at IS NULL`);
}

export interface NewGrant {
  readonly id: string;
  readonly limitId: string;
  readonly quantity: Quantity;
  readonly expiresAt: number | null;
  readonly reason: string;
  readonly idempotencyKey: string;
}

/** True if fewer grants of the organization `o` for the limit `l` can be used. */
export const hasRoom = ({ now, activeMax }: { now: number; activeMax: number }): Statement =>
  sql`(SELECT count(*) FROM usage_grants g
    CROSS JOIN (SELECT o.number AS organization, l.product_slug, l.metric, l.per) t WHERE ${
    isOpen(sql`CAST(${now} AS INTEGER)`)
  }) < ${activeMax}`;

/** Inserts a grant for a limit that applies, unless its idempotency key is taken or `activeMax` can be used. */
export function insertGrant(
  organizationId: string,
  { id, limitId, quantity, expiresAt, reason, idempotencyKey }: NewGrant,
  { now, activeMax }: { now: number; activeMax: number },
): Statement {
  const whole = sql`CAST(${quantity.whole} AS INTEGER)`;
  return sql`
    INSERT INTO usage_grants (id, organization, limit_id, product_slug, metric, per, quantity_micros, created_at,
      ends_at, reason, idempotency_key)
    SELECT ${id}, o.number, l.id, l.product_slug, l.metric, l.per,
      ${whole} * 1000000 + CAST(${quantity.micro} AS INTEGER), ${now}, ${expiresAt ?? neverEnds}, ${reason},
      ${idempotencyKey}
    FROM organizations o CROSS JOIN usage_limits l ON l.id = ${limitId} AND ${isApplied()}
    WHERE o.id = ${organizationId} AND o.deleted_at IS NULL AND ${hasRoom({ now, activeMax })}
    ON CONFLICT (organization, idempotency_key) DO NOTHING`;
}

/**
 * After an audited grant: it covers what is used beyond the limit already, percentages for notices count from here, and limits that
 * have room again are looked for. Windows share grants, so those of active holds are counted from here, too.
 */
export function applyGrant(
  { limitId, organization }: { limitId: string; organization: Statement },
  { now, audited }: Audited,
): Statement[] {
  return [
    sql`INSERT OR IGNORE INTO usage_limit_added
      (usage_limit, organization, window_number, at, sum_high, sum_low, sum_micro)
    SELECT l.number, o.number, ${windowAt(sql`CAST(${now} AS INTEGER)`)}, CAST(${now} AS INTEGER), 0, 0, 0
    FROM organizations o CROSS JOIN usage_limits l ON l.id = ${limitId}
    WHERE o.number = ${organization} AND ${ifAudited(audited)}
    UNION SELECT l.number, o.number, ${windowOfHold}, CAST(${now} AS INTEGER), 0, 0, 0
    FROM organizations o CROSS JOIN usage_limits l ON l.id = ${limitId} AND l.per <> 'total'
    CROSS JOIN ${activeHolds(windowOfHold)} WHERE o.number = ${organization} AND ${ifAudited(audited)}`,
    openCounters,
    bind(takeFromGrants, null, null, now),
    ...startBalance(now),
    recheckLimits({ column: "organization", number: organization }, ifAudited(audited)),
  ];
}

/** Starts a new balance for the limits of `usage_limit_added`, with its own percentages and notices. */
export function startBalance(now: number): Statement[] {
  return [
    sql`UPDATE usage_grant_accounts AS t
      SET mark_whole = n.sum_high * ${integer(2 ** lowBits)} + n.sum_low, mark_micro = n.sum_micro,
        mark_opened = iif(n.is_known OR t.per <> 'total', NULL, n.opened_seq), turn_at = ${
      nextTurn(sql`CAST(${now + 1} AS INTEGER)`)
    }
      FROM usage_limit_added a CROSS JOIN usage_limits l ON l.number = a.usage_limit
      CROSS JOIN usage_limit_counters n ON n.usage_limit = a.usage_limit AND n.organization = a.organization
        AND n.window_number = a.window_number
      WHERE ${isAccount(sql`a.organization`)}`,
    // A new balance starts over, even after a rejection with the previous one.
    ...clearNotices(sql`SELECT usage_limit, organization, window_number FROM usage_limit_added`, {
      now,
      after: "grant",
    }),
    sql`DELETE FROM usage_limit_added`,
  ];
}

/** Voids a grant that wasn't voided before: what is used of it stays, and the rest can't be used anymore. */
export const voidGrantRow = (
  organizationId: string,
  { id, reason, now }: { id: string; reason: string; now: number },
): Statement =>
  sql`UPDATE usage_grants SET voided_at = ${now}, void_reason = ${reason}
    WHERE id = ${id} AND voided_at IS NULL
      AND organization = (SELECT o.number FROM organizations o WHERE o.id = ${organizationId})`;
