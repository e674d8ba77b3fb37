// Which API keys work, and what they may do: the conditions that every other statement asks.
import type { Environment } from "../../domain/environment.ts";
import type { UsagePermission } from "../../domain/keys/key_permissions.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { effectiveNumber, isSuspended, planFeatures } from "./organization_state.ts";

/** Keys of one organization, or, with `createdBy`, only those that one user created. */
export interface ApiKeyScope {
  readonly organizationId: string;
  readonly createdBy?: string | undefined;
}

/** A condition: the key `k` is active at `now`, neither revoked nor expired. It may be disabled. */
export const activeApiKey = (now: number | Statement): Statement =>
  sql`k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ${now})`;

/** A condition: the key `k` works at `now`, so that requests with it are accepted. */
export const workingApiKey = (now: number | Statement): Statement =>
  sql`${activeApiKey(now)} AND k.disabled_at IS NULL`;

const mays: Readonly<Record<UsagePermission, Statement>> = {
  "usage:read": sql`instr(k.permissions, '"usage:read"') > 0`,
  "usage:void": sql`instr(k.permissions, '"usage:void"') > 0`,
  "usage:write": sql`instr(k.permissions, '"usage:write"') > 0`,
};

export function keyMay(permission: UsagePermission): Statement {
  return mays[permission];
}

/** When a key `k` ended or will end: milliseconds since 1970, far in the future if it never expires. As the index `api_keys_end` has it. */
export const endOfKey = sql`coalesce(k.revoked_at, k.expires_at, 9007199254740991)`;

/** The time since which requests with a key `k` are known: an imported one is older. */
export const keyAddedAt = sql`coalesce(k.imported_at, k.created_at)`;

/** A condition: the key `k` of an organization is active at `now`. Keys that ended are not read. */
export const isActiveIn = (organizationId: string | Statement, now: number): Statement =>
  sql`k.organization_id = ${organizationId} AND ${endOfKey} > ${now} AND ${activeApiKey(now)}`;

/** A condition: the key `k` is in a scope. */
export const inScope = ({ organizationId, createdBy }: ApiKeyScope): Statement =>
  createdBy === undefined
    ? sql`k.organization_id = ${organizationId}`
    : sql`k.organization_id = ${organizationId} AND k.created_by = ${createdBy}`;

/** The number of a lineage's current key at `now`: the newest that works, else the newest. @param lineage A number. */
export const currentKeyNumber = (lineage: Statement, now: number): Statement =>
  sql`coalesce(
    (SELECT k.number FROM api_keys k WHERE k.lineage = ${lineage} AND ${
    activeApiKey(now)
  } ORDER BY k.number DESC LIMIT 1),
    (SELECT max(k.number) FROM api_keys k WHERE k.lineage = ${lineage}))`;

/** Finds the current keys of lineages, by the lineage's number. */
export async function findCurrentKeys(
  database: DatabaseReader,
  { lineages, now }: { lineages: readonly string[]; now: number },
): Promise<Map<string, { id: string; name: string }>> {
  const rows = await database.read<{ lineage: string; id: string; name: string }>(sql`
    SELECT l.value AS lineage, c.id, c.name FROM json_each(${JSON.stringify(lineages)}) l
    JOIN api_keys c ON c.number = ${currentKeyNumber(sql`CAST(l.value AS INTEGER)`, now)}`);
  return new Map(rows.map(({ lineage, ...key }) => [lineage, key]));
}

/** Finds the organization of a key, which may be deleted. */
export async function findOrganizationOfApiKey(
  database: DatabaseReader,
  id: string,
): Promise<string | undefined> {
  const row = await database.readFirst<{ organizationId: string }>(sql`
    SELECT k.organization_id AS organizationId FROM api_keys k WHERE k.id = ${id}`);
  return row?.organizationId;
}

/** Finds a key that works or ended. @param organizationId Only a key of this organization; null for any. */
export function findNamedKey(
  database: DatabaseReader,
  { id, organizationId }: { id: string | null; organizationId: string | null },
) {
  return database.readFirst<{ id: string; name: string; environment: Environment }>(sql`
    SELECT k.id, k.name, k.environment FROM api_keys k
    WHERE k.id = ${id} AND k.organization_id = coalesce(${organizationId}, k.organization_id)`);
}

/** The rate of a key, and where it may be used from. Servers remember them for its next requests. */
export interface KeyTerms {
  /** The number of its organization. Null for the one of the setting; 0 for no limit. */
  readonly requestsPerSecond: number | null;
  /** A lower number of the key itself, if it has one. */
  readonly ownRequestsPerSecond: number | null;
  /** The CIDR blocks from which it may be used, a JSON list; null for any address. */
  readonly addresses: string | null;
}

/** Selects the {@linkcode KeyTerms} of the key `k` of the organization `o`, by name. */
export const keyTerms: Readonly<Record<keyof KeyTerms, Statement>> = {
  requestsPerSecond: effectiveNumber("requestsPerSecond"),
  ownRequestsPerSecond: sql`k.requests_per_second`,
  addresses: sql`k.addresses`,
};

const selectTerms = sql`${keyTerms.requestsPerSecond} AS requestsPerSecond,
      ${keyTerms.ownRequestsPerSecond} AS ownRequestsPerSecond, ${keyTerms.addresses} AS addresses`;

/** A key that works, unless its organization is suspended. */
export interface ActiveApiKeyRow extends KeyTerms {
  readonly id: string;
  readonly name: string;
  readonly organizationId: string;
  /** A JSON list. */
  readonly permissions: string;
  readonly environment: Environment;
  readonly suspended: 0 | 1;
  /** Features of the organization's plan, a JSON list. */
  readonly features: string;
}

export function findActiveApiKey(database: DatabaseReader, keyHash: string, now: number) {
  return database.readFirst<ActiveApiKeyRow>(sql`
    SELECT k.id, k.name, k.organization_id AS organizationId, k.permissions, k.environment, ${isSuspended} AS suspended,
      ${planFeatures} AS features, ${selectTerms}
    FROM api_keys k JOIN organizations o ON o.id = k.organization_id
    WHERE k.key_hash = ${keyHash} AND ${workingApiKey(now)}`);
}

interface ImportedKey extends KeyTerms {
  readonly keyHash: string;
  readonly organizationId: string;
}

/** Finds the imported keys that work, by hash. Without imported keys, this reads one empty index. */
export function findImportedKeys(
  database: DatabaseReader,
  keyHashes: readonly string[],
  now: number,
): Promise<ImportedKey[]> {
  return database.read(sql`
    SELECT k.key_hash AS keyHash, k.organization_id AS organizationId, ${selectTerms}
    FROM json_each(${JSON.stringify(keyHashes)}) h
    CROSS JOIN api_keys k INDEXED BY api_keys_imported ON k.key_hash = h.value AND k.imported_at IS NOT NULL
    CROSS JOIN organizations o ON o.id = k.organization_id
    WHERE ${workingApiKey(now)}`);
}
