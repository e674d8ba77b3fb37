// The token endpoint and userinfo.
import { OAuthError } from "../../domain/oauth/oauth_error.ts";
import { requireParameter } from "../../domain/oauth/program_form.ts";
import {
  authenticateClient,
  exchangeCode,
  exchangeDeviceCode,
  readClientCredentials,
  readUserinfo,
  refreshTokens,
} from "../../services/oauth/mod.ts";
import type { App, AppContext, AppParts } from "../env.ts";
import { mountProgramEndpoint } from "./program_endpoint.ts";

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
      const grant = requireParameter(form, "grant_type");
      if (!isGrantType(grant)) {
        throw new OAuthError("unsupported_grant_type", "The grant type is not supported.");
      }
      if (!client.grants.includes(grant)) {
        throw new OAuthError("unauthorized_client", "The client may not use this grant type.");
      }
      return await exchanges[grant](services, client, form);
    },
  });

  const userinfo = (c: AppContext) => {
    const [, token = ""] = /^Bearer (\S+)$/i.exec(c.get("headers")["authorization"] ?? "") ?? [];
    return readUserinfo(services, token);
  };
  for (const method of ["GET", "POST"] as const) {
    mountProgramEndpoint(app, parts, { method, path: "/oauth/userinfo", handle: userinfo });
  }
}
