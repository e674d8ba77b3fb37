// The format and the status of API keys. The full key exists only in the response that creates it; the database has its SHA-256
// and its prefix.
import { crc32 } from "node:zlib";
import { hash, randomInt } from "node:crypto";

/** The start of every key, for people and secret scanners. */
export const apiKeyTag = "service_live_";
const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 32 base62 characters are 190.5 bits. */
const randomCharacters = 32;
const checksumCharacters = 6;
const prefixCharacters = 8;
const form = new RegExp(`^${apiKeyTag}[0-9A-Za-z]{${randomCharacters + checksumCharacters}}$`);

/** Whether a key works, or why not. */
export type ApiKeyStatus = "active" | "revoked" | "expired";

/** A key as callers see it, with times in ISO 8601 UTC. */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly keyPrefix: string;
  readonly createdAt: string;
  /** The user who created it, or null if that account was deleted. */
  readonly createdBy: { readonly id: string; readonly name: string } | null;
  readonly lastUsedAt: string | null;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  readonly status: ApiKeyStatus;
}

/**
 * Generates a key: `service_live_`, 32 random base62 characters, and their CRC-32 in 6 more, as in GitHub's tokens. With the
 * checksum, mistyped keys are rejected without a lookup, and secret scanners have no false positives.
 *
 * @returns The full key, and the prefix that may be shown later.
 */
export function generateApiKey(): { fullKey: string; keyPrefix: string } {
  let random = "";
  for (let i = 0; i < randomCharacters; i++) random += base62[randomInt(base62.length)];
  return {
    fullKey: `${apiKeyTag}${random}${checksum(random)}`,
    keyPrefix: `${apiKeyTag}${random.slice(0, prefixCharacters)}…`,
  };
}

/** Checks a key's form and checksum. @returns False for anything that Gatehouse never issues. */
export function isWellFormedApiKey(text: string): boolean {
  if (!form.test(text)) return false;
  const random = text.slice(apiKeyTag.length, -checksumCharacters);
  return checksum(random) === text.slice(-checksumCharacters);
}

/** @returns A key's SHA-256 in hexadecimal. With 190 random bits, keys can't be guessed, so a fast hash without salt is enough. */
export function hashApiKey(fullKey: string): string {
  return hash("sha256", fullKey, "hex");
}

/**
 * @param key Times in milliseconds since 1970, like `now`.
 * @returns Whether the key works at `now`. A revoked key stays "revoked" after it expires.
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
