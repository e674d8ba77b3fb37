// Groups of records as the recorder sends them to the database, and the keys that they are recorded with.
import { sql, type Statement } from "../../../db/engine/database.ts";
import { RecordEncoder, type RecordGroup } from "../../../db/meter/record_group.ts";

/** A group without records, to be recorded with keys. */
export const plainGroup: RecordGroup = {
  now: 0,
  by: "keys",
  targets: [],
  series: [],
  records: [],
  idempotencyKeys: 0,
  questions: [],
  isCatalogueRequired: false,
  hasLimits: false,
  hasValueLimits: false,
  hasDimensions: false,
  hasHolds: false,
  isSeriesKnown: false,
};

/** Returns a record of one unit as it is sent to the database. @param more Other fields. */
export function encodedRecord(
  now: number,
  more: Partial<Parameters<RecordEncoder["encode"]>[0]> = {},
): string {
  return new RecordEncoder(now).encode({
    series: 0,
    request: 0,
    timestamp: null,
    quantity: { whole: 1, micro: 0 },
    idempotencyKey: null,
    properties: null,
    ...more,
  });
}

/** Inserts organizations and their keys. @param keys For each organization's id, the hashes of its keys. */
export function insertKeys(keys: Readonly<Record<string, readonly string[]>>): Statement[] {
  return Object.entries(keys).flatMap(([id, hashes]) => [
    sql`INSERT INTO organizations (id, name, created_at) VALUES (${id}, 'Test', 0)`,
    ...hashes.map((hash) =>
      sql`INSERT INTO api_keys (id, organization_id, key_hash, key_prefix, name, created_at)
        VALUES ('key_' || ${hash}, ${id}, ${hash}, 'service_live_', 'Test', 0)`
    ),
  ]);
}
