// Verifies the API keys that a service receives from its customers, with an operator token.
import type { VerifiableKey } from "../../db/meter/key_verification.ts";
import type { RecordVerification } from "../../db/meter/record_group.ts";
import { findUsageRecordsByKey } from "../../db/meter/usage_records.ts";
import type { ClientInfo } from "../../domain/access/actor.ts";
import { apiKeyStatus } from "../../domain/keys/api_key.ts";
import { AppError, type ErrorCode } from "../../domain/errors.ts";
import { type KeyLookup, keyLookup } from "../../domain/keys/imported_key.ts";
import { apiKeyUsedIntervalMs } from "../../domain/limits.ts";
import {
  FeatureMissingError,
  type KeyVerification,
  type VerificationCode,
  type VerifiedOrganization,
  type VerifiedWrites,
} from "../../domain/meter/key_verification.ts";
import { limitStanding, type LimitUsage, roomOf } from "../../domain/meter/limit_window.ts";
import { outcomeOfVerification, rejectingLimit } from "../../domain/meter/outcome.ts";
import { joinQuantity, quantityMicros } from "../../domain/meter/quantity.ts";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import { idempotencyKeyHash, propertiesText, type UsageInput } from "../../domain/meter/usage_record.ts";
import { isoTime } from "../../domain/time.ts";
import type { Context } from "../context.ts";
import { verificationsOf } from "../reports/job_reader.ts";
import { isAllowedFrom } from "../address_blocks.ts";
import { acceptOperatorToken } from "../access/mod.ts";
import { sumMissing } from "./limits.ts";
import { findRepeats } from "./commit_group.ts";
import { createHold, type HoldInput } from "./holds.ts";
import { readValuesOf } from "./value_limits.ts";
import { countAtRate, type CountedRequest, countRequest, isAllowed } from "./known_keys.ts";

/** The hash is the SHA-256 of the token, in hexadecimal. */
interface VerifyingOperator {
  readonly tokenHash: string;
  readonly client: ClientInfo;
}

interface VerificationQuestion {
  /** As the customer sent it. */
  readonly key: string;
  readonly permissions: readonly string[];
  /** Features that the plan of the key's organization must include. */
  readonly features: readonly string[];
  /** The address of the customer's program, if the service said it. */
  readonly address: string | null;
  /** Usage that must fit into the hard limits, added up, and for which something must be left of cutoff limits. */
  readonly usage: readonly UsageQuestion[];
  /** Records or holds all of the usage, if the key is valid and it fits. */
  readonly write: "record" | Omit<HoldInput, "records"> | null;
  readonly bytes: number;
}

/** Usage that was recorded with the same idempotency key and content always fits. */
export type UsageQuestion = Omit<UsageInput, "timestamp">;

/** `usage`: that which counts for its value, if it is per value. */
type CountingLimit = LimitUsage & { readonly usage?: readonly UsageQuestion[] };

interface Question extends VerificationQuestion {
  /** Null for a malformed key. */
  readonly keyHash: string | null;
}

/** A verification, with what it has recorded or held. */
type Verified = KeyVerification & VerifiedWrites;

/**
 * Says whether an API key works, and may record or hold its usage. A question counts against the key's rate limit. If usage is recorded
 * or held, that is on disk when this returns, and everything was checked in the transaction that did it.
 *
 * @param given `bytes`: the size of the question.
 * @throws {AppError} `invalid_operator_token`, `scope_missing`. If usage is to be recorded or held, also `idempotency_conflict`,
 *   `series_limit_reached`, `hold_limit_reached`, `validation_failed` for a product that isn't in the catalogue, and `unavailable`. Their
 *   details name fields of `records`.
 */
export async function verifyApiKey(
  context: Context,
  operator: VerifyingOperator,
  given: VerificationQuestion,
): Promise<Verified> {
  const lookup = keyLookup(given.key);
  try {
    const verified = await verify(context, operator, { given, lookup });
    if (lookup !== null) noteOutcome(context, lookup.keyHash, { verified, given, client: operator.client });
    return verified;
  } catch (error) {
    const { recorder, requestOutcomes } = context;
    // Such as a conflict of idempotency keys. Known keys are not those of an invalid token.
    const known = lookup === null ? undefined : recorder.keys.known(lookup.keyHash);
    if (lookup !== null && known !== undefined && error instanceof AppError && isOfQuestion(error)) {
      const requestId = operator.client.requestId ?? "";
      requestOutcomes.rejectWith(lookup.keyHash, known.organizationId, { error, requestId });
    }
    throw error;
  }
}

/** True for errors that are neither about the operator's token nor the server. */
function isOfQuestion({ status, code }: AppError): boolean {
  return status < 500 && code !== "invalid_operator_token" && code !== "scope_missing";
}

function noteOutcome(
  { requestOutcomes }: Context,
  keyHash: string,
  { verified, given, client }: { verified: Verified; given: VerificationQuestion; client: ClientInfo },
): void {
  const { code, organization, duplicates } = verified;
  const outcome = outcomeOfVerification(code);
  if (organization === null || outcome === null) return;
  if (outcome === "accepted") {
    const isRepeat = duplicates > 0 && (verified.hold !== null || duplicates === given.usage.length);
    requestOutcomes.accept(keyHash, organization.id, { isRepeat });
    return;
  }
  const limit = code === "USAGE_EXCEEDED" ? exceededOf(verified, given) : undefined;
  requestOutcomes.reject(keyHash, organization.id, {
    outcome,
    requestId: client.requestId ?? "",
    message: null,
    limit: rejectingLimit(limit),
  });
}

/** Returns the first limit without room for the usage. */
function exceededOf({ limits }: Verified, { usage }: VerificationQuestion): LimitStanding | undefined {
  return limits.find(({ mode, productSlug, metric, remaining }) => {
    const counted = usage.filter((one) =>
      (productSlug ?? one.productSlug) === one.productSlug && (metric ?? one.metric) === one.metric
    );
    const asked = counted.reduce((sum, { quantity }) => sum + joinQuantity(quantity), 0);
    return mode === "hard" ? asked > remaining : mode === "cutoff" && remaining <= 0;
  });
}

async function verify(
  context: Context,
  operator: VerifyingOperator,
  { given, lookup }: { given: VerificationQuestion; lookup: KeyLookup | null },
): Promise<Verified> {
  const question = { ...given, keyHash: lookup?.keyHash ?? null };
  const token = context.credentialSearch.knownToken(operator.tokenHash);
  // Unknown tokens take no place in the recorder's queue.
  if (given.write === null || lookup === null || token === undefined) {
    return await readVerification(context, operator, question);
  }
  acceptOperatorToken(context, token, { scope, client: operator.client });
  const request = await countRequest(context, lookup, given);
  if (request === undefined || !isAllowed(request)) {
    return await readVerification(context, operator, question, request);
  }
  return await writeVerification(context, operator, { ...question, keyHash: lookup.keyHash });
}

const scope = "keys:verify";

/** @param counted The request if it was counted already. */
async function readVerification(
  context: Context,
  operator: VerifyingOperator,
  question: Question,
  counted?: CountedRequest,
): Promise<Verified> {
  const { usage, keyHash } = question;
  const { key, sumLimits } = await findKey(context, operator, question);
  if (keyHash === null || key === undefined) return verification("NOT_FOUND", null);
  const code = judge(key, question, context.clock());
  if (code !== null) return verification(code, key);
  const request = counted ?? countAtRate(context, keyHash, key);
  if (!isAllowed(request)) return verification("RATE_LIMITED", key);
  if (question.write !== null) return await writeVerification(context, operator, { ...question, keyHash });
  const limits = await sumLimits();
  const fits = await isWithin(context, limits, { usage, organizationId: key.organization?.id });
  return verification(fits ? "VALID" : "USAGE_EXCEEDED", key, limits.map(limitStanding));
}

/** Records or holds what a question asks about. The transaction verifies the key. */
async function writeVerification(
  context: Context,
  operator: VerifyingOperator,
  question: Question & { readonly keyHash: string },
): Promise<Verified> {
  const { keyHash, permissions, features, bytes, usage, write } = question;
  const verified: RecordVerification = { tokenHash: operator.tokenHash, permissions, features };
  try {
    if (write !== null && write !== "record") {
      const actor = { keyHash, client: question, bytes, verification: verified };
      const input = { ...write, records: usage };
      const { hold, limits, key, isRepeat } = await createHold(context, actor, { input });
      const duplicates = isRepeat ? 1 : 0;
      return { ...verification("VALID", key, limits), usageRecords: [], duplicates, hold };
    }
    const inputs = usage.map((one) => ({ ...one, timestamp: null }));
    const recorded = await context.recorder.record({
      keyHash,
      client: question,
      verification: verified,
      asks: true,
      inputs,
      bytes,
    });
    const { key, limits, duplicates, usageRecord } = recorded;
    return {
      ...verification("VALID", key, limits),
      usageRecords: inputs.map((_, index) => usageRecord(index).id),
      duplicates,
      hold: null,
    };
  } catch (error) {
    if (!(error instanceof AppError || error instanceof FeatureMissingError)) throw error;
    if (error instanceof AppError && error.code === "invalid_operator_token") {
      context.credentialSearch.forgetToken(operator.tokenHash);
    }
    return await explainRejection(context, operator, { question, error });
  }
}

/** The codes of errors of the transaction. A key that doesn't work may still exist. */
const rejectionCodes: Partial<Record<ErrorCode, VerificationCode>> = {
  invalid_api_key: "NOT_FOUND",
  organization_suspended: "ORGANIZATION_SUSPENDED",
  permission_missing: "INSUFFICIENT_PERMISSIONS",
  limit_exceeded: "USAGE_EXCEEDED",
};

/** Handles a commit that recorded nothing: reads the details of the key that the error lacks. */
async function explainRejection(
  context: Context,
  operator: VerifyingOperator,
  { question, error }: { readonly question: Question; readonly error: AppError | FeatureMissingError },
): Promise<Verified> {
  const { key, sumLimits } = await findKey(context, operator, question);
  const code = error instanceof AppError ? rejectionCodes[error.code] : "FEATURE_MISSING";
  if (code === undefined) throw error;
  if (key === undefined) return verification("NOT_FOUND", null);
  if (code === "NOT_FOUND") {
    // Only clocks of servers that differ can make it work again.
    return verification(
      judge(key, { permissions: [], features: [], address: question.address }, context.clock()) ?? "EXPIRED",
      key,
    );
  }
  if (!(error instanceof AppError) || code !== "USAGE_EXCEEDED") return verification(code, key);
  const named = ({ limitId, value }: LimitStanding) => `${limitId} ${value}`;
  const exceeded = new Map(error.limits?.map((limit) => [named(limit), limit]));
  const limits = (await sumLimits()).map(limitStanding);
  return verification(code, key, limits.map((limit) => exceeded.get(named(limit)) ?? limit));
}

/** Finds the key of a question, with a function that adds up the limits that apply to its usage. */
async function findKey(
  context: Context,
  { tokenHash, client }: VerifyingOperator,
  { keyHash, usage, address }: Question,
) {
  const found = await context.credentialSearch.find({ tokenHash, keyHash, series: usage });
  const { token, key, limits, now } = found;
  acceptOperatorToken(context, token, { scope, client });
  if (token !== undefined) context.credentialSearch.rememberToken(tokenHash, token);
  if (keyHash !== null && key !== undefined) {
    context.recorder.keys.noteTerms(keyHash, key);
    if (isAllowedFrom(key.addresses, { address })) noteVerification(context, keyHash, key);
  }
  const organizationId = key?.organization?.id ?? "";
  return {
    key,
    sumLimits: async (): Promise<CountingLimit[]> => [
      ...await sumMissing(context, { organizationId, rows: limits, now }, {
        reader: verificationsOf(organizationId),
      }),
      ...found.hasValueLimits && key !== undefined
        ? await readValuesOf(context, usage, { organizationId, apiKeyId: key.id, now })
        : [],
    ],
  };
}

/** Marks a working key as used, even if the verification denies the request. */
function noteVerification({ clock, lastRequests }: Context, keyHash: string, key: VerifiableKey): void {
  const now = clock();
  if (
    apiKeyStatus(key, now) !== "active" || key.isDisabled ||
    now - (key.lastUsedAt ?? 0) < apiKeyUsedIntervalMs
  ) return;
  lastRequests.noteVerification(keyHash);
}

/** Returns the reason why the key doesn't work, or null. */
function judge(
  key: VerifiableKey,
  { permissions, features, address }: Pick<VerificationQuestion, "permissions" | "features" | "address">,
  now: number,
): VerificationCode | null {
  const status = apiKeyStatus(key, now);
  if (status !== "active") return status === "revoked" ? "REVOKED" : "EXPIRED";
  if (key.isDisabled) return "DISABLED";
  if (!isAllowedFrom(key.addresses, { address })) return "ADDRESS_DENIED";
  if (key.organization?.isSuspended) return "ORGANIZATION_SUSPENDED";
  if (!permissions.every((permission) => key.permissions.includes(permission))) {
    return "INSUFFICIENT_PERMISSIONS";
  }
  return features.every((feature) => key.organization?.features.includes(feature)) ? null : "FEATURE_MISSING";
}

/** Returns true if usage fits into all hard limits, added up, without what was recorded already, and something is left of all cutoff limits. */
async function isWithin(
  context: Context,
  limits: readonly CountingLimit[],
  { usage, organizationId }: {
    readonly usage: readonly UsageQuestion[];
    readonly organizationId: string | undefined;
  },
): Promise<boolean> {
  if (limits.every((limit) => hasRoom(limit, usage))) return true;
  // A list may repeat itself.
  const repeats = findRepeats(usage.map((one) => ({ ...one, timestamp: null })));
  const distinct = usage.filter((_, index) =>
    repeats === null || repeats.firsts[index] === index || repeats.conflicts.includes(index)
  );
  const isNew = await Promise.all(
    distinct.map(async (one) => !await wasRecorded(context, one, organizationId)),
  );
  const added = distinct.filter((_, index) => isNew[index]);
  return added.length < usage.length && limits.every((limit) => hasRoom(limit, added));
}

/** True if all usage together fits into a limit, or something is left of a cutoff limit, or none of it counts against the limit. */
function hasRoom(
  limit: CountingLimit,
  usage: readonly UsageQuestion[],
): boolean {
  const { mode, productSlug, metric, usage: ofValue } = limit;
  if (mode === "soft") return true;
  const counted = usage.filter((one) =>
    ofValue?.includes(one) ??
      ((productSlug ?? one.productSlug) === one.productSlug && (metric ?? one.metric) === one.metric)
  );
  const left = roomOf(limit);
  if (mode === "cutoff") return counted.length === 0 || left > 0n;
  const own = counted.reduce((sum, { quantity }) => sum + quantityMicros(quantity), 0n);
  return own === 0n || own <= left;
}

async function wasRecorded(
  { database }: Context,
  { productSlug, metric, quantity, idempotencyKey, properties }: UsageQuestion,
  organizationId: string | undefined,
): Promise<boolean> {
  if (idempotencyKey === null || organizationId === undefined) return false;
  const found = await findUsageRecordsByKey(database, {
    organizationId,
    idempotencyKey,
    hash: idempotencyKeyHash(idempotencyKey),
    from: 0,
    to: Number.MAX_SAFE_INTEGER,
    filter: { productSlug: [productSlug], metric: [metric] },
  });
  return found.some((record) =>
    record.whole === quantity.whole && record.micro === quantity.micro &&
    record.properties === propertiesText(properties)
  );
}

function verification(
  code: VerificationCode,
  key: VerifiableKey | null,
  limits: readonly LimitStanding[] = [],
): Verified {
  const nothing = { usageRecords: [], duplicates: 0, hold: null };
  if (key === null) return { valid: false, code, apiKey: null, organization: null, limits: [], ...nothing };
  const { id, name, environment, permissions, expiresAt, externalId, metadata, organization } = key;
  return {
    valid: code === "VALID",
    code,
    apiKey: { id, name, environment, permissions, expiresAt: isoTime(expiresAt), externalId, metadata },
    organization: organization && nameOf(organization),
    limits,
    ...nothing,
  };
}

function nameOf({ id, name, externalId, planId, features }: VerifiedOrganization): VerifiedOrganization {
  return { id, name, externalId, planId, features };
}
