// The operator console: every page that operators open.
import type { App } from "../../env.ts";
import type { PortalParts } from "../page.ts";
import { operatorOverviewRoutes } from "./overview.ts";

/** Mounts the console. */
export function operatorConsoleRoutes(app: App, parts: PortalParts): void {
  operatorOverviewRoutes(app, parts);
}
