// The portal: every page that people open.
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Assets } from "../../views/layout.tsx";
import { openApiDocument } from "../api/openapi/openapi.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { webhookPages } from "../nouns/webhooks.tsx";
import { passkeyPages } from "../nouns/passkeys.tsx";
import { alertPages } from "../nouns/alerts.tsx";
import { billingPages } from "../nouns/billing.tsx";
import { portalAccessRoutes } from "./meter/access.tsx";
import { accountPages } from "./account/account.tsx";
import { portalAcceptInvitationRoutes } from "./organization/accept_invitation.ts";
import { apiKeyPages } from "../nouns/api_key.tsx";
import { apiKeyListPages } from "../nouns/api_keys.tsx";
import { portalConfirmPasswordRoutes } from "./sign_in/confirm_password.ts";
import { embedRoutes } from "./embed/routes.ts";
import { devMailRoutes } from "./dev_mail.tsx";
import { docsRoutes } from "./docs/docs.ts";
import { portalAuditRoutes } from "../nouns/audit_log.tsx";
import { portalPasswordRoutes } from "./account/passwords.ts";
import { securityPages } from "../nouns/sessions.tsx";
import { newApiKeyPages } from "../nouns/new_api_key.tsx";
import { invitationPages } from "../nouns/invitations.tsx";
import { membersPages } from "../nouns/members_page.tsx";
import { companySignInPages } from "./organization/company_sign_in.ts";
import { memberPages } from "../nouns/members.tsx";
import { operatorConsoleRoutes } from "./operator/routes.ts";
import { organizationPages } from "../nouns/organization.tsx";
import { organizationListPages } from "../nouns/own_organizations.tsx";
import { portalSignInRoutes } from "./sign_in/sign_in.ts";
import { identityPages } from "../nouns/identities.tsx";
import { portalProviderRoutes } from "./sign_in/provider.ts";
import { portalSecondStepRoutes } from "./sign_in/second_step.ts";
import { twoStepPages } from "../nouns/two_step.tsx";
import { turnOffLinkPages } from "../nouns/turn_off_link.tsx";
import { recordPages } from "../nouns/usage_records.tsx";
import { portalOverviewRoutes } from "./overview.tsx";
import { usagePages } from "./meter/usage.ts";
import { verifyEmailPages } from "./account/verify_email.tsx";
import { searchRoutes } from "./search.tsx";

export function portalRoutes(
  app: OpenAPIHono<AppEnv>,
  appParts: AppParts,
  { assets, version }: { assets: Assets; version: string },
): void {
  const parts = { ...appParts, assets };
  portalSignInRoutes(app, parts);
  portalSecondStepRoutes(app, parts);
  portalProviderRoutes(app, parts);
  twoStepPages(app, parts);
  turnOffLinkPages(app, parts);
  passkeyPages(app, parts);
  identityPages(app, parts);
  apiKeyListPages(app, parts);
  newApiKeyPages(app, parts);
  portalOverviewRoutes(app, parts);
  searchRoutes(app, parts);
  apiKeyPages(app, parts);
  usagePages(app, parts);
  recordPages(app, parts);
  alertPages(app, parts);
  billingPages(app, parts);
  webhookPages(app, parts);
  portalPasswordRoutes(app, parts);
  verifyEmailPages(app, parts);
  portalConfirmPasswordRoutes(app, parts);
  portalAccessRoutes(app, parts);
  accountPages(app, parts);
  securityPages(app, parts);
  devMailRoutes(app, parts);
  memberPages(app, parts);
  membersPages(app, parts);
  invitationPages(app, parts);
  portalAcceptInvitationRoutes(app, parts);
  organizationListPages(app, parts);
  organizationPages(app, parts);
  companySignInPages(app, parts);
  portalAuditRoutes(app, parts);
  operatorConsoleRoutes(app, parts);
  embedRoutes(app, parts);

  const openApi = { baseUrl: parts.config.baseUrl.origin, version };
  docsRoutes(app, parts, { document: () => openApiDocument(app, openApi), version });
}
