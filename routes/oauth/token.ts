// The token endpoint and userinfo.
import { claimsOf } from "../../domain/oauth/claims.ts";
import { OAuthError } from "../../domain/oauth/oauth_error.ts";
import {
  authenticateClient,
  exchangeCode,
  exchangeDeviceCode,
  findAccessToken,
  findClientOfToken,
  readClientCredentials,
  refreshTokens,
} from "../../services/oauth/mod.ts";
import type { App, AppContext, AppParts } from "../env.ts";
import { type Form, mountProgramEndpoint } from "./program_endpoint.ts";

const exchanges = {
  authorization_code: exchangeCode,
  refresh_token: refreshTokens,
  "urn:ietf:params:oauth:grant-type:device_code": exchangeDeviceCode,
} as const;
type GrantType = keyof typeof exchanges;
const isGrantType = (text: string): text is GrantType => Object.hasOwn(exchanges, text);

export function tokenRoutes(app: App, parts: AppParts): void {
  const { services } = parts;

  mountProgramEndpoint(app, parts, {
    method: "POST",
    path: "/oauth/token",
    async handle(c, form) {
      const credentials = readClientCredentials(c.get("headers")["authorization"], form);
      const client = await authenticateClient(services, credentials, c.get("client"));
      const grant = form.get("grant_type");
      if (grant === undefined) {
        throw new OAuthError("invalid_request", "The parameter grant_type is missing.");
      }
      if (!isGrantType(grant)) {
        throw new OAuthError("unsupported_grant_type", "The grant type is not supported.");
      }
      if (!client.grants.includes(grant)) {
        throw new OAuthError("unauthorized_client", "The client may not use this grant type.");
      }
      return await exchanges[grant](services, client, form);
    },
  });

  const userinfo = async (c: AppContext, _form: Form) => {
    const [, token = ""] = /^Bearer (\S+)$/i.exec(c.get("headers")["authorization"] ?? "") ?? [];
    const found = await findAccessToken(services, token);
    // Tokens for resources are theirs alone.
    if (found === undefined || found.resource !== null) {
      throw new OAuthError("invalid_token", "The access token is invalid, or the access has ended.");
    }
    if (!found.scopes.includes("openid")) {
      throw new OAuthError("insufficient_scope", "The scope openid is missing.");
    }
    const { access, groupNames } = await findClientOfToken(services, found);
    return claimsOf(found, { scopes: found.scopes, access, groupNames });
  };
  for (const method of ["GET", "POST"] as const) {
    mountProgramEndpoint(app, parts, { method, path: "/oauth/userinfo", handle: userinfo });
  }
}
