// The SQL of imported keys.
import type { Actor } from "../../domain/access/actor.ts";
import type { ImportFault } from "../../domain/keys/imported_key.ts";
import { effectiveNumber, endOfKey, insertAuditEvents } from "../access/mod.ts";
import { sql, type Statement } from "../engine/database.ts";
import { insertBudgets } from "../meter/mod.ts";
import { remindAt } from "./expiring_keys.ts";

/** A key to import. Times in milliseconds since 1970. */
export interface ImportedKeyRow {
  readonly id: string;
  /** Either this or `externalId`. */
  readonly organizationId: string | null;
  readonly externalId: string | null;
  /** The SHA-256 of the whole key, in lower-case hexadecimal. */
  readonly keyHash: string;
  readonly keyPrefix: string;
  readonly name: string;
  readonly permissions: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  /** CIDR blocks as JSON. */
  readonly addresses: string | null;
  readonly requestsPerSecond: number | null;
  /** The operator's own id for the key. */
  readonly keyExternalId: string | null;
  /** As JSON. */
  readonly metadata: string;
  /** Set for a disabled key. */
  readonly disabledAt: number | null;
  /** As of `storedBudget`; null for that of the plan. */
  readonly budget: string | null;
}

/** The result for one row, by its position. */
export interface ImportOutcome {
  readonly position: number;
  readonly outcome: "imported" | "duplicate" | ImportFault;
}

/** The organization `o` of a row `r` of the batch. */
const isOrganization = sql`o.id = coalesce(r.value ->> 'organizationId',
  (SELECT x.id FROM organizations x WHERE x.external_id = r.value ->> 'externalId' AND x.deleted_at IS NULL))
  AND o.deleted_at IS NULL`;

/**
 * Imports keys into the organizations that exist and have room for them. No two rows have the same hash.
 *
 * @returns Four statements: one inserts the keys, one their budgets, one an audit entry for each organization, and the last returns an
 *   {@linkcode ImportOutcome} for each row.
 */
export function importKeys(actor: Actor, rows: readonly ImportedKeyRow[], now: number): Statement[] {
  const json = JSON.stringify(rows);
  // The active keys of each organization are counted once, and in an index alone: there can be 10,000 of them.
  const insert = sql`
    INSERT INTO api_keys (id, organization_id, key_hash, key_prefix, name, created_by_operator, permissions,
      created_at, expires_at, remind_at, imported_at, addresses, requests_per_second, external_id, metadata,
      disabled_at, disabled_by_operator)
    WITH given AS MATERIALIZED (
      SELECT r.key AS position, r.value, o.id AS organization, ${effectiveNumber("apiKeysMax")} AS keysMax,
        row_number() OVER (PARTITION BY o.id ORDER BY r.key) AS place
      FROM json_each(${json}) r CROSS JOIN organizations o ON ${isOrganization}
      WHERE coalesce(r.value ->> 'expiresAt' > ${now}, true)
        AND NOT EXISTS (SELECT 1 FROM api_keys k WHERE k.key_hash = r.value ->> 'keyHash')
    ), active AS MATERIALIZED (
      SELECT g.organization,
        (SELECT count(*) FROM api_keys k WHERE k.organization_id = g.organization AND ${endOfKey} > ${now}) AS keys
      FROM (SELECT DISTINCT organization FROM given) g
    )
    SELECT value ->> 'id', organization, value ->> 'keyHash', value ->> 'keyPrefix', value ->> 'name', 1,
      value -> 'permissions', value ->> 'createdAt', value ->> 'expiresAt',
      ${
    remindAt(sql`value ->> 'expiresAt'`, now)
  }, ${now}, value ->> 'addresses', value ->> 'requestsPerSecond',
      value ->> 'keyExternalId', value ->> 'metadata', value ->> 'disabledAt', value ->> 'disabledAt' IS NOT NULL
    FROM given JOIN active USING (organization) WHERE active.keys + place <= keysMax ORDER BY position`;
  const imported = sql`SELECT k.organization_id AS organizationId, NULL AS targetId, NULL AS targetName,
      json_object('keys', CAST(count(*) AS TEXT)) AS details
    FROM json_each(${json}) r CROSS JOIN api_keys k ON k.id = r.value ->> 'id' GROUP BY k.organization_id`;
  const budgets = insertBudgets(rows, now);
  return [
    insert,
    budgets,
    insertAuditEvents(actor, "api_key.imported", { now, rows: imported }),
    outcomes(json, now),
  ];
}

const outcomes = (json: string, now: number): Statement =>
  sql`SELECT r.key AS position, CASE
      WHEN o.id IS NULL THEN 'organization_not_found'
      WHEN k.id = r.value ->> 'id' THEN 'imported'
      WHEN k.organization_id = o.id THEN 'duplicate'
      WHEN k.id IS NOT NULL THEN 'hash_taken'
      WHEN r.value ->> 'expiresAt' <= ${now} THEN 'expired'
      ELSE 'key_limit_reached' END AS outcome
    FROM json_each(${json}) r LEFT JOIN organizations o ON ${isOrganization}
    LEFT JOIN api_keys k ON k.key_hash = r.value ->> 'keyHash'`;
