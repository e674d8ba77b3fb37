// The documents with which applications find the provider's endpoints and keys.
import { clientGrants } from "../../domain/oauth/client.ts";
import { assertionAlgorithms } from "../../domain/oauth/client_document.ts";
import { signInScopes } from "../../domain/oauth/scope_names.ts";
import type { App, AppParts } from "../env.ts";
import { mountProgramEndpoint } from "./program_endpoint.ts";

const cache = "public, max-age=3600";

export function discoveryRoutes(app: App, parts: AppParts): void {
  const document = metadata(parts.config);
  for (const name of ["openid-configuration", "oauth-authorization-server"]) {
    mountProgramEndpoint(app, parts, {
      method: "GET",
      path: `/.well-known/${name}`,
      cache,
      handle: () => document,
    });
  }
  mountProgramEndpoint(app, parts, {
    method: "GET",
    path: "/oauth/jwks",
    cache,
    handle: () => parts.services.signingKeys.publicKeys(),
  });
}

/** OpenID Connect Discovery 1.0 and RFC 8414. */
function metadata({ baseUrl: { origin: issuer }, oauthClientHosts }: AppParts["config"]) {
  const withDocuments = oauthClientHosts.length > 0;
  const authentication = [
    "client_secret_basic",
    "client_secret_post",
    "none",
    ...withDocuments ? ["private_key_jwt"] : [],
  ];
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    userinfo_endpoint: `${issuer}/oauth/userinfo`,
    introspection_endpoint: `${issuer}/oauth/introspect`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    device_authorization_endpoint: `${issuer}/oauth/device`,
    end_session_endpoint: `${issuer}/oauth/logout`,
    jwks_uri: `${issuer}/oauth/jwks`,
    scopes_supported: signInScopes,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: clientGrants,
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256", "ES256"],
    token_endpoint_auth_methods_supported: authentication,
    ...(withDocuments
      ? {
        token_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
        revocation_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
        client_id_metadata_document_supported: true,
      }
      : {}),
    introspection_endpoint_auth_methods_supported: authentication.slice(0, 2),
    revocation_endpoint_auth_methods_supported: authentication,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    code_challenge_methods_supported: ["S256"],
    prompt_values_supported: ["none", "login", "consent", "select_account"],
    claims_supported: [
      "sub",
      "iss",
      "aud",
      "exp",
      "iat",
      "sid",
      "auth_time",
      "amr",
      "nonce",
      "name",
      "organization",
      "email",
      "email_verified",
      "groups",
    ],
    authorization_response_iss_parameter_supported: true,
    claims_parameter_supported: false,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
  };
}
