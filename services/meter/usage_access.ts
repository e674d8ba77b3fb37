// Who may use the meter: API keys that work, members whose role may read usage, and operators.
import { type ActiveApiKeyRow, findActiveApiKey } from "../../db/access/mod.ts";
import type { UsageFilter } from "../../db/meter/usage_sums.ts";
import type { Environment } from "../../domain/environment.ts";
import type { Actor, ClientInfo } from "../../domain/access/actor.ts";
import {
  type AppError,
  invalidApiKeyError,
  organizationSuspendedError,
  permissionMissingError,
} from "../../domain/errors.ts";
import { type Access, requirePermission } from "../access/mod.ts";
import { isAllowedFrom } from "../address_blocks.ts";
import type { KeyClient } from "./known_keys.ts";
import type { Context, SessionContext } from "../context.ts";
import type { JobScope } from "../reports/job_context.ts";
import { type JobReader, keysOf } from "../reports/job_reader.ts";

/** The access of an API key that works to the usage of its organization. */
export interface KeyAccess {
  readonly actor: Actor & { readonly type: "apiKey" };
  readonly keyHash: string;
  readonly permissions: readonly string[];
  readonly organizationId: string;
  readonly environment: Environment;
  /** Features of the organization's plan. */
  readonly features: readonly string[];
  readonly reader: JobReader;
}

export type UsageAccess = Access | KeyAccess;

/** Returns the access of a key. @throws {AppError} `invalid_api_key`, `organization_suspended`. */
export async function keyAccess(context: Context, keyHash: string, client: ClientInfo): Promise<KeyAccess> {
  const { id, name, ...key } = await requireApiKey(context, keyHash, { client });
  const { organizationId, environment, permissions, features } = key;
  const actor = { type: "apiKey", id, name, client } as const;
  return {
    actor,
    keyHash,
    permissions,
    organizationId,
    environment,
    features,
    reader: keysOf(organizationId),
  };
}

/** Returns the scope of jobs about usage. @throws {AppError} `permission_missing`, `forbidden`. */
export function usageScope({ clock }: Pick<SessionContext, "clock">, access: UsageAccess): JobScope {
  if ("keyHash" in access) requireKeyPermission(access, "usage:read");
  else requirePermission(access, "usage.read");
  return { organizationId: access.organizationId, now: clock() };
}

/** Returns a query as it is meant: a key reads the usage of its own environment, unless the query names another one, or keys. */
export function inEnvironment<Query extends UsageFilter>(access: UsageAccess, query: Query): Query {
  return "keyHash" in access && query.environment === undefined && query.apiKey === undefined
    ? { ...query, environment: access.environment }
    : query;
}

interface KeyOptions {
  readonly client: KeyClient;
  /** True if keys of suspended organizations work, too. */
  readonly allowsSuspended?: boolean;
}

/** Returns why the key with a hash doesn't work right now, from the client's address, `invalid_api_key` or `organization_suspended`, or null. */
export async function findKeyError(
  { database, clock }: Context,
  keyHash: string,
  options: KeyOptions,
): Promise<AppError | null> {
  return keyError(await findActiveApiKey(database, keyHash, clock()), options);
}

/**
 * Requires a key that works from the client's address.
 *
 * @param use `permission`: what the key must be allowed, if anything.
 * @throws {AppError} `invalid_api_key`, `organization_suspended`, `permission_missing`.
 */
export async function requireApiKey(
  { database, clock, recorder }: Context,
  keyHash: string,
  { permission = null, ...options }: KeyOptions & { readonly permission?: string | null },
) {
  const key = await findActiveApiKey(database, keyHash, clock());
  if (key !== undefined) recorder.keys.noteTerms(keyHash, key);
  const error = keyError(key, options);
  if (error !== null || key === undefined) throw error;
  const permissions: readonly string[] = JSON.parse(key.permissions);
  if (permission !== null) requireKeyPermission({ permissions }, permission);
  return { ...key, permissions, features: JSON.parse(key.features) as readonly string[] };
}

/** @throws {AppError} `permission_missing`. */
export function requireKeyPermission({ permissions }: Pick<KeyAccess, "permissions">, permission: string) {
  if (!permissions.includes(permission)) throw permissionMissingError(permission);
}

function keyError(
  key: ActiveApiKeyRow | undefined,
  { client, allowsSuspended = false }: KeyOptions,
): AppError | null {
  if (key === undefined || !isAllowedFrom(key.addresses, client)) return invalidApiKeyError();
  return key.suspended === 1 && !allowsSuspended ? organizationSuspendedError() : null;
}
