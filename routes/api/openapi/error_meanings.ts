// When each error occurs and what its message is like, for the OpenAPI document. A missing code doesn't compile.
import {
  type ErrorCode,
  forbiddenError,
  invalidApiKeyError,
  invalidTokenError,
  mailUnavailableError,
  notFoundError,
  recentAuthenticationError,
  seriesLimitError,
  unauthenticatedError,
} from "../../../domain/errors.ts";
import {
  activeApiKeysMax,
  anonymousBodyBytesMax,
  bodyBytesMax,
  bodyReadTimeoutMs,
  headerCharactersMax,
  jsonDepthMax,
  queryParametersMax,
  recentAuthenticationMs,
  totpWrongCodesMax,
  urlCharactersMax,
  usageBodyBytesMax,
  usageSeriesMax,
  usageWindowsMax,
} from "../../../domain/limits.ts";

/** The meaning of an error code. */
export interface ErrorMeaning {
  /** Sentences, with code in backticks. */
  readonly when: string;
  /** An example. */
  readonly message: string;
}

export const errorMeanings: Readonly<Record<ErrorCode, ErrorMeaning>> = {
  malformed_request: {
    when:
      `The body is not valid JSON or UTF-8, is incomplete, or has more than ${jsonDepthMax} levels of nesting, or the ` +
      "`Host` header is invalid.",
    message: "The body is not valid JSON.",
  },
  unauthenticated: {
    when: "There is no session, or it has ended.",
    message: unauthenticatedError().message,
  },
  invalid_credentials: {
    when:
      "The email address, the password or the passkey is incorrect. The response doesn't say which one it is.",
    message: "Incorrect email or password.",
  },
  invalid_api_key: {
    when: "The API key is missing, malformed, unknown, revoked or expired. The response doesn't say which.",
    message: invalidApiKeyError().message,
  },
  invalid_code: {
    when: "The code is incorrect or has already been used.",
    message: "Incorrect code. Try again.",
  },
  forbidden: {
    when: "The user's role lacks the permission, or they don't belong to an organization.",
    message: forbiddenError().message,
  },
  cross_site: {
    when:
      "A page of another site sent a request that changes something, or could have: send `Content-Type: application/json`. " +
      "Below `/api/auth/`, the message names an origin that is missing from `ALLOWED_ORIGINS`.",
    message: "Requests from other sites are not allowed.",
  },
  sign_up_closed: {
    when: "Sign-up is closed, or only open with an invitation.",
    message: "Sign-up is closed.",
  },
  proof_required: {
    when: `The user last authenticated more than ${
      recentAuthenticationMs / 60_000
    } minutes ago. Send their password to \`POST /api/portal/account/proof\`, then try again.`,
    message: recentAuthenticationError().message,
  },
  codes_locked: {
    when:
      `After ${totpWrongCodesMax} incorrect codes in a row, codes of the authenticator app are rejected until the password ` +
      "is reset. Recovery codes and passkeys still work.",
    message: "Too many incorrect codes. Use a recovery code or a passkey, or reset your password.",
  },
  email_unverified: {
    when: "The account's email address is not confirmed.",
    message: "Confirm your email address first. Open the link in the email we sent you.",
  },
  wrong_account: {
    when: "The link belongs to another account than the signed-in one.",
    message: "This link belongs to another account. Sign in to that account first.",
  },
  not_found: {
    when: "No object has this id, or you don't have access to it. The response is the same for both.",
    message: notFoundError().message,
  },
  invalid_token: {
    when: "The emailed link has expired, was already used, or was replaced by a newer one.",
    message: invalidTokenError().message,
  },
  method_not_allowed: {
    when: "The path doesn't support the method. The header `Allow` lists those it supports.",
    message: "This path supports only GET, HEAD.",
  },
  request_timeout: {
    when: `The body didn't arrive within ${bodyReadTimeoutMs / 1000} seconds. The connection is closed.`,
    message: "The body did not arrive in time.",
  },
  email_taken: {
    when: "Another account uses the email address.",
    message: "An account with this email address already exists. Sign in instead.",
  },
  key_limit_reached: {
    when: `The organization has the maximum of ${activeApiKeysMax} active API keys.`,
    message: `An organization can have at most ${activeApiKeysMax} active keys. Revoke one first.`,
  },
  limit_reached: {
    when: "The maximum number of these objects has been reached. The message says how many are allowed.",
    message: "You have reached the limit of 20 organizations.",
  },
  last_owner: {
    when: "The change would leave the organization without an OWNER.",
    message: "An organization needs an owner. Make someone else an owner first.",
  },
  already_member: {
    when: "The person is already a member of the organization.",
    message: "This person is already a member.",
  },
  already_invited: {
    when: "The email address has a pending invitation, which you can resend.",
    message: "This email address has already been invited. Resend the invitation instead.",
  },
  organization_switched: {
    when: "The active organization changed after a page of the portal was opened.",
    message: "You have switched to Analytical Engines since you opened this page. Nothing was changed.",
  },
  two_step_state: {
    when:
      "The state of two-step sign-in doesn't allow this: it is on or off, or the sign-in has expired. The message says which.",
    message: "This sign-in has expired. Enter your password again.",
  },
  idempotency_conflict: {
    when: "The idempotency key was used for a record with different content. Nothing was recorded.",
    message: "This idempotency key was already used for a record with different content.",
  },
  body_too_large: {
    when: `The body exceeds ${usageBodyBytesMax / 1024 / 1024} MiB when recording usage, ${
      bodyBytesMax / 1024
    } KiB otherwise, or ${anonymousBodyBytesMax / 1024} KiB without a session.`,
    message: `The body must have at most ${bodyBytesMax} bytes.`,
  },
  uri_too_long: {
    when: `The URL has more than ${urlCharactersMax} characters or ${queryParametersMax} parameters.`,
    message: `The URL must have at most ${urlCharactersMax} characters.`,
  },
  unsupported_media_type: {
    when: "The body has an unsupported `Content-Type`, is not UTF-8, or is compressed.",
    message: "Send application/json in UTF-8.",
  },
  validation_failed: {
    when: "A field or parameter is missing, unknown or invalid. `details` has an entry for each.",
    message: "“name”: is required.",
  },
  range_too_long: {
    when: `The range has more than ${usageWindowsMax} windows, or the response would have too many rows.`,
    message: "Ask for a shorter range, larger windows or fewer groups.",
  },
  series_limit_reached: {
    when:
      `The organization has the maximum of ${usageSeriesMax} series (combinations of product, metric and API key), and the ` +
      "request would add another. Nothing was recorded. Usage of existing series is still accepted.",
    message: seriesLimitError([]).message,
  },
  rate_limited: {
    when: "Too many requests, or too many failed ones. `Retry-After` says how many seconds to wait.",
    message: "Too many attempts. Try again in 10 minutes.",
  },
  headers_too_large: {
    when: `The headers have more than ${headerCharactersMax} characters in total.`,
    message: `The headers must have at most ${headerCharactersMax} characters.`,
  },
  internal: {
    when: "An error of the service. It is logged with the request's id.",
    message: "Something went wrong on our side. The error has been logged.",
  },
  unavailable: {
    when: "The service is temporarily unable to handle the request. Nothing was changed. Try again.",
    message: "The database is temporarily unavailable. Try again shortly.",
  },
  mail_unavailable: {
    when: "The service has no email server configured.",
    message: mailUnavailableError().message,
  },
};
