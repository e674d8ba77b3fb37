// Tells an unknown path (404) from a known one with another method (405 with Allow).
import type { Hono } from "hono";
import { AppError, notFoundError } from "../domain/errors.ts";
import type { AppContext, AppEnv } from "./env.ts";

/** Which methods the paths of an app take. */
export interface KnownRoutes {
  /** @returns Whether a route takes the request. */
  isKnown(c: AppContext): boolean;
  /** @returns The error for a request that no route took. */
  unmatchedError(c: AppContext): AppError;
}

/** @param app The app with every route mounted. */
export function knownRoutes(app: Hono<AppEnv>): KnownRoutes {
  const routes = app.routes
    .filter(({ method, path }) => method !== "ALL" && !path.endsWith("*"))
    .map(({ method, path }) => ({
      method,
      // Hono's parameters stand for one segment each.
      form: new RegExp(
        `^${path.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(/:[A-Za-z]+/g, "[^/]+")}$`,
      ),
    }));
  const methodsOf = (c: AppContext) =>
    new Set(routes.filter(({ form }) => form.test(c.req.path)).map(({ method }) => method));
  return {
    isKnown: (c) => methodsOf(c).has(c.req.method),
    unmatchedError(c) {
      const methods = methodsOf(c);
      if (methods.size === 0) return notFoundError();
      if (methods.has("GET")) methods.add("HEAD");
      const allow = [...methods].sort();
      return new AppError("method_not_allowed", `This address takes ${allow.join(", ")}.`, { allow });
    },
  };
}
