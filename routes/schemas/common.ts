// The shapes of the JSON API: what is checked on the way in and described in the OpenAPI document.
import { z } from "@hono/zod-openapi";
import { parseTime, parseTimestamp, timeFault } from "../../domain/meter/usage_window.ts";
import type { IdPrefix } from "../../domain/id.ts";
import { nameFault } from "../../domain/name.ts";
import { roles } from "../../domain/sign_in/session.ts";
import {
  apiKeyNameCharactersMax,
  emailCharactersMax,
  nameCharactersMax,
  pageItemsDefault,
  pageItemsMax,
  passwordCharactersMax,
  passwordCharactersMin,
} from "../../domain/limits.ts";

/** A name that people see: trimmed, counted in characters, with something to see of it. */
export function nameSchema(charactersMax: number) {
  const message = `must have 1 to ${charactersMax} characters.`;
  return z.string().trim().min(1, message)
    .refine((text) => text.length <= charactersMax || [...text].length <= charactersMax, message)
    .superRefine((text, context) => {
      const message = nameFault(text);
      if (message !== null) context.addIssue({ code: "custom", message });
    })
    .openapi({ minLength: 1, maxLength: charactersMax });
}

/** The moment at which something happened, which a date can't say. @returns Milliseconds since 1970. */
export const timeSchema = z.string()
  .transform((text, context) => {
    const ms = parseTimestamp(text);
    if (ms !== null) return ms;
    context.addIssue({ code: "custom", message: "must be a time such as 2026-11-21T14:03:11.000Z." });
    return z.NEVER;
  })
  .openapi({
    type: "string",
    format: "date-time",
    description: "ISO 8601 with a zone, such as 2027-01-31T00:00:00.000Z.",
  });

/** A time, or a date, which means its first moment in UTC. @returns Milliseconds since 1970. */
const timeOrDateSchema = z.string().transform((text, context) => {
  const ms = parseTime(text);
  if (ms !== null) return ms;
  context.addIssue({ code: "custom", message: timeFault(text) });
  return z.NEVER;
});
const timeOrDateWords = "A time in ISO 8601 with its offset, or a date, which means its first moment in UTC.";

/** An end of the range of a list. @param description Which. */
export function rangeEnd(description: string) {
  return timeOrDateSchema.optional().openapi({
    type: "string",
    description: `${description} ${timeOrDateWords}`,
    example: "2026-11-01",
  });
}

/** Until when something lasts; null is the same as leaving it out. @param description What. */
export function optionalEnd(description: string) {
  return timeOrDateSchema.nullish().openapi({
    type: ["string", "null"],
    description: `${description} ${timeOrDateWords}`,
    example: "2027-01-31",
  });
}

/** A point in time in an answer. @param description Of what. */
export function timeOut(description: string) {
  return z.string().openapi({
    format: "date-time",
    description: `${description} ISO 8601 UTC with milliseconds.`,
  });
}

/** The same, where null is as good as leaving it out. @param description Of what. */
export function optionalTime(description: string) {
  return timeSchema.nullish().openapi({
    type: ["string", "null"],
    format: "date-time",
    description: `${description} ISO 8601 with a zone.`,
  });
}

/** An id in an answer. @param prefix What it begins with. */
export function idOut(prefix: IdPrefix, description: string) {
  return z.string().openapi({ description, example: exampleId(prefix) });
}

/** @returns An id such as the program makes. */
export function exampleId(prefix: IdPrefix): string {
  return `${prefix}_0199d3c1a2b47c6e8f00112233445566`;
}

/** Where the next page of a list begins. */
export const nextCursorSchema = z.string().nullable().openapi({
  description: "The `cursor` of the next page; null at the end.",
});

/** A person's name in an answer. */
export const personNameSchema = z.string().openapi({
  description: "The person's name.",
  example: "Ada Lovelace",
});
/** A person's address in an answer. */
export const addressSchema = z.string().openapi({
  description: "The person's e-mail address.",
  example: "ada@example.com",
});

/** A role in an organization. */
export const roleSchema = z.enum(roles).openapi({
  description: "OWNERs may do everything, MEMBERs the least.",
});

/** A password that is to be. */
export const passwordSchema = z.string().openapi({
  minLength: passwordCharactersMin,
  maxLength: passwordCharactersMax,
  description:
    `${passwordCharactersMin} to ${passwordCharactersMax} characters, counted after NFKC; not a common one.`,
  example: "correct horse 9 battery",
});
export const emailInSchema = z.string().max(emailCharactersMax * 2, "is too long.").openapi({
  format: "email",
  maxLength: emailCharactersMax,
  description: `An e-mail address, ${emailCharactersMax} characters at most.`,
  example: "ada@example.com",
});
/** A password that is checked. */
export const presentPasswordSchema = z.string().openapi({
  description: "The present password.",
  example: "correct horse 9 battery",
});

/** What the last part of a mailed link is. */
export const tokenSchema = z.string().max(200, "is too long.").openapi({
  description: "The `token` of a mailed link.",
  example: "3q2Zr8vYw0nK1bT6mXc4LdFpHs9uJ7gE",
});

export const signUpSchema = z.strictObject({
  name: nameSchema(nameCharactersMax).openapi({
    description: `Your name, 1 to ${nameCharactersMax} characters.`,
    example: "Ada Lovelace",
  }),
  email: emailInSchema.optional().openapi({
    description: "Left out with an invitation: then it is the invited address.",
  }),
  password: passwordSchema,
  organizationName: nameSchema(nameCharactersMax).optional().openapi({
    description:
      `The new organization's name, 1 to ${nameCharactersMax} characters; made from yours when left out. Not with an invitation.`,
  }),
  invitationToken: z.string().max(200, "is too long.").optional().openapi({
    description: "From an invitation's link: the account joins that organization, and its address is proved.",
  }),
}).refine(({ email, invitationToken }) => email !== undefined || invitationToken !== undefined, {
  path: ["email"],
  message: "is required.",
}).refine(
  ({ organizationName, invitationToken }) => organizationName === undefined || invitationToken === undefined,
  {
    path: ["organizationName"],
    message: "does not go with an invitation, which leads to an organization that is there.",
  },
).openapi("SignUp");

export const signInSchema = z.strictObject({ email: emailInSchema, password: presentPasswordSchema }).openapi(
  "SignIn",
);

export const sessionUserSchema = z.object({
  authenticated: z.boolean().openapi({
    description: "Somebody is signed in; else the rest is null or empty.",
  }),
  user: z.object({
    id: idOut("usr", "The person's id."),
    name: personNameSchema,
    email: addressSchema,
    emailVerified: z.boolean().openapi({ description: "The address is confirmed." }),
  }).nullable().openapi({ description: "The person." }),
  organizationId: z.string().nullable().openapi({
    description: "The active organization's id; null for somebody who belongs to none.",
    example: exampleId("org"),
  }),
  role: roleSchema.nullable().openapi({ description: "The person's role in the active organization." }),
  memberships: z.array(z.object({
    organizationId: idOut("org", "The organization's id."),
    name: z.string().openapi({ description: "The organization's name.", example: "Analytical Engines" }),
    role: roleSchema,
  })).openapi({ description: "Every organization of the person." }),
}).openapi("SessionUser");

export const signInResponseSchema = sessionUserSchema.extend({
  secondStep: z.object({
    token: z.string().openapi({ description: "For the second step alone, once." }),
    expiresAt: timeOut("Until when the second step must be done."),
  }).optional().openapi({ description: "With two-step sign-in on: what the second step takes." }),
}).openapi("SignInAnswer");

export const apiKeySchema = z.object({
  id: idOut("key", "The key's id."),
  name: z.string().openapi({ description: "What you called it.", example: "Production" }),
  keyPrefix: z.string().openapi({
    description: "How the key begins, to tell it from others.",
    example: "service_live_7Kq2mXfB…",
  }),
  createdAt: timeOut("When it was made."),
  createdBy: z.object({ id: idOut("usr", "The person's id."), name: personNameSchema }).nullable().openapi({
    description: "Who made it; null when the account is gone.",
  }),
  lastUsedAt: timeOut("When it was used last, written at most once a minute.").nullable(),
  expiresAt: timeOut("When it ends by itself.").nullable(),
  revokedAt: timeOut("When it was revoked.").nullable(),
  status: z.enum(["active", "revoked", "expired"]).openapi({ description: "Only an active key is taken." }),
}).openapi("ApiKey");

export const createdApiKeySchema = z.object({
  apiKey: apiKeySchema,
  fullKey: z.string().openapi({
    description: "The whole key. It is in this answer alone, ever.",
    example: "service_live_7Kq2mXfB0example0example0example0",
  }),
}).openapi("CreatedApiKey");

const keyName = nameSchema(apiKeyNameCharactersMax).openapi({
  description: `What to call it, 1 to ${apiKeyNameCharactersMax} characters.`,
  example: "Production",
});

export const createApiKeySchema = z.strictObject({
  name: keyName,
  expiresAt: optionalEnd("When it ends by itself, in the future; never when left out."),
}).openapi("CreateApiKey");

export const renameApiKeySchema = z.strictObject({ name: keyName }).openapi("RenameApiKey");

export const rotateApiKeySchema = z.strictObject({
  expireOldAt: optionalEnd(
    "Until when the old key works besides, in the future; it is revoked at once when left out.",
  ),
}).openapi("RotateApiKey");

/** An id in a path. @param description Whose. */
export function idParam(prefix: IdPrefix, description: string) {
  return z.string().max(100).openapi({ description, example: exampleId(prefix) });
}

export const pageQuerySchema = z.strictObject({
  limit: z.string().regex(/^\d{1,3}$/, "must be a whole number.").transform(Number)
    .refine((n) => n >= 1 && n <= pageItemsMax, `must be from 1 to ${pageItemsMax}.`).default(
      pageItemsDefault,
    )
    .openapi({
      type: "integer",
      minimum: 1,
      maximum: pageItemsMax,
      default: pageItemsDefault,
      description: `How many items a page has at most, 1 to ${pageItemsMax}.`,
    }),
  cursor: z.string().max(200).optional().openapi({ description: "The `nextCursor` of the page before." }),
});
