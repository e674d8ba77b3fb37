// The SQL of the key that makes ids of records opaque. A migration creates it, so every server on a database has the same one.
import { type DatabaseReader, sql } from "../engine/database.ts";

/** @returns 96 bits in hexadecimal. @throws {DatabaseError} */
export async function findRecordIdKey(database: DatabaseReader): Promise<string> {
  const row = await database.readFirst<{ key: string }>(sql`SELECT key FROM record_id_key`);
  if (row === undefined) throw new Error("the database has no key for the ids of records");
  return row.key;
}
