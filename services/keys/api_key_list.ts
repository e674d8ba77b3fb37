// Lists API keys for people, and revokes unused ones.
import { findApiKeysById, revokeApiKeysById, revokeUnusedApiKeys } from "../../db/keys/api_key_list.ts";
import type { Statement } from "../../db/engine/database.ts";
import type { ApiKey } from "../../domain/keys/api_key.ts";
import { validationError } from "../../domain/errors.ts";
import { type KeyLine, keyListPageItems, keysRevokedMax, keyUnusedMs } from "../../domain/keys/key_list.ts";
import { isoTime } from "../../domain/time.ts";
import type { Access, Writer } from "../access/mod.ts";
import { keysOpenTo, keysSeenBy, listApiKeys, toApiKey } from "./api_keys.ts";
import type { SessionContext } from "../context.ts";
import type { KeyList, KeyListQuery, StoredLine } from "./jobs/api_key_list.ts";

type KeyLineList = Omit<KeyList, "lines"> & { readonly lines: readonly KeyLine[] };

/** Reads a page of the list. @throws {AppError} `forbidden`, `unavailable`. */
export async function listKeyLines(
  context: SessionContext,
  access: Access,
  { query, signal }: { query: KeyListQuery; signal: AbortSignal },
): Promise<KeyLineList> {
  const now = context.clock();
  const scope = keysSeenBy(access);
  const { lines, ...list } = await context.reports.read("readKeyList", { ...query, ...scope, now }, {
    reader: access.reader,
    signal,
  });
  return { ...list, lines: lines.map((line) => toKeyLine(line, now)) };
}

/** Reads the newest keys one by one, because the list may be unavailable. @throws {AppError} `forbidden`. */
export async function listNewestKeys(
  context: SessionContext,
  access: Access,
  limit = keyListPageItems,
): Promise<KeyLine[]> {
  const { apiKeys } = await listApiKeys(context, access, { limit });
  return apiKeys.map((apiKey) => ({ ...apiKey, oldKeyEndsAt: null }));
}

/** Reads the first of the keys without requests and usage for 90 days, and counts all of them. @throws {AppError} `forbidden`, `unavailable`. */
export async function listUnusedKeys(
  context: SessionContext,
  access: Access,
  signal: AbortSignal,
): Promise<{ lines: readonly KeyLine[]; count: number }> {
  const now = context.clock();
  const scope = keysSeenBy(access);
  const { lines, count } = await context.reports.read("readUnusedKeys", { ...scope, now }, {
    reader: access.reader,
    signal,
  });
  return { lines: lines.map((line) => toKeyLine(line, now)), count };
}

/**
 * Revokes keys without requests and usage for 90 days, effective immediately. Those that were used or replaced in the meantime stay.
 *
 * @returns The ids of the revoked keys.
 * @throws {AppError} `forbidden`, `validation_failed` for too many keys.
 */
export async function revokeUnusedKeys(
  context: SessionContext,
  access: Access,
  ids: readonly string[],
): Promise<string[]> {
  requireFewKeys(ids);
  const { scope, by } = keysOpenTo(access);
  const now = context.clock();
  const statements = revokeUnusedApiKeys(access.actor, scope, { ids, since: now - keyUnusedMs, now });
  return await revoke(context, by, statements);
}

/** Reads active keys of some ids, as far as they can be seen. @throws {AppError} `forbidden`, `validation_failed` for too many keys. */
export async function listChosenKeys(
  { database, clock }: SessionContext,
  access: Access,
  ids: readonly string[],
): Promise<ApiKey[]> {
  requireFewKeys(ids);
  const { scope: { organizationId, createdBy } } = keysOpenTo(access);
  const now = clock();
  return (await findApiKeysById(database, organizationId, ids))
    .filter(({ createdById }) => createdBy === undefined || createdById === createdBy)
    .map((row) => toApiKey(row, now)).filter(({ status }) => status === "active");
}

/**
 * Revokes keys, effective immediately. Inactive ones don't change.
 *
 * @returns The ids of the revoked keys.
 * @throws {AppError} `forbidden`, `validation_failed` for too many keys.
 */
export async function revokeApiKeys(
  context: SessionContext,
  access: Access,
  ids: readonly string[],
): Promise<string[]> {
  requireFewKeys(ids);
  const { scope, by } = keysOpenTo(access);
  return await revoke(context, by, revokeApiKeysById(access.actor, scope, { ids, now: context.clock() }));
}

function requireFewKeys(ids: readonly string[]): void {
  if (ids.length <= keysRevokedMax) return;
  throw validationError([{ path: "ids", message: `must be at most ${keysRevokedMax} keys.` }]);
}

async function revoke(context: SessionContext, by: Writer, statements: readonly Statement[]) {
  const revoked = (await context.writeAs(by, statements)).at(-1);
  return (revoked?.rows ?? []).map(({ id }) => String(id));
}

function toKeyLine({ row, lastUsedAt, oldKeyEndsAt }: StoredLine, now: number): KeyLine {
  return {
    ...toApiKey(row, now),
    lastUsedAt: isoTime(lastUsedAt),
    oldKeyEndsAt: isoTime(oldKeyEndsAt),
  };
}
