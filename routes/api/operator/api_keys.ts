// The operators' API of API keys.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { operatorAccess } from "../../../services/access.ts";
import { accessToApiKey, changeApiKey, listApiKeys, revokeApiKey } from "../../../services/api_keys.ts";
import { createApiKey } from "../../../services/new_api_keys.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import * as schemas from "../../schemas/api_keys.ts";
import { pageQuerySchema } from "../../schemas/common.ts";
import { organizationParamsSchema } from "../../schemas/operator_organizations.ts";
import { operatorRoutes } from "./operator_routes.ts";

const keysPath = "/api/operator/organizations/{id}/api-keys";
const keyPath = "/api/operator/api-keys/{id}";
const one = { 200: { description: "The key.", schema: schemas.apiKeyResponseSchema } };

/** Mounts `/api/operator/organizations/{id}/api-keys` and `/api/operator/api-keys/{id}`. */
export function operatorApiKeyRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts, { read: "keys:read", write: "keys:write" });

  route(
    {
      route: `GET ${keysPath}`,
      operationId: "operatorListApiKeys",
      summary: "List an organization's API keys",
      description: "Newest first, including inactive keys.",
      params: organizationParamsSchema,
      query: pageQuerySchema,
      responses: { 200: { description: "A page of keys.", schema: schemas.apiKeysSchema } },
    },
    async (_c, { params: { id }, query }, actor) =>
      await listApiKeys(services, await operatorAccess(services, actor, id), query),
  );

  route(
    {
      route: `POST ${keysPath}`,
      operationId: "operatorCreateApiKey",
      summary: "Create an API key for an organization",
      description: "It can have every permission, also `usage:void`.",
      params: organizationParamsSchema,
      body: schemas.createApiKeySchema,
      responses: {
        201: {
          description: "The new key. The full key appears only in this response.",
          schema: schemas.createdApiKeySchema,
        },
      },
      errors: ["key_limit_reached"],
    },
    async (_c, { params: { id }, body: { expiresAt = null, ...body } }, actor) =>
      await createApiKey(services, await operatorAccess(services, actor, id), { ...body, expiresAt }),
  );

  route({
    route: `PATCH ${keyPath}`,
    operationId: "operatorChangeApiKey",
    summary: "Change an API key of any organization",
    description:
      "What is left out stays as it is. Changes take effect immediately. `budget` replaces the whole budget.",
    params: schemas.apiKeyParamsSchema,
    body: schemas.changeApiKeySchema,
    responses: one,
  }, async (_c, { params: { id }, body }, actor) => ({
    apiKey: await changeApiKey(services, await accessToApiKey(services, actor, id), { id, ...body }),
  }));

  route({
    route: `DELETE ${keyPath}`,
    operationId: "operatorRevokeApiKey",
    summary: "Revoke any organization's API key",
    description: "Requests with the key fail immediately. Revoking a key again has no effect.",
    params: schemas.apiKeyParamsSchema,
    responses: one,
  }, async (_c, { params: { id } }, actor) => ({
    apiKey: await revokeApiKey(services, await accessToApiKey(services, actor, id), id),
  }));
}
