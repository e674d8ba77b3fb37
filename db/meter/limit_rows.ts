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
import type { LimitException } from "../../domain/meter/value_limit.ts";
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
      json(l.notify_at), nullif(l.property, ''), ${exceptionsJson}))
    FROM (SELECT * FROM usage_limits WHERE ${columns[column]} = ${number} ORDER BY number) l)`;

/** The exceptions of the limit `l`. */
export const exceptionsJson =
  sql`(SELECT json_group_array(json_array(x.value, x.quantity_whole, x.quantity_micro))
    FROM usage_limit_exceptions x WHERE x.usage_limit = l.number)`;

type LimitColumns = [
  id: string,
  productSlug: string,
  metric: string,
  per: LimitPeriod,
  whole: number | null,
  micro: number | null,
  mode: LimitMode,
  notifyAt: number[] | null,
  by: string | null,
  exceptions: ExceptionColumns[],
];

type ExceptionColumns = [value: string, whole: number | null, micro: number | null];

function quantityOf(whole: number | null, micro: number | null): number | null {
  return whole === null || micro === null ? null : joinQuantity({ whole, micro });
}

/** Converts what {@linkcode exceptionsJson} selects, once parsed. */
export function toExceptions(rows: readonly ExceptionColumns[]): LimitException[] {
  return rows.map(([value, ...parts]) => ({ value, quantity: quantityOf(...parts) }));
}

/** Parses the limits that {@linkcode limitsJson} read, in the order in which they were set. */
export function parseLimits(text: string): OverrideLimit[] {
  const rows: LimitColumns[] = JSON.parse(text);
  return rows.map(([id, productSlug, metric, per, whole, micro, mode, notifyAt, by, exceptions]) => ({
    id,
    productSlug: productSlug || null,
    metric: metric || null,
    per,
    ...by !== null && {
      by,
      values: toExceptions(exceptions),
    },
    quantity: quantityOf(whole, micro),
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
  const rows = JSON.stringify(
    limits.map(({ productSlug, metric, per, by, quantity, mode, notifyAt, values = [] }) => {
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
        by ?? "",
        by ? exceptionRows(values) : [],
      ];
    }),
  );
  return [
    sql`DELETE FROM usage_limits WHERE ${owner} = ${number} AND ${ifAudited(audited)}
      AND (product_slug, metric, per, mode, property) NOT IN
        (SELECT r.value ->> 0, r.value ->> 1, r.value ->> 2, r.value ->> 5, r.value ->> 8 FROM json_each(${rows}) r)`,
    sql`INSERT INTO usage_limits (${owner}, product_slug, metric, per, quantity_whole, quantity_micro, mode, id,
        notify_at, property, created_seq, created_at)
      SELECT ${number}, r.value ->> 0, r.value ->> 1, r.value ->> 2, r.value ->> 3, r.value ->> 4, r.value ->> 5,
        r.value ->> 6, r.value ->> 7, r.value ->> 8, (SELECT seq FROM usage_cursor), ${now}
      FROM json_each(${rows}) r WHERE ${ifAudited(audited)} ORDER BY r.key
      ON CONFLICT (${owner}, product_slug, metric, per, property) WHERE ${owner} IS NOT NULL DO UPDATE SET
        quantity_whole = excluded.quantity_whole, quantity_micro = excluded.quantity_micro,
        notify_at = excluded.notify_at`,
    sql`DELETE FROM usage_limit_exceptions WHERE ${ifAudited(audited)}
      AND usage_limit IN (SELECT l.number FROM usage_limits l WHERE l.${owner} = ${number} AND l.property <> '')`,
    sql`INSERT INTO usage_limit_exceptions (usage_limit, value, quantity_whole, quantity_micro)
      SELECT l.number, x.value ->> 0, x.value ->> 1, x.value ->> 2 FROM json_each(${rows}) r
      CROSS JOIN json_each(r.value, '$[9]') x CROSS JOIN usage_limits l ON l.${owner} = ${number}
        AND (l.product_slug, l.metric, l.per, l.property)
          = (r.value ->> 0, r.value ->> 1, r.value ->> 2, r.value ->> 8)
      WHERE ${ifAudited(audited)}`,
    recheckLimits({ column, number }, ifAudited(audited)),
  ];
}

/** Exceptions as they are written. */
export function exceptionRows(values: readonly LimitException[]) {
  return values.map(({ value, quantity }) => {
    const { whole, micro } = (quantity === null ? null : splitQuantity(quantity)) ?? {};
    return [value, whole ?? null, micro ?? null];
  });
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
