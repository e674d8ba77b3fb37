// All SQL of API keys. The key itself is never here, only its SHA-256 and its prefix.
import { ifAudited } from "./audit.ts";
import { type DatabaseReader, sql, type Statement } from "./engine/database.ts";

/** What creating a key writes. Times in milliseconds since 1970. */
export interface NewApiKey {
  readonly id: string;
  readonly organizationId: string;
  readonly keyHash: string;
  readonly keyPrefix: string;
  readonly name: string;
  readonly createdBy: string;
  readonly now: number;
  readonly expiresAt: number | null;
}

/** A key as stored, with its creator's name. */
export interface ApiKeyRow {
  readonly id: string;
  readonly name: string;
  readonly keyPrefix: string;
  readonly createdAt: number;
  readonly createdById: string | null;
  readonly createdByName: string | null;
  readonly lastUsedAt: number | null;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

/** Keys of one organization, or, with `createdBy`, only those that one user made. */
export interface ApiKeyScope {
  readonly organizationId: string;
  readonly createdBy?: string | undefined;
}

const columns = `k.id, k.name, k.key_prefix AS keyPrefix, k.created_at AS createdAt, u.id AS createdById,
  u.name AS createdByName, k.last_used_at AS lastUsedAt, k.expires_at AS expiresAt, k.revoked_at AS revokedAt
  FROM api_keys k LEFT JOIN users u ON u.id = k.created_by`;
const inScope = "k.organization_id = ? AND (? IS NULL OR k.created_by = ?)";
const scopeOf = (scope: ApiKeyScope) =>
  [scope.organizationId, scope.createdBy ?? null, scope.createdBy ?? null] as const;

/**
 * @param options `activeMax`: with so many active keys in the organization, nothing is inserted. `replacing`: the id of
 *   a key that must still be active.
 * @returns A statement that returns the id when it inserted the key.
 */
export function insertApiKey(key: NewApiKey, options: { activeMax: number; replacing?: string }): Statement {
  const active = "organization_id = ?2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?7)";
  return sql(
    `INSERT INTO api_keys (id, organization_id, key_hash, key_prefix, name, created_by, created_at, expires_at)
     SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8
     WHERE (SELECT count(*) FROM api_keys WHERE ${active}) < ?9
       AND (?10 IS NULL OR EXISTS (SELECT 1 FROM api_keys WHERE id = ?10 AND ${active}))
     RETURNING id`,
    key.id,
    key.organizationId,
    key.keyHash,
    key.keyPrefix,
    key.name,
    key.createdBy,
    key.now,
    key.expiresAt,
    options.activeMax,
    options.replacing ?? null,
  );
}

/** @returns Keys newest first, from after the id `before`. @throws {DatabaseError} */
export function listApiKeys(
  database: DatabaseReader,
  scope: ApiKeyScope,
  page: { limit: number; before?: string | undefined },
): Promise<ApiKeyRow[]> {
  return database.read(sql(
    `SELECT ${columns} WHERE ${inScope} AND (? IS NULL OR k.id < ?) ORDER BY k.id DESC LIMIT ?`,
    ...scopeOf(scope),
    page.before ?? null,
    page.before ?? null,
    page.limit,
  ));
}

/** @returns How many keys are active at `now`, and how many are not. @throws {DatabaseError} */
export async function countApiKeys(
  database: DatabaseReader,
  scope: ApiKeyScope,
  now: number,
): Promise<{ active: number; ended: number }> {
  const row = await database.readFirst<{ total: number; active: number }>(sql(
    `SELECT count(*) AS total,
       count(*) FILTER (WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?)) AS active
     FROM api_keys k WHERE ${inScope}`,
    now,
    ...scopeOf(scope),
  ));
  const { total = 0, active = 0 } = row ?? {};
  return { active, ended: total - active };
}

/** @returns One key, or undefined when it is not in the scope. @throws {DatabaseError} */
export function findApiKey(
  database: DatabaseReader,
  scope: ApiKeyScope,
  id: string,
): Promise<ApiKeyRow | undefined> {
  return database.readFirst(sql(`SELECT ${columns} WHERE ${inScope} AND k.id = ?`, ...scopeOf(scope), id));
}

/** @returns Which active key and organization a hash belongs to, or undefined. @throws {DatabaseError} */
export function findActiveApiKey(
  database: DatabaseReader,
  keyHash: string,
  now: number,
): Promise<{ id: string; name: string; organizationId: string; lastUsedAt: number | null } | undefined> {
  return database.readFirst(
    sql`SELECT id, name, organization_id AS organizationId, last_used_at AS lastUsedAt FROM api_keys
     WHERE key_hash = ${keyHash} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${now})`,
  );
}

/** @returns A statement that notes when a key was last used. */
export function updateApiKeyUsed(id: string, now: number): Statement {
  return sql`UPDATE api_keys SET last_used_at = ${now} WHERE id = ${id} AND coalesce(last_used_at, 0) < ${now}`;
}

/** @returns A statement that renames a key in the scope. */
export function updateApiKeyName(scope: ApiKeyScope, id: string, name: string): Statement {
  return sql(`UPDATE api_keys AS k SET name = ? WHERE ${inScope} AND k.id = ?`, name, ...scopeOf(scope), id);
}

/** @returns A statement that revokes a key in the scope; a revoked one keeps its time. */
export function revokeApiKeyStatement(scope: ApiKeyScope, id: string, now: number): Statement {
  return sql(
    `UPDATE api_keys AS k SET revoked_at = ? WHERE ${inScope} AND k.id = ? AND k.revoked_at IS NULL`,
    now,
    ...scopeOf(scope),
    id,
  );
}

/**
 * @param options `replacedBy`: the id of the new key; without it the old one stays as it is. `revokedAt` or `expiresAt`:
 *   when the old key ends; never later than it would have anyway.
 * @returns A statement that ends a key in the scope after its rotation.
 */
export function endRotatedApiKey(
  scope: ApiKeyScope,
  id: string,
  options: { replacedBy: string; revokedAt?: number; expiresAt?: number },
): Statement {
  const expiresAt = options.expiresAt ?? null;
  return sql(
    `UPDATE api_keys AS k SET revoked_at = ?, expires_at = coalesce(min(k.expires_at, ?), k.expires_at, ?)
     WHERE ${inScope} AND k.id = ? AND k.revoked_at IS NULL AND EXISTS (SELECT 1 FROM api_keys WHERE id = ?)`,
    options.revokedAt ?? null,
    expiresAt,
    expiresAt,
    ...scopeOf(scope),
    id,
    options.replacedBy,
  );
}

/** @returns A statement that revokes every key that a user made, in any organization, after the audited end of their access. */
export function revokeApiKeysMadeBy(
  userId: string,
  { now, audited }: { now: number; audited: string },
): Statement {
  return sql(
    `UPDATE api_keys SET revoked_at = ? WHERE created_by = ? AND revoked_at IS NULL AND ${ifAudited}`,
    now,
    userId,
    audited,
  );
}
