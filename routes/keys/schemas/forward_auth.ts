// The shapes of forward authentication.
import { z } from "@hono/zod-openapi";
import { isId } from "../../../domain/id.ts";
import { slugForm } from "../../../domain/meter/usage_record.ts";
import { roles } from "../../../domain/access/session.ts";
import type { Meter } from "../../../services/meter/mod.ts";
import { keyPermission } from "./api_keys.ts";
import { exampleId, parsed, stringSchema } from "../../schemas/common.ts";

const meterSchema = parsed(z.string(), (text): Meter | null => {
  const [productSlug = "", metric = "", ...rest] = text.split("/");
  const isMeter = rest.length === 0 && slugForm.test(productSlug) && slugForm.test(metric);
  return isMeter ? { productSlug, metric } : null;
}, () => "must be a product and a metric, such as tiles/requests.");

function meterOf(description: string) {
  const pattern = `${slugForm.source.slice(0, -1)}/${slugForm.source.slice(1)}`;
  return meterSchema.optional().openapi({ type: "string", pattern, example: "tiles/requests", description });
}

/** The conditions that a session must meet. Also part of the address of the access page. */
export const forwardConditionsShape = {
  role: z.enum(roles).optional().describe(
    "The minimum role, in `organization` or else in the active organization. API keys have no role.",
  ),
  organization: z.string().refine((text) => isId("org", text), "must be the id of an organization.")
    .optional()
    .openapi({
      description:
        "Only members and API keys of this organization. It doesn't have to be the active organization.",
      pattern: "^org_[0-9a-f]{32}$",
    }),
  email: z.enum(["verified"]).optional().describe(
    "Only users with a confirmed email address. Doesn't apply to API keys.",
  ),
};

export const forwardQuerySchema = z.strictObject({
  ...forwardConditionsShape,
  user: z.enum(["id", "email"], { error: "must be id or email." }).optional().openapi({
    description:
      "What `Remote-User` contains: the user's id, or their email address for applications that identify users by it. " +
      "`email` requires `email=verified`. An email address can pass to another person; an id can't.",
    default: "id",
  }),
  accept: z.enum(["session", "key", "session,key", "key,session"], {
    error: "must be session, key or session,key.",
  }).optional().openapi({
    description:
      "Which credentials are accepted. With `key`, a request with an `Authorization` header is authenticated by that " +
      "header alone.",
    default: "session",
  }),
  meter: meterOf(
    "A product and a metric. Records a quantity of 1 for each request admitted with an API key. Requires `key` in " +
      "`accept`. Requests with a session are not metered.",
  ),
  limit: z.enum(["on"]).optional().describe(
    "The status for a metered request that doesn't fit into a hard or cutoff limit: with `on` 429 with `Retry-After`, otherwise 403. " +
      "Requires `meter`. Caddy and Traefik pass 429 on; nginx passes only 401 and 403 on by itself.",
  ),
  permission: keyPermission.optional().openapi({
    description:
      "Only API keys with this permission. Requires `key` in `accept`. People have no permissions, so they are denied.",
    example: "maps:render",
  }),
  redirect: z.enum(["302", "401"], { error: "must be 302 or 401." }).optional().openapi({
    description:
      "The status of responses with a `Location`. Use 401 for nginx, which can't handle a redirect here: the `Location` " +
      "then comes with a 401 or 403.",
    default: "302",
  }),
}).refine(({ user, email }) => user !== "email" || email === "verified", {
  path: ["user"],
  message: "requires email=verified.",
}).superRefine(({ accept = "session", ...conditions }, context) => {
  for (const name of ["meter", "permission"] as const) {
    if (accept !== "session" || conditions[name] === undefined) continue;
    const message = "requires accept=key or accept=session,key.";
    context.addIssue({ code: "custom", path: [name], message });
  }
}).refine(({ limit, meter }) => limit === undefined || meter !== undefined, {
  path: ["limit"],
  message: "requires meter.",
});

export const forwardKeyQuerySchema = z.strictObject({
  organization: forwardConditionsShape.organization.openapi({
    description: "Only API keys of this organization.",
  }),
  permission: keyPermission.optional().openapi({
    description: "Only API keys with this permission.",
    example: "maps:render",
  }),
  meter: meterOf("A product and a metric. Records a quantity of 1 for each request that is admitted."),
});

export const forwardedHeadersSchema = z.object({
  "X-Forwarded-Method": stringSchema("The method of the original request.").optional(),
  "X-Forwarded-Proto": stringSchema("The scheme of the original request. Defaults to that of `BASE_URL`.")
    .optional(),
  "X-Forwarded-Host": stringSchema("The host of the original request, including the port.").optional(),
  "X-Forwarded-Uri": stringSchema("The path and query of the original request.").optional(),
});

/** They tell the application who a request is from. */
export const identityHeaders = {
  "Remote-User": {
    description:
      "The user's id, which never changes and is never reused. With `user=email` their confirmed email address, encoded " +
      "like `Remote-Email`. Empty for an API key.",
    example: exampleId("usr"),
  },
  "Remote-Email": {
    description:
      "The user's email address. Characters outside printable ASCII are percent-encoded, and `%` is `%25`. Anyone can " +
      "sign up with any address: trust it only with `email=verified`, or if `Remote-Email-Verified` is `true`.",
    example: "ada@example.com",
  },
  "Remote-Email-Verified": {
    description: "`true` if the email address is confirmed, otherwise `false`. Empty for an API key.",
    example: "true",
  },
  "Remote-Name": {
    description: "The user's display name, encoded like `Remote-Email`.",
    example: "Ada Lovelace",
  },
  "Remote-Organization": {
    description: "The id of the requested organization, or else of the active one, or of the key's.",
    example: exampleId("org"),
  },
  "Remote-Role": {
    description: "The user's role in that organization. Empty for an API key.",
    example: "ADMIN",
  },
  "Remote-Api-Key": { description: "The API key's id. Empty for a user.", example: exampleId("key") },
  "Remote-Key-Environment": {
    description: "`live`, or `test` for a test key. Empty for a user.",
    example: "live",
  },
  "Remote-Permissions": {
    description: "The API key's permissions, separated by commas. Empty for a user.",
    example: "maps:render,usage:read,usage:write",
  },
  "Remote-Features": {
    description: "The features of that organization's plan, separated by commas.",
    example: "maps:satellite,sso",
  },
} as const;
