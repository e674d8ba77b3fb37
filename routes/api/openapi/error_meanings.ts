// What each error means, for the OpenAPI document: when it comes and what a caller can do. A code that is missing here
// does not compile.
import {
  type ErrorCode,
  forbiddenError,
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

/** What a code means, and one message that comes with it. */
export interface ErrorMeaning {
  /** Sentences; code in backticks. */
  readonly when: string;
  readonly message: string;
}

/** By code. */
export const errorMeanings: Readonly<Record<ErrorCode, ErrorMeaning>> = {
  malformed_request: {
    when:
      `The body is not JSON, not UTF-8, broke off, or is nested deeper than ${jsonDepthMax} levels; or the \`Host\` header is not valid.`,
    message: "The body is not valid JSON.",
  },
  unauthenticated: {
    when: "Nobody is signed in: the session is missing or over.",
    message: unauthenticatedError().message,
  },
  invalid_credentials: {
    when: "The address, the password or the passkey is not right. Which of them is not told.",
    message: "The address or the password is not right.",
  },
  invalid_api_key: {
    when: "The key is missing, mistyped, unknown, revoked or expired: the same answer for each.",
    message: "Invalid or missing API key.",
  },
  invalid_code: { when: "The code is wrong or was used.", message: "This code is not right." },
  forbidden: {
    when: "The role does not allow it, or the person belongs to no organization.",
    message: forbiddenError().message,
  },
  cross_site: {
    when:
      "A write came from a page of another site, or could have: programs send `Content-Type: application/json`. Below " +
      "`/api/auth/` the message names an origin that is missing from `ALLOWED_ORIGINS`.",
    message: "This must be sent from the service itself. Open its address and try again.",
  },
  sign_up_closed: {
    when: "New accounts are not taken, or only with an invitation.",
    message: "New accounts are not taken here.",
  },
  proof_required: {
    when: `The last proof of who the person is is older than ${
      recentAuthenticationMs / 60_000
    } minutes. Give one with \`POST /api/portal/account/proof\`, then try again.`,
    message: recentAuthenticationError().message,
  },
  codes_locked: {
    when:
      `Codes of the authenticator app are not taken after ${totpWrongCodesMax} wrong ones in a row, until the ` +
      "password is new. Recovery codes and passkeys are.",
    message:
      "Too many wrong codes were entered. Use a recovery code or a passkey, or set a new password first.",
  },
  email_unverified: {
    when: "The account's address is not confirmed yet.",
    message: "Confirm your address first: open the link in the mail that we sent you.",
  },
  wrong_account: {
    when: "The link is for another account than the one that is signed in.",
    message: "This link is for another account. Sign in to that one first.",
  },
  not_found: {
    when: "There is nothing with this id, or it is somebody else's: the same answer for both.",
    message: notFoundError().message,
  },
  invalid_token: {
    when: "The link was used, was replaced by a newer one, or is too old.",
    message: invalidTokenError().message,
  },
  method_not_allowed: {
    when: "The address takes other methods: they are in the header `Allow`.",
    message: "This path supports only GET, HEAD.",
  },
  request_timeout: {
    when: `The body did not arrive within ${bodyReadTimeoutMs / 1000} seconds. The connection is closed.`,
    message: "The body did not arrive in time.",
  },
  email_taken: {
    when: "Another account has the address.",
    message: "There is an account with this address already. Sign in instead.",
  },
  key_limit_reached: {
    when: `The organization has ${activeApiKeysMax} active keys, as many as it may have.`,
    message: `An organization may have ${activeApiKeysMax} active keys. Revoke one first.`,
  },
  limit_reached: {
    when: "There are as many of these as there may be; the message says how many.",
    message: "There are too many of these. Remove one first.",
  },
  last_owner: {
    when: "An organization keeps at least one OWNER.",
    message: "An organization needs an owner. Make someone else an owner first.",
  },
  already_member: {
    when: "Somebody with the address is a member.",
    message: "Somebody with this address is a member already.",
  },
  already_invited: {
    when: "An invitation of the address is open. Send that one again instead.",
    message: "This address is invited already. Send the mail again instead.",
  },
  organization_switched: {
    when: "A form of the portal was about another organization than the one that is active by now.",
    message: "You have switched to Analytical Engines since this page was opened. Nothing was changed.",
  },
  two_step_state: {
    when:
      "Two-step sign-in is not in the state for this: on, off, over, or already used. The message says which.",
    message: "This sign-in took too long, or is over. Enter your password again.",
  },
  idempotency_conflict: {
    when: "The idempotency key was used for a record with other content. Nothing was recorded.",
    message: "This idempotency key was used before for a record with other content.",
  },
  body_too_large: {
    when: `The body is larger than ${usageBodyBytesMax / 1024 / 1024} MiB for recording usage, or ${
      bodyBytesMax / 1024
    } KiB elsewhere, ${anonymousBodyBytesMax / 1024} KiB without a session.`,
    message: `The body may have ${bodyBytesMax} bytes at most.`,
  },
  uri_too_long: {
    when: `The address has more than ${urlCharactersMax} characters or ${queryParametersMax} parameters.`,
    message: `The URL must have at most ${urlCharactersMax} characters.`,
  },
  unsupported_media_type: {
    when: "The body is not declared as what the route takes, not in UTF-8, or compressed.",
    message: "Send application/json in UTF-8.",
  },
  validation_failed: {
    when: "A field or parameter is missing, not known or not valid: `details` has a line for each.",
    message: "“name”: is required.",
  },
  range_too_long: {
    when: `The range has more than ${usageWindowsMax} windows, or too many sums for one answer.`,
    message: "Ask for a shorter range, larger windows or fewer groups.",
  },
  series_limit_reached: {
    when:
      `The organization has ${usageSeriesMax} series and the request would open another one. A series is a distinct ` +
      "combination of product, metric and API key. Nothing was recorded; records of existing series are still accepted.",
    message: seriesLimitError([]).message,
  },
  rate_limited: {
    when: "Too many requests, or too many failed ones. `Retry-After` has the seconds to wait.",
    message: "Too many attempts. Try again in 10 minutes.",
  },
  headers_too_large: {
    when: `The headers have more than ${headerCharactersMax} characters together.`,
    message: `The headers may have ${headerCharactersMax} characters at most.`,
  },
  internal: {
    when: "A fault of the service. It is logged under the request's id.",
    message: "Something went wrong on our side. The error has been logged.",
  },
  unavailable: {
    when: "The database or a queue cannot take the request now. Nothing was changed; try again.",
    message: "The database is temporarily unavailable. Try again shortly.",
  },
  mail_unavailable: {
    when: "The service has no mail server.",
    message: mailUnavailableError().message,
  },
};
