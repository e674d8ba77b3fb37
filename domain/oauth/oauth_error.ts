// Errors in the form of the OAuth and OpenID standards, for programs.

const statuses = {
  invalid_request: 400,
  invalid_client: 401,
  invalid_grant: 400,
  invalid_scope: 400,
  invalid_target: 400,
  invalid_token: 401,
  insufficient_scope: 403,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  unsupported_response_type: 400,
  access_denied: 400,
  login_required: 400,
  consent_required: 400,
  interaction_required: 400,
  request_not_supported: 400,
  request_uri_not_supported: 400,
  slow_down: 400,
  authorization_pending: 400,
  expired_token: 400,
  temporarily_unavailable: 503,
};

/** The message is the `error_description`, in ASCII without quotation marks (RFC 6749, section 5.2). */
export class OAuthError extends Error {
  override readonly name = "OAuthError";
  readonly status: number;

  constructor(readonly code: keyof typeof statuses, message: string) {
    super(message);
    this.status = statuses[code];
  }
}
