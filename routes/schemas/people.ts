// The shapes of organizations, members, invitations, sessions and accounts.
import { z } from "@hono/zod-openapi";
import { nameCharactersMax } from "../../domain/limits.ts";
import {
  addressSchema,
  exampleId,
  idOut,
  idParam,
  nameSchema,
  pageOf,
  personNameSchema,
  roleSchema,
  stringSchema,
  timeOut,
} from "./common.ts";
import { tooLong } from "./messages.ts";
import { emailInSchema, passwordSchema, presentPasswordSchema, tokenSchema } from "./sign_in.ts";

const person = { id: idOut("usr", "The user's id."), name: personNameSchema };
const organizationName = nameSchema("The organization's name", { example: "Analytical Engines" });
const idIn = (prefix: "usr" | "org", description: string) =>
  z.string().max(100, tooLong).openapi({ description, example: exampleId(prefix) });

const organizationSchema = z.object({
  id: idOut("org", "The organization's id."),
  name: stringSchema("The organization's name.", "Analytical Engines"),
  role: roleSchema.describe("Your role in the organization."),
  memberCount: z.number().int().describe("The number of members."),
  createdAt: timeOut("When the organization was created."),
}).openapi("Organization");

export const organizationResponseSchema = z.object({ organization: organizationSchema });
export const organizationsSchema = z.object({ organizations: z.array(organizationSchema) });
export const organizationNameSchema = z.strictObject({ name: organizationName }).openapi("OrganizationName");
export const deleteOrganizationSchema = z.strictObject({
  name: z.string().max(nameCharactersMax * 2, tooLong).openapi({
    description:
      "The organization's name, as confirmation. Typographic quotation marks, dashes and spaces may be typed as plain ones.",
    example: "Analytical Engines",
  }),
}).openapi("DeleteOrganization");
export const transferOrganizationSchema = z.strictObject({
  userId: idIn("usr", "The id of the member who becomes the owner."),
}).openapi("TransferOrganization");
export const activeOrganizationSchema = z.strictObject({
  organizationId: idIn("org", "The id of one of your organizations."),
}).openapi("ActiveOrganization");

const memberSchema = z.object({
  user: z.object({ ...person, email: addressSchema }).describe("The user."),
  role: roleSchema,
  joinedAt: timeOut("When the user joined the organization."),
  twoStep: z.boolean().nullable().describe(
    "Whether two-step sign-in is on. Null if your role is MEMBER and this is another user.",
  ),
  activeApiKeys: z.number().int().describe(
    "The number of active API keys that the user created in this organization.",
  ),
}).openapi("Member");
export const memberResponseSchema = z.object({ member: memberSchema });
export const membersSchema = pageOf("members", memberSchema);
export const changeRoleSchema = z.strictObject({ role: roleSchema }).openapi("ChangeRole");
export const removeMemberQuerySchema = z.strictObject({
  keys: z.enum(["revoke", "keep"], { error: "must be revoke or keep." }).default("revoke").describe(
    "What happens to the API keys that the member created: they are revoked, or transferred to you.",
  ),
});

const invitationSchema = z.object({
  id: idOut("inv", "The invitation's id."),
  email: stringSchema("The invited email address.", "grace@example.com"),
  role: roleSchema.openapi({ description: "The role in the organization after joining.", example: "MEMBER" }),
  status: z.enum(["pending", "accepted", "revoked", "expired"]).describe(
    "Only pending invitations can be accepted.",
  ),
  invitedBy: z.object(person).nullable().describe(
    "Who sent the invitation. Null if it was the operator of the service, or if the account was deleted.",
  ),
  invitedByOperator: z.boolean().describe("Whether the operator of the service sent the invitation."),
  createdAt: timeOut("When the invitation was created."),
  sentAt: timeOut("When the latest email was requested."),
  expiresAt: timeOut("When the link expires."),
  acceptedAt: timeOut("When the invitation was accepted.").nullable(),
}).openapi("Invitation");
export const invitationResponseSchema = z.object({ invitation: invitationSchema });
export const invitationsSchema = pageOf("invitations", invitationSchema);
export const createInvitationSchema = z.strictObject({
  email: emailInSchema.openapi({ example: "grace@example.com" }),
  role: roleSchema.openapi({ description: "The role in the organization after joining.", example: "MEMBER" }),
}).openapi("CreateInvitation");

const id = idParam("org", "The organization's id.");
export const organizationParamsSchema = z.object({ id });
export const memberParamsSchema = z.object({ id, userId: idParam("usr", "The member's id.") });
export const invitationParamsSchema = z.object({ id, invitationId: idParam("inv", "The invitation's id.") });

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
      "about hard limits of their customers.",
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
