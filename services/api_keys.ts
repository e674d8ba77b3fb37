// API keys: create, list, rename, revoke, rotate. The whole key leaves here once and is never stored.
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
import { insertAuditEvent } from "../db/audit.ts";
import type { SessionActor } from "../domain/actor.ts";
import { type ApiKey, apiKeyStatus, generateApiKey, hashApiKey } from "../domain/api_key.ts";
import { AppError, notFoundError, validationError } from "../domain/errors.ts";
import { isId, newId } from "../domain/id.ts";
import { activeApiKeysMax } from "../domain/limits.ts";
import { type Act, mayDo } from "../domain/permissions.ts";
import type { Membership, Session } from "../domain/sign_in/session.ts";
import { isoTime } from "../domain/meter/usage_window.ts";
import type { SessionContext } from "./context.ts";
import type { Permit } from "./organization/membership.ts";

/** A new key: as it is listed from now on, and whole, this once. */
export interface CreatedApiKey {
  readonly apiKey: ApiKey;
  readonly fullKey: string;
}

/** The verbs of API keys. Each acts in the session's active organization; MEMBERs see and manage their own keys. */
export interface ApiKeyService {
  /**
   * @param input `expiresAt`: milliseconds since 1970, in the future, or null for never.
   * @throws {AppError} `validation_failed`, `key_limit_reached`, `forbidden`.
   */
  createApiKey(
    actor: SessionActor,
    input: { name: string; expiresAt: number | null },
  ): Promise<CreatedApiKey>;
  /** @returns Keys newest first, revoked ones included; `nextCursor` is null at the end. */
  listApiKeys(
    session: Session,
    page: { limit: number; cursor?: string | undefined },
  ): Promise<{ apiKeys: ApiKey[]; nextCursor: string | null }>;
  /** @returns How many keys are active, and how many are not any more. */
  countApiKeys(session: Session): Promise<{ active: number; inactive: number }>;
  /** @throws {AppError} `not_found`. */
  getApiKey(session: Session, id: string): Promise<ApiKey>;
  /** @throws {AppError} `not_found`. */
  renameApiKey(actor: SessionActor, id: string, name: string): Promise<ApiKey>;
  /** Ends a key at once; again: the same answer. @throws {AppError} `not_found`. */
  revokeApiKey(actor: SessionActor, id: string): Promise<ApiKey>;
  /**
   * Makes a key of the same name and expiry, and ends the old one.
   *
   * @param input `expireOldAt`: when the old key ends (milliseconds since 1970); null: at once.
   * @throws {AppError} `not_found`, `validation_failed` when the old key is not active.
   */
  rotateApiKey(
    actor: SessionActor,
    id: string,
    input: { expireOldAt: number | null },
  ): Promise<CreatedApiKey>;
}

/** @param context See {@linkcode SessionContext}. */
export function createApiKeyService({ database, clock, writeAs }: SessionContext): ApiKeyService {
  async function get(scope: ApiKeyScope, id: string): Promise<ApiKeyRow> {
    const row = isId("key", id) ? await findApiKey(database, scope, id) : undefined;
    if (row === undefined) throw notFoundError();
    return row;
  }

  async function getShown(scope: ApiKeyScope, id: string): Promise<ApiKey> {
    return shown(await get(scope, id), clock());
  }

  return {
    async createApiKey(session, { name, expiresAt }) {
      const permit = permitTo(session, "apiKeys.createOwn");
      const { organizationId } = permit;
      const now = clock();
      if (expiresAt !== null && expiresAt <= now) {
        throw validationError([{ path: "expiresAt", message: "must be in the future." }]);
      }
      const { fullKey, keyPrefix } = generateApiKey();
      const id = newId("key");
      const [inserted] = await writeAs(permit, [
        insertApiKey({
          id,
          organizationId,
          keyHash: hashApiKey(fullKey),
          keyPrefix,
          name,
          createdBy: session.user.id,
          now,
          expiresAt,
        }, { activeMax: activeApiKeysMax }),
        insertAuditEvent(session, { action: "api_key.created", target: { id, name } }, { now }).statement,
      ]);
      if (inserted?.rows.length !== 1) throw keyLimitError();
      // Made from what was written: a read that failed now would lose the only copy of the key.
      return {
        apiKey: shown(newRow(session, { id, name, keyPrefix, createdAt: now, expiresAt }), now),
        fullKey,
      };
    },

    async listApiKeys(session, { limit, cursor }) {
      if (cursor !== undefined && !isId("key", cursor)) {
        throw validationError([{ path: "cursor", message: "must be a “nextCursor” of this list." }]);
      }
      const rows = await findApiKeys(database, readScope(session), { limit: limit + 1, before: cursor });
      const page = rows.slice(0, limit);
      const now = clock();
      return {
        apiKeys: page.map((row) => shown(row, now)),
        nextCursor: rows.length > limit ? page.at(-1)?.id ?? null : null,
      };
    },

    countApiKeys: async (session) => await findApiKeyCounts(database, readScope(session), clock()),
    getApiKey: async (session, id) => await getShown(readScope(session), id),

    async renameApiKey(session, id, name) {
      const { scope, permit } = manageScope(session);
      if (isId("key", id)) {
        const entry = { action: "api_key.renamed", target: { id, name } } as const;
        await writeAs(permit, [
          updateApiKeyName(scope, id, name),
          insertAuditEvent(session, entry, { now: clock() }).statement,
        ]);
      }
      return getShown(scope, id);
    },

    async revokeApiKey(session, id) {
      const { scope, permit } = manageScope(session);
      const { name } = await get(scope, id);
      const now = clock();
      await writeAs(permit, [
        markApiKeyRevoked(scope, id, now),
        insertAuditEvent(session, { action: "api_key.revoked", target: { id, name } }, { now }).statement,
      ]);
      return getShown(scope, id);
    },

    async rotateApiKey(session, id, { expireOldAt }) {
      const { scope, permit } = manageScope(session);
      const now = clock();
      const old = await get(scope, id);
      const notActive = validationError([{ path: "id", message: "only an active key can be rotated." }]);
      if (apiKeyStatus(old, now) !== "active") throw notActive;
      if (expireOldAt !== null && expireOldAt <= now) {
        throw validationError([{ path: "expireOldAt", message: "must be in the future." }]);
      }
      const { fullKey, keyPrefix } = generateApiKey();
      const newKeyId = newId("key");
      const key = {
        id: newKeyId,
        organizationId: scope.organizationId,
        keyHash: hashApiKey(fullKey),
        keyPrefix,
        name: old.name,
        createdBy: session.user.id,
        now,
        expiresAt: old.expiresAt,
      };
      // The condition is in the statement: of two rotations at once, or a revocation between, one wins.
      const [inserted] = await writeAs(permit, [
        // A key that ends at once makes room for the new one.
        insertApiKey(key, { activeMax: activeApiKeysMax + (expireOldAt === null ? 1 : 0), replacing: id }),
        insertAuditEvent(session, {
          action: "api_key.rotated",
          target: { id, name: old.name },
          details: { replacedBy: newKeyId },
        }, { now }).statement,
        endRotatedApiKey(scope, id, {
          replacedBy: newKeyId,
          ...(expireOldAt === null ? { revokedAt: now } : { expiresAt: expireOldAt }),
        }),
      ]);
      if (inserted?.rows.length !== 1) {
        if (apiKeyStatus(await get(scope, id), now) !== "active") throw notActive;
        throw keyLimitError();
      }
      const { name, expiresAt } = old;
      return {
        apiKey: shown(newRow(session, { id: newKeyId, name, keyPrefix, createdAt: now, expiresAt }), now),
        fullKey,
      };
    },
  };
}

function organizationOf(session: Session): Membership {
  const { organization } = session;
  if (organization === null || !mayDo(organization.role, "apiKeys.createOwn")) {
    throw noOrganizationError();
  }
  return organization;
}

/** The active organization is not named by the caller: people who have left it are not told that it is unknown. */
function permitTo(actor: SessionActor, act: Act): Permit {
  return { ...organizationOf(actor), actor, act, notMemberError: noOrganizationError };
}

/** Keys that this person sees. */
function readScope(session: Session): ApiKeyScope {
  const { organizationId, role } = organizationOf(session);
  return mayDo(role, "apiKeys.manageAll")
    ? { organizationId }
    : { organizationId, createdBy: session.user.id };
}

/** Keys that this person manages, and the permit to do so. */
function manageScope(actor: SessionActor): { scope: ApiKeyScope; permit: Permit } {
  const scope = readScope(actor);
  const act = scope.createdBy === undefined ? "apiKeys.manageAll" : "apiKeys.createOwn";
  return { scope, permit: permitTo(actor, act) };
}

function newRow(
  session: Session,
  row: Pick<ApiKeyRow, "id" | "name" | "keyPrefix" | "createdAt" | "expiresAt">,
): ApiKeyRow {
  const { id, name } = session.user;
  return { ...row, createdById: id, createdByName: name, lastUsedAt: null, revokedAt: null };
}

function noOrganizationError(): AppError {
  return new AppError("forbidden", "You do not belong to an organization in which you may use keys.");
}

function keyLimitError(): AppError {
  return new AppError(
    "key_limit_reached",
    `Your organization has ${activeApiKeysMax} active keys, which is the most. Revoke one first.`,
  );
}

function shown(row: ApiKeyRow, now: number): ApiKey {
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
