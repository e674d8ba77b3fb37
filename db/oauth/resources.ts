// SQL of resources. Only the SHA-256 of a secret is stored.
import type { Resource, TokenFormat } from "../../domain/oauth/resource.ts";
import { comparedUri } from "../../domain/oauth/resource_uri.ts";
import { isoTime } from "../../domain/time.ts";
import { ifAudited } from "../access/mod.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

/** Lists are JSON; `clients` is null for all. */
interface ResourceRow extends Pick<Resource, "id" | "uri" | "name" | "tokenFormat"> {
  readonly scopes: string;
  readonly clients: string | null;
  readonly createdAt: number;
}

async function find(database: DatabaseReader, condition: Statement): Promise<Resource[]> {
  const rows = await database.read<ResourceRow>(
    sql`SELECT r.id, r.uri, r.name, r.scopes, r.token_format AS tokenFormat, r.clients,
    r.created_at AS createdAt FROM oauth_resources r WHERE ${condition}`,
  );
  return rows.map(({ scopes, clients, createdAt, ...row }) => ({
    ...row,
    scopes: JSON.parse(scopes),
    clients: clients === null ? "all" : JSON.parse(clients),
    createdAt: isoTime(createdAt),
  }));
}

/** Returns resources, the newest first, from after the id `before`. */
export const findResources = (
  database: DatabaseReader,
  { limit, before = null }: { limit: number; before?: string | null | undefined },
): Promise<Resource[]> =>
  find(database, sql`(${before} IS NULL OR r.id < ${before}) ORDER BY r.id DESC LIMIT ${limit}`);

export const findResource = async (database: DatabaseReader, id: string): Promise<Resource | undefined> =>
  (await find(database, sql`r.id = ${id}`))[0];

/** Returns true if a resource has a URI, as URIs are compared. */
export const hasUri = async (database: DatabaseReader, uri: string): Promise<boolean> =>
  (await find(database, sql`r.compared_uri = ${comparedUri(uri)}`)).length > 0;

const columnsOf = ({ uri, name, scopes, tokenFormat, clients }: Resource): Statement =>
  sql`${uri}, ${comparedUri(uri)}, ${name}, ${JSON.stringify(scopes)}, ${tokenFormat satisfies TokenFormat},
    ${clients === "all" ? null : JSON.stringify(clients)}`;

/** Inserts a resource, unless there is one with its URI, or there are `max`. */
export function insertResource(
  resource: Resource,
  { secretHash, max }: { secretHash: string; max: number },
): Statement {
  const { id, createdAt } = resource;
  return sql`
    INSERT INTO oauth_resources (id, uri, compared_uri, name, scopes, token_format, clients, secret_hash, created_at)
    SELECT ${id}, ${columnsOf(resource)}, ${secretHash}, ${Date.parse(createdAt)}
    WHERE (SELECT count(*) FROM oauth_resources) < ${max} ON CONFLICT DO NOTHING`;
}

/** Changes a resource, unless another one has its URI. */
export function updateResource(resource: Resource): Statement {
  return sql`UPDATE OR IGNORE oauth_resources SET (uri, compared_uri, name, scopes, token_format, clients)
    = (${columnsOf(resource)}) WHERE id = ${resource.id}`;
}

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
