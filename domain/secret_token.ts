// The format that API keys and operator tokens share. The whole token exists only in the response that creates it; the database
// has its SHA-256 and its prefix.
import { crc32 } from "node:zlib";
import { hash, randomInt } from "node:crypto";

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 32 base62 characters are 190.5 bits. */
const randomCharacters = 32;
const checksumCharacters = 6;
const prefixCharacters = 8;
const form = new RegExp(`^[0-9A-Za-z]{${randomCharacters + checksumCharacters}}$`);

/**
 * Generates a token: its tag, 32 random base62 characters, and their CRC-32 in 6 more, as in GitHub's tokens. With the
 * checksum, mistyped tokens are rejected without a lookup, and secret scanners have no false positives.
 *
 * @param tag The start of every token of this kind, for people and secret scanners.
 * @returns The whole token, and the prefix that may be shown later.
 */
export function generateSecretToken(tag: string): { token: string; prefix: string } {
  let random = "";
  for (let i = 0; i < randomCharacters; i++) random += base62[randomInt(base62.length)];
  return {
    token: `${tag}${random}${checksum(random)}`,
    prefix: `${tag}${random.slice(0, prefixCharacters)}…`,
  };
}

/**
 * Makes a token of this form from secret bytes, the same for the same bytes.
 *
 * @param bytes At least 32 that can't be guessed.
 */
export function secretTokenOf(tag: string, bytes: Uint8Array): string {
  let value = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  let random = "";
  for (let i = 0; i < randomCharacters; i++) {
    random += base62[Number(value % 62n)];
    value /= 62n;
  }
  return `${tag}${random}${checksum(random)}`;
}

/** Checks a token's tag, form and checksum. Returns false for anything that Gatehouse never issues with this tag. */
export function isWellFormedSecretToken(tag: string, text: string): boolean {
  if (!hasSecretTokenForm(tag, text)) return false;
  const characters = text.slice(tag.length);
  return checksum(characters.slice(0, randomCharacters)) === characters.slice(randomCharacters);
}

/** True for a token with this tag, whether or not its checksum is right. */
export function hasSecretTokenForm(tag: string, text: string): boolean {
  return text.startsWith(tag) && form.test(text.slice(tag.length));
}

/** Returns a token's SHA-256 in hexadecimal. With 190 random bits, it can't be guessed, so a fast hash without salt is enough. */
export function hashSecretToken(token: string): string {
  return hash("sha256", token, "hex");
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
