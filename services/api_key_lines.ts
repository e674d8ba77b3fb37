// The list of keys as people see it, and revoking those that are not used any more.
import { revokeUnusedApiKeys } from "../db/api_key_list.ts";
import type { SessionActor } from "../domain/actor.ts";
import { validationError } from "../domain/errors.ts";
import {
  expiresSoon,
  type KeyLine,
  keyListPageItems,
  keyUnusedMs,
  unusedKeysRevokedMax,
} from "../domain/key_list.ts";
import type { Session } from "../domain/sign_in/session.ts";
import { isoTime } from "../domain/time.ts";
import type { KeyList, KeyListQuery, StoredLine } from "./reports/jobs/api_key_list.ts";
import { listApiKeys, manageScope, readScope, toApiKey } from "./api_keys.ts";
import type { SessionContext } from "./context.ts";
import { membersOf } from "./reports/job_reader.ts";

/** A page of the list, with keys as callers see them. */
export type KeyLineList = Omit<KeyList, "lines"> & { readonly lines: readonly KeyLine[] };

/** @returns A page of the keys that a member sees. @throws {AppError} `forbidden`, `unavailable`. */
export async function listKeyLines(
  context: SessionContext,
  session: Session,
  { query, signal }: { query: KeyListQuery; signal: AbortSignal },
): Promise<KeyLineList> {
  const now = context.clock();
  const scope = readScope(session);
  const { lines, ...list } = await context.reports.read("readKeyList", { ...query, ...scope, now }, {
    reader: membersOf(scope.organizationId),
    signal,
  });
  return { ...list, lines: lines.map((line) => toKeyLine(line, now)) };
}

/** @returns The newest keys that a member sees, each by itself: for times when the list is not available. @throws {AppError} `forbidden`. */
export async function listNewestKeys(context: SessionContext, session: Session): Promise<KeyLine[]> {
  const { apiKeys } = await listApiKeys(context, session, { limit: keyListPageItems });
  return apiKeys.map((apiKey) => ({ ...apiKey, expiresSoon: false, oldKeyEndsAt: null }));
}

/** @returns The first of the keys that were not used for 90 days, and how many there are. @throws {AppError} `forbidden`, `unavailable`. */
export async function listUnusedKeys(
  context: SessionContext,
  session: Session,
  signal: AbortSignal,
): Promise<{ lines: readonly KeyLine[]; count: number }> {
  const now = context.clock();
  const scope = readScope(session);
  const { lines, count } = await context.reports.read("readUnusedKeys", { ...scope, now }, {
    reader: membersOf(scope.organizationId),
    signal,
  });
  return { lines: lines.map((line) => toKeyLine(line, now)), count };
}

/**
 * Revokes keys that were not used for 90 days, effective immediately. Those that were used or replaced in the meantime stay.
 *
 * @returns The ids of the revoked keys. @throws {AppError} `forbidden`, `validation_failed` for too many keys.
 */
export async function revokeUnusedKeys(
  context: SessionContext,
  actor: SessionActor,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length > unusedKeysRevokedMax) {
    throw validationError([{ path: "ids", message: `must be at most ${unusedKeysRevokedMax} keys.` }]);
  }
  const { scope, by } = manageScope(actor);
  const now = context.clock();
  const statements = revokeUnusedApiKeys(actor, scope, { ids, since: now - keyUnusedMs, now });
  const [, revoked] = await context.writeAs(by, statements);
  return (revoked?.rows ?? []).map(({ id }) => String(id));
}

function toKeyLine({ row, current, isActive, lastUsedAt, oldKeyEndsAt }: StoredLine, now: number): KeyLine {
  return {
    ...toApiKey(row, now),
    lastUsedAt: lastUsedAt === null ? null : isoTime(lastUsedAt),
    expiresSoon: isActive && expiresSoon(current, now),
    oldKeyEndsAt: oldKeyEndsAt === null ? null : isoTime(oldKeyEndsAt),
  };
}
