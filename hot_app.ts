// What a thread starts with: the routes that programs call all the time. The whole app is loaded by the first request for another one.
import { messageOf, unavailableError } from "./domain/errors.ts";
import { keyVerificationRoutes } from "./routes/keys/key_verification.ts";
import { recordingRoutes } from "./routes/meter/usage.ts";
import { sessionUserRoute } from "./routes/people/session_user.ts";
import { createBaseApp } from "./routes/base_app.ts";
import type { App, AppParts } from "./routes/env.ts";
import { operationRoutes } from "./routes/operations.ts";

/** Other methods need the whole app: a 405 lists those that the path supports. */
const hotRoutes: ReadonlySet<string> = new Set([
  "GET /api/auth/me",
  "POST /api/v1/usage",
  "POST /api/v1/usage/batch",
  "POST /api/v1/keys/verify",
  "GET /health/live",
  "GET /health/ready",
  "HEAD /health/live",
  "HEAD /health/ready",
  "GET /metrics",
]);

/** Builds an app that responds as `createApp`'s does. A thread that only answers hot routes takes a third less memory. */
export function createHotApp(parts: AppParts, options: { version: string }): Pick<App, "fetch"> {
  const hot = createBaseApp(parts, {
    mount(app) {
      sessionUserRoute(app, parts);
      recordingRoutes(app, parts);
      keyVerificationRoutes(app, parts);
      operationRoutes(app, parts);
      // Only when the whole app can't be loaded.
      app.all("*", () => {
        throw unavailableError("The service is temporarily unavailable.");
      });
    },
  });
  let loading: Promise<App> | undefined;
  let whole: App | undefined;
  const load = () =>
    loading ??= import("./app.ts").then(({ createApp }) => whole = createApp(parts, options)).catch(
      (error) => {
        // From the source, a file can't be read without a free descriptor. The next request tries again.
        loading = undefined;
        throw error;
      },
    );
  return {
    fetch(request, env) {
      // One app alone is faster than two in turns.
      if (whole !== undefined) return whole.fetch(request, env);
      if (hotRoutes.has(`${request.method} ${pathOf(request.url)}`)) return hot.fetch(request, env);
      return load().then((app) => app.fetch(request, env), (error) => {
        parts.log.error("cannot load all routes", { error: messageOf(error) });
        return hot.fetch(request, env);
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
