// Introspection (RFC 7662) and revocation (RFC 7009).
import { AppError } from "../../domain/errors.ts";
import { OAuthError } from "../../domain/oauth/oauth_error.ts";
import { type Form, requireParameter } from "../../domain/oauth/program_form.ts";
import {
  authenticateClient,
  introspectForOperator,
  introspectToken,
  readClientCredentials,
  revokeClientToken,
} from "../../services/oauth/mod.ts";
import { bearerTokenHash, limitRejected } from "../api/bearer.ts";
import type { App, AppContext, AppParts } from "../env.ts";
import { mountProgramEndpoint } from "./program_endpoint.ts";

export function tokenStatusRoutes(app: App, parts: AppParts): void {
  const { services } = parts;

  mountProgramEndpoint(app, parts, {
    method: "POST",
    path: "/oauth/introspect",
    async handle(c, form) {
      const authorization = c.get("headers")["authorization"];
      if (/^bearer /i.test(authorization ?? "")) return await asOperator(c, parts, form);
      const { id, secretHash } = readClientCredentials(authorization, form);
      const given = { id, secretHash, client: c.get("client") };
      return await introspectToken(services, given, requireParameter(form, "token"));
    },
  });

  mountProgramEndpoint(app, parts, {
    method: "POST",
    path: "/oauth/revoke",
    async handle(c, form) {
      const credentials = readClientCredentials(c.get("headers")["authorization"], form);
      const { id } = await authenticateClient(services, credentials, c.get("client"));
      await revokeClientToken(services, id, requireParameter(form, "token"));
      return {};
    },
  });
}

async function asOperator(c: AppContext, { services }: AppParts, form: Form): Promise<object> {
  try {
    const tokenHash = bearerTokenHash(c.get("headers")["authorization"]);
    return await introspectForOperator(
      services,
      { tokenHash, client: c.get("client") },
      requireParameter(form, "token"),
    );
  } catch (error) {
    if (!(error instanceof AppError) || error.status >= 500) throw error;
    if (error.code === "scope_missing") {
      throw new OAuthError("insufficient_scope", "The operator token lacks the scope.");
    }
    limitRejected(services, c, error, "operator tokens");
    throw new OAuthError("invalid_token", "The operator token is invalid.");
  }
}
