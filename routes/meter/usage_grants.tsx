// Grants of organizations: their shapes, their API for operators and members, and the console's pages.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { newId } from "../../domain/id.ts";
import type { Catalogue } from "../../domain/meter/catalogue.ts";
import { splitQuantity } from "../../domain/meter/quantity.ts";
import {
  grantQuantityMax,
  grantReasonCharactersMax,
  type UsageGrant,
  usageGrantStatuses,
} from "../../domain/meter/usage_grant.ts";
import { windowPeriods } from "../../domain/meter/usage_limit.ts";
import { refillPeriods } from "../../domain/meter/usage_refill.ts";
import { type OperatorAccess, operatorAccess } from "../../services/access/mod.ts";
import {
  createGrant,
  getGrant,
  listGrants,
  metricOfLimit,
  readLimits,
  readProductNames,
  requireFutureEnd,
  voidGrant,
} from "../../services/meter/mod.ts";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { SelectField, TextField } from "../../views/components/field.tsx";
import { type FormInput, FormPage, type PageForm } from "../../views/components/form_page.tsx";
import { organizationHref, organizationsHref } from "../../views/components/links.ts";
import { everyWords, grantQuantity, leftOf } from "../../views/meter/grants.tsx";
import { limitName } from "../../views/text/limit.ts";
import { activeRoutes, operatedRoutes } from "../api/access_routes.ts";
import type { App, AppContext, AppEnv, AppParts } from "../env.ts";
import { checkQuantity } from "./limit_input.ts";
import { mountFormPage, paramOf } from "../portal/noun_pages.ts";
import { consolePages } from "../portal/operator_page.ts";
import type { PortalParts } from "../portal/page.ts";
import { check, checkTogether } from "../schemas/check.ts";
import {
  idOut,
  idParam,
  nameSchema,
  optionalEnd,
  pageOf,
  pageQuerySchema,
  stringSchema,
  timeOut,
} from "../schemas/common.ts";
import { organizationParamsSchema } from "../schemas/organization_reference.ts";
import { quantityIn } from "./schemas/plan_limits.ts";
import { idempotencyKeySchema } from "./schemas/usage.ts";

const reason = (text: string, example: string) =>
  nameSchema(text, { charactersMax: grantReasonCharactersMax, example });
const quantityFault = `must be more than 0 and at most ${grantQuantityMax}.`;
const createSchema = z.strictObject({
  limitId: idParam("lim", "A limit of the organization, or of its plan."),
  quantity: quantityIn.refine((value) => value > 0 && value <= grantQuantityMax, quantityFault).openapi({
    description: `How much it adds, with at most 6 decimal places, up to ${grantQuantityMax}.`,
    example: 5_000,
  }),
  expiresAt: optionalEnd(
    "When its unused part expires. By default it doesn't expire. Not together with `every`.",
  ),
  every: z.enum(refillPeriods).nullish().openapi({
    description:
      "Gives the quantity now, and again at each turn of the calendar in the organization's time zone. Weeks start on Monday. Each " +
      "grant expires at the next turn.",
  }),
  rollover: z.literal([0, 1]).optional().openapi({
    type: "integer",
    enum: [0, 1],
    description: "With 1, each grant expires one turn later. By default 0. Only with `every`.",
  }),
  // The example of a request is a grant that doesn't repeat.
  until: optionalEnd("No turn begins at or after this time. By default, turns don't end. Only with `every`.")
    .openapi({ example: undefined }),
  reason: reason("Why it is given", "Invoice 2026-118."),
  idempotencyKey: idempotencyKeySchema.openapi({
    description: "Gives one grant however often the request is sent. 1 to 255 printable ASCII characters.",
    example: "invoice-2026-118",
  }),
}).superRefine(({ every, expiresAt, rollover, until }, context) => {
  const reject = (path: string, message: string) =>
    context.addIssue({ code: "custom", path: [path], message });
  if (every) {
    if (typeof expiresAt === "number") reject("expiresAt", "must be left out for a grant that repeats.");
    return;
  }
  if (rollover === 1) reject("rollover", "must be 0 or left out for a grant that doesn't repeat.");
  if (typeof until === "number") reject("until", "must be left out for a grant that doesn't repeat.");
}).openapi("CreateUsageGrant");
export const voidSchema = z.strictObject({ reason: reason("Why it is voided", "Refunded.") }).openapi(
  "VoidUsageGrant",
);
const schema = z.object({
  id: idOut("gra", "The grant's id."),
  limitId: idOut(
    "lim",
    "The limit that it was given for. It raises every limit of the same product, metric and `per`.",
  ),
  productSlug: stringSchema("The product. Null for all products together.", "tiles").nullable(),
  metric: stringSchema("The metric. Null for all metrics together.", "requests").nullable(),
  per: z.enum(windowPeriods).optional().describe("Of the limits that it raises. Missing for those in total."),
  quantity: z.number().openapi({ description: "How much it added to the limit.", example: 5_000 }),
  used: z.number().openapi({
    description: "The used part. It stays used when the grant ends.",
    example: 1_200,
  }),
  remaining: z.number().openapi({ description: "The part that can still be used.", example: 3_800 }),
  status: z.enum(usageGrantStatuses).describe(
    "Only active grants can be used. Scheduled ones haven't started.",
  ),
  startsAt: timeOut("When it can be used: when it was given, or at its turn."),
  expiresAt: timeOut("When its unused part expires.").nullable(),
  refillId: idOut("rfl", "The refill that it belongs to. Null for a grant that doesn't repeat.").nullable(),
  every: z.enum(refillPeriods).nullable().describe("How often its refill gives a grant."),
  reason: stringSchema("Why it was given.", "Invoice 2026-118."),
  idempotencyKey: stringSchema(
    "The idempotency key. A later grant of a refill has its own id.",
    "invoice-2026-118",
  ),
  createdAt: timeOut("When it was given."),
  voidedAt: timeOut("When it was voided.").nullable(),
  voidReason: stringSchema("Why it was voided.", "Refunded.").nullable(),
}).openapi("UsageGrant");
const one = z.object({ grant: schema });
const operatorPath = "/api/operator/organizations/{id}/grants";

export function usageGrantRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const listing = {
    description: "Newest first, with the used part of each.",
    query: pageQuerySchema,
    responses: { 200: { description: "A page of grants.", schema: pageOf("grants", schema) } },
  };
  activeRoutes(app, parts)({
    ...listing,
    route: "GET /api/portal/grants",
    operationId: "listGrants",
    summary: "List grants of the active organization",
  }, (_c, { query }, access) => listGrants(services, access, query));
  const route = operatedRoutes(app, parts);
  route({
    ...listing,
    route: `GET ${operatorPath}`,
    operationId: "operatorListGrants",
    summary: "List grants of an organization",
    params: organizationParamsSchema,
  }, (_c, { query }, access) => listGrants(services, access, query));
  route({
    route: `POST ${operatorPath}`,
    operationId: "createGrant",
    summary: "Raise a limit of an organization with a grant",
    description:
      "Adds a quantity to a limit, such as one that was paid in advance. For a limit in total, grants that expire are used first, the " +
      "first to expire first; then the limit's own quantity; then grants without an expiry, the oldest first. For a limit with a window, " +
      "the window's own quantity is used first, then grants in the same order. With `every`, it makes a refill, and returns its first " +
      "grant. A repeated request with the same idempotency key has no effect.",
    params: organizationParamsSchema,
    body: createSchema,
    responses: {
      201: { description: "The grant.", schema: one },
      200: { description: "The grant had already been given.", schema: one },
    },
    errors: ["limit_per_value", "idempotency_conflict", "limit_reached"],
  }, async (c, { body }, access) => {
    const { grant, isRepeat } = await createGrant(services, access, grantOf(body));
    return c.json({ grant }, isRepeat ? 200 : 201);
  });
  route({
    route: `POST ${operatorPath}/{grantId}/void`,
    operationId: "voidGrant",
    summary: "Void a grant",
    description:
      "The unused part can't be used anymore. The used part stays used. Voiding a grant again has no effect.",
    params: organizationParamsSchema.extend({ grantId: idParam("gra", "The grant's id.") }),
    body: voidSchema,
    responses: { 200: { description: "The grant.", schema: one } },
  }, async (_c, { params: { grantId: id }, body }, access) => ({
    grant: await voidGrant(services, access, { id, ...body }),
  }));
}

function grantOf(
  { expiresAt = null, every, rollover = 0, until = null, ...body }: z.output<typeof createSchema>,
) {
  const quantity = splitQuantity(body.quantity);
  if (quantity === null) throw new Error("a quantity that was checked");
  return { ...body, expiresAt, quantity, refill: every ? { every, rollover, until } : null };
}

const path = `${organizationsHref}/:id/grants`;

export function usageGrantPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const pages = consolePages(app, parts, "operator/organizations");
  const accessOf = (c: AppContext, actor: OperatorAccess["actor"]) =>
    operatorAccess(services, actor, paramOf(c, "id"));

  mountFormPage(pages, {
    path: `${path}/new`,
    async show(c, form, actor) {
      const access = await accessOf(c, actor);
      const limits = await readLimits(services, access, { signal: c.req.raw.signal });
      const catalogue = await readProductNames(services);
      const choices = limits.map((one) => ({ value: one.limitId, label: limitName(one, catalogue) }));
      return grantForm(form, { access, choices });
    },
    async submit(c, actor, input) {
      const access = await accessOf(c, actor);
      const { limitId = "", quantity = "" } = input;
      const metric = await metricOfLimit(services, access, limitId);
      const catalogue = await readProductNames(services);
      const values = valuesOf(input);
      const run = (quantity: number) =>
        checkTogether(
          () => check(createSchema, { ...values, quantity }, "body"),
          ...(["expiresAt", "until"] as const).map((path) => () =>
            requireFutureEnd(services, check(createSchema.shape[path], values[path], "body") ?? null, path)
          ),
        );
      await createGrant(services, access, grantOf(await checkQuantity(metric, { quantity, catalogue, run })));
      return `${organizationHref(paramOf(c, "id"))}/limits?done=granted`;
    },
  });

  voidPage(app, parts, {
    noun: "grant",
    find: (access, id) => getGrant(services, access, id),
    fact: (grant, catalogue) => ({
      label: "Left",
      value: grantQuantity(leftOf(grant), grant.metric, catalogue),
    }),
    end: (access, input) => voidGrant(services, access, input),
    words: {
      title: "Void grant",
      heading: "Void the grant of “{name}”?",
      text: "The unused part can't be used anymore. The used part stays used. This can't be undone.",
      reason: "Reason for voiding it",
    },
  });
}

/** Mounts the console's page that voids a grant or a refill for a reason. */
export function voidPage<Row extends Pick<UsageGrant, "productSlug" | "metric" | "per" | "reason">>(
  app: App,
  parts: PortalParts,
  { noun, find, fact, end, words }: {
    noun: "grant" | "refill";
    find: (access: OperatorAccess, id: string) => Promise<Row>;
    /** Tells how much ends. */
    fact: (row: Row, catalogue: Catalogue) => { label: string; value: string };
    end: (access: OperatorAccess, input: { id: string; reason: string }) => Promise<unknown>;
    words: Record<"title" | "heading" | "text" | "reason", string>;
  },
): void {
  const { services } = parts;
  const idOf = (c: AppContext) => paramOf(c, `${noun}Id`);
  const limitsHref = (c: AppContext) => `${organizationHref(paramOf(c, "id"))}/limits`;
  const { reason: reasonLabel, ...shown } = words;
  mountFormPage(consolePages(app, parts, "operator/organizations"), {
    path: `${organizationsHref}/:id/${noun}s/:${noun}Id/void`,
    async show(c, form, actor) {
      const access = await operatorAccess(services, actor, paramOf(c, "id"));
      const row = await find(access, idOf(c));
      const catalogue = await readProductNames(services);
      return (
        <ConfirmPage
          {...form}
          {...shown}
          name={access.organizationName}
          facts={[
            { label: "Limit", value: limitName({ per: "total", ...row }, catalogue) },
            fact(row, catalogue),
            { label: "Given for", value: row.reason },
          ]}
          submit={shown.title}
          back={{ href: limitsHref(c), label: "Limits" }}
        >
          <TextField
            label={reasonLabel}
            {...form.field("reason")}
            required
            maxlength={grantReasonCharactersMax}
          />
        </ConfirmPage>
      );
    },
    async submit(c, actor, { reason = "" }) {
      const access = await operatorAccess(services, actor, paramOf(c, "id"));
      await end(access, { id: idOf(c), ...check(voidSchema, { reason }, "body") });
      return `${limitsHref(c)}?done=${noun}-voided`;
    },
  });
}

function valuesOf(
  { limitId = "", expiresAt, every, rollover, until, reason = "", formToken = "" }: FormInput,
) {
  return {
    limitId,
    expiresAt: expiresAt || null,
    every: every || null,
    // Of the choices, the first one is also that of grants that don't repeat.
    rollover: every ? Number(rollover || 0) : 0,
    until: until || null,
    reason,
    // A form that is sent twice gives one grant.
    idempotencyKey: formToken,
  };
}

const everyChoices = [
  { value: "", label: "Doesn't repeat" },
  ...refillPeriods.map((every) => ({ value: every, label: everyWords[every] })),
];

function grantForm(
  form: PageForm,
  { access: { organizationId, organizationName }, choices }: {
    access: OperatorAccess;
    choices: { value: string; label: string }[];
  },
) {
  const { field, input } = form;
  return (
    <FormPage
      {...form}
      title="Add grant"
      heading="Add a grant for “{name}”"
      name={organizationName}
      text={choices.length === 0
        ? "Grants raise limits. This organization has none: add one to its plan, or as an override."
        : "Adds a quantity to a limit, such as one that was paid in advance."}
      submit="Add grant"
      back={{ href: `${organizationHref(organizationId)}/limits`, label: "Limits" }}
      isNarrow
    >
      <input type="hidden" name="formToken" value={input?.["formToken"] ?? newId("req")} />
      <SelectField label="Limit" {...field("limitId")} choices={choices} />
      <TextField
        label="Quantity"
        {...field("quantity")}
        placeholder="For example: 5 TB, 15M or 2 h"
        required
        maxlength={40}
        autofocus
      />
      <TextField
        label="Expires (optional)"
        {...field("expiresAt")}
        placeholder="2027-01-31"
        hint="The unused part is lost at the start of this day in UTC. Leave empty for no expiry, or if the grant repeats."
        maxlength={30}
      />
      <SelectField label="Repeats" {...field("every")} choices={everyChoices} />
      <SelectField
        label="Unused part of a grant that repeats"
        {...field("rollover")}
        choices={[
          { value: "0", label: "Expires when the next one starts" },
          { value: "1", label: "Expires one turn later" },
        ]}
      />
      <TextField
        label="Repeats until (optional)"
        {...field("until")}
        placeholder="2027-12-31"
        hint="No grant starts on or after this day in UTC."
        maxlength={30}
      />
      <TextField
        label="Reason"
        {...field("reason")}
        hint="Also shown to the organization."
        required
        maxlength={grantReasonCharactersMax}
      />
    </FormPage>
  );
}
