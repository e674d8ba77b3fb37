// The shapes of signing up and signing in, and the session user.
import { z } from "@hono/zod-openapi";
import * as limits from "../../../domain/limits.ts";
import {
  addressSchema,
  idOut,
  nameSchema,
  personNameSchema,
  roleSchema,
  stringSchema,
  timeOut,
} from "../../schemas/common.ts";
import { required, tooLong } from "../../schemas/messages.ts";

export const passwordSchema = z.string().openapi({
  minLength: limits.passwordCharactersMin,
  maxLength: limits.passwordCharactersMax,
  description:
    `The password: ${limits.passwordCharactersMin} to ${limits.passwordCharactersMax} characters, counted after NFKC normalization. ` +
    "Common passwords are rejected.",
  example: "correct horse 9 battery",
});

export const emailInSchema = z.string().max(limits.emailCharactersMax * 2, tooLong).openapi({
  format: "email",
  maxLength: limits.emailCharactersMax,
  description: `An email address of at most ${limits.emailCharactersMax} characters.`,
  example: "ada@example.com",
});

/** The password to check, not a new one. */
export const presentPasswordSchema = stringSchema("The current password.", "correct horse 9 battery");

export const tokenSchema = z.string().max(200, tooLong).openapi({
  description: "The `token` parameter of an emailed link.",
  example: "3q2Zr8vYw0nK1bT6mXc4LdFpHs9uJ7gE",
});

export const signUpSchema = z.strictObject({
  name: nameSchema("Your name", { example: "Ada Lovelace" }),
  email: emailInSchema.optional().describe(
    "Required without an invitation. With one, it defaults to the invited address.",
  ),
  password: passwordSchema,
  organizationName: nameSchema("The name of the new organization").optional().describe(
    `The name of the new organization, 1 to ${limits.nameCharactersMax} characters. Defaults to a name based on yours. ` +
      "Not allowed with an invitation.",
  ),
  invitationToken: z.string().max(200, tooLong).optional().describe(
    "The `token` parameter of an invitation's link. The new account joins that organization, and its email address " +
      "counts as confirmed.",
  ),
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

const userSchema = z.object({
  id: idOut("usr", "The user's id."),
  name: personNameSchema,
  email: addressSchema,
  emailVerified: z.boolean().describe("Whether the email address is confirmed."),
}).openapi("User");
const membershipSchema = z.object({
  organizationId: idOut("org", "The organization's id."),
  name: stringSchema("The organization's name.", "Analytical Engines"),
  role: roleSchema,
}).openapi("Membership");

export const sessionUserSchema = z.object({
  authenticated: z.boolean().describe(
    "Whether the request has a valid session. If not, the other fields are null or empty.",
  ),
  // A nullable() schema with a name would be documented as one that is never null.
  user: z.union([userSchema, z.null()]).describe("The signed-in user."),
  organizationId: idOut("org", "The id of the active organization. Null if the user has none.").nullable(),
  role: roleSchema.nullable().describe("The user's role in the active organization."),
  memberships: z.array(membershipSchema).describe("All organizations the user belongs to."),
  features: z.array(z.string()).optional().openapi({
    description: "The features of the active organization's plan, sorted. Absent without a session.",
    example: ["maps:satellite", "sso"],
  }),
}).openapi("SessionUser");

export const signInResponseSchema = sessionUserSchema.extend({
  secondStep: z.object({
    token: stringSchema("A one-time token that identifies this sign-in."),
    expiresAt: timeOut("When the second step expires."),
  }).optional().describe("What the second step needs. Only present if two-step sign-in is on."),
}).openapi("SignInAnswer");
