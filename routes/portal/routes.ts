// The portal: every page that people open.
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Assets } from "../../views/layout.tsx";
import { openApiDocument } from "../api/openapi/openapi.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { webhookPages } from "../nouns/webhooks.tsx";
import { alertPages } from "../nouns/alerts.tsx";
import { billingPages } from "../nouns/billing.tsx";
import { portalAccessRoutes } from "./meter/access.tsx";
import { portalAccountRoutes } from "./account/account.ts";
import { portalAcceptInvitationRoutes } from "./organization/accept_invitation.ts";
import { apiKeyPages } from "../nouns/api_key.tsx";
import { apiKeyListPages } from "../nouns/api_keys.tsx";
import { portalConfirmPasswordRoutes } from "./sign_in/confirm_password.ts";
import { embedRoutes } from "./embed/routes.ts";
import { devMailRoutes } from "./dev_mail.tsx";
import { docsRoutes } from "./docs/docs.ts";
import { portalAuditRoutes } from "../nouns/audit_log.tsx";
import { portalPasswordRoutes } from "./account/passwords.ts";
import { portalSecurityRoutes } from "./sign_in/security.ts";
import { newApiKeyPages } from "../nouns/new_api_key.tsx";
import { invitationPages } from "./organization/invitations.ts";
import { companySignInPages } from "./organization/company_sign_in.ts";
import { memberChangePages } from "./organization/members.ts";
import { operatorConsoleRoutes } from "./operator/routes.ts";
import { portalOrganizationRoutes } from "./organization/organizations.ts";
import { portalSignInRoutes } from "./sign_in/sign_in.ts";
import { portalIdentityRoutes } from "./sign_in/identities.ts";
import { portalPasskeyRoutes } from "./sign_in/passkeys.ts";
import { portalProviderRoutes } from "./sign_in/provider.ts";
import { portalSecondStepRoutes } from "./sign_in/second_step.ts";
import { portalTwoStepRoutes } from "./sign_in/two_step.ts";
import { recordPages } from "../nouns/usage_records.tsx";
import { portalOverviewRoutes } from "./overview.tsx";
import { usagePages } from "./meter/usage.ts";
import { portalVerifyEmailRoutes } from "./account/verify_email.ts";
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
  portalTwoStepRoutes(app, parts);
  portalPasskeyRoutes(app, parts);
  portalIdentityRoutes(app, parts);
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
  portalVerifyEmailRoutes(app, parts);
  portalConfirmPasswordRoutes(app, parts);
  portalAccessRoutes(app, parts);
  portalAccountRoutes(app, parts);
  portalSecurityRoutes(app, parts);
  devMailRoutes(app, parts);
  memberChangePages(app, parts);
  invitationPages(app, parts);
  portalAcceptInvitationRoutes(app, parts);
  portalOrganizationRoutes(app, parts);
  companySignInPages(app, parts);
  portalAuditRoutes(app, parts);
  operatorConsoleRoutes(app, parts);
  embedRoutes(app, parts);

  const openApi = { baseUrl: parts.config.baseUrl.origin, version };
  docsRoutes(app, parts, { document: () => openApiDocument(app, openApi), version });
}
