// Forward authentication with an API key, and exact metering of admitted requests.
import assert from "node:assert/strict";
import {
  assertError,
  createTestKey,
  startTestApp,
  type TestApp,
  testApp,
  type TestPerson,
} from "../../../support/app/app.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import {
  ask,
  identityNames,
  pageLoad,
  statusAndIdentity,
  watchedDatabase,
} from "../../../support/network/forward.ts";
import { addLimit } from "../../../support/meter/limits.ts";

const metered = "?accept=key&meter=tiles/requests";

/** Returns the count and the sum of a product and metric in a key's organization. */
async function counted(test: TestApp, apiKey: string, product = "tiles", metric = "requests") {
  const query = `?window=month&productSlug=${product}&metric=${metric}`;
  const response = await test.send(`/api/v1/usage${query}`, { apiKey });
  assert.equal(response.status, 200, await response.clone().text());
  const [row] = (await response.json()).data;
  return row === undefined ? [0, 0] : [row.count, row.sum];
}

async function revoke(test: TestApp, person: TestPerson, id: string): Promise<void> {
  const response = await test.send(`/api/portal/api-keys/${id}`, { method: "DELETE", cookie: person.cookie });
  assert.equal(response.status, 200);
}

onEveryDatabase("a request with a key is admitted, identified and metered once", async (test) => {
  const ada = await test.signUp();
  const { id, fullKey } = await createTestKey(test, ada);
  const plain = await ask(test, "?accept=session,key", { apiKey: fullKey });
  const identity = ["", "", "", ada.organizationId, "", id, "live", "usage:read,usage:write", ""];
  assert.deepEqual(statusAndIdentity(plain), { status: 200, identity });
  assert.deepEqual(await counted(test, fullKey), [0, 0]);
  for (const query of [metered, "?accept=key,session&meter=tiles/requests"]) {
    assert.deepEqual(statusAndIdentity(await ask(test, query, { apiKey: fullKey })), {
      status: 200,
      identity,
    });
  }
  assert.deepEqual(await counted(test, fullKey), [2, 2]);
  const responses = await Promise.all(
    Array.from({ length: 50 }, () => ask(test, metered, { apiKey: fullKey })),
  );
  assert(responses.every(({ status }) => status === 200));
  assert.deepEqual(await counted(test, fullKey), [52, 52]);
});

testApp("an idempotency key of the client does not make two requests count as one", async (test) => {
  const { fullKey } = await createTestKey(test, await test.signUp());
  for (let i = 0; i < 3; i++) {
    const response = await ask(test, metered, { apiKey: fullKey, headers: { "idempotency-key": "always" } });
    assert.equal(response.status, 200);
  }
  assert.deepEqual(await counted(test, fullKey), [3, 3]);
});

testApp("keys are ignored unless accepted", async (test) => {
  const ada = await test.signUp();
  const { fullKey } = await createTestKey(test, ada);
  for (const query of ["", "?accept=session"]) {
    await assertError(await ask(test, query, { apiKey: fullKey }), 401, "unauthenticated");
    const response = await ask(test, query, { apiKey: "service_live_wrong", cookie: ada.cookie });
    assert.equal(response.headers.get("remote-user"), ada.userId);
    assert.equal(response.headers.get("remote-api-key"), "");
  }
});

testApp("rejects a request with an invalid key, regardless of its cookie", async (test) => {
  const ada = await test.signUp();
  const { id, fullKey } = await createTestKey(test, ada);
  const { fullKey: expired } = await createTestKey(test, ada, { expiresAt: "2026-11-21T15:00:00.000Z" });
  assert.equal((await ask(test, "?accept=key", { apiKey: expired })).status, 200);
  test.advance(3_600_000);
  await revoke(test, ada, id);
  const mistyped = fullKey.slice(0, -1) + (fullKey.endsWith("0") ? "1" : "0");
  const headers = [
    `Bearer ${fullKey}`,
    `Bearer ${expired}`,
    `Bearer ${mistyped}`,
    "Bearer",
    "",
    `Basic ${btoa("a:b")}`,
    `Bearer\t${fullKey}`,
    `Bearer eyJ.not.ours`,
  ];
  const texts = new Set<string>();
  for (const authorization of headers) {
    for (const query of ["?accept=session,key", "?accept=key", `?accept=session,key&meter=a/b`]) {
      const response = await ask(test, query, {
        cookie: ada.cookie,
        headers: { ...pageLoad("http://localhost:8000/"), authorization },
      });
      assert.equal(response.headers.get("www-authenticate"), "Bearer");
      for (const name of [...identityNames, "location", "ratelimit"]) {
        assert.equal(response.headers.get(name), null, name);
      }
      texts.add((await response.clone().text()).replace(/req_\w+/, ""));
      await assertError(response, 401, "invalid_api_key");
      test.advance(2_000);
    }
  }
  assert.equal(texts.size, 1);
  // Without a key, the cookie counts only if sessions are accepted.
  assert.equal((await ask(test, "?accept=session,key", { cookie: ada.cookie })).status, 200);
  await assertError(await ask(test, "?accept=key", { cookie: ada.cookie }), 401, "invalid_api_key");
  const sent = await ask(test, "?accept=key", { headers: pageLoad("http://localhost:8000/") });
  assert.equal(sent.headers.get("location"), null);
  await assertError(sent, 401, "invalid_api_key");
});

testApp("denied requests are not metered: another organization, any role, a revoked key", async (test) => {
  const [ada, eve] = [await test.signUp(), await test.signUp()];
  const { id, fullKey } = await createTestKey(test, ada);
  const { fullKey: other } = await createTestKey(test, ada);
  const rejected = async (query: string) =>
    await assertError(await ask(test, `${metered}${query}`, { apiKey: fullKey }), 403, "forbidden");
  await rejected(`&organization=${eve.organizationId}`);
  await rejected("&role=MEMBER");
  assert.deepEqual(await counted(test, fullKey), [0, 0]);
  const own = await ask(test, `${metered}&organization=${ada.organizationId}`, { apiKey: fullKey });
  assert.equal(own.status, 200);
  await revoke(test, ada, id);
  await assertError(await ask(test, metered, { apiKey: fullKey }), 401, "invalid_api_key");
  assert.deepEqual(await counted(test, other), [1, 1]);
});

testApp("a required permission admits only keys that have it, and no session", async (test) => {
  const ada = await test.signUp();
  const { id, fullKey: apiKey } = await createTestKey(test, ada);
  const query = `${metered}&permission=maps:render`;
  await assertError(await ask(test, query, { apiKey }), 403, "permission_missing");
  assert.deepEqual(await counted(test, apiKey), [0, 0]);
  const change = async (...permissions: string[]) => {
    const json = { permissions: ["usage:read", "usage:write", ...permissions] };
    const options = { method: "PATCH", cookie: ada.cookie, json };
    assert.equal((await test.send(`/api/portal/api-keys/${id}`, options)).status, 200);
  };
  await change("maps:render");
  assert.equal((await ask(test, query, { apiKey })).status, 200);
  assert.equal((await ask(test, "?accept=key&permission=usage:read", { apiKey })).status, 200);
  assert.deepEqual(await counted(test, apiKey), [1, 1]);
  await change("maps:edit");
  await assertError(await ask(test, query, { apiKey }), 403, "permission_missing");

  const both = "?accept=session,key&permission=maps:render";
  const page = { headers: pageLoad("http://localhost:8000/") };
  for (const options of [{ cookie: ada.cookie }, { cookie: ada.cookie, ...page }]) {
    await assertError(await ask(test, both, options), 403, "permission_missing");
  }
  await assertError(await ask(test, both, page), 401, "unauthenticated");
});

testApp("asks a proxy for sensible conditions of keys", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  for (
    const query of [
      "?permission=maps:render",
      "?accept=session&permission=maps:render",
      "?accept=key&permission=Maps",
      "?accept=key&permission=usage:all",
      "?accept=key&limit=on",
      `${metered}&limit=off`,
    ]
  ) {
    await assertError(await ask(test, query, { apiKey }), 422, "validation_failed");
  }
});

onEveryDatabase(
  "a metered request that doesn't fit into a hard limit is denied and not counted",
  async (test) => {
    const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
    await addLimit(test, {}, { productSlug: "tiles", per: "day", quantity: 2, mode: "hard" });
    for (const query of [metered, `${metered}&limit=on`]) {
      assert.equal((await ask(test, query, { apiKey })).status, 200);
    }
    await assertError(await ask(test, metered, { apiKey }), 403, "forbidden");
    const rejected = await ask(test, `${metered}&limit=on`, { apiKey });
    const midnightMs = Date.UTC(2026, 10, 22);
    assert.equal(
      rejected.headers.get("retry-after"),
      String(Math.ceil((midnightMs - test.now()) / 1000)),
    );
    const { error: { details } } = await assertError(rejected, 429, "limit_exceeded");
    assert.equal(details?.length, 1);
    assert.equal((await ask(test, "?accept=key", { apiKey })).status, 200);
    assert.equal((await ask(test, "?accept=key&meter=maps/loads", { apiKey })).status, 200);
    assert.deepEqual(await counted(test, apiKey), [2, 2]);
    test.advance(midnightMs - test.now());
    assert.equal((await ask(test, `${metered}&limit=on`, { apiKey })).status, 200);
  },
);

testApp("a session is admitted unmetered only if sessions are accepted", async (test) => {
  const ada = await test.signUp();
  const { fullKey } = await createTestKey(test, ada);
  assert.equal((await ask(test, "?accept=session,key&meter=a/b", { cookie: ada.cookie })).status, 200);
  await assertError(await ask(test, "?accept=key&meter=a/b", { cookie: ada.cookie }), 401, "invalid_api_key");
  assert.deepEqual(await counted(test, fullKey, "a", "b"), [0, 0]);
});

Deno.test("denies the request when the record cannot be written", async () => {
  const watched = watchedDatabase();
  const test = await startTestApp({}, { open: watched.open });
  const { fullKey } = await createTestKey(test, await test.signUp());
  watched.refuse("writes");
  const response = await ask(test, metered, { apiKey: fullKey });
  assert.equal(response.headers.get("retry-after"), "1");
  for (const name of identityNames) assert.equal(response.headers.get(name), null);
  await assertError(response, 503, "unavailable");
  watched.refuse("all");
  await assertError(await ask(test, "?accept=key", { apiKey: fullKey }), 503, "unavailable");
  watched.refuse("nothing");
  assert.deepEqual(await counted(test, fullKey), [0, 0]);
  assert.equal((await ask(test, metered, { apiKey: fullKey })).status, 200);
  assert.deepEqual(await counted(test, fullKey), [1, 1]);
  await test.dispose();
});

testApp("forward authentication and recording share the rate limit of a key", async (test) => {
  const { fullKey } = await createTestKey(test, await test.signUp());
  const response = await ask(test, metered, { apiKey: fullKey });
  assert.equal(response.headers.get("ratelimit"), `"key";r=1;t=1`);
  const json = { productSlug: "tiles", metric: "requests", quantity: 1 };
  assert.equal((await test.send("/api/v1/usage", { apiKey: fullKey, json })).status, 201);
  const third = await ask(test, metered, { apiKey: fullKey });
  assert.equal(third.headers.get("retry-after"), "1");
  await assertError(third, 429, "rate_limited");
  test.advance(1_000);
  assert.deepEqual(await counted(test, fullKey), [2, 2]);
}, { API_KEY_REQUESTS_PER_SECOND: "2" });

testApp("invalid keys are limited by the address of the client, not of the proxy", async (test) => {
  const { fullKey } = await createTestKey(test, await test.signUp());
  const from = (client: string, apiKey: string) =>
    ask(test, "?accept=key", { apiKey, peerAddress: "10.0.0.1", headers: { "x-forwarded-for": client } });
  for (let i = 0; i < 60; i++) {
    await assertError(await from("203.0.113.9", "service_live_x"), 401, "invalid_api_key");
  }
  await assertError(await from("203.0.113.9", "service_live_x"), 429, "rate_limited");
  await assertError(await from("203.0.113.10", "service_live_x"), 401, "invalid_api_key");
  assert.equal((await from("203.0.113.9", fullKey)).status, 200);
}, { TRUSTED_PROXIES: "10.0.0.1" });
