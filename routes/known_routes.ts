// The routes of the app: their patterns, and the methods that each path supports. Tells an unknown path (404) from a known one with
// another method (405 with Allow).
import type { Hono } from "hono";
import { matchedRoutes } from "hono/route";
import { AppError, notFoundError } from "../domain/errors.ts";
import type { AppContext, AppEnv } from "./env.ts";

/** Expects an app with every route mounted. */
export function knownRoutes(app: Hono<AppEnv>) {
  const routes = app.routes
    .filter(({ method, path }) => method !== "ALL" && !path.endsWith("*"))
    .map(({ method, path }) => {
      // Hono's parameters stand for one segment each.
      const form = path.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(/:[A-Za-z]+/g, "[^/]+");
      return { method, form: new RegExp(`^${form}$`) };
    });
  const methodsOf = (c: AppContext) =>
    new Set(routes.filter(({ form }) => form.test(c.req.path)).map(({ method }) => method));
  return {
    isKnown: (c: AppContext) => methodsOf(c).has(c.req.method),
    unmatchedError(c: AppContext) {
      const methods = methodsOf(c);
      if (methods.size === 0) return notFoundError();
      if (methods.has("GET")) methods.add("HEAD");
      const allow = [...methods].sort();
      return new AppError("method_not_allowed", `This path supports only ${allow.join(", ")}.`, { allow });
    },
  };
}

/** Returns the pattern of the request's route, such as `/api/portal/api-keys/:id`; an empty text when no route matches. */
export function routePattern(c: AppContext): string {
  return c.get("route") ?? matchedRoutes(c).findLast(({ path }) => !path.endsWith("*"))?.path ?? "";
}
