// New API keys: create, rotate. The full key leaves this file once and is never stored.
import { insertChangeEvent } from "../../db/outbox/mod.ts";
import {
  type ApiKeyRow,
  endRotatedApiKey,
  findApiKeyOfForm,
  insertApiKey,
  selectApiKey,
  settingsOf,
} from "../../db/keys/api_keys.ts";
import { findEffectiveNumber } from "../../db/access/mod.ts";
import { findDefaultBudget, insertBudgets, lineageOf, replaceLimits } from "../../db/meter/mod.ts";
import {
  type ApiKey,
  apiKeyStatus,
  generateApiKey,
  hashApiKey,
  rotatedKeyKeptMs,
} from "../../domain/keys/api_key.ts";
import {
  apiKeyLimitError,
  type AppError,
  keyDisabledError,
  notFoundError,
  validationError,
} from "../../domain/errors.ts";
import type { Environment } from "../../domain/environment.ts";
import { newId } from "../../domain/id.ts";
import { type BudgetLimit, limitsText } from "../../domain/meter/usage_limit.ts";
import { defaultKeyPermissions, sortedPermissions } from "../../domain/keys/key_permissions.ts";
import { isoTime } from "../../domain/time.ts";
import { type Access, requirePermission, writeAndRead } from "../access/mod.ts";
import {
  apiKeyFor,
  changedMeanwhileError,
  findRow,
  keysOpenTo,
  permissionsText,
  requireBudgetFits,
  requireGrantable,
} from "./api_keys.ts";
import type { SessionContext } from "../context.ts";
import {
  fieldDetails,
  type KeyFields,
  noFields,
  requireFieldsAllowed,
  type StoredFields,
  storedFields,
} from "./key_fields.ts";

/** Thrown for a form that was sent before, with the key that it has created. */
export class FormSentError extends Error {
  constructor(readonly apiKeyId: string) {
    super("the form was already sent");
  }
}

export interface CreatedApiKey {
  readonly apiKey: ApiKey;
  /** Shown once; only its hash is stored. */
  readonly fullKey: string;
}

interface ApiKeyInput extends KeyFields {
  readonly name: string;
  /** In the future; null for never. */
  readonly expiresAt: number | null;
  /** Default: `live`. */
  readonly environment?: Environment | undefined;
  /** Default: {@linkcode defaultKeyPermissions}. */
  readonly permissions?: readonly string[] | undefined;
  /** Default: the budget that the organization's plan gives to new keys. Only those who set budgets can give another one. */
  readonly budget?: readonly BudgetLimit[] | undefined;
  /** The one-time token of the form, which creates one key however often it is sent. */
  readonly formToken?: string | null | undefined;
}

/** Creates a key. @throws {AppError} `validation_failed`, `key_limit_reached`, `forbidden`. @throws {FormSentError} */
export async function createApiKey(
  context: SessionContext,
  access: Access,
  {
    name,
    expiresAt,
    environment = "live",
    permissions: chosen = defaultKeyPermissions,
    formToken = null,
    budget,
    ...fields
  }: ApiKeyInput,
): Promise<CreatedApiKey> {
  const by = requirePermission(access, "apiKeys.createOwn");
  if (budget !== undefined) requirePermission(access, "apiKeys.manageAll");
  requireFieldsAllowed(access, fields);
  const stored = storedFields(fields, noFields);
  const { organizationId } = access;
  const now = context.clock();
  await requireNewForm(context, organizationId, formToken);
  if (expiresAt !== null && expiresAt <= now) {
    throw validationError([{ path: "expiresAt", message: "must be in the future." }]);
  }
  const permissions = sortedPermissions(chosen);
  requireGrantable(access, permissions, []);
  await requireBudgetFits(context, { organizationId, environment, budget: budget ?? [] });
  const { id, row, fullKey } = newApiKey(context, access, {
    name,
    environment,
    creator: creatorOf(access),
    expiresAt,
    permissions,
    now,
    formToken,
    fields: stored,
  });
  const { isMade, row: made } = await writeAndRead<ApiKeyRow>(context, by, {
    statement: insertApiKey(row),
    entry: {
      action: "api_key.created",
      organizationId,
      target: { id, name },
      details: {
        permissions: permissionsText(permissions),
        ...(environment === "test" ? { environment } : {}),
        ...fieldDetails(stored),
        ...(budget === undefined ? {} : { budget: limitsText(budget) || "none" }),
      },
    },
    after: (audited) => [
      ...(budget === undefined
        ? [insertBudgets([{ id }], now)]
        : replaceLimits(lineageOf(id), budget, audited)),
      insertChangeEvent("api_key.created", audited),
    ],
  }, selectApiKey({ organizationId }, id));
  if (isMade) return { apiKey: apiKeyFor(access, made(), now), fullKey };
  await requireNewForm(context, organizationId, formToken);
  throw await keyLimitError(context, organizationId);
}

/** Returns the budget of keys that are created without one. @throws {AppError} `forbidden` for those who can't choose another. */
export async function readDefaultBudget(
  { database }: SessionContext,
  access: Access,
): Promise<readonly BudgetLimit[]> {
  requirePermission(access, "apiKeys.manageAll");
  return await findDefaultBudget(database, access.organizationId);
}

/**
 * Replaces an active key with a new one that is the same but for the key itself.
 *
 * @param input `expireOldAt`: when the old key ends, in a day by default; never later than it would have
 *   anyway. `formToken`: as for a new key.
 * @throws {AppError} `not_found`, `forbidden`, `key_disabled`, `key_limit_reached`, `unavailable`; `validation_failed` if the old
 *   key is not active.
 * @throws {FormSentError}
 */
export async function rotateApiKey(
  context: SessionContext,
  access: Access,
  { id, formToken = null, ...input }: {
    id: string;
    expireOldAt?: number | "now" | undefined;
    formToken?: string | null | undefined;
  },
): Promise<CreatedApiKey> {
  const { scope, by } = keysOpenTo(access);
  const now = context.clock();
  const old = await findRow(context, scope, id);
  const { organizationId } = access;
  await requireNewForm(context, organizationId, formToken);
  const notActive = validationError([{ path: "id", message: "only active keys can be rotated." }]);
  if (apiKeyStatus(old, now) !== "active") throw notActive;
  if (old.disabledAt !== null) throw keyDisabledError();
  const { expireOldAt = now + rotatedKeyKeptMs } = input;
  if (expireOldAt !== "now" && expireOldAt <= now) {
    throw validationError([{ path: "expireOldAt", message: "must be in the future, or “now”." }]);
  }
  const { name, environment, expiresAt } = old;
  const permissions: readonly string[] = JSON.parse(old.permissions);
  // A key that an operator rotates stays one of the member who created it.
  const creator = access.role === null && old.createdById !== null ? old.createdById : creatorOf(access);
  const next = newApiKey(context, access, {
    name,
    environment,
    creator,
    expiresAt,
    permissions,
    now,
    formToken,
    fields: old,
  });
  const oldEnds = expireOldAt === "now" ? { revokedAt: now } : { expiresAt: expireOldAt };
  const { isMade, row: made } = await writeAndRead<ApiKeyRow>(context, by, {
    // This checks that the old key is active, so only one of several simultaneous rotations or revocations wins.
    statement: insertApiKey(next.row, { id, settings: settingsOf(old), isKept: expireOldAt !== "now" }),
    entry: {
      action: "api_key.rotated",
      organizationId,
      target: { id, name },
      details: { replacedBy: next.id, oldExpiresAt: isoTime(expireOldAt === "now" ? now : expireOldAt) },
    },
    after: (audited) => [
      endRotatedApiKey(scope, id, { replacedBy: next.id, ...oldEnds, now }),
      insertChangeEvent("api_key.rotated", audited),
    ],
  }, selectApiKey({ organizationId }, next.id));
  if (isMade) return { apiKey: apiKeyFor(access, made(), now), fullKey: next.fullKey };
  await requireNewForm(context, organizationId, formToken);
  const current = await findRow(context, scope, id);
  if (apiKeyStatus(current, now) !== "active") throw notActive;
  if (current.disabledAt !== null) throw keyDisabledError();
  throw JSON.stringify(settingsOf(current)) === JSON.stringify(settingsOf({ ...old, name: current.name }))
    ? await keyLimitError(context, organizationId, { isRotation: true })
    : changedMeanwhileError();
}

function creatorOf(access: Access): string | null {
  return access.role === null ? null : access.actor.user.id;
}

/** Generates a key, and its row. */
function newApiKey(
  { config }: Pick<SessionContext, "config">,
  access: Access,
  input: {
    name: string;
    environment: Environment;
    /** The user's id; null for operators. */
    creator: string | null;
    expiresAt: number | null;
    permissions: readonly string[];
    now: number;
    formToken: string | null;
    fields: StoredFields;
  },
) {
  const { name, environment, creator, expiresAt, permissions, now, formToken } = input;
  const { fullKey, keyPrefix } = generateApiKey({ start: config.keyPrefix, environment });
  const { addresses, requestsPerSecond, externalId, metadata } = input.fields;
  const id = newId("key");
  const row = {
    id,
    organizationId: access.organizationId,
    name,
    keyPrefix,
    environment,
    expiresAt,
    addresses,
    requestsPerSecond,
    externalId,
    metadata,
    keyHash: hashApiKey(fullKey),
    createdBy: creator,
    permissions,
    now,
    formToken,
  };
  return { id, row, fullKey };
}

/** @throws {FormSentError} If the form has already created a key. */
async function requireNewForm(
  { database }: SessionContext,
  organizationId: string,
  formToken: string | null,
): Promise<void> {
  const id = formToken === null ? undefined : await findApiKeyOfForm(database, { organizationId, formToken });
  if (id !== undefined) throw new FormSentError(id);
}

async function keyLimitError(
  { database }: SessionContext,
  organizationId: string,
  options?: { isRotation: true },
): Promise<AppError> {
  const max = await findEffectiveNumber(database, organizationId, "apiKeysMax");
  return max === undefined ? notFoundError() : apiKeyLimitError(max, options);
}
