// Holds: their API for keys, members and operators.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import type { RecordTarget } from "../../db/meter/mod.ts";
import { AppError, type ErrorCode, validationError } from "../../domain/errors.ts";
import type { HoldRecord } from "../../domain/meter/hold.ts";
import { organizationIdOf } from "../../services/access/mod.ts";
import {
  createHold,
  extendHoldOf,
  getHold,
  type HoldActor,
  listHolds,
  releaseHoldOf,
  settleHold,
} from "../../services/meter/mod.ts";
import { activeRoutes } from "../api/access_routes.ts";
import { mount, type MountRoute } from "../api/endpoint.ts";
import { operatorRoutes } from "../api/operator_routes.ts";
import type { AppContext, AppEnv, AppParts } from "../env.ts";
import { apiKeyAuth, keyRoutes } from "./api_key_auth.ts";
import { addLimitHeaders } from "./recording.ts";
import * as schemas from "./schemas/holds.ts";
import { targetOf } from "./schemas/record_target.ts";
import { idempotencyKeySchema } from "./schemas/usage.ts";
import { idempotencyHeader } from "./usage.ts";

const path = "/api/v1/holds";
const operatorPath = "/api/operator/holds";

const newErrors = [
  "idempotency_conflict",
  "series_limit_reached",
  "limit_exceeded",
  "hold_limit_reached",
] as const satisfies readonly ErrorCode[];
const making = {
  summary: "Hold room in limits",
  description:
    "Takes room in every limit that counts the records, before the work begins. Settle the hold with what was used, or release it. " +
    "It ends by itself when it expires.",
  responses: {
    201: { description: "The new hold.", schema: schemas.heldSchema },
    200: { description: "The hold had already been made.", schema: schemas.heldSchema },
  },
} as const;
const settling = {
  summary: "Settle a hold",
  description:
    "Records what was used, with the time of the hold, and ends the hold in one transaction. No limit rejects the records. Works until " +
    "35 days after the hold was made, also after it has expired. A repeat with the same records has no effect.",
  params: schemas.holdParamsSchema,
  body: schemas.settleHoldSchema,
  responses: {
    201: { description: "The hold is settled.", schema: schemas.settledSchema },
    200: { description: "It had already been settled with these records.", schema: schemas.settledSchema },
  },
} as const;
const changed = {
  params: schemas.holdParamsSchema,
  responses: { 200: { description: "The hold.", schema: schemas.oneHoldSchema } },
} as const;
const releasing = {
  ...changed,
  summary: "Release a hold",
  description: "Ends the hold without usage. Releasing it again has no effect.",
} as const;
const extending = {
  ...changed,
  summary: "Extend a hold",
  description: "An active hold can be extended until 24 hours after it was made.",
  body: schemas.extendHoldSchema,
} as const;
const listing = {
  description:
    "The newest first. Holds are kept for 3 days after they ended, and those that expired for 35 days.",
  responses: { 200: { description: "A page of holds.", schema: schemas.holdsSchema } },
} as const;

export function holdRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  keyHoldRoutes(app, parts);
  const { services } = parts;
  activeRoutes(app, parts)({
    ...listing,
    route: "GET /api/portal/holds",
    operationId: "listOrganizationHolds",
    summary: "List holds of the active organization",
    query: schemas.holdsQuerySchema,
  }, (_c, { query }, access) => listHolds(services, access, query));
  const operators = { read: "usage:read", write: "usage:write" } as const;
  operatorHoldRoutes(operatorRoutes(app, parts, operators), parts);
  // The verb requires usage:write, too, except for what was held by verification.
  const ending = operatorRoutes(app, parts, { ...operators, write: ["usage:write", "keys:verify"] });
  operatorEndingRoutes(ending, parts);
}

function keyHoldRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const key = { tag: "Usage", security: "apiKey" } as const;
  mount(app, {
    ...key,
    ...making,
    route: `POST ${path}`,
    operationId: "createHold",
    headers: z.object({ "Idempotency-Key": idempotencyKeySchema.optional() }),
    body: schemas.createHoldSchema,
    errors: newErrors,
  }, {
    ...apiKeyAuth(parts),
    handle: (c, { body, bytes }, keyHash) =>
      make(c, parts, { actor: { keyHash, bytes, client: c.get("client") }, body }),
  });
  // The keys of a suspended organization may end its holds.
  const ending = apiKeyAuth(parts, { allowsSuspended: true });
  mount(app, {
    ...key,
    ...settling,
    route: `POST ${path}/{id}/settle`,
    operationId: "settleHold",
    errors: ["hold_ended", "hold_of_operator", "series_limit_reached"],
  }, {
    ...ending,
    handle: (c, { params: { id }, body, bytes }, keyHash) =>
      settle(c, parts, { actor: { keyHash, bytes, client: c.get("client") }, id, body }),
  });
  mount(app, {
    ...key,
    ...releasing,
    route: `POST ${path}/{id}/release`,
    operationId: "releaseHold",
    body: schemas.noBodySchema,
    bodyOptional: true,
    errors: ["hold_ended", "hold_of_operator"],
  }, {
    ...ending,
    handle: async (c, { params: { id }, bytes }, keyHash) => ({
      hold: await releaseHoldOf(services, { keyHash, bytes, client: c.get("client") }, { id }),
    }),
  });
  mount(app, {
    ...key,
    ...extending,
    route: `POST ${path}/{id}/extend`,
    operationId: "extendHold",
    errors: ["hold_ended", "hold_of_operator", "hold_too_long", "key_inactive"],
  }, {
    ...apiKeyAuth(parts),
    handle: async (c, { params: { id }, body: { expiresIn }, bytes }, keyHash) => ({
      hold: await extendHoldOf(services, { keyHash, bytes, client: c.get("client") }, {
        id,
        expiresInMs: expiresIn * 1000,
      }),
    }),
  });
  const route = keyRoutes(app, parts);
  route({
    ...listing,
    route: `GET ${path}`,
    operationId: "listHolds",
    summary: "List holds of the key's organization",
    query: schemas.holdsQuerySchema,
  }, (_c, { query }, access) => listHolds(services, access, query));
  route({
    ...changed,
    route: `GET ${path}/{id}`,
    operationId: "readHold",
    summary: "Get a hold",
  }, async (_c, { params: { id } }, access) => ({ hold: await getHold(services, access, id) }));
}

type MountOperatorRoute = MountRoute<Exclude<HoldActor, { keyHash: string }>>;

function operatorHoldRoutes(route: MountOperatorRoute, parts: AppParts): void {
  const { services } = parts;
  route({
    ...making,
    route: `POST ${operatorPath}`,
    operationId: "createHoldAsOperator",
    description:
      `${making.description} For an organization, or one of its API keys. Name it in one of the fields.`,
    headers: z.object({ "Idempotency-Key": idempotencyKeySchema.optional() }),
    body: schemas.createHoldForSchema,
    errors: [...newErrors, "organization_suspended", "key_inactive"],
  }, (c, { body }, actor) => make(c, parts, { actor, body, target: targetOf(body) }));
  route({
    ...listing,
    route: `GET ${operatorPath}`,
    operationId: "listHoldsAsOperator",
    summary: "List holds of organizations",
    query: schemas.operatorHoldsQuerySchema,
  }, async (_c, { query: { organizationId: idText, ...query } }) => {
    const organizationId = idText && await organizationIdOf(services, idText);
    return listHolds(services, { organizationId }, query);
  });
}

const ofVerification = "With `keys:verify`, only holds that were made by verification.";

function operatorEndingRoutes(route: MountOperatorRoute, parts: AppParts): void {
  const { services } = parts;
  route({
    ...settling,
    route: `POST ${operatorPath}/{id}/settle`,
    operationId: "settleHoldAsOperator",
    description: `${settling.description} ${ofVerification}`,
    errors: ["hold_ended", "series_limit_reached"],
  }, (c, { params: { id }, body }, actor) => settle(c, parts, { actor, id, body }));
  route({
    ...releasing,
    route: `POST ${operatorPath}/{id}/release`,
    operationId: "releaseHoldAsOperator",
    description: `${releasing.description} Give a reason for the hold of an API key. ${ofVerification}`,
    body: schemas.releaseHoldSchema,
    bodyOptional: true,
    errors: ["hold_ended"],
  }, async (_c, { params: { id }, body: { reason } }, actor) => ({
    hold: await releaseHoldOf(services, actor, { id, reason }),
  }));
  route({
    ...extending,
    route: `POST ${operatorPath}/{id}/extend`,
    operationId: "extendHoldAsOperator",
    description: `${extending.description} ${ofVerification}`,
    errors: ["hold_ended", "hold_too_long", "organization_suspended", "key_inactive"],
  }, async (_c, { params: { id }, body: { expiresIn } }, actor) => ({
    hold: await extendHoldOf(services, actor, { id, expiresInMs: expiresIn * 1000 }),
  }));
}

type NewHold = z.output<typeof schemas.createHoldSchema>;

async function make(
  c: AppContext,
  { services }: AppParts,
  { actor, body, target }: { actor: HoldActor; body: NewHold; target?: RecordTarget },
): Promise<Response> {
  const header = idempotencyHeader(c);
  const { idempotencyKey, expiresIn, onExpiry } = body;
  if (header !== null && (idempotencyKey ?? header) !== header) {
    const message = "must not differ from the header Idempotency-Key.";
    throw validationError([{ path: "idempotencyKey", message }]);
  }
  const input = {
    records: recordsOf(body),
    expiresInMs: expiresIn * 1000,
    onExpiry,
    idempotencyKey: idempotencyKey ?? header,
  };
  const now = services.clock();
  try {
    const { hold, limits, isRepeat } = await createHold(services, actor, { input, ...target && { target } });
    addLimitHeaders(c, limits, now);
    if (isRepeat) c.set("isRepeat", true);
    return isRepeat ? c.json({ duplicate: true, hold, limits }, 200) : c.json({ hold, limits }, 201);
  } catch (error) {
    if (error instanceof AppError) addLimitHeaders(c, error.limits ?? [], now);
    throw error;
  }
}

async function settle(
  c: AppContext,
  { services }: AppParts,
  { actor, id, body }: { actor: HoldActor; id: string; body: Pick<NewHold, "records"> },
): Promise<Response> {
  const settled = await settleHold(services, actor, { id, records: recordsOf(body) });
  const { hold, usageRecords, beyond, limits, isRepeat } = settled;
  addLimitHeaders(c, limits, services.clock());
  if (isRepeat) c.set("isRepeat", true);
  return c.json({ hold, usageRecords, beyond, limits }, isRepeat ? 200 : 201);
}

function recordsOf({ records }: Pick<NewHold, "records">): HoldRecord[] {
  return records.map(({ productSlug, metric, quantity, properties = null }) => ({
    productSlug,
    metric,
    quantity,
    properties,
  }));
}
