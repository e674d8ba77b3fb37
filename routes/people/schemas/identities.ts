// The shape of an identity: an account at a provider that someone signs in with.
import { z } from "@hono/zod-openapi";
import { providerKinds } from "../../../domain/people/identity_provider.ts";
import { idOut, stringSchema, timeOut } from "../../schemas/common.ts";

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
