// The operator console: every page that operators open.
import type { App } from "../../env.ts";
import type { PortalParts } from "../page.ts";
import { operatorOverviewRoutes } from "./overview.ts";
import { operatorProductPages } from "./products.ts";

/** Mounts the console. */
export function operatorConsoleRoutes(app: App, parts: PortalParts): void {
  operatorOverviewRoutes(app, parts);
  operatorProductPages(app, parts);
}
