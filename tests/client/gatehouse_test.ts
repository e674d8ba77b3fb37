// The client against Gatehouse, in both languages, and what only the one for TypeScript has: forms of requests, a custom fetch and
// its meter.
import assert from "node:assert/strict";
import {
  ConnectionError,
  Gatehouse,
  Meter,
  type MeterProblem,
  type RequestLike,
  TimeoutError,
} from "../../packages/client/src/index.ts";
import { clientSteps } from "../support/client/any_client.ts";
import { leftLine } from "../support/client/meter_folder.ts";
import { usageOf } from "../support/client/meter_line.ts";
import { afterMetered, metered, type Scene } from "../support/client/meter_scene.ts";
import { newOperatorToken } from "../support/operators/operators.ts";
import { poll } from "../support/runner/poll.ts";
import { clientCases } from "./client_cases.ts";
import { clientHoldCases } from "./client_hold_cases.ts";

const url = "https://auth.example.com";

metered("Gatehouse", {
  ...clientSteps({ ...clientCases, ...clientHoldCases }),
  "has a meter with its address, token and fetch, which sends immediately what an earlier process left":
    hasMeter,
});

async function hasMeter({ test, line, key, keyId, folder }: Scene): Promise<void> {
  const sent: string[] = [];
  const { fullToken: operatorToken } = await newOperatorToken(test);
  await Deno.writeTextFile(`${folder}/left.jsonl`, leftLine("left", { apiKeyId: keyId }));
  const gatehouse = new Gatehouse({
    ...{ url: line.url, operatorToken, meter: { spool: folder, flushIntervalMs: 3_600_000 } },
    fetch: (input, init) => {
      sent.push(String(input));
      return fetch(input, init);
    },
  });
  // Before it records anything.
  await poll(async () => (await usageOf(test, key))["left"]?.[1] === 1);
  gatehouse.meter.record({ product: "tiles", metric: "requests", apiKeyId: keyId });
  assert.equal(await gatehouse.close(), true);
  assert.deepEqual(sent, Array(2).fill(`${line.url}/api/operator/usage`));
  assert.deepEqual(await usageOf(test, key), { left: [1, 1], requests: [1, 1] });
}

afterMetered("me() hands on the session cookies of any form of a request, and nothing else", async () => {
  const planted = `access_token=${"x".repeat(43)}`;
  const headers = {
    Authorization: "Bearer secret",
    Cookie: `theme=dark; ${planted}; my_access_token=1;access_token=2 `,
    "X-Forwarded-For": "192.0.2.1",
  };
  const lowerCase = { cookie: headers.Cookie, "x-forwarded-for": "192.0.2.1" };
  const requests: Record<string, RequestLike> = {
    "a Request": new Request("https://maps.example.com/", { headers }),
    "Headers": new Headers(headers),
    "a request of Node.js": { headers: lowerCase },
    "its headers": lowerCase,
    "an object with headers": { headers },
    "several Cookie headers": { headers: { cookie: [`theme=dark; ${planted}`, "access_token=2"] } },
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
});

afterMetered("a call whose connection is lost is repeated only once", async () => {
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

afterMetered("a call ends after timeoutMs even if a custom fetch ignores its signal", async () => {
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

afterMetered("wrong options are reported when the client first needs them", async () => {
  for (const url of ["", "a.example.com", "ftp://a.example.com", "https://user:secret@a.example.com"]) {
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

afterMetered("an operator token that can't be a header appears in no error", async () => {
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
