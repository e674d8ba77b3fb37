// SQL of clients. Only the SHA-256 of a secret is stored.
import type { ManagedClient } from "../../domain/oauth/client_settings.ts";
import { isoTime } from "../../domain/time.ts";
import { type DatabaseReader, sql } from "../engine/database.ts";

/** With the hash of the secret; null for public clients. */
export type StoredClient = ManagedClient & { readonly secretHash: string | null };

/** Lists and objects are JSON; `access` is null for everyone. */
interface ClientRow extends
  Pick<
    StoredClient,
    "id" | "name" | "type" | "backchannelLogoutUri" | "defaultResource" | "idTokenAlgorithm" | "secretHash"
  > {
  readonly disabledAt: number | null;
  readonly grants: string;
  readonly redirectUris: string;
  readonly postLogoutRedirectUris: string;
  readonly access: string | null;
  readonly scopes: string;
  readonly consent: number;
  readonly requirePkce: number;
  readonly groupNames: string;
  readonly createdAt: number;
}

const select =
  sql`SELECT c.id, c.name, c.type, c.disabled_at AS disabledAt, c.secret_hash AS secretHash, c.grants,
    c.redirect_uris AS redirectUris, c.post_logout_redirect_uris AS postLogoutRedirectUris,
    c.backchannel_logout_uri AS backchannelLogoutUri, c.access, c.scopes, c.default_resource AS defaultResource, c.consent,
    c.id_token_algorithm AS idTokenAlgorithm, c.require_pkce AS requirePkce, c.group_names AS groupNames,
    c.created_at AS createdAt FROM oauth_clients c`;

/** A condition on `oauth_clients`: operators added it. The ids of clients with metadata documents are https URLs. */
export const isRegistered = sql`id < 'https:'`;

function toClient({ disabledAt, createdAt, ...row }: ClientRow): StoredClient {
  return {
    ...row,
    enabled: disabledAt === null,
    grants: JSON.parse(row.grants),
    redirectUris: JSON.parse(row.redirectUris),
    postLogoutRedirectUris: JSON.parse(row.postLogoutRedirectUris),
    access: row.access === null ? "everyone" : JSON.parse(row.access),
    scopes: JSON.parse(row.scopes),
    consent: row.consent === 1,
    requirePkce: row.requirePkce === 1,
    groupNames: JSON.parse(row.groupNames),
    createdAt: isoTime(createdAt),
  };
}

export async function findClient(database: DatabaseReader, id: string): Promise<StoredClient | undefined> {
  const row = await database.readFirst<ClientRow>(sql`${select} WHERE c.id = ${id}`);
  return row && toClient(row);
}

/** Returns all clients that operators added, the newest first. */
export async function findRegisteredClients(database: DatabaseReader): Promise<StoredClient[]> {
  return (await database.read<ClientRow>(sql`${select} WHERE ${isRegistered} ORDER BY c.id DESC`)).map(
    toClient,
  );
}

/** A resource as authorization needs it. */
export interface TargetResource {
  readonly id: string;
  readonly uri: string;
  readonly name: string;
  readonly scopes: readonly string[];
}

/** Finds a resource for which a client may get tokens, by its URI as it is compared, or by its id. */
export async function findTargetResource(
  database: DatabaseReader,
  clientId: string,
  named: { readonly id: string } | { readonly comparedUri: string },
): Promise<TargetResource | undefined> {
  const isNamed = "id" in named ? sql`r.id = ${named.id}` : sql`r.compared_uri = ${named.comparedUri}`;
  const row = await database.readFirst<{ id: string; uri: string; name: string; scopes: string }>(sql`
    SELECT r.id, r.uri, r.name, r.scopes FROM oauth_resources r WHERE ${isNamed}
      AND (r.clients IS NULL OR ${clientId} IN (SELECT value FROM json_each(r.clients)))`);
  return row && { ...row, scopes: JSON.parse(row.scopes) };
}
