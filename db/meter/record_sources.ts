// How the requests of a group name the keys and organizations that they record for. In all texts ?3 is the time.
import { activeApiKey, isSuspended, keyMay } from "../api_keys.ts";
import { integer, sql, type Statement } from "../engine/database.ts";
import { activeOperatorToken } from "../operator/operator_guard.ts";

/** How the sources of a group name organizations. */
export interface SourceKind {
  /** Joins the organization `o` of a source that exists. */
  readonly join: (source: Statement) => Statement;
  /** The reason why the source may not record, or null. */
  readonly denial: (source: Statement) => Statement;
  /** The number of its API key. */
  readonly apiKey: Statement;
  /** The hashes of the API keys of the sources `?1`, if they were used. */
  readonly usedKeys?: Statement;
}

const hashDigits = 64;

/** @returns The source of what an operator records with a key that must have permissions. Hashes are in hexadecimal. */
export function verifiedSource(keyHash: string, verification: RecordVerification): string {
  return `${keyHash} ${verification.tokenHash} ${JSON.stringify(verification.permissions)}`;
}

/** Returns the hash of the key of a source. */
export function keyHashOf(source: string): string {
  return source.slice(0, hashDigits);
}

/** @returns Whether a source of a key is one of {@linkcode verifiedSource}. */
export function isVerified(source: string): boolean {
  return source.length > hashDigits;
}

/** What is checked in the transaction that records. */
export interface RecordVerification {
  /** Of the operator's token, which must be allowed to verify keys. */
  readonly tokenHash: string;
  /** Permissions that the key must have, instead of the one to record. */
  readonly permissions: readonly string[];
}

const withKey = (keyHash: Statement): Statement =>
  sql`JOIN api_keys k ON k.key_hash = ${keyHash} AND ${activeApiKey(sql`?3`)}
    JOIN organizations o ON o.id = k.organization_id`;
const mayNotWrite = sql`NOT ${keyMay("usage:write")}`;

/** A source is the hash of an API key `k`. */
const keySource: SourceKind = {
  join: withKey,
  denial: () => sql`CASE WHEN ${isSuspended} THEN 'suspended' WHEN ${mayNotWrite} THEN 'permission' END`,
  apiKey: sql`k.number`,
  usedKeys: sql`SELECT value FROM json_each(?1)`,
};

/** A source may also be one of {@linkcode verifiedSource}. */
const verifiedKeySource: SourceKind = {
  ...keySource,
  join: (source) => withKey(hashAt(source, 0)),
  denial: (source) =>
    sql`CASE WHEN ${lacksToken(source)} THEN 'token'
      WHEN ${isSuspended} THEN 'suspended'
      WHEN CASE length(${source}) WHEN ${integer(hashDigits)} THEN ${mayNotWrite} ELSE EXISTS (
        SELECT 1 FROM json_each(substr(${source}, ${integer(2 * (hashDigits + 1) + 1)})) p
        WHERE p.value NOT IN (SELECT value FROM json_each(k.permissions))) END THEN 'permission' END`,
  usedKeys: sql`SELECT ${hashAt(sql`value`, 0)} FROM json_each(?1) WHERE NOT ${lacksToken(sql`value`)}`,
};

function lacksToken(source: Statement): Statement {
  return sql`(length(${source}) > ${integer(hashDigits)} AND NOT EXISTS (
        SELECT 1 FROM operator_tokens t WHERE t.token_hash = ${hashAt(source, 1)}
        AND ${activeOperatorToken(sql`?3`)} AND instr(t.scopes, '"keys:verify"') > 0))`;
}

/** @returns The hash at a position of {@linkcode verifiedSource}. */
function hashAt(source: Statement, position: 0 | 1): Statement {
  return sql`substr(${source}, ${integer(position * (hashDigits + 1) + 1)}, ${integer(hashDigits)})`;
}

/** A source is the id of an organization, or of a key `k` of it, also of one that doesn't work anymore. */
const operatorSource: SourceKind = {
  join: (source) =>
    sql`LEFT JOIN api_keys k ON k.id = ${source}
    JOIN organizations o ON o.id = coalesce(k.organization_id, ${source}) AND o.deleted_at IS NULL`,
  // Always null. Names the time, because a server rejects values that a statement doesn't name.
  denial: () => sql`nullif(?3, ?3)`,
  apiKey: sql`coalesce(k.number, 0)`,
};

/** The kinds of sources. */
export const sourcesBy = { keys: keySource, verifiedKeys: verifiedKeySource, operator: operatorSource };
