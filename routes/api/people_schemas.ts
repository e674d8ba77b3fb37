// The shapes of organizations, members, invitations, sessions and accounts in the JSON API.
import { z } from "@hono/zod-openapi";
import { roles } from "../../domain/session.ts";
import { emailCharactersMax, nameCharactersMax } from "../../domain/limits.ts";
import { nameSchema, pageQuerySchema, passwordSchema, timeOutSchema, tokenSchema } from "./schemas.ts";

const role = z.enum(roles);
const email = z.string().max(emailCharactersMax * 2, "is too long.").openapi({ format: "email" });
const id = z.string().max(100, "is too long.");

export const organizationSchema = z.object({
  id: z.string().openapi({ example: "org_0199d3c1a2b47c6e8f00112233445566" }),
  name: z.string(),
  role: role.openapi({ description: "The role of whoever asks." }),
  memberCount: z.number().int(),
  createdAt: timeOutSchema,
}).openapi("Organization");

export const organizationAnswerSchema = z.object({ organization: organizationSchema });
export const organizationsSchema = z.object({ organizations: z.array(organizationSchema) });
export const organizationNameSchema = z.strictObject({ name: nameSchema(nameCharactersMax) }).openapi(
  "OrganizationName",
);
export const deleteOrganizationSchema = z.strictObject({
  name: z.string().max(nameCharactersMax * 2, "is too long.").openapi({
    description: "The organization's name, to confirm.",
  }),
}).openapi("DeleteOrganization");
export const transferOrganizationSchema = z.strictObject({ userId: id }).openapi("TransferOrganization");
export const activeOrganizationSchema = z.strictObject({ organizationId: id }).openapi("ActiveOrganization");

export const memberSchema = z.object({
  user: z.object({ id: z.string(), name: z.string(), email: z.string() }),
  role,
  joinedAt: timeOutSchema,
  twoStep: z.boolean().openapi({ description: "Two-step sign-in is on." }),
  activeApiKeys: z.number().int().openapi({
    description: "Active keys that they made in this organization.",
  }),
}).openapi("Member");
export const memberAnswerSchema = z.object({ member: memberSchema });
export const membersSchema = z.object({ members: z.array(memberSchema), nextCursor: z.string().nullable() });
export const roleSchema = z.strictObject({ role }).openapi("ChangeRole");
export const removeMemberQuerySchema = z.strictObject({
  keys: z.enum(["revoke", "keep"], { error: "must be “revoke” or “keep”." }).default("revoke").openapi({
    description: "What becomes of the keys that the member made: revoked, or handed to whoever removes them.",
  }),
});

export const invitationSchema = z.object({
  id: z.string().openapi({ example: "inv_0199d3c1a2b47c6e8f00112233445566" }),
  email: z.string(),
  role,
  status: z.enum(["pending", "accepted", "revoked", "expired"]),
  invitedBy: z.object({ id: z.string(), name: z.string() }).nullable(),
  createdAt: timeOutSchema,
  sentAt: timeOutSchema.openapi({ description: "When its latest mail was asked for." }),
  expiresAt: timeOutSchema,
  acceptedAt: timeOutSchema.nullable(),
}).openapi("Invitation");
export const invitationAnswerSchema = z.object({ invitation: invitationSchema });
export const invitationsSchema = z.object({
  invitations: z.array(invitationSchema),
  nextCursor: z.string().nullable(),
});
export const createInvitationSchema = z.strictObject({ email, role }).openapi("CreateInvitation");

export const organizationParamsSchema = z.object({ id });
export const memberParamsSchema = z.object({ id, userId: id });
export const invitationParamsSchema = z.object({ id, invitationId: id });
export const listQuerySchema = pageQuerySchema;

export const sessionSchema = z.object({
  id: z.string(),
  current: z.boolean().openapi({ description: "The session that asks." }),
  createdAt: timeOutSchema,
  lastSeenAt: timeOutSchema.openapi({ description: "Written at most every five minutes." }),
  expiresAt: timeOutSchema.openapi({ description: "When it ends if it is not used again." }),
  address: z.string().openapi({ description: "Where it was signed in from." }),
  userAgent: z.string(),
}).openapi("Session");
export const sessionsSchema = z.object({ sessions: z.array(sessionSchema) });

export const linkTokenSchema = z.strictObject({ token: tokenSchema }).openapi("LinkToken");
export const emailSchema = z.strictObject({ email }).openapi("Email");
export const resetPasswordSchema = z.strictObject({ token: tokenSchema, password: passwordSchema }).openapi(
  "ResetPassword",
);
export const changePasswordSchema = z.strictObject({
  currentPassword: z.string(),
  newPassword: passwordSchema,
}).openapi("ChangePassword");
export const currentPasswordSchema = z.strictObject({ password: z.string() }).openapi("CurrentPassword");
export const userNameSchema = z.strictObject({ name: nameSchema(nameCharactersMax) }).openapi("UserName");
