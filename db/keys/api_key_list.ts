// The SQL of the list of keys: it reads many keys of an organization, but never more than a limit.
import type { Actor } from "../../domain/access/actor.ts";
import type { Environment } from "../../domain/environment.ts";
import type { ListedKey } from "../../domain/keys/key_list.ts";
import { type ApiKeyRow, insertRevokedEvents, selectApiKeys } from "./api_keys.ts";
import {
  actorFacts,
  type ApiKeyScope,
  endOfKey,
  inScope,
  insertAuditEvents,
  isActiveIn,
  keyAddedAt,
} from "../access/mod.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { lineagesUsedSince } from "../meter/mod.ts";

/**
 * Reads the keys of an organization that work at `now`, or those that ended last.
 *
 * @param options `limit`: the maximum number of keys that are read, including those of others than `createdBy`.
 * @returns The keys in the scope. `isCut`: there may be more.
 */
export async function findListedKeys(
  database: DatabaseReader,
  { organizationId, createdBy }: ApiKeyScope,
  { isActive, now, limit }: { isActive: boolean; now: number; limit: number },
): Promise<{ keys: ListedKey[]; isCut: boolean }> {
  const which = isActive
    ? sql`${isActiveIn(organizationId, now)} ORDER BY ${endOfKey}`
    : sql`k.organization_id = ${organizationId} AND ${endOfKey} <= ${now} ORDER BY ${endOfKey} DESC`;
  const isOwn = createdBy === undefined ? sql`true` : sql`created_by = ${createdBy}`;
  const row = await database.readFirst<{ json: string; total: number }>(sql`
    SELECT json_group_array(json_array(id, number, lineage, name, key_prefix, environment, created_at, ${keyAddedAt},
      last_used_at, coalesce(revoked_at, expires_at))) FILTER (WHERE ${isOwn}) AS json, count(*) AS total
    FROM (SELECT k.* FROM api_keys k WHERE ${which} LIMIT ${limit}) k`);
  const rows: ListedKeyValues[] = JSON.parse(row?.json ?? "[]");
  const keys = rows.map((
    [id, number, lineage, name, keyPrefix, environment, createdAt, addedAt, lastUsedAt, endsAt],
  ) => ({
    id,
    number,
    lineage,
    name,
    keyPrefix,
    environment,
    createdAt,
    addedAt,
    lastUsedAt,
    endsAt,
  }));
  return { keys, isCut: (row?.total ?? 0) >= limit };
}

type ListedKeyValues = [
  id: string,
  number: number,
  lineage: number,
  name: string,
  keyPrefix: string,
  environment: Environment,
  createdAt: number,
  addedAt: number,
  lastUsedAt: number | null,
  endsAt: number | null,
];

export function findApiKeysById(
  database: DatabaseReader,
  organizationId: string,
  ids: readonly string[],
): Promise<ApiKeyRow[]> {
  return database.read(sql`${selectApiKeys} WHERE k.organization_id = ${organizationId}
    AND k.id IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`);
}

/**
 * Revokes active keys in the scope, with other active keys of their lineages, unless a key of the lineage was used or created
 * or imported since a time, or usage was recorded for it.
 *
 * @param options `ids`: at most some hundred.
 * @returns Statements that write the audit entries and the events. The last one revokes the keys and returns their ids.
 */
export function revokeUnusedApiKeys(
  actor: Actor,
  scope: ApiKeyScope,
  { ids, since, now }: { ids: readonly string[]; since: number; now: number },
): Statement[] {
  const lineages = sql`SELECT lineage FROM api_keys WHERE id IN (SELECT value FROM json_each(${
    JSON.stringify(ids)
  }))`;
  const isChosen = sql`${inScope(scope)} AND k.lineage IN (${lineages})`;
  const isActive = isActiveIn(scope.organizationId, now);
  const isUnused = sql`${isChosen} AND ${isActive} AND k.lineage NOT IN (
    SELECT k.lineage FROM api_keys k
    WHERE ${isChosen} AND (k.last_used_at >= ${since} OR (${keyAddedAt} >= ${since} AND ${isActive})))
    AND k.lineage NOT IN (${lineagesUsedSince(scope.organizationId, { lineages, since })})`;
  return revokeKeys(actor, isUnused, now);
}

/** Revokes the keys of some ids that are active and in the scope. @returns As `revokeUnusedApiKeys`. */
export function revokeApiKeysById(
  actor: Actor,
  scope: ApiKeyScope,
  { ids, now }: { ids: readonly string[]; now: number },
): Statement[] {
  const isChosen = sql`k.id IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`;
  return revokeKeys(
    actor,
    sql`${inScope(scope)} AND ${isChosen} AND ${isActiveIn(scope.organizationId, now)}`,
    now,
  );
}

function revokeKeys(actor: Actor, isRevoked: Statement, now: number): Statement[] {
  const rows =
    sql`SELECT k.organization_id AS organizationId, k.id AS targetId, k.name AS targetName, '{}' AS details
    FROM api_keys k WHERE ${isRevoked}`;
  return [
    insertAuditEvents(actor, "api_key.revoked", { now, rows }),
    insertRevokedEvents(sql`${JSON.stringify(actorFacts(actor))}`, isRevoked, now),
    sql`UPDATE api_keys AS k SET revoked_at = ${now} WHERE ${isRevoked} RETURNING id`,
  ];
}
