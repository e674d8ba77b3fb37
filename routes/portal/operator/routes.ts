// The operator console: every page that operators open.
import type { App } from "../../env.ts";
import type { PortalParts } from "../page.ts";
import { operatorOrganizationForms } from "./organization_forms.ts";
import { operatorOrganizationLimitForms } from "./organization_limits.ts";
import { operatorOrganizationPage } from "./organization.ts";
import { operatorAuditPages } from "./audit.ts";
import { operatorOrganizationListPages } from "./organizations.ts";
import { operatorOverviewRoutes } from "./overview.ts";
import { operatorPlanPages } from "./plans.ts";
import { operatorProductPages } from "./products.ts";
import { operatorStatementPages } from "./statements.ts";
import { operatorSystemPages } from "./system.ts";
import { operatorTokenPages } from "./tokens.ts";
import { operatorUsagePages } from "./usage.ts";
import { operatorUserPages } from "./users.ts";

/** Mounts the console. */
export function operatorConsoleRoutes(app: App, parts: PortalParts): void {
  operatorOverviewRoutes(app, parts);
  operatorAuditPages(app, parts);
  operatorOrganizationListPages(app, parts);
  operatorOrganizationPage(app, parts);
  operatorOrganizationForms(app, parts);
  operatorOrganizationLimitForms(app, parts);
  operatorPlanPages(app, parts);
  operatorProductPages(app, parts);
  operatorStatementPages(app, parts);
  operatorSystemPages(app, parts);
  operatorTokenPages(app, parts);
  operatorUsagePages(app, parts);
  operatorUserPages(app, parts);
}
