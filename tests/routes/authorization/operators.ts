// Which scope each route of the operators' API requires. authorization_test.ts fails if a route is missing.
import { newOperatorToken } from "../../support/operators.ts";
import { newPerson, run, type World } from "../../support/world.ts";
import { type Attempt, byOperator, type Entry } from "./entry.ts";

/** @returns An attempt on a product that exists. */
export const withProduct = (more: Attempt = {}) => async ({ test }: World) => {
  await run(test, "INSERT OR IGNORE INTO products (slug, name, created_at) VALUES ('tiles', 'Tiles', 0)");
  return { params: { slug: "tiles" }, ...more };
};

const onUser = (more: Attempt = {}) => async ({ test }: World) => ({
  params: { id: (await newPerson(test, null)).userId },
  ...more,
});

/** Every route by method and path. */
export const operatorTable: Readonly<Record<string, Entry>> = {
  "GET /api/operator/products": byOperator("statements:read"),
  "POST /api/operator/products": {
    ...byOperator("statements:write"),
    attempt: ({ organizationId }) => ({ json: { slug: organizationId, name: "Tiles" } }),
  },
  "GET /api/operator/products/:slug": { ...byOperator("statements:read"), attempt: withProduct() },
  "PATCH /api/operator/products/:slug": {
    ...byOperator("statements:write"),
    attempt: withProduct({ json: { name: "Map tiles" } }),
  },
  "DELETE /api/operator/products/:slug": { ...byOperator("statements:write"), attempt: withProduct() },

  "GET /api/operator/users": byOperator("users:read"),
  "GET /api/operator/users/:id": { ...byOperator("users:read"), attempt: onUser() },
  "PATCH /api/operator/users/:id": {
    ...byOperator("users:write"),
    attempt: onUser({ json: { disabled: true } }),
  },
  "POST /api/operator/users/:id/reset-password": { ...byOperator("users:write"), attempt: onUser() },
  "DELETE /api/operator/users/:id/sessions": { ...byOperator("users:write"), attempt: onUser() },

  "GET /api/operator/tokens": byOperator("account"),
  "POST /api/operator/tokens": {
    ...byOperator("account"),
    attempt: () => ({ json: { name: "Billing", scopes: ["usage:read"] } }),
  },
  "DELETE /api/operator/tokens/:id": {
    ...byOperator("account"),
    attempt: async ({ test }) => ({ params: { id: (await newOperatorToken(test)).id } }),
  },

  "POST /api/operator/usage": {
    ...byOperator("usage:write"),
    attempt: ({ organizationId }) => ({
      json: { records: [{ organizationId, productSlug: "p", metric: "m", quantity: 1 }] },
    }),
  },
};
