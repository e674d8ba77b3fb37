// The API of a person's own identities at providers. Other origins can read them, but not change them.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { validationError } from "../../../domain/errors.ts";
import { safeReturnTo } from "../../../domain/people/return_to.ts";
import { beginLink, getSignInMethods, unlinkIdentity } from "../../../services/people/mod.ts";
import { providerVisitTokens, setProviderVisitCookie } from "../../cookies.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import * as schemas from "../../schemas/identities.ts";
import { sessionRoutes } from "../endpoint.ts";

const path = "/api/auth/identities";
const recent = "Requires authentication within the last 10 minutes.";

export function identityRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { config, services } = parts;
  const route = sessionRoutes(app, parts, { tag: "Sign-in" });

  route({
    route: `GET ${path}`,
    operationId: "listIdentities",
    summary: "List the providers that you sign in with",
    responses: { 200: { description: "Your identities at providers.", schema: schemas.identitiesSchema } },
  }, async (_c, _input, actor) => {
    const { identities, hasPassword } = await getSignInMethods(services, actor);
    return { identities, hasPassword };
  });

  route({
    route: `POST ${path}`,
    operationId: "linkIdentity",
    summary: "Start connecting a provider",
    description:
      `${recent} Open the returned address in the same browser, within 10 minutes: the response sets a cookie ` +
      "without which coming back connects nothing. Only this session can complete it. Requests from other origins are rejected.",
    body: schemas.linkIdentitySchema,
    responses: { 200: { description: "The address to open.", schema: schemas.providerVisitSchema } },
    errors: ["proof_required", "rate_limited", "provider_unavailable"],
  }, async (c, { body: { provider, returnTo = "/portal/account/security?done=connected" } }, actor) => {
    const target = safeReturnTo(returnTo, {
      base: config.baseUrl,
      isAllowedOrigin: (origin) => config.allowedOrigins.some((allowed) => allowed.matches(origin)),
    });
    if (target === null) {
      const message = "must be a path of this service or a URL of an allowed origin.";
      throw validationError([{ path: "returnTo", message }]);
    }
    const { url, browserToken } = await beginLink(services, actor, {
      provider,
      returnTo: target,
      browserTokens: providerVisitTokens(c.get("headers")["cookie"], config),
    });
    setProviderVisitCookie(c, config, browserToken);
    return { url: url.href };
  });

  route({
    route: `DELETE ${path}/{id}`,
    operationId: "unlinkIdentity",
    summary: "Disconnect a provider",
    description: `${recent} It can no longer be used to sign in. Existing sessions stay.`,
    params: schemas.identityParamsSchema,
    responses: { 204: { description: "Disconnected." } },
    errors: ["proof_required", "last_sign_in_method"],
  }, (_c, { params }, actor) => unlinkIdentity(services, actor, params.id));
}
