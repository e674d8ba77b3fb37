// All SQL of alerts: limits that organizations set for themselves.
import { splitQuantity } from "../../domain/meter/quantity.ts";
import { type Alert, type LimitScope, storedNotifyAt } from "../../domain/meter/usage_limit.ts";
import type { LimitException } from "../../domain/meter/value_limit.ts";
import { exceptionRows, exceptionsJson, lineageOf } from "./limit_rows.ts";
import { type Audited, currentKeyNumber, ifAudited } from "../access/mod.ts";
import { sql, type Statement } from "../engine/database.ts";
import { selectStandings, type StandingColumns } from "./limit_standings.ts";

export interface NewAlert extends LimitScope, Pick<Alert, "quantity"> {
  /** A key of the organization; null for all usage. */
  readonly apiKeyId: string | null;
  readonly notifyAt: readonly number[] | null;
  readonly values?: readonly LimitException[] | undefined;
}

export interface AlertColumns extends StandingColumns {
  /** JSON, like `apiKey`. */
  readonly notifyAt: string | null;
  /** The current key of the lineage. */
  readonly apiKey: string | null;
  readonly createdAt: number;
  readonly by: string | null;
  /** JSON for `parseExceptions`. */
  readonly exceptions: string;
}

/** Selects an organization's alerts, or the one with an id, as {@linkcode AlertColumns}. */
export const selectAlerts = (
  { organizationId, id, now }: { organizationId: string; id?: string | undefined; now: number },
): Statement =>
  selectStandings({
    columns:
      sql`l.notify_at AS notifyAt, l.created_at AS createdAt, nullif(l.property, '') AS "by", ${exceptionsJson} AS exceptions,
      (SELECT json_object('id', k.id, 'name', k.name) FROM api_keys k
        WHERE k.number = ${currentKeyNumber(sql`l.alert_lineage`, now)}) AS apiKey,`,
    from: sql`organizations o CROSS JOIN (SELECT CAST(${now} AS INTEGER) AS now) w`,
    applied: id === undefined ? sql`l.alert_of = o.number` : sql`l.alert_of = o.number AND l.id = ${id}`,
    now: sql`w.now`,
    condition: sql`o.id = ${organizationId}`,
  });

/** @param condition About the organization `o`. */
export function insertAlert(
  organizationId: string,
  { id, ...alert }: NewAlert & { id: string },
  { now, condition }: { now: number; condition: Statement },
): Statement {
  return sql`
    INSERT INTO usage_limits (id, alert_of, mode, ${written}, created_seq, created_at)
    SELECT ${id}, o.number, 'soft', ${values(alert)}, (SELECT seq FROM usage_cursor), ${now}
    FROM organizations o WHERE o.id = ${organizationId} AND o.deleted_at IS NULL AND ${condition}`;
}

/** Replaces the exceptions of an alert after an audited change. */
export const replaceExceptions = (
  id: string,
  exceptions: readonly LimitException[],
  { audited }: Pick<Audited, "audited">,
): Statement[] => {
  const number = sql`(SELECT number FROM usage_limits WHERE id = ${id} AND alert_of IS NOT NULL)`;
  return [
    sql`DELETE FROM usage_limit_exceptions WHERE usage_limit = ${number} AND ${ifAudited(audited)}`,
    sql`INSERT INTO usage_limit_exceptions (usage_limit, value, quantity_whole, quantity_micro)
      SELECT ${number}, x.value ->> 0, x.value ->> 1, x.value ->> 2
      FROM json_each(${JSON.stringify(exceptionRows(exceptions))}) x WHERE ${ifAudited(audited)}`,
  ];
};

export const hasRoomForAlert = (alertsMax: number): Statement =>
  sql`(SELECT count(*) FROM usage_limits WHERE alert_of = o.number) < ${alertsMax}`;

const isAlert = (organizationId: string, id: string) =>
  sql`id = ${id} AND alert_of = (SELECT number FROM organizations WHERE id = ${organizationId})`;

/** Changes an alert that counts the same as before. */
export const updateAlert = (organizationId: string, { id, ...alert }: NewAlert & { id: string }): Statement =>
  sql`UPDATE usage_limits SET (${written}) = (${values(alert)}) WHERE ${isAlert(organizationId, id)}`;

export const deleteAlertRow = (organizationId: string, id: string): Statement =>
  sql`DELETE FROM usage_limits WHERE ${isAlert(organizationId, id)}`;

/** Deletes the alerts of organizations after an audited change. @param ids Selects the organizations. */
export const deleteAlerts = (ids: Statement, { audited }: Audited): Statement =>
  sql`DELETE FROM usage_limits
    WHERE alert_of IN (SELECT number FROM organizations WHERE id IN (${ids})) AND ${ifAudited(audited)}`;

const written =
  sql`product_slug, metric, per, quantity_whole, quantity_micro, notify_at, alert_lineage, property`;

function values({ productSlug, metric, per, by, quantity, notifyAt, apiKeyId }: NewAlert): Statement {
  const { whole, micro } = splitQuantity(quantity) ?? {};
  const percentages = storedNotifyAt(notifyAt);
  return sql`${productSlug ?? ""}, ${metric ?? ""}, ${per}, ${whole ?? null}, ${micro ?? null},
    ${percentages && JSON.stringify(percentages)}, ${lineageOf(apiKeyId ?? "").number},
    ${by ?? ""}`;
}
