// The operator console: every page that operators open.
import type { App } from "../../env.ts";
import type { PortalParts } from "../page.ts";
import { operatorOrganizationListPages } from "./organizations.ts";
import { operatorOverviewRoutes } from "./overview.ts";
import { operatorProductPages } from "./products.ts";
import { operatorSystemPages } from "./system.ts";
import { operatorTokenPages } from "./tokens.ts";
import { operatorUserPages } from "./users.ts";

/** Mounts the console. */
export function operatorConsoleRoutes(app: App, parts: PortalParts): void {
  operatorOverviewRoutes(app, parts);
  operatorOrganizationListPages(app, parts);
  operatorProductPages(app, parts);
  operatorSystemPages(app, parts);
  operatorTokenPages(app, parts);
  operatorUserPages(app, parts);
}
