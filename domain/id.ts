// Ids: a prefix for the type, then a UUIDv7 in hexadecimal. They sort by creation time.
import { uuidv7obj } from "uuidv7";

export type IdPrefix =
  | "usr"
  | "org"
  | "key"
  | "use"
  | "ses"
  | "req"
  | "inv"
  | "aud"
  | "mail"
  | "pas"
  | "opt"
  | "stm"
  | "prd"
  | "not"
  | "plan"
  | "lim"
  | "gra"
  | "rfl"
  | "evt"
  | "whk"
  | "dlv"
  | "pse"
  | "idp"
  | "idn"
  | "hld"
  | "map"
  | "sub"
  | "cli"
  | "doc"
  | "res"
  | "grt"
  | "sig";

/** Returns a new id such as `key_0199d3c1…` (RFC 9562, version 7). @param at The time that it sorts by, by default now. */
export function newId(prefix: IdPrefix, at?: number): string {
  const digits = uuidv7obj().toHex();
  return `${prefix}_${at === undefined ? digits : timeDigits(at) + digits.slice(12)}`;
}

/** Returns the 12 hexadecimal digits of a UUIDv7 for a time in milliseconds since 1970. */
export function timeDigits(time: number): string {
  return time.toString(16).padStart(12, "0");
}

export function isId(prefix: IdPrefix, text: string): boolean {
  return text.length === prefix.length + 33 && text.startsWith(`${prefix}_`) &&
    /^[0-9a-f]{32}$/.test(text.slice(-32));
}
