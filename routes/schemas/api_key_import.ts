// The shapes of the import of API keys.
import { z } from "@hono/zod-openapi";
import { hashApiKey } from "../../domain/keys/api_key.ts";
import { importedPrefixForm, importFaults, parseSha256 } from "../../domain/keys/imported_key.ts";
import { keyName, keyPermissionsSchema } from "./api_keys.ts";
import { batchArray } from "./batch_array.ts";
import { exampleId, optionalEnd, parsed } from "./common.ts";
import { targetId } from "./operator_usage.ts";

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

export const importKeysSchema = z.strictObject({ keys: batchArray(importedKeySchema, "key") })
  .openapi("ImportApiKeys");

export const importedKeysSchema = z.object({
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
