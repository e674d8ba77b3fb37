// The shapes of identities: the accounts at providers that people sign in with.
import { z } from "@hono/zod-openapi";
import { returnToCharactersMax } from "../../domain/limits.ts";
import { providerKinds } from "../../domain/people/identity_provider.ts";
import { idOut, idParam, stringSchema, timeOut } from "./common.ts";
import { tooLong } from "./messages.ts";

export const identitySchema = z.object({
  id: idOut("idn", "The identity's id."),
  provider: z.object({
    slug: stringSchema("The provider's slug.", "google"),
    name: stringSchema("The provider's name.", "Google"),
    kind: z.enum(providerKinds).openapi({ description: "The kind of the provider.", example: "google" }),
  }).nullable().describe("The provider that signs the person in. Null if there is none anymore."),
  issuer: stringSchema("The issuer of the identity.", "https://accounts.google.com"),
  email: stringSchema("The email address at the provider, as it was named last.", "ada@example.com")
    .nullable(),
  createdAt: timeOut("When the identity was connected."),
  lastUsedAt: timeOut("When the person last signed in with it.").nullable(),
}).openapi("Identity");

export const identitiesSchema = z.object({
  identities: z.array(identitySchema).describe("Your identities, oldest first."),
  hasPassword: z.boolean().describe("Whether you have a password."),
});
export const identityParamsSchema = z.object({ id: idParam("idn", "The identity's id.") });
export const linkIdentitySchema = z.strictObject({
  provider: z.string().max(100, tooLong).openapi({ description: "The provider's slug.", example: "google" }),
  returnTo: z.string().max(returnToCharactersMax, tooLong).optional().openapi({
    description: "The page to continue at: a path of this service, or a URL of an allowed origin.",
    example: "/portal/account/security",
  }),
}).openapi("LinkIdentity");
export const providerVisitSchema = z.object({
  url: stringSchema("The address to open in this browser.", "https://accounts.google.com/o/oauth2/v2/auth?…"),
});
