// API keys: how one is written, checked and shown. The whole key exists only in the answer that creates it;
// the database holds its SHA-256 and the prefix.
import { crc32 } from "node:zlib";
import { hash, randomInt } from "node:crypto";

/** What every key begins with, so that people and secret scanners recognise it. */
export const apiKeyTag = "service_live_";
const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 32 characters of base62 hold 190.5 bits. */
const randomCharacters = 32;
const checksumCharacters = 6;
const shownCharacters = 8;
const form = new RegExp(`^${apiKeyTag}[0-9A-Za-z]{${randomCharacters + checksumCharacters}}$`);

/** Whether a key works, and if not, why. */
export type ApiKeyStatus = "active" | "revoked" | "expired";

/** A key as callers see it. Times are ISO 8601 UTC. */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly keyPrefix: string;
  readonly createdAt: string;
  /** The user who made it, or null when that account is gone. */
  readonly createdBy: { readonly id: string; readonly name: string } | null;
  readonly lastUsedAt: string | null;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  readonly status: ApiKeyStatus;
}

/**
 * Makes a new key: `service_live_`, 32 random base62 characters, and a checksum of 6.
 *
 * The checksum is the CRC-32 of the random part in base62, as in GitHub's tokens: a mistyped key is refused
 * without a look-up, and scanners find keys without false alarms.
 *
 * @returns The whole key and the prefix that may be shown later.
 */
export function generateApiKey(): { fullKey: string; keyPrefix: string } {
  let random = "";
  for (let i = 0; i < randomCharacters; i++) random += base62[randomInt(base62.length)];
  return {
    fullKey: `${apiKeyTag}${random}${checksum(random)}`,
    keyPrefix: `${apiKeyTag}${random.slice(0, shownCharacters)}…`,
  };
}

/**
 * Says whether a text can be a key at all: its form and its checksum.
 *
 * @param text What the caller sent.
 * @returns False for anything that no Gatehouse ever issued.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * const { fullKey } = generateApiKey();
 * assert.equal(isWellFormedApiKey(fullKey), true);
 * assert.equal(isWellFormedApiKey(`${fullKey}x`), false);
 * ```
 */
export function isWellFormedApiKey(text: string): boolean {
  if (!form.test(text)) return false;
  const random = text.slice(apiKeyTag.length, -checksumCharacters);
  return checksum(random) === text.slice(-checksumCharacters);
}

/**
 * The form in which a key is stored and looked up.
 *
 * A key has 190 bits of randomness, so a fast hash without salt is enough: there is nothing to guess.
 *
 * @param fullKey The whole key.
 * @returns Its SHA-256 as 64 hexadecimal digits.
 */
export function hashApiKey(fullKey: string): string {
  return hash("sha256", fullKey, "hex");
}

/**
 * @param key Times in milliseconds since 1970; `now` likewise.
 * @returns Whether the key works at `now`. A revoked key stays "revoked" when it also expires.
 */
export function apiKeyStatus(
  key: { revokedAt: number | null; expiresAt: number | null },
  now: number,
): ApiKeyStatus {
  if (key.revokedAt !== null) return "revoked";
  return key.expiresAt !== null && key.expiresAt <= now ? "expired" : "active";
}

function checksum(random: string): string {
  let value = crc32(random);
  let text = "";
  for (let i = 0; i < checksumCharacters; i++) {
    text = base62[value % base62.length] + text;
    value = Math.floor(value / base62.length);
  }
  return text;
}
