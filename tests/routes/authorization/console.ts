// The pages of the operator console. They don't exist for anyone else.
import { newId } from "../../../domain/id.ts";
import type { Scene } from "../../support/people/scene.ts";
import { withSingleSignOn } from "./company_sign_in.ts";
import { type Attempt, type Entry, onlyOperators } from "./entry.ts";
import { alertForm, budgetForm, selectedKey, unusedKey } from "./portal_meter.ts";
import { attemptOn, newGrant, newProvider } from "./operators.ts";
import { newWebhookForm, webhookForms, withDelivery, withWebhook } from "./webhooks.ts";

type Trying = (scene: Scene) => Attempt | Promise<Attempt>;
type Fields = Readonly<Record<string, string>>;

/** @returns An attempt on what the path of a page names, without a form. */
function attemptAt(path: string): Trying {
  const isOwn = path.startsWith("/operator/webhooks");
  const withParams = (attempt: Trying): Trying => async (scene) => {
    const { params } = await attempt(scene);
    return { params: isOwn ? params ?? {} : { ...params, id: scene.organizationId } };
  };
  if (path.includes(":deliveryId")) return withParams(withDelivery({}, { isOwn }));
  if (path.includes(":webhookId")) return withParams(withWebhook({}, { isOwn }));
  return path.includes("single-sign-on") ? withSingleSignOn() : attemptOn(path);
}

const page = (path: string): Record<string, Entry> => ({
  [`GET ${path}`]: { who: onlyOperators, attempt: attemptAt(path) },
});

/**
 * A page with a form, and its target.
 *
 * @param fields What is typed, or what returns it; it may get the parameters of the path.
 * @param options `writes`: what no route of the API writes.
 */
const newClientForm = {
  name: "A",
  type: "public",
  redirectUriLines: "https://a.example/",
  requirePkce: "on",
  idTokenAlgorithm: "RS256",
};

const form = (
  path: string,
  fields: Fields | ((scene: Scene, params: NonNullable<Attempt["params"]>) => Fields | Promise<Fields>) = {},
  { writes = false, also = [] }: { writes?: boolean; also?: readonly number[] } = {},
): Record<string, Entry> => ({
  [`GET ${path}`]: { who: onlyOperators, attempt: attemptAt(path), readsAfterProof: true },
  [`POST ${path}`]: {
    who: onlyOperators,
    attempt: async (scene) => {
      const attempted = await attemptAt(path)(scene);
      const form = typeof fields === "function" ? await fields(scene, attempted.params ?? {}) : fields;
      return { ...attempted, form };
    },
    writes: [],
    also,
    ...(writes ? { operators: "account" } : {}),
  },
});

const all = (entries: readonly Record<string, Entry>[]): Record<string, Entry> =>
  Object.assign({}, ...entries);

const planFields = { apiKeysMax: "1", membersMax: "1", requestsPerSecond: "1", usageSeriesMax: "1" };

/** Pages of an organization, with and without a form. */
const ofOrganization = all([
  "",
  "/limits",
  "/alerts",
  "/audit",
  "/members",
  "/api-keys",
  "/api-keys/:keyId",
  "/api-keys/:keyId/first-request",
  "/billing",
  "/billing/:period",
  "/usage",
  "/usage/records",
  "/usage/records/:recordId",
  "/webhooks",
  "/webhooks/:webhookId",
  "/webhooks/:webhookId/deliveries/:deliveryId",
  // Without a start, they ask whether to start.
  "/view",
  "/view/alerts",
  "/view/api-keys",
  "/view/api-keys/:keyId",
  "/view/api-keys/:keyId/first-request",
  "/view/audit",
  "/view/billing",
  "/view/billing/:period",
  "/view/members",
  "/view/usage",
  "/view/usage/records",
  "/view/usage/records/:recordId",
  "/view/webhooks",
  "/view/webhooks/:webhookId",
  "/view/webhooks/:webhookId/deliveries/:deliveryId",
].map((end) => page(`/operator/organizations/:id${end}`)));

const formsOfOrganization = all([
  form("/operator/organizations/:id/edit", { name: "Renamed" }),
  form("/operator/organizations/:id/plan", async (scene) => {
    const { id = "" } = (await attemptOn("/plans/:id")(scene)).params ?? {};
    return { confirmed: "on", planId: id };
  }),
  form("/operator/organizations/:id/limits/edit", { timezone: "UTC", apiKeysMax: "90" }),
  form("/operator/organizations/:id/alerts/new", alertForm),
  form("/operator/organizations/:id/alerts/:alertId/edit", alertForm),
  form("/operator/organizations/:id/alerts/:alertId/delete"),
  form("/operator/organizations/:id/view-as-customer", {}, { writes: true }),
  form("/operator/organizations/:id/single-sign-on"),
  form("/operator/organizations/:id/suspend"),
  form("/operator/organizations/:id/resume"),
  form("/operator/organizations/:id/delete"),
  form("/operator/organizations/:id/notes/new", { text: "Note" }),
  form("/operator/organizations/:id/notes/:noteId/delete"),
  form("/operator/organizations/:id/grants/new", async (scene) => {
    const grant = await newGrant(scene);
    return { ...grant, quantity: "1", formToken: grant.limitId };
  }),
  form("/operator/organizations/:id/grants/:grantId/void", { reason: "Refunded." }),
  form("/operator/organizations/:id/refills/:refillId/void", { reason: "Refunded." }),
  form("/operator/organizations/:id/invitations/:invitationId/revoke"),
  form("/operator/organizations/:id/api-keys/new", { "name": "Key", "usage:write": "on" }),
  form("/operator/organizations/:id/api-keys/revoke", selectedKey, { writes: true }),
  form("/operator/organizations/:id/api-keys/revoke-unused", unusedKey, { writes: true }),
  form("/operator/organizations/:id/api-keys/:keyId/budget", budgetForm),
  form("/operator/organizations/:id/api-keys/:keyId/edit", { name: "Renamed" }),
  form("/operator/organizations/:id/api-keys/:keyId/revoke"),
  form("/operator/organizations/:id/api-keys/:keyId/reference", { externalId: "user-1" }),
  form("/operator/organizations/:id/api-keys/:keyId/disable"),
  form("/operator/organizations/:id/api-keys/:keyId/enable"),
  form("/operator/organizations/:id/api-keys/:keyId/rotate", { expireOld: "now" }, { writes: true }),
  form("/operator/organizations/:id/usage/records/:recordId/void", { reason: "wrong" }),
  form("/operator/organizations/:id/webhooks/new", newWebhookForm),
]);

const webhooks = "/operator/organizations/:id/webhooks/:webhookId";
const ownWebhooks = "/operator/webhooks/:webhookId";

/** Every page and form by method and path. */
export const consoleTable: Readonly<Record<string, Entry>> = {
  ...ofOrganization,
  ...formsOfOrganization,
  ...all(
    Object.entries(webhookForms).flatMap(([action, fields]) =>
      [webhooks, ownWebhooks].map((path) => form(`${path}/${action}`, fields))
    ),
  ),
  ...all([webhooks, ownWebhooks].map((path) => form(`${path}/deliveries/:deliveryId/replay`))),
  ...all([
    "",
    "/audit",
    "/organizations",
    "/webhooks",
    "/webhooks/failing",
    "/webhooks/:webhookId",
    "/webhooks/:webhookId/deliveries/:deliveryId",
    "/plans",
    "/plans/:id",
    "/products",
    "/products/:slug/metrics",
    "/collectors",
    "/statements",
    "/statements/:id",
    "/system",
    "/tokens",
    "/identity-providers",
    "/clients",
    "/clients/documents",
    "/clients/:id",
    "/resources",
    "/resources/:id",
    "/usage",
    "/users",
    "/users/:id",
  ].map((end) => page(`/operator${end}`))),
  "GET /operator/search": { who: onlyOperators, attempt: () => ({ query: "?q=a" }) },
  "POST /operator/organizations/:id/members": {
    who: onlyOperators,
    attempt: attemptOn("/organizations/:id", () => ({ form: { email: "guest@example.com", role: "OWNER" } })),
    writes: [],
  },
  ...form("/operator/organizations/new", { name: "Northwind Maps" }),
  ...form("/operator/webhooks/new", newWebhookForm),
  ...form("/operator/plans/new", () => ({ ...planFields, name: newId("plan") })),
  ...form("/operator/plans/:id/edit", (_scene, { id = "" }) => ({ ...planFields, name: id })),
  ...form("/operator/plans/:id/default"),
  ...form("/operator/plans/:id/delete"),
  ...form("/operator/products/new", ({ organizationId: slug }) => ({ slug, name: "Search" })),
  ...form("/operator/products/:slug/edit", { name: "Map tiles" }),
  ...form("/operator/products/:slug/delete"),
  ...form("/operator/products/:slug/metrics/new", () => ({ slug: newId("map"), name: "Requests" })),
  ...form("/operator/products/:slug/metrics/:metric/edit", { name: "Requests" }),
  ...form("/operator/products/:slug/metrics/:metric/delete"),
  ...form("/operator/collectors/mappings/new", () => ({
    "name": "A",
    "type": newId("map"),
    "metrics[0].productSlug": "p",
    "metrics[0].metric": "m",
    "metrics[0].path": "n",
  })),
  ...form("/operator/collectors/mappings/:id/edit", (_scene, { id = "" }) => ({
    "name": "B",
    "type": id,
    "metrics[0].productSlug": "p",
    "metrics[0].metric": "m",
    "metrics[0].path": "n",
  })),
  ...form("/operator/collectors/mappings/:id/delete"),
  ...form("/operator/collectors/mappings/:id/try", {
    data: '{"specversion":"1.0","type":"a","source":"b","id":"c","subject":"d","data":{"n":1}}',
  }),
  ...form("/operator/collectors/subjects/assign", ({ organizationId }) => ({
    subject: newId("sub"),
    target: organizationId,
  })),
  ...form("/operator/collectors/subjects/:id/delete"),
  ...form("/operator/statements/close", { period: "2000-01" }),
  ...form("/operator/tokens/new", { "name": "Billing", "usage:read": "on" }),
  ...form("/operator/tokens/:id/revoke"),
  ...form("/operator/identity-providers/new", newProvider, { also: [422] }),
  ...form("/operator/identity-providers/:id/edit", { name: "B", clientId: "b", position: "1" }),
  ...form("/operator/identity-providers/:id/delete"),
  // The test has no SECRETS_KEY.
  ...form("/operator/clients/new", newClientForm, { also: [409, 422] }),
  ...form("/operator/clients/:id/edit", { ...newClientForm, enabled: "on" }),
  ...form("/operator/clients/:id/rotate"),
  ...form("/operator/clients/:id/delete"),
  ...form("/operator/clients/documents/:id/end"),
  ...form("/operator/resources/new", ({ organizationId }) => ({
    uri: `https://${organizationId}.example/console`,
    name: "Tools",
  })),
  ...form(
    "/operator/resources/:id/edit",
    (_scene, { id = "" }) => ({ uri: `https://${id}.example/`, name: "B" }),
  ),
  ...form("/operator/resources/:id/rotate"),
  ...form("/operator/resources/:id/delete"),
  ...form("/operator/users/:id/reset-password"),
  ...form("/operator/users/:id/sign-out"),
  ...form("/operator/users/:id/disable"),
  ...form("/operator/users/:id/enable"),
};
