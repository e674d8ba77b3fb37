// The whole app: every mount, on one screen. A thread starts with hot_app.ts.
import { apiRoutes } from "./routes/api/routes.ts";
import { assetRoutes } from "./routes/assets.ts";
import { createBaseApp } from "./routes/base_app.ts";
import { browserClientRoutes } from "./routes/browser_client.ts";
import type { App, AppParts } from "./routes/env.ts";
import { deviceRoute } from "./routes/oauth/device.tsx";
import { discoveryRoutes } from "./routes/oauth/discovery.ts";
import { tokenStatusRoutes } from "./routes/oauth/token_status.ts";
import { tokenRoutes } from "./routes/oauth/token.ts";
import { webfingerRoute } from "./routes/oauth/webfinger.ts";
import { operationRoutes } from "./routes/operations.ts";
import { pageError } from "./routes/portal/errors.ts";
import { portalRoutes } from "./routes/portal/routes.ts";
import type { Assets } from "./views/layout.tsx";

/** Builds the app with all of its routes. Its `fetch` takes a request and Deno's `ServeHandlerInfo`. */
export function createApp(parts: AppParts, options: { version: string }): App {
  let assets: Assets;
  return createBaseApp(parts, {
    mount(app) {
      apiRoutes(app, parts, options);
      operationRoutes(app, parts);

      discoveryRoutes(app, parts);
      tokenRoutes(app, parts);
      tokenStatusRoutes(app, parts);
      deviceRoute(app, parts);
      webfingerRoute(app, parts);
      browserClientRoutes(app);
      assets = assetRoutes(app, parts.config);
      portalRoutes(app, parts, { assets, version: options.version });
    },
    pageError: (c, error) => pageError(c, error, { ...parts, assets }),
  });
}
