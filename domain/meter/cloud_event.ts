// What a CloudEvent (version 1.0 of the specification) means as usage: which product, and which record it is.
import { hash } from "node:crypto";
import { slugForm } from "./usage_record.ts";

/**
 * The product of an event is the last segment of its source's path: `/products/tiles`, `https://example.com/tiles` and
 * `tiles` are all of `tiles`. A host alone names no product.
 *
 * @param source A URI reference.
 * @returns The product's slug, or null when that segment is none.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * assert.equal(productOfSource("https://api.example.com/v1/tiles/?zoom=3"), "tiles");
 * assert.equal(productOfSource("https://api.example.com"), null);
 * ```
 */
export function productOfSource(source: string): string | null {
  const end = source.search(/[?#]/);
  const path = (end === -1 ? source : source.slice(0, end)).replace(
    /^([A-Za-z][A-Za-z0-9+.-]*:)?\/\/[^/]*/,
    "",
  );
  let last = path.length;
  while (path[last - 1] === "/") last--;
  const segment = last === 0 ? "" : path.slice(path.lastIndexOf("/", last - 1) + 1, last);
  try {
    const slug = decodeURIComponent(segment);
    return slugForm.test(slug) ? slug : null;
  } catch {
    return null;
  }
}

/**
 * Two events are the same exactly when source and id are (CloudEvents 1.0, 3.1.1). Both may have any length and any
 * characters; an idempotency key may not, so it is a hash of both. With the length of the first in front, no two pairs
 * are the same text.
 *
 * @returns An idempotency key of 46 characters.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * const key = cloudEventKey({ source: "/tiles", id: "1" });
 * assert.match(key, /^ce:[\w-]{43}$/);
 * assert.notEqual(key, cloudEventKey({ source: "/tiles1", id: "" }));
 * ```
 */
export function cloudEventKey({ source, id }: { source: string; id: string }): string {
  return `ce:${hash("sha256", `${source.length}:${source}${id}`, "base64url")}`;
}

/** The form of content types of JSON. Without flags, as the OpenAPI document has it too. */
export const jsonContentTypeForm = /^[\w.+-]+\/([\w.+-]+\+)?[Jj][Ss][Oo][Nn] *(;.*)?$/;
