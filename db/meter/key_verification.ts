// The SQL that verifies API keys for operators: tokens and keys of many requests with one statement.
import type { VerifiedOrganization } from "../../domain/meter/key_verification.ts";
import { bind, type DatabaseReader, sql } from "../engine/database.ts";
import { activeOperatorToken } from "../operator/operator_guard.ts";
import type { ActiveOperatorToken } from "../operator/operator_tokens.ts";

/** A key, working or not, with its organization. Times in milliseconds since 1970. */
export interface VerifiableKey {
  readonly id: string;
  readonly name: string;
  readonly permissions: readonly string[];
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  readonly lastUsedAt: number | null;
  /** Null after its deletion, which revoked the key. */
  readonly organization: VerifiedOrganization & { readonly isSuspended: boolean } | null;
}

/** What was found, by hash. */
export interface FoundCredentials {
  /** Tokens that work. */
  readonly tokens: ReadonlyMap<string, ActiveOperatorToken>;
  readonly keys: ReadonlyMap<string, VerifiableKey>;
}

// One JSON column: each further column costs the native driver as much as the lookup of a row.
const select = sql`SELECT json_array(
  (SELECT json_group_array(json_array(t.token_hash, t.id, t.name, t.scopes, t.addresses, t.last_used_at))
    FROM operator_tokens t
    WHERE t.token_hash IN (SELECT value FROM json_each(?1)) AND ${activeOperatorToken(sql`?3`)}),
  (SELECT json_group_array(json_array(k.key_hash, k.id, k.name, json(k.permissions), k.expires_at, k.revoked_at,
      k.last_used_at, iif(o.deleted_at IS NULL, json_array(o.id, o.name, o.external_id, p.id, o.suspended_at), NULL)))
    FROM api_keys k JOIN organizations o ON o.id = k.organization_id LEFT JOIN plans p ON p.number = o.plan
    WHERE k.key_hash IN (SELECT value FROM json_each(?2)))) AS rows`;

type TokenRow = [
  hash: string,
  id: string,
  name: string,
  scopes: string,
  addresses: string,
  lastUsedAt: number | null,
];
type KeyRow = [
  hash: string,
  id: string,
  name: string,
  permissions: readonly string[],
  expiresAt: number | null,
  revokedAt: number | null,
  lastUsedAt: number | null,
  organization:
    | [id: string, name: string, externalId: string | null, planId: string, suspendedAt: number | null]
    | null,
];

/**
 * Finds operator tokens and API keys by the SHA-256 of each, in hexadecimal. Read each time, so that nothing is stale.
 *
 * @param now Milliseconds since 1970.
 * @throws {DatabaseError}
 */
export async function findCredentials(
  database: DatabaseReader,
  { tokenHashes, keyHashes }: { tokenHashes: readonly string[]; keyHashes: readonly string[] },
  now: number,
): Promise<FoundCredentials> {
  const found = await database.readFirst<{ rows: string }>(
    bind(select, JSON.stringify(tokenHashes), JSON.stringify(keyHashes), now),
  );
  const [tokens, keys] = JSON.parse(found?.rows ?? "[[],[]]") as [TokenRow[], KeyRow[]];
  return {
    tokens: new Map(tokens.map(([hash, id, name, scopes, addresses, lastUsedAt]) => [
      hash,
      { id, name, scopes, addresses, lastUsedAt },
    ])),
    keys: new Map(keys.map((row) => [row[0], toVerifiableKey(row)])),
  };
}

function toVerifiableKey(row: KeyRow): VerifiableKey {
  const [, id, name, permissions, expiresAt, revokedAt, lastUsedAt, organization] = row;
  return {
    id,
    name,
    permissions,
    expiresAt,
    revokedAt,
    lastUsedAt,
    organization: organization && toOrganization(organization),
  };
}

function toOrganization([id, name, externalId, planId, suspendedAt]: NonNullable<KeyRow[7]>) {
  return { id, name, externalId, planId, isSuspended: suspendedAt !== null };
}
