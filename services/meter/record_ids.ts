// The ids of the database's records, made with the key that is in the database.
import type { DatabaseReader } from "../../db/engine/database.ts";
import { findRecordIdKey } from "../../db/meter/record_id_key.ts";
import { createUsageRecordIds, type UsageRecordIds } from "../../domain/meter/usage_record_id.ts";

/** @returns What reads the key when it is first needed, and keeps it: it never changes. */
export function createRecordIds(database: DatabaseReader): () => UsageRecordIds | Promise<UsageRecordIds> {
  let ids: UsageRecordIds | undefined;
  return () => ids ?? findRecordIdKey(database).then((key) => ids = createUsageRecordIds(key));
}
