// The operator console: every page that operators open.
import type { App } from "../env.ts";
import type { PortalParts } from "../portal/page.ts";
import { operatorOrganizationForms } from "./organization_forms.tsx";
import { operatorOrganizationLimitForms } from "./organization_limit_forms.tsx";
import { operatorOrganizationTabs } from "./organization_page.tsx";
import { organizationNotePages } from "./organization_notes.tsx";
import { usageGrantPages } from "../meter/usage_grants.tsx";
import { usageRefillPages } from "../meter/usage_refills.tsx";
import { operatorAuditPages } from "../access/audit_log.tsx";
import { operatorOrganizationPages } from "./organizations.tsx";
import { operatorOverviewRoutes } from "./operator_overview.ts";
import { planPages } from "../billing/plans.tsx";
import { collectorPages } from "../meter/collectors.tsx";
import { productPages } from "../meter/products.tsx";
import { statementPages } from "../billing/statements.tsx";
import { operatorSystemPages } from "./system.tsx";
import { identityProviderPages } from "../people/identity_providers.tsx";
import { clientPages } from "../oauth/client_pages.tsx";
import { documentPages } from "../oauth/document_pages.tsx";
import { resourcePages } from "../oauth/resource_pages.tsx";
import { operatorTokenPages } from "../access/operator_tokens.tsx";
import { operatorUsagePages } from "./operator_usage_pages.ts";
import { userPages } from "./users.tsx";

export function operatorConsoleRoutes(app: App, parts: PortalParts): void {
  operatorOverviewRoutes(app, parts);
  operatorAuditPages(app, parts);
  operatorOrganizationPages(app, parts);
  operatorOrganizationTabs(app, parts);
  operatorOrganizationForms(app, parts);
  organizationNotePages(app, parts);
  usageGrantPages(app, parts);
  usageRefillPages(app, parts);
  operatorOrganizationLimitForms(app, parts);
  planPages(app, parts);
  productPages(app, parts);
  collectorPages(app, parts);
  statementPages(app, parts);
  operatorSystemPages(app, parts);
  operatorTokenPages(app, parts);
  identityProviderPages(app, parts);
  documentPages(app, parts);
  clientPages(app, parts);
  resourcePages(app, parts);
  operatorUsagePages(app, parts);
  userPages(app, parts);
}
