// Verification of API keys for the services that receive them.
import type { OpenAPIHono, z } from "@hono/zod-openapi";
import { AppError } from "../../../domain/errors.ts";
import { sortedPermissions } from "../../../domain/keys/key_permissions.ts";
import { type UsageQuestion, verifyApiKey } from "../../../services/meter/mod.ts";
import { requireOperatorToken } from "../../../services/access/mod.ts";
import type { AppContext, AppEnv, AppParts } from "../../env.ts";
import * as schemas from "../../schemas/key_verification.ts";
import { bearerTokenHash, limitInvalidToken } from "../bearer.ts";
import { mount } from "../endpoint.ts";

const scope = "keys:verify";

export function keyVerificationRoutes(app: OpenAPIHono<AppEnv>, { services }: AppParts): void {
  mount(app, {
    route: "POST /api/v1/keys/verify",
    tag: "API keys",
    operationId: "verifyApiKey",
    summary: "Verify a customer's API key",
    description:
      "For a service that receives requests with your customers' keys. Nothing is cached: the response to the next request " +
      "shows a revoked key, a suspended organization or changed permissions. Every well-formed request gets a 200 response. " +
      `It counts against the key's requests per second, and as a use of a key that works, also if it denies.\n\nTokens need the scope \`${scope}\`.`,
    errors: ["idempotency_conflict", "series_limit_reached"],
    security: "operatorToken",
    body: schemas.verifyKeySchema,
    responses: { 200: { description: "Whether the key works.", schema: schemas.keyVerificationSchema } },
  }, {
    // The token is read together with the key.
    authenticate: (c) => bearerTokenHash(c.get("headers")["authorization"]),
    onError: async (c, error) => limitInvalidToken(services, c, await tokenError(c, error)),
    handle: (c, { body: { key, permissions = [], features = [], usage }, bytes }, tokenHash) =>
      verifyApiKey(services, { tokenHash, client: c.get("client") }, {
        key,
        permissions: sortedPermissions(permissions),
        features: sortedPermissions(features),
        bytes,
        usage: usage === undefined ? null : usageQuestion(usage),
      }),
  });

  /** Returns the error of the token, so that callers without a working one learn nothing about the question. */
  async function tokenError(c: AppContext, error: unknown): Promise<unknown> {
    if (!(error instanceof AppError) || error.code === "invalid_operator_token") return error;
    try {
      const tokenHash = bearerTokenHash(c.get("headers")["authorization"]);
      await requireOperatorToken(services, { tokenHash, scope, client: c.get("client") });
      return error;
    } catch (tokenError) {
      return tokenError;
    }
  }
}

function usageQuestion(
  { quantity = { whole: 1, micro: 0 }, idempotencyKey = null, properties = null, record = false, ...series }:
    NonNullable<z.output<typeof schemas.verifyKeySchema>["usage"]>,
): UsageQuestion {
  return { ...series, quantity, idempotencyKey, properties, record };
}
