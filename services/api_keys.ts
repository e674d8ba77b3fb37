// API keys: create, list, change, revoke, rotate. Verbs act in the session's active organization; members see and manage their
// own keys only. The full key leaves this file once and is never stored.
import {
  type ApiKeyRow,
  type ApiKeyScope,
  endRotatedApiKey,
  findApiKey,
  findApiKeyCounts,
  findApiKeys,
  insertApiKey,
  lineageOf,
  markApiKeyRevoked,
  updateApiKey,
} from "../db/api_keys.ts";
import { insertAuditEvent } from "../db/audit.ts";
import { replaceLimits } from "../db/meter/limit_rows.ts";
import { findEffectiveNumber } from "../db/organization/plan_numbers.ts";
import type { SessionActor } from "../domain/actor.ts";
import { type ApiKey, apiKeyStatus, generateApiKey, hashApiKey } from "../domain/api_key.ts";
import type { AuditEntry } from "../domain/audit.ts";
import {
  apiKeyLimitError,
  AppError,
  notFoundError,
  unavailableError,
  validationError,
} from "../domain/errors.ts";
import { isId, newId } from "../domain/id.ts";
import {
  defaultKeyPermissions,
  operatorsKeyPermission,
  sortedPermissions,
} from "../domain/key_permissions.ts";
import { limitsText } from "../domain/meter/usage_limit.ts";
import { isoTime } from "../domain/time.ts";
import { hasPermission } from "../domain/permissions.ts";
import type { Session } from "../domain/sign_in/session.ts";
import { writeChange } from "./change.ts";
import type { SessionContext } from "./context.ts";
import { type BudgetLimit, budgetOf, requireBudgetFits } from "./meter/budgets.ts";
import { type Permit, requireActiveOrganization, requireActivePermit } from "./organization/membership.ts";
import { type PageInput, readPage, requireIdCursor } from "./pages.ts";
import { actorOf, type Writer } from "./sign_in/session_writes.ts";

/** A new key, with the full key that is never available again. */
export interface CreatedApiKey {
  readonly apiKey: ApiKey;
  readonly fullKey: string;
}

/** What the creator of a key chooses. */
export interface ApiKeyInput {
  readonly name: string;
  /** Milliseconds since 1970, in the future; null for never. */
  readonly expiresAt: number | null;
  /** Those of {@linkcode defaultKeyPermissions} unless given. */
  readonly permissions?: readonly string[] | undefined;
}

/** What to change about a key. */
export interface ApiKeyChange {
  readonly id: string;
  readonly name?: string | undefined;
  readonly permissions?: readonly string[] | undefined;
  /** Replaces the whole budget. Limits with the scope of an existing one keep what counts against them. */
  readonly budget?: readonly BudgetLimit[] | undefined;
}

/** Which keys a writer can manage. */
export interface ApiKeyManager {
  readonly by: Writer;
  readonly scope: ApiKeyScope;
}

/**
 * Creates a key.
 *
 * @throws {AppError} `validation_failed`, `key_limit_reached`; `forbidden` also for a permission that only operators grant.
 */
export async function createApiKey(
  context: SessionContext,
  actor: SessionActor,
  input: ApiKeyInput,
): Promise<CreatedApiKey> {
  const by = requireActivePermit(actor, "apiKeys.createOwn");
  return await addApiKey(context, { by, scope: by }, input);
}

/**
 * Creates a key in an organization.
 *
 * @throws {AppError} `validation_failed`, `key_limit_reached`, `forbidden`, and as `writeAs`.
 */
export async function addApiKey(
  context: SessionContext,
  { by, scope: { organizationId } }: ApiKeyManager,
  { name, expiresAt, permissions: chosen = defaultKeyPermissions }: ApiKeyInput,
): Promise<CreatedApiKey> {
  const now = context.clock();
  if (expiresAt !== null && expiresAt <= now) throw notInFutureError("expiresAt");
  const permissions = sortedPermissions(chosen);
  requireGrantable(by, permissions, []);
  const { id, row, created } = newApiKey(by, {
    organizationId,
    name,
    expiresAt,
    permissions,
    budget: "[]",
    now,
  });
  const isInserted = await writeChange(context, by, {
    statement: insertApiKey(row),
    entry: {
      action: "api_key.created",
      organizationId,
      target: { id, name },
      details: { permissions: permissionsText(permissions) },
    },
  });
  if (!isInserted) throw await keyLimitError(context, organizationId);
  return created;
}

/** Lists keys, newest first, including inactive ones. @throws {AppError} `forbidden`, `validation_failed`. */
export async function listApiKeys(context: SessionContext, session: Session, page: PageInput) {
  return await readApiKeys(context, readScope(session), page);
}

/** Lists the keys in a scope, newest first, including inactive ones. @throws {AppError} `validation_failed`. */
export async function readApiKeys(
  { database, clock }: SessionContext,
  scope: ApiKeyScope,
  { limit, cursor }: PageInput,
): Promise<{ apiKeys: ApiKey[]; nextCursor: string | null }> {
  requireIdCursor(cursor, "key");
  const { rows, nextCursor } = await readPage(
    (limit) => findApiKeys(database, scope, { limit, before: cursor }),
    { limit, cursorOf: ({ id }) => id },
  );
  const now = clock();
  return { apiKeys: rows.map((row) => toApiKey(row, now)), nextCursor };
}

/** How many keys there are. */
export interface ApiKeyCounts {
  readonly active: number;
  readonly inactive: number;
  /** How many the organization may have active; null for members, who see their own only. */
  readonly activeMax: number | null;
}

/** Counts keys. @throws {AppError} `forbidden`. */
export async function countApiKeys(
  { database, clock }: SessionContext,
  session: Session,
): Promise<ApiKeyCounts> {
  const scope = readScope(session);
  const [counts, activeMax] = await Promise.all([
    findApiKeyCounts(database, scope, clock()),
    scope.createdBy === undefined ? findEffectiveNumber(database, scope.organizationId, "apiKeysMax") : null,
  ]);
  return { ...counts, activeMax: activeMax ?? null };
}

/** @throws {AppError} `not_found`, `forbidden`. */
export async function getApiKey(context: SessionContext, session: Session, id: string): Promise<ApiKey> {
  return await readApiKey(context, readScope(session), id);
}

/** @returns A key in a scope. @throws {AppError} `not_found`. */
export async function readApiKey(context: SessionContext, scope: ApiKeyScope, id: string): Promise<ApiKey> {
  return toApiKey(await findRow(context, scope, id), context.clock());
}

/**
 * Changes a key's name, permissions or budget. Owners and admins set budgets.
 *
 * @throws {AppError} `not_found`, `unavailable`; `forbidden` also for adding a permission that only operators grant;
 *   `validation_failed` for a budget above a limit of the organization.
 */
export async function changeApiKey(context: SessionContext, actor: SessionActor, change: ApiKeyChange) {
  if (change.budget !== undefined) requireActivePermit(actor, "apiKeys.manageAll");
  return await updateApiKeyOf(context, manageScope(actor), change);
}

/** Changes a key that the writer can manage. @throws {AppError} As {@linkcode changeApiKey}, and as `writeAs`. */
export async function updateApiKeyOf(
  context: SessionContext,
  { by, scope }: ApiKeyManager,
  { id, ...change }: ApiKeyChange,
): Promise<ApiKey> {
  const row = await findRow(context, scope, id);
  const { name = row.name } = change;
  const { permissions: from } = row;
  const stored: readonly string[] = JSON.parse(from);
  const permissions = sortedPermissions(change.permissions ?? stored);
  requireGrantable(by, permissions, stored);
  const about = { organizationId: scope.organizationId, target: { id, name } };
  const entries: AuditEntry[] = [];
  if (name !== row.name) entries.push({ ...about, action: "api_key.renamed" });
  if (JSON.stringify(permissions) !== from) {
    const details = { from: permissionsText(stored), to: permissionsText(permissions) };
    entries.push({ ...about, action: "api_key.permissions_changed", details });
  }
  const storedBudget = limitsText(budgetOf(row.budget));
  const { budget = budgetOf(row.budget) } = change;
  if (limitsText(budget) !== storedBudget) {
    await requireBudgetFits(context, scope.organizationId, budget);
    const details = { from: storedBudget || "none", to: limitsText(budget) || "none" };
    entries.push({ ...about, action: "api_key.budget_changed", details });
  }
  const [entry, ...more] = entries;
  if (entry === undefined) return toApiKey(row, context.clock());
  const isChanged = await writeChange(context, by, {
    statement: updateApiKey(scope, id, { name, permissions, from }),
    entry,
    after: (audited) => [
      ...more.map((other) => insertAuditEvent(actorOf(by), other, audited).statement),
      ...(change.budget === undefined ? [] : replaceLimits(lineageOf(id), change.budget, audited)),
    ],
  });
  const changed = await findRow(context, scope, id);
  if (!isChanged) throw changedMeanwhileError();
  return toApiKey(changed, context.clock());
}

/** Revokes a key, effective immediately. Revoking it again changes nothing. @throws {AppError} `not_found`, `forbidden`. */
export async function revokeApiKey(
  context: SessionContext,
  actor: SessionActor,
  id: string,
): Promise<ApiKey> {
  return await endApiKey(context, manageScope(actor), id);
}

/** Revokes a key that the writer can manage. @throws {AppError} `not_found`, and as `writeAs`. */
export async function endApiKey(
  context: SessionContext,
  { by, scope }: ApiKeyManager,
  id: string,
): Promise<ApiKey> {
  const { name } = await findRow(context, scope, id);
  await writeChange(context, by, {
    statement: markApiKeyRevoked(scope, id, context.clock()),
    entry: { action: "api_key.revoked", organizationId: scope.organizationId, target: { id, name } },
  });
  return toApiKey(await findRow(context, scope, id), context.clock());
}

/**
 * Replaces an active key with a new one of the same name, permissions, budget and expiry time.
 *
 * @param input `expireOldAt`: when the old key ends (milliseconds since 1970); null for immediately.
 * @throws {AppError} `not_found`, `forbidden`, `key_limit_reached`, `unavailable`; `validation_failed` if the old key is not
 *   active.
 */
export async function rotateApiKey(
  context: SessionContext,
  actor: SessionActor,
  { id, expireOldAt }: { id: string; expireOldAt: number | null },
): Promise<CreatedApiKey> {
  const { scope, by } = manageScope(actor);
  const now = context.clock();
  const old = await findRow(context, scope, id);
  const notActive = validationError([{ path: "id", message: "only active keys can be rotated." }]);
  if (apiKeyStatus(old, now) !== "active") throw notActive;
  if (expireOldAt !== null && expireOldAt <= now) throw notInFutureError("expireOldAt");
  const { organizationId } = scope;
  const { name, expiresAt, budget } = old;
  const permissions: readonly string[] = JSON.parse(old.permissions);
  const next = newApiKey(by, { organizationId, name, expiresAt, permissions, budget, now });
  const oldEnds = expireOldAt === null ? { revokedAt: now } : { expiresAt: expireOldAt };
  const isRotated = await writeChange(context, by, {
    // This checks that the old key is active, so only one of several simultaneous rotations or revocations wins.
    statement: insertApiKey(next.row, { id, isKept: expireOldAt !== null }),
    entry: { action: "api_key.rotated", target: { id, name }, details: { replacedBy: next.id } },
    after: () => [endRotatedApiKey(scope, id, { replacedBy: next.id, ...oldEnds })],
  });
  if (isRotated) return next.created;
  const current = await findRow(context, scope, id);
  if (apiKeyStatus(current, now) !== "active") throw notActive;
  throw current.permissions === old.permissions
    ? await keyLimitError(context, organizationId)
    : changedMeanwhileError();
}

/** Generates a key. @returns What to insert, and what to return: reading it back could fail and lose the only copy. */
function newApiKey(
  by: Writer,
  input: {
    organizationId: string;
    name: string;
    expiresAt: number | null;
    permissions: readonly string[];
    /** As stored. */
    budget: string;
    now: number;
  },
) {
  const { organizationId, name, expiresAt, permissions, budget, now } = input;
  const { fullKey, keyPrefix } = generateApiKey();
  const id = newId("key");
  const actor = actorOf(by);
  const creator = actor.type === "operator" ? null : actor.user;
  const createdBy = creator?.id ?? null;
  const key = { id, name, keyPrefix, expiresAt };
  const row = { ...key, organizationId, keyHash: hashApiKey(fullKey), createdBy, permissions, now };
  const apiKey = toApiKey({
    ...key,
    permissions: JSON.stringify(permissions),
    budget,
    createdAt: now,
    createdById: createdBy,
    createdByName: creator?.name ?? null,
    createdByOperator: creator === null ? 1 : 0,
    lastUsedAt: null,
    revokedAt: null,
  }, now);
  return { id, row, created: { apiKey, fullKey } };
}

/** @param from The permissions that the key has. @throws {AppError} `forbidden` for adding one that only operators grant. */
function requireGrantable(by: Writer, permissions: readonly string[], from: readonly string[]): void {
  if (actorOf(by).type === "operator") return;
  if (!permissions.includes(operatorsKeyPermission) || from.includes(operatorsKeyPermission)) return;
  throw new AppError("forbidden", `Only the operator of this service can grant ${operatorsKeyPermission}.`);
}

/** @returns Permissions as the audit log has them. */
function permissionsText(permissions: readonly string[]): string {
  return permissions.join(", ") || "none";
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
function manageScope(actor: SessionActor): { scope: ApiKeyScope; by: Permit } {
  const scope = readScope(actor);
  const permission = scope.createdBy === undefined ? "apiKeys.manageAll" : "apiKeys.createOwn";
  return { scope, by: requireActivePermit(actor, permission) };
}

function changedMeanwhileError(): AppError {
  return unavailableError("Someone else just changed the key. Try again.");
}

function notInFutureError(path: string): AppError {
  return validationError([{ path, message: "must be in the future." }]);
}

async function keyLimitError({ database }: SessionContext, organizationId: string): Promise<AppError> {
  const max = await findEffectiveNumber(database, organizationId, "apiKeysMax");
  return max === undefined ? notFoundError() : apiKeyLimitError(max);
}

function toApiKey(row: ApiKeyRow, now: number): ApiKey {
  const time = (ms: number | null) => ms === null ? null : isoTime(ms);
  return {
    id: row.id,
    name: row.name,
    keyPrefix: row.keyPrefix,
    createdAt: isoTime(row.createdAt),
    createdBy: row.createdById === null ? null : { id: row.createdById, name: row.createdByName ?? "" },
    createdByOperator: row.createdByOperator === 1,
    permissions: JSON.parse(row.permissions),
    budget: budgetOf(row.budget),
    lastUsedAt: time(row.lastUsedAt),
    expiresAt: time(row.expiresAt),
    revokedAt: time(row.revokedAt),
    status: apiKeyStatus(row, now),
  };
}
