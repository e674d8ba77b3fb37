// SQL that reads and writes the settings of limits. Counting against them is in other files.
import { joinQuantity, splitQuantity } from "../../domain/meter/quantity.ts";
import {
  defaultNotifyAt,
  type LimitMode,
  type LimitPeriod,
  type NewLimit,
  type OverrideLimit,
  storedNotifyAt,
} from "../../domain/meter/usage_limit.ts";
import { newId } from "../../domain/id.ts";
import { type Audited, ifAudited } from "../access/mod.ts";
import { sql, type Statement } from "../engine/database.ts";

/** The owner of limits, by its number. */
export interface LimitOwner {
  readonly column: keyof typeof columns;
  readonly number: Statement;
}

/** The owner of a key's budget: its lineage. */
export const lineageOf = (id: string): LimitOwner => ({
  column: "lineage",
  number: sql`(SELECT k.lineage FROM api_keys k WHERE k.id = ${id})`,
});

const columns = { plan: sql`plan`, organization: sql`organization`, lineage: sql`lineage` };

/** Selects the limits of an owner as one expression, for {@linkcode parseLimits}. */
export const limitsJson = ({ column, number }: LimitOwner): Statement =>
  sql`(SELECT json_group_array(json_array(l.id, l.product_slug, l.metric, l.per, l.quantity_whole, l.quantity_micro, l.mode,
      json(l.notify_at)))
    FROM (SELECT * FROM usage_limits WHERE ${columns[column]} = ${number} ORDER BY number) l)`;

type LimitColumns = [
  id: string,
  productSlug: string,
  metric: string,
  per: LimitPeriod,
  whole: number | null,
  micro: number | null,
  mode: LimitMode,
  notifyAt: number[] | null,
];

/** Parses the limits that {@linkcode limitsJson} read, in the order in which they were set. */
export function parseLimits(text: string): OverrideLimit[] {
  const rows: LimitColumns[] = JSON.parse(text);
  return rows.map(([id, productSlug, metric, per, whole, micro, mode, notifyAt]) => ({
    id,
    productSlug: productSlug || null,
    metric: metric || null,
    per,
    quantity: whole === null || micro === null ? null : joinQuantity({ whole, micro }),
    mode,
    notifyAt: notifyAt ?? defaultNotifyAt,
  }));
}

/**
 * Replaces limits after an audited change, and asks for those that have room again. One with the scope and the mode of an existing one
 * keeps its id and what counts against it.
 */
export function replaceLimits(
  { column, number }: LimitOwner,
  limits: readonly NewLimit[],
  { now, audited }: Audited,
): Statement[] {
  const owner = columns[column];
  const rows = JSON.stringify(limits.map(({ productSlug, metric, per, quantity, mode, notifyAt }) => {
    const percentages = storedNotifyAt(notifyAt);
    const parts = quantity === null ? null : splitQuantity(quantity);
    return [
      productSlug ?? "",
      metric ?? "",
      per,
      parts?.whole ?? null,
      parts?.micro ?? null,
      mode,
      newId("lim"),
      percentages && JSON.stringify(percentages),
    ];
  }));
  return [
    sql`DELETE FROM usage_limits WHERE ${owner} = ${number} AND ${ifAudited(audited)}
      AND (product_slug, metric, per, mode) NOT IN
        (SELECT r.value ->> 0, r.value ->> 1, r.value ->> 2, r.value ->> 5 FROM json_each(${rows}) r)`,
    sql`INSERT INTO usage_limits (${owner}, product_slug, metric, per, quantity_whole, quantity_micro, mode, id,
        notify_at, created_seq, created_at)
      SELECT ${number}, r.value ->> 0, r.value ->> 1, r.value ->> 2, r.value ->> 3, r.value ->> 4, r.value ->> 5,
        r.value ->> 6, r.value ->> 7, (SELECT seq FROM usage_cursor), ${now}
      FROM json_each(${rows}) r WHERE ${ifAudited(audited)} ORDER BY r.key
      ON CONFLICT (${owner}, product_slug, metric, per) WHERE ${owner} IS NOT NULL DO UPDATE SET
        quantity_whole = excluded.quantity_whole, quantity_micro = excluded.quantity_micro,
        notify_at = excluded.notify_at`,
    recheckLimits({ column, number }, ifAudited(audited)),
  ];
}

/**
 * Asks for a check of limits after a change, in its batch: for those that have room again, and for counters that lack earlier usage. It replaces one that waits: a step that reads
 * that one now may not see this change.
 *
 * @param condition The change was made.
 */
export function recheckLimits({ column, number }: LimitOwner, condition: Statement): Statement {
  if (column === "plan") {
    return sql`INSERT OR REPLACE INTO limit_rechecks (plan) SELECT ${number} WHERE ${condition}`;
  }
  const id = column === "organization" ? number : sql`(SELECT o.number FROM api_keys k
    JOIN organizations o ON o.id = k.organization_id WHERE k.lineage = ${number} LIMIT 1)`;
  return sql`INSERT OR REPLACE INTO limit_rechecks (organization) SELECT o.number FROM organizations o
    WHERE o.number = ${id} AND ${condition}`;
}
