// SQL with which operators manage clients, and people what they gave to them.
import type { Client } from "../../domain/oauth/client.ts";
import type { ManagedClient } from "../../domain/oauth/client_settings.ts";
import { ifAudited } from "../access/mod.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { isRegistered, type StoredClient } from "./clients.ts";

export const clientSettings =
  sql`name, grants, redirect_uris, post_logout_redirect_uris, backchannel_logout_uri, access, scopes,
  default_resource, consent, id_token_algorithm, require_pkce, group_names`;

export function clientSettingsOf(client: Omit<Client, "enabled">): Statement {
  const access = client.access === "everyone" ? null : JSON.stringify(client.access);
  const [consent, requirePkce] = [Number(client.consent), Number(client.requirePkce)];
  return sql`${client.name}, ${JSON.stringify(client.grants)}, ${JSON.stringify(client.redirectUris)},
    ${JSON.stringify(client.postLogoutRedirectUris)}, ${client.backchannelLogoutUri}, ${access},
    ${
    JSON.stringify(client.scopes)
  }, ${client.defaultResource}, ${consent}, ${client.idTokenAlgorithm}, ${requirePkce},
    ${JSON.stringify(client.groupNames)}`;
}

type Named = Pick<Client, "id" | "access" | "defaultResource">;

const organizationsOf = ({ access }: Pick<Client, "access">) =>
  access === "everyone" ? [] : access.organizationIds;

/** A condition: the organizations and the resource that a client names exist. Those that it named before may be gone. */
function isConsistent(client: Named, before?: Named): Statement {
  const earlier = before === undefined ? [] : organizationsOf(before);
  const ids = organizationsOf(client).filter((id) => !earlier.includes(id));
  const resource = client.defaultResource === before?.defaultResource ? null : client.defaultResource;
  return sql`(SELECT count(*) FROM organizations o WHERE o.deleted_at IS NULL
      AND o.id IN (SELECT value FROM json_each(${JSON.stringify(ids)}))) = ${ids.length}
    AND (${resource} IS NULL OR EXISTS (SELECT 1 FROM oauth_resources r WHERE r.id = ${resource}
      AND (r.clients IS NULL OR ${client.id} IN (SELECT value FROM json_each(r.clients)))))`;
}

/** Inserts a client, unless there are `max`, or something that it names doesn't exist. */
export function insertClient(client: StoredClient, { max }: { max: number }): Statement {
  return sql`
    INSERT INTO oauth_clients (id, type, secret_hash, created_at, ${clientSettings})
    SELECT ${client.id}, ${client.type}, ${client.secretHash}, ${Date.parse(client.createdAt)}, ${
    clientSettingsOf(client)
  }
    WHERE (SELECT count(*) FROM oauth_clients WHERE ${isRegistered}) < ${max} AND ${isConsistent(client)}`;
}

/** Changes a client that is still as it was read, if what it names exists. */
export function updateClient(before: ManagedClient, after: ManagedClient, now: number): Statement {
  const disabledAt = after.enabled ? null : sql`coalesce(disabled_at, ${now})`;
  return sql`
    UPDATE oauth_clients SET (disabled_at, ${clientSettings}) = (${disabledAt}, ${clientSettingsOf(after)})
    WHERE id = ${after.id} AND (disabled_at IS NULL) = ${Number(before.enabled)}
      AND (${clientSettings}) IS (${clientSettingsOf(before)}) AND ${isConsistent(after, before)}`;
}

/**
 * Ends what a client was given before it changed: codes that it didn't use, which may be for a redirect address of before, and devices
 * and grants with a scope that it lost.
 */
export function endChanged(clientId: string, lostScopes: readonly string[], audited: string): Statement[] {
  const isOwn = sql`client_id = ${clientId} AND ${ifAudited(audited)}`;
  const hasLost = sql`EXISTS (SELECT 1 FROM json_each(${JSON.stringify(lostScopes)}) l
    WHERE instr(' ' || scopes || ' ', ' ' || l.value || ' ') > 0)`;
  return [
    sql`DELETE FROM oauth_codes WHERE ${isOwn} AND used_at IS NULL`,
    sql`DELETE FROM oauth_devices WHERE ${isOwn} AND ${hasLost}`,
    sql`DELETE FROM oauth_grants WHERE ${isOwn} AND ${hasLost}`,
  ];
}

/** The access of an application to a person's account. */
export interface ApplicationRow {
  readonly clientId: string;
  /** In addresses of pages; the client's id, unless that is the URL of a document. */
  readonly id: string;
  readonly name: string;
  /** A JSON list. */
  readonly redirectUris: string;
  /** 0 for an application that asks no one. */
  readonly consent: 0 | 1;
  readonly organizationName: string | null;
  readonly resourceName: string | null;
  /** With spaces. */
  readonly scopes: string;
  readonly allowedAt: number;
  readonly lastUsedAt: number | null;
}

/** Returns what a person allowed applications, and what those that ask no one have, the latest first, at most `limit`. */
export function findApplications(
  database: DatabaseReader,
  userId: string,
  { limit }: { limit: number },
): Promise<ApplicationRow[]> {
  const grants = sql`oauth_grants g WHERE g.user_id = ${userId} AND g.client_id = a.client_id
    AND coalesce(g.organization_id, '') = a.organization_id AND coalesce(g.resource_id, '') = a.resource_id`;
  return database.read(sql`
    SELECT c.id AS clientId, coalesce(d.id, c.id) AS id, c.name, c.redirect_uris AS redirectUris, c.consent, o.name AS organizationName,
      r.name AS resourceName, coalesce(n.scopes, (SELECT g.scopes FROM ${grants} ORDER BY g.created_at DESC LIMIT 1)) AS scopes,
      coalesce(n.created_at, (SELECT min(g.created_at) FROM ${grants})) AS allowedAt,
      (SELECT max(t.created_at) FROM oauth_tokens t WHERE t.grant_id IN (SELECT g.id FROM ${grants})) AS lastUsedAt
    FROM (SELECT client_id, organization_id, resource_id FROM oauth_consents WHERE user_id = ${userId}
        UNION SELECT client_id, coalesce(organization_id, ''), coalesce(resource_id, '') FROM oauth_grants
        WHERE user_id = ${userId}) a
      JOIN oauth_clients c ON c.id = a.client_id LEFT JOIN oauth_documents d ON d.client_id = c.id
      LEFT JOIN oauth_consents n ON n.user_id = ${userId} AND n.client_id = a.client_id
        AND n.organization_id = a.organization_id AND n.resource_id = a.resource_id
      LEFT JOIN organizations o ON o.id = a.organization_id LEFT JOIN oauth_resources r ON r.id = a.resource_id
    ORDER BY allowedAt DESC, c.id, a.organization_id, a.resource_id LIMIT ${limit}`);
}

const isAllowed = (userId: string, clientId: string): Statement =>
  sql`user_id = ${userId} AND client_id = ${clientId}`;

/** Changes nothing, but only if a client has access to a person's account: for the audit entry after it. */
export const confirmAccess = (userId: string, clientId: string): Statement =>
  sql`UPDATE oauth_clients SET name = name WHERE id = ${clientId}
    AND (EXISTS (SELECT 1 FROM oauth_consents WHERE ${isAllowed(userId, clientId)})
      OR EXISTS (SELECT 1 FROM oauth_grants WHERE ${isAllowed(userId, clientId)}))`;

/**
 * Ends the consents and grants of a person to a client with their tokens, its codes, and the devices that they allowed, after an audited
 * change; the client gets logout tokens.
 */
export function endAccess(userId: string, clientId: string, audited: string): Statement[] {
  const isEnded = sql`${isAllowed(userId, clientId)} AND ${ifAudited(audited)}`;
  const noteLogouts = sql`INSERT INTO oauth_logouts (client_id, user_id, session_id)
    SELECT DISTINCT client_id, user_id, session_id FROM oauth_grants WHERE ${isEnded}
      AND (SELECT backchannel_logout_uri FROM oauth_clients WHERE id = ${clientId}) IS NOT NULL ON CONFLICT DO NOTHING`;
  return [
    sql`DELETE FROM oauth_consents WHERE ${isEnded}`,
    noteLogouts,
    sql`DELETE FROM oauth_grants WHERE ${isEnded}`,
    sql`DELETE FROM oauth_codes WHERE ${isEnded}`,
    sql`DELETE FROM oauth_devices WHERE client_id = ${clientId} AND status = 'allowed' AND ${
      ifAudited(audited)
    }
      AND session_id IN (SELECT id FROM sessions WHERE user_id = ${userId})`,
  ];
}
