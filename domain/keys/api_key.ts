// The format and the status of API keys.
import type { Environment } from "../environment.ts";
import type { UsageLimit } from "../meter/usage_limit.ts";
import { generateSecretToken, isWellFormedSecretToken } from "../secret_token.ts";

export { hashSecretToken as hashApiKey } from "../secret_token.ts";

/** The start of keys, for people and secret scanners. Servers once had other prefixes, so every prefix is accepted. */
const keyTag = /^[a-z][a-z0-9]{1,15}_(?:live|test)_/;

/** A rotated key keeps working for this long unless another time is chosen. */
export const rotatedKeyKeptMs = 24 * 3_600_000;

export type ApiKeyStatus = "active" | "revoked" | "expired";

/** A key for callers. Times in ISO 8601 UTC. */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly keyPrefix: string;
  readonly environment: Environment;
  readonly createdAt: string;
  /** The user who created it, or null if that account was deleted, or an operator created it. */
  readonly createdBy: { readonly id: string; readonly name: string } | null;
  readonly createdByOperator: boolean;
  /** Sorted. */
  readonly permissions: readonly string[];
  /** Limits of the key and of those that it replaced, besides the organization's. */
  readonly budget: readonly UsageLimit[];
  readonly lastUsedAt: string | null;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  /** The CIDR blocks that it may be used from; null for any address. */
  readonly addresses: readonly string[] | null;
  /** Its own rate, besides that of the plan; the lower one takes effect. Null for none. */
  readonly requestsPerSecond: number | null;
  /** False while requests with it are rejected, until someone enables it again. */
  readonly enabled: boolean;
  /** True if only operators enable it. */
  readonly disabledByOperator: boolean;
  /** The last report that it leaked. */
  readonly leakedAt: string | null;
  readonly status: ApiKeyStatus;
  /** The rest is for operators alone. */
  readonly organizationId?: string;
  readonly externalId?: string | null;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** The last request with a key, also a rejected one. */
export interface LastRequest {
  readonly at: string;
  /** The network of the client's address, such as `203.0.113.0/24`. */
  readonly network: string;
  readonly userAgent: string;
  readonly status: number;
  /** The error in the response; null for an accepted request. */
  readonly error: string | null;
}

/** Returns a new key, and the prefix that may be shown later. @param options `start`: the setting `KEY_PREFIX`. */
export function generateApiKey(
  { start = "service", environment = "live" }: { start?: string; environment?: Environment } = {},
): { fullKey: string; keyPrefix: string } {
  const { token, prefix } = generateSecretToken(`${start}_${environment}_`);
  return { fullKey: token, keyPrefix: prefix };
}

/** Checks a key's form and checksum. Returns false for anything that Gatehouse never issues as a key, such as operator tokens. */
export function isWellFormedApiKey(text: string): boolean {
  const [tag] = keyTag.exec(text) ?? [];
  return tag !== undefined && isWellFormedSecretToken(tag, text);
}

/** Returns what all keys of a server and environment have in front, or "" for a text that is no key. */
export function tagOf(keyPrefix: string): string {
  return keyTag.exec(keyPrefix)?.[0] ?? "";
}

/** Returns the first characters of a key that tell it from others. */
export function withoutTag(keyPrefix: string): string {
  return keyPrefix.slice(tagOf(keyPrefix).length);
}

/** Returns the status at `now`. A revoked key stays "revoked" after it expires. */
export function apiKeyStatus(
  key: { revokedAt: number | null; expiresAt: number | null },
  now: number,
): ApiKeyStatus {
  if (key.revokedAt !== null) return "revoked";
  return key.expiresAt !== null && key.expiresAt <= now ? "expired" : "active";
}
