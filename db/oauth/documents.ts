// SQL of metadata documents of clients. Each has a row in `oauth_clients`, so that everything else treats it as any other client.
import type { ClientDocument } from "../../domain/oauth/client_document.ts";
import { assertionsOfClientMax, documentsMax, expiredRowsMax } from "../../domain/oauth/oauth_limits.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { clientSettings, clientSettingsOf } from "./managed_clients.ts";

export interface StoredDocument {
  readonly freshUntil: number;
  readonly keys: string | null;
  readonly keysUri: string | null;
}

export function findDocument(
  database: DatabaseReader,
  clientId: string,
): Promise<StoredDocument | undefined> {
  return database.readFirst(
    sql`SELECT fresh_until AS freshUntil, keys, keys_uri AS keysUri FROM oauth_documents
    WHERE client_id = ${clientId}`,
  );
}

export interface ReadDocument extends ClientDocument {
  readonly id: string;
  readonly host: string;
  readonly contentHash: string;
  readonly now: number;
  readonly freshUntil: number;
}

/**
 * Stores what was read. If it differs from the copy, everyone is asked for consent again, and unused codes end. A new one takes the place
 * of one that nobody uses, if there are too many. Keys at a `jwks_uri` are forgotten, so that the next assertion reads them. The last
 * statement changes a row unless all are used.
 */
export function storeDocument(document: ReadDocument): Statement[] {
  const { client, contentHash, now, keys, keysUri } = document;
  const isOwn = sql`client_id = ${client.id}`;
  const hasChanged =
    sql`EXISTS (SELECT 1 FROM oauth_documents d WHERE d.client_id = ${client.id} AND d.content_hash <> ${contentHash})`;
  const isUnused = sql`NOT EXISTS (SELECT 1 FROM oauth_consents n WHERE n.client_id = d.client_id)
    AND NOT EXISTS (SELECT 1 FROM oauth_grants g WHERE g.client_id = d.client_id)`;
  const count = sql`SELECT count(*) FROM oauth_documents`;
  const isKnown = sql`EXISTS (SELECT 1 FROM oauth_documents d WHERE d.client_id = ${client.id})`;
  return [
    sql`DELETE FROM oauth_consents WHERE ${isOwn} AND ${hasChanged}`,
    sql`DELETE FROM oauth_codes WHERE ${isOwn} AND used_at IS NULL AND ${hasChanged}`,
    sql`DELETE FROM oauth_clients WHERE (${count}) >= ${documentsMax} AND NOT ${isKnown}
      AND id IN (SELECT d.client_id FROM oauth_documents d WHERE ${isUnused} ORDER BY d.read_at LIMIT ${expiredRowsMax})`,
    sql`INSERT INTO oauth_clients (id, type, created_at, ${clientSettings})
      SELECT ${client.id}, ${client.type}, ${now}, ${clientSettingsOf(client)}
      WHERE ${isKnown} OR (${count}) < ${documentsMax}
      ON CONFLICT (id) DO UPDATE SET type = excluded.type, (${clientSettings}) = (${
      clientSettingsOf(client)
    })`,
    sql`INSERT INTO oauth_documents (id, client_id, host, content_hash, read_at, fresh_until, keys, keys_uri)
      SELECT ${document.id}, id, ${document.host}, ${contentHash}, ${now}, ${document.freshUntil}, ${keys}, ${keysUri}
      FROM oauth_clients WHERE id = ${client.id}
      ON CONFLICT (client_id) DO UPDATE SET content_hash = excluded.content_hash, read_at = excluded.read_at,
        fresh_until = excluded.fresh_until, keys_uri = excluded.keys_uri, keys = excluded.keys`,
  ];
}

export const updateDocumentKeys = (clientId: string, keysUri: string, keys: string): Statement =>
  sql`UPDATE oauth_documents SET keys = ${keys} WHERE client_id = ${clientId} AND keys_uri = ${keysUri}`;

/** Notes an assertion. The last statement changes a row unless it was used before, or the client has used too many. */
export function useAssertion(
  { clientId, hash, expiresAt, now }: { clientId: string; hash: string; expiresAt: number; now: number },
): Statement[] {
  return [
    sql`DELETE FROM oauth_assertions WHERE (client_id, assertion_hash) IN (
      SELECT client_id, assertion_hash FROM oauth_assertions WHERE expires_at <= ${now} LIMIT ${expiredRowsMax})`,
    sql`INSERT INTO oauth_assertions (client_id, assertion_hash, expires_at) SELECT ${clientId}, ${hash}, ${expiresAt}
      WHERE (SELECT count(*) FROM oauth_assertions WHERE client_id = ${clientId}) < ${assertionsOfClientMax}
      ON CONFLICT DO NOTHING`,
  ];
}

const isUnlisted = (hosts: readonly string[]): Statement =>
  sql`host NOT IN (SELECT value FROM json_each(${JSON.stringify(hosts)}))`;

export function findUnlistedDocument(
  database: DatabaseReader,
  hosts: readonly string[],
): Promise<{ id: string } | undefined> {
  return database.readFirst(sql`SELECT id FROM oauth_documents WHERE ${isUnlisted(hosts)} LIMIT 1`);
}

/** Deletes some clients of other hosts, with everything that they were given. */
export const deleteUnlisted = (hosts: readonly string[]): Statement =>
  sql`DELETE FROM oauth_clients WHERE id IN (SELECT client_id FROM oauth_documents WHERE ${isUnlisted(hosts)}
    LIMIT ${expiredRowsMax})`;

/** A client with a document, for operators. */
export interface DocumentRow {
  readonly id: string;
  readonly clientId: string;
  readonly name: string;
  readonly firstSeenAt: number;
  /** People who allow it something, at most `peopleMax`. */
  readonly people: number;
}

const select = (peopleMax: number): Statement =>
  sql`SELECT d.id, d.client_id AS clientId, c.name, c.created_at AS firstSeenAt,
    (SELECT count(*) FROM (SELECT DISTINCT n.user_id FROM oauth_consents n WHERE n.client_id = d.client_id
      LIMIT ${peopleMax})) AS people
  FROM oauth_documents d JOIN oauth_clients c ON c.id = d.client_id`;

/** Returns documents, the newest first, from after the id `before`. */
export function findDocumentRows(
  database: DatabaseReader,
  { limit, before, peopleMax }: { limit: number; before: string; peopleMax: number },
): Promise<DocumentRow[]> {
  return database.read(sql`${select(peopleMax)} WHERE d.id < ${before} ORDER BY d.id DESC LIMIT ${limit}`);
}

export function findDocumentRow(
  database: DatabaseReader,
  id: string,
  peopleMax: number,
): Promise<DocumentRow | undefined> {
  return database.readFirst(sql`${select(peopleMax)} WHERE d.id = ${id}`);
}
