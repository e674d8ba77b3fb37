// The SQL of the last request with each API key: where it came from, and what became of it. Earlier ones are not kept.
import type { LastRequest } from "../../domain/api_key.ts";
import { bind, type DatabaseReader, sql } from "../engine/database.ts";

/** The last request with a key as stored. */
export interface LastRequestRow extends Omit<LastRequest, "at"> {
  /** Milliseconds since 1970. */
  readonly at: number;
}

const updateLastRequests = sql`
  UPDATE api_keys AS k SET last_request_at = r.value ->> 'at', last_request_network = r.value ->> 'network',
    last_request_agent = r.value ->> 'userAgent', last_request_status = r.value ->> 'status',
    last_request_error = r.value ->> 'error'
  FROM json_each(?1) r
  WHERE k.key_hash = r.value ->> 'keyHash' AND k.revoked_at IS NULL
    AND coalesce(k.last_request_at, 0) <= r.value ->> 'at'`;

/** Notes requests with keys that aren't revoked, unless later ones are known. */
export function noteLastRequests(requests: readonly (LastRequestRow & { readonly keyHash: string })[]) {
  return bind(updateLastRequests, JSON.stringify(requests));
}

/** @returns The last request with one of the keys, or undefined. */
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
