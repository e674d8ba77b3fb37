// The client against Gatehouse, in both languages, and what only the one for TypeScript has: forms of requests, a custom fetch and
// its meter.
import assert from "node:assert/strict";
import { createServer, type IncomingMessage } from "node:http";
import {
  ConnectionError,
  Gatehouse,
  Meter,
  type MeterProblem,
  type RequestLike,
  TimeoutError,
} from "../../packages/client/src/index.ts";
import { clientSteps } from "../support/client/any_client.ts";
import { usageOf } from "../support/client/meter_line.ts";
import { metered, type Scene } from "../support/client/meter_scene.ts";
import { newOperatorToken } from "../support/operators/operators.ts";
import { clientCases } from "./client_cases.ts";

const url = "https://auth.example.com";

metered("Gatehouse", {
  ...clientSteps(clientCases),
  "has a meter with the client's address, token and fetch": hasMeter,
});

// Timers of the app may outlive its test.
const afterApp = { sanitizeOps: false, sanitizeResources: false };

async function hasMeter({ test, line, key, keyId }: Scene): Promise<void> {
  const sent: string[] = [];
  const { fullToken: operatorToken } = await newOperatorToken(test);
  const gatehouse = new Gatehouse({
    ...{ url: line.url, operatorToken, meter: { flushIntervalMs: 3_600_000 } },
    fetch: (input, init) => {
      sent.push(String(input));
      return fetch(input, init);
    },
  });
  gatehouse.meter.record({ product: "tiles", metric: "requests", apiKeyId: keyId });
  assert.equal(gatehouse.meter.stats().waiting, 1);
  assert.equal(await gatehouse.close(), true);
  assert.deepEqual(sent, [`${line.url}/api/operator/usage`]);
  assert.deepEqual(await usageOf(test, key), { requests: [1, 1] });
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

Deno.test(
  "me() hands on the session cookies of any form of a request, and nothing else",
  afterApp,
  async () => {
    const planted = `access_token=${"x".repeat(43)}`;
    const headers = {
      Authorization: "Bearer secret",
      Cookie: `theme=dark; ${planted}; my_access_token=1;access_token=2 `,
      "X-Forwarded-For": "192.0.2.1",
    };
    const several: [string, string][] = [["Cookie", `theme=dark; ${planted}`], ["cookie", "access_token=2"]];
    const requests: Record<string, RequestLike> = {
      "a Request": new Request("https://maps.example.com/", { headers }),
      "Headers": new Headers(headers),
      "a request of Node.js": await nodeRequest(Object.entries(headers)),
      "its headers": (await nodeRequest(Object.entries(headers))).headers,
      "an object with headers": { headers },
      "several Cookie headers": await nodeRequest(several),
    };
    for (const [name, request] of Object.entries(requests)) {
      const sent: unknown[] = [];
      const answer: typeof fetch = (input, init) => {
        const { url, headers } = new Request(input, init);
        sent.push({ url, headers: Object.fromEntries(headers) });
        return Promise.resolve(Response.json({ authenticated: true }));
      };
      await new Gatehouse({ url, fetch: answer }).me(request);
      const cookie = `${planted}; access_token=2`;
      assert.deepEqual(sent, [{ url: `${url}/api/auth/me`, headers: { cookie } }], name);
    }
    const failing = new Gatehouse({ url, fetch: () => assert.fail("sent") });
    for (const request of [new Headers(), {}, { headers: {} }]) {
      assert.equal((await failing.me(request)).authenticated, false);
    }
  },
);

Deno.test("a call whose connection is lost is repeated only once", afterApp, async () => {
  let calls = 0;
  const lost = () => {
    calls++;
    return Promise.reject(new TypeError("connection reset"));
  };
  const error = await new Gatehouse({ url, fetch: lost }).me({ cookie: "access_token=1" }).catch((error) =>
    error
  );
  assert.ok(error instanceof ConnectionError, String(error));
  assert.deepEqual([error.code, error.status, error.requestId, calls], ["connection_failed", null, null, 2]);
});

Deno.test(
  "a client with a spool sends what an earlier process left, before it records anything",
  afterApp,
  async () => {
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
  },
);

Deno.test("a call ends after timeoutMs even if a custom fetch ignores its signal", afterApp, async () => {
  const never = () => new Promise<Response>(() => {});
  const endless = () => Promise.resolve(new Response(new ReadableStream()));
  for (const fetch of [never, endless]) {
    const gatehouse = new Gatehouse({ url, timeoutMs: 20, fetch });
    const error = await gatehouse.me({ cookie: "access_token=secret" }).catch((error) => error);
    assert.ok(error instanceof TimeoutError, String(error));
    const problem = Promise.withResolvers<MeterProblem>();
    const options = { timeoutMs: 20, fetch, flushIntervalMs: 1, onProblem: problem.resolve };
    const meter = new Meter({ url: "https://auth.example.com", apiKey: "service_live_x", ...options });
    meter.record({ product: "tiles", metric: "requests" });
    assert.match((await problem.promise).message, /no response within 20 ms/);
    await meter.close({ timeoutMs: 0 });
  }
});

Deno.test("wrong options are reported when the client first needs them", afterApp, async () => {
  for (
    const url of ["", "auth.example.com", "ftp://auth.example.com", "https://user:secret@auth.example.com"]
  ) {
    assert.throws(() => new Gatehouse({ url }), { name: "TypeError", message: /url/ }, url);
  }
  const unknown = { url, timeout: 1 };
  assert.throws(() => new Gatehouse(unknown), /^TypeError: timeout is not an option of Gatehouse\.$/);
  const gatehouse = new Gatehouse({ url: "https://auth.example.com/gatehouse//" });
  assert.equal(gatehouse.url, "https://auth.example.com/gatehouse");
  await assert.rejects(gatehouse.verify("service_live_x"), { name: "TypeError", message: /operatorToken/ });
  assert.throws(() => gatehouse.meter, { name: "TypeError", message: /operatorToken/ });
  assert.equal(await gatehouse.close(), true);
});

Deno.test("an operator token that can't be a header appears in no error", afterApp, async () => {
  for (const token of ["secret\nX-Other: 1", "secret\0", "secret token", "s\u00e9cret"]) {
    const gatehouse = new Gatehouse({ url: "https://auth.example.com", operatorToken: token });
    const error = await gatehouse.verify("service_live_x").catch((error) => error);
    assert.ok(error instanceof TypeError && /operatorToken/.test(error.message), String(error));
    assert.doesNotMatch(Deno.inspect(error), /secret|s\u00e9cret/);
    assert.throws(() => gatehouse.meter, { name: "TypeError", message: /operatorToken/ });
  }
  const received: (string | null)[] = [];
  const fetch = (input: string | URL | Request, init?: RequestInit) => {
    received.push(new Request(input, init).headers.get("authorization"));
    return Promise.resolve(Response.json({ valid: false }));
  };
  await new Gatehouse({ url, fetch, operatorToken: " secret\r\n" }).verify("service_live_x");
  assert.deepEqual(received, ["Bearer secret"]);
});
