// The client against Gatehouse: the cookies that it hands on, every code of a verification, and lost connections.
import assert from "node:assert/strict";
import { createServer, type IncomingMessage } from "node:http";
import {
  ApiError,
  ConnectionError,
  Gatehouse,
  GatehouseError,
  type RequestLike,
} from "../../packages/client/src/index.ts";
import { createTestKey, startTestApp, type TestApp } from "../support/app/app.ts";
import { addLimit } from "../support/meter/limits.ts";
import { usageOf } from "../support/client/meter_line.ts";
import { newOperatorToken } from "../support/operators/operators.ts";
import { changePlan } from "../support/operators/plans.ts";
import { onRealPort } from "../support/app/real_app.ts";
import { startTcpProxy } from "../support/network/tcp_proxy.ts";
import { run } from "../support/people/scene.ts";

interface Sent {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

const url = "http://localhost:3000";
const tiles = { product: "tiles", metric: "requests" };
const signedOut = { authenticated: false, user: null, organizationId: null, role: null, memberships: [] };
const notFound = { valid: false, code: "NOT_FOUND", apiKey: null, organization: null, limits: [] };

/** @returns A `fetch` that passes requests to an app, and what was sent with it. */
function fetchOf(test: TestApp): { sent: Sent[]; fetch: typeof fetch } {
  const sent: Sent[] = [];
  return {
    sent,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      sent.push({ url: request.url, headers: Object.fromEntries(request.headers) });
      return await test.app.fetch(request, { remoteAddr: { hostname: "127.0.0.1" } });
    },
  };
}

/** @returns A request as Node.js has it. */
async function nodeRequest(headers: [string, string][]): Promise<IncomingMessage> {
  const received = Promise.withResolvers<IncomingMessage>();
  const server = createServer((request, response) => {
    received.resolve(request);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  await connection.write(new TextEncoder().encode(`GET / HTTP/1.1\r\nHost: a\r\n${lines}\r\n`));
  const request = await received.promise;
  connection.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  return request;
}

Deno.test("me()", async (t) => {
  const test = await startTestApp();
  const { cookie, userId, organizationId } = await test.signUp();
  const planted = `access_token=${"x".repeat(43)}`;
  const others = "my_access_token=1; access_token_2=2; sign_in_step=3; Access_Token=4";
  const headers = {
    Authorization: "Bearer secret",
    Cookie: `theme=dark; ${planted}; ${others};${cookie} `,
    "X-Forwarded-For": "192.0.2.1",
  };
  const requests: Record<string, RequestLike> = {
    "a Request": new Request("https://maps.example.com/", { headers }),
    "Headers": new Headers(headers),
    "a request of Node.js": await nodeRequest(Object.entries(headers)),
    "its headers": (await nodeRequest(Object.entries(headers))).headers,
    "an object with headers": { headers },
    "several Cookie headers": await nodeRequest([["Cookie", `theme=dark; ${planted}`], ["cookie", cookie]]),
  };
  for (const [name, request] of Object.entries(requests)) {
    await t.step(`hands on the session cookies of ${name}, and nothing else`, async () => {
      const { sent, fetch } = fetchOf(test);
      const user = await new Gatehouse({ url, fetch }).me(request);
      assert.deepEqual([user.user?.id, user.organizationId, user.role], [userId, organizationId, "OWNER"]);
      const cookies = `${planted}; ${cookie}`;
      assert.deepEqual(sent, [{ url: `${url}/api/auth/me`, headers: { cookie: cookies } }]);
    });
  }
  await t.step("sends nothing without a session cookie", async () => {
    const { sent, fetch } = fetchOf(test);
    const gatehouse = new Gatehouse({ url, fetch });
    const cookies = [
      "",
      "theme=dark",
      "access_token",
      "access_token =1",
      "x=access_token=1",
      "access_token=é",
    ];
    const requests = [new Headers(), {}, { headers: {} }, ...cookies.map((cookie) => ({ cookie }))];
    for (const request of requests) assert.deepEqual(await gatehouse.me(request), signedOut);
    assert.deepEqual(sent, []);
  });
  await t.step("knows that a session ended on the next call", async () => {
    const gatehouse = new Gatehouse({ url: `${url}/`, fetch: fetchOf(test).fetch });
    assert.equal((await gatehouse.me({ cookie })).authenticated, true);
    await test.send("/api/auth/sign-out", { method: "POST", cookie });
    assert.deepEqual(await gatehouse.me({ cookie }), signedOut);
  });
  await test.dispose();
});

Deno.test("verify() returns every code, and records once", async () => {
  const test = await startTestApp();
  const person = await test.signUp();
  const { sent, fetch } = fetchOf(test);
  const { fullToken: operatorToken } = await newOperatorToken(test, ["keys:verify"]);
  const gatehouse = new Gatehouse({ url, operatorToken, fetch });
  const code = async (...given: Parameters<Gatehouse["verify"]>) => (await gatehouse.verify(...given)).code;
  const { id, fullKey } = await createTestKey(test, person);
  const revoked = await createTestKey(test, person);
  const expiresAt = new Date(test.now() + 60_000).toISOString();
  const expiring = await createTestKey(test, person, { expiresAt });

  for (const malformed of ["", " ", "a\nb", "\u{1f600}", "x".repeat(1_001)]) {
    assert.deepEqual(await gatehouse.verify(malformed), notFound);
  }
  for (const header of [undefined, null, [fullKey], { toString: () => fullKey }]) {
    assert.deepEqual(await gatehouse.verify(header as unknown as string), notFound);
  }
  assert.equal(sent.length, 0, "no request for what can't be a key");
  assert.deepEqual(await gatehouse.verify("service_live_x"), notFound);

  const valid = await gatehouse.verify(fullKey, { permissions: ["usage:write"] });
  assert.deepEqual([valid.code, valid.apiKey?.id, valid.organization?.id], [
    "VALID",
    id,
    person.organizationId,
  ]);
  assert.equal(await code(fullKey, { permissions: ["maps:render"] }), "INSUFFICIENT_PERMISSIONS");
  assert.equal(await code(fullKey, { features: ["sso"] }), "FEATURE_MISSING");
  await test.send(`/api/portal/api-keys/${revoked.id}`, { method: "DELETE", cookie: person.cookie });
  assert.equal(await code(revoked.fullKey), "REVOKED");
  test.advance(60_000);
  assert.equal(await code(expiring.fullKey), "EXPIRED");

  await addLimit(test, {}, { per: "month", quantity: 2, mode: "hard" });
  const exceeded = await gatehouse.verify(fullKey, { usage: { ...tiles, quantity: 2.1 } });
  assert.deepEqual([exceeded.code, exceeded.limits[0]?.remaining], ["USAGE_EXCEEDED", 2]);
  assert.equal(await code(fullKey, { usage: tiles }), "VALID");
  assert.deepEqual(await usageOf(test, fullKey), {}, "asking records nothing");
  assert.equal(await code(fullKey, { usage: { ...tiles, quantity: 0.1 + 0.2, record: true } }), "VALID");
  const once = { usage: { ...tiles, record: true, idempotencyKey: "once" } };
  assert.deepEqual([await code(fullKey, once), await code(fullKey, once)], ["VALID", "VALID"]);
  assert.deepEqual(await usageOf(test, fullKey), { requests: [1.3, 2] });

  await changePlan(test, "requests_per_second", 1);
  test.advance(60_000);
  assert.deepEqual([await code(fullKey), await code(fullKey)], ["VALID", "RATE_LIMITED"]);
  const suspend = "UPDATE organizations SET suspended_at = ? WHERE id = ?";
  await run(test, suspend, test.now(), person.organizationId);
  assert.equal(await code(fullKey), "ORGANIZATION_SUSPENDED");
  await test.dispose();
});

Deno.test("a call whose connection is lost is repeated", async (t) => {
  const test = await startTestApp();
  const person = await test.signUp();
  const { fullKey } = await createTestKey(test, person);
  const { fullToken: operatorToken } = await newOperatorToken(test);
  await onRealPort(test, async (baseUrl) => {
    const proxy = startTcpProxy({ targetPort: Number(new URL(baseUrl).port) });
    const gatehouse = new Gatehouse({ url: proxy.url, operatorToken });
    await t.step("me()", async () => {
      proxy.loseAnswers({ count: 1 });
      assert.equal((await gatehouse.me({ cookie: person.cookie })).authenticated, true);
      assert.equal(proxy.answersToLose, 0);
    });
    await t.step("verify() with a record, which counts once", async () => {
      proxy.loseAnswers({ count: 1 });
      const usage = { ...tiles, quantity: 3, record: true };
      assert.equal((await gatehouse.verify(fullKey, { usage })).code, "VALID");
      assert.equal(proxy.answersToLose, 0);
      assert.deepEqual(await usageOf(test, fullKey), { requests: [3, 1] });
    });
    await t.step("but only once", async () => {
      let calls = 0;
      const failing = new Gatehouse({
        url: proxy.url,
        fetch: (...request) => {
          calls++;
          return fetch(...request);
        },
      });
      proxy.cut();
      const error = await failing.me({ cookie: person.cookie }).catch((error) => error);
      assert.ok(error instanceof ConnectionError && error instanceof GatehouseError, String(error));
      assert.deepEqual([error.code, error.status, error.requestId], ["connection_failed", null, null]);
      assert.equal(calls, 2);
    });
    await proxy.close();
  });
  await test.dispose();
});

Deno.test("an error of the service has a code, a request id and details", async () => {
  const test = await startTestApp();
  const { fetch } = fetchOf(test);
  const errorOf = async (operatorToken: string, options = {}): Promise<ApiError> => {
    const gatehouse = new Gatehouse({ url, operatorToken, fetch });
    const error = await gatehouse.verify("service_live_x", options).catch((error) => error);
    assert.ok(error instanceof ApiError && error instanceof GatehouseError, String(error));
    assert.match(error.requestId ?? "", /\w/);
    return error;
  };
  const wrong = await errorOf("wrong");
  assert.deepEqual([wrong.name, wrong.status, wrong.code], ["ApiError", 401, "invalid_operator_token"]);
  const { fullToken: other } = await newOperatorToken(test, ["usage:write"]);
  assert.equal((await errorOf(other)).code, "scope_missing");
  const { fullToken } = await newOperatorToken(test);
  const { status, details } = await errorOf(fullToken, { usage: { product: "", metric: "requests" } });
  assert.deepEqual([status, details[0]?.path], [422, "usage.productSlug"]);
  await test.dispose();
});

Deno.test("the meter has the client's address, token and fetch", async () => {
  const test = await startTestApp();
  const { fullKey, id } = await createTestKey(test, await test.signUp());
  const { sent, fetch } = fetchOf(test);
  const { fullToken: operatorToken } = await newOperatorToken(test);
  const gatehouse = new Gatehouse({ url, operatorToken, fetch, meter: { flushIntervalMs: 3_600_000 } });
  gatehouse.meter.record({ ...tiles, apiKeyId: id, timestamp: new Date(test.now()) });
  assert.equal(gatehouse.meter.stats().waiting, 1);
  assert.equal(await gatehouse.close(), true);
  assert.deepEqual(sent.map((request) => request.url), [`${url}/api/operator/usage`]);
  assert.deepEqual(await usageOf(test, fullKey), { requests: [1, 1] });
  await test.dispose();
});

Deno.test("a client with a spool sends what an earlier process left, before it records anything", async () => {
  const spool = await Deno.makeTempDir();
  const left = {
    productSlug: "a",
    metric: "b",
    quantity: 1,
    timestamp: "2026-11-23T00:00:00Z",
    idempotencyKey: "c",
  };
  await Deno.writeTextFile(`${spool}/left.jsonl`, `${JSON.stringify(left)}\n`);
  const sent = Promise.withResolvers<unknown>();
  const gatehouse = new Gatehouse({
    url: "https://auth.example.com",
    operatorToken: "token",
    meter: { spool },
    fetch: (_, init) => {
      sent.resolve(JSON.parse(String(init?.body)));
      return Promise.resolve(Response.json({ accepted: 1, duplicates: 0 }));
    },
  });
  assert.deepEqual(await sent.promise, { records: [left] });
  assert.equal(await gatehouse.close(), true);
  await Deno.remove(spool, { recursive: true });
});
