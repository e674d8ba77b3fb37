// The API of API keys.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { activeAccess } from "../../services/access.ts";
import { changeApiKey, listApiKeys, revokeApiKey } from "../../services/api_keys.ts";
import { createApiKey, rotateApiKey } from "../../services/new_api_keys.ts";
import type { AppEnv, AppParts } from "../env.ts";
import * as schemas from "../schemas/api_keys.ts";
import { pageQuerySchema } from "../schemas/common.ts";
import { sessionRoutes } from "./endpoint.ts";

const path = "/api/portal/api-keys";
const params = schemas.apiKeyParamsSchema;
const one = { 200: { description: "The key.", schema: schemas.apiKeyResponseSchema } };
const created = {
  201: {
    description: "The new key. The full key appears only in this response.",
    schema: schemas.createdApiKeySchema,
  },
};

/** Mounts `/api/portal/api-keys`. */
export function apiKeyRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = sessionRoutes(app, parts, { tag: "API keys", errors: ["forbidden"] });

  route(
    {
      route: `POST ${path}`,
      operationId: "createApiKey",
      summary: "Create a key",
      body: schemas.createApiKeySchema,
      responses: created,
      errors: ["forbidden", "key_limit_reached"],
    },
    (_c, { body: { expiresAt = null, ...body } }, actor) =>
      createApiKey(services, activeAccess(actor), { ...body, expiresAt }),
  );

  route({
    route: `GET ${path}`,
    operationId: "listApiKeys",
    summary: "List keys",
    description:
      "Newest first, including inactive keys. Members see their own keys; admins and owners see all.",
    query: pageQuerySchema,
    responses: {
      200: {
        description: "A page of keys.",
        schema: schemas.apiKeysSchema,
      },
    },
  }, (_c, { query }, actor) => listApiKeys(services, activeAccess(actor), query));

  route({
    route: `PATCH ${path}/{id}`,
    operationId: "changeApiKey",
    summary: "Change a key's name, permissions, expiry or budget",
    description:
      "What is left out stays as it is. Changes take effect immediately. Only owners and admins set `budget`, which replaces the whole budget. No limit in it can be above a limit of the organization that counts the same usage in the same window or a longer one.",
    params,
    body: schemas.changeApiKeySchema,
    responses: one,
  }, async (_c, { params: { id }, body }, actor) => ({
    apiKey: await changeApiKey(services, activeAccess(actor), { id, ...body }),
  }));

  route({
    route: `DELETE ${path}/{id}`,
    operationId: "revokeApiKey",
    summary: "Revoke a key",
    description: "Requests with the key fail immediately. Revoking a key again has no effect.",
    params,
    responses: one,
  }, async (_c, { params: { id } }, actor) => ({
    apiKey: await revokeApiKey(services, activeAccess(actor), id),
  }));

  route({
    route: `POST ${path}/{id}/rotate`,
    operationId: "rotateApiKey",
    summary: "Rotate a key",
    description:
      "Creates a new key with the same name, permissions, budget and expiry. The old key keeps working for 24 hours, or until " +
      "`expireOldAt`; both count as active keys until then. To revoke it immediately, set `expireOldAt` to `now`.",
    params,
    body: schemas.rotateApiKeySchema,
    bodyOptional: true,
    responses: created,
    errors: ["forbidden", "key_limit_reached"],
  }, (_c, { params: { id }, body: { expireOldAt } }, actor) => {
    return rotateApiKey(services, activeAccess(actor), { id, expireOldAt: expireOldAt ?? undefined });
  });
}
