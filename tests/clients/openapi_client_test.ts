// Generates a TypeScript client from the OpenAPI document with openapi-typescript and openapi-fetch, type-checks its use,
// and records usage with it.
import assert from "node:assert/strict";
// Adds the generator and the imports of the program below to the lock file and the cache.
// deno-lint-ignore no-import-prefix
import type {} from "npm:openapi-typescript@7.13.0";
// deno-lint-ignore no-import-prefix
import type {} from "npm:openapi-fetch@0.17.0";
import { withWorkshop } from "../support/client/generators.ts";
import { readGuide } from "../support/runner/guides.ts";

/** A program with valid and invalid uses. The type check fails if an invalid use is allowed. */
const program = `
import createClient from "openapi-fetch";
import type { components, paths } from "./gatehouse.d.ts";

const baseUrl = Deno.args[0]!;
const portal = createClient<paths>({ baseUrl, headers: { origin: baseUrl } });

const signedUp = await portal.POST("/api/auth/sign-up", {
  body: { name: "Ada Lovelace", email: "ada@example.com", password: "correct horse 9 battery" },
});
if (signedUp.error !== undefined) throw new Error(signedUp.error.error.message);
const cookie = signedUp.response.headers.getSetCookie().map((one) => one.split(";")[0]).join("; ");
const role: "OWNER" | "ADMIN" | "MEMBER" | null = signedUp.data.role;

const created = await portal.POST("/api/portal/api-keys", { body: { name: "Production" }, headers: { cookie } });
if (created.data === undefined) throw new Error(created.error.error.code);
const usage = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${created.data.fullKey}\` } });

const body: components["schemas"]["UsageInput"] = { productSlug: "tiles", metric: "requests", quantity: 2.5 };
const first = await usage.POST("/api/v1/usage", { body, params: { header: { "Idempotency-Key": "once" } } });
const again = await usage.POST("/api/v1/usage", { body: { ...body, idempotencyKey: "once" } });
if (first.error !== undefined || again.error !== undefined) throw new Error("not recorded");
const record = first.data.usageRecord;
const conflict = await usage.POST("/api/v1/usage", { body: { ...body, quantity: 3, idempotencyKey: "once" } });
const sums = await usage.GET("/api/v1/usage", { params: { query: { window: "month", metric: ["requests", "bytes"], groupBy: ["productSlug"] } } });
if (sums.error?.error.code === "range_too_long") throw new Error("never");
const stranger = await createClient<paths>({ baseUrl }).GET("/api/v1/usage");
const code: components["schemas"]["Error"]["error"]["code"] | undefined = stranger.error?.error.code;
const voided = await usage.POST("/api/v1/usage/records/{id}/void", {
  params: { path: { id: record.id } },
  body: { reason: "A test." },
});

export async function wrongUses() {
  // @ts-expect-error: unknown path.
  await usage.GET("/api/v1/usages");
  // @ts-expect-error: unsupported method.
  await usage.DELETE("/api/v1/usage");
  // @ts-expect-error: the quantity is not a number.
  await usage.POST("/api/v1/usage", { body: { ...body, quantity: "2.5" } });
  // @ts-expect-error: missing metric.
  await usage.POST("/api/v1/usage", { body: { productSlug: "tiles", quantity: 1 } });
  // @ts-expect-error: missing body.
  await usage.POST("/api/v1/usage");
  // @ts-expect-error: unknown window.
  await usage.GET("/api/v1/usage", { params: { query: { window: "minute" } } });
  // @ts-expect-error: unknown group.
  await usage.GET("/api/v1/usage", { params: { query: { groupBy: [5] } } });
  // @ts-expect-error: unknown parameter.
  await usage.GET("/api/v1/usage", { params: { query: { products: "tiles" } } });
  // @ts-expect-error: missing id.
  await usage.POST("/api/v1/usage/records/{id}/void", { body: { reason: "x" } });
  // @ts-expect-error: unknown field of the response.
  record.amount;
  // @ts-expect-error: not an error of recording.
  if (conflict.error?.error.code === "last_owner") return;
}

console.log(JSON.stringify({
  role,
  statuses: [first, again, conflict, sums, stranger, voided].map(({ response }) => response.status),
  duplicate: again.data.duplicate,
  same: record.id === again.data.usageRecord.id,
  conflict: conflict.error?.error.code,
  data: sums.data?.data.map(({ productSlug, metric, sum, count }) => ({ productSlug, metric, sum, count })),
  code,
  voidedAt: typeof voided.data?.usageRecord.voidedAt,
}));
`;

Deno.test("a client of openapi-typescript type-checks, rejects invalid uses and records usage", () =>
  withWorkshop(async ({ baseUrl, generate, run }) => {
    await generate((await readGuide("api.md"))("openapi-typescript"));
    assert.deepEqual(await run("program", program, [baseUrl]), {
      role: "OWNER",
      // Keys may void only if an operator has granted it.
      statuses: [201, 200, 409, 200, 401, 403],
      duplicate: true,
      same: true,
      conflict: "idempotency_conflict",
      data: [{ productSlug: "tiles", metric: "requests", sum: 2.5, count: 1 }],
      code: "invalid_api_key",
      voidedAt: "undefined",
    });
  }, { exactOptionalPropertyTypes: true }));
