// What the clients of both languages promise about sessions and keys. gatehouse_test.ts runs these cases.
import assert from "node:assert/strict";
import { createTestKey } from "../support/app/app.ts";
import type { ClientScene } from "../support/client/any_client.ts";
import { usageOf } from "../support/client/meter_line.ts";
import { addLimit } from "../support/meter/limits.ts";
import { startTcpProxy } from "../support/network/tcp_proxy.ts";
import { newOperatorToken } from "../support/operators/operators.ts";
import { overridePlan } from "../support/operators/plans.ts";
import { run } from "../support/people/scene.ts";
import { poll } from "../support/runner/poll.ts";

const signedOut = { authenticated: false, user: null, organizationId: null, role: null, memberships: [] };
const notFound = { valid: false, code: "NOT_FOUND", apiKey: null, organization: null, limits: [] };
const tiles = { product: "tiles", metric: "requests" };
const nowhere = "http://127.0.0.1:1";

type Respond = (request: Request) => Response | Promise<Response>;

/** Serves responses on a free port while `act` runs. */
async function onServer(respond: Respond, act: (url: string) => Promise<void>): Promise<void> {
  const stopped = new AbortController();
  const options = { port: 0, hostname: "127.0.0.1", signal: stopped.signal, onListen() {} };
  const server = Deno.serve(options, respond);
  try {
    await act(`http://127.0.0.1:${server.addr.port}`);
  } finally {
    stopped.abort();
    await server.finished;
  }
}

/** Starts a server that responds to one request for each value, and cuts the body if it is true. */
function startCutting(isCut: readonly boolean[]): { url: string; ended: Promise<void> } {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const body = JSON.stringify({ valid: true, code: "VALID" });
  const respond = async () => {
    for (const cut of isCut) {
      const connection = await listener.accept();
      let request = "";
      while (!request.endsWith("}")) {
        const bytes = new Uint8Array(65_536);
        request += new TextDecoder().decode(bytes.subarray(0, await connection.read(bytes) ?? assert.fail()));
      }
      const head = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`;
      await connection.write(new TextEncoder().encode(head + body.slice(0, cut ? -5 : undefined)));
      connection.close();
    }
    listener.close();
  };
  return { url: `http://127.0.0.1:${listener.addr.port}`, ended: respond() };
}

const json = (value: unknown, init?: ResponseInit) => () => Response.json(value, init);
const endless = () => {
  const pull = (body: ReadableStreamDefaultController) => body.enqueue(new Uint8Array(64 * 1024));
  return new Response(new ReadableStream({ pull }));
};
/** Responses that aren't Gatehouse's, with what TypeScript says about them. */
const unexpected: readonly [name: string, respond: () => Response, status: number, message: RegExp][] = [
  ["a page", () => new Response("<html></html>"), 200, /without JSON/],
  ["a proxy's page", () => new Response("Bad gateway", { status: 502 }), 502, /502 without JSON/],
  ["no content", () => new Response(null, { status: 204 }), 204, /204/],
  ["other JSON", json({ ok: true }), 200, /the field authenticated/],
  ["null", json(null), 200, /JSON/],
  ["text instead of true", json({ authenticated: "true" }), 200, /the field authenticated/],
  ["an error of another form", json({ error: "no" }, { status: 500 }), 500, /500/],
  ["an endless body", endless, 200, /too long/],
];

export const clientCases: Record<string, (scene: ClientScene) => Promise<void>> = {
  async "hands on the session cookies and nothing else"({ newClient, line, person }) {
    const sent: Record<string, string>[] = [];
    const forward: Respond = ({ url, headers }) => {
      sent.push(Object.fromEntries(headers));
      return fetch(line.url + new URL(url).pathname, { headers });
    };
    await onServer(forward, async (url) => {
      const planted = `access_token=${"x".repeat(43)}`;
      const others = "my_access_token=1; access_token_2=2; sign_in_step=3; Access_Token=4";
      const { me } = newClient({ url: `${url}/` });
      const user = await me(`theme=dark; ${planted}; ${others};${person.cookie} `);
      assert.deepEqual([user.user.id, user.role], [person.userId, "OWNER"]);
      assert.equal(user.organizationId, person.organizationId);
      assert.deepEqual(sent.map(({ cookie }) => cookie), [`${planted}; ${person.cookie}`]);
      assert.equal(sent[0]?.["authorization"], undefined);
    });
  },

  async "sends nothing without a session cookie"({ newClient }) {
    const { me } = newClient({ url: nowhere });
    const others = ["theme=dark", "access_token", "access_token =1", "x=access_token=1", "access_token=é"];
    for (const cookie of [null, "", ...others]) assert.deepEqual(await me(cookie), signedOut, String(cookie));
  },

  async "knows that a session ended on the next call"({ newClient, line, person, test }) {
    const { me } = newClient({ url: line.url });
    assert.equal((await me(person.cookie)).authenticated, true);
    await test.send("/api/auth/sign-out", { method: "POST", cookie: person.cookie });
    assert.deepEqual(await me(person.cookie), signedOut);
  },

  async "sends nothing for what can't be a key"({ newClient }) {
    const { verify } = newClient({ url: nowhere, operatorToken: "unused" });
    const malformed = ["", " ", "a\nb", "service_live_x\n", "\u{1f600}", "x".repeat(1_001), null, ["key"], 7];
    for (const key of malformed) assert.deepEqual(await verify(key), notFound, JSON.stringify(key));
  },

  async "returns every code of a verification"({ newClient, line, person, test, key, keyId }) {
    const { fullToken: operatorToken } = await newOperatorToken(test, ["keys:verify"]);
    const { verify } = newClient({ url: line.url, operatorToken });
    const code = async (...given: Parameters<typeof verify>) => (await verify(...given)).code;
    const [revoked, expiring] = [await createTestKey(test, person), await createTestKey(test, person)];
    assert.deepEqual(await verify("service_live_x"), notFound);
    const valid = await verify(key, { permissions: ["usage:write"] });
    assert.deepEqual([valid.code, valid.apiKey.id, valid.organization.id], [
      "VALID",
      keyId,
      person.organizationId,
    ]);
    assert.equal(await code(key, { permissions: ["maps:render"] }), "INSUFFICIENT_PERMISSIONS");
    assert.equal(await code(key, { features: ["sso"] }), "FEATURE_MISSING");
    await test.send(`/api/portal/api-keys/${revoked.id}`, { method: "DELETE", cookie: person.cookie });
    assert.equal(await code(revoked.fullKey), "REVOKED");
    await run(test, "UPDATE api_keys SET expires_at = 1 WHERE id = ?", expiring.id);
    assert.equal(await code(expiring.fullKey), "EXPIRED");
    await overridePlan(test, person.organizationId, { requests_per_second: 1 });
    // Another case may move the clock between two requests.
    await poll(async () => await code(key) === "RATE_LIMITED");
    const suspend = "UPDATE organizations SET suspended_at = ? WHERE id = ?";
    await run(test, suspend, test.now(), person.organizationId);
    assert.equal(await code(key), "ORGANIZATION_SUSPENDED");
  },

  async "asks whether usage fits, and records it once"({ newClient, line, person, test, key }) {
    const { fullToken: operatorToken } = await newOperatorToken(test);
    const { verify } = newClient({ url: line.url, operatorToken });
    const { organizationId } = person;
    await addLimit(test, { organizationId }, { per: "total", quantity: 2, mode: "hard" });
    const code = async (usage: object) => (await verify(key, { usage: { ...tiles, ...usage } })).code;
    const exceeded = await verify(key, { usage: { ...tiles, quantity: 2.1 } });
    assert.deepEqual([exceeded.code, exceeded.limits[0].remaining], ["USAGE_EXCEEDED", 2]);
    assert.equal(await code({}), "VALID");
    assert.deepEqual(await usageOf(test, key), {}, "asking records nothing");
    assert.equal(await code({ quantity: 0.1 + 0.2, record: true }), "VALID");
    const once = { record: true, idempotencyKey: "once" };
    assert.deepEqual([await code(once), await code(once)], ["VALID", "VALID"]);
    assert.deepEqual(await usageOf(test, key), { requests: [1.3, 2] });
    const after = await verify(key, { usage: tiles });
    assert.deepEqual([after.code, after.limits[0].remaining], ["USAGE_EXCEEDED", 0.7]);
    assert.equal(await code({ idempotencyKey: "once" }), "VALID", "it was recorded already");
  },

  async "records usage with properties"({ newClient, line, test, key }) {
    const { fullToken: operatorToken } = await newOperatorToken(test);
    const { verify } = newClient({ url: line.url, operatorToken });
    const properties = { region: "eu" };
    assert.equal((await verify(key, { usage: { ...tiles, record: true, properties } })).code, "VALID");
    const { usageRecords: [record] } = await (await test.send("/api/v1/usage/records", { apiKey: key }))
      .json();
    assert.deepEqual(record.properties, properties);
  },

  async "rejects unknown options of verify()"({ newClient, line }) {
    const { verify } = newClient({ url: line.url, operatorToken: "unused" });
    await assert.rejects(verify("key", { permission: ["tiles:read"] } as never), /permission\b/);
    await assert.rejects(verify("key", { usage: { ...tiles, quanity: 5 } as never }), /quanity/);
  },

  async "repeats a call once whose connection is lost, which counts once"(scene) {
    const { newClient, line, test, key, person, language } = scene;
    const { fullToken: operatorToken } = await newOperatorToken(test);
    const proxy = startTcpProxy({ targetPort: Number(new URL(line.url).port) });
    const { me, verify, fault } = newClient({ url: proxy.url, operatorToken });
    try {
      proxy.loseAnswers({ count: 1 });
      assert.equal((await me(person.cookie)).authenticated, true);
      assert.equal(proxy.answersToLose, 0);
      proxy.loseAnswers({ count: 1 });
      const usage = { ...tiles, quantity: 3, record: true };
      assert.equal((await verify(key, { usage })).code, "VALID");
      assert.equal(proxy.answersToLose, 0);
      assert.deepEqual(await usageOf(test, key), { requests: [3, 1] });
      // Deno's fetch repeats some requests itself. gatehouse_test.ts counts the calls of the client.
      if (language === "TypeScript") return;
      proxy.loseAnswers({ count: 3 });
      const { code, status } = await fault(() => verify(key, { usage }));
      assert.deepEqual([code, status, proxy.answersToLose], ["connection_failed", null, 1]);
    } finally {
      await proxy.close();
    }
  },

  async "repeats a call once whose response is cut"({ newClient }) {
    for (const [isCut, code] of [[[true, false], "VALID"], [[true, true], "connection_failed"]] as const) {
      const server = startCutting(isCut);
      const { verify, fault } = newClient({ url: server.url, operatorToken: "t" });
      const call = () => verify("key");
      assert.equal(code === "VALID" ? (await call()).code : (await fault(call)).code, code);
      await server.ended;
    }
  },

  async "raises errors of the service with a code, a request id and details"({ newClient, line, test }) {
    const faultWith = async (operatorToken: string, options = {}) => {
      const { verify, fault } = newClient({ url: line.url, operatorToken });
      const error = await fault(() => verify("service_live_x", options));
      assert.match(error.requestId ?? "", /\w/);
      return [error.code, error.status, error.details.map(({ path }) => path)];
    };
    assert.deepEqual(await faultWith("wrong"), ["invalid_operator_token", 401, []]);
    const { fullToken: other } = await newOperatorToken(test, ["usage:write"]);
    assert.equal((await faultWith(other))[0], "scope_missing");
    const { fullToken } = await newOperatorToken(test);
    const usage = { product: "", metric: "requests" };
    assert.deepEqual(await faultWith(fullToken, { usage }), ["validation_failed", 422, [
      "usage.productSlug",
    ]]);
  },

  async "raises an error for a response that isn't Gatehouse's"({ newClient, language }) {
    let respond: Respond;
    await onServer((request) => respond(request), async (url) => {
      const { me, fault } = newClient({ url });
      for (const [name, response, status, message] of unexpected) {
        respond = response;
        const error = await fault(() => me("access_token=secret"));
        assert.deepEqual([error.code, error.status], ["unexpected_response", status], name);
        assert.match(error.message, language === "TypeScript" ? message : /unexpected/, name);
      }
    });
  },

  async "says how long to wait, if the response does"({ newClient }) {
    let headers: Record<string, string> = {};
    const limited = { error: { code: "rate_limited", message: "Slow down." } };
    await onServer(() => Response.json(limited, { status: 429, headers }), async (url) => {
      const { me, fault } = newClient({ url });
      const wait = async (header: string) => {
        headers = header === "" ? {} : { "Retry-After": header };
        const error = await fault(() => me("access_token=secret"));
        assert.deepEqual([error.code, error.status], ["rate_limited", 429]);
        assert.match(error.message, /^Slow down\./);
        return error.retryAfterMs ?? 0;
      };
      for (const header of ["", "soon", new Date(0).toUTCString()]) {
        assert.equal(await wait(header), 0, header);
      }
      assert.equal(await wait("7"), 7_000);
      const hourMs = 3_600_000;
      const ms = await wait(new Date(Date.now() + hourMs).toUTCString());
      assert.ok(ms > hourMs - 60_000 && ms <= hourMs, String(ms));
    });
  },

  async "follows no redirect"({ newClient }) {
    const arrived: string[] = [];
    const target: Respond = ({ url }) => {
      arrived.push(url);
      return Response.json({ authenticated: true });
    };
    await onServer(target, async (targetUrl) => {
      let status = 0;
      await onServer(() => Response.redirect(targetUrl, status), async (url) => {
        const { me, fault } = newClient({ url });
        for (status of [301, 302, 303, 307, 308]) {
          const error = await fault(() => me("access_token=secret"));
          assert.deepEqual([error.code, error.status], ["unexpected_response", status]);
        }
      });
    });
    assert.deepEqual(arrived, []);
  },

  async "ends a call after its time-out, before and within the response, with an error without the token"(
    scene,
  ) {
    const start = new TextEncoder().encode("{");
    const within = () => new Response(new ReadableStream({ start: (body) => body.enqueue(start) }));
    const before = () => new Promise<Response>(() => {});
    for (const respond of [before, within]) {
      await onServer(respond, async (url) => {
        const { verify, fault } = scene.newClient({ url, operatorToken: "secret", timeoutMs: 300 });
        const { code, status, message } = await fault(() => verify("key"));
        assert.deepEqual([code, status], ["timeout", null]);
        assert.doesNotMatch(message, /secret/);
      });
    }
    const { verify, fault } = scene.newClient({ url: nowhere, operatorToken: "secret" });
    const { code, message } = await fault(() => verify("key"));
    assert.equal(code, "connection_failed");
    assert.doesNotMatch(message, /secret/);
  },
};
