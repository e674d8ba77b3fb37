// The app: the order of the middleware and every mount, on one screen.
import { OpenAPIHono } from "@hono/zod-openapi";
import { apiRoutes } from "./routes/api/routes.ts";
import { assetRoutes } from "./routes/assets.ts";
import { browserClientRoutes } from "./routes/browser_client.ts";
import { noteDenied } from "./routes/permission_denials.ts";
import type { App, AppContext, AppEnv, AppParts } from "./routes/env.ts";
import { jsonError, toAppError } from "./routes/errors.ts";
import { noteKeyRequest } from "./routes/key_requests.ts";
import { knownRoutes } from "./routes/known_routes.ts";
import { requestLifecycle, requestSize, wellFormedTarget } from "./routes/middleware/request_lifecycle.ts";
import { cors, preflight } from "./routes/middleware/cors.ts";
import { crossSite } from "./routes/middleware/cross_site.ts";
import { untrustedProxy } from "./routes/middleware/untrusted_proxy.ts";
import { operationRoutes } from "./routes/operations.ts";
import { SplitRouter } from "./routes/split_router.ts";
import { portalRoutes } from "./routes/portal/routes.ts";
import { pageError } from "./routes/portal/errors.ts";

/** Builds the app with all of its routes. Its `fetch` takes a request and Deno's `ServeHandlerInfo`. */
export function createApp(parts: AppParts, options: { version: string }): App {
  const { config } = parts;
  const app = new OpenAPIHono<AppEnv>({ router: new SplitRouter() });

  const errorResponse = (error: unknown, c: AppContext) => {
    const appError = toAppError(error, c, parts);
    noteDenied(c, appError, parts);
    return isForPrograms(c.req.path) ? jsonError(c, appError) : pageError(c, appError, { ...parts, assets });
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
      noteKeyRequest(c, parts.services.lastRequests);
    },
  }));
  app.use("/api/auth/*", preflight(config));

  apiRoutes(app, parts, options);
  operationRoutes(app, parts);

  browserClientRoutes(app);
  const assets = assetRoutes(app, config);
  portalRoutes(app, parts, { assets, version: options.version });

  const known = knownRoutes(app);
  app.onError(errorResponse);
  app.notFound((c) => errorResponse(known.unmatchedError(c), c));
  return app;
}

/** True for paths of programs, and for targets without a path, which no browser sends. */
function isForPrograms(path: string): boolean {
  return !path.startsWith("/") || /^\/(api|health|metrics)(\/|$)/.test(path);
}
