// The shapes of signing up and signing in, and the session user.
import { z } from "@hono/zod-openapi";
import {
  emailCharactersMax,
  nameCharactersMax,
  passwordCharactersMax,
  passwordCharactersMin,
} from "../../domain/limits.ts";
import {
  addressSchema,
  exampleId,
  idOut,
  nameSchema,
  personNameSchema,
  roleSchema,
  stringSchema,
  timeOut,
} from "./common.ts";
import { required, tooLong } from "./messages.ts";

/** A new password. */
export const passwordSchema = z.string().openapi({
  minLength: passwordCharactersMin,
  maxLength: passwordCharactersMax,
  description:
    `The password: ${passwordCharactersMin} to ${passwordCharactersMax} characters, counted after NFKC normalization. ` +
    "Common passwords are rejected.",
  example: "correct horse 9 battery",
});

export const emailInSchema = z.string().max(emailCharactersMax * 2, tooLong).openapi({
  format: "email",
  maxLength: emailCharactersMax,
  description: `An email address of at most ${emailCharactersMax} characters.`,
  example: "ada@example.com",
});

/** A password to check. */
export const presentPasswordSchema = stringSchema("The current password.", "correct horse 9 battery");

export const tokenSchema = z.string().max(200, tooLong).openapi({
  description: "The `token` parameter of an emailed link.",
  example: "3q2Zr8vYw0nK1bT6mXc4LdFpHs9uJ7gE",
});

export const signUpSchema = z.strictObject({
  name: nameSchema(nameCharactersMax).openapi({
    description: `Your name, 1 to ${nameCharactersMax} characters.`,
    example: "Ada Lovelace",
  }),
  email: emailInSchema.optional().openapi({
    description: "Required without an invitation. With one, it defaults to the invited address.",
  }),
  password: passwordSchema,
  organizationName: nameSchema(nameCharactersMax).optional().openapi({
    description:
      `The name of the new organization, 1 to ${nameCharactersMax} characters. Defaults to a name based on yours. ` +
      "Not allowed with an invitation.",
  }),
  invitationToken: z.string().max(200, tooLong).optional().openapi({
    description:
      "The `token` parameter of an invitation's link. The new account joins that organization, and its email address " +
      "counts as confirmed.",
  }),
}).refine(({ email, invitationToken }) => email !== undefined || invitationToken !== undefined, {
  path: ["email"],
  message: required,
}).refine(
  ({ organizationName, invitationToken }) => organizationName === undefined || invitationToken === undefined,
  { path: ["organizationName"], message: "can't be combined with an invitation." },
).openapi("SignUp");

export const signInSchema = z.strictObject({ email: emailInSchema, password: presentPasswordSchema }).openapi(
  "SignIn",
);

export const sessionUserSchema = z.object({
  authenticated: z.boolean().openapi({
    description: "Whether the request has a valid session. If not, the other fields are null or empty.",
  }),
  user: z.object({
    id: idOut("usr", "The user's id."),
    name: personNameSchema,
    email: addressSchema,
    emailVerified: z.boolean().openapi({ description: "Whether the email address is confirmed." }),
  }).nullable().openapi({ description: "The signed-in user." }),
  organizationId: stringSchema(
    "The id of the active organization. Null if the user has none.",
    exampleId("org"),
  )
    .nullable(),
  role: roleSchema.nullable().openapi({ description: "The user's role in the active organization." }),
  memberships: z.array(z.object({
    organizationId: idOut("org", "The organization's id."),
    name: stringSchema("The organization's name.", "Analytical Engines"),
    role: roleSchema,
  })).openapi({ description: "All organizations the user belongs to." }),
}).openapi("SessionUser");

export const signInResponseSchema = sessionUserSchema.extend({
  secondStep: z.object({
    token: stringSchema("A one-time token that identifies this sign-in."),
    expiresAt: timeOut("When the second step expires."),
  }).optional().openapi({
    description: "What the second step needs. Only present if two-step sign-in is on.",
  }),
}).openapi("SignInAnswer");
