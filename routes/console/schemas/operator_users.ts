// The shapes of users as operators see them.
import { z } from "@hono/zod-openapi";
import {
  addressSchema,
  idOut,
  idParam,
  pageQuerySchema,
  personNameSchema,
  roleSchema,
  stringSchema,
  timeOut,
} from "../../schemas/common.ts";
import { identitySchema } from "../../people/schemas/identities.ts";
import { searchSchema } from "../../schemas/organization_reference.ts";
import { sessionSchema } from "../../people/schemas/people.ts";

export const usersQuerySchema = pageQuerySchema.extend({
  search: searchSchema("A part of the name or email address, in upper or lower case, or a user's id."),
  status: z.enum(["active", "disabled"]).optional().openapi({ description: "Defaults to all users." }),
});

export const operatorUserSchema = z.object({
  id: idOut("usr", "The user's id."),
  email: addressSchema,
  name: personNameSchema,
  createdAt: timeOut("When the account was created."),
  emailVerifiedAt: timeOut("When the email address was confirmed.").nullable(),
  disabledAt: timeOut("When the account was disabled.").nullable(),
  isOperator: z.boolean().openapi({ description: "Whether the user is an operator." }),
  hasPassword: z.boolean().openapi({ description: "Whether the user has a password." }),
  twoStep: z.boolean().openapi({ description: "Whether two-step sign-in is on." }),
  lastSignInAt: timeOut("When the latest of the remaining sessions started.").nullable(),
  organizations: z.array(z.object({
    id: idOut("org", "The organization's id."),
    name: stringSchema("The organization's name.", "Analytical Engines"),
    role: roleSchema,
  })).openapi({ description: "The organizations that the user belongs to, at most 100." }),
}).openapi("OperatorUser");

export const operatorUserDetailsSchema = z.object({
  user: operatorUserSchema,
  sessions: z.array(sessionSchema.omit({ current: true, expiresAt: true })).openapi({
    description: "The user's sessions, last used first.",
  }),
  identities: z.array(identitySchema).openapi({
    description: "The providers that the user signs in with, oldest first.",
  }),
  passkeys: z.number().int().openapi({ description: "The number of the user's passkeys." }),
});
export const userParamsSchema = z.object({ id: idParam("usr", "The user's id.") });
export const changeUserSchema = z.strictObject({
  disabled: z.boolean().openapi({ description: "Whether the user can't sign in.", example: true }),
}).openapi("ChangeUser");

export const passwordResetSchema = z.object({
  sentTo: addressSchema.nullable().openapi({ description: "Where the link was sent." }),
  link: z.object({
    address: stringSchema("The link to pass on.", "https://gatehouse.example.com/reset-password?token=…"),
    expiresAt: timeOut("When the link expires."),
  }).nullable().openapi({ description: "Only for operator accounts, and only without a mail server." }),
}).openapi("PasswordReset");
