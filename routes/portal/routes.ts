// The portal: every page that people open.
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Assets } from "../../views/layout.tsx";
import { openApiDocument } from "../api/openapi/openapi.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { portalAccessRoutes } from "./meter/access.ts";
import { portalAccountRoutes } from "./account/account.ts";
import { portalAcceptInvitationRoutes } from "./organization/accept_invitation.ts";
import { portalApiKeyRoutes } from "./api_keys.ts";
import { portalConfirmPasswordRoutes } from "./sign_in/confirm_password.ts";
import { browserRequestRoutes } from "./browser_request.ts";
import { devMailRoutes } from "./dev_mail.ts";
import { docsRoutes } from "./docs.ts";
import { portalAuditRoutes } from "./audit.ts";
import { portalPasswordRoutes } from "./account/passwords.ts";
import { portalSecurityRoutes } from "./sign_in/security.ts";
import { portalInvitationRoutes } from "./organization/invitations.ts";
import { portalMemberRoutes } from "./organization/members.ts";
import { portalOrganizationRoutes } from "./organization/organizations.ts";
import { portalSignInRoutes } from "./sign_in/sign_in.ts";
import { portalPasskeyRoutes } from "./sign_in/passkeys.ts";
import { portalSecondStepRoutes } from "./sign_in/second_step.ts";
import { portalTwoStepRoutes } from "./sign_in/two_step.ts";
import { portalUsageRoutes } from "./meter/usage.ts";
import { portalVerifyEmailRoutes } from "./account/verify_email.ts";

/**
 * Mounts the portal and the API reference.
 *
 * @param options `assets`: addresses of style sheets and scripts. `version`: of the program, for the API reference.
 */
export function portalRoutes(
  app: OpenAPIHono<AppEnv>,
  parts: AppParts,
  { assets, version }: { assets: Assets; version: string },
): void {
  portalSignInRoutes(app, parts, assets);
  portalSecondStepRoutes(app, parts, assets);
  portalTwoStepRoutes(app, parts, assets);
  portalPasskeyRoutes(app, parts, assets);
  portalApiKeyRoutes(app, parts, assets);
  portalUsageRoutes(app, parts, assets);
  portalPasswordRoutes(app, parts, assets);
  portalVerifyEmailRoutes(app, parts, assets);
  portalConfirmPasswordRoutes(app, parts, assets);
  portalAccessRoutes(app, parts, assets);
  portalAccountRoutes(app, parts, assets);
  portalSecurityRoutes(app, parts, assets);
  devMailRoutes(app, parts, assets);
  portalMemberRoutes(app, parts, assets);
  portalInvitationRoutes(app, parts, assets);
  portalAcceptInvitationRoutes(app, parts, assets);
  portalOrganizationRoutes(app, parts, assets);
  portalAuditRoutes(app, parts, assets);
  browserRequestRoutes(app, parts, assets);

  const openApi = { baseUrl: parts.config.baseUrl.origin, version };
  docsRoutes(app, { assets, document: () => openApiDocument(app, openApi) });
}
