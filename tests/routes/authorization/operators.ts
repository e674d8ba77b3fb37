// Which scope each route of the operators' API requires. authorization_test.ts fails if a route is missing.
import { hash } from "node:crypto";
import { newId } from "../../../domain/id.ts";
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
  recordOf,
  withAlert,
  withKey,
} from "./entry.ts";

/** @returns An attempt on a product that exists. */
export const withProduct = (more: Attempt = {}) => async ({ test, organizationId: slug }: Scene) => {
  await run(test, "INSERT OR IGNORE INTO products (slug, name, created_at) VALUES (?, 'Tiles', 0)", slug);
  return { params: { slug }, ...more };
};

/** A provider that can't be reached, so that nothing is stored. */
export const newProvider = {
  slug: "okta",
  kind: "oidc",
  name: "Okta",
  issuer: "http://127.0.0.1:1",
  clientId: "a",
  clientSecret: "a",
};

/** @returns An attempt on a provider of its own. */
export const withProvider = (more: Attempt = {}) => async ({ test }: Scene) => {
  const id = newId("idp");
  const insert =
    `INSERT INTO identity_providers (id, slug, kind, name, issuer, client_id, client_secret, position, created_at, updated_at) VALUES (?, ?, 'oidc', 'A', 'https://a.example', 'a', 'plain:a', 1, 0, 0)`;
  await run(test, insert, id, id);
  return { params: { id }, ...more };
};

/** @returns An attempt on a plan of its own. */
export const withPlan = (more: Attempt = {}) => async ({ test }: Scene) => {
  const id = newId("plan");
  const insert =
    `INSERT INTO plans (id, name, is_default, api_keys_max, members_max, usage_series_max, created_at) VALUES (?, ?, 0, 100, 100, 100, 0)`;
  await run(test, insert, id, id);
  return { params: { id }, ...more };
};

export const onUser = (more: Attempt = {}) => async ({ test }: Scene) => ({
  params: { id: (await newPerson(test, null)).userId },
  ...more,
});
/** @returns An attempt on the organization. */
export const ofOrganization = (more: Attempt = {}) => ({ organizationId }: Scene) => ({
  params: { id: organizationId },
  ...more,
});
/** An attempt on an invitation to the organization. */
export const withInvitation = async ({ organizationId, newInvitation }: Scene) => ({
  params: { id: organizationId, invitationId: (await newInvitation()).id },
});
/** An attempt on a note about the organization. */
export const withNote = async ({ test, organizationId }: Scene) => {
  const noteId = newId("not");
  const insert =
    "INSERT INTO organization_notes (id, organization_id, text, created_at) VALUES (?, ?, 'Note', 0)";
  await run(test, insert, noteId, organizationId);
  return { params: { id: organizationId, noteId } };
};

/** @returns An attempt to give the organization a grant for a limit of its plan. */
export const onLimitInTotal = (as: "json" | "form") => async ({ test, organizationId: id }: Scene) => {
  const { id: limitId } = await addLimit(test, { organizationId: id }, {
    per: "total",
    productSlug: `p${crypto.randomUUID().slice(0, 8)}`,
  });
  const grant = { limitId, reason: "Paid." };
  return as === "json"
    ? { params: { id }, json: { ...grant, quantity: 1, idempotencyKey: limitId } }
    : { params: { id }, form: { ...grant, quantity: "1", formToken: limitId } };
};
/** @returns An attempt on a grant of the organization. */
export const withGrant = (more: Attempt = {}) => async ({ test, organizationId: id }: Scene) => {
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
  return { params: { id, grantId }, ...more };
};

/** @returns An attempt on a closed statement. */
export const withStatement = (more: Attempt = {}) => async ({ test }: Scene) => {
  await run(
    test,
    `INSERT OR IGNORE INTO statements (number, id, period, timezone, start_at, end_at, status, progress, created_at)
     VALUES (1, ?, '2000-01', 'UTC', ?, ?, 'closed', 0, 0)`,
    statementId,
    Date.UTC(2000, 0),
    Date.UTC(2000, 1),
  );
  return { params: { id: statementId }, ...more };
};
const statementId = exampleId("stm");

/** @returns An attempt to close the next month, or the one that an earlier attempt did not finish. */
async function onNextMonth(scene: Scene): Promise<Attempt> {
  await withStatement()(scene);
  const newest = await scene.test.opened.database.readFirst<{ period: string; status: string }>({
    sql: "SELECT period, status FROM statements ORDER BY number DESC LIMIT 1",
    args: [],
  });
  const { period = "2000-01", status = "closed" } = newest ?? {};
  const next = Temporal.PlainYearMonth.from(period).add({ months: 1 }).toString();
  return { json: { period: status === "closing" ? period : next } };
}

const withRecord = (more: Attempt = {}) => async (scene: Scene) => ({
  params: { id: await recordOf(scene) },
  ...more,
});

/** Every route by method and path. */
export const operatorTable: Readonly<Record<string, Entry>> = {
  ...webhookOperatorEntries,
  "GET /api/operator/organizations": byOperator("organizations:read"),
  "GET /api/operator/organizations.csv": byOperator("organizations:read"),
  "POST /api/operator/organizations": byOperator(
    "organizations:write",
    () => ({ json: { name: "Customer" } }),
  ),
  "GET /api/operator/organizations/:id": byOperator("organizations:read", ofOrganization()),
  "GET /api/operator/organizations/:id/limits": byOperator("organizations:read", ofOrganization()),
  "GET /api/operator/organizations/:id/alerts": byOperator("organizations:read", ofOrganization()),
  "POST /api/operator/organizations/:id/alerts": byOperator(
    "organizations:write",
    ofOrganization({ json: { per: "day", quantity: 1 } }),
  ),
  "GET /api/operator/organizations/:id/alerts/:alertId": byOperator("organizations:read", withAlert()),
  "PATCH /api/operator/organizations/:id/alerts/:alertId": byOperator(
    "organizations:write",
    withAlert({ json: { quantity: 2 } }),
  ),
  "DELETE /api/operator/organizations/:id/alerts/:alertId": byOperator("organizations:write", withAlert()),
  "PATCH /api/operator/organizations/:id": byOperator(
    "organizations:write",
    ofOrganization({ json: { name: "Renamed" } }),
  ),
  "POST /api/operator/portal-sessions": byOperatorToken(
    "portal_sessions:write",
    ({ organizationId }) => ({ json: { organizationId, pages: ["keys"] } }),
  ),
  "DELETE /api/operator/portal-sessions/:id": byOperatorToken(
    "portal_sessions:write",
    async ({ test, organizationId }) => ({
      params: { id: (await createPortalSession(test, organizationId)).id },
    }),
  ),
  "DELETE /api/operator/organizations/:id": byOperator("organizations:write", ofOrganization()),
  "GET /api/operator/organizations/:id/members": byOperator("organizations:read", ofOrganization()),
  "GET /api/operator/organizations/:id/invitations": byOperator("organizations:read", ofOrganization()),
  "POST /api/operator/organizations/:id/invitations": byOperator(
    "organizations:write",
    ofOrganization({ json: { email: "guest@example.com", role: "OWNER" } }),
  ),
  "DELETE /api/operator/organizations/:id/invitations/:invitationId": byOperator(
    "organizations:write",
    withInvitation,
  ),
  "GET /api/operator/organizations/:id/api-keys": byOperator("keys:read", ofOrganization()),
  "POST /api/operator/organizations/:id/api-keys": byOperator(
    "keys:write",
    ofOrganization({ json: { name: "Key" } }),
  ),
  "PATCH /api/operator/api-keys/:id": byOperator("keys:write", withKey({ json: { name: "Renamed" } })),
  "DELETE /api/operator/api-keys/:id": byOperator("keys:write", withKey()),
  "GET /api/operator/organizations/:id/notes": byOperator("organizations:read", ofOrganization()),
  "POST /api/operator/organizations/:id/notes": byOperator(
    "organizations:write",
    ofOrganization({ json: { text: "Note" } }),
  ),
  "DELETE /api/operator/organizations/:id/notes/:noteId": byOperator("organizations:write", withNote),
  "GET /api/operator/organizations/:id/grants": byOperator("organizations:read", ofOrganization()),
  "POST /api/operator/organizations/:id/grants": byOperator("organizations:write", onLimitInTotal("json")),
  "POST /api/operator/organizations/:id/grants/:grantId/void": byOperator(
    "organizations:write",
    withGrant({ json: { reason: "Refunded." } }),
  ),
  "POST /api/v1/keys/verify": byOperatorToken("keys:verify", ({ apiKey }) => ({
    json: { key: apiKey, usage: { productSlug: "p", metric: "m", record: true } },
  })),
  "GET /api/operator/statements": byOperator("statements:read"),
  "POST /api/operator/statements": byOperator("statements:write", onNextMonth),
  "GET /api/operator/statements/:id": byOperator("statements:read", withStatement()),
  "GET /api/operator/statements/:id/organizations": byOperator("statements:read", withStatement()),
  "GET /api/operator/plans": byOperator("organizations:read"),
  "POST /api/operator/plans": byOperator("organizations:write", () => ({ json: { name: newId("plan") } })),
  "GET /api/operator/plans/:id": byOperator("organizations:read", withPlan()),
  "PATCH /api/operator/plans/:id": byOperator("organizations:write", withPlan({ json: { apiKeysMax: 2 } })),
  "DELETE /api/operator/plans/:id": byOperator("organizations:write", withPlan()),
  "GET /api/operator/products": byOperator("statements:read"),
  "POST /api/operator/products": byOperator(
    "statements:write",
    ({ organizationId }) => ({ json: { slug: organizationId, name: "Tiles" } }),
  ),
  "GET /api/operator/products/:slug": byOperator("statements:read", withProduct()),
  "PATCH /api/operator/products/:slug": byOperator(
    "statements:write",
    withProduct({ json: { name: "Map tiles" } }),
  ),
  "DELETE /api/operator/products/:slug": byOperator("statements:write", withProduct()),

  "GET /api/operator/audit": byOperator("audit:read"),
  "GET /api/operator/audit.csv": byOperator("audit:read"),
  "GET /api/operator/events": byOperator("events:read"),

  "GET /api/operator/users": byOperator("users:read"),
  "GET /api/operator/users/:id": byOperator("users:read", onUser()),
  "PATCH /api/operator/users/:id": byOperator("users:write", onUser({ json: { disabled: true } })),
  "POST /api/operator/users/:id/reset-password": byOperator("users:write", onUser()),
  "DELETE /api/operator/users/:id/sessions": byOperator("users:write", onUser()),

  "GET /api/operator/tokens": byOperator("account"),
  "POST /api/operator/tokens": byOperator(
    "account",
    () => ({ json: { name: "Billing", scopes: ["usage:read"] } }),
  ),
  "DELETE /api/operator/tokens/:id": byOperator(
    "account",
    async ({ test }) => ({ params: { id: (await newOperatorToken(test)).id } }),
  ),

  "GET /api/operator/identity-providers": byOperator("account"),
  "POST /api/operator/identity-providers": {
    ...byOperator("account", () => ({ json: newProvider })),
    also: [422],
    writesNothing: true,
  },
  "GET /api/operator/identity-providers/:id": byOperator("account", withProvider()),
  "PATCH /api/operator/identity-providers/:id": byOperator("account", withProvider({ json: { name: "B" } })),
  "DELETE /api/operator/identity-providers/:id": byOperator("account", withProvider()),

  "POST /api/operator/api-keys/import": byOperator("keys:write", ({ organizationId }) => ({
    json: {
      keys: [{ organizationId, name: "Key", sha256: hash("sha256", organizationId, "hex"), prefix: "acme" }],
    },
  })),

  "GET /api/operator/usage": byOperator("usage:read"),
  "GET /api/operator/usage.csv": byOperator("usage:read"),
  "POST /api/operator/usage": byOperator("usage:write", ({ organizationId }) => ({
    json: { records: [{ organizationId, productSlug: "p", metric: "m", quantity: 1 }] },
  })),
  "GET /api/operator/usage/records": byOperator("usage:read"),
  "GET /api/operator/usage/records/:id": byOperator("usage:read", withRecord()),
  "POST /api/operator/usage/records/:id/void": byOperator(
    "usage:void",
    withRecord({ json: { reason: "wrong" } }),
  ),
};
