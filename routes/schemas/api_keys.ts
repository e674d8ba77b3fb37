// The shapes of API keys.
import { z } from "@hono/zod-openapi";
import { apiKeyNameCharactersMax } from "../../domain/limits.ts";
import { idOut, nameSchema, optionalEnd, personNameSchema, stringSchema, timeOut } from "./common.ts";

export const apiKeySchema = z.object({
  id: idOut("key", "The key's id."),
  name: stringSchema("The key's name.", "Production"),
  keyPrefix: stringSchema(
    "The first characters of the key, to tell it from others.",
    "service_live_7Kq2mXfB…",
  ),
  createdAt: timeOut("When the key was created."),
  createdBy: z.object({ id: idOut("usr", "The user's id."), name: personNameSchema }).nullable().openapi({
    description: "Who created the key. Null if the account was deleted.",
  }),
  lastUsedAt: timeOut("When the key was last used, updated at most once a minute.").nullable(),
  expiresAt: timeOut("When the key expires.").nullable(),
  revokedAt: timeOut("When the key was revoked.").nullable(),
  status: z.enum(["active", "revoked", "expired"]).openapi({ description: "Only active keys are accepted." }),
}).openapi("ApiKey");

export const createdApiKeySchema = z.object({
  apiKey: apiKeySchema,
  fullKey: stringSchema(
    "The full key. It appears only in this response.",
    "service_live_7Kq2mXfB0example0example0example0",
  ),
}).openapi("CreatedApiKey");

const keyName = nameSchema("A name for the key", {
  charactersMax: apiKeyNameCharactersMax,
  example: "Production",
});

export const createApiKeySchema = z.strictObject({
  name: keyName,
  expiresAt: optionalEnd("When the key expires, in the future. By default it doesn't expire."),
}).openapi("CreateApiKey");

export const renameApiKeySchema = z.strictObject({ name: keyName }).openapi("RenameApiKey");

export const rotateApiKeySchema = z.strictObject({
  expireOldAt: optionalEnd("When the old key expires, in the future. By default it is revoked immediately."),
}).openapi("RotateApiKey");
