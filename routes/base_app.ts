// What every app has: the order of the middleware, and how an error becomes a response.
import { OpenAPIHono } from "@hono/zod-openapi";
import type { AppError } from "../domain/errors.ts";
import type { AppContext, AppEnv, AppParts } from "./env.ts";
import { jsonError, toAppError } from "./errors.ts";
import { noteKeyRequest } from "./key_requests.ts";
import { knownRoutes } from "./known_routes.ts";
import { cors, preflight } from "./middleware/cors.ts";
import { crossSite } from "./middleware/cross_site.ts";
import { requestLifecycle, requestSize, wellFormedTarget } from "./middleware/request_lifecycle.ts";
import { untrustedProxy } from "./middleware/untrusted_proxy.ts";
import { noteDenied } from "./permission_denials.ts";
import { SplitRouter } from "./split_router.ts";

/**
 * Builds an app.
 *
 * @param routes `mount`: adds the routes. `pageError`: responds with an error of a page; without it, there are no pages.
 */
export function createBaseApp(
  parts: AppParts,
  { mount, pageError = jsonError }: {
    readonly mount: (app: OpenAPIHono<AppEnv>) => void;
    readonly pageError?: (c: AppContext, error: AppError) => Response | Promise<Response>;
  },
): OpenAPIHono<AppEnv> {
  const { config } = parts;
  const app = new OpenAPIHono<AppEnv>({ router: new SplitRouter() });

  const errorResponse = (error: unknown, c: AppContext) => {
    const appError = toAppError(error, c, parts);
    noteDenied(c, appError, parts);
    return isForPrograms(c.req.path) ? jsonError(c, appError) : pageError(c, appError);
  };
  app.use("/api/auth/*", cors(parts));
  app.use(requestLifecycle(parts, {
    guards: [
      requestSize(),
      wellFormedTarget(),
      untrustedProxy(parts),
      crossSite(config, (c) => known.isKnown(c)),
    ],
    errorResponse,
    onResponse: (c, startedAt) => {
      parts.metrics.countResponse(c, startedAt);
      noteKeyRequest(c, parts.services);
    },
  }));
  app.use("/api/auth/*", preflight(config));

  mount(app);

  const known = knownRoutes(app);
  app.onError(errorResponse);
  app.notFound((c) => errorResponse(known.unmatchedError(c), c));
  return app;
}

/** True for paths of programs, and for targets without a path, which no browser sends. */
function isForPrograms(path: string): boolean {
  return !path.startsWith("/") || /^\/(api|health|metrics)(\/|$)/.test(path);
}
