// Verifies the API keys that a service receives from its customers, with an operator token.
import type { VerifiableKey } from "../../db/meter/key_verification.ts";
import { findUsageRecordsByKey } from "../../db/meter/usage_records.ts";
import type { ClientInfo } from "../../domain/actor.ts";
import { apiKeyStatus, hashApiKey, isWellFormedApiKey } from "../../domain/api_key.ts";
import type {
  KeyVerification,
  VerificationCode,
  VerifiedOrganization,
} from "../../domain/meter/key_verification.ts";
import { limitStanding, type LimitUsage } from "../../domain/meter/limit_window.ts";
import { type Quantity, quantityMicros } from "../../domain/meter/quantity.ts";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import { idempotencyKeyHash } from "../../domain/meter/usage_record.ts";
import { isoTime } from "../../domain/time.ts";
import type { Context } from "../context.ts";
import { acceptOperatorToken } from "../operator/operator_access.ts";
import { sumMissing } from "./limits.ts";
import { isAllowed, takeKeyCall } from "./key_calls.ts";
import { noteApiKeyUse } from "./usage_access.ts";

/** Who asks, by the SHA-256 of their token in hexadecimal. */
export interface VerifyingOperator {
  readonly tokenHash: string;
  readonly client: ClientInfo;
}

/** What is asked about a key. */
export interface VerificationQuestion {
  /** As the customer sent it. */
  readonly key: string;
  /** Permissions that the key must all have. */
  readonly permissions: readonly string[];
  /** Usage that must fit into the hard limits. */
  readonly usage: UsageQuestion | null;
}

/** Usage that is asked about. */
export interface UsageQuestion {
  readonly productSlug: string;
  readonly metric: string;
  readonly quantity: Quantity;
  /** Usage that was recorded with it already fits always. */
  readonly idempotencyKey: string | null;
}

/**
 * Says whether an API key works. A request for it counts against the key's rate limit.
 *
 * @throws {AppError} `invalid_operator_token`, `scope_missing`.
 */
export async function verifyApiKey(
  context: Context,
  { tokenHash, client }: VerifyingOperator,
  { key, permissions, usage }: VerificationQuestion,
): Promise<KeyVerification> {
  const keyHash = isWellFormedApiKey(key) ? hashApiKey(key) : null;
  const query = { tokenHash, keyHash, series: usage };
  const { tokens, keys, limitsOf, now } = await context.credentialReads.find([query]);
  acceptOperatorToken(context, tokens.get(tokenHash), { scope: "keys:verify", client });
  const found = keyHash === null ? undefined : keys.get(keyHash);
  if (keyHash === null || found === undefined) return verification("NOT_FOUND", null);
  const code = judge(found, permissions, context.clock()) ??
    (isAllowed(takeKeyCall(context, keyHash, found.rate)) ? null : "RATE_LIMITED");
  if (code !== null) return verification(code, found);
  const { organization } = found;
  if (usage === null || organization === null) {
    noteApiKeyUse(context, found);
    return verification("VALID", found);
  }
  const limits = await sumMissing(context, {
    organizationId: organization.id,
    rows: limitsOf.get(query) ?? [],
    now,
  });
  const fits = await isWithin(context, limits, { ...usage, organizationId: organization.id });
  if (fits) noteApiKeyUse(context, found);
  return verification(fits ? "VALID" : "USAGE_EXCEEDED", found, limits.map(limitStanding));
}

/** @returns Why the key doesn't work, or null. */
function judge(key: VerifiableKey, permissions: readonly string[], now: number): VerificationCode | null {
  const status = apiKeyStatus(key, now);
  if (status !== "active") return status === "revoked" ? "REVOKED" : "EXPIRED";
  if (key.organization?.isSuspended) return "ORGANIZATION_SUSPENDED";
  return permissions.every((permission) => key.permissions.includes(permission))
    ? null
    : "INSUFFICIENT_PERMISSIONS";
}

/** @returns Whether usage fits into all hard limits, or was recorded already. */
async function isWithin(
  { database }: Context,
  limits: readonly LimitUsage[],
  { productSlug, metric, quantity, idempotencyKey, organizationId }: UsageQuestion & {
    readonly organizationId: string;
  },
): Promise<boolean> {
  const micros = quantityMicros(quantity);
  const fits = limits.every(({ mode, usedMicros, micros: max }) =>
    mode === "soft" || usedMicros + micros <= max
  );
  if (fits || idempotencyKey === null) return fits;
  const found = await findUsageRecordsByKey(database, {
    organizationId,
    idempotencyKey,
    hash: idempotencyKeyHash(idempotencyKey),
    from: 0,
    to: Number.MAX_SAFE_INTEGER,
    filter: { productSlug: [productSlug], metric: [metric] },
  });
  return found.some(({ whole, micro }) => whole === quantity.whole && micro === quantity.micro);
}

function verification(
  code: VerificationCode,
  key: VerifiableKey | null,
  limits: readonly LimitStanding[] = [],
): KeyVerification {
  if (key === null) return { valid: false, code, apiKey: null, organization: null, limits: [] };
  const { id, name, permissions, expiresAt, organization } = key;
  return {
    valid: code === "VALID",
    code,
    apiKey: { id, name, permissions, expiresAt: expiresAt === null ? null : isoTime(expiresAt) },
    organization: organization && nameOf(organization),
    limits,
  };
}

function nameOf({ id, name, externalId, planId }: VerifiedOrganization): VerifiedOrganization {
  return { id, name, externalId, planId };
}
