// What a password must be: long enough, not common, not made of what anybody knows about its owner.
// The rules are those of NIST SP 800-63B-4, 3.1.1.2: length, a blocklist, no composition rules.
import { passwordCharactersMax, passwordCharactersMin } from "../limits.ts";

/** What an attacker tries first. */
export interface PasswordContext {
  readonly email: string;
  readonly name: string;
  /** Common passwords in lower case. */
  readonly common: ReadonlySet<string>;
}

/** @returns The form in which a password is counted and hashed: NFKC, so that every keyboard writes the same bytes. */
export function normalizedPassword(password: string): string {
  return password.normalize("NFKC");
}

/**
 * @param password As typed.
 * @returns Whether its length is allowed, so that hashing it is bounded. Counted in code points after NFKC.
 */
export function hasPasswordLength(password: string): boolean {
  // A code point is at most two units and NFKC at most multiplies by 18; a longer text need not be normalized to be refused.
  if (password.length > passwordCharactersMax * 36) return false;
  const length = [...normalizedPassword(password)].length;
  return length >= passwordCharactersMin && length <= passwordCharactersMax;
}

/**
 * @param password As typed.
 * @returns What is wrong with it, in words for its owner, or null.
 */
export function passwordFault(password: string, context: PasswordContext): string | null {
  if (!hasPasswordLength(password)) {
    return `Use ${passwordCharactersMin} to ${passwordCharactersMax} characters.`;
  }
  const plain = fold(password);
  if (context.common.has(normalizedPassword(password).toLowerCase()) || context.common.has(plain)) {
    return "This password is among those that are guessed first. Choose another.";
  }
  if (new Set(plain).size < 4) return "Use more than a few different characters.";
  const [local = "", domain = ""] = context.email.split("@");
  const known = [
    "gatehouse",
    context.email,
    local,
    domain,
    ...domain.split("."),
    context.name,
    ...context.name.split(/\s+/),
  ];
  // Longest first, so that a part of a word does not hide the word.
  const words = [...new Set(known.map(fold))].filter((word) => word.length >= 3).sort((a, b) =>
    b.length - a.length
  );
  let rest = plain;
  for (const word of words) rest = rest.replaceAll(word, "");
  const padding = rest.replaceAll(/[\d!-/:-@[-`{-~]/g, "");
  // What is left without the words and the usual digits around them must still be something to guess.
  if (rest !== plain && padding.length < 6) {
    return "This password is made of your name, your address or ours. Choose another.";
  }
  return null;
}

function fold(text: string): string {
  return normalizedPassword(text).toLowerCase().replaceAll(/\s/g, "");
}
