// The JSON API: every route that programs call.
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { AppEnv, AppParts } from "../env.ts";
import { accountRoutes } from "./account/account.ts";
import { apiKeyRoutes } from "./api_keys.ts";
import { auditRoutes } from "./audit.ts";
import { authRoutes, ownSessionRoutes } from "./sign_in/auth.ts";
import { eventRoutes } from "./meter/events.ts";
import { forwardRoutes } from "./meter/forward_auth.ts";
import { keyVerificationRoutes } from "./meter/key_verification.ts";
import { invitationRoutes } from "./organization/invitations.ts";
import { memberRoutes } from "./organization/members.ts";
import { openApiRoute } from "./openapi/openapi.ts";
import { operatorApiKeyRoutes } from "./operator/api_keys.ts";
import { operatorMemberRoutes } from "./operator/organization_members.ts";
import { organizationNoteRoutes } from "../nouns/organization_notes.tsx";
import { operatorOrganizationRoutes } from "../nouns/organizations.tsx";
import { operatorAuditRoutes } from "./operator/audit.ts";
import { planRoutes } from "../nouns/plans.tsx";
import { productRoutes } from "../nouns/products.tsx";
import { userRoutes } from "../nouns/users.tsx";
import { operatorTokenRoutes } from "../nouns/operator_tokens.tsx";
import { operatorUsageRoutes } from "./operator/usage.ts";
import { operatorUsageRecordRoutes } from "./operator/usage_records.ts";
import { statementRoutes } from "../nouns/statements.tsx";
import { organizationRoutes } from "./organization/organizations.ts";
import { passwordRoutes } from "./account/passwords.ts";
import { secondStepRoutes } from "./sign_in/second_step.ts";
import { twoStepRoutes } from "./sign_in/two_step.ts";
import { limitRoutes } from "./meter/limits.ts";
import { usageRoutes } from "./meter/usage.ts";
import { usageRecordRoutes } from "./meter/usage_records.ts";

/**
 * Mounts the JSON API.
 *
 * @param options `version`: of the program, for the OpenAPI document.
 */
export function apiRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts, options: { version: string }): void {
  authRoutes(app, parts);
  secondStepRoutes(app, parts);
  twoStepRoutes(app, parts);
  ownSessionRoutes(app, parts);
  passwordRoutes(app, parts);
  accountRoutes(app, parts);
  organizationRoutes(app, parts);
  memberRoutes(app, parts);
  invitationRoutes(app, parts);
  auditRoutes(app, parts);
  apiKeyRoutes(app, parts);
  usageRoutes(app, parts);
  eventRoutes(app, parts);
  limitRoutes(app, parts);
  usageRecordRoutes(app, parts);
  keyVerificationRoutes(app, parts);
  operatorOrganizationRoutes(app, parts);
  operatorMemberRoutes(app, parts);
  organizationNoteRoutes(app, parts);
  operatorApiKeyRoutes(app, parts);
  planRoutes(app, parts);
  productRoutes(app, parts);
  userRoutes(app, parts);
  operatorAuditRoutes(app, parts);
  operatorTokenRoutes(app, parts);
  operatorUsageRoutes(app, parts);
  operatorUsageRecordRoutes(app, parts);
  statementRoutes(app, parts);
  forwardRoutes(app, parts);
  openApiRoute(app, { baseUrl: parts.config.baseUrl.origin, version: options.version });
}
