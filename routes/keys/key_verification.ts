// Verification of API keys for the services that receive them.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { AppError } from "../../domain/errors.ts";
import { clientAddressCharactersMax } from "../../domain/keys/key_limits.ts";
import { holdRecordsMax, holdSecondsDefault } from "../../domain/meter/hold.ts";
import { sortedPermissions } from "../../domain/keys/key_permissions.ts";
import { verificationCodes } from "../../domain/meter/key_verification.ts";
import { requireOperatorToken } from "../../services/access/mod.ts";
import { type UsageQuestion, verifyApiKey } from "../../services/meter/mod.ts";
import { bearerTokenHash, limitInvalidToken } from "../api/bearer.ts";
import { mount } from "../api/endpoint.ts";
import type { AppContext, AppEnv, AppParts } from "../env.ts";
import { keyPermissionsSchema, operatedApiKeySchema } from "./schemas/api_keys.ts";
import { idOut, stringSchema } from "../schemas/common.ts";
import { characters, required } from "../schemas/messages.ts";
import { holdSchema, holdTerms } from "../meter/schemas/holds.ts";
import { limitStandingSchema } from "../meter/schemas/limits.ts";
import { featuresIn } from "../schemas/features.ts";
import { usageInputSchema } from "../meter/schemas/usage.ts";

const verifiedUsageSchema = usageInputSchema.omit({ timestamp: true })
  .extend({
    quantity: usageInputSchema.shape.quantity.optional().openapi({
      type: "number",
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      default: 1,
      description: "The quantity in the metric's unit, with at most 6 decimal places.",
    }),
  }).openapi("VerifiedUsage", {
    description:
      "Usage that must fit into the hard limits of the key and its organization, and of whose cutoff limits something must be left. The key doesn't need `usage:write`.",
  });
const recordSchema = z.boolean().optional().openapi({
  default: false,
  description:
    "Whether to record the usage, if the code is `VALID`. It is on disk when the response is sent.",
});
const countFault = `must have 1 to ${holdRecordsMax} usages.`;
/** One usage, with `record` as of old, or several. */
const usageSchema = z.union([
  z.strictObject({ ...verifiedUsageSchema.shape, record: recordSchema }).openapi("SingleVerifiedUsage"),
  z.array(verifiedUsageSchema).min(1, countFault).max(holdRecordsMax, countFault),
]).openapi({
  description:
    `Usage that must fit into the hard limits of the key and its organization: one, or a list of 1 to ${holdRecordsMax}. A list fits if, ` +
    "added up, it fits into every limit. What was recorded already, by its idempotency key, always fits and counts once.",
});
const holdTermsSchema = z.strictObject(holdTerms).openapi("VerifiedHold");

const verifyKeySchema = z.strictObject({
  key: z.string().openapi({
    description: "The key, as your customer sent it.",
    example: "service_live_7Kq2mXfB0example0example0example0",
  }),
  address: z.string().max(clientAddressCharactersMax, characters(clientAddressCharactersMax)).optional()
    .openapi({
      description:
        "The IP address of the client that sent you the key. Without it, a key that may only be used from some addresses is denied.",
      example: "198.51.100.7",
    }),
  permissions: keyPermissionsSchema.openapi({
    description: "Permissions that the key must have, all of them.",
    example: ["maps:render"],
  }),
  features: featuresIn.optional().openapi({
    description: "Features that the plan of the key's organization must include, all of them.",
    example: ["sso"],
  }),
  usage: usageSchema.optional(),
  record: recordSchema,
  hold: z.union([z.literal(true), holdTermsSchema]).optional().openapi({
    description:
      "Holds the usage, if the code is `VALID`, instead of recording it: `true`, or the terms of the hold. Settle or release it with an " +
      "operator token.",
  }),
}).superRefine(({ usage, record, hold }, context) => {
  const fail = (message: string, ...path: (string | number)[]) =>
    context.addIssue({ code: "custom", message, path });
  const single = Array.isArray(usage) ? undefined : usage;
  const isRecorded = record ?? single?.record ?? false;
  if (usage === undefined && (isRecorded || hold !== undefined)) fail(required, "usage");
  if (record !== undefined && single?.record !== undefined && record !== single.record) {
    fail("must not differ from “record”.", "usage", "record");
  }
  if (hold === undefined) return;
  if (isRecorded) fail("can't be combined with “record”.", "hold");
  for (const [index, { idempotencyKey }] of [usage ?? []].flat().entries()) {
    if (typeof idempotencyKey !== "string") continue;
    const path = single === undefined ? ["usage", index] : ["usage"];
    fail("must be that of the hold.", ...path, "idempotencyKey");
  }
}).openapi("VerifyKey");

const ifAsked = "Only if `usage` is a list, or the request has `record` or `hold` beside it.";
const keyVerificationSchema = z.object({
  valid: z.boolean().describe("Whether the code is `VALID`."),
  code: z.enum(verificationCodes).openapi({
    description: "The first of these that applies:\n\n" +
      "- `NOT_FOUND`: there is no such key.\n" +
      "- `REVOKED`, `EXPIRED`: the key no longer works.\n" +
      "- `DISABLED`: the key doesn't work until it is enabled again.\n" +
      "- `ADDRESS_DENIED`: the key may not be used from `address`.\n" +
      "- `ORGANIZATION_SUSPENDED`: its organization is suspended.\n" +
      "- `INSUFFICIENT_PERMISSIONS`: it lacks one of `permissions`.\n" +
      "- `FEATURE_MISSING`: the plan of its organization lacks one of `features`.\n" +
      "- `RATE_LIMITED`: it has reached its requests per second.\n" +
      "- `USAGE_EXCEEDED`: the usage doesn't fit into a hard limit, or nothing is left of a cutoff limit.\n" +
      "- `VALID`: everything is fine.",
    example: "VALID",
  }),
  apiKey: operatedApiKeySchema.pick({
    id: true,
    name: true,
    environment: true,
    permissions: true,
    expiresAt: true,
    externalId: true,
    metadata: true,
  }).nullable().describe(
    "The key. Null if it wasn't found.",
  ),
  organization: z.object({
    id: idOut("org", "The organization's id."),
    name: stringSchema("Its name.", "Northwind Maps"),
    externalId: stringSchema("Its id in your own systems, if set.", "customer-4711").nullable(),
    planId: idOut("plan", "The id of its plan."),
    features: z.array(z.string()).openapi({
      description: "The features of its plan, sorted.",
      example: ["maps:satellite", "sso"],
    }),
  }).nullable().describe(
    "The key's organization. Null if the key wasn't found, or the organization was deleted.",
  ),
  limits: z.array(limitStandingSchema).describe(
    "Every limit that applies to `usage`, once, in the current window. Empty if nothing was asked about, or another code applies first. When " +
      "usage is recorded, a soft limit is missing until its earlier usage is added up.",
  ),
  usageRecords: z.array(z.string()).optional().describe(
    `The ids of the usage records, in the order of \`usage\`. Empty unless usage was recorded. ${ifAsked}`,
  ),
  duplicates: z.number().int().optional().describe(
    `How many usage records existed already, or 1 if the hold did. ${ifAsked}`,
  ),
  hold: holdSchema.nullable().optional().describe(
    `The hold. Null unless the code is \`VALID\` and the request has \`hold\`. ${ifAsked}`,
  ),
}).openapi("KeyVerification");

const scope = "keys:verify";

export function keyVerificationRoutes(app: OpenAPIHono<AppEnv>, { services }: AppParts): void {
  mount(app, {
    route: "POST /api/v1/keys/verify",
    tag: "API keys",
    operationId: "verifyApiKey",
    summary: "Verify a customer's API key",
    description:
      "For a service that receives requests with your customers' keys. Nothing is cached: the response to the next request " +
      "shows a revoked key, a suspended organization or changed permissions. Every well-formed request gets a 200 response. " +
      "It counts against the key's requests per second, and as a use of a key that works, also if it denies. With `record` or `hold`, " +
      `everything is decided in the transaction that records or holds, and all usage is recorded or none.\n\nTokens need the scope \`${scope}\`.`,
    errors: ["idempotency_conflict", "series_limit_reached", "hold_limit_reached"],
    security: "operatorToken",
    body: verifyKeySchema,
    responses: { 200: { description: "Whether the key works.", schema: keyVerificationSchema } },
  }, {
    // The token is read together with the key.
    authenticate: (c) => bearerTokenHash(c.get("headers")["authorization"]),
    onError: async (c, error) => limitInvalidToken(services, c, await tokenError(c, error)),
    handle: async (c, { body, bytes }, tokenHash) => {
      const { key, address = null, permissions = [], features = [], usage } = body;
      const question = {
        key,
        address,
        permissions: sortedPermissions(permissions),
        features: sortedPermissions(features),
        bytes,
        usage: [usage ?? []].flat().map(usageQuestion),
        write: writeOf(body),
      };
      try {
        const verified = await verifyApiKey(services, { tokenHash, client: c.get("client") }, question);
        if (body.record !== undefined || body.hold !== undefined || Array.isArray(usage)) return verified;
        // As it was before there were lists and holds.
        const { usageRecords: _records, duplicates: _duplicates, hold: _hold, ...verification } = verified;
        return verification;
      } catch (error) {
        throw error instanceof AppError ? inQuestion(error, body) : error;
      }
    },
  });

  /** Returns the error of the token, so that callers without a working one learn nothing about the question. */
  async function tokenError(c: AppContext, error: unknown): Promise<unknown> {
    if (!(error instanceof AppError) || error.code === "invalid_operator_token") return error;
    try {
      const tokenHash = bearerTokenHash(c.get("headers")["authorization"]);
      await requireOperatorToken(services, { tokenHash, scope, client: c.get("client") });
      return error;
    } catch (tokenError) {
      return tokenError;
    }
  }
}

type VerifyKey = z.output<typeof verifyKeySchema>;

function usageQuestion(
  { productSlug, metric, quantity = { whole: 1, micro: 0 }, idempotencyKey = null, properties = null }:
    z.output<typeof verifiedUsageSchema>,
): UsageQuestion {
  return { productSlug, metric, quantity, idempotencyKey, properties };
}

function writeOf({ usage, record, hold }: VerifyKey): Parameters<typeof verifyApiKey>[2]["write"] {
  if (hold !== undefined) {
    const { expiresIn = holdSecondsDefault, onExpiry = "release", idempotencyKey = null } = hold === true
      ? {}
      : hold;
    return { expiresInMs: expiresIn * 1000, onExpiry, idempotencyKey };
  }
  const single = Array.isArray(usage) ? undefined : usage;
  return record ?? single?.record ? "record" : null;
}

/** Returns an error about records with the paths that they have in the question. */
function inQuestion(error: AppError, { usage, hold }: VerifyKey): AppError {
  const { code, message, details, limits, retryAfterSeconds } = error;
  if (details === undefined) return error;
  const single = Array.isArray(usage) ? "usage[0]" : "usage";
  const moved = details.map(({ path, ...detail }) => ({
    ...detail,
    path: path.startsWith("records[")
      ? path.replace("records", "usage")
      : `${hold !== undefined && path === "idempotencyKey" ? "hold" : single}.${path}`,
  }));
  return new AppError(code, message, { details: moved, limits, retryAfterSeconds });
}
