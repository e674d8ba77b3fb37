// Hot routes respond as the whole app does, without it.
import assert from "node:assert/strict";
import { createApp } from "../app.ts";
import { createHotApp } from "../hot_app.ts";
import { createMetrics } from "../routes/metrics.ts";
import type { AppParts } from "../routes/env.ts";
import { createTestKey, type TestApp, testApp } from "./support/app/app.ts";
import { newOperatorToken } from "./support/operators/operators.ts";

const json = { "content-type": "application/json" };
const record = { productSlug: "tiles", metric: "requests", quantity: 1 };
const product = "https://app.example.com";

/** Builds both apps on the parts of a test. The hot one can't load the whole one. */
function bothApps({ config, services }: TestApp) {
  const nothing = () => {};
  const parts: AppParts = {
    ...{ config, services, metrics: createMetrics(services), allMetrics: () => Promise.resolve([]) },
    log: { debug: undefined, warn: nothing, error: nothing },
  };
  const whole = createApp(parts, { version: "0.0.0" });
  const hot = createHotApp(parts, () => Promise.reject(new Error("the whole app was loaded")));
  return { whole, hot };
}

/** Reads a response as a client sees it, without what differs each time. */
async function seen(response: Response) {
  const headers = [...response.headers].filter(([name]) => name !== "x-request-id");
  const text = await response.text();
  const isMetrics = response.headers.get("content-type")?.startsWith("text/plain");
  return {
    status: response.status,
    headers: headers.map((header) => header.join(": ").replace(/r=\d+;t=\d+/, "…")),
    body: isMetrics ? "metrics" : text.replaceAll(/\b(req|use)_[0-9a-f]+|\d{4}-\d\d-\d\dT[\d:.]+Z/g, "…"),
  };
}

testApp("hot routes respond as the whole app does", async (test) => {
  const [ada, bob] = [await test.signUp("Ada"), await test.signUp("Bob")];
  const { fullKey } = await createTestKey(test, ada);
  const key = { ...json, authorization: `Bearer ${fullKey}` };
  const { fullToken } = await newOperatorToken(test, ["keys:verify"]);
  const token = { ...json, authorization: `Bearer ${fullToken}` };
  const { whole, hot } = bothApps(test);
  const me = (headers: Record<string, string>, method = "GET", query = "") =>
    [`${method} /api/auth/me${query}`, { headers }] as const;
  const usage = (headers: Record<string, string>, body: unknown, path = "/api/v1/usage") =>
    [`POST ${path}`, { headers, body: typeof body === "string" ? body : JSON.stringify(body) }] as const;
  const requests: readonly (readonly [route: string, init: RequestInit])[] = [
    me({}),
    me({ cookie: ada.cookie }),
    me({ cookie: "access_token=wrong" }),
    me({ cookie: `${ada.cookie}; ${bob.cookie}` }),
    me({ cookie: ada.cookie, origin: product }),
    me({ cookie: ada.cookie, origin: "https://elsewhere.example" }),
    me({ cookie: ada.cookie }, "GET", "?a=1&a=2"),
    me({ cookie: ada.cookie }, "GET", "?=x&"),
    me({ cookie: ada.cookie }, "GET", "?%ff=1"),
    me({ cookie: ada.cookie, long: "x".repeat(40_000) }),
    usage(key, record),
    usage(key, { ...record, idempotencyKey: "one" }),
    usage(key, { ...record, idempotencyKey: "two", quantity: -1 }),
    usage({ ...key, "content-type": "text/plain" }, record),
    usage(key, "{"),
    usage(key, "x".repeat(20_000)),
    usage(json, record),
    usage({ ...key, authorization: "Bearer service_live_wrong" }, record),
    usage({ ...json, "x-api-key": fullKey }, record),
    usage(key, { records: [record, record] }, "/api/v1/usage/batch"),
    usage({ ...key, "idempotency-key": "one" }, { records: [record] }, "/api/v1/usage/batch"),
    usage(token, { key: fullKey }, "/api/v1/keys/verify"),
    usage(token, { key: "service_live_wrong" }, "/api/v1/keys/verify"),
    usage(token, { key: fullKey, usage: record, record: true }, "/api/v1/keys/verify"),
    usage(json, { key: fullKey }, "/api/v1/keys/verify"),
    usage(key, { key: fullKey }, "/api/v1/keys/verify"),
    ["GET /health/live", {}],
    ["HEAD /health/live", {}],
    ["GET /health/ready?probe=1", {}],
    ["GET /metrics", {}],
    ["GET /metrics", { headers: { "x-forwarded-for": "203.0.113.9" } }],
  ];
  for (const [route, init] of requests) {
    const [method = "", path] = route.split(" ");
    const respond = async ({ fetch }: Pick<typeof whole, "fetch">) => {
      const request = new Request(`${test.config.baseUrl.origin}${path}`, { method, ...init });
      return await seen(await fetch(request, { remoteAddr: { hostname: "127.0.0.1" } }));
    };
    // The first response to an idempotency key differs from the others.
    await respond(whole);
    assert.deepEqual(
      await respond(hot),
      await respond(whole),
      `${route} ${JSON.stringify(init).slice(0, 200)}`,
    );
  }
}, { ALLOWED_ORIGINS: product });

testApp("other routes get 503 as long as the whole app can't be loaded", async (test) => {
  const { hot } = bothApps(test);
  for (const path of ["/sign-in", "/api/portal/api-keys", "/api/auth/me/", "/nowhere"]) {
    const response = await hot.fetch(new Request(`${test.config.baseUrl.origin}${path}`));
    assert.deepEqual([response.status, (await response.json()).error.code], [503, "unavailable"], path);
  }
});

testApp("the memory of a body is free before the response", async (test) => {
  const { fullKey } = await createTestKey(test, await test.signUp());
  const body = new TextEncoder().encode(JSON.stringify(record));
  const headers = { ...json, authorization: `Bearer ${fullKey}`, "content-length": String(body.length) };
  const request = new Request(`${test.config.baseUrl.origin}/api/v1/usage`, {
    method: "POST",
    headers,
    body,
  });
  Object.defineProperty(request, "bytes", { value: () => Promise.resolve(body) });
  assert.equal((await test.app.fetch(request)).status, 201);
  assert.equal(body.buffer.detached, true);
});
