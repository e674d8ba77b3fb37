// Tells a person's navigation from an image, a frame or a prefetch.
import type { AppContext } from "../env.ts";

export function isNavigation(c: AppContext): boolean {
  const headers = c.get("headers");
  const destination = headers["sec-fetch-dest"];
  return c.req.method === "GET" && headers["sec-purpose"] === undefined &&
    (destination === undefined || destination === "document");
}
