// API keys: create, list, rename, revoke, rotate. Verbs act in the session's active organization; members see and manage their
// own keys only. The full key leaves this file once and is never stored.
import {
  type ApiKeyRow,
  type ApiKeyScope,
  endRotatedApiKey,
  findApiKey,
  findApiKeyCounts,
  findApiKeys,
  insertApiKey,
  markApiKeyRevoked,
  updateApiKeyName,
} from "../db/api_keys.ts";
import type { SessionActor } from "../domain/actor.ts";
import { type ApiKey, apiKeyStatus, generateApiKey, hashApiKey } from "../domain/api_key.ts";
import { AppError, notFoundError, validationError } from "../domain/errors.ts";
import { isId, newId } from "../domain/id.ts";
import { activeApiKeysMax } from "../domain/limits.ts";
import { isoTime } from "../domain/time.ts";
import { hasPermission } from "../domain/permissions.ts";
import type { Session } from "../domain/sign_in/session.ts";
import { writeChange } from "./change.ts";
import type { SessionContext } from "./context.ts";
import { type Permit, requireActiveOrganization, requireActivePermit } from "./organization/membership.ts";
import { type PageInput, readPage, requireIdCursor } from "./pages.ts";

/** A new key, with the full key that is never available again. */
export interface CreatedApiKey {
  readonly apiKey: ApiKey;
  readonly fullKey: string;
}

/**
 * Creates a key.
 *
 * @param input `expiresAt`: milliseconds since 1970, in the future; null for never.
 * @throws {AppError} `validation_failed`, `key_limit_reached`, `forbidden`.
 */
export async function createApiKey(
  context: SessionContext,
  actor: SessionActor,
  { name, expiresAt }: { name: string; expiresAt: number | null },
): Promise<CreatedApiKey> {
  const permit = requireActivePermit(actor, "apiKeys.createOwn");
  const now = context.clock();
  if (expiresAt !== null && expiresAt <= now) throw notInFutureError("expiresAt");
  const { id, row, created } = newApiKey(actor, { ...permit, name, expiresAt, now });
  const isInserted = await writeChange(context, permit, {
    statement: insertApiKey(row, { activeMax: activeApiKeysMax }),
    entry: { action: "api_key.created", target: { id, name } },
  });
  if (!isInserted) throw keyLimitError();
  return created;
}

/** Lists keys, newest first, including inactive ones. @throws {AppError} `forbidden`, `validation_failed`. */
export async function listApiKeys(
  { database, clock }: SessionContext,
  session: Session,
  { limit, cursor }: PageInput,
): Promise<{ apiKeys: ApiKey[]; nextCursor: string | null }> {
  requireIdCursor(cursor, "key");
  const scope = readScope(session);
  const { rows, nextCursor } = await readPage(
    (limit) => findApiKeys(database, scope, { limit, before: cursor }),
    { limit, cursorOf: ({ id }) => id },
  );
  const now = clock();
  return { apiKeys: rows.map((row) => toApiKey(row, now)), nextCursor };
}

/** Counts active and inactive keys. @throws {AppError} `forbidden`. */
export async function countApiKeys(
  { database, clock }: SessionContext,
  session: Session,
): Promise<{ active: number; inactive: number }> {
  return await findApiKeyCounts(database, readScope(session), clock());
}

/** @throws {AppError} `not_found`, `forbidden`. */
export async function getApiKey(context: SessionContext, session: Session, id: string): Promise<ApiKey> {
  return toApiKey(await findRow(context, readScope(session), id), context.clock());
}

/** Renames a key. @throws {AppError} `not_found`, `forbidden`. */
export async function renameApiKey(
  context: SessionContext,
  actor: SessionActor,
  { id, name }: { id: string; name: string },
): Promise<ApiKey> {
  const { scope, permit } = manageScope(actor);
  if (isId("key", id)) {
    await writeChange(context, permit, {
      statement: updateApiKeyName(scope, id, name),
      entry: { action: "api_key.renamed", target: { id, name } },
    });
  }
  return await getApiKey(context, actor, id);
}

/** Revokes a key, effective immediately. Revoking it again changes nothing. @throws {AppError} `not_found`, `forbidden`. */
export async function revokeApiKey(context: SessionContext, actor: SessionActor, id: string) {
  const { scope, permit } = manageScope(actor);
  const { name } = await findRow(context, scope, id);
  await writeChange(context, permit, {
    statement: markApiKeyRevoked(scope, id, context.clock()),
    entry: { action: "api_key.revoked", target: { id, name } },
  });
  return await getApiKey(context, actor, id);
}

/**
 * Replaces an active key with a new one of the same name and expiry time.
 *
 * @param input `expireOldAt`: when the old key ends (milliseconds since 1970); null for immediately.
 * @throws {AppError} `not_found`, `forbidden`, `key_limit_reached`; `validation_failed` if the old key is not active.
 */
export async function rotateApiKey(
  context: SessionContext,
  actor: SessionActor,
  { id, expireOldAt }: { id: string; expireOldAt: number | null },
): Promise<CreatedApiKey> {
  const { scope, permit } = manageScope(actor);
  const now = context.clock();
  const old = await findRow(context, scope, id);
  const notActive = validationError([{ path: "id", message: "only active keys can be rotated." }]);
  if (apiKeyStatus(old, now) !== "active") throw notActive;
  if (expireOldAt !== null && expireOldAt <= now) throw notInFutureError("expireOldAt");
  const { name, expiresAt } = old;
  const { id: newKeyId, row, created } = newApiKey(actor, { ...permit, name, expiresAt, now });
  // A key that ends immediately makes room for the new one.
  const activeMax = activeApiKeysMax + (expireOldAt === null ? 1 : 0);
  const oldEnds = expireOldAt === null ? { revokedAt: now } : { expiresAt: expireOldAt };
  const isRotated = await writeChange(context, permit, {
    // This checks that the old key is active, so only one of several simultaneous rotations or revocations wins.
    statement: insertApiKey(row, { activeMax, replacing: id }),
    entry: { action: "api_key.rotated", target: { id, name }, details: { replacedBy: newKeyId } },
    after: () => [endRotatedApiKey(scope, id, { replacedBy: newKeyId, ...oldEnds })],
  });
  if (!isRotated) {
    if (apiKeyStatus(await findRow(context, scope, id), now) !== "active") throw notActive;
    throw keyLimitError();
  }
  return created;
}

/** Generates a key. @returns What to insert, and what to return: reading it back could fail and lose the only copy. */
function newApiKey(
  { user }: Session,
  input: { organizationId: string; name: string; expiresAt: number | null; now: number },
) {
  const { organizationId, name, expiresAt, now } = input;
  const { fullKey, keyPrefix } = generateApiKey();
  const id = newId("key");
  const key = { id, name, keyPrefix, expiresAt };
  const row = { ...key, organizationId, keyHash: hashApiKey(fullKey), createdBy: user.id, now };
  const stored = { ...key, createdAt: now, createdById: user.id, createdByName: user.name };
  const apiKey = toApiKey({ ...stored, lastUsedAt: null, revokedAt: null }, now);
  return { id, row, created: { apiKey, fullKey } };
}

async function findRow(context: SessionContext, scope: ApiKeyScope, id: string): Promise<ApiKeyRow> {
  const row = isId("key", id) ? await findApiKey(context.database, scope, id) : undefined;
  if (row === undefined) throw notFoundError();
  return row;
}

/** Keys that this user can see. */
function readScope(session: Session): ApiKeyScope {
  const { organizationId, role } = requireActiveOrganization(session, "apiKeys.createOwn");
  return hasPermission(role, "apiKeys.manageAll")
    ? { organizationId }
    : { organizationId, createdBy: session.user.id };
}

/** Keys that this user can manage, and the permit to do so. */
function manageScope(actor: SessionActor): { scope: ApiKeyScope; permit: Permit } {
  const scope = readScope(actor);
  const permission = scope.createdBy === undefined ? "apiKeys.manageAll" : "apiKeys.createOwn";
  return { scope, permit: requireActivePermit(actor, permission) };
}

function notInFutureError(path: string): AppError {
  return validationError([{ path, message: "must be in the future." }]);
}

function keyLimitError(): AppError {
  return new AppError(
    "key_limit_reached",
    `Your organization has reached its limit of ${activeApiKeysMax} active keys. Revoke one first.`,
  );
}

function toApiKey(row: ApiKeyRow, now: number): ApiKey {
  const time = (ms: number | null) => ms === null ? null : isoTime(ms);
  return {
    id: row.id,
    name: row.name,
    keyPrefix: row.keyPrefix,
    createdAt: isoTime(row.createdAt),
    createdBy: row.createdById === null ? null : { id: row.createdById, name: row.createdByName ?? "" },
    lastUsedAt: time(row.lastUsedAt),
    expiresAt: time(row.expiresAt),
    revokedAt: time(row.revokedAt),
    status: apiKeyStatus(row, now),
  };
}
