// The shapes of the JSON API: what is checked on the way in and described in the OpenAPI document.
import { z } from "@hono/zod-openapi";
import { parseTimestamp } from "../../domain/usage_window.ts";
import { roles } from "../../domain/session.ts";
import {
  apiKeyNameCharactersMax,
  emailCharactersMax,
  nameCharactersMax,
  pageItemsDefault,
  pageItemsMax,
  passwordCharactersMax,
  passwordCharactersMin,
} from "../../domain/limits.ts";

/** Every error, of every route. */
export const errorSchema = z.object({
  error: z.object({
    code: z.string().openapi({ description: "A stable name, for programs.", example: "validation_failed" }),
    message: z.string().openapi({ description: "One sentence, for a person." }),
    details: z.array(z.object({
      path: z.string().openapi({ example: "records[17].quantity" }),
      message: z.string(),
    })).optional(),
  }),
  requestId: z.string().openapi({ description: "The same as the header `X-Request-Id`." }),
}).openapi("Error");

/** A name that people see: trimmed, counted in characters. */
export function nameSchema(charactersMax: number) {
  const message = `must have 1 to ${charactersMax} characters.`;
  return z.string().trim().min(1, message)
    .refine((text) => text.length <= charactersMax || [...text].length <= charactersMax, message)
    .openapi({ minLength: 1, maxLength: charactersMax });
}

/** A point in time that a caller gives. @returns Milliseconds since 1970. */
export const timeSchema = z.string()
  .transform((text, context) => {
    const ms = parseTimestamp(text);
    if (ms !== null) return ms;
    context.addIssue({ code: "custom", message: "must be a time such as 2026-11-21T14:03:11.000Z." });
    return z.NEVER;
  })
  .openapi({ type: "string", format: "date-time", example: "2027-01-31T00:00:00.000Z" });

/** A point in time in an answer. */
export const timeOutSchema = z.string().openapi({
  format: "date-time",
  description: "ISO 8601 UTC with milliseconds.",
});

/** A password that is to be. */
export const passwordSchema = z.string().openapi({
  minLength: passwordCharactersMin,
  maxLength: passwordCharactersMax,
  description:
    `${passwordCharactersMin} to ${passwordCharactersMax} characters, counted after NFKC; not a common one.`,
});
const email = z.string().max(emailCharactersMax * 2, "is too long.").openapi({ format: "email" });

/** What the last part of a mailed link is. */
export const tokenSchema = z.string().max(200, "is too long.").openapi({
  description: "The `token` of a mailed link.",
});

export const signUpSchema = z.strictObject({
  name: nameSchema(nameCharactersMax),
  email: email.optional().openapi({
    description: "Left out with an invitation: then it is the invited address.",
  }),
  password: passwordSchema,
  organizationName: nameSchema(nameCharactersMax).optional(),
  invitationToken: tokenSchema.optional().openapi({
    description: "From an invitation's link: the account joins that organization, and its address is proved.",
  }),
}).refine(({ email, invitationToken }) => email !== undefined || invitationToken !== undefined, {
  path: ["email"],
  message: "is required.",
}).openapi("SignUp");

export const signInSchema = z.strictObject({ email, password: z.string() }).openapi("SignIn");

const roleSchema = z.enum(roles);

export const sessionUserSchema = z.object({
  authenticated: z.boolean(),
  user: z.object({
    id: z.string().openapi({ example: "usr_0199d3c1a2b47c6e8f00112233445566" }),
    name: z.string(),
    email: z.string(),
    emailVerified: z.boolean(),
  }).nullable(),
  organizationId: z.string().nullable().openapi({ description: "The active organization." }),
  role: roleSchema.nullable(),
  memberships: z.array(z.object({ organizationId: z.string(), name: z.string(), role: roleSchema })),
}).openapi("SessionUser");

export const signInAnswerSchema = sessionUserSchema.extend({
  secondStep: z.object({
    token: z.string().openapi({ description: "For the second step alone, once." }),
    expiresAt: timeOutSchema,
  }).optional(),
}).openapi("SignInAnswer");

export const apiKeySchema = z.object({
  id: z.string().openapi({ example: "key_0199d3c1a2b47c6e8f00112233445566" }),
  name: z.string(),
  keyPrefix: z.string().openapi({ example: "service_live_7Kq2mXfB…" }),
  createdAt: timeOutSchema,
  createdBy: z.object({ id: z.string(), name: z.string() }).nullable(),
  lastUsedAt: timeOutSchema.nullable().openapi({ description: "Written at most once a minute." }),
  expiresAt: timeOutSchema.nullable(),
  revokedAt: timeOutSchema.nullable(),
  status: z.enum(["active", "revoked", "expired"]),
}).openapi("ApiKey");

export const createdApiKeySchema = z.object({
  apiKey: apiKeySchema,
  fullKey: z.string().openapi({ description: "The whole key. It is in this answer alone, ever." }),
}).openapi("CreatedApiKey");

export const createApiKeySchema = z.strictObject({
  name: nameSchema(apiKeyNameCharactersMax),
  expiresAt: timeSchema.nullish(),
}).openapi("CreateApiKey");

export const renameApiKeySchema = z.strictObject({ name: nameSchema(apiKeyNameCharactersMax) }).openapi(
  "RenameApiKey",
);

export const rotateApiKeySchema = z.strictObject({ expireOldAt: timeSchema.nullish() }).openapi(
  "RotateApiKey",
);

export const idParamsSchema = z.object({ id: z.string().max(100) });

export const pageQuerySchema = z.strictObject({
  limit: z.string().regex(/^\d{1,3}$/, "must be a whole number.").transform(Number)
    .refine((n) => n >= 1 && n <= pageItemsMax, `must be from 1 to ${pageItemsMax}.`).default(
      pageItemsDefault,
    )
    .openapi({ type: "integer", minimum: 1, maximum: pageItemsMax, default: pageItemsDefault }),
  cursor: z.string().max(200).optional().openapi({ description: "The `nextCursor` of the page before." }),
});
