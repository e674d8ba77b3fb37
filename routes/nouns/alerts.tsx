// Alerts of an organization: their shapes, their API, and their pages for members and operators.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { pageItemsDefault, pageNumbersTimeoutMs } from "../../domain/limits.ts";
import { typedDigits } from "../../domain/number_text.ts";
import { alertsOfOrganizationMax } from "../../domain/webhooks/webhook_limits.ts";
import { type Access, activeAccess, may, operatorAccess, requirePermission } from "../../services/access.ts";
import { getApiKey, listApiKeys } from "../../services/api_keys.ts";
import { readLimitMailReach } from "../../services/mail/limit_mails.ts";
import { changeAlert, createAlert, deleteAlert, getAlert, listAlerts } from "../../services/meter/alerts.ts";
import { readProductNames, readUsageNames } from "../../services/meter/usage.ts";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { SelectField } from "../../views/components/field.tsx";
import { FormPage } from "../../views/components/form_page.tsx";
import { LimitRow, ScopeSuggestions } from "../../views/components/limit_fields.tsx";
import { alertList } from "../../views/meter/alerts.tsx";
import { limitName, limitQuantity } from "../../views/text/limit.ts";
import { type MountRoute, sessionRoutes, withAccess } from "../api/endpoint.ts";
import { nounRoutes } from "../api/noun_routes.ts";
import { operatorRoutes } from "../api/operator/operator_routes.ts";
import type { App, AppEnv, AppParts } from "../env.ts";
import { flashOf, queryOf, type Viewer } from "../portal/form.ts";
import { inTime } from "../portal/in_time.ts";
import { numberOf, percentagesOf, typedPercentages } from "../portal/limit_input.ts";
import {
  type FormInput,
  mountFormPage,
  mountPage,
  type Pages,
  paramOf,
  type ShownForm,
} from "../portal/noun_pages.ts";
import type { PortalParts } from "../portal/page.ts";
import { organizationForms, organizationPages } from "../portal/viewer.ts";
import { check } from "../schemas/check.ts";
import { idOut, idParam, stringSchema, timeOut } from "../schemas/common.ts";
import { limitStandingSchema } from "../schemas/limits.ts";
import { organizationParamsSchema } from "../schemas/operator_organizations.ts";
import * as limits from "../schemas/plan_limits.ts";

const apiKeyIn = idParam(
  "key",
  "A key: only its usage counts, with that of keys before and after it in its rotations. " +
    "Null for all usage.",
).nullable();
const createSchema = z.strictObject({
  ...limits.scopeIn,
  quantity: limits.quantityIn,
  notifyAt: limits.notifyAtIn,
  apiKeyId: apiKeyIn.default(null),
}).openapi("CreateAlert");
const changeSchema = z.strictObject({
  ...limits.changedScopeIn,
  quantity: limits.quantityIn.optional(),
  notifyAt: limits.notifyAtIn,
  apiKeyId: apiKeyIn.optional(),
}).openapi("ChangeAlert");
const schema = z.object({
  id: idOut("lim", "The alert's id."),
  ...limits.scopeOut,
  apiKey: z.object({
    id: idOut("key", "The key's id."),
    name: stringSchema("The key's name.", "Production"),
  }).nullable().describe("The current key of those whose usage counts. Null for all usage."),
  quantity: limits.quantityOut,
  notifyAt: limits.notifyAtOut,
  used: limitStandingSchema.shape.used.nullable().describe(
    "How much of it is used in the current window. Null if it isn't available right now.",
  ),
  resetsAt: limitStandingSchema.shape.resetsAt,
  createdAt: timeOut("When the alert was created, or was changed to count other usage."),
}).openapi("Alert");

const params = z.object({ alertId: idParam("lim", "The alert's id.") });

export function alertRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const ofMembers = sessionRoutes(app, parts, { tag: "Usage", errors: ["forbidden"] });
  commonRoutes(parts, withAccess(ofMembers, activeAccess), {
    path: "/api/portal/alerts",
    params,
    operationId: (verb) => `${verb}Alert`,
  });
  const ofOperators = operatorRoutes(app, parts, {
    read: "organizations:read",
    write: "organizations:write",
  });
  commonRoutes(parts, withAccess(ofOperators, (actor, id) => operatorAccess(services, actor, id)), {
    path: "/api/operator/organizations/{id}/alerts",
    parent: organizationParamsSchema,
    params: organizationParamsSchema.extend(params.shape),
    operationId: (verb) => `operator${verb.charAt(0).toUpperCase()}${verb.slice(1)}Alert`,
  });
}

function commonRoutes(
  { services }: AppParts,
  route: MountRoute<Access>,
  { path, parent, params, operationId }: {
    path: `/${string}`;
    parent?: typeof organizationParamsSchema;
    params: z.ZodType<{ alertId: string }>;
    operationId: (verb: string) => string;
  },
): void {
  const of = parent === undefined ? "" : " of an organization";
  const routes = nounRoutes(route, {
    path,
    one: "alert",
    many: "alerts",
    schema,
    id: "{alertId}",
    params,
    ...(parent && { parent }),
  });
  route({
    ...(parent && { params: parent }),
    route: `GET ${path}`,
    operationId: `${operationId("list")}s`,
    summary: `List alerts${of}`,
    description: `All of them, at most ${alertsOfOrganizationMax}.`,
    responses: { 200: { description: "The alerts.", schema: z.object({ alerts: z.array(schema) }) } },
  }, async (c, _input, access) => ({ alerts: await listAlerts(services, access, c.req.raw.signal) }));
  routes.get(
    { operationId: operationId("get"), summary: `Get an alert${of}` },
    ({ params: { alertId: id } }, access, c) => getAlert(services, access, { id, signal: c.req.raw.signal }),
  );
  routes.create(
    {
      operationId: operationId("create"),
      summary: `Create an alert${of}`,
      description:
        "Notifies at percentages of a quantity, by email and by webhook, and never rejects a request. " +
        `At most ${alertsOfOrganizationMax}; several can count the same usage.`,
      body: createSchema,
      errors: ["limit_reached"],
    },
    ({ body: { notifyAt = null, ...body } }, access, c) =>
      createAlert(services, access, { ...body, notifyAt, signal: c.req.raw.signal }),
  );
  routes.change(
    {
      operationId: operationId("change"),
      summary: `Change an alert${of}`,
      description:
        "What is left out stays as it is. With another quantity, product, metric, window or key, the alert can notify " +
        "again in the current window.",
      body: changeSchema,
    },
    ({ params: { alertId: id }, body }, access, c) =>
      changeAlert(services, access, { id, ...body, signal: c.req.raw.signal }),
  );
  routes.delete(
    { operationId: operationId("delete"), summary: `Delete an alert${of}` },
    ({ params: { alertId } }, access) => deleteAlert(services, access, alertId),
  );
}

const path = "/alerts";

export function alertPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const pages: Pages<Viewer> = {
    ...organizationPages(app, parts),
    forms: organizationForms(app, parts),
    frameOf: ({ frame }) => frame,
    place: "usage",
    backOf: ({ frame }) => ({ href: frame.base + path, label: "Alerts" }),
  };

  mountPage(pages, path, async (c, { actor: { access, frame } }) => {
    const [alerts, mailReach, catalogue] = await Promise.all([
      listAlerts(services, access, AbortSignal.timeout(pageNumbersTimeoutMs)),
      readLimitMailReach(services, access),
      readProductNames(services),
    ]);
    return alertList({
      frame,
      alerts,
      mailReach,
      catalogue,
      canChange: may(access, "alerts.manage"),
      seesWebhooks: may(access, "webhooks.read"),
      flash: flashOf(c, { added: "Alert added.", changed: "Changes saved.", deleted: "Alert deleted." }),
    });
  });

  mountFormPage(pages, {
    path: `${path}/new`,
    async show(c, form, { access }) {
      requirePermission(access, "alerts.manage");
      const typed = form.input ?? {
        ...emptyInput,
        productSlug: queryOf(c, "productSlug") ?? "",
        metric: queryOf(c, "metric") ?? "",
        apiKeyId: queryOf(c, "apiKey") ?? "",
      };
      return alertForm(form, typed, await choicesOf(parts, access, typed));
    },
    async submit(_c, { access, frame }, input) {
      const alert = check(createSchema, valuesOf(input), "body");
      await createAlert(services, access, { ...alert, notifyAt: alert.notifyAt ?? null });
      return `${frame.base}${path}?done=added`;
    },
  });

  mountFormPage(pages, {
    path: `${path}/:alertId/edit`,
    async show(c, form, { access }) {
      requirePermission(access, "alerts.manage");
      const alert = await getAlert(services, access, { id: paramOf(c, "alertId") });
      const typed = form.input ?? {
        productSlug: alert.productSlug ?? "",
        metric: alert.metric ?? "",
        quantity: typedDigits(alert.quantity),
        per: alert.per,
        notifyAt: typedPercentages(alert.notifyAt),
        apiKeyId: alert.apiKey?.id ?? "",
      };
      return alertForm(form, typed, { ...await choicesOf(parts, access, typed), isEdited: true });
    },
    async submit(c, { access, frame }, input) {
      const id = paramOf(c, "alertId");
      const change = check(createSchema, valuesOf(input), "body");
      await changeAlert(services, access, { id, ...change });
      return `${frame.base}${path}?done=changed`;
    },
  });

  mountFormPage(pages, {
    path: `${path}/:alertId/delete`,
    async show(c, form, { access }) {
      requirePermission(access, "alerts.manage");
      const alert = await getAlert(services, access, { id: paramOf(c, "alertId") });
      const catalogue = await readProductNames(services);
      return (
        <ConfirmPage
          {...form}
          title="Delete alert"
          heading="Delete this alert?"
          text="No one will be notified by it. This can't be undone."
          facts={[
            { label: "Alert", value: <bdi>{limitName(alert, catalogue)}</bdi> },
            { label: "Quantity", value: limitQuantity(alert, catalogue) },
          ]}
          submit="Delete alert"
        />
      );
    },
    async submit(c, { access, frame }) {
      await deleteAlert(services, access, paramOf(c, "alertId"));
      return `${frame.base}${path}?done=deleted`;
    },
  });
}

const emptyInput = { productSlug: "", metric: "", quantity: "", per: "month", notifyAt: "", apiKeyId: "" };

/** Returns a typed alert as the API takes it. */
function valuesOf(input: FormInput) {
  const field = (name: keyof typeof emptyInput) => (input[name] ?? "").trim();
  return {
    productSlug: field("productSlug") || null,
    metric: field("metric") || null,
    per: field("per"),
    quantity: numberOf(field("quantity")),
    notifyAt: percentagesOf(field("notifyAt")),
    apiKeyId: field("apiKeyId") || null,
  };
}

/** Reads what the form offers: products and metrics in use, and the newest keys with the chosen one. */
async function choicesOf({ services }: PortalParts, access: Access, { apiKeyId = "" }: FormInput) {
  const [names, catalogue, { apiKeys, nextCursor }, chosen] = await Promise.all([
    inTime((signal) => readUsageNames(services, access, signal)),
    readProductNames(services),
    listApiKeys(services, access, { limit: pageItemsDefault, cursor: undefined }),
    apiKeyId === "" ? null : getApiKey(services, access, apiKeyId).catch(() => undefined),
  ]);
  const active = apiKeys.filter(({ id, status }) => status === "active" && id !== chosen?.id);
  return {
    ...names ?? { productSlugs: [], metrics: [] },
    catalogue,
    keys: [...chosen ? [chosen] : [], ...active].map(({ id, name }) => ({ value: id, label: name })),
    hasMoreKeys: nextCursor !== null,
    isKeyUnknown: chosen === undefined,
  };
}

function alertForm(
  form: ShownForm,
  input: FormInput,
  { keys, hasMoreKeys, isKeyUnknown, isEdited = false, ...suggestions }:
    & Awaited<ReturnType<typeof choicesOf>>
    & { isEdited?: boolean },
) {
  const { fields } = form;
  const verb = isEdited ? "Change alert" : "Add alert";
  const unknownKey = isKeyUnknown ? "Key not found. Choose another one." : undefined;
  return (
    <FormPage
      {...form}
      title={verb}
      text="Sends emails and webhooks when usage reaches a share of the quantity. Requests are never rejected."
      submit={isEdited ? "Save" : "Add alert"}
    >
      <ScopeSuggestions {...suggestions} />
      <LimitRow
        label="Alert"
        prefix=""
        limit={{ ...emptyInput, mode: "", ...input }}
        fields={fields}
        modes={[]}
      />
      <SelectField
        label="API key"
        name="apiKeyId"
        value={input["apiKeyId"] ?? ""}
        choices={[{ value: "", label: "All keys" }, ...keys]}
        hint={hasMoreKeys
          ? "To choose an older key, filter usage by it and choose “Notify me when…”."
          : undefined}
        error={fields["apiKeyId"] ?? unknownKey}
      />
    </FormPage>
  );
}
