// One form of an e-mail address for look-up, uniqueness, limits and invitations.
import { emailCharactersMax } from "./limits.ts";

/**
 * @param text As a person typed it.
 * @returns The canonical address (NFKC, trimmed, lower case), or null when it is not one. The form is that of the
 *   HTML standard's e-mail input, with a dot in the domain, and letters beyond ASCII allowed.
 */
export function canonicalEmail(text: string): string | null {
  const email = text.normalize("NFKC").trim().toLowerCase();
  if (email.length > emailCharactersMax) return null;
  const form =
    /^[\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]{1,64}@[\p{L}\p{N}]([\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?(\.[\p{L}\p{N}]([\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?)+$/u;
  return form.test(email) ? email : null;
}
