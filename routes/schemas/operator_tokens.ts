// The shapes of operator tokens.
import { z } from "@hono/zod-openapi";
import { parseAddressBlock } from "../../config.ts";
import { apiKeyNameCharactersMax, operatorTokenAddressesMax } from "../../domain/limits.ts";
import { operatorScopes, scopeMeanings, unknownScope } from "../../domain/operator/operator_scope.ts";
import {
  idOut,
  idParam,
  nameSchema,
  nextCursorSchema,
  optionalEnd,
  personNameSchema,
  stringSchema,
  timeOut,
} from "./common.ts";
import { atMost, mustBe } from "./messages.ts";

const scopesDescription = [
  "What the token may do:",
  "",
  ...operatorScopes.map((scope) => `- \`${scope}\`: ${scopeMeanings[scope]}.`),
].join("\n");

const scopeSchema = z.enum(operatorScopes, {
  error: ({ input }) => typeof input === "string" ? unknownScope(input) : mustBe("string"),
});
const exampleBlock = "198.51.100.0/24";

const operatorTokenSchema = z.object({
  id: idOut("opt", "The token's id."),
  name: stringSchema("The token's name.", "Billing"),
  tokenPrefix: stringSchema(
    "The first characters of the token, to tell it from others.",
    "service_operator_7Kq2mXfB…",
  ),
  scopes: z.array(z.enum(operatorScopes)).openapi({ description: scopesDescription }),
  addresses: z.array(z.string().openapi({ example: exampleBlock })).openapi({
    description: "The CIDR blocks from which the token may be used. Empty for any address.",
  }),
  createdAt: timeOut("When the token was created."),
  createdBy: z.object({ id: idOut("usr", "The user's id."), name: personNameSchema }).nullable().openapi({
    description:
      "The operator who created the token. Null if it was created on the command line, or the account was deleted.",
  }),
  lastUsedAt: timeOut("When the token was last used, updated at most once a minute.").nullable(),
  expiresAt: timeOut("When the token expires.").nullable(),
  revokedAt: timeOut("When the token was revoked.").nullable(),
  status: z.enum(["active", "revoked", "expired"]).openapi({
    description: "Only active tokens are accepted.",
  }),
}).openapi("OperatorToken");

export const operatorTokenResponseSchema = z.object({ token: operatorTokenSchema });
export const operatorTokensSchema = z.object({
  tokens: z.array(operatorTokenSchema),
  nextCursor: nextCursorSchema,
});
export const createdOperatorTokenSchema = z.object({
  token: operatorTokenSchema,
  fullToken: stringSchema(
    "The whole token. It appears only in this response.",
    "service_operator_7Kq2mXfB0example0example0example0",
  ),
}).openapi("CreatedOperatorToken");

export const createOperatorTokenSchema = z.strictObject({
  name: nameSchema("A name for the token", { charactersMax: apiKeyNameCharactersMax, example: "Billing" }),
  scopes: z.array(scopeSchema).min(1, "must have at least one scope.")
    .max(operatorScopes.length, atMost(operatorScopes.length, "scopes"))
    .openapi({ description: scopesDescription, example: ["usage:read"] }),
  addresses: z.array(
    z.string().refine((text) => parseAddressBlock(text) !== null, {
      error: "must be an IP address or a CIDR block.",
    }),
  ).max(operatorTokenAddressesMax, atMost(operatorTokenAddressesMax, "addresses")).optional().transform((
    given,
  ) => given ?? []).openapi({
    description: "The IP addresses or CIDR blocks from which the token may be used. By default any.",
    example: [exampleBlock],
  }),
  expiresAt: optionalEnd("When the token expires, in the future. By default it doesn't expire."),
}).openapi("CreateOperatorToken");

export const operatorTokenParamsSchema = z.object({ id: idParam("opt", "The token's id.") });
