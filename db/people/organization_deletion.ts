// Deletes the data of deleted organizations in steps of a few milliseconds, each one transaction: first the records, then the sums,
// which stay until their month is billed, last the organization's own row. Its keys were revoked when it was deleted, so no data is
// added. The numbers of the organization and its keys can be reused once their rows are gone, so these rows go last.
import {
  organizationEndApiKeysMax,
  organizationEndRecordsMax,
  organizationEndRollupsMax,
  organizationEndSeriesMax,
  usageTimestampFutureMaxMs,
} from "../../domain/limits.ts";
import { type Environment, environments } from "../../domain/environment.ts";
import { idempotencyKeyHash } from "../../domain/meter/usage_record.ts";
import { type Database, type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";
import {
  allMonths,
  countsOfOutcomes,
  deleteCountedSeries,
  deleteCountedValues,
  deleteCounts,
  deleteHolds,
  deleteIdempotencyKeys,
  deleteOutcomesOf,
  deleteRefills,
  deleteValueSeries,
  deleteWindowTakes,
  endAssignments,
  environmentOf,
  isUncounted,
  isUsageOf,
  ofAnyKey,
  usageNumbers,
} from "../meter/mod.ts";

/** In milliseconds since 1970. Sums of organizations that were deleted before `keptSince` are deleted in any case. */
interface OrganizationEndTimes {
  readonly now: number;
  readonly keptSince: number;
}

/** Null once another server has done the last step. Then the number may already be another organization's. */
const numberOf = (id: string): Statement =>
  sql`(SELECT number FROM organizations WHERE id = ${id} AND deleted_at IS NOT NULL)`;

/**
 * The sums of the organization `o` can go: there are none, or its last month is in a closed statement, or it was deleted long ago. Its
 * last records may be a little later than its deletion. No statement can be half written with them.
 */
const sumsCanGo = (keptSince: number): Statement =>
  sql`(o.sums_deleted_at IS NOT NULL OR o.series = 0
    OR (NOT EXISTS (SELECT 1 FROM statements WHERE status = 'closing')
      AND (o.deleted_at <= ${keptSince}
        OR EXISTS (SELECT 1 FROM statements t WHERE t.end_at > o.deleted_at + ${
    integer(usageTimestampFutureMaxMs)
  }))))`;

/** Finds a deleted organization with data that can be deleted now. */
export function findDeletedOrganization(
  database: DatabaseReader,
  { keptSince }: OrganizationEndTimes,
): Promise<{ id: string } | undefined> {
  return database.readFirst(sql`
    SELECT o.id FROM organizations o WHERE o.deleted_at IS NOT NULL
      AND (${sumsCanGo(keptSince)} OR EXISTS (SELECT 1 FROM usage_records r WHERE ${
    isUsageOf(sql`r.organization`, sql`o.number`, ofAnyKey)
  }))
    LIMIT 1`);
}

/** Does the next step for an organization that is marked as deleted. For any other, nothing happens. */
export async function deleteSomeOfOrganization(
  database: Database,
  id: string,
  times: OrganizationEndTimes,
): Promise<void> {
  const number = numberOf(id);
  const records = await database.read<
    { seq: number; environment: Environment; idempotencyKey: string | null }
  >(sql`
    SELECT seq, ${
    environmentOf(sql`organization`)
  } AS environment, idempotency_key AS idempotencyKey FROM usage_records
    WHERE ${isUsageOf(sql`organization`, number, ofAnyKey)} LIMIT ${organizationEndRecordsMax}`);
  if (records.length === 0) {
    await database.write([startOfSums(id, times), ...deleteRest(id)]);
    return;
  }
  const keys = environments.map((environment) =>
    records.filter((record) => record.environment === environment).flatMap(({ seq, idempotencyKey }) =>
      idempotencyKey === null ? [] : [[idempotencyKeyHash(idempotencyKey), seq] as const]
    )
  );
  const seqs = JSON.stringify(records.map(({ seq }) => seq));
  const areRead = sql`seq IN (SELECT value FROM json_each(${seqs})) AND ${number} IS NOT NULL`;
  // Another server may do the same step: rows that are already gone do no harm.
  await database.write([
    ...usageNumbers(number, ofAnyKey).flatMap((one, at) => deleteIdempotencyKeys(one, keys[at] ?? [])),
    sql`DELETE FROM usage_voids WHERE ${areRead}`,
    sql`DELETE FROM usage_records WHERE ${areRead}`,
  ]);
}

/** Marks the sums as deleted: no statement has lines of the organization anymore. */
function startOfSums(id: string, { now, keptSince }: OrganizationEndTimes): Statement {
  return sql`UPDATE organizations AS o SET sums_deleted_at = ${now}
    WHERE id = ${id} AND deleted_at IS NOT NULL AND sums_deleted_at IS NULL AND ${sumsCanGo(keptSince)}`;
}

/** Each statement deletes rows only after the ones before it have nothing left. */
function deleteRest(id: string): Statement[] {
  const number = sql`(SELECT number FROM organizations WHERE id = ${id} AND sums_deleted_at IS NOT NULL)`;
  return [...deleteSums(number), ...deleteOwner(id, number)];
}

/** Deletes sums, and then the rows that split and count them. */
function deleteSums(number: Statement): Statement[] {
  const isIts = isUsageOf(sql`organization`, number, ofAnyKey);
  const firstSeries = sql`(SELECT id FROM usage_series WHERE ${isIts}
    ORDER BY organization, product_slug, metric, api_key LIMIT ${organizationEndSeriesMax})`;
  const noSeries = sql`NOT EXISTS (SELECT 1 FROM usage_series WHERE ${isIts})`;
  const valueSeries = sql`SELECT id FROM usage_dimension_series WHERE series IN ${firstSeries}
    LIMIT ${organizationEndSeriesMax}`;
  const isUnsplit =
    sql`NOT EXISTS (SELECT 1 FROM usage_dimension_series ds WHERE ds.series = usage_series.id)`;
  return [
    ...deleteValueSeries(valueSeries, organizationEndRollupsMax),
    ...deleteCountedSeries(firstSeries, organizationEndRollupsMax),
    sql`DELETE FROM usage_rollups WHERE (series, quarter) IN
      (SELECT r.series, r.quarter FROM usage_rollups r WHERE r.series IN ${firstSeries} LIMIT ${organizationEndRollupsMax})`,
    sql`DELETE FROM usage_rollups_hourly WHERE (series, hour) IN
      (SELECT r.series, r.hour FROM usage_rollups_hourly r WHERE r.series IN ${firstSeries} LIMIT ${organizationEndRollupsMax})`,
    sql`DELETE FROM usage_rollups_monthly WHERE (month, organization, series) IN
      (SELECT r.month, r.organization, r.series FROM ${allMonths} m
        CROSS JOIN usage_rollups_monthly r ON r.month = m.month AND ${
      isUsageOf(sql`r.organization`, number, ofAnyKey)
    }
        LIMIT ${organizationEndRollupsMax})`,
    sql`DELETE FROM usage_series WHERE id IN ${firstSeries} AND ${isUnsplit} AND ${isUncounted}
      AND NOT EXISTS (SELECT 1 FROM usage_rollups r WHERE r.series = usage_series.id)
      AND NOT EXISTS (SELECT 1 FROM usage_rollups_hourly r WHERE r.series = usage_series.id)
      AND NOT EXISTS (SELECT 1 FROM ${allMonths} m CROSS JOIN usage_rollups_monthly r
        ON r.month = m.month AND r.organization = usage_series.organization AND r.series = usage_series.id)`,
    ...deleteCountedValues(sql`${isIts} AND ${noSeries}`, organizationEndRollupsMax),
    sql`DELETE FROM usage_dimension_values WHERE number IN (SELECT number FROM usage_dimension_values
      WHERE ${isIts} AND ${noSeries} LIMIT ${organizationEndRollupsMax})`,
  ];
}

function deleteOwner(id: string, number: Statement): Statement[] {
  const isIts = isUsageOf(sql`organization`, number, ofAnyKey);
  const noSeries = sql`NOT EXISTS (SELECT 1 FROM usage_series WHERE ${isIts})`;
  const budgets = sql`(SELECT l.number FROM api_keys k JOIN usage_limits l ON l.lineage = k.number
    WHERE k.organization_id = ${id} AND ${number} IS NOT NULL)`;
  const firstEvents =
    sql`(SELECT seq FROM events WHERE organization = ${number} LIMIT ${organizationEndRollupsMax})`;
  const isAwaited = sql`(webhook IS NULL AND (type = 'organization.deleted'
    OR seq > (SELECT delivered_seq FROM event_cursor)
    OR EXISTS (SELECT 1 FROM webhooks w CROSS JOIN webhook_deliveries d ON d.webhook = w.number AND d.event = events.seq
      WHERE w.organization = 0 AND w.deleted_at IS NULL AND d.status IN ('waiting', 'held'))))`;
  return [
    sql`DELETE FROM usage_limits WHERE organization = ${number} OR alert_of = ${number}`,
    sql`DELETE FROM usage_limits WHERE number IN (SELECT number FROM ${budgets} LIMIT ${organizationEndApiKeysMax})`,
    ...deleteOutcomesOf({ organization: number, rows: organizationEndRollupsMax }),
    sql`DELETE FROM api_keys WHERE number IN (SELECT number FROM api_keys
      WHERE organization_id = ${id} AND ${number} IS NOT NULL AND ${noSeries}
        AND NOT EXISTS (SELECT 1 FROM ${budgets})
        AND NOT EXISTS (SELECT 1 FROM ${countsOfOutcomes(number)})
        AND NOT EXISTS (SELECT 1 FROM api_key_rejections WHERE organization = ${number}) LIMIT ${organizationEndApiKeysMax})`,
    ...deleteCounts({ organization: number, rows: organizationEndRollupsMax }),
    deleteRefills(number),
    sql`DELETE FROM usage_grants WHERE number IN (
      SELECT number FROM usage_grants WHERE organization = ${number} LIMIT ${organizationEndRollupsMax})`,
    sql`DELETE FROM usage_grant_accounts WHERE organization = ${number}`,
    deleteWindowTakes({ organization: number, rows: organizationEndRollupsMax }),
    deleteHolds({ organization: number, rows: organizationEndRollupsMax }),
    sql`DELETE FROM usage_hold_counts WHERE ${isIts}`,
    ...endAssignments(number),
    sql`DELETE FROM statement_changes WHERE organization = ${number} AND ${noSeries}`,
    sql`UPDATE sessions SET organization_id = NULL WHERE token_hash IN (SELECT token_hash FROM sessions
      WHERE organization_id = ${id} AND ${number} IS NOT NULL LIMIT ${organizationEndRollupsMax})`,
    // Operators still get what they haven't got, and see that it was deleted. The number may become another organization's.
    sql`UPDATE events SET organization = NULL WHERE seq IN ${firstEvents} AND ${isAwaited}`,
    sql`DELETE FROM events WHERE seq IN ${firstEvents} AND NOT ${isAwaited}`,
    sql`DELETE FROM organizations WHERE id = ${id} AND sums_deleted_at IS NOT NULL AND ${noSeries}
      AND NOT EXISTS (SELECT 1 FROM usage_records WHERE ${isIts})
      AND NOT EXISTS (SELECT 1 FROM usage_dimension_values WHERE ${isIts})
      AND NOT EXISTS (SELECT 1 FROM usage_aggregations g CROSS JOIN usage_unique_values v ON v.aggregation = g.number
        WHERE ${isIts})
      AND NOT EXISTS (SELECT 1 FROM usage_aggregations g CROSS JOIN usage_unique_limits l ON l.aggregation = g.number
        WHERE ${isIts})
      AND NOT EXISTS (SELECT 1 FROM usage_limit_counters WHERE organization = ${number})
      AND NOT EXISTS (SELECT 1 FROM usage_value_windows WHERE organization = ${number})
      AND NOT EXISTS (SELECT 1 FROM usage_grants WHERE organization = ${number})
      AND NOT EXISTS (SELECT 1 FROM usage_grant_windows WHERE organization = ${number})
      AND NOT EXISTS (SELECT 1 FROM usage_holds WHERE ${isIts})
      AND NOT EXISTS (SELECT 1 FROM events WHERE organization = ${number})
      AND NOT EXISTS (SELECT 1 FROM limit_notices WHERE organization = ${number})
      AND NOT EXISTS (SELECT 1 FROM api_keys WHERE organization_id = ${id})
      AND NOT EXISTS (SELECT 1 FROM sessions WHERE organization_id = ${id})`,
  ];
}
