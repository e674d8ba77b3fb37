// API keys: list, get, change, revoke. Members without "apiKeys.manageAll" see and manage only the keys that they created.
import { insertChangeEvent } from "../../db/outbox/mod.ts";
import {
  type ApiKeyRow,
  countActiveKeys,
  findApiKey,
  findApiKeys,
  findApiKeysByExternalId,
  findGenerations,
  markApiKeyRevoked,
  selectApiKey,
  settingsOf,
  updateApiKey,
} from "../../db/keys/api_keys.ts";
import { findOrganizationLimits, lineageOf, parseLimits, replaceLimits } from "../../db/meter/mod.ts";
import { type ApiKeyScope, findOrganizationOfApiKey, insertAuditEvent } from "../../db/access/mod.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { type ApiKey, apiKeyStatus } from "../../domain/keys/api_key.ts";
import type { AuditEntry } from "../../domain/access/audit.ts";
import { AppError, notFoundError, unavailableError, validationError } from "../../domain/errors.ts";
import type { Environment } from "../../domain/environment.ts";
import { isId } from "../../domain/id.ts";
import { operatorsKeyPermission, sortedPermissions } from "../../domain/keys/key_permissions.ts";
import {
  type BudgetLimit,
  hasQuantity,
  limitBelow,
  limitsText,
  type UsageLimit,
} from "../../domain/meter/usage_limit.ts";
import { isoTime } from "../../domain/time.ts";
import {
  type Access,
  isOperator,
  may,
  type OperatorAccess,
  operatorAccess,
  requirePermission,
  writeAndRead,
  type Writer,
} from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { fieldChanges, type KeyFields, requireFieldsAllowed, storedFields } from "./key_fields.ts";
import { type PageInput, readIdPage } from "../pages.ts";

interface ApiKeyChange extends KeyFields {
  readonly id: string;
  readonly name?: string | undefined;
  readonly permissions?: readonly string[] | undefined;
  /** A future time in milliseconds since 1970, or null for never. Only active keys can get another one. */
  readonly expiresAt?: number | null | undefined;
  /** False: requests with the key are rejected until it is enabled again. */
  readonly enabled?: boolean | undefined;
  /** Replaces the whole budget. Limits with the scope of an existing one keep what counts against them. */
  readonly budget?: readonly BudgetLimit[] | undefined;
}

/** A key with those that it replaced, or that replaced it, as far as their reader can see them. */
interface ApiKeyLineage {
  /** The newest active key or, without one, the newest key. */
  readonly current: ApiKey;
  /** With the current one first, then newest first, at most 20. */
  readonly generations: readonly ApiKey[];
}

const generationsMax = 20;

/** Returns an operator's access to the organization of a key. @throws {AppError} `not_found`. */
export async function accessToApiKey(
  context: SessionContext,
  actor: OperatorActor,
  id: string,
): Promise<OperatorAccess> {
  return await operatorAccess(context, actor, await findOrganizationOfApiKey(context.database, id) ?? "");
}

/** Lists keys, newest first, including inactive ones. @throws {AppError} `forbidden`, `validation_failed`. */
export async function listApiKeys(
  { database, clock }: SessionContext,
  access: Access,
  { limit, cursor, environment }: PageInput & { readonly environment?: Environment | undefined },
): Promise<{ apiKeys: ApiKey[]; nextCursor: string | null }> {
  const scope = keysSeenBy(access);
  const { rows, nextCursor } = await readIdPage(
    (page) => findApiKeys(database, scope, { ...page, environment }),
    { prefix: "key", limit, cursor },
  );
  const now = clock();
  return { apiKeys: rows.map((row) => apiKeyFor(access, row, now)), nextCursor };
}

/** Lists keys of all organizations by their external id, newest first. @throws {AppError} `validation_failed`. */
export async function listApiKeysByExternalId(
  { database, clock }: SessionContext,
  { externalId, limit, cursor }: PageInput & { readonly externalId: string },
): Promise<{ apiKeys: ApiKey[]; nextCursor: string | null }> {
  const { rows, nextCursor } = await readIdPage(
    (page) => findApiKeysByExternalId(database, { externalId, ...page }),
    { prefix: "key", limit, cursor },
  );
  const now = clock();
  return { apiKeys: rows.map((row) => toOperatedKey(row, now)), nextCursor };
}

/** Counts the active keys of an organization. @throws {AppError} `forbidden`. */
export async function countActiveApiKeys(
  { database, clock }: SessionContext,
  access: Access,
): Promise<number> {
  requirePermission(access, "apiKeys.manageAll");
  return await countActiveKeys(database, access.organizationId, clock());
}

/** @throws {AppError} `not_found`, `forbidden`. */
export async function getApiKey(context: SessionContext, access: Access, id: string): Promise<ApiKey> {
  return apiKeyFor(access, await findRow(context, keysSeenBy(access), id), context.clock());
}

/** @param id Of any key of the lineage. @throws {AppError} `not_found`, `forbidden`. */
export async function getApiKeyLineage(
  { database, clock }: SessionContext,
  access: Access,
  id: string,
): Promise<ApiKeyLineage> {
  const now = clock();
  const scope = keysSeenBy(access);
  const rows = isId("key", id)
    ? await findGenerations(database, scope, { id, now, limit: generationsMax })
    : [];
  const generations = rows.map((row) => apiKeyFor(access, row, now));
  const [current] = generations;
  if (current === undefined) throw notFoundError();
  return { current, generations };
}

/**
 * Changes a key. Members need "apiKeys.manageAll" for everything but its name, permissions and expiry.
 *
 * @throws {AppError} `not_found`, `unavailable`; `forbidden` also for adding a permission that only operators grant, for having
 *   it for longer, and for enabling what an operator disabled; `validation_failed` for a budget above a limit of the organization, a
 *   time that has passed, and the expiry of an inactive key.
 */
export async function changeApiKey(
  context: SessionContext,
  access: Access,
  { id, ...change }: ApiKeyChange,
): Promise<ApiKey> {
  const { enabled, addresses, requestsPerSecond, externalId, metadata } = change;
  const given = { addresses, requestsPerSecond, externalId, metadata };
  if (change.budget !== undefined || enabled !== undefined) requirePermission(access, "apiKeys.manageAll");
  requireFieldsAllowed(access, given);
  const { by, scope } = keysOpenTo(access);
  const row = await findRow(context, scope, id);
  const now = context.clock();
  const { name = row.name, expiresAt = row.expiresAt } = change;
  const stored: readonly string[] = JSON.parse(row.permissions);
  const permissions = sortedPermissions(change.permissions ?? stored);
  requireGrantable(access, permissions, stored);
  const about = { organizationId: access.organizationId, target: { id, name } };
  const entries: AuditEntry[] = [];
  if (name !== row.name) entries.push({ ...about, action: "api_key.renamed" });
  if (JSON.stringify(permissions) !== row.permissions) {
    const details = { from: permissionsText(stored), to: permissionsText(permissions) };
    entries.push({ ...about, action: "api_key.permissions_changed", details });
  }
  if (expiresAt !== row.expiresAt) {
    requireNewExpiry(row, expiresAt, now);
    requireExtensible(access, permissions, { from: row.expiresAt, to: expiresAt });
    const details = { from: isoTime(row.expiresAt) ?? "never", to: isoTime(expiresAt) ?? "never" };
    entries.push({ ...about, action: "api_key.expiry_changed", details });
  }
  const enabling = enablingOf(access, row, { enabled, now });
  if (enabling.disabledAt !== row.disabledAt || enabling.disabledByOperator !== row.disabledByOperator) {
    entries.push({ ...about, action: enabling.disabledAt === null ? "api_key.enabled" : "api_key.disabled" });
  }
  const fields = storedFields(given, row);
  entries.push(...fieldChanges(row, fields).map((change) => ({ ...about, ...change })));
  const storedBudget = limitsText(budgetOf(row.budget));
  const { budget = budgetOf(row.budget) } = change;
  if (limitsText(budget) !== storedBudget) {
    await requireBudgetFits(context, { ...row, budget });
    const details = { from: storedBudget || "none", to: limitsText(budget) || "none" };
    entries.push({ ...about, action: "api_key.budget_changed", details });
  }
  const to = { name, permissions: JSON.stringify(permissions), expiresAt, ...enabling, ...fields };
  const [entry, ...more] = entries;
  if (entry === undefined) return apiKeyFor(access, row, now);
  const { isMade, row: changed } = await writeAndRead<ApiKeyRow>(context, by, {
    statement: updateApiKey(scope, id, { from: settingsOf(row), to, now }),
    entry,
    after: (audited) => [
      ...more.map((other) => insertAuditEvent(access.actor, other, audited).statement),
      ...(change.budget === undefined ? [] : replaceLimits(lineageOf(id), change.budget, audited)),
    ],
  }, selectApiKey(scope, id));
  if (!isMade) throw changedMeanwhileError();
  return apiKeyFor(access, changed(), context.clock());
}

function requireNewExpiry(row: ApiKeyRow, expiresAt: number | null, now: number): void {
  const message = apiKeyStatus(row, now) !== "active"
    ? "can't be changed: the key is no longer active."
    : expiresAt !== null && expiresAt <= now
    ? "must be in the future."
    : null;
  if (message !== null) throw validationError([{ path: "expiresAt", message }]);
}

/** Returns when and by whom a key is disabled after a change. An operator who disables a key takes it from its organization. */
function enablingOf(
  access: Access,
  { disabledAt, disabledByOperator }: ApiKeyRow,
  { enabled, now }: { enabled: boolean | undefined; now: number },
): Pick<ApiKeyRow, "disabledAt" | "disabledByOperator"> {
  if (enabled === undefined) return { disabledAt, disabledByOperator };
  if (!enabled) {
    return { disabledAt: disabledAt ?? now, disabledByOperator: isOperator(access) ? 1 : disabledByOperator };
  }
  if (disabledByOperator === 1 && !isOperator(access)) {
    throw new AppError("forbidden", "Only the operator of this service can enable this key.");
  }
  return { disabledAt: null, disabledByOperator: 0 };
}

/** Keeps members from extending a permission that only operators grant. Times in milliseconds since 1970; null: forever. */
function requireExtensible(
  access: Access,
  permissions: readonly string[],
  { from, to }: { from: number | null; to: number | null },
): void {
  if (isOperator(access) || !permissions.includes(operatorsKeyPermission)) return;
  if ((to ?? Infinity) <= (from ?? Infinity)) return;
  const message = `Only the operator of this service can extend keys with ${operatorsKeyPermission}.`;
  throw new AppError("forbidden", message);
}

/** Revokes a key, effective immediately. Revoking it again changes nothing. @throws {AppError} `not_found`, `forbidden`. */
export async function revokeApiKey(
  context: SessionContext,
  access: Access,
  id: string,
): Promise<ApiKey> {
  const { by, scope } = keysOpenTo(access);
  const { name } = await findRow(context, scope, id);
  const { row } = await writeAndRead<ApiKeyRow>(context, by, {
    statement: markApiKeyRevoked(scope, id, context.clock()),
    entry: { action: "api_key.revoked", organizationId: access.organizationId, target: { id, name } },
    after: (audited) => [insertChangeEvent("api_key.revoked", audited)],
  }, selectApiKey(scope, id));
  return apiKeyFor(access, row(), context.clock());
}

/** Keeps members from adding a permission to `from` that only operators grant. @throws {AppError} `forbidden`. */
export function requireGrantable(
  access: Access,
  permissions: readonly string[],
  from: readonly string[],
): void {
  if (isOperator(access)) return;
  if (!permissions.includes(operatorsKeyPermission) || from.includes(operatorsKeyPermission)) return;
  throw new AppError("forbidden", `Only the operator of this service can grant ${operatorsKeyPermission}.`);
}

export function permissionsText(permissions: readonly string[]): string {
  return permissions.join(", ") || "none";
}

/** @throws {AppError} `not_found` if the key is not in the scope. */
export async function findRow(context: SessionContext, scope: ApiKeyScope, id: string): Promise<ApiKeyRow> {
  const row = isId("key", id) ? await findApiKey(context.database, scope, id) : undefined;
  if (row === undefined) throw notFoundError();
  return row;
}

/** Returns the keys that someone sees. @throws {AppError} `forbidden`. */
export function keysSeenBy(access: Access): ApiKeyScope {
  requirePermission(access, "apiKeys.read");
  const { organizationId } = access;
  return access.role === null || may(access, "apiKeys.manageAll")
    ? { organizationId }
    : { organizationId, createdBy: access.actor.user.id };
}

/** Returns the keys that someone may change, as the writer who changes them. @throws {AppError} `forbidden`. */
export function keysOpenTo(access: Access): { readonly scope: ApiKeyScope; readonly by: Writer } {
  const scope = keysSeenBy(access);
  const permission = scope.createdBy === undefined ? "apiKeys.manageAll" : "apiKeys.createOwn";
  return { scope, by: requirePermission(access, permission) };
}

export function changedMeanwhileError(): AppError {
  return unavailableError("Someone else just changed the key. Try again.");
}

/** Returns a key as someone sees it. */
export function apiKeyFor(access: Access, row: ApiKeyRow, now: number): ApiKey {
  return isOperator(access) ? toOperatedKey(row, now) : toApiKey(row, now);
}

function toOperatedKey(row: ApiKeyRow, now: number): ApiKey {
  const { organizationId, externalId, metadata } = row;
  return { ...toApiKey(row, now), organizationId, externalId, metadata: JSON.parse(metadata) };
}

export function toApiKey(row: ApiKeyRow, now: number): ApiKey {
  return {
    id: row.id,
    name: row.name,
    keyPrefix: row.keyPrefix,
    environment: row.environment,
    createdAt: isoTime(row.createdAt),
    createdBy: row.createdById === null ? null : { id: row.createdById, name: row.createdByName ?? "" },
    createdByOperator: row.createdByOperator === 1,
    permissions: JSON.parse(row.permissions),
    budget: budgetOf(row.budget),
    lastUsedAt: isoTime(row.lastUsedAt),
    expiresAt: isoTime(row.expiresAt),
    revokedAt: isoTime(row.revokedAt),
    addresses: row.addresses === null ? null : JSON.parse(row.addresses),
    requestsPerSecond: row.requestsPerSecond,
    enabled: row.disabledAt === null,
    disabledByOperator: row.disabledByOperator === 1,
    leakedAt: isoTime(row.leakedAt),
    status: apiKeyStatus(row, now),
  };
}

/** @param stored The budget of a key, as its row has it. */
function budgetOf(stored: string): UsageLimit[] {
  return parseLimits(stored).filter(hasQuantity);
}

/** @throws {AppError} `validation_failed` for a test key; naming each limit that is above one of the organization. */
export async function requireBudgetFits(
  { database, clock }: SessionContext,
  { organizationId, environment, budget }: Pick<ApiKeyRow, "organizationId" | "environment"> & {
    budget: readonly BudgetLimit[];
  },
): Promise<void> {
  if (budget.length === 0) return;
  if (environment === "test") {
    const message = "can't be set for a test key: its usage counts against no limit.";
    throw validationError([{ path: "budget", message }]);
  }
  const limits = await findOrganizationLimits(database, organizationId, clock());
  const details = budget.flatMap((limit, index) => {
    const below = limitBelow(limit, limits);
    if (below === undefined) return [];
    const per = below.per === "total" ? "in total" : `per ${below.per}`;
    const message = `must be at most ${below.quantity}, the organization's limit ${per}.`;
    return [{ path: `budget[${index}].quantity`, message }];
  });
  if (details.length > 0) throw validationError(details);
}
