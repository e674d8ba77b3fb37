// The portal: every page that people open.
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Assets } from "../../views/layout.tsx";
import { openApiDocument } from "../api/openapi/openapi.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { failingWebhookPages } from "../outbox/failing_webhooks.tsx";
import { webhookPages } from "../outbox/webhooks.tsx";
import { passkeyPages } from "../people/passkeys.tsx";
import { alertPages } from "../meter/alerts.tsx";
import { billingPages } from "../billing/billing.tsx";
import { portalAccessRoutes } from "../people/access_page.tsx";
import { accountPages } from "../people/account.tsx";
import { applicationPages } from "../oauth/applications.tsx";
import { portalAcceptInvitationRoutes } from "../people/accept_invitation.tsx";
import { apiKeyPages } from "../keys/api_key.tsx";
import { apiKeyListPages } from "../keys/api_keys.tsx";
import { portalConfirmPasswordRoutes } from "../people/confirm_password.tsx";
import { embedRoutes } from "./embed/routes.ts";
import { devMailRoutes } from "../outbox/dev_mail.tsx";
import { docsRoutes } from "./docs/docs.ts";
import { portalAuditRoutes } from "../access/audit_log.tsx";
import { portalPasswordRoutes } from "../people/passwords.tsx";
import { securityPages } from "../people/sessions.tsx";
import { newApiKeyPages } from "../keys/new_api_key.tsx";
import { invitationPages } from "../people/invitations.tsx";
import { membersPages } from "../people/members_page.tsx";
import { companySignInPages } from "../people/company_sign_in_pages.tsx";
import { memberPages } from "../people/members.tsx";
import { operatorConsoleRoutes } from "../console/console_routes.ts";
import { organizationPages } from "../people/organization.tsx";
import { organizationListPages } from "../people/own_organizations.tsx";
import { portalSignInRoutes } from "../people/sign_in.tsx";
import { identityPages } from "../people/identities.tsx";
import { portalProviderRoutes } from "../people/provider.tsx";
import { portalSecondStepRoutes } from "../people/second_step.tsx";
import { twoStepPages } from "../people/two_step.tsx";
import { turnOffLinkPages } from "../people/turn_off_link.tsx";
import { recordPages } from "../meter/usage_records.tsx";
import { portalOverviewRoutes } from "../console/overview.tsx";
import { usagePages } from "../meter/usage_pages.ts";
import { verifyEmailPages } from "../people/verify_email.tsx";
import { logoutRoutes } from "../oauth/logout.tsx";
import { devicePages } from "../oauth/device.tsx";
import { authorizeRoutes } from "../oauth/authorize.tsx";
import { searchRoutes } from "../console/search.tsx";

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
  failingWebhookPages(app, parts);
  webhookPages(app, parts);
  portalPasswordRoutes(app, parts);
  verifyEmailPages(app, parts);
  portalConfirmPasswordRoutes(app, parts);
  portalAccessRoutes(app, parts);
  accountPages(app, parts);
  applicationPages(app, parts);
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
  authorizeRoutes(app, parts);
  devicePages(app, parts);
  logoutRoutes(app, parts);

  const openApi = { baseUrl: parts.config.baseUrl.origin, version };
  docsRoutes(app, parts, { document: () => openApiDocument(app, openApi), version });
}
