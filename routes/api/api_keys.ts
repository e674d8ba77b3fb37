// The API of API keys.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import {
  createApiKey,
  listApiKeys,
  renameApiKey,
  revokeApiKey,
  rotateApiKey,
} from "../../services/api_keys.ts";
import type { AppEnv, AppParts } from "../env.ts";
import {
  apiKeySchema,
  createApiKeySchema,
  createdApiKeySchema,
  renameApiKeySchema,
  rotateApiKeySchema,
} from "../schemas/api_keys.ts";
import { idParam, nextCursorSchema, pageQuerySchema } from "../schemas/common.ts";
import { sessionRoutes } from "./session_routes.ts";

const path = "/api/portal/api-keys";
const params = z.object({ id: idParam("key", "The key's id.") });
const one = { 200: { description: "The key.", schema: z.object({ apiKey: apiKeySchema }) } };
const created = {
  201: {
    description: "The new key. The full key appears only in this response.",
    schema: createdApiKeySchema,
  },
};

/** Mounts `/api/portal/api-keys`. */
export function apiKeyRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = sessionRoutes(app, parts, { tag: "API keys", errors: ["forbidden"] });

  route({
    method: "post",
    path,
    operationId: "createApiKey",
    summary: "Create a key",
    body: createApiKeySchema,
    responses: created,
    errors: ["forbidden", "key_limit_reached"],
  }, async (c, { body: { name, expiresAt = null } }, actor) => {
    return c.json(await createApiKey(services, actor, { name, expiresAt }), 201);
  });

  route({
    method: "get",
    path,
    operationId: "listApiKeys",
    summary: "List keys",
    description:
      "Newest first, including inactive keys. Members see their own keys; admins and owners see all.",
    query: pageQuerySchema,
    responses: {
      200: {
        description: "A page of keys.",
        schema: z.object({ apiKeys: z.array(apiKeySchema), nextCursor: nextCursorSchema }),
      },
    },
  }, async (c, { query }, actor) => c.json(await listApiKeys(services, actor, query)));

  route({
    method: "patch",
    path: `${path}/{id}`,
    operationId: "renameApiKey",
    summary: "Rename a key",
    params,
    body: renameApiKeySchema,
    responses: one,
  }, async (c, { params: { id }, body: { name } }, actor) => {
    return c.json({ apiKey: await renameApiKey(services, actor, { id, name }) });
  });

  route({
    method: "delete",
    path: `${path}/{id}`,
    operationId: "revokeApiKey",
    summary: "Revoke a key",
    description: "Requests with the key fail immediately. Revoking it again returns the same response.",
    params,
    responses: one,
  }, async (c, { params: { id } }, actor) => c.json({ apiKey: await revokeApiKey(services, actor, id) }));

  route({
    method: "post",
    path: `${path}/{id}/rotate`,
    operationId: "rotateApiKey",
    summary: "Replace a key with a new one of the same name",
    description: "The old key is revoked immediately, or expires at `expireOldAt`.",
    params,
    body: rotateApiKeySchema,
    bodyOptional: true,
    responses: created,
    errors: ["forbidden", "key_limit_reached"],
  }, async (c, { params: { id }, body: { expireOldAt = null } }, actor) => {
    return c.json(await rotateApiKey(services, actor, { id, expireOldAt }), 201);
  });
}
