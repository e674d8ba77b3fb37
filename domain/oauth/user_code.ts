// The code that a person types to connect a device (RFC 8628, section 6.1).
import { randomInt } from "node:crypto";

/** No vowels, so that no words come about, and nothing that looks like a digit. */
const letters = "BCDFGHJKLMNPQRSTVWXZ";
const lettersOfCode = 8;

/** Generates a code of 8 letters: 34 bits, for ten minutes and a few guesses a minute. */
export function newUserCode(): string {
  return Array.from({ length: lettersOfCode }, () => letters[randomInt(letters.length)]).join("");
}

/**
 * Reads a typed code. Case, spaces and hyphens don't matter.
 *
 * @returns Null for a text that can't be a code.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * assert.equal(parseUserCode("wdjb-mjht"), "WDJBMJHT");
 * assert.equal(parseUserCode("WDJB MJH"), null);
 * ```
 */
export function parseUserCode(text: string): string | null {
  const code = text.toUpperCase().replaceAll(/[\s\p{Pd}]/gu, "");
  return code.length === lettersOfCode && [...code].every((letter) => letters.includes(letter)) ? code : null;
}

/** Writes a code as people read it, such as `WDJB-MJHT`. */
export function shownUserCode(code: string): string {
  return `${code.slice(0, lettersOfCode / 2)}-${code.slice(lettersOfCode / 2)}`;
}
