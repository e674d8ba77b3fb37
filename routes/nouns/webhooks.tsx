// Webhook endpoints: their shapes, their API, and their pages, for members, for operators in an organization, and for operators' own.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import type { OperatorActor } from "../../domain/actor.ts";
import type { ErrorCode } from "../../domain/errors.ts";
import { pageItemsDefault } from "../../domain/limits.ts";
import { nameFault } from "../../domain/name.ts";
import { isEventName } from "../../domain/webhooks/event_types.ts";
import { webhookName } from "../../domain/webhooks/webhook.ts";
import {
  webhookDescriptionCharactersMax as descriptionMax,
  webhookEventNamesMax as eventsMax,
  webhookUrlCharactersMax as urlMax,
} from "../../domain/webhooks/webhook_limits.ts";
import { activeAccess } from "../../services/access.ts";
import {
  ownerForOperator,
  ownerOfWebhook,
  type WebhookOwner,
} from "../../services/webhooks/webhook_owner.ts";
import * as verbs from "../../services/webhooks/webhooks.ts";
import { NewSecret } from "../../views/components/code.tsx";
import { defaultGrace } from "../../views/components/expiry_field.tsx";
import type { Place, PortalFrame } from "../../views/layout.tsx";
import { webhookHref, WebhookPage } from "../../views/webhooks/webhook.tsx";
import {
  confirmWebhook,
  eventChoices,
  webhookFlashes,
  webhookForm,
  webhookInput,
} from "../../views/webhooks/webhook_forms.tsx";
import { webhookList } from "../../views/webhooks/webhook_list.tsx";
import { type MountRoute, sessionRoutes, withAccess } from "../api/endpoint.ts";
import { nounRoutes } from "../api/noun_routes.ts";
import { operatorRoutes } from "../api/operator/operator_routes.ts";
import type { App, AppContext, AppEnv, AppParts } from "../env.ts";
import { graces, timeAfter } from "../portal/expiry.ts";
import { flashOf } from "../portal/form.ts";
import { type FormInput, mountFormPage, mountPage, type Pages, withInput } from "../portal/noun_pages.ts";
import { type PortalParts, sendPage } from "../portal/page.ts";
import { webhookIdOf, webhookPages as pagesOf, type WebhookViewer } from "../portal/webhook_viewer.ts";
import { check } from "../schemas/check.ts";
import {
  exampleId,
  idOut,
  idParam,
  optionalEndOrNow,
  pageQuerySchema,
  stringSchema,
  timeOut,
} from "../schemas/common.ts";
import { atMost, characters } from "../schemas/messages.ts";
import { organizationParamsSchema } from "../schemas/operator_organizations.ts";
import { deliveryPages, deliveryRoutes, readDeliveries, replayFlash } from "./webhook_deliveries.tsx";

const eventWords =
  "Names of events: types such as `limit.reached`, all types of a noun such as `limit.*`, or `*` for all.";
const schema = z.object({
  id: idOut("whk", "The endpoint's id."),
  url: stringSchema("The URL that events are sent to.", "https://example.com/webhooks"),
  events: z.array(z.string()).openapi({ description: eventWords, example: ["limit.*"] }),
  description: stringSchema("A name for people; empty for none.", "Billing"),
  status: z.enum(["enabled", "disabled"]).describe(
    "Events are sent to enabled endpoints, and held for disabled ones.",
  ),
  disabledReason: z.enum(["manual", "failing", "gone"]).nullable().describe(
    "Why it is disabled: by someone, after five days of failures, or because it returned 410.",
  ),
  failingSince: timeOut("When attempts began to fail. Null after a success.").nullable(),
  lastDeliveredAt: timeOut("When an attempt last succeeded.").nullable(),
  createdAt: timeOut("When the endpoint was created."),
  createdBy: z.object({
    id: stringSchema("The id of the user or the operator token.", exampleId("usr")),
    name: stringSchema("Their name.", "Ada Lovelace"),
  }).nullable().describe(
    "Null if the account was deleted, or if an operator created an organization's endpoint.",
  ),
}).openapi("Webhook");
const withSecret = {
  description: "The endpoint with its new secret, which appears only in this response.",
  schema: z.object({
    webhook: schema,
    secret: stringSchema(
      "Signs what is sent, as Standard Webhooks 1.0 says.",
      "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    ),
  }).openapi("CreatedWebhook"),
};

const eventName = z.string().refine(
  isEventName,
  "must be a type such as limit.reached, a noun such as limit.*, or *.",
);
const description = z.string().trim().refine(
  (text) => [...text].length <= descriptionMax,
  characters(descriptionMax),
)
  .superRefine((text, context) => {
    const message = nameFault(text);
    if (message !== null) context.addIssue({ code: "custom", message });
  }).optional().openapi({ type: "string", maxLength: descriptionMax, description: "A name for people." });
const createSchema = z.strictObject({
  url: z.string().openapi({
    maxLength: urlMax,
    description:
      `An https URL without credentials and fragment, at most ${urlMax} characters, with a public address.`,
    example: "https://example.com/webhooks",
  }),
  events: z.array(eventName).min(1, "must have at least one event.").max(
    eventsMax,
    atMost(eventsMax, "events"),
  )
    .transform((names) => [...new Set(names)]).openapi({
      type: "array",
      description: `${eventWords} 1 to ${eventsMax} names; duplicates are removed.`,
      example: ["limit.*", "api_key.expiring"],
    }),
  description,
}).openapi("CreateWebhook");
const changeSchema = createSchema.partial().extend({
  enabled: z.boolean().optional().describe(
    "False disables the endpoint, and holds what waits for it. True enables it, and forgets its failures.",
  ),
}).openapi("ChangeWebhook");
const rotateSchema = z.strictObject({
  expireOldAt: optionalEndOrNow(
    "Until when the old secret signs too: at most 7 days ahead, 24 hours by default, or `now` for not at all.",
  ),
}).openapi("RotateWebhookSecret");
const params = z.object({ id: idParam("whk", "The endpoint's id.") });

const ofOrganization = {
  organizationId: organizationParamsSchema.shape.id.optional().openapi({
    description:
      "An organization, by its id or as `external:` and its external id. By default, operators' own endpoints.",
    example: exampleId("org"),
  }),
};

export function webhookRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const members = sessionRoutes(app, parts, { tag: "Webhooks", errors: ["forbidden"] });
  mountRoutes(parts, withAccess(members, (actor) => ({ access: activeAccess(actor) })), {
    path: "/api/portal/webhooks",
    idOf: (name) => name,
    errors: ["proof_required"],
  });
  const operators = operatorRoutes(app, parts, { read: "webhooks:read", write: "webhooks:write" });
  const ownerOf = (actor: OperatorActor, id: string, organizationId?: string) =>
    id === "" ? ownerForOperator(services, actor, organizationId) : ownerOfWebhook(services, actor, id);
  mountRoutes(parts, withAccess(operators, ownerOf), {
    path: "/api/operator/webhooks",
    idOf: (name) => `operator${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    errors: [],
    filters: ofOrganization,
  });
}

function mountRoutes(
  { services }: AppParts,
  route: MountRoute<WebhookOwner>,
  { path, idOf, errors, filters = {} }: {
    path: `/api/${string}`;
    /** Returns the id of an operation. */
    idOf: (name: string) => string;
    errors: readonly ErrorCode[];
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
  route(
    {
      route: `POST ${path}`,
      operationId: idOf("createWebhook"),
      summary: "Create a webhook endpoint",
      description: "It receives events from now on.",
      query: z.strictObject(filters),
      body: createSchema,
      responses: { 201: withSecret },
      errors: [...errors, "webhook_limit_reached", "webhook_address_blocked"],
    },
    (_c, { body: { description = "", ...body } }, owner) =>
      verbs.createWebhook(services, owner, { ...body, description }),
  );
  routes.get(
    { operationId: idOf("getWebhook"), summary: "Get a webhook endpoint" },
    ({ params: { id } }, owner) => verbs.getWebhook(services, owner, id),
  );
  routes.change({
    operationId: idOf("changeWebhook"),
    summary: "Change, enable or disable a webhook endpoint",
    description: "What is left out stays as it is. Enabling an endpoint sends nothing by itself.",
    body: changeSchema,
    errors: [...errors, "webhook_address_blocked"],
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
  deliveryRoutes(services, route, { path, idOf, errors });
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
    const webhook = await verbs.getWebhook(services, actor.owner, webhookIdOf(c));
    const children = await readDeliveries(c, services, actor, webhook);
    return WebhookPage({
      frame,
      place,
      webhook,
      flash: flashOf(c, webhookFlashes) ?? replayFlash(c),
      children,
    });
  });
}

/** Shows an endpoint with its new secret, which can't be read again. The response to a form is never cached. */
function showSecret(
  c: AppContext,
  { frame, place }: { frame: PortalFrame; place: Place },
  { webhook, secret: value }: verbs.CreatedWebhook,
) {
  // Reloading the page must not send the form again.
  c.header("HX-Push-Url", webhookHref(frame.base, webhook.id));
  const secret = <NewSecret what="secret" name={webhookName(webhook)} value={value} />;
  return sendPage(c, WebhookPage({ frame, place, webhook, secret }), 201);
}

function editingPages(pages: Pages<WebhookViewer>, { services }: PortalParts): void {
  const { place } = pages;
  mountFormPage(pages, {
    path: "/webhooks/new",
    show: (_c, form, { owner }) => webhookForm(form, { isForOperators: "operator" in owner }),
    async submit(c, { owner, frame }, input) {
      const { description = "", ...typed } = check(createSchema, typedWebhook(input), "body");
      return showSecret(
        c,
        { frame, place },
        await verbs.createWebhook(services, owner, { ...typed, description }),
      );
    },
  });
  mountFormPage(pages, {
    path: `${one}/edit`,
    async show(c, form, { owner }) {
      const webhook = await verbs.getWebhook(services, owner, webhookIdOf(c));
      const filled = withInput(form, form.input ?? webhookInput(webhook));
      return webhookForm(filled, { isForOperators: "operator" in owner, webhook });
    },
    async submit(c, { owner, frame }, input) {
      const id = webhookIdOf(c);
      await verbs.changeWebhook(services, owner, { id, ...check(changeSchema, typedWebhook(input), "body") });
      return `${webhookHref(frame.base, id)}?done=saved`;
    },
  });
  mountFormPage(pages, {
    path: `${one}/rotate`,
    show: async (c, form, { owner }) =>
      confirmWebhook("rotate", form, await verbs.getWebhook(services, owner, webhookIdOf(c))),
    async submit(c, { owner, frame }, { expireOld = defaultGrace }) {
      const expireOldAt = timeAfter(services.clock(), graces, { expireOld }) ?? "now";
      const rotated = await verbs.rotateWebhookSecret(services, owner, { id: webhookIdOf(c), expireOldAt });
      return showSecret(c, { frame, place }, rotated);
    },
  });
}

function typedWebhook({ url = "", description = "", ...input }: FormInput) {
  return { url, description, events: eventChoices.filter((name) => input[name] !== undefined) };
}

function confirmingPages(pages: Pages<WebhookViewer>, { services }: PortalParts): void {
  for (const action of ["enable", "disable", "delete"] as const) {
    mountFormPage(pages, {
      path: `${one}/${action}`,
      show: async (c, form, { owner }) =>
        confirmWebhook(action, form, await verbs.getWebhook(services, owner, webhookIdOf(c))),
      async submit(c, { owner, frame }) {
        const id = webhookIdOf(c);
        if (action !== "delete") {
          await verbs.changeWebhook(services, owner, { id, enabled: action === "enable" });
          return `${webhookHref(frame.base, id)}?done=${action}d`;
        }
        await verbs.deleteWebhook(services, owner, id);
        return `${frame.base}/webhooks?done=deleted`;
      },
    });
  }
}
