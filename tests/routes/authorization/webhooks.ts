// Who is allowed to use each route and page of webhook endpoints.
import { sql } from "../../../db/engine/database.ts";
import { newId } from "../../../domain/id.ts";
import type { Scene } from "../../support/people/scene.ts";
import { addDeliveries } from "../../support/webhooks/deliveries.ts";
import { type Attempt, byOperator, type Entry, inActiveFromAdmin, objectFromAdmin } from "./entry.ts";
import { belowAdmin, write } from "./writes.ts";

const json = { url: "https://1.1.1.1/", events: ["*"] };
const typed = { "url": "https://1.1.1.1/", "description": "Renamed", "limit.*": "on" };

/** @returns An attempt on an endpoint of the organization, or of operators. */
export const withWebhook =
  (more: Attempt = {}, options: { isOwn?: boolean; isDisabled?: boolean } = {}) =>
  async ({ test, organizationId }: Scene): Promise<Attempt> => {
    const id = newId("whk");
    const organization = options.isOwn
      ? sql`0`
      : sql`(SELECT number FROM organizations WHERE id = ${organizationId})`;
    await test.opened.database.write([
      // Few are allowed, and the one of an earlier attempt is no longer needed.
      sql`DELETE FROM webhook_deliveries WHERE webhook IN (SELECT number FROM webhooks WHERE organization = ${organization})`,
      sql`DELETE FROM webhooks WHERE organization = ${organization}`,
      sql`INSERT INTO webhooks (id, organization, url, events, description, secret, since_seq, created_at, disabled_at)
        VALUES (${id}, ${organization}, 'https://127.0.0.1/', '["*"]', '', 'plain:x', 0, 0, ${
        options.isDisabled ? 0 : null
      })`,
    ]);
    return { ...more, params: { id, webhookId: id } };
  };

/** @returns An attempt on a delivery that failed, of {@linkcode withWebhook}. */
export const withDelivery =
  (more: Attempt = {}, options: { isOwn?: boolean } = {}) => async (scene: Scene): Promise<Attempt> => {
    const { params } = await withWebhook({}, options)(scene);
    const [deliveryId = ""] = await addDeliveries(scene.test.opened.database, params?.["webhookId"] ?? "", [
      { type: "api_key.created", status: "failed", createdAt: scene.test.now() },
    ]);
    return { ...more, params: { ...params, deliveryId } };
  };

function changing(more: Attempt, options: { isDisabled?: boolean } = {}) {
  const attempt = withWebhook(more, options);
  return { who: objectFromAdmin, attempt, writes: write(attempt, belowAdmin) };
}

const ofOperator = (scope: "webhooks:read" | "webhooks:write", more: Attempt = {}): Entry =>
  byOperator(scope, withWebhook(more));

export const webhookApiEntries: Readonly<Record<string, Entry>> = {
  "GET /api/portal/webhooks": { who: inActiveFromAdmin },
  "POST /api/portal/webhooks": { who: inActiveFromAdmin, attempt: () => ({ json }) },
  "GET /api/portal/webhooks/:id": { who: objectFromAdmin, attempt: withWebhook() },
  "PATCH /api/portal/webhooks/:id": changing({ json: { description: "Renamed" } }),
  "POST /api/portal/webhooks/:id/rotate-secret": changing({ json: {} }),
  "DELETE /api/portal/webhooks/:id": changing({}),
  "GET /api/portal/webhooks/:id/deliveries": { who: objectFromAdmin, attempt: withWebhook() },
  "GET /api/portal/webhooks/:id/deliveries/:deliveryId": { who: objectFromAdmin, attempt: withDelivery() },
  "POST /api/portal/webhooks/:id/replay": changing({ json: { from: "2026-11-01" } }),
  "POST /api/portal/webhooks/:id/test": changing({ json: {} }),
};

const replaying = withDelivery({ form: {} });

export const webhookOperatorEntries: Readonly<Record<string, Entry>> = {
  "GET /api/operator/webhooks": byOperator("webhooks:read"),
  "POST /api/operator/webhooks": byOperator(
    "webhooks:write",
    ({ organizationId }) => ({ json, query: `?organizationId=${organizationId}` }),
  ),
  "GET /api/operator/webhooks/:id": ofOperator("webhooks:read"),
  "PATCH /api/operator/webhooks/:id": ofOperator("webhooks:write", { json: { description: "Renamed" } }),
  "POST /api/operator/webhooks/:id/rotate-secret": ofOperator("webhooks:write", { json: {} }),
  "DELETE /api/operator/webhooks/:id": ofOperator("webhooks:write"),
  "GET /api/operator/webhooks/:id/deliveries": ofOperator("webhooks:read"),
  "GET /api/operator/webhooks/:id/deliveries/:deliveryId": byOperator("webhooks:read", withDelivery()),
  "POST /api/operator/webhooks/:id/replay": ofOperator("webhooks:write", { json: { from: "2026-11-01" } }),
  "POST /api/operator/webhooks/:id/test": ofOperator("webhooks:write", { json: {} }),
};

/** Pages of one endpoint with a form, and what they send. */
export const webhookForms: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  edit: typed,
  rotate: { expireOld: "now" },
  enable: {},
  disable: {},
  delete: {},
  replay: { span: "1h" },
  test: { type: "webhook.test" },
};
export const newWebhookForm = typed;

export const webhookPortalEntries: Readonly<Record<string, Entry>> = {
  "GET /portal/webhooks": { who: inActiveFromAdmin },
  "GET /portal/webhooks/new": { who: inActiveFromAdmin },
  "POST /portal/webhooks/new": { who: inActiveFromAdmin, attempt: () => ({ form: typed }) },
  "GET /portal/webhooks/:webhookId": { who: objectFromAdmin, attempt: withWebhook() },
  "GET /portal/webhooks/:webhookId/deliveries/:deliveryId": { who: objectFromAdmin, attempt: withDelivery() },
  "GET /portal/webhooks/:webhookId/deliveries/:deliveryId/replay": {
    who: objectFromAdmin,
    attempt: withDelivery(),
  },
  "POST /portal/webhooks/:webhookId/deliveries/:deliveryId/replay": {
    who: objectFromAdmin,
    attempt: replaying,
    writes: write(replaying, belowAdmin),
  },
  ...Object.fromEntries(
    Object.entries(webhookForms).flatMap(([action, form]): [string, Entry][] => [
      [`GET /portal/webhooks/:webhookId/${action}`, { who: objectFromAdmin, attempt: withWebhook() }],
      [
        `POST /portal/webhooks/:webhookId/${action}`,
        changing({ form }, { isDisabled: action === "enable" }),
      ],
    ]),
  ),
};
