// The pages of the operator console. They don't exist for anyone else.
import { newOperatorToken } from "../../support/operators/operators.ts";
import { newId } from "../../../domain/id.ts";
import type { Scene } from "../../support/people/scene.ts";
import { withSingleSignOn } from "./company_sign_in.ts";
import { type Attempt, type Entry, onlyOperators, recordOf, withAlert } from "./entry.ts";
import { alertForm, budgetForm, withSelectedKey, withUnusedKey } from "./portal_meter.ts";
import {
  newProvider,
  ofOrganization,
  onLimitInTotal,
  onUser,
  withGrant,
  withInvitation,
  withNote,
  withPlan,
  withProduct,
  withProvider,
  withStatement,
} from "./operators.ts";

import { newWebhookForm, webhookForms, withDelivery, withWebhook } from "./webhooks.ts";

type Trying = (scene: Scene) => Attempt | Promise<Attempt>;

const page = (attempt: Trying = () => ({})): Entry => ({ who: onlyOperators, attempt });

/** A page with a form, and its target. @param options `writes`: what no route of the API writes. */
const form = (
  path: string,
  { attempt = () => ({}), fields = {}, writes = false, also = [] }: {
    attempt?: Trying;
    fields?: Readonly<Record<string, string>>;
    writes?: boolean;
    also?: readonly number[];
  } = {},
): Record<string, Entry> => ({
  [`GET ${path}`]: {
    ...page(async (scene) => {
      const { form: _, ...attempted } = await attempt(scene);
      return attempted;
    }),
    readsAfterProof: true,
  },
  [`POST ${path}`]: {
    ...page(async (scene) => {
      const attempted = await attempt(scene);
      return { ...attempted, form: { ...fields, ...attempted.form } };
    }),
    writes: [],
    also,
    ...(writes ? { operators: "account" } : {}),
  },
});

const withCustomerDelivery = async (scene: Scene) => {
  const { params } = await withDelivery()(scene);
  return { params: { ...params, id: scene.organizationId } };
};
const withCustomerWebhook = async (scene: Scene) => {
  const { params } = await withWebhook()(scene);
  return { params: { ...params, id: scene.organizationId } };
};

const withOpenMonth = ({ organizationId }: Scene) => ({ params: { id: organizationId, period: "open" } });
const withRecord = async (scene: Scene) => ({
  params: { id: scene.organizationId, recordId: await recordOf(scene) },
});

const withCustomerKey = async ({ organizationId, newApiKey }: Scene) => ({
  params: { id: organizationId, keyId: (await newApiKey()).id },
});

const planFields = {
  name: "Growth",
  apiKeysMax: "1",
  membersMax: "1",
  requestsPerSecond: "1",
  usageSeriesMax: "1",
};

/** Every page and form by method and path. */
export const consoleTable: Readonly<Record<string, Entry>> = {
  "GET /operator": page(),
  "GET /operator/audit": page(),
  "GET /operator/search": page(() => ({ query: "?q=a" })),
  "GET /operator/organizations": page(),
  ...form("/operator/organizations/new", { fields: { name: "Northwind Maps" } }),
  "GET /operator/organizations/:id": page(ofOrganization()),
  ...form("/operator/organizations/:id/edit", { attempt: ofOrganization(), fields: { name: "Renamed" } }),
  ...form("/operator/organizations/:id/plan", {
    attempt: async (scene) => {
      const { params } = await withPlan()(scene);
      return { params: { id: scene.organizationId }, form: { planId: params["id"] ?? "" } };
    },
    fields: { confirmed: "on" },
  }),
  "GET /operator/organizations/:id/limits": page(ofOrganization()),
  ...form("/operator/organizations/:id/limits/edit", {
    attempt: ofOrganization(),
    fields: { timezone: "UTC", apiKeysMax: "90" },
  }),
  "GET /operator/organizations/:id/alerts": page(ofOrganization()),
  "GET /operator/organizations/:id/view/alerts": page(ofOrganization()),
  ...form("/operator/organizations/:id/alerts/new", { attempt: ofOrganization(), fields: alertForm }),
  ...form("/operator/organizations/:id/alerts/:alertId/edit", { attempt: withAlert(), fields: alertForm }),
  ...form("/operator/organizations/:id/alerts/:alertId/delete", { attempt: withAlert() }),
  "GET /operator/organizations/:id/audit": page(ofOrganization()),
  ...form("/operator/organizations/:id/view-as-customer", { attempt: ofOrganization(), writes: true }),
  // Without a start, they ask whether to start.
  "GET /operator/organizations/:id/view": page(ofOrganization()),
  "GET /operator/organizations/:id/view/api-keys": page(ofOrganization()),
  "GET /operator/organizations/:id/view/api-keys/:keyId": page(withCustomerKey),
  "GET /operator/organizations/:id/view/api-keys/:keyId/first-request": page(withCustomerKey),
  "GET /operator/organizations/:id/view/audit": page(ofOrganization()),
  "GET /operator/organizations/:id/view/billing": page(ofOrganization()),
  "GET /operator/organizations/:id/view/billing/:period": page(withOpenMonth),
  "GET /operator/organizations/:id/view/members": page(ofOrganization()),
  "GET /operator/organizations/:id/view/usage": page(ofOrganization()),
  "GET /operator/organizations/:id/view/usage/records": page(ofOrganization()),
  "GET /operator/organizations/:id/view/usage/records/:recordId": page(withRecord),
  "GET /operator/organizations/:id/view/webhooks": page(ofOrganization()),
  "GET /operator/organizations/:id/view/webhooks/:webhookId": page(withCustomerWebhook),
  "GET /operator/organizations/:id/view/webhooks/:webhookId/deliveries/:deliveryId": page(
    withCustomerDelivery,
  ),
  ...form("/operator/organizations/:id/single-sign-on", { attempt: withSingleSignOn() }),
  ...form("/operator/organizations/:id/suspend", { attempt: ofOrganization() }),
  ...form("/operator/organizations/:id/resume", { attempt: ofOrganization() }),
  ...form("/operator/organizations/:id/delete", { attempt: ofOrganization() }),
  ...form("/operator/organizations/:id/notes/new", { attempt: ofOrganization(), fields: { text: "Note" } }),
  ...form("/operator/organizations/:id/notes/:noteId/delete", { attempt: withNote }),
  ...form("/operator/organizations/:id/grants/new", { attempt: onLimitInTotal("form") }),
  ...form("/operator/organizations/:id/grants/:grantId/void", {
    attempt: withGrant(),
    fields: { reason: "Refunded." },
  }),
  "GET /operator/organizations/:id/members": page(ofOrganization()),
  "POST /operator/organizations/:id/members": {
    ...page(ofOrganization({ form: { email: "guest@example.com", role: "OWNER" } })),
    writes: [],
  },
  ...form("/operator/organizations/:id/invitations/:invitationId/revoke", { attempt: withInvitation }),
  "GET /operator/organizations/:id/api-keys": page(ofOrganization()),
  ...form("/operator/organizations/:id/api-keys/new", {
    attempt: ofOrganization(),
    fields: { "name": "Key", "usage:write": "on" },
  }),
  ...form("/operator/organizations/:id/api-keys/revoke", {
    attempt: async (scene) => ({ ...await withSelectedKey(scene), ...ofOrganization()(scene) }),
    writes: true,
  }),
  ...form("/operator/organizations/:id/api-keys/revoke-unused", {
    attempt: async (scene) => ({ ...await withUnusedKey(scene), ...ofOrganization()(scene) }),
    writes: true,
  }),
  "GET /operator/organizations/:id/api-keys/:keyId": page(withCustomerKey),
  "GET /operator/organizations/:id/api-keys/:keyId/first-request": page(withCustomerKey),
  ...form("/operator/organizations/:id/api-keys/:keyId/budget", {
    attempt: withCustomerKey,
    fields: budgetForm,
  }),
  ...form("/operator/organizations/:id/api-keys/:keyId/edit", {
    attempt: withCustomerKey,
    fields: { name: "Renamed" },
  }),
  ...form("/operator/organizations/:id/api-keys/:keyId/revoke", { attempt: withCustomerKey }),
  ...form("/operator/organizations/:id/api-keys/:keyId/rotate", {
    attempt: withCustomerKey,
    fields: { expireOld: "now" },
    writes: true,
  }),
  "GET /operator/organizations/:id/billing": page(ofOrganization()),
  "GET /operator/organizations/:id/billing/:period": page(withOpenMonth),
  "GET /operator/organizations/:id/usage": page(ofOrganization()),
  "GET /operator/organizations/:id/usage/records": page(ofOrganization()),
  "GET /operator/organizations/:id/usage/records/:recordId": page(withRecord),
  ...form("/operator/organizations/:id/usage/records/:recordId/void", {
    attempt: withRecord,
    fields: { reason: "wrong" },
  }),
  "GET /operator/organizations/:id/webhooks": page(ofOrganization()),
  ...form("/operator/organizations/:id/webhooks/new", { attempt: ofOrganization(), fields: newWebhookForm }),
  "GET /operator/organizations/:id/webhooks/:webhookId": page(withCustomerWebhook),
  "GET /operator/organizations/:id/webhooks/:webhookId/deliveries/:deliveryId": page(withCustomerDelivery),
  ...form("/operator/organizations/:id/webhooks/:webhookId/deliveries/:deliveryId/replay", {
    attempt: withCustomerDelivery,
  }),
  ...Object.assign(
    {},
    ...Object.entries(webhookForms).map(([action, fields]) => ({
      ...form(`/operator/organizations/:id/webhooks/:webhookId/${action}`, {
        attempt: withCustomerWebhook,
        fields,
      }),
      ...form(`/operator/webhooks/:webhookId/${action}`, {
        attempt: withWebhook({}, { isOwn: true }),
        fields,
      }),
    })),
  ),
  "GET /operator/webhooks": page(),
  ...form("/operator/webhooks/new", { fields: newWebhookForm }),
  "GET /operator/webhooks/:webhookId": page(withWebhook({}, { isOwn: true })),
  "GET /operator/webhooks/:webhookId/deliveries/:deliveryId": page(withDelivery({}, { isOwn: true })),
  ...form("/operator/webhooks/:webhookId/deliveries/:deliveryId/replay", {
    attempt: withDelivery({}, { isOwn: true }),
  }),
  "GET /operator/plans": page(),
  ...form("/operator/plans/new", { attempt: () => ({ form: { name: newId("plan") } }), fields: planFields }),
  "GET /operator/plans/:id": page(withPlan()),
  ...form("/operator/plans/:id/edit", {
    attempt: async (scene) => {
      const { params } = await withPlan()(scene);
      return { params, form: { name: params["id"] ?? "" } };
    },
    fields: planFields,
  }),
  ...form("/operator/plans/:id/default", { attempt: withPlan() }),
  ...form("/operator/plans/:id/delete", { attempt: withPlan() }),
  "GET /operator/products": page(),
  ...form("/operator/products/new", {
    attempt: ({ organizationId: slug }) => ({ form: { slug } }),
    fields: { name: "Search" },
  }),
  ...form("/operator/products/:slug/edit", { attempt: withProduct(), fields: { name: "Map tiles" } }),
  ...form("/operator/products/:slug/delete", { attempt: withProduct() }),
  "GET /operator/statements": page(),
  ...form("/operator/statements/close", { attempt: withStatement(), fields: { period: "2000-01" } }),
  "GET /operator/statements/:id": page(withStatement()),
  "GET /operator/system": page(),
  "GET /operator/tokens": page(),
  ...form("/operator/tokens/new", { fields: { "name": "Billing", "usage:read": "on" } }),
  ...form("/operator/tokens/:id/revoke", {
    attempt: async ({ test }) => ({ params: { id: (await newOperatorToken(test)).id } }),
  }),
  "GET /operator/identity-providers": page(),
  ...form("/operator/identity-providers/new", { fields: newProvider, also: [422] }),
  ...form("/operator/identity-providers/:id/edit", {
    attempt: withProvider(),
    fields: { name: "B", clientId: "b", position: "1" },
  }),
  ...form("/operator/identity-providers/:id/delete", { attempt: withProvider() }),
  "GET /operator/usage": page(),
  "GET /operator/users": page(),
  "GET /operator/users/:id": page(onUser()),
  ...form("/operator/users/:id/reset-password", { attempt: onUser() }),
  ...form("/operator/users/:id/sign-out", { attempt: onUser() }),
  ...form("/operator/users/:id/disable", { attempt: onUser() }),
  ...form("/operator/users/:id/enable", { attempt: onUser() }),
};
