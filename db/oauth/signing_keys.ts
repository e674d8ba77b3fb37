// SQL of signing keys. Private keys are sealed by the caller.
import type { IdTokenAlgorithm } from "../../domain/oauth/client.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

export interface SigningKeyRow {
  readonly algorithm: IdTokenAlgorithm;
  readonly number: number;
  readonly id: string;
  readonly privateKey: string;
  /** A JSON Web Key. */
  readonly publicKey: string;
  readonly createdAt: number;
  readonly signsFrom: number;
}

/** Returns all keys, the newest first. */
export function findSigningKeys(database: DatabaseReader): Promise<SigningKeyRow[]> {
  return database.read(sql`
    SELECT algorithm, number, id, private_key AS privateKey, public_key AS publicKey, created_at AS createdAt,
      signs_from AS signsFrom
    FROM oauth_signing_keys ORDER BY algorithm, number DESC`);
}

/** Inserts a key if the condition is true, unless another server has made the one with its number. */
export function insertSigningKey(key: SigningKeyRow, condition = sql`true`): Statement {
  return sql`
    INSERT INTO oauth_signing_keys (algorithm, number, id, private_key, public_key, created_at, signs_from)
    SELECT ${key.algorithm}, ${key.number}, ${key.id}, ${key.privateKey}, ${key.publicKey}, ${key.createdAt},
      ${key.signsFrom} WHERE ${condition} ON CONFLICT DO NOTHING`;
}

/** Deletes keys that no valid token was signed with. @param before Those with a successor that has signed since before then. */
export function deleteOldSigningKeys(before: number): Statement {
  return sql`DELETE FROM oauth_signing_keys WHERE EXISTS (SELECT 1 FROM oauth_signing_keys n
    WHERE n.algorithm = oauth_signing_keys.algorithm AND n.number > oauth_signing_keys.number AND n.signs_from < ${before})`;
}

/** Deletes all other keys of an algorithm, if the condition is true. */
export function deleteOtherSigningKeys({ algorithm, id }: SigningKeyRow, condition: Statement): Statement {
  return sql`DELETE FROM oauth_signing_keys WHERE algorithm = ${algorithm} AND id <> ${id} AND ${condition}`;
}
