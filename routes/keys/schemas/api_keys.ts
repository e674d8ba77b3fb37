// The shapes of API keys.
import { z } from "@hono/zod-openapi";
import { apiKeyAddressesMax } from "../../../domain/keys/key_limits.ts";
import {
  defaultKeyPermissions,
  isOwnPermission,
  keyPermissionFault,
  keyPermissionForm,
  operatorsKeyPermission,
  sortedPermissions,
} from "../../../domain/keys/key_permissions.ts";
import {
  apiKeyNameCharactersMax,
  budgetLimitsMax,
  externalIdCharactersMax,
  ownKeyPermissionsMax,
  planRequestsPerSecondMax,
} from "../../../domain/limits.ts";
import { externalIdForm } from "../../../domain/console/organization.ts";
import { metadataChangeSchema, metadataExample, metadataSchema } from "../../schemas/metadata.ts";
import { addressBlock, exampleBlock } from "../../schemas/address_blocks.ts";
import {
  environmentSchema,
  idOut,
  idParam,
  nameSchema,
  optionalEnd,
  optionalEndOrNow,
  pageOf,
  pageQuerySchema,
  personNameSchema,
  stringSchema,
  timeOut,
} from "../../schemas/common.ts";
import { atMost } from "../../schemas/messages.ts";
import { budgetInSchema, limitSchema } from "../../meter/schemas/plan_limits.ts";

export const apiKeySchema = z.object({
  id: idOut("key", "The key's id."),
  name: stringSchema("The key's name.", "Production"),
  keyPrefix: stringSchema(
    "The first characters of the key, to tell it from others.",
    "service_live_7Kq2mXfB…",
  ),
  environment: environmentSchema.describe(
    "Usage of test keys is kept apart: it is on no statement and counts against no limit.",
  ),
  createdAt: timeOut("When the key was created."),
  createdBy: z.object({ id: idOut("usr", "The user's id."), name: personNameSchema }).nullable().describe(
    "Who created the key. Null if the account was deleted, or if an operator created the key.",
  ),
  createdByOperator: z.boolean().describe("Whether the company that runs the service created the key."),
  permissions: z.array(z.string()).openapi({
    description: "What the key may do, sorted.",
    example: ["maps:render", "usage:read", "usage:write"],
  }),
  budget: z.array(limitSchema).describe(
    "Limits of the key, and of those that it replaced, besides those of the organization.",
  ),
  lastUsedAt: timeOut(
    "When the key was last used: when it authenticated a request, also one that was rejected, or was verified. It is updated " +
      "in the background, at most once a minute, so it can be a minute and some seconds behind.",
  ).nullable(),
  expiresAt: timeOut("When the key expires.").nullable(),
  revokedAt: timeOut("When the key was revoked.").nullable(),
  leakedAt: timeOut("When someone last reported that the key leaked.").nullable(),
  status: z.enum(["active", "revoked", "expired"]).describe(
    "Only active keys that are enabled are accepted.",
  ),
  addresses: z.array(z.string().openapi({ example: exampleBlock })).nullable().describe(
    "The CIDR blocks from which the key may be used. Null for any address.",
  ),
  requestsPerSecond: z.int().nullable().describe(
    "The key's own requests per second on each server. The lower one of it and the plan's takes effect. Null: the plan's.",
  ),
  enabled: z.boolean().describe(
    "Whether requests with the key are accepted while it is active. A disabled key still counts among the active keys.",
  ),
  disabledByOperator: z.boolean().describe(
    "Whether the company that runs the service disabled the key. Then only they can enable it.",
  ),
}).openapi("ApiKey");

const externalIdWords =
  `1 to ${externalIdCharactersMax} printable ASCII characters, without spaces at the ends`;

export const keyExternalId = z.string().regex(externalIdForm, `must be ${externalIdWords}.`).openapi({
  description:
    `Your own id for the key, which other keys can have, too: ${externalIdWords}. Customers don't see it.`,
  example: "user-4711",
});

export const operatedApiKeySchema = z.object({
  ...apiKeySchema.shape,
  organizationId: idOut("org", "The key's organization."),
  externalId: stringSchema("Your own id for the key.", "user-4711").nullable(),
  metadata: z.record(z.string(), z.string()).openapi({
    description: "Your own data. Customers don't see it.",
    example: metadataExample,
  }),
}).openapi("OperatedApiKey");

export const apiKeyParamsSchema = z.object({ id: idParam("key", "The key's id.") });
export const apiKeyResponseSchema = z.object({ apiKey: apiKeySchema });
export const apiKeysQuerySchema = pageQuerySchema.extend({
  environment: environmentSchema.optional().describe("Only keys of this environment."),
});
export const apiKeysSchema = pageOf("apiKeys", apiKeySchema);

export const createdApiKeySchema = z.object({
  apiKey: apiKeySchema,
  fullKey: stringSchema(
    "The full key. It appears only in this response.",
    "service_live_7Kq2mXfB0example0example0example0",
  ),
}).openapi("CreatedApiKey");

export const keyName = nameSchema("A name for the key", {
  charactersMax: apiKeyNameCharactersMax,
  example: "Production",
});

export const keyPermission = z.string().superRefine((name, context) => {
  const message = keyPermissionFault(name);
  if (message !== null) context.addIssue({ code: "custom", message });
}).openapi({ pattern: keyPermissionForm.source });

export const keyPermissionsSchema = z.array(keyPermission)
  .refine(
    (names) => sortedPermissions(names).filter(isOwnPermission).length <= ownKeyPermissionsMax,
    atMost(ownKeyPermissionsMax, "permissions of your own"),
  )
  .optional()
  .openapi({
    description: `What the key may do, ${defaultKeyPermissions.join(" and ")} by default. ` +
      "`usage:write` records usage, `usage:read` reads it, and " +
      `\`${operatorsKeyPermission}\` voids records. Only operators grant \`${operatorsKeyPermission}\`. Up to ` +
      `${ownKeyPermissionsMax} other names are permissions of your own, which Gatehouse stores and reports; they can't begin ` +
      "with `usage:`.",
    example: ["usage:read", "usage:write"],
  });

const externalIdInput = keyExternalId.nullish().openapi({ type: ["string", "null"] });

const rateFault = `must be a whole number from 1 to ${planRequestsPerSecondMax}.`;

/** The fields that only owners, admins and operators set. */
const keyFields = {
  addresses: z.array(addressBlock).min(1, "must have at least one address.")
    .max(apiKeyAddressesMax, atMost(apiKeyAddressesMax, "addresses")).nullish().openapi({
      description:
        "The IP addresses or CIDR blocks from which the key may be used. Requests from elsewhere fail like those with an unknown " +
        "key. Null: any address. Only owners, admins and operators set it.",
      example: [exampleBlock],
    }),
  requestsPerSecond: z.int(rateFault).min(1, rateFault).max(planRequestsPerSecondMax, rateFault).nullish()
    .openapi({
      type: ["integer", "null"],
      minimum: 1,
      maximum: planRequestsPerSecondMax,
      description:
        "The key's own requests per second on each server. The lower one of it and the plan's takes effect. Null: the plan's. Only " +
        "owners, admins and operators set it.",
    }),
};

const createdFields = {
  budget: budgetInSchema(budgetLimitsMax).optional().openapi({
    description:
      `Up to ${budgetLimitsMax} limits of the key, with different products, metrics or windows. By default it gets the ` +
      "default budget of its organization's plan, or none if it is a test key. Only owners, admins and operators set it.",
  }),
  ...keyFields,
};

/** The fields of new keys that operators set besides name, permissions and expiry. */
export const operatedKeyFields = {
  ...createdFields,
  externalId: externalIdInput,
  metadata: metadataSchema.optional(),
};

export const keyEnabled = z.boolean().describe(
  "False: requests with the key fail immediately, as if it was revoked, until it is enabled again.",
);

export const createApiKeySchema = z.strictObject({
  name: keyName,
  environment: environmentSchema.optional().openapi({
    default: "live",
    description:
      "A test key begins with `service_test_`. Its usage is kept apart, is on no statement, and counts against no limit. It can't be changed later.",
  }),
  permissions: keyPermissionsSchema,
  expiresAt: optionalEnd("When the key expires, in the future. By default it doesn't expire."),
  ...createdFields,
}).openapi("CreateApiKey");

export const changeApiKeySchema = z.strictObject({
  name: keyName.optional(),
  permissions: keyPermissionsSchema,
  expiresAt: optionalEnd(
    "When the key expires, in the future. Null: it doesn't. Only active keys can get another expiry.",
  ),
  budget: budgetInSchema(budgetLimitsMax).optional(),
  ...keyFields,
  enabled: keyEnabled.optional(),
}).openapi("ChangeApiKey");

export const createOperatedApiKeySchema = z.strictObject({
  ...createApiKeySchema.shape,
  ...operatedKeyFields,
}).openapi("CreateOperatedApiKey");

export const changeOperatedApiKeySchema = z.strictObject({
  ...changeApiKeySchema.shape,
  externalId: externalIdInput,
  metadata: metadataChangeSchema.optional(),
}).openapi("ChangeOperatedApiKey");

export const operatedApiKeysSchema = pageOf("apiKeys", operatedApiKeySchema);
export const operatedApiKeyResponseSchema = z.object({ apiKey: operatedApiKeySchema });
export const createdOperatedApiKeySchema = z.object({
  ...createdApiKeySchema.shape,
  apiKey: operatedApiKeySchema,
})
  .openapi("CreatedOperatedApiKey");
export const externalIdQuerySchema = pageQuerySchema.extend({ externalId: keyExternalId });

export const rotateApiKeySchema = z.strictObject({
  expireOldAt: optionalEndOrNow(
    "When the old key expires, in the future, or `now` to revoke it immediately. By default it expires in 24 hours. An " +
      "earlier expiry of the old key stays.",
  ),
}).openapi("RotateApiKey");
