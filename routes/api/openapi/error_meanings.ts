// When each error occurs, for the OpenAPI document. A missing code doesn't compile.
import type { ErrorCode } from "../../../domain/errors.ts";
import * as limits from "../../../domain/limits.ts";

/** Sentences, with code in backticks. */
export const errorMeanings: Readonly<Record<ErrorCode, string>> = {
  malformed_request:
    `The body is not valid JSON or UTF-8, is incomplete, or has more than ${limits.jsonDepthMax} levels of nesting, or the ` +
    "`Host` header is invalid.",
  unauthenticated: "There is no session, or it has ended.",
  invalid_credentials:
    "The email address, the password or the passkey is incorrect. The response doesn't say which one it is.",
  invalid_api_key:
    "The API key is missing, malformed, unknown, revoked or expired. The response doesn't say which.",
  invalid_operator_token:
    "The operator token is missing, malformed, unknown, revoked, expired, or not allowed from this address. The response doesn't " +
    "say which.",
  invalid_code: "The code is incorrect or has already been used.",
  forbidden:
    "The user's role lacks the permission, they don't belong to an organization, or only operators can do this. The message says " +
    "which.",
  cross_site:
    "A page of another site sent the request, or could have. Programs must send `Content-Type: application/json`. " +
    "Below `/api/auth/`, the message names an origin that is missing from `ALLOWED_ORIGINS`.",
  sign_up_closed: "Sign-up is closed, or only open with an invitation.",
  sso_required:
    "The organization that has the domain of the email address requires its own provider. The message says where to sign in. It " +
    "doesn't show whether there is an account.",
  proof_required:
    `The user last authenticated more than ${
      limits.recentAuthenticationMs / 60_000
    } minutes ago. Send their password to \`POST /api/portal/account/proof\`, use a passkey, or open \`/portal/confirm-password\` ` +
    "in their browser, where they can also confirm with their provider. Then try again.",
  codes_locked:
    `After ${limits.totpWrongCodesMax} incorrect codes in a row, codes from the authenticator app are rejected until the password ` +
    "is changed or reset. Recovery codes and passkeys still work.",
  second_factor_required:
    "The operator has not used a passkey or a code in this session in the last 12 hours.",
  scope_missing: "The operator token lacks the scope that the message names.",
  permission_missing: "The API key lacks the permission that the message names.",
  invalid_signature:
    "The signature is missing, doesn't match the body, or was made with a key that GitHub doesn't list.",
  organization_suspended:
    "The organization is suspended: its keys don't work, and its members can't change anything in it.",
  email_unverified: "The account's email address is not confirmed.",
  wrong_account: "The link is for an account other than the signed-in one.",
  provider_rejected:
    "Signing in with a provider failed: its response was invalid, or the account may not sign in with it. Only pages respond with it.",
  not_found: "No object has this id, or you don't have access to it. The response is the same for both.",
  invalid_token: "The emailed link has expired, was already used, or was replaced by a newer one.",
  method_not_allowed: "The path doesn't support the method. The header `Allow` lists those it supports.",
  request_timeout: `The body didn't arrive within ${
    limits.bodyReadTimeoutMs / 1000
  } seconds. The connection is closed.`,
  email_taken: "Another account uses the email address.",
  key_limit_reached:
    "The organization has as many active API keys as it may. The message says how many that is.",
  key_disabled: "The API key is disabled. Enable it first.",
  limit_reached:
    "The maximum number of these objects has been reached. The message says how many are allowed.",
  webhook_limit_reached:
    "There are as many webhook endpoints as there may be. The message says how many that is.",
  webhook_disabled: "The webhook endpoint is disabled. Enable it first.",
  last_owner: "The change would leave the organization without an owner.",
  last_sign_in_method:
    "Without it, the account couldn't sign in anymore: it has no password, no passkey, and no other provider.",
  identity_taken: "The account at the provider is connected to another account here.",
  identity_not_linked:
    "An account with this email address exists, and the provider can't prove that it is the same person's. Only pages respond with it.",
  already_member: "The person is already a member of the organization.",
  already_invited: "The email address has a pending invitation, which you can resend.",
  organization_switched: "The active organization has changed since the page of the portal was opened.",
  two_step_state:
    "Two-step sign-in is already on, or is off, or the pending sign-in has expired. The message says which.",
  hold_of_operator: "An operator made the hold. Only operators can end or extend it.",
  key_inactive: "The API key that the hold is for was revoked or has expired.",
  hold_ended:
    "The hold was settled, released or recorded, or it has expired. `details` has its status and the ids of its usage records.",
  hold_too_long: "The hold would last longer than 24 hours.",
  hold_limit_reached: "The organization has as many active holds as it can have.",
  idempotency_conflict:
    "The idempotency key was used for a record with different content. Nothing was recorded.",
  external_id_taken: "Another organization has the external id.",
  provider_taken: "There is already a provider with this slug.",
  resource_taken: "Another resource has this URI.",
  secrets_key_missing: "The first application needs the setting `SECRETS_KEY`.",
  product_taken: "The catalogue already has a product with this slug.",
  plan_taken: "Another plan has this name.",
  sso_untested: "The provider wasn't tested since its issuer, client ID or client secret changed.",
  domain_taken: "Another organization has verified the domain, and its TXT record is still there.",
  domain_unproved: "There is no TXT record with the text that proves the domain.",
  plan_in_use: "The plan is the default one, or organizations have it.",
  month_not_ended: "The month has not ended yet.",
  statement_out_of_order: "Another month must be closed first. The message names it.",
  statement_not_closed: "The statement is still being closed. Try again later.",
  body_too_large: `The body exceeds ${limits.usageBodyBytesMax / 1024 / 1024} MiB when recording usage, ${
    limits.bodyBytesMax / 1024
  } KiB otherwise, or ${limits.anonymousBodyBytesMax / 1024} KiB without a session.`,
  uri_too_long:
    `The URL has more than ${limits.urlCharactersMax} characters or ${limits.queryParametersMax} parameters.`,
  unsupported_media_type: "The body has an unsupported `Content-Type`, is not UTF-8, or is compressed.",
  validation_failed: "A field or parameter is missing, unknown or invalid. `details` has an entry for each.",
  aggregation_fixed: "A closed month has usage of the metric, so it must be counted as before.",
  dimension_incomplete:
    "Prices by value need a dimension that has all usage of the months that aren't closed.",
  dimension_priced: "The metric has prices by value, so its dimension and aggregation can't change.",
  amount_unknown:
    "A metric has prices by the values of other properties than those that the query groups or filters by.",
  dimension_unknown: "Usage isn't summed by these properties. The message names the dimensions that exist.",
  range_too_long:
    `The range has more than ${limits.usageWindowsMax} windows, or the response would have too many rows.`,
  limit_per_value: "The limit is per value. Grants don't raise such limits.",
  event_unmapped: "No mapping is for events of this type.",
  subject_unknown:
    "The event's subject is no organization, no API key and not assigned. The event is kept until it is assigned.",
  nothing_to_record: "The event has none of the values that its mapping counts.",
  mapping_taken: "Another mapping is for events of this type from this source.",
  series_limit_reached:
    "The organization has as many series (combinations of product, metric and API key) as it may, and the request would add " +
    "another. Nothing was recorded. Usage of existing series is still accepted.",
  webhook_address_blocked:
    "The URL leads to no public address: its host name wasn't found or has a private address, or it isn't an https URL.",
  rate_limited: "Too many requests, or too many failed ones. `Retry-After` says how many seconds to wait.",
  limit_exceeded:
    "The usage doesn't fit into a hard limit, or nothing is left of a cutoff limit. Nothing was recorded, and the idempotency key can be used again. `details` has the " +
    "limits; `Retry-After` says when their windows end.",
  headers_too_large: `The headers have more than ${limits.headerCharactersMax} characters in total.`,
  internal: "An error of the service. It is logged with the request's id.",
  provider_unavailable: "The provider doesn't respond, or not as it should. Only pages respond with it.",
  unavailable: "The service is temporarily unable to handle the request. Nothing was changed. Try again.",
  mail_unavailable: "The service has no email server configured.",
};
