// The address at which gateways ask about API keys. tests/guides/envoy_guide_test.ts asks as Envoy does, with every method.
import assert from "node:assert/strict";
import { assertError, createTestKey, startTestApp, type TestApp, testApp } from "../../../support/app/app.ts";
import { addLimit } from "../../../support/meter/limits.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { ledgerOf } from "../../../support/network/gateway_cases.ts";
import { identityNames, watchedDatabase } from "../../../support/network/forward.ts";

const metered = "?meter=tiles/requests";
const ask = (test: TestApp, query: string, apiKey: string, headers: Record<string, string> = {}) =>
  test.send(`/api/v1/keys/forward${query}`, { apiKey, headers });

onEveryDatabase("admits and counts exactly what fits into a hard limit", async (test) => {
  const ada = await test.signUp();
  const { id, fullKey } = await createTestKey(test, ada);
  const counted = ledgerOf(test, fullKey);
  await addLimit(test, {}, { productSlug: "tiles", per: "day", quantity: 5, mode: "hard" });
  const responses = await Promise.all(
    Array.from({ length: 20 }, () => ask(test, metered, fullKey, { "idempotency-key": "always" })),
  );
  const admitted = responses.filter(({ status }) => status === 200);
  assert.equal(admitted.length, 5);
  for (const { headers } of admitted) {
    assert.equal(headers.get("remote-api-key"), id);
    assert.equal(headers.get("remote-organization"), ada.organizationId);
    for (const name of identityNames) assert.notEqual(headers.get(name), null, name);
    assert.match(headers.get("cache-control") ?? "", /no-store/);
  }
  for (const response of responses.filter(({ status }) => status !== 200)) {
    assert.ok(Number(response.headers.get("retry-after")) > 0);
    await assertError(response, 429, "limit_exceeded");
  }
  assert.equal(await counted(), 5);
  assert.equal((await ask(test, "", fullKey)).status, 200);
  assert.equal(await counted(), 5);
});

testApp("denies by the gateway's conditions, and tells invalid keys nothing about them", async (test) => {
  const [ada, eve] = [await test.signUp(), await test.signUp()];
  const { fullKey } = await createTestKey(test, ada);
  await assertError(await ask(test, "?permission=maps:render", fullKey), 403, "permission_missing");
  await assertError(await ask(test, `?organization=${eve.organizationId}`, fullKey), 403, "forbidden");
  assert.equal((await ask(test, `?organization=${ada.organizationId}`, fullKey)).status, 200);
  const queries = [
    "?limit=on",
    "?accept=session",
    "?role=OWNER",
    "?meter=tiles",
    "?meter=",
    "?meter=a/b&meter=a/b",
  ];
  for (const query of queries) {
    await assertError(await ask(test, query, fullKey), 422, "validation_failed");
    await assertError(await ask(test, query, "service_live_wrong"), 401, "invalid_api_key");
  }
  const { cookie } = ada;
  await assertError(await test.send("/api/v1/keys/forward", { cookie }), 401, "invalid_api_key");
});

Deno.test("denies what can't be recorded", async () => {
  const watched = watchedDatabase();
  const test = await startTestApp({}, { open: watched.open });
  const { fullKey } = await createTestKey(test, await test.signUp());
  watched.refuse("writes");
  await assertError(await ask(test, metered, fullKey), 503, "unavailable");
  watched.refuse("all");
  await assertError(await ask(test, "", fullKey), 503, "unavailable");
  watched.refuse("nothing");
  assert.equal(await ledgerOf(test, fullKey)(), 0);
  assert.equal((await ask(test, metered, fullKey)).status, 200);
  assert.equal(await ledgerOf(test, fullKey)(), 1);
  await test.dispose();
});
