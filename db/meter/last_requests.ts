// The SQL of the last use of each API key: when it was, where its request came from, and what became of it. Earlier ones are
// not kept.
import type { LastRequest } from "../../domain/keys/api_key.ts";
import { apiKeyUsedIntervalMs } from "../../domain/limits.ts";
import { workingApiKey } from "../access/mod.ts";
import { bind, type DatabaseReader, sql, type Statement } from "../engine/database.ts";

interface LastRequestRow extends Omit<LastRequest, "at"> {
  readonly at: number;
}

export interface KeyUse {
  readonly keyHash: string;
  readonly at: number;
  /** Null if a service has verified the key. */
  readonly request: Omit<LastRequest, "at"> | null;
}

const isUsed = sql`k.key_hash = r.value ->> 'keyHash' AND ${workingApiKey(sql`r.value ->> 'at'`)}`;

const updateLastRequests = sql`
  UPDATE api_keys AS k SET last_request_at = r.value ->> 'at', last_request_network = r.value ->> '$.request.network',
    last_request_agent = r.value ->> '$.request.userAgent', last_request_status = r.value ->> '$.request.status',
    last_request_error = r.value ->> '$.request.error'
  FROM json_each(?1) r
  WHERE ${isUsed} AND r.value ->> 'request' IS NOT NULL AND coalesce(k.last_request_at, 0) <= r.value ->> 'at'`;

const updateLastUses = sql`
  UPDATE api_keys AS k SET last_used_at = r.value ->> 'at' FROM json_each(?1) r
  WHERE ${isUsed} AND (k.last_used_at IS NULL OR k.last_used_at <= r.value ->> 'at' - ?2)`;

/** Notes uses of keys that worked then, unless later ones are known. */
export function noteKeyUses(uses: readonly KeyUse[]): Statement[] {
  const json = JSON.stringify(uses);
  return [bind(updateLastRequests, json), bind(updateLastUses, json, apiKeyUsedIntervalMs)];
}

export async function hasRecorded(database: DatabaseReader, id: string): Promise<boolean> {
  const row = await database.readFirst(sql`
    SELECT 1 FROM api_keys k JOIN organizations o ON o.id = k.organization_id
    JOIN usage_series s ON s.organization = o.number AND s.api_key = k.number WHERE k.id = ${id} LIMIT 1`);
  return row !== undefined;
}

export function findLastRequest(
  database: DatabaseReader,
  ids: readonly string[],
): Promise<LastRequestRow | undefined> {
  return database.readFirst<LastRequestRow>(sql`
    SELECT k.last_request_at AS at, k.last_request_network AS network, k.last_request_agent AS userAgent,
      k.last_request_status AS status, k.last_request_error AS error
    FROM json_each(${JSON.stringify(ids)}) i JOIN api_keys k ON k.id = i.value
    WHERE k.last_request_at IS NOT NULL ORDER BY k.last_request_at DESC LIMIT 1`);
}
