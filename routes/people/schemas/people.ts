// The shapes of sessions and accounts.
import { z } from "@hono/zod-openapi";
import { idOut, idParam, nameSchema, roleSchema, stringSchema, timeOut } from "../../schemas/common.ts";
import { tooLong } from "../../schemas/messages.ts";
import { emailInSchema, passwordSchema, presentPasswordSchema, tokenSchema } from "./sign_in.ts";

export const organizationParamsSchema = z.object({ id: idParam("org", "The organization's id.") });

export const sessionSchema = z.object({
  id: idOut("ses", "The session's id."),
  current: z.boolean().describe("Whether this is the current session."),
  createdAt: timeOut("When the session started."),
  lastSeenAt: timeOut("When the session was last used, updated at most every 5 minutes."),
  expiresAt: timeOut("When the session expires if it isn't used."),
  address: stringSchema("The IP address that signed in.", "198.51.100.7"),
  userAgent: stringSchema("The browser's user agent.", "Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0"),
}).openapi("Session");

export const linkTokenSchema = z.strictObject({ token: tokenSchema }).openapi("LinkToken");
export const emailSchema = z.strictObject({ email: emailInSchema }).openapi("Email");
export const resetPasswordSchema = z.strictObject({ token: tokenSchema, password: passwordSchema }).openapi(
  "ResetPassword",
);
export const changePasswordSchema = z.strictObject({
  currentPassword: presentPasswordSchema,
  newPassword: passwordSchema,
}).openapi("ChangePassword");
export const firstPasswordSchema = z.strictObject({ password: passwordSchema }).openapi("FirstPassword");
export const currentPasswordSchema = z.strictObject({ password: presentPasswordSchema }).openapi(
  "CurrentPassword",
);
export const proofSchema = z.strictObject({
  password: presentPasswordSchema,
  code: z.string().max(100, tooLong).optional().openapi({
    description:
      "Six digits from the authenticator app, or a recovery code. Required if two-step sign-in is on.",
    example: "123456",
  }),
}).openapi("Proof");
export const emailChoicesSchema = z.strictObject({
  limits: z.boolean().openapi({
    description:
      "Emails when an organization that you own or administer has used 80% of a limit, or all of it. Operators also get emails " +
      "about hard and cutoff limits of their customers.",
    example: true,
  }),
  unusedKeys: z.boolean().openapi({
    description:
      "A monthly email about API keys of organizations that you own or administer that weren't used for 90 days.",
    example: true,
  }),
}).openapi("EmailChoices");
export const changeEmailChoicesSchema = emailChoicesSchema.partial().openapi("ChangeEmailChoices");
export const userNameSchema = z.strictObject({
  name: nameSchema("Your name", { example: "Ada Lovelace" }),
}).openapi("UserName");

export const invitedPerson = {
  email: emailInSchema.openapi({ example: "ada@example.com" }),
  name: nameSchema("The person's name, for the email", { example: "Ada Lovelace" }).optional(),
};

export const inviteSchema = z.strictObject({
  ...invitedPerson,
  role: roleSchema.openapi({ description: "The role in the organization after joining.", example: "OWNER" }),
}).openapi("OperatorInvitation");
