// Codes of the second step as people type them: six digits from an authenticator app, or a recovery code.

/** Crockford's base32. It has no I, L, O or U, which are easily misread. */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** 80 bits: 16 characters of 5. */
const recoveryCodeBytes = 10;
const recoveryCodeForm = new RegExp(`^[${alphabet}]{16}$`);

/** A code of the second step, in its canonical form. */
export interface SecondStepCode {
  readonly kind: "totp" | "recovery";
  readonly code: string;
}

/**
 * Formats ten random bytes as a recovery code for people.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * assert.equal(recoveryCode(new Uint8Array([255, 255, 255, 255, 255, 0, 0, 0, 0, 1])), "ZZZZ-ZZZZ-0000-0001");
 * ```
 */
export function recoveryCode(bytes: Uint8Array): string {
  if (bytes.length !== recoveryCodeBytes) throw new RangeError("a recovery code needs 10 bytes");
  let number = bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  let text = "";
  for (let n = 0; n < 16; n++) {
    text = alphabet.charAt(Number(number & 31n)) + text;
    number >>= 5n;
  }
  return text.replaceAll(/(.{4})(?!$)/g, "$1-");
}

/**
 * Reads a code. Returns null if it is neither.
 *
 * @param text As typed: in any case, with or without hyphens and spaces, with O for 0, and I or L for 1.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * assert.deepEqual(parseSecondStepCode(" 123 456 "), { kind: "totp", code: "123456" });
 * assert.deepEqual(parseSecondStepCode("zzzzzzzz-ooool001"), { kind: "recovery", code: "ZZZZZZZZ00001001" });
 * assert.equal(parseSecondStepCode("12345"), null);
 * ```
 */
export function parseSecondStepCode(text: string): SecondStepCode | null {
  const code = text.normalize("NFKC").replaceAll(/[\s\p{Pd}]/gu, "").toUpperCase();
  if (/^[0-9]{6}$/.test(code)) return { kind: "totp", code };
  const read = code.replaceAll("O", "0").replaceAll(/[IL]/g, "1");
  return recoveryCodeForm.test(read) ? { kind: "recovery", code: read } : null;
}
