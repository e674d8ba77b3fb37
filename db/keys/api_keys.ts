// All SQL of API keys. The key itself is never here, only its SHA-256 and its prefix.
import type { Environment } from "../../domain/environment.ts";
import {
  activeApiKey,
  actorOfEntry,
  type ApiKeyScope,
  type Audited,
  effectiveNumber,
  ifAudited,
  inScope,
  isActiveIn,
} from "../access/mod.ts";
import { type DatabaseReader, joinSql, sql, type Statement } from "../engine/database.ts";
import { limitsJson } from "../meter/mod.ts";
import { insertEvents } from "../outbox/mod.ts";
import { remindAt } from "./expiring_keys.ts";

interface NewApiKey extends Pick<ApiKeyRow, "addresses" | "requestsPerSecond" | "externalId" | "metadata"> {
  readonly id: string;
  readonly organizationId: string;
  readonly keyHash: string;
  readonly keyPrefix: string;
  readonly environment: Environment;
  readonly name: string;
  /** Null for a key that an operator creates. */
  readonly createdBy: string | null;
  readonly permissions: readonly string[];
  readonly now: number;
  readonly expiresAt: number | null;
  /** The one-time token of the form. If a key of the organization has it, nothing is inserted. */
  readonly formToken: string | null;
}

/** A key as stored, with its creator's name. */
export interface ApiKeyRow {
  readonly id: string;
  readonly organizationId: string;
  readonly name: string;
  readonly keyPrefix: string;
  readonly environment: Environment;
  readonly createdAt: number;
  readonly createdById: string | null;
  readonly createdByName: string | null;
  readonly createdByOperator: 0 | 1;
  /** A JSON list, sorted. */
  readonly permissions: string;
  /** The limits of its lineage, for `parseLimits`. */
  readonly budget: string;
  readonly lastUsedAt: number | null;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** A JSON list; null for any address. */
  readonly addresses: string | null;
  readonly requestsPerSecond: number | null;
  readonly externalId: string | null;
  /** A JSON object. */
  readonly metadata: string;
  /** Null for an enabled key. */
  readonly disabledAt: number | null;
  readonly disabledByOperator: 0 | 1;
  readonly leakedAt: number | null;
}

/** The columns that changes of a key set. */
const settingColumns = {
  name: sql`name`,
  permissions: sql`permissions`,
  expiresAt: sql`expires_at`,
  addresses: sql`addresses`,
  requestsPerSecond: sql`requests_per_second`,
  externalId: sql`external_id`,
  metadata: sql`metadata`,
  disabledAt: sql`disabled_at`,
  disabledByOperator: sql`disabled_by_operator`,
} as const;

export type KeySettings = Pick<ApiKeyRow, keyof typeof settingColumns>;

const settingNames = Object.keys(settingColumns) as (keyof KeySettings)[];

/** Returns the settings of a row, without its other columns. */
export function settingsOf(row: KeySettings): KeySettings {
  return Object.fromEntries(settingNames.map((name) => [name, row[name]])) as unknown as KeySettings;
}

/** A condition: the key `k` has these settings, besides its name. */
const hasSettings = (settings: KeySettings): Statement =>
  joinSql(
    settingNames.filter((name) => name !== "name").map((name) =>
      sql`k.${settingColumns[name]} IS ${settings[name]}`
    ),
    " AND ",
  );

/** Reads keys `k` with their creators, as {@linkcode ApiKeyRow}. */
export const selectApiKeys = sql`
  SELECT k.id, k.organization_id AS organizationId, k.name, k.key_prefix AS keyPrefix, k.environment,
    k.created_at AS createdAt, u.id AS createdById,
    u.name AS createdByName, k.created_by_operator AS createdByOperator, k.permissions,
    ${limitsJson({ column: "lineage", number: sql`k.lineage` })} AS budget,
    k.last_used_at AS lastUsedAt, k.expires_at AS expiresAt, k.revoked_at AS revokedAt,
    k.addresses, k.requests_per_second AS requestsPerSecond, k.external_id AS externalId, k.metadata,
    k.disabled_at AS disabledAt, k.disabled_by_operator AS disabledByOperator, k.leaked_at AS leakedAt
  FROM api_keys k LEFT JOIN users u ON u.id = k.created_by`;

/**
 * Inserts a key and returns its id, unless the organization has as many active keys as it may, or the form was already sent.
 *
 * @param replaced A key that must still be active, and have these settings. The new key continues its lineage. `isKept`: it stays
 *   active for a while; otherwise the new key takes its place.
 */
export function insertApiKey(
  key: NewApiKey,
  replaced?: { id: string; settings: KeySettings; isKept: boolean },
): Statement {
  const { organizationId, createdBy, now } = key;
  const permissions = JSON.stringify(key.permissions);
  const active = sql`FROM api_keys k WHERE ${isActiveIn(organizationId, now)}`;
  const isReplaceable = replaced === undefined
    ? sql`true`
    : sql`EXISTS (SELECT 1 ${active} AND k.id = ${replaced.id} AND ${hasSettings(replaced.settings)})`;
  const hasRoom = replaced?.isKept === false
    ? sql`true`
    : sql`(SELECT count(*) ${active}) < ${effectiveNumber("apiKeysMax")}`;
  const lineage = sql`(SELECT k.lineage FROM api_keys k WHERE k.id = ${replaced?.id ?? null})`;
  return sql`
    INSERT INTO api_keys (id, organization_id, key_hash, key_prefix, name, created_by, created_by_operator,
      permissions, environment, created_at, expires_at, remind_at, lineage, form_token,
      addresses, requests_per_second, external_id, metadata)
    SELECT ${key.id}, o.id, ${key.keyHash}, ${key.keyPrefix}, ${key.name}, ${createdBy}, ${createdBy} IS NULL,
      ${permissions}, ${key.environment}, ${now}, ${key.expiresAt},
      ${remindAt(sql`${key.expiresAt}`, now)}, ${lineage}, ${key.formToken},
      ${key.addresses}, ${key.requestsPerSecond}, ${key.externalId}, ${key.metadata}
    FROM organizations o WHERE o.id = ${organizationId} AND o.deleted_at IS NULL
      AND ${hasRoom} AND ${isReplaceable}
      AND NOT EXISTS (SELECT 1 FROM api_keys k WHERE k.organization_id = o.id AND k.form_token = ${key.formToken})
    RETURNING id`;
}

export async function findApiKeyOfForm(
  database: DatabaseReader,
  { organizationId, formToken }: { organizationId: string; formToken: string },
): Promise<string | undefined> {
  const row = await database.readFirst<{ id: string }>(sql`
    SELECT k.id FROM api_keys k WHERE k.organization_id = ${organizationId} AND k.form_token = ${formToken}`);
  return row?.id;
}

/** Finds keys, newest first, from after the id `before`. */
export function findApiKeys(
  database: DatabaseReader,
  scope: ApiKeyScope,
  { limit, before = null, environment = null }: {
    limit: number;
    before?: string | null | undefined;
    environment?: Environment | null | undefined;
  },
): Promise<ApiKeyRow[]> {
  return database.read(sql`${selectApiKeys}
    WHERE ${inScope(scope)} AND (${before} IS NULL OR k.id < ${before})
      AND k.environment = coalesce(${environment}, k.environment) ORDER BY k.id DESC LIMIT ${limit}`);
}

/** Finds keys of all organizations by their external id, newest first, from after the id `before`. */
export function findApiKeysByExternalId(
  database: DatabaseReader,
  { externalId, limit, before = null }: {
    externalId: string;
    limit: number;
    before?: string | null | undefined;
  },
): Promise<ApiKeyRow[]> {
  return database.read(
    sql`${selectApiKeys} JOIN organizations o ON o.id = k.organization_id AND o.deleted_at IS NULL
    WHERE k.external_id = ${externalId} AND (${before} IS NULL OR k.id < ${before}) ORDER BY k.id DESC LIMIT ${limit}`,
  );
}

export async function countActiveKeys(database: DatabaseReader, organizationId: string, now: number) {
  const row = await database.readFirst<{ active: number }>(sql`
    SELECT count(*) AS active FROM api_keys k WHERE ${isActiveIn(organizationId, now)}`);
  return row?.active ?? 0;
}

/** Reads one key as an {@linkcode ApiKeyRow}; no row if it isn't in the scope. */
export const selectApiKey = (scope: ApiKeyScope, id: string): Statement =>
  sql`${selectApiKeys} WHERE ${inScope(scope)} AND k.id = ${id}`;

export function findApiKey(database: DatabaseReader, scope: ApiKeyScope, id: string) {
  return database.readFirst<ApiKeyRow>(selectApiKey(scope, id));
}

/** A key can be rotated any number of times: only its newest generations are read, and no other keys of the organization. */
const generationsReadMax = 500;

/** Finds the keys of a key's lineage that are in the scope: the one that is current at `now`, then the others, newest first. */
export function findGenerations(
  database: DatabaseReader,
  scope: ApiKeyScope,
  { id, now, limit }: { id: string; now: number; limit: number },
): Promise<ApiKeyRow[]> {
  return database.read(sql`${selectApiKeys}
    WHERE k.number IN (SELECT k.number FROM (SELECT g.* FROM api_keys g
      WHERE g.lineage = (SELECT l.lineage FROM api_keys l WHERE l.id = ${id})
      ORDER BY g.number DESC LIMIT ${generationsReadMax}) k WHERE ${inScope(scope)})
    ORDER BY (${activeApiKey(now)}) DESC, k.number DESC LIMIT ${limit}`);
}

/** Changes the settings of a key in the scope that are as in `from`. The expiry only changes while the key is active. */
export function updateApiKey(
  scope: ApiKeyScope,
  id: string,
  { from, to, now }: { from: KeySettings; to: KeySettings; now: number },
) {
  const changes = settingNames.map((name) => sql`${settingColumns[name]} = ${to[name]}`);
  return sql`UPDATE api_keys AS k SET ${joinSql(changes, ", ")},
      remind_at = iif(k.expires_at IS ${to.expiresAt}, k.remind_at, ${remindAt(sql`${to.expiresAt}`, now)})
    WHERE ${inScope(scope)} AND k.id = ${id} AND ${hasSettings(from)}
      AND (k.expires_at IS ${to.expiresAt} OR ${activeApiKey(now)})`;
}

/** Revokes a key in the scope, unless it is revoked already. */
export function markApiKeyRevoked(scope: ApiKeyScope, id: string, now: number) {
  return sql`UPDATE api_keys AS k SET revoked_at = ${now}
    WHERE ${inScope(scope)} AND k.id = ${id} AND k.revoked_at IS NULL`;
}

/**
 * Ends a key in the scope after its rotation.
 *
 * @param options `replacedBy`: the id of the new key; if it doesn't exist, the old one stays as it is. `revokedAt` or
 *   `expiresAt`: when the old key ends; never later than it would have anyway.
 */
export function endRotatedApiKey(
  scope: ApiKeyScope,
  id: string,
  options: { replacedBy: string; revokedAt?: number; expiresAt?: number; now: number },
) {
  const { replacedBy, revokedAt = null, expiresAt = null, now } = options;
  const end = sql`coalesce(min(k.expires_at, ${expiresAt}), k.expires_at, ${expiresAt})`;
  return sql`
    UPDATE api_keys AS k SET revoked_at = ${revokedAt}, expires_at = ${end}, remind_at = ${remindAt(end, now)}
    WHERE ${inScope(scope)} AND k.id = ${id} AND k.revoked_at IS NULL
      AND EXISTS (SELECT 1 FROM api_keys WHERE id = ${replacedBy})`;
}

/** Revokes all keys that a user created, in any organization, after the audited end of their access. */
export function revokeApiKeysCreatedBy(userId: string, audited: Audited): Statement[] {
  return revokeApiKeysAfter(sql`k.created_by = ${userId}`, audited);
}

/** Revokes keys `k` as a consequence of an audited change. That is an event for each that worked, as the audit log has no entry of it. */
export function revokeApiKeysAfter(isRevoked: Statement, { now, audited }: Audited): Statement[] {
  const actor = sql`(SELECT ${actorOfEntry} FROM audit_events a WHERE a.id = ${audited})`;
  const isWorking = sql`${isRevoked} AND ${activeApiKey(now)} AND ${ifAudited(audited)}`;
  return [
    insertRevokedEvents(actor, isWorking, now),
    sql`UPDATE api_keys AS k SET revoked_at = ${now}
      WHERE ${isRevoked} AND k.revoked_at IS NULL AND ${ifAudited(audited)}`,
  ];
}

/** Writes an event for each of the keys `k` that a condition finds, before they are revoked. @param actor JSON of who revokes them. */
export function insertRevokedEvents(actor: Statement, isRevoked: Statement, now: number): Statement {
  const rows = sql`SELECT o.number AS organization, json_object(
      'target', json_object('id', k.id, 'name', k.name), 'expiresAt', k.expires_at, 'actor', json(${actor})) AS facts
    FROM api_keys k CROSS JOIN organizations o ON o.id = k.organization_id WHERE ${isRevoked}`;
  return insertEvents("api_key.revoked", { at: now, rows });
}
