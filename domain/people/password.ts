// The rules for passwords, after NIST SP 800-63B-4, section 3.1.1.2: a minimum length and a blocklist, but no composition rules.
import { passwordCharactersMax, passwordCharactersMin } from "../limits.ts";

/** Words about the account that attackers guess first. */
export interface PasswordOwner {
  readonly email: string;
  readonly name: string;
}

/** `common`: passwords in lower case. */
export interface PasswordContext extends PasswordOwner {
  readonly common: ReadonlySet<string>;
}

/** Returns a password in NFKC, so that its bytes are the same on every keyboard. */
export function normalizedPassword(password: string): string {
  return password.normalize("NFKC");
}

/** True if a password has an allowed length, in code points after NFKC. The limit bounds the hashing. */
export function hasPasswordLength(password: string): boolean {
  // A code point has at most two units, and NFKC combines at most 18 of them: anything longer is too long in any case.
  if (password.length > passwordCharactersMax * 36) return false;
  const length = [...normalizedPassword(password)].length;
  return length >= passwordCharactersMin && length <= passwordCharactersMax;
}

/** Returns the problem with a new password, in a sentence for its owner, or null. */
export function passwordFault(password: string, context: PasswordContext): string | null {
  if (!hasPasswordLength(password)) {
    return `Use ${passwordCharactersMin} to ${passwordCharactersMax} characters.`;
  }
  const plain = fold(password);
  if (context.common.has(normalizedPassword(password).toLowerCase()) || context.common.has(plain)) {
    return "This password is too common. Choose another one.";
  }
  if (new Set(plain).size < 4) return "Use more different characters.";
  const [local = "", domain = ""] = context.email.split("@");
  const { email, name } = context;
  const known = ["gatehouse", email, local, domain, ...domain.split("."), name, ...name.split(/\s+/)];
  // Longest first, so that removing a part of a word doesn't leave the rest of it.
  const words = known.map(fold).filter((word) => word.length >= 3).sort((a, b) => b.length - a.length);
  let rest = plain;
  for (const word of words) rest = rest.replaceAll(word, "");
  const padding = rest.replaceAll(/[\d!-/:-@[-`{-~]/g, "");
  // The rest, without these words, digits and punctuation, must not be too short.
  if (rest !== plain && padding.length < 6) {
    return "This password is too similar to your name or email address. Choose another one.";
  }
  return null;
}

function fold(text: string): string {
  return normalizedPassword(text).toLowerCase().replaceAll(/\s/g, "");
}
