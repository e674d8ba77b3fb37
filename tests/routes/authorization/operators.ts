// Which scope each route of the operators' API requires. authorization_test.ts fails if a route is missing.
import { hash } from "node:crypto";
import { newId } from "../../../domain/id.ts";
import type { OperatorScope } from "../../../domain/access/operator_scope.ts";
import { addClient, addDocument, addResource } from "../../support/oauth/scene.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
import { createPortalSession } from "../../support/operators/portal_sessions.ts";
import { exampleId } from "../../../routes/schemas/common.ts";
import { addLimit } from "../../support/meter/limits.ts";
import { newPerson, run, type Scene } from "../../support/people/scene.ts";
import { webhookOperatorEntries } from "./webhooks.ts";
import {
  type Attempt,
  byOperator,
  byOperatorToken,
  type Entry,
  holdOf,
  recordOf,
  withAlert,
  withKey,
} from "./entry.ts";

/** A provider that can't be reached, so that nothing is stored. */
export const newProvider = {
  slug: "okta",
  kind: "oidc",
  name: "Okta",
  issuer: "http://127.0.0.1:1",
  clientId: "a",
  clientSecret: "a",
};

/** Inserts what a path names, in a scene. @returns The parameters of the path. */
type Insert = (scene: Scene) => Promise<NonNullable<Attempt["params"]>>;

/** Finds the insert for a path: the first whose pattern matches. */
const inserts: readonly (readonly [path: RegExp, insert: Insert])[] = [
  [/:alertId/, async (scene) => (await withAlert()(scene)).params],
  [/:noteId/, async ({ test, organizationId: id }) => {
    const noteId = newId("not");
    const insert =
      "INSERT INTO organization_notes (id, organization_id, text, created_at) VALUES (?, ?, 'Note', 0)";
    await run(test, insert, noteId, id);
    return { id, noteId };
  }],
  [/:grantId/, async ({ test, organizationId: id }) => {
    const grantId = newId("gra");
    await run(
      test,
      `INSERT INTO usage_grants (id, organization, limit_id, product_slug, metric, quantity_micros, created_at, ends_at, reason,
       idempotency_key) SELECT ?, number, ?, '', '', 1, 0, 9007199254740991, 'Paid.', ? FROM organizations WHERE id = ?`,
      grantId,
      newId("lim"),
      grantId,
      id,
    );
    return { id, grantId };
  }],
  [/:refillId/, async ({ test, organizationId: id }) => {
    const refillId = newId("rfl");
    await run(
      test,
      `INSERT INTO usage_refills (id, organization, limit_id, product_slug, metric, quantity_micros, every, rollover, ends_at,
       created_at, reason, write_at) SELECT ?, number, ?, '', '', 1, 'month', 0, 9007199254740991, 0, 'Paid.', 9007199254740991
       FROM organizations WHERE id = ?`,
      refillId,
      newId("lim"),
      id,
    );
    return { id, refillId };
  }],
  [/:invitationId/, async ({ organizationId, newInvitation }) => ({
    id: organizationId,
    invitationId: (await newInvitation()).id,
  })],
  [
    /:keyId/,
    async ({ organizationId, newApiKey }) => ({ id: organizationId, keyId: (await newApiKey()).id }),
  ],
  [/:recordId/, async (scene) => ({ id: scene.organizationId, recordId: await recordOf(scene) })],
  [/\/:period/, ({ organizationId: id }) => Promise.resolve({ id, period: "open" })],
  [/\/organizations\/:id/, ({ organizationId: id }) => Promise.resolve({ id })],
  [/\/api-keys\/:id/, async (scene) => (await withKey()(scene)).params],
  [/\/(event-|collectors\/)mappings\/:id/, async ({ test }) => {
    const id = newId("map");
    const insert =
      `INSERT INTO event_mappings (id, name, type, source, metrics, properties, created_at) VALUES (?, 'A', ?, '',
      '[{"productSlug":"p","metric":"m","path":"n","scale":null,"round":null,"whenMissing":"reject","properties":{}}]', '{}', 0)`;
    await run(test, insert, id, id);
    return { id };
  }],
  [/\/subjects\/:id/, async ({ test }) => {
    const id = newId("sub");
    await run(test, "INSERT INTO event_subjects (id, subject) VALUES (?, ?)", id, id);
    return { id };
  }],
  [/\/holds\/:id/, async (scene) => ({ id: await holdOf(scene) })],
  [/\/records\/:id/, async (scene) => ({ id: await recordOf(scene) })],
  [/\/users\/:id/, async ({ test }) => ({ id: (await newPerson(test, null)).userId })],
  [/\/tokens\/:id/, async ({ test }) => ({ id: (await newOperatorToken(test)).id })],
  [/\/portal-sessions\/:id/, async ({ test, organizationId }) => ({
    id: (await createPortalSession(test, organizationId)).id,
  })],
  [/\/identity-providers\/:id/, async ({ test }) => {
    const id = newId("idp");
    const insert =
      `INSERT INTO identity_providers (id, slug, kind, name, issuer, client_id, client_secret, position, created_at, updated_at) VALUES (?, ?, 'oidc', 'A', 'https://a.example', 'a', 'plain:a', 1, 0, 0)`;
    await run(test, insert, id, id);
    return { id };
  }],
  [/\/clients\/documents\/:id/, async ({ test }) => ({ id: await addDocument(test) })],
  [/\/clients\/:id/, async ({ test }) => ({ id: (await addClient(test)).id })],
  [/\/resources\/:id/, async ({ test }) => {
    const uri = `https://${newId("res")}.example/`;
    return { id: await addResource(test, { uri }) };
  }],
  [/\/plans\/:id/, async ({ test }) => {
    const id = newId("plan");
    const insert =
      `INSERT INTO plans (id, name, is_default, api_keys_max, members_max, usage_series_max, created_at) VALUES (?, ?, 0, 100, 100, 100, 0)`;
    await run(test, insert, id, id);
    return { id };
  }],
  [/\/products\/:slug/, async ({ test, organizationId: slug }) => {
    await run(test, "INSERT OR IGNORE INTO products (slug, name, created_at) VALUES (?, 'Tiles', 0)", slug);
    await run(
      test,
      "INSERT OR IGNORE INTO product_metrics (product, slug, name, position) VALUES (?, 'requests', 'Requests', 0)",
      slug,
    );
    return { slug, metric: "requests" };
  }],
  [/\/statements/, async ({ test }) => {
    await run(
      test,
      `INSERT OR IGNORE INTO statements (number, id, period, timezone, start_at, end_at, status, progress, created_at)
     VALUES (1, ?, '2000-01', 'UTC', ?, ?, 'closed', 0, 0)`,
      exampleId("stm"),
      Date.UTC(2000, 0),
      Date.UTC(2000, 1),
    );
    return { id: exampleId("stm") };
  }],
];

/** @returns An attempt on what a path names. @param more What is sent. */
export const attemptOn =
  (path: string, more: (scene: Scene) => Attempt | Promise<Attempt> = () => ({})) => async (scene: Scene) => {
    const insert = inserts.find(([pattern]) => pattern.test(path))?.[1];
    const params = await insert?.(scene);
    return { ...(params && { params }), ...await more(scene) };
  };

/** @returns The fields of a new grant, for a limit of the organization. */
export async function newGrant({ test, organizationId }: Scene) {
  const { id: limitId } = await addLimit(test, { organizationId }, {
    per: "total",
    productSlug: `p${crypto.randomUUID().slice(0, 8)}`,
  });
  return { limitId, reason: "Paid." };
}

/** @returns The next month to close, or the one that an earlier attempt did not finish. */
async function nextMonth({ test }: Scene) {
  const newest = await test.opened.database.readFirst<{ period: string; status: string }>({
    sql: "SELECT period, status FROM statements ORDER BY number DESC LIMIT 1",
    args: [],
  });
  const { period = "2000-01", status = "closed" } = newest ?? {};
  const next = Temporal.PlainYearMonth.from(period).add({ months: 1 }).toString();
  return { period: status === "closing" ? period : next };
}

/** The JSON body of a request to a route; null for none. */
type Json = object | null | ((scene: Scene) => object | Promise<object>);

/** Every route by the scope that it needs, below `/api/operator`. Its path is of an object that exists. */
const routes: Readonly<Partial<Record<OperatorScope | "account", Readonly<Record<string, Json>>>>> = {
  "organizations:read": {
    "GET /organizations": null,
    "GET /organizations.csv": null,
    "GET /organizations/:id": null,
    "GET /organizations/:id/limits": null,
    "GET /organizations/:id/alerts": null,
    "GET /organizations/:id/alerts/:alertId": null,
    "GET /organizations/:id/members": null,
    "GET /organizations/:id/invitations": null,
    "GET /organizations/:id/notes": null,
    "GET /organizations/:id/grants": null,
    "GET /organizations/:id/refills": null,
    "GET /plans": null,
    "GET /plans/:id": null,
  },
  "organizations:write": {
    "POST /organizations": { name: "Customer" },
    "PATCH /organizations/:id": { name: "Renamed" },
    "DELETE /organizations/:id": null,
    "POST /organizations/:id/alerts": { per: "day", quantity: 1 },
    "PATCH /organizations/:id/alerts/:alertId": { quantity: 2 },
    "DELETE /organizations/:id/alerts/:alertId": null,
    "POST /organizations/:id/invitations": { email: "guest@example.com", role: "OWNER" },
    "DELETE /organizations/:id/invitations/:invitationId": null,
    "POST /organizations/:id/notes": { text: "Note" },
    "DELETE /organizations/:id/notes/:noteId": null,
    "POST /organizations/:id/grants": async (scene) => {
      const grant = await newGrant(scene);
      return { ...grant, quantity: 1, idempotencyKey: grant.limitId };
    },
    "POST /organizations/:id/grants/:grantId/void": { reason: "Refunded." },
    "POST /organizations/:id/refills/:refillId/void": { reason: "Refunded." },
    "POST /plans": () => ({ name: newId("plan") }),
    "PATCH /plans/:id": { apiKeysMax: 2 },
    "DELETE /plans/:id": null,
  },
  "keys:read": { "GET /organizations/:id/api-keys": null },
  "keys:write": {
    "POST /organizations/:id/api-keys": { name: "Key" },
    "PATCH /api-keys/:id": { name: "Renamed" },
    "DELETE /api-keys/:id": null,
    "POST /api-keys/:id/rotate": {},
    "POST /api-keys/import": ({ organizationId }) => ({
      keys: [{ organizationId, name: "Key", sha256: hash("sha256", organizationId, "hex"), prefix: "acme" }],
    }),
  },
  "statements:read": {
    "GET /statements": null,
    "GET /statements/:id": null,
    "GET /statements/:id/organizations": null,
    "GET /event-mappings": null,
    "GET /event-mappings/:id": null,
    "GET /products": null,
    "GET /products/:slug": null,
  },
  "statements:write": {
    "POST /statements": nextMonth,
    "POST /event-mappings": ({ organizationId }) => ({
      name: "A",
      type: organizationId,
      metrics: [{ productSlug: "p", metric: "m", path: "n" }],
    }),
    "PATCH /event-mappings/:id": { name: "B" },
    "DELETE /event-mappings/:id": null,
    "POST /products": ({ organizationId }) => ({ slug: organizationId, name: "Tiles" }),
    "PATCH /products/:slug": { name: "Map tiles" },
    "DELETE /products/:slug": null,
  },
  "audit:read": { "GET /audit": null, "GET /audit.csv": null },
  "events:read": { "GET /events": null },
  "users:read": { "GET /users": null, "GET /users/:id": null },
  "users:write": {
    "PATCH /users/:id": { disabled: true },
    "POST /users/:id/reset-password": null,
    "DELETE /users/:id/sessions": null,
  },
  "account": {
    "GET /tokens": null,
    "POST /tokens": { name: "Billing", scopes: ["usage:read"] },
    "DELETE /tokens/:id": null,
    "GET /identity-providers": null,
    "GET /identity-providers/:id": null,
    "PATCH /identity-providers/:id": { name: "B" },
    "DELETE /identity-providers/:id": null,
    "GET /clients": null,
    "GET /clients/:id": null,
    "PATCH /clients/:id": { name: "B" },
    "POST /clients/:id/rotate-secret": null,
    "DELETE /clients/:id": null,
    "GET /resources": null,
    "POST /resources": ({ organizationId }) => ({ uri: `https://${organizationId}.example/`, name: "Tools" }),
    "GET /resources/:id": null,
    "PATCH /resources/:id": { name: "B" },
    "POST /resources/:id/rotate-secret": null,
    "DELETE /resources/:id": null,
  },
  "usage:read": {
    "GET /usage": null,
    "GET /usage.csv": null,
    "GET /holds": null,
    "GET /usage/records": null,
    "GET /usage/records/:id": null,
    "GET /subjects": null,
  },
  "usage:write": {
    "POST /subjects/assign": ({ organizationId }) => ({ subject: organizationId, organizationId }),
    "DELETE /subjects/:id": null,
    "POST /holds": ({ organizationId }) => ({
      organizationId,
      records: [{ productSlug: "p", metric: "m", quantity: 1 }],
    }),
    "POST /holds/:id/settle": { records: [{ productSlug: "p", metric: "m", quantity: 1 }] },
    "POST /holds/:id/release": { reason: "Lost." },
    "POST /holds/:id/extend": { expiresIn: 600 },
    "POST /usage": ({ organizationId }) => ({
      records: [{ organizationId, productSlug: "p", metric: "m", quantity: 1 }],
    }),
  },
  "usage:void": { "POST /usage/records/:id/void": { reason: "wrong" } },
};

const entries: [route: string, entry: Entry][] = Object.entries(routes).flatMap(([scope, paths]) =>
  Object.entries(paths).map(([route, json]): [string, Entry] => {
    const [method = "", path = ""] = route.split(" ");
    const attempt = attemptOn(path, async (scene) => {
      const body = typeof json === "function" ? await json(scene) : json;
      return body === null ? {} : { json: body };
    });
    return [`${method} /api/operator${path}`, byOperator(scope as OperatorScope | "account", attempt)];
  })
);

/** Every route by method and path. */
export const operatorTable: Readonly<Record<string, Entry>> = {
  ...webhookOperatorEntries,
  ...Object.fromEntries(entries),
  "POST /api/operator/identity-providers": {
    ...byOperator("account", () => ({ json: newProvider })),
    also: [422],
    writesNothing: true,
  },
  // The test has no SECRETS_KEY.
  "POST /api/operator/clients": {
    ...byOperator("account", () => ({
      json: { name: "A", type: "public", redirectUris: ["https://a.example/"] },
    })),
    also: [409],
    writesNothing: true,
  },
  "POST /api/operator/event-mappings/:id/try": {
    ...byOperator(
      "statements:read",
      attemptOn("/event-mappings/:id", () => ({
        json: {
          event: { specversion: "1.0", type: "a", source: "b", id: "c", subject: "d", data: { n: 1 } },
        },
      })),
    ),
    writesNothing: true,
  },
  "GET /api/operator/outcomes": byOperator(
    "usage:read",
    ({ organizationId }) => ({ query: `?organizationId=${organizationId}` }),
  ),
  "GET /api/operator/rejections": byOperator(
    "usage:read",
    ({ organizationId }) => ({ query: `?organizationId=${organizationId}` }),
  ),
  "GET /api/operator/api-keys": byOperator("keys:read", () => ({ query: "?externalId=user-1" })),
  "POST /api/operator/portal-sessions": byOperatorToken(
    "portal_sessions:write",
    ({ organizationId }) => ({ json: { organizationId, pages: ["keys"] } }),
  ),
  "DELETE /api/operator/portal-sessions/:id": byOperatorToken(
    "portal_sessions:write",
    attemptOn("/portal-sessions/:id"),
  ),
  "POST /api/v1/keys/verify": byOperatorToken("keys:verify", ({ apiKey }) => ({
    json: { key: apiKey, usage: { productSlug: "p", metric: "m", record: true } },
  })),
};
