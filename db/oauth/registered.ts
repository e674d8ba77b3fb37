// SQL that clients and resources share. Only the SHA-256 of a secret is stored.
import { sql, type Statement } from "../engine/database.ts";

const tables = { client: sql`oauth_clients`, resource: sql`oauth_resources` };
export type RegisteredNoun = keyof typeof tables;

/** Replaces a secret; public clients have none. */
export const updateSecret = (noun: RegisteredNoun, id: string, secretHash: string): Statement =>
  sql`UPDATE ${tables[noun]} SET secret_hash = ${secretHash} WHERE id = ${id} AND secret_hash IS NOT NULL`;

/** Deletes a client or a resource, with everything that was issued to it or for it. */
export const deleteRegistered = (noun: RegisteredNoun, id: string): Statement =>
  sql`DELETE FROM ${tables[noun]} WHERE id = ${id}`;
