// The operator console: every page that operators open.
import type { App } from "../../env.ts";
import type { PortalParts } from "../page.ts";
import { operatorOrganizationForms } from "../../nouns/organization_forms.tsx";
import { operatorOrganizationLimitForms } from "../../nouns/organization_limit_forms.tsx";
import { operatorOrganizationTabs } from "../../nouns/organization_page.tsx";
import { organizationNotePages } from "../../nouns/organization_notes.tsx";
import { usageGrantPages } from "../../nouns/usage_grants.tsx";
import { operatorAuditPages } from "../../nouns/audit_log.tsx";
import { operatorOrganizationPages } from "../../nouns/organizations.tsx";
import { operatorOverviewRoutes } from "./overview.ts";
import { planPages } from "../../nouns/plans.tsx";
import { productPages } from "../../nouns/products.tsx";
import { statementPages } from "../../nouns/statements.tsx";
import { operatorSystemPages } from "./system.tsx";
import { identityProviderPages } from "../../nouns/identity_providers.tsx";
import { operatorTokenPages } from "../../nouns/operator_tokens.tsx";
import { operatorUsagePages } from "./usage.ts";
import { userPages } from "../../nouns/users.tsx";

export function operatorConsoleRoutes(app: App, parts: PortalParts): void {
  operatorOverviewRoutes(app, parts);
  operatorAuditPages(app, parts);
  operatorOrganizationPages(app, parts);
  operatorOrganizationTabs(app, parts);
  operatorOrganizationForms(app, parts);
  organizationNotePages(app, parts);
  usageGrantPages(app, parts);
  operatorOrganizationLimitForms(app, parts);
  planPages(app, parts);
  productPages(app, parts);
  statementPages(app, parts);
  operatorSystemPages(app, parts);
  operatorTokenPages(app, parts);
  identityProviderPages(app, parts);
  operatorUsagePages(app, parts);
  userPages(app, parts);
}
