// What a thread starts with: the routes that programs call all the time. The whole app is loaded by the first request for another one.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { messageOf, unavailableError } from "./domain/errors.ts";
import { keyVerificationRoutes } from "./routes/keys/key_verification.ts";
import { recordingRoutes } from "./routes/meter/usage.ts";
import { sessionUserRoute } from "./routes/people/session_user.ts";
import { createLifecycle, respondToErrors } from "./routes/base_app.ts";
import type { App, AppContext, AppEnv, AppParts } from "./routes/env.ts";
import { hotContext } from "./routes/hot_context.ts";
import { routePattern } from "./routes/known_routes.ts";
import { operationRoutes } from "./routes/operations.ts";

type Handler = (c: AppContext) => Response | Promise<Response>;

/** Handlers by method and path. Other methods and forms of a path need the whole app: a 405 lists those that it supports. */
class HotRoutes {
  readonly #handlers = new Map<string, Handler>();

  /** Adds a route. It has no parameters in its path. */
  on(method: string, path: string, handler: Handler): void {
    this.#handlers.set(`${method.toUpperCase()} ${path}`, handler);
  }

  get(path: string, handler: Handler): void {
    this.on("GET", path, handler);
    this.on("HEAD", path, handler);
  }

  find(method: string, path: string): Handler | undefined {
    return this.#handlers.get(`${method} ${path}`);
  }
}

/**
 * Builds an app that responds as the whole app does. A thread that only answers hot routes takes a third less memory.
 *
 * @param loadApp Loads the whole app. Called again after it failed.
 */
export function createHotApp(
  parts: AppParts,
  loadApp: () => Promise<Pick<App, "fetch">>,
): Pick<App, "fetch"> {
  const routes = new HotRoutes();
  // These add routes in no other way. Their descriptions stay unread.
  const app = routes as unknown as OpenAPIHono<AppEnv>;
  sessionUserRoute(app, parts);
  recordingRoutes(app, parts);
  keyVerificationRoutes(app, parts);
  operationRoutes(app, parts);
  const isHot = (c: AppContext) => routePattern(c) !== "";
  const lifecycle = createLifecycle(parts, { errorResponse: respondToErrors(parts), isKnown: isHot });
  let loading: ReturnType<typeof loadApp> | undefined;
  let whole: Pick<App, "fetch"> | undefined;
  const load = () =>
    loading ??= loadApp().then((app) => whole = app).catch((error) => {
      // From the source, a file can't be read without a free descriptor. The next request tries again.
      loading = undefined;
      throw error;
    });
  return {
    fetch(request, env) {
      const { method } = request;
      const path = pathOf(request.url);
      const handler = routes.find(method, path);
      if (handler !== undefined) {
        const response = lifecycle(hotContext(request, { method, path, pattern: path }, env), handler);
        return method === "HEAD" ? response.then((found) => new Response(null, found)) : response;
      }
      if (whole !== undefined) return whole.fetch(request, env);
      return load().then((app) => app.fetch(request, env), (error) => {
        parts.log.error("cannot load all routes", { error: messageOf(error) });
        return lifecycle(hotContext(request, { method, path, pattern: "" }, env), () => {
          throw unavailableError("The service is temporarily unavailable.");
        });
      });
    },
  };
}

/** Returns the path of an absolute URL as it is written; parsing the URL takes ten times as long. */
function pathOf(url: string): string {
  const start = url.indexOf("/", "https://".length);
  const end = url.indexOf("?", start);
  return end === -1 ? url.slice(start) : url.slice(start, end);
}
