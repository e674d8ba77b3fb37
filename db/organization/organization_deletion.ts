// The SQL of what is left of a deleted organization: deleted in steps of a few milliseconds, each of them whole, from the
// records to the organization's own row. Its keys were revoked with the deletion, so nothing is added any more; its number and
// those of its keys may be given to others afterwards, so they go last.
import { idempotencyKeyHash } from "../../domain/meter/usage_record.ts";
import { type Database, sql, type Statement } from "../engine/database.ts";
import { deleteKeys } from "../meter/idempotency_keys.ts";

/** At most so many of each in one step. */
export interface OrganizationEndStep {
  readonly records: number;
  readonly rollups: number;
  readonly series: number;
  readonly apiKeys: number;
}

/**
 * SQL of the number of a deleted organization, `?1` its id. Asked by every statement: when another server has done the last
 * step meanwhile, the number may be another organization's, and this is null.
 */
const numberOfDeleted = "(SELECT number FROM organizations WHERE id = ?1 AND deleted_at IS NOT NULL)";

/**
 * Does the next step.
 *
 * @param id Of an organization that is marked as deleted; for any other nothing is done.
 * @throws {DatabaseError}
 */
export async function deleteSomeOfOrganization(
  database: Database,
  id: string,
  step: OrganizationEndStep,
): Promise<void> {
  const records = await database.read<{ seq: number; idempotencyKey: string | null }>(sql(
    `SELECT seq, idempotency_key AS idempotencyKey FROM usage_records WHERE organization = ${numberOfDeleted} LIMIT ?2`,
    id,
    step.records,
  ));
  if (records.length === 0) {
    await database.write(deleteRest(id, step));
    return;
  }
  const seqs = JSON.stringify(records.map(({ seq }) => seq));
  const keys = records.flatMap(({ seq, idempotencyKey }) =>
    idempotencyKey === null ? [] : [[idempotencyKeyHash(idempotencyKey), seq] as const]
  );
  const theirs = `seq IN (SELECT value FROM json_each(?2)) AND ${numberOfDeleted} IS NOT NULL`;
  const deletedNumber = sql`(SELECT number FROM organizations WHERE id = ${id} AND deleted_at IS NOT NULL)`;
  // Other servers may be at the same step: what is gone already is no harm.
  await database.write([
    ...(keys.length === 0 ? [] : deleteKeys(deletedNumber, keys)),
    sql(`DELETE FROM usage_voids WHERE ${theirs}`, id, seqs),
    sql(`DELETE FROM usage_records WHERE ${theirs}`, id, seqs),
  ]);
}

/** `?2` how many. */
const firstSeries = `(SELECT id FROM usage_series WHERE organization = ${numberOfDeleted}
  ORDER BY organization, product_slug, metric, api_key LIMIT ?2)`;
const deleteRollups = (table: string, stretch: "quarter" | "hour") =>
  `DELETE FROM ${table} WHERE (series, ${stretch}) IN
     (SELECT r.series, r.${stretch} FROM ${table} r WHERE r.series IN ${firstSeries} LIMIT ?3)`;
const noSeries = `NOT EXISTS (SELECT 1 FROM usage_series WHERE organization = ${numberOfDeleted})`;

/** Each statement waits for those before it to have nothing left. */
function deleteRest(id: string, { rollups, series, apiKeys }: OrganizationEndStep): Statement[] {
  return [
    sql(deleteRollups("usage_rollups", "quarter"), id, series, rollups),
    sql(deleteRollups("usage_rollups_hourly", "hour"), id, series, rollups),
    sql(
      `DELETE FROM usage_series WHERE id IN ${firstSeries}
         AND NOT EXISTS (SELECT 1 FROM usage_rollups r WHERE r.series = usage_series.id)
         AND NOT EXISTS (SELECT 1 FROM usage_rollups_hourly r WHERE r.series = usage_series.id)`,
      id,
      series,
    ),
    sql(
      `DELETE FROM api_keys WHERE number IN (SELECT number FROM api_keys
         WHERE organization_id = ?1 AND ${numberOfDeleted} IS NOT NULL AND ${noSeries} LIMIT ?2)`,
      id,
      apiKeys,
    ),
    sql(
      `DELETE FROM organizations WHERE id = ?1 AND deleted_at IS NOT NULL AND ${noSeries}
         AND NOT EXISTS (SELECT 1 FROM usage_records WHERE organization = ${numberOfDeleted})
         AND NOT EXISTS (SELECT 1 FROM api_keys WHERE organization_id = ?1)`,
      id,
    ),
  ];
}
