// Alerts of an organization: their shapes, their API, and their pages for members and operators.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { pageItemsDefault } from "../../domain/limits.ts";
import { type Catalogue, metricOf } from "../../domain/meter/catalogue.ts";
import type { Alert } from "../../domain/meter/usage_limit.ts";
import { alertsOfOrganizationMax } from "../../domain/outbox/webhook_limits.ts";
import { type Access, may, requirePermission } from "../../services/access/mod.ts";
import { getApiKey, listApiKeys } from "../../services/keys/mod.ts";
import {
  changeAlert,
  createAlert,
  deleteAlert,
  getAlert,
  listAlerts,
  readLimitMailReach,
  readProductNames,
  readUsage,
} from "../../services/meter/mod.ts";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { SelectField } from "../../views/components/field.tsx";
import { type FormInput, FormPage, type PageForm } from "../../views/components/form_page.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { emptyLimit, LimitRow, ScopeSuggestions } from "../../views/components/limit_fields.tsx";
import { ListPage } from "../../views/components/list_page.tsx";
import { Name } from "../../views/components/table.tsx";
import { Used } from "../../views/components/used.tsx";
import { recipientsText } from "../../views/meter/alerts.tsx";
import { limitName, limitQuantity, notifyText } from "../../views/text/limit.ts";
import { missedText } from "../../views/text/limit_mails.ts";
import { activeRoutes, operatedRoutes } from "../api/access_routes.ts";
import type { MountRoute } from "../api/endpoint.ts";
import { nounRoutes } from "../api/noun_routes.ts";
import type { App, AppContext, AppEnv, AppParts } from "../env.ts";
import { flashOf, queryOf, type Viewer } from "../portal/form.ts";
import { inTime } from "../portal/in_time.ts";
import { limitPace, typedPace } from "./limit_pace.tsx";
import { checkLimits, limitRow, limitsOf, typedLimits } from "./limit_input.ts";
import { mountFormPage, mountPage, paramOf } from "../portal/noun_pages.ts";
import type { PortalParts } from "../portal/page.ts";
import { organizationNounPages } from "../portal/viewer.ts";
import { check } from "../schemas/check.ts";
import { idOut, idParam, stringSchema, timeOut } from "../schemas/common.ts";
import { limitStandingSchema } from "./schemas/limits.ts";
import { organizationParamsSchema } from "../schemas/organization_reference.ts";
import * as limits from "./schemas/plan_limits.ts";

const apiKeyIn = idParam(
  "key",
  "The usage of this key counts, with keys before and after it in its rotations. Null: all.",
)
  .nullable();
const createSchema = z.strictObject({
  ...limits.scopeIn,
  by: limits.byIn,
  values: limits.exceptionsIn,
  quantity: limits.quantityIn,
  notifyAt: limits.notifyAtIn,
  apiKeyId: apiKeyIn.default(null),
}).superRefine(limits.requireValues).openapi("CreateAlert");
const changeSchema = z.strictObject({
  ...limits.changedScopeIn,
  by: limits.byIn,
  values: limits.exceptionsIn,
  quantity: limits.quantityIn.optional(),
  notifyAt: limits.notifyAtIn,
  apiKeyId: apiKeyIn.optional(),
}).openapi("ChangeAlert");
const schema = limitStandingSchema.omit({
  limitId: true,
  mode: true,
  held: true,
  heldUntil: true,
  remaining: true,
  value: true,
  countsFrom: true,
}).extend({
  id: idOut("lim", "The alert's id."),
  apiKey: z.object({
    id: idOut("key", "The key's id."),
    name: stringSchema("The key's name.", "Production"),
  }).nullable().describe("The current key of those whose usage counts. Null for all usage."),
  notifyAt: limits.notifyAtOut,
  by: limits.byOut,
  values: limits.exceptionsOut,
  used: limitStandingSchema.shape.used.nullable().openapi({
    description:
      "How much of it is used. After a change, null if it has not been added up yet. Null of an alert per value.",
  }),
  createdAt: timeOut("When the alert was created, or was changed to count other usage."),
}).openapi("Alert");
const params = z.object({ alertId: idParam("lim", "The alert's id.") });

export function alertRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  commonRoutes(parts, activeRoutes(app, parts, { tag: "Alerts" }), {
    noun: { path: "/api/portal/alerts", params },
    operationId: (verb) => `${verb}Alert`,
  });
  commonRoutes(parts, operatedRoutes(app, parts) as MountRoute<Access>, {
    noun: {
      path: "/api/operator/organizations/{id}/alerts",
      parent: organizationParamsSchema,
      params: organizationParamsSchema.extend(params.shape),
    },
    operationId: (verb) => `operator${verb.charAt(0).toUpperCase()}${verb.slice(1)}Alert`,
  });
}

function commonRoutes(
  { services }: AppParts,
  route: MountRoute<Access>,
  { noun, operationId }: {
    noun: { path: `/${string}`; parent?: typeof organizationParamsSchema; params: typeof params };
    operationId: (verb: string) => string;
  },
): void {
  const of = noun.parent === undefined ? "" : " of an organization";
  const routes = nounRoutes(route, { one: "alert", many: "alerts", schema, id: "{alertId}", ...noun });
  routes.listAll({
    operationId: `${operationId("list")}s`,
    summary: `List alerts${of}`,
    description: `All of them, at most ${alertsOfOrganizationMax}.`,
    response: "The alerts.",
  }, (_input, access, c) => listAlerts(services, access, { signal: c.req.raw.signal }));
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
    ({ body: { notifyAt = null, ...body } }, access) => createAlert(services, access, { ...body, notifyAt }),
  );
  routes.change({
    operationId: operationId("change"),
    summary: `Change an alert${of}`,
    description:
      "Omitted fields keep their values. Changing the product, metric, window or key resets the alert.",
    body: changeSchema,
  }, ({ params: { alertId: id }, body }, access) => changeAlert(services, access, { id, ...body }));
  routes.delete(
    { operationId: operationId("delete"), summary: `Delete an alert${of}` },
    ({ params: { alertId } }, access) => deleteAlert(services, access, alertId),
  );
}

const path = "/alerts";

export function alertPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const pages = organizationNounPages(app, parts, { place: "usage", path, label: "Alerts" });
  const alertOf = (c: AppContext, access: Access) => {
    requirePermission(access, "alerts.manage");
    return getAlert(services, access, { id: paramOf(c, "alertId") });
  };

  mountPage(pages, path, async (c, { actor }) => alertList(await readAlerts(c, parts, actor)));

  mountFormPage(pages, {
    path: `${path}/new`,
    async show(c, form, { access }) {
      requirePermission(access, "alerts.manage");
      const [productSlug, metric, apiKeyId] = ["productSlug", "metric", "apiKey"].map((name) =>
        queryOf(c, name) ?? ""
      );
      const typed = { ...emptyInput, productSlug, metric, apiKeyId } as FormInput;
      return await alertForm(form, parts, { c, access, typed, title: "Add alert", submit: "Add alert" });
    },
    async submit(_c, { access, frame }, input) {
      const alert = await typedAlert(parts, input);
      await createAlert(services, access, { ...alert, notifyAt: alert.notifyAt ?? null });
      return `${frame.base}${path}?done=added`;
    },
  });

  mountFormPage(pages, {
    path: `${path}/:alertId/edit`,
    async show(c, form, { access }) {
      const alert = await alertOf(c, access);
      const [row] = typedLimits([{ ...alert, mode: "soft" }], await readProductNames(services));
      const typed = { ...row, apiKeyId: alert.apiKey?.id ?? "" };
      return await alertForm(form, parts, { c, access, typed, title: "Edit alert", submit: "Save" });
    },
    async submit(c, { access, frame }, input) {
      const alert = await typedAlert(parts, input);
      await changeAlert(services, access, { id: paramOf(c, "alertId"), ...alert });
      return `${frame.base}${path}?done=changed`;
    },
  });

  mountFormPage(pages, {
    path: `${path}/:alertId/delete`,
    async show(c, form, { access }) {
      const alert = await alertOf(c, access);
      const catalogue = await readProductNames(services);
      return (
        <ConfirmPage
          {...form}
          title="Delete alert"
          heading="Delete this alert?"
          text="It no longer notifies anyone. This can't be undone."
          facts={[
            { label: "Alert", value: <bdi>{limitName(alert, catalogue)}</bdi> },
            { label: "Quantity", value: limitQuantity(alert, catalogue) },
          ]}
        />
      );
    },
    async submit(c, { access, frame }) {
      await deleteAlert(services, access, paramOf(c, "alertId"));
      return `${frame.base}${path}?done=deleted`;
    },
  });
}

async function readAlerts(c: AppContext, { services }: PortalParts, { access, frame }: Viewer) {
  const [alerts, mailReach, catalogue] = await Promise.all([
    inTime((signal) => listAlerts(services, access, { signal })),
    readLimitMailReach(services, access),
    readProductNames(services),
  ]);
  return {
    frame,
    alerts: alerts ?? await listAlerts(services, access),
    /** Null where no emails are sent. */
    mailReach,
    catalogue,
    canChange: may(access, "alerts.manage"),
    seesWebhooks: may(access, "webhooks.read"),
    flash: flashOf(c, { added: "Alert added.", changed: "Changes saved.", deleted: "Alert deleted." }),
  };
}

type AlertList = Awaited<ReturnType<typeof readAlerts>>;

const emptyInput = { ...emptyLimit, apiKeyId: "" };

/** Returns a typed alert as the API takes it. @throws {AppError} `validation_failed`. */
async function typedAlert({ services }: PortalParts, input: FormInput) {
  const catalogue = await readProductNames(services);
  const row = limitRow({ ...emptyInput, ...input });
  const values = limitsOf([row], catalogue).map(({ mode: _, ...limit }) => ({
    ...limit,
    by: row.by || null,
    apiKeyId: input["apiKeyId"] || null,
  }));
  return await checkLimits(() => check(createSchema, values[0], "body"), { "": [row] }, catalogue);
}

/** Returns the form, which offers products and metrics in use, and the newest keys. */
async function alertForm(
  form: PageForm,
  parts: PortalParts,
  { c, access, typed, ...words }: {
    c: AppContext;
    access: Access;
    typed: FormInput;
    title: string;
    submit: string;
  },
) {
  const pace = await typedPace(c, parts, access);
  if (pace !== null) return pace;
  const { services } = parts;
  const input = { ...emptyInput, ...typed, ...form.input, ...form.input && limitRow(form.input) };
  const { apiKeyId } = input;
  const [names, catalogue, { apiKeys, nextCursor }, chosen] = await Promise.all([
    inTime((signal) => readUsage(services, access, { job: "readUsageNames", query: {}, signal })),
    readProductNames(services),
    listApiKeys(services, access, { limit: pageItemsDefault, cursor: undefined }),
    apiKeyId === "" ? null : getApiKey(services, access, apiKeyId).catch(() => undefined),
  ]);
  const offered = apiKeys.filter(({ id, status }) => status === "active" && id !== chosen?.id);
  const keys = [...chosen ? [chosen] : [], ...offered].map(({ id, name }) => ({ value: id, label: name }));
  const ofKey = { rows: [input], catalogue, apiKey: apiKeyId || undefined };
  const wordsOf = await limitPace(parts, access, ofKey);
  const unknownKey = chosen === undefined ? "Key not found. Choose another one." : undefined;
  return (
    <FormPage
      {...form}
      {...words}
      text="Sends emails and webhooks when usage reaches a share of the quantity. Requests are never rejected."
    >
      <ScopeSuggestions {...names ?? { productSlugs: [], metrics: [] }} catalogue={catalogue} />
      <LimitRow
        label="Alert"
        prefix=""
        limit={input}
        fields={form.fields}
        modes={[]}
        canCountValues
        catalogue={catalogue}
        pace={{ href: form.action, wordsOf }}
      />
      <SelectField
        label="API key"
        name="apiKeyId"
        value={apiKeyId}
        choices={[{ value: "", label: "All keys" }, ...keys]}
        hint={nextCursor ? "For an older key, filter usage by it and choose “Notify me when…”." : undefined}
        error={form.fields["apiKeyId"] ?? unknownKey}
      />
    </FormPage>
  );
}

function alertList({ frame, alerts, mailReach, catalogue, canChange, seesWebhooks, flash }: AlertList) {
  const href = frame.base + path;
  return (
    <ListPage
      frame={frame}
      place="usage"
      flash={flash}
      back={frame.viewed === null
        ? { href: `${frame.base}/usage`, label: "Usage" }
        : { href: `${frame.base}/limits`, label: "Limits" }}
      title="Alerts"
      text={frame.viewed === null
        ? "Get notified when usage reaches a quantity. Alerts never reject requests."
        : "Notify the organization when its usage reaches a quantity. Alerts never reject requests."}
      add={canChange ? { href: `${href}/new`, label: "Add alert" } : null}
      filters={
        <p class="muted small">
          {mailReach && `${missedText(mailReach, "alerts and limits") ?? recipientsText(mailReach)} `}
          {seesWebhooks && (
            <>
              <a href={`${frame.base}/webhooks`}>Webhooks</a> can receive alerts and limits, too.
            </>
          )}
        </p>
      }
      card={`${alerts.length} of ${alertsOfOrganizationMax} alerts`}
      empty={alerts.length > 0
        ? null
        : { title: "No alerts yet", text: "Limits send notifications without an alert." }}
      links={[]}
    >
      <ItemTable
        label="Alerts"
        items={alerts}
        columns={[
          { title: "Alert", in: "title", cell: (alert) => <AlertName alert={alert} catalogue={catalogue} /> },
          { title: "Used", cell: (alert) => <AlertUse alert={alert} catalogue={catalogue} /> },
          { title: "Notify at", cell: ({ notifyAt }) => <span>{notifyText(notifyAt)}</span> },
        ]}
        actions={(alert) => {
          const about = limitName(alert, catalogue);
          return !canChange ? [] : [
            { label: "Edit", href: `${href}/${alert.id}/edit`, about },
            { label: "Delete", href: `${href}/${alert.id}/delete`, about, tone: "quiet-destroy" },
          ];
        }}
      />
    </ListPage>
  );
}

function AlertName({ alert, catalogue }: { alert: Alert; catalogue: Catalogue }) {
  return (
    <>
      <Name text={limitName(alert, catalogue)} />
      {alert.apiKey && (
        <div class="muted tiny">
          Key <bdi>{alert.apiKey.name}</bdi>
        </div>
      )}
    </>
  );
}

function AlertUse({ alert, catalogue }: { alert: Alert; catalogue: Catalogue }) {
  const { used, quantity, metric } = alert;
  if (used === null) return <span>{`Of ${limitQuantity({ quantity, metric }, catalogue)}`}</span>;
  const measure = metric === null ? undefined : metricOf(catalogue, metric);
  return <Used used={used} allowed={quantity} measure={measure} />;
}
