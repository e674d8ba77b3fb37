// The shapes of organizations, members, invitations, sessions and accounts in the JSON API.
import { z } from "@hono/zod-openapi";
import { nameCharactersMax } from "../../domain/limits.ts";
import {
  addressSchema,
  exampleId,
  idOut,
  idParam,
  nameSchema,
  nextCursorSchema,
  pageQuerySchema,
  personNameSchema,
  roleSchema,
  timeOut,
} from "./common.ts";
import { emailInSchema, passwordSchema, presentPasswordSchema, tokenSchema } from "./sign_in.ts";

const person = { id: idOut("usr", "The person's id."), name: personNameSchema };
const organizationName = nameSchema(nameCharactersMax).openapi({
  description: `The organization's name, 1 to ${nameCharactersMax} characters.`,
  example: "Analytical Engines",
});
const idIn = (prefix: "usr" | "org", description: string) =>
  z.string().max(100, "is too long.").openapi({ description, example: exampleId(prefix) });

export const organizationSchema = z.object({
  id: idOut("org", "The organization's id."),
  name: z.string().openapi({ description: "The organization's name.", example: "Analytical Engines" }),
  role: roleSchema.openapi({ description: "The role of whoever asks." }),
  memberCount: z.number().int().openapi({ description: "How many people belong to it." }),
  createdAt: timeOut("When it was made."),
}).openapi("Organization");

export const organizationResponseSchema = z.object({ organization: organizationSchema });
export const organizationsSchema = z.object({ organizations: z.array(organizationSchema) });
export const organizationNameSchema = z.strictObject({ name: organizationName }).openapi("OrganizationName");
export const deleteOrganizationSchema = z.strictObject({
  name: z.string().max(nameCharactersMax * 2, "is too long.").openapi({
    description: "The organization's name, to confirm. Quotation marks, dashes and spaces may be plain ones.",
    example: "Analytical Engines",
  }),
}).openapi("DeleteOrganization");
export const transferOrganizationSchema = z.strictObject({
  userId: idIn("usr", "The member who is to own it."),
}).openapi("TransferOrganization");
export const activeOrganizationSchema = z.strictObject({
  organizationId: idIn("org", "One of your organizations."),
}).openapi("ActiveOrganization");

export const memberSchema = z.object({
  user: z.object({ ...person, email: addressSchema }).openapi({ description: "Who it is." }),
  role: roleSchema,
  joinedAt: timeOut("Since when they belong to it."),
  twoStep: z.boolean().nullable().openapi({
    description: "Two-step sign-in is on. A MEMBER reads it of themself alone; of others it is null.",
  }),
  activeApiKeys: z.number().int().openapi({
    description: "Active keys that they made in this organization.",
  }),
}).openapi("Member");
export const memberResponseSchema = z.object({ member: memberSchema });
export const membersSchema = z.object({ members: z.array(memberSchema), nextCursor: nextCursorSchema });
export const changeRoleSchema = z.strictObject({ role: roleSchema }).openapi("ChangeRole");
export const removeMemberQuerySchema = z.strictObject({
  keys: z.enum(["revoke", "keep"], { error: "must be “revoke” or “keep”." }).default("revoke").openapi({
    description: "What becomes of the keys that the member made: revoked, or handed to whoever removes them.",
  }),
});

export const invitationSchema = z.object({
  id: idOut("inv", "The invitation's id."),
  email: z.string().openapi({ description: "Who is invited.", example: "grace@example.com" }),
  role: roleSchema.openapi({ description: "The role that they will have.", example: "MEMBER" }),
  status: z.enum(["pending", "accepted", "revoked", "expired"]).openapi({
    description: "Only a pending one can be accepted.",
  }),
  invitedBy: z.object(person).nullable().openapi({
    description: "Who invited them; null when the account is gone.",
  }),
  createdAt: timeOut("When it was made."),
  sentAt: timeOut("When its latest mail was asked for."),
  expiresAt: timeOut("Until when its link works."),
  acceptedAt: timeOut("When it was accepted.").nullable(),
}).openapi("Invitation");
export const invitationResponseSchema = z.object({ invitation: invitationSchema });
export const invitationsSchema = z.object({
  invitations: z.array(invitationSchema),
  nextCursor: nextCursorSchema,
});
export const createInvitationSchema = z.strictObject({
  email: emailInSchema.openapi({ example: "grace@example.com" }),
  role: roleSchema.openapi({ description: "The role that they will have.", example: "MEMBER" }),
}).openapi("CreateInvitation");

const id = idParam("org", "The organization's id.");
export const organizationParamsSchema = z.object({ id });
export const memberParamsSchema = z.object({ id, userId: idParam("usr", "The member's id.") });
export const invitationParamsSchema = z.object({ id, invitationId: idParam("inv", "The invitation's id.") });
export const sessionParamsSchema = z.object({ id: idParam("ses", "The session's id.") });
export const listQuerySchema = pageQuerySchema;

export const sessionSchema = z.object({
  id: idOut("ses", "The session's id."),
  current: z.boolean().openapi({ description: "The session that asks." }),
  createdAt: timeOut("When it was signed in."),
  lastSeenAt: timeOut("When it was used last, written at most every five minutes."),
  expiresAt: timeOut("When it ends if it is not used again."),
  address: z.string().openapi({ description: "Where it was signed in from.", example: "198.51.100.7" }),
  userAgent: z.string().openapi({
    description: "What the browser calls itself.",
    example: "Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0",
  }),
}).openapi("Session");
export const sessionsSchema = z.object({ sessions: z.array(sessionSchema) });

export const linkTokenSchema = z.strictObject({ token: tokenSchema }).openapi("LinkToken");
export const emailSchema = z.strictObject({ email: emailInSchema }).openapi("Email");
export const resetPasswordSchema = z.strictObject({ token: tokenSchema, password: passwordSchema }).openapi(
  "ResetPassword",
);
export const changePasswordSchema = z.strictObject({
  currentPassword: presentPasswordSchema,
  newPassword: passwordSchema,
}).openapi("ChangePassword");
export const currentPasswordSchema = z.strictObject({ password: presentPasswordSchema }).openapi(
  "CurrentPassword",
);
export const proofSchema = z.strictObject({
  password: presentPasswordSchema,
  code: z.string().max(100, "is too long.").optional().openapi({
    description:
      "Six digits from the authenticator app, or a recovery code. Required while two-step sign-in is on.",
    example: "123456",
  }),
}).openapi("Proof");
export const userNameSchema = z.strictObject({
  name: nameSchema(nameCharactersMax).openapi({
    description: `Your name, 1 to ${nameCharactersMax} characters.`,
    example: "Ada Lovelace",
  }),
}).openapi("UserName");
