// The app: the order of the middleware and every mount, on one screen.
import { OpenAPIHono } from "@hono/zod-openapi";
import { accountRoutes } from "./routes/api/account/account.ts";
import { apiKeyRoutes } from "./routes/api/api_keys.ts";
import { auditRoutes } from "./routes/api/audit.ts";
import { authRoutes } from "./routes/api/sign_in/auth.ts";
import { forwardRoutes } from "./routes/api/meter/forward_auth.ts";
import { invitationRoutes } from "./routes/api/organization/invitations.ts";
import { memberRoutes } from "./routes/api/organization/members.ts";
import { openApiDocument, openApiRoute } from "./routes/api/openapi/openapi.ts";
import { organizationRoutes } from "./routes/api/organization/organizations.ts";
import { passwordRoutes } from "./routes/api/account/passwords.ts";
import { sessionRoutes } from "./routes/api/sign_in/sessions.ts";
import { secondStepRoutes } from "./routes/api/sign_in/second_step.ts";
import { twoStepRoutes } from "./routes/api/sign_in/two_step.ts";
import { usageRoutes } from "./routes/api/meter/usage.ts";
import { usageRecordRoutes } from "./routes/api/meter/usage_records.ts";
import { assetRoutes } from "./routes/assets.ts";
import { browserClientRoutes } from "./routes/browser_client.ts";
import { noteDenied } from "./routes/permission_denials.ts";
import type { App, AppContext, AppEnv, AppParts } from "./routes/env.ts";
import { jsonError, publicError } from "./routes/errors.ts";
import { knownRoutes } from "./routes/method_not_allowed.ts";
import { createApiKeyLimits } from "./routes/middleware/api_key_limits.ts";
import { conversation, requestSize, wellFormedHost } from "./routes/middleware/conversation.ts";
import { cors, preflight } from "./routes/middleware/cors.ts";
import { crossSite } from "./routes/middleware/cross_site.ts";
import { untrustedProxy } from "./routes/middleware/untrusted_proxy.ts";
import { createMetrics } from "./routes/metrics.ts";
import { operationRoutes } from "./routes/operations.ts";
import { portalAccessRoutes } from "./routes/portal/meter/access.ts";
import { portalAccountRoutes } from "./routes/portal/account/account.ts";
import { portalAcceptInvitationRoutes } from "./routes/portal/organization/accept_invitation.ts";
import { portalApiKeyRoutes } from "./routes/portal/api_keys.ts";
import { portalConfirmPasswordRoutes } from "./routes/portal/sign_in/confirm_password.ts";
import { portalCheckRoutes } from "./routes/portal/check.ts";
import { devMailRoutes } from "./routes/portal/dev_mail.ts";
import { docsRoutes } from "./routes/portal/docs/docs.ts";
import { portalAuditRoutes } from "./routes/portal/audit.ts";
import { errorAnswer } from "./routes/portal/errors.ts";
import { portalPasswordRoutes } from "./routes/portal/account/passwords.ts";
import { portalSecurityRoutes } from "./routes/portal/sign_in/security.ts";
import { portalInvitationRoutes } from "./routes/portal/organization/invitations.ts";
import { portalMemberRoutes } from "./routes/portal/organization/members.ts";
import { portalOrganizationRoutes } from "./routes/portal/organization/organizations.ts";
import { portalSignInRoutes } from "./routes/portal/sign_in/sign_in.ts";
import { portalPasskeyRoutes } from "./routes/portal/sign_in/passkeys.ts";
import { portalSecondStepRoutes } from "./routes/portal/sign_in/second_step.ts";
import { portalTurnOffLinkRoutes } from "./routes/portal/sign_in/turn_off_link.ts";
import { portalTwoStepRoutes } from "./routes/portal/sign_in/two_step.ts";
import { portalUsageRoutes } from "./routes/portal/meter/usage.ts";
import { portalVerifyEmailRoutes } from "./routes/portal/account/verify_email.ts";

/**
 * Builds the whole HTTP surface.
 *
 * @param parts The settings, the verbs and the log.
 * @param options `version`: of the program, for the OpenAPI document.
 * @returns The app; its `fetch` takes a request and Deno's `ServeHandlerInfo`.
 */
export function createApp(parts: AppParts, options: { version: string }): App {
  const { config } = parts;
  const app = new OpenAPIHono<AppEnv>();
  const metrics = createMetrics(parts, options);

  const answerError = (error: unknown, c: AppContext) => {
    const shown = publicError(error, c, parts);
    noteDenied(c, shown, parts);
    return isForPrograms(c.req.path) ? jsonError(c, shown) : page(c, shown);
  };
  app.use("/api/auth/*", cors(config, parts.log));
  app.use(conversation(parts, {
    guards: [
      requestSize(),
      wellFormedHost(),
      untrustedProxy(parts),
      crossSite(config, (c) => known.isKnown(c)),
    ],
    answerError,
    onResponse: metrics.countResponse,
  }));
  app.use("/api/auth/*", preflight(config));

  authRoutes(app, parts);
  secondStepRoutes(app, parts);
  twoStepRoutes(app, parts);
  sessionRoutes(app, parts);
  passwordRoutes(app, parts);
  accountRoutes(app, parts);
  organizationRoutes(app, parts);
  memberRoutes(app, parts);
  invitationRoutes(app, parts);
  auditRoutes(app, parts);
  apiKeyRoutes(app, parts);
  const apiKeyLimits = createApiKeyLimits(parts);
  usageRoutes(app, parts, apiKeyLimits);
  usageRecordRoutes(app, parts, apiKeyLimits);
  forwardRoutes(app, parts, apiKeyLimits);
  const openApi = { baseUrl: config.baseUrl.origin, version: options.version };
  openApiRoute(app, openApi);
  operationRoutes(app, parts, metrics);

  browserClientRoutes(app);
  const assets = assetRoutes(app);
  portalSignInRoutes(app, parts, assets);
  portalSecondStepRoutes(app, parts, assets);
  portalTwoStepRoutes(app, parts, assets);
  portalTurnOffLinkRoutes(app, parts, assets);
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
  portalCheckRoutes(app, parts, assets);

  docsRoutes(app, { assets, document: () => openApiDocument(app, openApi) });

  const page = errorAnswer(parts, assets);
  const known = knownRoutes(app);
  app.onError(answerError);
  app.notFound((c) => answerError(known.unmatchedError(c), c));
  return app;
}

function isForPrograms(path: string): boolean {
  return /^\/(api|health|metrics)(\/|$)/.test(path);
}
