// The product and the idempotency key of a CloudEvent (version 1.0 of the specification).
import { hash } from "node:crypto";
import { slugForm } from "./usage_record.ts";

/** The source of events for which a user of OpenMeter's SDK sets none. It names no product. */
export const openMeterSource = "@openmeter/sdk";

/**
 * Finds the product of an event: the last segment of its source's path. `/products/tiles`, `https://example.com/tiles` and
 * `tiles` all mean `tiles`. A host alone isn't a product. Returns null when the segment is not a valid slug.
 *
 * @param source A URI reference.
 */
export function productOfSource(source: string): string | null {
  const [path = ""] = source.replace(/^([A-Za-z][A-Za-z0-9+.-]*:)?\/\/[^/?#]*/, "").split(/[?#]/, 1);
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
 * Derives an idempotency key from an event's source and id, which identify it (CloudEvents 1.0, 3.1.1). They may have any length
 * and any characters, so the key is a hash. The length of the source keeps different pairs apart.
 */
export function cloudEventKey({ source, id }: { source: string; id: string }): string {
  return `ce:${hash("sha256", `${source.length}:${source}${id}`, "base64url")}`;
}

/** JSON content types. Without flags, because the OpenAPI document uses it too. */
export const jsonContentTypeForm = /^[\w.+-]+\/([\w.+-]+\+)?[Jj][Ss][Oo][Nn] *(;.*)?$/;
