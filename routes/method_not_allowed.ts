// Tells an unknown path (404) from a known one with another method (405 with Allow).
import type { Hono } from "hono";
import { AppError, notFoundError } from "../domain/errors.ts";
import type { AppContext, AppEnv } from "./env.ts";

/**
 * @param app The app with every route mounted.
 * @returns A function that makes the error for a request that no route took.
 */
export function unmatchedError(app: Hono<AppEnv>): (c: AppContext) => AppError {
  const routes = app.routes
    .filter(({ method, path }) => method !== "ALL" && !path.endsWith("*"))
    .map(({ method, path }) => ({
      method,
      // Hono's parameters stand for one segment each.
      form: new RegExp(
        `^${path.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(/:[A-Za-z]+/g, "[^/]+")}$`,
      ),
    }));
  return (c) => {
    const methods = new Set(routes.filter(({ form }) => form.test(c.req.path)).map(({ method }) => method));
    if (methods.size === 0) return notFoundError();
    if (methods.has("GET")) methods.add("HEAD");
    const allow = [...methods].sort();
    return new AppError("method_not_allowed", `This address takes ${allow.join(", ")}.`, { allow });
  };
}
