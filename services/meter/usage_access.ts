// Checks access to the meter: API keys that work, and members whose role may read usage.
import { type ActiveApiKeyRow, findActiveApiKey } from "../../db/api_keys.ts";
import {
  type AppError,
  invalidApiKeyError,
  organizationSuspendedError,
  permissionMissingError,
} from "../../domain/errors.ts";
import type { Session } from "../../domain/sign_in/session.ts";
import type { Context } from "../context.ts";
import { requireActiveOrganization } from "../organization/membership.ts";
import type { ReportScope } from "../reports/report_context.ts";
import { keysOf, membersOf, type ReportReader } from "../reports/report_reader.ts";

/** Who reads usage: an API key, given by its hash, or a session in its active organization. */
export type UsageReader = string | Session;

/** @returns Why a key, given by its hash, doesn't work right now: `invalid_api_key` or `organization_suspended`. Null if it does. */
export async function findKeyError({ database, clock }: Context, keyHash: string): Promise<AppError | null> {
  return keyError(await findActiveApiKey(database, keyHash, clock()));
}

/**
 * Requires a key that works, given by its hash.
 *
 * @param permission What the key must be allowed, if anything.
 * @throws {AppError} `invalid_api_key`, `organization_suspended`, `permission_missing`.
 */
export async function requireApiKey(
  { database, clock, recorder }: Context,
  keyHash: string,
  permission: string | null,
) {
  const key = await findActiveApiKey(database, keyHash, clock());
  if (key !== undefined) recorder.keys.noteRate(keyHash, key.requestsPerSecond);
  const error = keyError(key);
  if (error !== null || key === undefined) throw error;
  const permissions: readonly string[] = JSON.parse(key.permissions);
  if (permission !== null && !permissions.includes(permission)) throw permissionMissingError(permission);
  return { ...key, permissions };
}

function keyError(key: ActiveApiKeyRow | undefined): AppError | null {
  if (key === undefined) return invalidApiKeyError();
  return key.suspended === 1 ? organizationSuspendedError() : null;
}

/**
 * Finds the organization whose usage is read.
 *
 * @returns The scope of a report about it, and whose share the report takes.
 * @throws {AppError} `invalid_api_key`, `organization_suspended`, `permission_missing`, `forbidden`.
 */
export async function usageScope(
  context: Context,
  by: UsageReader,
): Promise<{ scope: ReportScope; reader: ReportReader }> {
  const { organizationId } = typeof by === "string"
    ? await requireApiKey(context, by, "usage:read")
    : requireActiveOrganization(by, "usage.read");
  return {
    scope: { organizationId, now: context.clock() },
    reader: typeof by === "string" ? keysOf(organizationId) : membersOf(organizationId),
  };
}
