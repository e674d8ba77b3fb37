// How many requests per second an API key may make, as the servers remember it.
import { bind, type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { effectiveNumber } from "../organization/plan_numbers.ts";

/** The rate of a key. */
export interface KeyRate {
  /** Null for the one of the setting; 0 for no limit. */
  readonly requestsPerSecond: number | null;
  /** How many rates of any keys had changed when it was read. */
  readonly version: number;
}

/** The key that a rate was read for, by its hash. */
export interface RateOfKey {
  readonly keyHash: string;
  readonly rate: KeyRate;
}

/** The version of all rates now. */
export const ratesVersion = sql`(SELECT rates_version FROM usage_cursor WHERE only_row = 1)`;

/** @returns The version of all rates now. */
export async function findRatesVersion(database: DatabaseReader): Promise<number> {
  const row = await database.readFirst<{ version: number }>(sql`SELECT ${ratesVersion} AS version`);
  return row?.version ?? 0;
}

const refuseOutdated = sql`INSERT INTO refused_writes (reason)
  SELECT 'rate' WHERE ${ratesVersion} <> ?1 AND EXISTS (
    SELECT 1 FROM json_each(?2) e JOIN api_keys k ON k.key_hash = e.value ->> 0
    JOIN organizations o ON o.id = k.organization_id
    WHERE ${effectiveNumber("requestsPerSecond")} IS NOT e.value ->> 1)`;

/** Makes its batch fail with a `constraint` error if one of the rates, at least one, isn't what the key's organization may make now. */
export function requireRates(rates: readonly RateOfKey[]): Statement {
  // Requests with the same key usually share the object.
  const keys = new Map(rates.map(({ keyHash, rate }) => [rate, keyHash]));
  const version = Math.min(...[...keys.keys()].map(({ version }) => version));
  const pairs = [...keys].map(([{ requestsPerSecond }, keyHash]) => [keyHash, requestsPerSecond]);
  return bind(refuseOutdated, version, JSON.stringify(pairs));
}
