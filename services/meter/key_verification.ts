// Verifies the API keys that a service receives from its customers, with an operator token.
import type { VerifiableKey } from "../../db/meter/key_verification.ts";
import type { ClientInfo } from "../../domain/actor.ts";
import { apiKeyStatus, hashApiKey, isWellFormedApiKey } from "../../domain/api_key.ts";
import type {
  KeyVerification,
  VerificationCode,
  VerifiedOrganization,
} from "../../domain/meter/key_verification.ts";
import { isoTime } from "../../domain/time.ts";
import type { Context } from "../context.ts";
import { acceptOperatorToken } from "../operator/operator_access.ts";
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
}

/**
 * Says whether an API key works. A request for it counts against the key's rate limit.
 *
 * @throws {AppError} `invalid_operator_token`, `scope_missing`.
 */
export async function verifyApiKey(
  context: Context,
  { tokenHash, client }: VerifyingOperator,
  { key, permissions }: VerificationQuestion,
): Promise<KeyVerification> {
  const keyHash = isWellFormedApiKey(key) ? hashApiKey(key) : null;
  const { tokens, keys } = await context.credentialReads.find([{ tokenHash, keyHash }]);
  acceptOperatorToken(context, tokens.get(tokenHash), { scope: "keys:verify", client });
  const found = keyHash === null ? undefined : keys.get(keyHash);
  if (keyHash === null || found === undefined) return verification("NOT_FOUND", null);
  const code = judge(found, permissions, context.clock()) ?? rateCode(context, keyHash) ?? "VALID";
  if (code === "VALID") noteApiKeyUse(context, found);
  return verification(code, found);
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

function rateCode({ config, rateLimits }: Context, keyHash: string): VerificationCode | null {
  const isAllowed = config.apiKeyRequestsPerSecond === 0 || rateLimits.apiKeyCalls.take(keyHash).isAllowed;
  return isAllowed ? null : "RATE_LIMITED";
}

function verification(code: VerificationCode, key: VerifiableKey | null): KeyVerification {
  if (key === null) return { valid: false, code, apiKey: null, organization: null, limits: [] };
  const { id, name, permissions, expiresAt, organization } = key;
  return {
    valid: code === "VALID",
    code,
    apiKey: { id, name, permissions, expiresAt: expiresAt === null ? null : isoTime(expiresAt) },
    organization: organization && nameOf(organization),
    limits: [],
  };
}

function nameOf({ id, name, externalId, planId }: VerifiedOrganization): VerifiedOrganization {
  return { id, name, externalId, planId };
}
