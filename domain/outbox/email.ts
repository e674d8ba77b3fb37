// One form of an email address for lookup, uniqueness, limits and invitations.
import { validationError } from "../errors.ts";
import { emailCharactersMax } from "../limits.ts";

const form =
  /^(?!\p{M}|.*(?=\p{M})\p{Default_Ignorable_Code_Point})[\p{L}\p{M}\p{N}.!#$%&'*+/=?^_`{|}~-]{1,64}@[\p{L}\p{N}]([\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?(\.[\p{L}\p{N}]([\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?)+$/u;

export const emailHint = "Enter an email address such as ada@example.com.";

/**
 * Converts a typed email address to its canonical form: NFKC, trimmed, lower case, with the domain as DNS has it. The syntax
 * is that of the HTML standard's email input, with a dot in the domain and with letters and visible marks beyond ASCII.
 * Returns null for anything else.
 */
export function canonicalEmail(text: string): string | null {
  // Some letters with a mark are one character in lower case only.
  const typed = text.normalize("NFKC").trim().toLowerCase().normalize("NFKC");
  if (typed.length > emailCharactersMax || !form.test(typed)) return null;
  const at = typed.indexOf("@");
  const domain = asciiDomain(typed.slice(at + 1));
  if (domain === null) return null;
  const email = `${typed.slice(0, at)}@${domain}`;
  return email.length <= emailCharactersMax && form.test(email) ? email : null;
}

/** Does the same as {@linkcode canonicalEmail}. @throws {AppError} `validation_failed` for anything but an email address. */
export function requireEmail(text: string): string {
  const email = canonicalEmail(text);
  if (email === null) throw validationError([{ path: "email", message: emailHint }]);
  return email;
}

/** Returns the domain of a canonical address. */
export function emailDomain(email: string): string {
  return email.slice(email.indexOf("@") + 1);
}

/** Returns the domain in ASCII, as browsers send `bücher.example` in either form; null for a name that DNS can't have. */
function asciiDomain(domain: string): string | null {
  // The URL parser would read 1.2 as an IP address.
  if (!/[^a-z0-9.-]|(^|\.)xn--/.test(domain)) return domain;
  const url = `http://${domain}`;
  return URL.canParse(url) ? new URL(url).hostname : null;
}
