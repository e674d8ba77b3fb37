// What every app has: what is around its handlers, and how an error becomes a response.
import { OpenAPIHono } from "@hono/zod-openapi";
import type { AppError } from "../domain/errors.ts";
import type { AppContext, AppEnv, AppParts } from "./env.ts";
import { jsonError, toAppError } from "./errors.ts";
import { noteKeyRequest } from "./key_requests.ts";
import { knownRoutes } from "./known_routes.ts";
import { crossSite } from "./middleware/cross_site.ts";
import {
  type Lifecycle,
  requestLifecycle,
  requestSize,
  wellFormedTarget,
} from "./middleware/request_lifecycle.ts";
import { untrustedProxy } from "./middleware/untrusted_proxy.ts";
import { noteDenied } from "./permission_denials.ts";
import { SplitRouter } from "./split_router.ts";

/** Responds to an error that a handler or a guard throws. */
type ErrorResponse = (error: unknown, c: AppContext) => Response | Promise<Response>;

/**
 * Builds an app.
 *
 * @param routes `mount`: adds the routes. `pageError`: responds with an error of a page.
 */
export function createBaseApp(
  parts: AppParts,
  { mount, pageError }: {
    readonly mount: (app: OpenAPIHono<AppEnv>) => void;
    readonly pageError: (c: AppContext, error: AppError) => Response | Promise<Response>;
  },
): OpenAPIHono<AppEnv> {
  const app = new OpenAPIHono<AppEnv>({ router: new SplitRouter() });
  const errorResponse = respondToErrors(parts, pageError);
  const lifecycle = createLifecycle(parts, { errorResponse, isKnown: (c) => known.isKnown(c) });
  app.use(async (c, next) => {
    await lifecycle(c, async () => {
      await next();
    });
  });

  mount(app);

  const known = knownRoutes(app);
  app.onError(errorResponse);
  app.notFound((c) => errorResponse(known.unmatchedError(c), c));
  return app;
}

/** @param isKnown True if a route matches the request. */
export function createLifecycle(
  parts: AppParts,
  { errorResponse, isKnown }: { errorResponse: ErrorResponse; isKnown: (c: AppContext) => boolean },
): Lifecycle {
  return requestLifecycle(parts, {
    guards: [requestSize(), wellFormedTarget(), untrustedProxy(parts), crossSite(parts.config, isKnown)],
    errorResponse,
    onResponse: (c, startedAt) => {
      parts.metrics.countResponse(c, startedAt);
      noteKeyRequest(c, parts.services);
    },
  });
}

/** @param pageError Without it, there are no pages. */
export function respondToErrors(
  parts: AppParts,
  pageError: (c: AppContext, error: AppError) => Response | Promise<Response> = jsonError,
): ErrorResponse {
  return (error, c) => {
    const appError = toAppError(error, c, parts);
    noteDenied(c, appError, parts);
    return isForPrograms(c.req.path) ? jsonError(c, appError) : pageError(c, appError);
  };
}

/** True for paths of programs, and for targets without a path, which no browser sends. */
function isForPrograms(path: string): boolean {
  return !path.startsWith("/") || /^\/(api|health|metrics)(\/|$)/.test(path);
}
