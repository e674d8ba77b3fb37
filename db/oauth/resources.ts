// SQL of resources. Only the SHA-256 of a secret is stored.
import type { Resource, TokenFormat } from "../../domain/oauth/resource.ts";
import { ifAudited } from "../access/mod.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

export interface StoredResource extends Omit<Resource, "createdAt"> {
  readonly createdAt: number;
}

/** `comparedUri`: the form in which URIs are compared. */
export interface ResourceRow extends Omit<StoredResource, "scopes" | "clients"> {
  readonly comparedUri: string;
  /** A JSON list. */
  readonly scopes: string;
  /** A JSON list; null for all. */
  readonly clients: string | null;
}

const select =
  sql`SELECT r.id, r.uri, r.compared_uri AS comparedUri, r.name, r.scopes, r.token_format AS tokenFormat,
    r.clients, r.created_at AS createdAt FROM oauth_resources r`;

export function toResource({ comparedUri: _compared, scopes, clients, ...row }: ResourceRow): StoredResource {
  return { ...row, scopes: JSON.parse(scopes), clients: clients === null ? "all" : JSON.parse(clients) };
}

/** Returns resources, the newest first, from after the id `before`. */
export function findResources(
  database: DatabaseReader,
  { limit, before = null }: { limit: number; before?: string | null | undefined },
): Promise<ResourceRow[]> {
  return database.read(
    sql`${select} WHERE (${before} IS NULL OR r.id < ${before}) ORDER BY r.id DESC LIMIT ${limit}`,
  );
}

export const selectResource = (id: string): Statement => sql`${select} WHERE r.id = ${id}`;

export function findResource(database: DatabaseReader, id: string): Promise<ResourceRow | undefined> {
  return database.readFirst(selectResource(id));
}

/** Finds a resource by its id, or by its URI as it is compared. */
export function findNamedResource(
  database: DatabaseReader,
  named: { readonly id: string } | { readonly comparedUri: string },
): Promise<ResourceRow | undefined> {
  const condition = "id" in named ? sql`r.id = ${named.id}` : sql`r.compared_uri = ${named.comparedUri}`;
  return database.readFirst(sql`${select} WHERE ${condition}`);
}

type NewResource = ResourceRow & { readonly secretHash: string };

const columnsOf = ({ uri, comparedUri, name, scopes, tokenFormat, clients }: ResourceRow): Statement =>
  sql`${uri}, ${comparedUri}, ${name}, ${scopes}, ${tokenFormat satisfies TokenFormat}, ${clients}`;

/** Inserts a resource, unless there is one with its URI, or there are `max`. */
export function insertResource(resource: NewResource, { max }: { max: number }): Statement {
  const { id, secretHash, createdAt } = resource;
  return sql`
    INSERT INTO oauth_resources (id, uri, compared_uri, name, scopes, token_format, clients, secret_hash, created_at)
    SELECT ${id}, ${columnsOf(resource)}, ${secretHash}, ${createdAt}
    WHERE (SELECT count(*) FROM oauth_resources) < ${max} ON CONFLICT DO NOTHING`;
}

/** Changes a resource, unless another one has its URI. */
export function updateResource(resource: ResourceRow): Statement {
  return sql`UPDATE OR IGNORE oauth_resources SET (uri, compared_uri, name, scopes, token_format, clients)
    = (${columnsOf(resource)}) WHERE id = ${resource.id}`;
}

export function updateResourceSecret(id: string, secretHash: string): Statement {
  return sql`UPDATE oauth_resources SET secret_hash = ${secretHash} WHERE id = ${id}`;
}

/** Deletes a resource, with everything that was issued for it. */
export const deleteResourceRow = (id: string): Statement => sql`DELETE FROM oauth_resources WHERE id = ${id}`;

/**
 * After an audited change of a resource, ends access that it doesn't permit anymore: of clients that it doesn't admit, and with scopes
 * that it lost. It is no client's default resource without admitting it.
 */
export function endUnadmitted(id: string, lostScopes: readonly string[], audited: string): Statement[] {
  const admits = (clientId: Statement) =>
    sql`EXISTS (SELECT 1 FROM oauth_resources r WHERE r.id = ${id}
      AND (r.clients IS NULL OR ${clientId} IN (SELECT value FROM json_each(r.clients))))`;
  const ended = (table: Statement) =>
    sql`resource_id = ${id} AND ${ifAudited(audited)} AND (NOT ${admits(sql`${table}.client_id`)}
      OR EXISTS (SELECT 1 FROM json_each(${JSON.stringify(lostScopes)}) l
        WHERE instr(' ' || ${table}.scopes || ' ', ' ' || l.value || ' ') > 0))`;
  return [
    sql`DELETE FROM oauth_codes WHERE used_at IS NULL AND ${ended(sql`oauth_codes`)}`,
    sql`DELETE FROM oauth_devices WHERE ${ended(sql`oauth_devices`)}`,
    sql`DELETE FROM oauth_grants WHERE ${ended(sql`oauth_grants`)}`,
    sql`UPDATE oauth_clients SET default_resource = NULL WHERE default_resource = ${id} AND ${
      ifAudited(audited)
    } AND NOT ${admits(sql`oauth_clients.id`)}`,
  ];
}
