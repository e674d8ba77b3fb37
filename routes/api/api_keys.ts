// The API of API keys.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import type { AppContext, AppEnv, AppParts } from "../env.ts";
import { requireSession } from "../session.ts";
import { mount } from "./endpoint.ts";
import {
  apiKeySchema,
  createApiKeySchema,
  createdApiKeySchema,
  renameApiKeySchema,
  rotateApiKeySchema,
} from "../schemas/api_keys.ts";
import { idParam, nextCursorSchema, pageQuerySchema } from "../schemas/common.ts";

const path = "/api/portal/api-keys";

/** Mounts `/api/portal/api-keys`. */
export function apiKeyRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { apiKeys } = parts.services;
  const session = { authenticate: (c: AppContext) => requireSession(c, parts) };
  const common = { tag: "API keys", security: "session", errors: ["forbidden"] } as const;
  const one = z.object({ apiKey: apiKeySchema });
  const params = z.object({ id: idParam("key", "The key's id.") });

  mount(app, {
    ...common,
    method: "post",
    path,
    operationId: "createApiKey",
    summary: "Create a key",
    body: createApiKeySchema,
    responses: { 201: { description: "The key, whole, this once.", schema: createdApiKeySchema } },
    errors: ["forbidden", "key_limit_reached"],
  }, {
    ...session,
    async handle(c, { body }, session) {
      const created = await apiKeys.createApiKey(session, {
        name: body.name,
        expiresAt: body.expiresAt ?? null,
      });
      return c.json(created, 201);
    },
  });

  mount(app, {
    ...common,
    method: "get",
    path,
    operationId: "listApiKeys",
    summary: "List keys, newest first, revoked ones included",
    description: "A MEMBER sees their own keys; an ADMIN and an OWNER see everyone's.",
    query: pageQuerySchema,
    responses: {
      200: {
        description: "A page of keys.",
        schema: z.object({ apiKeys: z.array(apiKeySchema), nextCursor: nextCursorSchema }),
      },
    },
  }, {
    ...session,
    handle: async (c, { query }, session) => c.json(await apiKeys.listApiKeys(session, query)),
  });

  mount(app, {
    ...common,
    method: "patch",
    path: `${path}/{id}`,
    operationId: "renameApiKey",
    summary: "Rename a key",
    params,
    body: renameApiKeySchema,
    responses: { 200: { description: "The key.", schema: one } },
  }, {
    ...session,
    handle: async (c, { params, body }, session) =>
      c.json({ apiKey: await apiKeys.renameApiKey(session, params.id, body.name) }),
  });

  mount(app, {
    ...common,
    method: "delete",
    path: `${path}/{id}`,
    operationId: "revokeApiKey",
    summary: "Revoke a key",
    description: "It is refused from the very next request on. Revoking it again gives the same answer.",
    params,
    responses: { 200: { description: "The key.", schema: one } },
  }, {
    ...session,
    handle: async (c, { params }, session) =>
      c.json({ apiKey: await apiKeys.revokeApiKey(session, params.id) }),
  });

  mount(app, {
    ...common,
    method: "post",
    path: `${path}/{id}/rotate`,
    operationId: "rotateApiKey",
    summary: "Replace a key by a new one of the same name",
    description: "The old key is revoked at once, unless `expireOldAt` gives programs time to change over.",
    params,
    body: rotateApiKeySchema,
    bodyOptional: true,
    responses: { 201: { description: "The new key, whole, this once.", schema: createdApiKeySchema } },
    errors: ["forbidden", "key_limit_reached"],
  }, {
    ...session,
    async handle(c, { params, body }, session) {
      const input = { expireOldAt: body.expireOldAt ?? null };
      return c.json(await apiKeys.rotateApiKey(session, params.id, input), 201);
    },
  });
}
