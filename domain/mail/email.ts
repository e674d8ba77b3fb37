// One form of an e-mail address for look-up, uniqueness, limits and invitations.
import { emailCharactersMax } from "../limits.ts";

const form =
  /^[\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]{1,64}@[\p{L}\p{N}]([\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?(\.[\p{L}\p{N}]([\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?)+$/u;

/**
 * @param text As a person typed it.
 * @returns The canonical address (NFKC, trimmed, lower case, the domain as DNS has it), or null when it is not one. The form is
 *   that of the HTML standard's e-mail input, with a dot in the domain, and letters beyond ASCII allowed.
 */
export function canonicalEmail(text: string): string | null {
  const typed = text.normalize("NFKC").trim().toLowerCase();
  if (typed.length > emailCharactersMax || !form.test(typed)) return null;
  const at = typed.indexOf("@");
  const domain = asciiDomain(typed.slice(at + 1));
  if (domain === null) return null;
  const email = `${typed.slice(0, at)}@${domain}`;
  return email.length <= emailCharactersMax && form.test(email) ? email : null;
}

/**
 * `bücher.example` and `xn--bcher-kva.example` are one domain, and some browsers send what was typed as the one, some as the
 * other.
 *
 * @returns The domain in ASCII, or null for a name that DNS cannot have.
 */
function asciiDomain(domain: string): string | null {
  // The parser would take 1.2 for an address.
  if (!/[^a-z0-9.-]|(^|\.)xn--/.test(domain)) return domain;
  const url = `http://${domain}`;
  return URL.canParse(url) ? new URL(url).hostname : null;
}
