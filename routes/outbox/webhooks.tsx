// Webhook endpoints: their shapes, their API, and their pages, for members, for operators in an organization, and for operators' own.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import type { ErrorCode } from "../../domain/errors.ts";
import { pageItemsDefault } from "../../domain/limits.ts";
import { isEventName } from "../../domain/outbox/event_types.ts";
import { type Webhook, webhookDisabledReasons, webhookName } from "../../domain/outbox/webhook.ts";
import * as limits from "../../domain/outbox/webhook_limits.ts";
import { webhooksOfOperatorsMax, webhooksOfOrganizationMax } from "../../domain/outbox/webhook_limits.ts";
import { activeAccess } from "../../services/access/mod.ts";
import { ownerForOperator, type WebhookOwner, webhooks as verbs } from "../../services/outbox/mod.ts";
import { GuideLink } from "../../views/components/embed_bar.tsx";
import { defaultGrace, graces } from "../../views/components/expiry_field.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { ListPage, type ListPageProps } from "../../views/components/list_page.tsx";
import { TimeCell } from "../../views/components/relative_time.tsx";
import {
  EventNames,
  webhookHref,
  WebhookPage,
  type WebhookPageProps,
  WebhookStatus,
} from "../../views/outbox/webhook.tsx";
import { type MountRoute, sessionRoutes, withAccess } from "../api/endpoint.ts";
import { nounRoutes } from "../api/noun_routes.ts";
import { operatorRoutes } from "../api/operator_routes.ts";
import type { App, AppContext, AppEnv, AppParts } from "../env.ts";
import { deliveryRoutes } from "./webhook_deliveries.tsx";
import { deliveryPages } from "./webhook_delivery.tsx";
import { deliveryList, NextSteps, replayFlash } from "./webhook_delivery_list.tsx";
import { confirmWebhook, typedWebhook, webhookFlashes, webhookForm, webhookInput } from "./webhook_forms.tsx";
import { verifySamples } from "../portal/docs/verify_samples.ts";
import { timeAfter } from "../portal/expiry.ts";
import { flashOf } from "../portal/form.ts";
import { mountFormPage, mountPage, type Pages, paramOf, withInput } from "../portal/noun_pages.ts";
import { type PortalParts, sendPage } from "../portal/page.ts";
import { webhookPages as pagesOf, type WebhookViewer } from "./webhook_viewer.ts";
import { check, checkTogether } from "../schemas/check.ts";
import {
  exampleId,
  idOut,
  idParam,
  nameSchema,
  optionalEndOrNow,
  pageQuerySchema,
  stringSchema,
  timeOut,
} from "../schemas/common.ts";
import { atMost } from "../schemas/messages.ts";
import { organizationFilter } from "../schemas/organization_reference.ts";

const eventWords = "Names of events: types such as `limit.reached`, nouns such as `limit.*`, or `*` for all.";
const schema = z.object({
  id: idOut("whk", "The endpoint's id."),
  url: stringSchema("The URL that events are sent to.", "https://example.com/webhooks"),
  events: z.array(z.string()).openapi({ description: eventWords, example: ["limit.*"] }),
  description: stringSchema("A name for people; empty for none.", "Billing"),
  status: z.enum(["enabled", "disabled"]).describe("Events for a disabled endpoint are held."),
  disabledReason: z.enum(webhookDisabledReasons).nullable()
    .describe("By someone, after five days of failures, or by a response of 410."),
  failingSince: timeOut("When attempts began to fail. Null after a success.").nullable(),
  lastDeliveredAt: timeOut("When an attempt last succeeded.").nullable(),
  oldSecretUntil: timeOut("After a rotation, when the old secret stops signing.").nullable(),
  createdAt: timeOut("When the endpoint was created."),
  createdBy: z.object({
    id: stringSchema("The id of the user or the operator token.", exampleId("usr")),
    name: stringSchema("Their name.", "Ada Lovelace"),
  }).nullable().describe("Null for a deleted account, and for an operator at an organization's endpoint."),
}).openapi("Webhook");
const secret = stringSchema("Signs requests to the endpoint.", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
const withSecret = {
  description: "The endpoint with its new secret, which appears only in this response.",
  schema: z.object({ webhook: schema, secret }).openapi("CreatedWebhook"),
};

const eventName = z.string().refine(isEventName, {
  error: ({ input }) =>
    `must be a type such as limit.reached, limit.*, or *, not “${String(input).slice(0, 50)}”.`,
});
const createSchema = z.strictObject({
  url: z.string().openapi({
    maxLength: limits.webhookUrlCharactersMax,
    description: "An https URL with a public address, without credentials and fragment.",
    example: "https://example.com/webhooks",
  }),
  events: z.array(eventName).min(1, "must have at least one event.")
    .max(limits.webhookEventNamesMax, atMost(limits.webhookEventNamesMax, "events"))
    .transform((names) => [...new Set(names)])
    .openapi({ type: "array", description: `${eventWords} Duplicates are removed.`, example: ["limit.*"] }),
  description: nameSchema("A name for people", {
    charactersMin: 0,
    charactersMax: limits.webhookDescriptionCharactersMax,
    example: "Billing",
  }).optional(),
}).openapi("CreateWebhook");
const changeSchema = createSchema.partial().extend({
  enabled: z.boolean().optional().describe("False holds events. True sends new ones again."),
}).openapi("ChangeWebhook");
const rotateSchema = z.strictObject({
  expireOldAt: optionalEndOrNow("When the old secret stops signing: in 24 hours by default, 7 days at most."),
}).openapi("RotateWebhookSecret");
const params = z.object({ id: idParam("whk", "The endpoint's id.") });
const ofOrganization = { organizationId: organizationFilter("By default, operators' own endpoints.") };

export function webhookRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const members = sessionRoutes(app, parts, { tag: "Webhooks", errors: ["forbidden"] });
  mountRoutes(parts, withAccess(members, (actor) => ({ access: activeAccess(actor) })), {
    path: "/api/portal/webhooks",
    idOf: (name) => name,
    errors: ["proof_required"],
    isForOperators: false,
  });
  const operators = operatorRoutes(app, parts, { read: "webhooks:read", write: "webhooks:write" });
  mountRoutes(parts, withAccess(operators, ownerForOperator(services)), {
    path: "/api/operator/webhooks",
    idOf: (name) => `operator${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    errors: [],
    isForOperators: true,
    filters: ofOrganization,
  });
}

function mountRoutes(
  { services }: AppParts,
  route: MountRoute<WebhookOwner>,
  { path, idOf, errors, isForOperators, filters = {} }: {
    path: `/api/${string}`;
    idOf: (name: string) => string;
    errors: readonly ErrorCode[];
    isForOperators: boolean;
    filters?: Partial<typeof ofOrganization>;
  },
): void {
  const routes = nounRoutes(route, { path, one: "webhook", many: "webhooks", schema, id: "{id}", params });
  routes.list({
    operationId: idOf("listWebhooks"),
    summary: "List webhook endpoints",
    description: "Newest first.",
    query: pageQuerySchema.extend(filters),
  }, ({ query }, owner) => verbs.listWebhooks(services, owner, query));
  route({
    route: `POST ${path}`,
    operationId: idOf("createWebhook"),
    summary: "Create a webhook endpoint",
    description: "It receives events from now on.",
    query: z.strictObject(filters),
    body: createSchema,
    responses: { 201: withSecret },
    errors: [...errors, "webhook_limit_reached", "webhook_address_blocked", "rate_limited"],
  }, (_c, { body }, owner) => verbs.createWebhook(services, owner, body));
  routes.get(
    { operationId: idOf("getWebhook"), summary: "Get a webhook endpoint" },
    ({ params: { id } }, owner) => verbs.getWebhook(services, owner, id),
  );
  routes.change({
    operationId: idOf("changeWebhook"),
    summary: "Change, enable or disable a webhook endpoint",
    description: "Omitted fields keep their values. Enabling an endpoint sends nothing by itself.",
    body: changeSchema,
    errors: [...errors, "webhook_address_blocked", "rate_limited"],
  }, ({ params: { id }, body }, owner) => verbs.changeWebhook(services, owner, { id, ...body }));
  route(
    {
      route: `POST ${path}/{id}/rotate-secret`,
      operationId: idOf("rotateWebhookSecret"),
      summary: "Rotate the secret of a webhook endpoint",
      description: "Until `expireOldAt`, each request is signed with both secrets.",
      params,
      body: rotateSchema,
      bodyOptional: true,
      responses: { 201: withSecret },
      errors,
    },
    (_c, { params: { id }, body: { expireOldAt } }, owner) =>
      verbs.rotateWebhookSecret(services, owner, { id, expireOldAt: expireOldAt ?? undefined }),
  );
  routes.delete({
    operationId: idOf("deleteWebhook"),
    summary: "Delete a webhook endpoint",
    description: "Nothing is sent to it anymore. Its deliveries are deleted.",
    errors,
  }, ({ params: { id } }, owner) => verbs.deleteWebhook(services, owner, id));
  deliveryRoutes(services, route, { path, idOf, errors, isForOperators });
}

export function webhookPages(app: App, parts: PortalParts): void {
  for (const pages of pagesOf(app, parts)) {
    editingPages(pages, parts);
    confirmingPages(pages, parts);
    deliveryPages(pages, parts);
    showingPages(pages, parts);
  }
}

const one = "/webhooks/:webhookId";

function showingPages(pages: Pages<WebhookViewer>, { services }: PortalParts): void {
  mountPage(pages, "/webhooks", async (c, { actor: { owner }, ...page }) => {
    const { webhooks } = await verbs.listWebhooks(services, owner, { limit: pageItemsDefault });
    return webhookList({ ...page, webhooks, flash: flashOf(c, { deleted: "Webhook deleted." }) });
  });
  mountPage(pages, one, async (c, { actor, frame, place }) => {
    const webhook = await verbs.getWebhook(services, actor.owner, paramOf(c, "webhookId"));
    const children = await deliveryList(c, services, actor, webhook);
    return WebhookPage({
      frame,
      place,
      webhook,
      flash: flashOf(c, webhookFlashes(webhookName(webhook))) ?? replayFlash(c),
      children,
    });
  });
}

/** Shows an endpoint with its new secret, which can't be read again. The response to a form is never cached. */
function showSecret(c: AppContext, page: Omit<WebhookPageProps, "children">) {
  const { frame, webhook } = page;
  // Reloading the page must not send the form again.
  c.header("HX-Push-Url", webhookHref(frame.base, webhook.id));
  return sendPage(
    c,
    WebhookPage({ ...page, children: NextSteps({ frame, webhook, samples: verifySamples() }) }),
    201,
  );
}

function editingPages(pages: Pages<WebhookViewer>, { services }: PortalParts): void {
  const { place } = pages;
  mountFormPage(pages, {
    path: "/webhooks/new",
    show: (_c, form, { owner }) => webhookForm(form, { isForOperators: "operator" in owner }),
    async submit(c, { owner, frame }, input) {
      const typed = typedWebhook(input);
      const checked = await checkTogether(
        () => check(createSchema, typed, "body"),
        () => verbs.checkWebhookUrl(services, owner, typed.url),
      );
      const { webhook, secret } = await verbs.createWebhook(services, owner, checked);
      return showSecret(c, { frame, place, webhook, secret: { value: secret, isReplaced: false } });
    },
  });
  mountFormPage(pages, {
    path: `${one}/edit`,
    async show(c, form, { owner }) {
      const webhook = await verbs.getWebhook(services, owner, paramOf(c, "webhookId"));
      const filled = withInput(form, form.input ?? webhookInput(webhook));
      return webhookForm(filled, { isForOperators: "operator" in owner, webhook });
    },
    async submit(c, { owner, frame }, input) {
      const id = paramOf(c, "webhookId");
      const typed = typedWebhook(input);
      const checked = await checkTogether(
        () => check(changeSchema, typed, "body"),
        () => verbs.checkWebhookUrl(services, owner, typed.url),
      );
      await verbs.changeWebhook(services, owner, { id, ...checked });
      return `${webhookHref(frame.base, id)}?done=saved`;
    },
  });
  mountFormPage(pages, {
    path: `${one}/rotate`,
    show: async (c, form, { owner }) =>
      confirmWebhook("rotate", form, await verbs.getWebhook(services, owner, paramOf(c, "webhookId"))),
    async submit(c, { owner, frame }, { expireOld = defaultGrace }) {
      const expireOldAt = timeAfter(services.clock(), graces, { expireOld }) ?? "now";
      const id = paramOf(c, "webhookId");
      const { webhook, secret } = await verbs.rotateWebhookSecret(services, owner, { id, expireOldAt });
      return showSecret(c, { frame, place, webhook, secret: { value: secret, isReplaced: true } });
    },
  });
}

function confirmingPages(pages: Pages<WebhookViewer>, { services }: PortalParts): void {
  for (const action of ["enable", "disable", "delete"] as const) {
    mountFormPage(pages, {
      path: `${one}/${action}`,
      show: async (c, form, { owner }) =>
        confirmWebhook(action, form, await verbs.getWebhook(services, owner, paramOf(c, "webhookId"))),
      async submit(c, { owner, frame }) {
        const id = paramOf(c, "webhookId");
        if (action === "delete") await verbs.deleteWebhook(services, owner, id);
        else await verbs.changeWebhook(services, owner, { id, enabled: action === "enable" });
        const href = action === "delete" ? `${frame.base}/webhooks` : webhookHref(frame.base, id);
        return `${href}?done=${action}d`;
      },
    });
  }
}

const eventsShownMax = 2;

function webhookList(
  { webhooks, ...page }: Pick<ListPageProps, "frame" | "place" | "flash"> & {
    readonly webhooks: readonly Webhook[];
  },
) {
  const { frame: { base, isReadOnly, now, viewed, isConsole } } = page;
  const max = isConsole && viewed === null ? webhooksOfOperatorsMax : webhooksOfOrganizationMax;
  const hosts = webhooks.map(({ url }) => new URL(url).host);
  const isShared = (url: URL) => hosts.indexOf(url.host) !== hosts.lastIndexOf(url.host);
  return (
    <ListPage
      {...page}
      title="Webhooks"
      text={viewed !== null
        ? "Send events of this organization to its own systems."
        : isConsole
        ? "Send events of all organizations to your own systems."
        : "Send events to your own systems as soon as they happen."}
      add={isReadOnly ? null : { href: `${base}/webhooks/new`, label: "Add webhook" }}
      filters={
        <p class="muted small">
          <GuideLink href="/docs/webhooks" embed={page.frame.embed} />{" "}
          about events, and how to verify and handle them.
          {isConsole && viewed === null && (
            <>
              {" "}
              <a href={`${base}/webhooks/failing`}>Customers’ failing webhooks</a>
            </>
          )}
        </p>
      }
      card={`${webhooks.length} of ${max} webhooks`}
      empty={webhooks.length > 0
        ? null
        : { title: "No webhooks yet", text: "Add a URL to receive events, such as limits that are reached." }}
      links={[]}
    >
      <ItemTable
        label="Webhooks"
        items={webhooks}
        columns={[
          {
            title: "Webhook",
            in: "title",
            cell: (webhook) => <WebhookLink webhook={webhook} base={base} isShared={isShared} />,
          },
          { title: "Events", cell: ({ events }) => <EventNames events={events} shownMax={eventsShownMax} /> },
          {
            title: "Last delivered",
            cell: ({ lastDeliveredAt }) => <TimeCell at={lastDeliveredAt} now={now} />,
          },
          {
            title: "Failing since",
            cell: ({ failingSince }) =>
              failingSince === null ? <span class="muted">–</span> : <TimeCell at={failingSince} now={now} />,
          },
          { title: "Status", in: "state", cell: (webhook) => <WebhookStatus {...webhook} /> },
        ]}
      />
    </ListPage>
  );
}

/** `isShared`: true if another webhook has the host, so that the path tells them apart. */
function WebhookLink(
  { webhook, base, isShared }: { webhook: Webhook; base: string; isShared: (url: URL) => boolean },
) {
  const url = new URL(webhook.url);
  const hasPath = isShared(url);
  return (
    <>
      <a class="name" href={webhookHref(base, webhook.id)}>
        <bdi>{webhookName(webhook)}</bdi>
      </a>
      {(webhook.description !== "" || hasPath) && (
        <div class="muted tiny breaks">{hasPath ? url.host + url.pathname : url.host}</div>
      )}
    </>
  );
}
