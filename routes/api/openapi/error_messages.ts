// An error message that the API sends for each code, as an example in the OpenAPI document.
import * as errors from "../../../domain/errors.ts";
import * as limits from "../../../domain/limits.ts";
import { webhooksOfOrganizationMax } from "../../../domain/webhooks/webhook_limits.ts";
import { required } from "../../schemas/messages.ts";

/** The detail of the example of `validation_failed`. */
export const missingName = { path: "name", message: required };

export const errorMessages: Readonly<Record<errors.ErrorCode, string>> = {
  malformed_request: "The body is not valid JSON.",
  unauthenticated: errors.unauthenticatedError().message,
  invalid_credentials: "Incorrect email or password.",
  invalid_api_key: errors.invalidApiKeyError().message,
  invalid_operator_token: errors.invalidOperatorTokenError().message,
  invalid_code: "This code is incorrect or was already used. Your app shows a new one every 30 seconds.",
  forbidden: errors.forbiddenError().message,
  cross_site: "This must be sent from https://auth.example.com itself. Open that address and try again.",
  sign_up_closed: "Sign-up is closed. Ask the people who run this service for an account.",
  proof_required: errors.recentAuthenticationError().message,
  codes_locked:
    "Too many wrong codes were entered. Use a recovery code or a passkey, or reset your password.",
  second_factor_required: errors.secondFactorRequiredError().message,
  scope_missing: errors.scopeMissingError("usage:read").message,
  permission_missing: errors.permissionMissingError("usage:write").message,
  organization_suspended: errors.organizationSuspendedError().message,
  email_unverified: "Confirm your email address first: open the link we sent you.",
  wrong_account: "This link is for another account. Sign in to that account first.",
  not_found: errors.notFoundError().message,
  invalid_token: errors.invalidTokenError().message,
  method_not_allowed: "This path supports only GET, HEAD, POST.",
  request_timeout: "The body did not arrive in time.",
  email_taken: "An account with this email address already exists. Sign in instead.",
  key_limit_reached: errors.apiKeyLimitError(limits.activeApiKeysMax).message,
  limit_reached: `You can belong to at most ${limits.membershipsPerUserMax} organizations. Leave one first.`,
  last_owner: "An organization needs an owner. Make someone else an owner first.",
  already_member: "A member already has this email address.",
  already_invited: "This address is already invited. Send the invitation again.",
  organization_switched: "You have switched to Acme since you opened this page. Nothing was changed.",
  two_step_state: "Two-step sign-in is off.",
  idempotency_conflict: "This idempotency key was used before for a record with different content.",
  external_id_taken: "Another organization has this external id.",
  product_taken: "There is already a product with this slug.",
  plan_taken: "There is already a plan with this name.",
  plan_in_use: "12 organizations have this plan. Give them another one first.",
  month_not_ended: "2026-10 has not ended yet in UTC.",
  statement_out_of_order: "The next month to close is 2026-09.",
  statement_not_closed: "The statement of 2026-10 is being closed. Try again when its status is closed.",
  body_too_large: `The body must have at most ${limits.bodyBytesMax} bytes.`,
  uri_too_long: `The URL must have at most ${limits.urlCharactersMax} characters.`,
  unsupported_media_type: "Send application/json in UTF-8.",
  validation_failed: errors.validationError([missingName]).message,
  range_too_long: `Request at most ${limits.usageWindowsMax} windows per query.`,
  webhook_limit_reached: errors.webhookLimitError(webhooksOfOrganizationMax).message,
  webhook_disabled: errors.webhookDisabledError().message,
  webhook_address_blocked: errors.webhookAddressError().message,
  series_limit_reached: errors.seriesLimitError([], limits.usageSeriesMax).message,
  rate_limited: "Too many attempts. Try again in 1 minute.",
  limit_exceeded: errors.limitExceededError([], 0).message,
  headers_too_large: `The headers must have at most ${limits.headerCharactersMax} characters.`,
  internal: "Something went wrong on our side. The error has been logged.",
  unavailable: "The database is temporarily unavailable. Try again shortly.",
  mail_unavailable: errors.mailUnavailableError().message,
};
