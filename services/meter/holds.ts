// Holds: making, settling, releasing, extending and reading them, with API keys and by operators.
import { insertAuditEvent } from "../../db/access/mod.ts";
import type { Statement, WriteResult } from "../../db/engine/database.ts";
import {
  extendHold,
  findHold,
  findHolds,
  isSuspendedNow,
  parseHold,
  releaseHold,
  selectHold,
} from "../../db/meter/holds.ts";
import type { VerifiableKey } from "../../db/meter/key_verification.ts";
import { type RecordVerification, targetOfKey } from "../../db/meter/record_group.ts";
import type { RecordTarget } from "../../db/meter/record_targets.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import {
  AppError,
  invalidApiKeyError,
  notFoundError,
  organizationSuspendedError,
  scopeMissingError,
  validationError,
} from "../../domain/errors.ts";
import {
  type Hold,
  holdConflictError,
  holdEndedError,
  holdKeptExpiredMs,
  holdOfOperatorError,
  type HoldRecord,
  holdRecordsText,
  holdSecondsMax,
  type HoldStatus,
  isExpired,
  keyInactiveError,
  type StoredHold,
  toHold,
} from "../../domain/meter/hold.ts";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import type { UsageRecord } from "../../domain/meter/usage_record.ts";
import { type Access, requirePermission } from "../access/mod.ts";
import type { Context, SessionContext } from "../context.ts";
import { type PageInput, readPage, requireIdCursor } from "../pages.ts";
import { AddressesChangedError } from "./commit_results.ts";
import { holdOut, limitsOf, readBeyond, recordsOf } from "./hold_reading.ts";
import type { BeyondLimit, HeldResult, Unsettled } from "./hold_results.ts";
import type { KeyClient } from "./known_keys.ts";
import { holdAsOperator, tokenOf, writerOf } from "./operator_holds.ts";
import { type KeyAccess, requireApiKey, requireKeyPermission } from "./usage_access.ts";

/** An API key, by its hash, which a client uses. `verification`: an operator verifies it. */
interface KeyActor {
  readonly keyHash: string;
  readonly client: KeyClient;
  readonly bytes: number;
  readonly verification?: RecordVerification;
}

export type HoldActor = KeyActor | OperatorActor;

export interface HoldInput {
  readonly records: readonly HoldRecord[];
  readonly expiresInMs: number;
  readonly onExpiry: Hold["onExpiry"];
  readonly idempotencyKey: string | null;
}

/**
 * Holds room in the limits that count the records.
 *
 * @param target Whom an operator holds for.
 * @returns `isRepeat`: there was a hold with the idempotency key. `key`: the key, if an operator verifies it.
 * @throws {AppError} As `Recorder.record`; `hold_limit_reached`, `idempotency_conflict`; for operators `validation_failed` for an
 *   unknown target, `key_inactive`.
 */
export async function createHold(
  context: Context,
  actor: HoldActor,
  { input, target }: { input: HoldInput; target?: RecordTarget },
): Promise<
  { hold: Hold; limits: readonly LimitStanding[]; isRepeat: boolean; key: VerifiableKey | null }
> {
  const { records, expiresInMs, onExpiry, idempotencyKey } = input;
  const request = {
    kind: "hold" as const,
    heldBy: heldBy(actor),
    records,
    expiresInMs,
    isRecordedOnExpiry: onExpiry === "record",
    idempotencyKey,
    token: tokenOf(actor),
  };
  const { recorder } = context;
  let result: HeldResult | Unsettled;
  if ("keyHash" in actor) {
    const { keyHash, bytes, client, verification } = actor;
    const key = await knownKey(context, actor);
    const own = { ...request, target: targetOfKey(keyHash, verification, key) };
    try {
      result = await recorder.holds.run(own, { organizationId: key.organizationId, keyHash, bytes });
    } catch (error) {
      if (!(error instanceof AddressesChangedError)) throw error;
      await requireApiKey(context, keyHash, { client });
      return createHold(context, actor, { input });
    }
  } else result = await holdAsOperator(context, actor, { request, target });
  const { hold, isDone } = result;
  if (hold === undefined) throw new Error("a hold was neither made nor found");
  const key = "key" in result ? result.key : null;
  if (isDone) return { hold: await holdOut(context, hold), limits: result.limits, isRepeat: false, key };
  // Who made a hold decides who can end it, and its key whose usage it becomes.
  const isSame = hold.heldBy === request.heldBy &&
    (request.heldBy !== "verification" || hold.apiKeyId === key?.id) &&
    hold.records === holdRecordsText(records) && hold.expiresInMs === expiresInMs &&
    hold.isRecordedOnExpiry === (onExpiry === "record" ? 1 : 0);
  if (!isSame) throw holdConflictError();
  return {
    hold: await holdOut(context, hold),
    limits: await limitsOf(context, hold, records),
    isRepeat: true,
    key,
  };
}

function heldBy(actor: HoldActor): StoredHold["heldBy"] {
  if (!("keyHash" in actor)) return "operator";
  return actor.verification === undefined ? "key" : "verification";
}

/** Returns the key as this thread knows it, which allows the client's address. @throws {AppError} `invalid_api_key`. */
async function knownKey({ recorder }: Context, { keyHash, client }: KeyActor) {
  const key = await recorder.keys.findFor({ keyHash, isForeign: false }, client);
  if (key === undefined) throw invalidApiKeyError();
  return key;
}

const keyOf = async (context: Context, actor: HoldActor) =>
  "keyHash" in actor
    ? { keyHash: actor.keyHash, addresses: (await knownKey(context, actor)).addresses }
    : { keyHash: null, addresses: null };

/**
 * Records what was used, and ends the hold.
 *
 * @returns `isRepeat`: it was settled with the same records before.
 * @throws {AppError} `not_found`, `hold_of_operator`, `hold_ended`, `series_limit_reached`, `validation_failed` for what isn't in a
 *   required catalogue, `invalid_api_key`, `permission_missing`; those of an operator who may not write.
 */
export async function settleHold(
  context: Context,
  actor: HoldActor,
  { id, records }: { id: string; records: readonly HoldRecord[] },
): Promise<{
  hold: Hold;
  usageRecords: readonly UsageRecord[];
  beyond: readonly BeyondLimit[];
  limits: readonly LimitStanding[];
  isRepeat: boolean;
}> {
  const { recorder } = context;
  const made = recorder.holds.made(id);
  const isKnown = made !== undefined &&
    (!("keyHash" in actor) || recorder.keys.known(actor.keyHash)?.organizationId === made.organizationId);
  const hold = isKnown ? made : await knownHold(context, actor, id);
  requireHoldScope(actor, hold);
  const key = await keyOf(context, actor);
  const token = tokenOf(actor);
  const request = { kind: "settlement" as const, hold, records, isExpiry: false, ...key, token };
  const { organizationId } = hold;
  let result: HeldResult | Unsettled;
  if ("keyHash" in actor) result = await recorder.holds.run(request, { ...actor, organizationId });
  else if (token !== null) {
    const bytes = holdRecordsText(records).length;
    result = await recorder.holds.run(request, { organizationId, keyHash: token.id, bytes });
  } else result = await recorder.holds.runAlone(request, writerOf(context, actor));
  if (result.isDone) {
    return { ...result, hold: await holdOut(context, result.hold), isRepeat: false };
  }
  if (!await mayEndStill(context, actor, { hold, ...key })) {
    return settleHold(context, actor, { id, records });
  }
  const ended = result.hold === undefined
    ? await knownHold(context, actor, id)
    : requireKept(result.hold, context.clock());
  const isSame = ended.status === "settled" && ended.settlement === holdRecordsText(records);
  if (!isSame) throw holdEndedError(await holdOut(context, ended));
  return {
    hold: await holdOut(context, ended),
    usageRecords: await recordsOf(context, ended),
    beyond: await readBeyond(context, ended),
    limits: await limitsOf(context, ended, records),
    isRepeat: true,
  };
}

/** @throws {AppError} `not_found`, `hold_of_operator`, `hold_ended`, `validation_failed` for an operator without a reason; as {@linkcode settleHold}. */
export async function releaseHoldOf(
  context: Context,
  actor: HoldActor,
  { id, reason }: { id: string; reason?: string | undefined },
): Promise<Hold> {
  const now = context.clock();
  const hold = await knownHold(context, actor, id);
  requireHoldScope(actor, hold);
  const key = await keyOf(context, actor);
  const batch = releaseHold({ id, ...key, now });
  if (!("keyHash" in actor) && hold.heldBy === "key") {
    if (reason === undefined) {
      throw validationError([{ path: "reason", message: "is required to release the hold of an API key." }]);
    }
    const { organizationId } = hold;
    const entry = {
      action: "hold.released",
      organizationId,
      target: { id, name: null },
      details: { reason },
    } as const;
    batch.push(insertAuditEvent(actor, entry, { now }).statement);
  }
  const after = await writeHold(context, actor, { hold, batch });
  if (after.status === "released") return await holdOut(context, after);
  await requireOtherAddresses(context, actor, { hold: after, ...key });
  return releaseHoldOf(context, actor, { id, reason });
}

/** Sets when a hold expires, if that is later. @throws {AppError} `hold_too_long`, `key_inactive`, `organization_suspended`; as {@linkcode releaseHoldOf}. */
export async function extendHoldOf(
  context: Context,
  actor: HoldActor,
  { id, expiresInMs }: { id: string; expiresInMs: number },
): Promise<Hold> {
  const now = context.clock();
  const hold = await knownHold(context, actor, id);
  requireHoldScope(actor, hold);
  const expiresAt = now + expiresInMs;
  if (
    hold.status === "active" && hold.expiresAt > now && expiresAt > hold.createdAt + holdSecondsMax * 1000
  ) {
    throw new AppError(
      "hold_too_long",
      "A hold can last 24 hours at most. Settle this one and make another.",
      {
        details: [{ path: "expiresIn", message: "must end at most 24 hours after the hold was made." }],
      },
    );
  }
  const key = await keyOf(context, actor);
  const batch = [extendHold({ id, ...key, now, expiresAt })];
  const results: WriteResult[] = [];
  const after = await writeHold(context, actor, { hold, batch, results });
  if (results[0]?.changes === 1) return await holdOut(context, after);
  await requireOtherAddresses(context, actor, { hold: after, ...key });
  return extendHoldOf(context, actor, { id, expiresInMs });
}

/** Writes a batch, and returns the hold as it is afterwards. */
async function writeHold(
  context: Context,
  actor: HoldActor,
  { hold: { id, organizationId }, batch, results = [] }: {
    hold: StoredHold;
    batch: readonly Statement[];
    results?: WriteResult[];
  },
): Promise<StoredHold> {
  const all = [...batch, selectHold(id)];
  const written = "keyHash" in actor
    ? await context.database.write(all)
    : await context.writeAs(actor, all, { organizationId });
  results.push(...written);
  const row = written.at(-1)?.rows[0];
  if (row === undefined) throw notFoundError();
  return parseHold(row as unknown as Parameters<typeof parseHold>[0]);
}

/** A hold, and the addresses of the key with which it was to be ended. */
interface Attempt {
  readonly hold: StoredHold;
  readonly addresses: string | null;
}

/** Requires that a hold wasn't changed only because the addresses of the key have changed since, so that it can be tried again. */
async function requireOtherAddresses(
  context: Context,
  actor: HoldActor,
  { hold, addresses }: Attempt,
): Promise<void> {
  if (!await mayEndStill(context, actor, { hold, addresses })) return;
  const { database, clock } = context;
  if (hold.status === "active" && hold.expiresAt > clock()) {
    throw await isSuspendedNow(database, hold.organizationId)
      ? organizationSuspendedError()
      : keyInactiveError();
  }
  throw holdEndedError(await holdOut(context, hold));
}

/** Requires `usage:write` of tokens, except for what was held by verification. @throws {AppError} `scope_missing`. */
function requireHoldScope(actor: HoldActor, { heldBy }: StoredHold): void {
  if (tokenOf(actor)?.scope === "keys:verify" && heldBy !== "verification") {
    throw scopeMissingError("usage:write");
  }
}

/** Finds a hold before it is changed. @throws {AppError} `not_found`. */
async function knownHold(context: Context, actor: HoldActor, id: string): Promise<StoredHold> {
  const organizationId = "keyHash" in actor ? (await knownKey(context, actor)).organizationId : null;
  const hold = await findHold(context.database, id, organizationId);
  if (hold === undefined) throw notFoundError();
  return requireKept(hold, context.clock());
}

/** Requires that a hold that has expired isn't due to be deleted. @throws {AppError} `not_found`. */
function requireKept(hold: StoredHold, now: number): StoredHold {
  const hasExpired = isExpired(hold, now) || hold.status === "expired" || hold.status === "recorded";
  if (hasExpired && hold.createdAt <= now - holdKeptExpiredMs) throw notFoundError();
  return hold;
}

/**
 * Requires that a key may end a hold. That of a suspended organization may.
 *
 * @returns False if the key has other addresses now.
 * @throws {AppError} `invalid_api_key`, `permission_missing`, `not_found`, `hold_of_operator`.
 */
async function mayEndStill(
  context: Context,
  actor: HoldActor,
  { hold, addresses }: Attempt,
): Promise<boolean> {
  if (!("keyHash" in actor)) {
    // Says why the token may not.
    if (tokenOf(actor) !== null) await context.writeAs(actor, []);
    return true;
  }
  const { organizationId, environment, ...key } = await requireApiKey(context, actor.keyHash, {
    client: actor.client,
    permission: "usage:write",
    allowsSuspended: true,
  });
  const isOwn = organizationId === hold.organizationId && (environment === "test") === hold.organization < 0;
  if (!isOwn) throw notFoundError();
  if (hold.heldBy !== "key") throw holdOfOperatorError();
  return key.addresses === addresses;
}

export interface HoldPage extends PageInput {
  readonly status?: HoldStatus | undefined;
  readonly apiKey?: string | readonly string[] | undefined;
}

/**
 * Lists holds, the newest first: of a key's organization in its environment, of a member's organization, or for an operator.
 *
 * @throws {AppError} `permission_missing`, `forbidden`; `validation_failed` for an invalid cursor.
 */
export async function listHolds(
  context: SessionContext,
  access: KeyAccess | Access | { readonly organizationId: string | undefined },
  { limit, cursor, ...filter }: HoldPage,
): Promise<{ holds: Hold[]; nextCursor: string | null }> {
  if ("keyHash" in access) requireKeyPermission(access, "usage:read");
  else if ("role" in access) requirePermission(access, "usage.read");
  requireIdCursor(cursor, "hld");
  const { organizationId } = access;
  const environment = "keyHash" in access ? access.environment : null;
  const { database, clock, recorder } = context;
  const now = clock();
  const { rows, nextCursor } = await readPage(
    (limit) =>
      findHolds(database, { ...filter, organizationId, environment }, { limit, before: cursor, now }),
    { limit, cursorOf: ({ id }) => id },
  );
  const ids = await recorder.recordIds();
  return { holds: rows.map((row) => toHold(row, { now, idOf: ids.of })), nextCursor };
}

/** @throws {AppError} `permission_missing`, `not_found`. */
export async function getHold(context: Context, access: KeyAccess, id: string): Promise<Hold> {
  requireKeyPermission(access, "usage:read");
  const hold = await knownHold(context, { ...access, client: access.actor.client, bytes: 0 }, id);
  if ((access.environment === "test") !== hold.organization < 0) throw notFoundError();
  return await holdOut(context, hold);
}
