// Errors in the form of the OAuth and OpenID standards, for programs.

export type OAuthErrorCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "invalid_scope"
  | "invalid_target"
  | "invalid_token"
  | "insufficient_scope"
  | "unauthorized_client"
  | "unsupported_grant_type"
  | "unsupported_response_type"
  | "access_denied"
  | "login_required"
  | "consent_required"
  | "interaction_required"
  | "request_not_supported"
  | "request_uri_not_supported"
  | "slow_down"
  | "authorization_pending"
  | "expired_token"
  | "temporarily_unavailable";

const statuses: Partial<Record<OAuthErrorCode, number>> = {
  invalid_client: 401,
  invalid_token: 401,
  insufficient_scope: 403,
  temporarily_unavailable: 503,
};

/** The message is the `error_description`, in ASCII without quotation marks (RFC 6749, section 5.2). */
export class OAuthError extends Error {
  override readonly name = "OAuthError";
  readonly status: number;

  constructor(readonly code: OAuthErrorCode, message: string) {
    super(message);
    this.status = statuses[code] ?? 400;
  }
}
