// Reports of leaked keys: the part that is kept of the URL where a key was found. The sender of the report chooses it.
import { leakPlaceCharactersMax } from "./key_limits.ts";

/** A report as its sender wrote it. */
export interface LeakReport {
  readonly key: string;
  readonly url?: string | undefined;
}

/** Keys and operator tokens, also with another prefix. */
const secretForm = /[a-z][a-z0-9]{1,15}_(live|test|operator)_[0-9a-z]{38}/i;

/**
 * Returns the address where a key was found, without anything that could contain a secret: no credentials, query and fragment, and
 * only the origin if its path contains the key or another one, in any encoding of URLs. Null for anything but an http or https URL.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * const of = (url: string) => leakPlace({ key: "k3y", url });
 * assert.equal(of("https://ada:pw@github.com/a/b.txt?raw=1#L5"), "https://github.com/a/b.txt");
 * assert.equal(of("https://example.com/%256B3y"), "https://example.com");
 * assert.equal(of("javascript:alert(1)"), null);
 * ```
 */
export function leakPlace({ key, url = "" }: LeakReport): string | null {
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) return null;
  const { origin, pathname } = parsed;
  const isSecret = (text: string) => text.toLowerCase().includes(key.toLowerCase()) || secretForm.test(text);
  if (isSecret(origin)) return null;
  const path = decoded(pathname);
  const place = path === null || isSecret(path) ? origin : origin + pathname;
  return place.slice(0, leakPlaceCharactersMax);
}

/** Decodes a path until nothing is left to decode. Returns null if it can't be decoded, or only more often than anyone needs. */
function decoded(path: string): string | null {
  try {
    for (let text = path, times = 0; times < 5; times++) {
      const next = decodeURIComponent(text);
      if (next === text) return text;
      text = next;
    }
  } catch {
    // The path is malformed.
  }
  return null;
}
