// API keys: list, change, revoke. Verbs act in the session's active organization; members see and manage their own keys only.
import {
  type ApiKeyRow,
  type ApiKeyScope,
  countActiveKeys,
  findApiKey,
  findApiKeys,
  lineageOf,
  markApiKeyRevoked,
  selectApiKey,
  updateApiKey,
} from "../db/api_keys.ts";
import { insertAuditEvent } from "../db/audit.ts";
import { replaceLimits } from "../db/meter/limit_rows.ts";
import type { SessionActor } from "../domain/actor.ts";
import { type ApiKey, apiKeyStatus } from "../domain/api_key.ts";
import type { AuditEntry } from "../domain/audit.ts";
import { AppError, notFoundError, unavailableError, validationError } from "../domain/errors.ts";
import { isId } from "../domain/id.ts";
import { operatorsKeyPermission, sortedPermissions } from "../domain/key_permissions.ts";
import { limitsText } from "../domain/meter/usage_limit.ts";
import { isoTime } from "../domain/time.ts";
import { hasPermission } from "../domain/permissions.ts";
import type { Session } from "../domain/sign_in/session.ts";
import { writeAndRead } from "./change.ts";
import type { SessionContext } from "./context.ts";
import { type BudgetLimit, budgetOf, requireBudgetFits } from "./meter/budgets.ts";
import { type Permit, requireActiveOrganization, requireActivePermit } from "./organization/membership.ts";
import { type PageInput, readPage, requireIdCursor } from "./pages.ts";
import { actorOf, type Writer } from "./sign_in/session_writes.ts";

/** What to change about a key. */
export interface ApiKeyChange {
  readonly id: string;
  readonly name?: string | undefined;
  readonly permissions?: readonly string[] | undefined;
  /** A future time in milliseconds since 1970, or null for never. Only active keys can get another one. */
  readonly expiresAt?: number | null | undefined;
  /** Replaces the whole budget. Limits with the scope of an existing one keep what counts against them. */
  readonly budget?: readonly BudgetLimit[] | undefined;
}

/** Which keys a writer can manage. */
export interface ApiKeyManager {
  readonly by: Writer;
  readonly scope: ApiKeyScope;
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

/** @returns How many keys of the active organization are active. @throws {AppError} `forbidden`. */
export async function countActiveApiKeys(
  { database, clock }: SessionContext,
  session: Session,
): Promise<number> {
  const { organizationId } = requireActiveOrganization(session, "apiKeys.manageAll");
  return await countActiveKeys(database, organizationId, clock());
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
 * Changes a key's name, permissions, expiry or budget. Owners and admins set budgets.
 *
 * @throws {AppError} `not_found`, `unavailable`; `forbidden` also for adding a permission that only operators grant, and for having
 *   it for longer; `validation_failed` for a budget above a limit of the organization, a time that has passed, and the expiry of an inactive key.
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
  const now = context.clock();
  const { name = row.name, expiresAt = row.expiresAt } = change;
  const stored: readonly string[] = JSON.parse(row.permissions);
  const permissions = sortedPermissions(change.permissions ?? stored);
  requireGrantable(by, permissions, stored);
  const about = { organizationId: scope.organizationId, target: { id, name } };
  const entries: AuditEntry[] = [];
  if (name !== row.name) entries.push({ ...about, action: "api_key.renamed" });
  if (JSON.stringify(permissions) !== row.permissions) {
    const details = { from: permissionsText(stored), to: permissionsText(permissions) };
    entries.push({ ...about, action: "api_key.permissions_changed", details });
  }
  if (expiresAt !== row.expiresAt) {
    requireNewExpiry(row, expiresAt, now);
    requireExtensible(by, permissions, { from: row.expiresAt, to: expiresAt });
    const details = { from: timeOf(row.expiresAt) ?? "never", to: timeOf(expiresAt) ?? "never" };
    entries.push({ ...about, action: "api_key.expiry_changed", details });
  }
  const storedBudget = limitsText(budgetOf(row.budget));
  const { budget = budgetOf(row.budget) } = change;
  if (limitsText(budget) !== storedBudget) {
    await requireBudgetFits(context, scope.organizationId, budget);
    const details = { from: storedBudget || "none", to: limitsText(budget) || "none" };
    entries.push({ ...about, action: "api_key.budget_changed", details });
  }
  const [entry, ...more] = entries;
  if (entry === undefined) return toApiKey(row, now);
  const { isMade, row: changed } = await writeAndRead<ApiKeyRow>(context, by, {
    statement: updateApiKey(scope, id, { name, permissions, expiresAt, from: row, now }),
    entry,
    after: (audited) => [
      ...more.map((other) => insertAuditEvent(actorOf(by), other, audited).statement),
      ...(change.budget === undefined ? [] : replaceLimits(lineageOf(id), change.budget, audited)),
    ],
  }, selectApiKey(scope, id));
  if (!isMade) throw changedMeanwhileError();
  return toApiKey(changed(), context.clock());
}

function requireNewExpiry(row: ApiKeyRow, expiresAt: number | null, now: number): void {
  const message = apiKeyStatus(row, now) !== "active"
    ? "can't be changed: the key is no longer active."
    : expiresAt !== null && expiresAt <= now
    ? "must be in the future."
    : null;
  if (message !== null) throw validationError([{ path: "expiresAt", message }]);
}

/** What only operators grant lasts no longer than they said. Times in milliseconds since 1970; null: forever. */
function requireExtensible(
  by: Writer,
  permissions: readonly string[],
  { from, to }: { from: number | null; to: number | null },
): void {
  if (actorOf(by).type === "operator" || !permissions.includes(operatorsKeyPermission)) return;
  if ((to ?? Infinity) <= (from ?? Infinity)) return;
  const message = `Only the operator of this service can extend keys with ${operatorsKeyPermission}.`;
  throw new AppError("forbidden", message);
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
  const { row } = await writeAndRead<ApiKeyRow>(context, by, {
    statement: markApiKeyRevoked(scope, id, context.clock()),
    entry: { action: "api_key.revoked", organizationId: scope.organizationId, target: { id, name } },
  }, selectApiKey(scope, id));
  return toApiKey(row(), context.clock());
}

/** @param from The permissions that the key has. @throws {AppError} `forbidden` for adding one that only operators grant. */
export function requireGrantable(by: Writer, permissions: readonly string[], from: readonly string[]): void {
  if (actorOf(by).type === "operator") return;
  if (!permissions.includes(operatorsKeyPermission) || from.includes(operatorsKeyPermission)) return;
  throw new AppError("forbidden", `Only the operator of this service can grant ${operatorsKeyPermission}.`);
}

/** @returns Permissions as the audit log has them. */
export function permissionsText(permissions: readonly string[]): string {
  return permissions.join(", ") || "none";
}

/** @returns A key as stored. @throws {AppError} `not_found`. */
export async function findRow(context: SessionContext, scope: ApiKeyScope, id: string): Promise<ApiKeyRow> {
  const row = isId("key", id) ? await findApiKey(context.database, scope, id) : undefined;
  if (row === undefined) throw notFoundError();
  return row;
}

/** @returns The keys that this user can see. @throws {AppError} `forbidden`. */
export function readScope(session: Session): ApiKeyScope {
  const { organizationId, role } = requireActiveOrganization(session, "apiKeys.createOwn");
  return hasPermission(role, "apiKeys.manageAll")
    ? { organizationId }
    : { organizationId, createdBy: session.user.id };
}

/** Keys that this user can manage, and the permit to do so. */
export function manageScope(actor: SessionActor): { scope: ApiKeyScope; by: Permit } {
  const scope = readScope(actor);
  const permission = scope.createdBy === undefined ? "apiKeys.manageAll" : "apiKeys.createOwn";
  return { scope, by: requireActivePermit(actor, permission) };
}

/** @returns The error for a change to something that someone else has changed in the meantime. */
export function changedMeanwhileError(): AppError {
  return unavailableError("Someone else just changed the key. Try again.");
}

/** @returns A key as callers see it. @param now Milliseconds since 1970. */
export function toApiKey(row: ApiKeyRow, now: number): ApiKey {
  return {
    id: row.id,
    name: row.name,
    keyPrefix: row.keyPrefix,
    createdAt: isoTime(row.createdAt),
    createdBy: row.createdById === null ? null : { id: row.createdById, name: row.createdByName ?? "" },
    createdByOperator: row.createdByOperator === 1,
    permissions: JSON.parse(row.permissions),
    budget: budgetOf(row.budget),
    lastUsedAt: timeOf(row.lastUsedAt),
    expiresAt: timeOf(row.expiresAt),
    revokedAt: timeOf(row.revokedAt),
    status: apiKeyStatus(row, now),
  };
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}
