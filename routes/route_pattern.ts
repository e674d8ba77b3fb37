// The name of a route: its path with parameters in the place of ids, so that logs and metrics group by it.
import { matchedRoutes } from "hono/route";
import type { AppContext } from "./env.ts";

/** @returns Such as `/api/portal/api-keys/:id`; an empty text when no route matches. */
export function routePattern(c: AppContext): string {
  return matchedRoutes(c).findLast(({ path }) => !path.endsWith("*"))?.path ?? "";
}
