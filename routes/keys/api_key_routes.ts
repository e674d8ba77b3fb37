// The API of API keys, for members and for operators.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { hashApiKey } from "../../domain/keys/api_key.ts";
import { importedPrefixForm, importFaults, parseSha256 } from "../../domain/keys/imported_key.ts";
import { usageBodyBytesMax } from "../../domain/limits.ts";
import { type Access, activeAccess, operatorAccess } from "../../services/access/mod.ts";
import {
  accessToApiKey,
  changeApiKey,
  createApiKey,
  importApiKeys,
  listApiKeys,
  listApiKeysByExternalId,
  revokeApiKey,
  rotateApiKey,
} from "../../services/keys/mod.ts";
import { type MountRoute, type RouteWords, sessionRoutes, withAccess } from "../api/endpoint.ts";
import { operatorRoutes } from "../api/operator_routes.ts";
import type { AppEnv, AppParts } from "../env.ts";
import * as schemas from "./schemas/api_keys.ts";
import { keyName, keyPermissionsSchema } from "./schemas/api_keys.ts";
import { batchArray } from "../schemas/batch_array.ts";
import { exampleId, optionalEnd, parsed } from "../schemas/common.ts";
import { organizationParamsSchema } from "../schemas/organization_reference.ts";
import { targetId } from "../meter/schemas/operator_usage.ts";

const params = schemas.apiKeyParamsSchema;
/** The shapes of keys for members. Operators have others, as they also set and see the external id and metadata. */
const memberShapes = {
  one: schemas.apiKeyResponseSchema,
  many: schemas.apiKeysSchema,
  created: schemas.createdApiKeySchema,
  create: schemas.createApiKeySchema,
  change: schemas.changeApiKeySchema,
};
const operatorShapes = {
  one: schemas.operatedApiKeyResponseSchema,
  many: schemas.operatedApiKeysSchema,
  created: schemas.createdOperatedApiKeySchema,
  create: schemas.createOperatedApiKeySchema,
  change: schemas.changeOperatedApiKeySchema,
};
type Shapes = typeof memberShapes | typeof operatorShapes;
const unchanged = "Omitted fields keep their values. Changes take effect immediately.";
const revoked = "Requests with the key fail immediately. Revoking a key again has no effect.";

const { externalId: keyExternalId, ...settings } = schemas.operatedKeyFields;
const importedKeySchema = z.strictObject({
  organizationId: targetId("The organization.", exampleId("org")),
  externalId: targetId("The organization, by its external id.", "customer-4711"),
  name: keyName,
  sha256: parsed(
    z.string(),
    parseSha256,
    () => "must be a SHA-256: 64 hexadecimal digits, or 32 bytes in base64.",
  ).openapi({
    type: "string",
    description: "The SHA-256 of the whole key, in hexadecimal, base64 or base64url.",
    example: "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=",
  }),
  prefix: z.string().regex(
    importedPrefixForm,
    "must be 1 to 16 letters, digits, underscores, dashes, dots or colons.",
  ).openapi({
    description:
      "The first characters of the key, by which people recognize it. They are shown, so leave the rest out.",
    example: "acme_3ZaB",
  }),
  permissions: keyPermissionsSchema,
  expiresAt: optionalEnd("When the key expires. By default it doesn't expire."),
  createdAt: optionalEnd("When the key was created, in the past. By default now."),
  ...settings,
  keyExternalId,
  enabled: schemas.keyEnabled.optional(),
}).refine(
  ({ organizationId, externalId }) => (organizationId === undefined) !== (externalId === undefined),
  "must have exactly one of organizationId and externalId.",
).refine(
  ({ sha256, prefix }) => hashApiKey(prefix) !== sha256,
  { path: ["prefix"], message: "must not be the whole key." },
).openapi("ImportedApiKey", {
  description: "Exactly one of `organizationId` and `externalId` is required.",
  example: {
    externalId: "customer-4711",
    name: "Production",
    sha256: "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=",
    prefix: "acme_3ZaB",
    createdAt: "2025-03-14T15:09:26.535Z",
  },
});

const importKeysSchema = z.strictObject({ keys: batchArray(importedKeySchema, "key") })
  .openapi("ImportApiKeys");

const importedKeysSchema = z.object({
  imported: z.int().min(0).openapi({ description: "The number of new keys.", example: 997 }),
  duplicates: z.int().min(0).openapi({
    description: "The number of keys that their organization already has. They don't change.",
    example: 2,
  }),
  failed: z.array(z.object({
    index: z.int().min(0).openapi({ description: "The position of the key in `keys`.", example: 17 }),
    code: z.enum(importFaults).openapi({
      description: "- `organization_not_found`: there is no such organization.\n" +
        "- `hash_taken`: another organization has a key with this hash.\n" +
        "- `hash_repeated`: `keys` has this hash before, with other values.\n" +
        "- `expired`: `expiresAt` has passed.\n" +
        "- `key_limit_reached`: the organization has as many active keys as it may.",
      example: "organization_not_found",
    }),
  })).describe("The keys that were not imported. All others were."),
}).openapi("ImportedApiKeys");

export function apiKeyRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const path = "/api/portal/api-keys";
  const route = withAccess(
    sessionRoutes(app, parts, { tag: "API keys", errors: ["forbidden"] }),
    activeAccess,
  );
  commonRoutes(parts, { inOrganization: route, ofKey: route, shapes: memberShapes }, {
    list: {
      route: `GET ${path}`,
      operationId: "listApiKeys",
      summary: "List keys",
      description:
        "Newest first, including inactive keys. Members see their own keys; admins and owners see all.",
    },
    create: {
      route: `POST ${path}`,
      operationId: "createApiKey",
      summary: "Create a key",
      description:
        "Without `budget`, the key gets the default budget of the organization's plan. Only owners and admins set `budget`, " +
        "`addresses` and `requestsPerSecond`. No limit in `budget` can be above a limit of the organization that counts the same usage " +
        "in the same window or a longer one.",
    },
    change: {
      route: `PATCH ${path}/{id}`,
      operationId: "changeApiKey",
      summary: "Change a key",
      description:
        `${unchanged} Only owners and admins set \`budget\`, \`addresses\`, \`requestsPerSecond\` and \`enabled\`. \`budget\` replaces the whole budget. No limit in it can be above a limit of the organization that counts the same usage in the same window or a longer one.`,
    },
    revoke: { route: `DELETE ${path}/{id}`, operationId: "revokeApiKey", summary: "Revoke a key" },
    rotate: { route: `POST ${path}/{id}/rotate`, operationId: "rotateApiKey", summary: "Rotate a key" },
  });
}

export function operatorApiKeyRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const keysPath = "/api/operator/organizations/{id}/api-keys";
  const keyPath = "/api/operator/api-keys/{id}";
  const route = operatorRoutes(app, parts, { read: "keys:read", write: "keys:write" });
  route(
    {
      route: "POST /api/operator/api-keys/import",
      operationId: "importApiKeys",
      summary: "Import API keys by their hashes",
      description:
        "Up to 1,000 keys that another system issued, of any organizations. Your customers keep their keys: they work like keys " +
        "that Gatehouse issues, and their successors are such keys. A key has 16 to 255 printable ASCII characters without spaces. " +
        "They can have every permission, also `usage:void`. Without `budget`, each gets the default budget of its organization's plan. A given one can be above a limit of the " +
        "organization: the lower one takes effect.\n\nEach key is imported unless it is a duplicate or has failed, so sending " +
        "a request again is safe. The audit log of each organization gets one entry for a request; there are no webhooks.",
      body: importKeysSchema,
      bodyBytesMax: usageBodyBytesMax,
      responses: { 201: { description: "What became of the keys.", schema: importedKeysSchema } },
    },
    (_c, { body }, actor) =>
      importApiKeys(
        services,
        actor,
        body.keys.map((
          {
            sha256,
            prefix,
            organizationId = null,
            externalId = null,
            expiresAt = null,
            createdAt = null,
            ...key
          },
        ) => ({
          ...key,
          organizationId,
          externalId,
          keyHash: sha256,
          keyPrefix: `${prefix}…`,
          expiresAt,
          createdAt,
        })),
      ),
  );

  route({
    route: "GET /api/operator/api-keys",
    operationId: "operatorFindApiKeys",
    summary: "Find API keys by your own id",
    description: "Keys of all organizations with this external id, newest first, including inactive keys.",
    query: schemas.externalIdQuerySchema,
    responses: { 200: { description: "A page of keys.", schema: operatorShapes.many } },
  }, (_c, { query }) => listApiKeysByExternalId(services, query));

  commonRoutes(parts, {
    inOrganization: withAccess(route, (actor, id) => operatorAccess(services, actor, id)),
    ofKey: withAccess(route, (actor, id) => accessToApiKey(services, actor, id)),
    shapes: operatorShapes,
  }, {
    list: {
      route: `GET ${keysPath}`,
      operationId: "operatorListApiKeys",
      summary: "List an organization's API keys",
      description: "Newest first, including inactive keys.",
      params: organizationParamsSchema,
    },
    create: {
      route: `POST ${keysPath}`,
      operationId: "operatorCreateApiKey",
      summary: "Create an API key for an organization",
      description:
        "It can have every permission, also `usage:void`. Without `budget`, it gets the default budget of the organization's plan.",
      params: organizationParamsSchema,
    },
    change: {
      route: `PATCH ${keyPath}`,
      operationId: "operatorChangeApiKey",
      summary: "Change an API key of any organization",
      description: `${unchanged} \`budget\` replaces the whole budget.`,
    },
    revoke: {
      route: `DELETE ${keyPath}`,
      operationId: "operatorRevokeApiKey",
      summary: "Revoke any organization's API key",
    },
    rotate: {
      route: `POST ${keyPath}/rotate`,
      operationId: "operatorRotateApiKey",
      summary: "Rotate any organization's API key",
    },
  });
}

/** @param routes `inOrganization`: mounts routes of a list. `ofKey`: mounts routes whose path has the id of a key. */
function commonRoutes(
  { services }: AppParts,
  { inOrganization, ofKey, shapes }: Record<"inOrganization" | "ofKey", MountRoute<Access>> & {
    readonly shapes: Shapes;
  },
  { list, create, change, revoke, rotate }: Record<
    "list" | "create" | "change" | "revoke" | "rotate",
    RouteWords
  >,
): void {
  const one = { 200: { description: "The key.", schema: shapes.one } };
  const created = {
    201: { description: "The new key. The full key appears only in this response.", schema: shapes.created },
  };
  inOrganization({
    ...list,
    query: schemas.apiKeysQuerySchema,
    responses: { 200: { description: "A page of keys.", schema: shapes.many } },
  }, (_c, { query }, access) => listApiKeys(services, access, query));

  inOrganization(
    { ...create, body: shapes.create, responses: created, errors: ["key_limit_reached"] },
    (_c, { body: { expiresAt = null, ...body } }, access) =>
      createApiKey(services, access, { ...body, expiresAt }),
  );

  ofKey(
    { ...change, params, body: shapes.change, responses: one },
    async (_c, { params: { id }, body }, access) => ({
      apiKey: await changeApiKey(services, access, { id, ...body }),
    }),
  );

  ofKey(
    { ...revoke, description: revoked, params, responses: one },
    async (_c, { params: { id } }, access) => ({ apiKey: await revokeApiKey(services, access, id) }),
  );

  ofKey({
    ...rotate,
    description:
      "Creates a new key with the same name, environment, permissions, addresses, rate, budget and expiry. The old key keeps working for 24 hours, or until " +
      "`expireOldAt`; both count as active keys until then. To revoke it immediately, set `expireOldAt` to `now`. A disabled key can't be rotated.",
    params,
    body: schemas.rotateApiKeySchema,
    bodyOptional: true,
    responses: created,
    errors: ["key_limit_reached", "key_disabled"],
  }, (_c, { params: { id }, body: { expireOldAt } }, access) => {
    return rotateApiKey(services, access, { id, expireOldAt: expireOldAt ?? undefined });
  });
}
