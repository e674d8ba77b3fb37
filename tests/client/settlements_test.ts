// How requireKey delivers what it settles: with the same content until Gatehouse has decided, and never twice.
import assert from "node:assert/strict";
import { requireKey as protectExpress } from "../../packages/client/src/express.ts";
import { requireKey } from "../../packages/client/src/fetch.ts";
import { Gatehouse, type HeldUsage } from "../../packages/client/src/index.ts";

const hold = { id: "hld_1", status: "active", expiresAt: new Date(Date.now() + 600_000).toISOString() };
const key = { valid: true, code: "VALID", apiKey: { id: "key_1" }, organization: {}, limits: [], hold };
const held = { product: "models", metric: "tokens", quantity: 100 };

type Answer = () => Response | Promise<Response>;
const lost: Answer = () => Promise.reject(new TypeError("connection lost"));
const failed = (status: number, code = "unavailable"): Answer => () =>
  Response.json({ error: { code, message: code } }, { status });
const settled: Answer = () =>
  Response.json({ hold, usageRecords: [], beyond: [], limits: [] }, { status: 201 });

/** A client of a service with these answers to settlements, the last one repeatedly. */
function scene(answers: readonly Answer[], verification: object = key) {
  const sent: [path: string, body: string][] = [];
  const asked: unknown[] = [];
  const gatehouse = new Gatehouse({
    url: "https://auth.example.com",
    operatorToken: "token",
    fetch: async (input, init) => {
      const { pathname } = new URL(String(input));
      if (pathname.endsWith("/verify")) {
        asked.push(JSON.parse(String(init?.body)));
        return Response.json(verification);
      }
      sent.push([pathname, String(init?.body)]);
      return await (answers[sent.length - 1] ?? answers.at(-1) ?? settled)();
    },
  });
  const serve = (found: HeldUsage | HeldUsage[] | undefined, more: object = {}) =>
    requireKey({ gatehouse, hold: () => held, settle: () => found, ...more }, () => new Response("served"))(
      new Request("https://app.example.com", { headers: { authorization: "Bearer key" } }),
    );
  return { gatehouse, sent, asked, serve };
}

/** Runs `act`, and returns what it logs as errors. */
async function logged(act: () => Promise<void>): Promise<string[]> {
  const { error } = console;
  const lines: string[] = [];
  // deno-lint-ignore no-console
  console.error = (line: unknown) => void lines.push(String(line));
  try {
    await act();
  } finally {
    // deno-lint-ignore no-console
    console.error = error;
  }
  return lines;
}

Deno.test("a settlement is repeated with the same content until Gatehouse accepts it", async () => {
  const { gatehouse, sent, serve } = scene([lost, lost, failed(503), failed(429), failed(401), settled]);
  const found = { ...held, quantity: 42 };
  assert.equal(await (await serve(found)).text(), "served");
  // A handler may change what it counts in.
  found.quantity = 43;
  assert.equal(await gatehouse.close({ timeoutMs: 60_000 }), true);
  const body = '{"records":[{"productSlug":"models","metric":"tokens","quantity":42}]}';
  assert.deepEqual(sent, Array(6).fill(["/api/operator/holds/hld_1/settle", body]));
});

Deno.test("a settlement that Gatehouse rejects is logged once, and not repeated", async () => {
  for (
    const [status, code] of [[409, "hold_ended"], [422, "validation_failed"], [404, "not_found"]] as const
  ) {
    const { gatehouse, sent, serve } = scene([failed(status, code)]);
    const lines = await logged(async () => {
      await (await serve(held)).text();
      assert.equal(await gatehouse.close(), true);
    });
    assert.equal(sent.length, 1);
    assert.deepEqual(lines, [
      `[gatehouse] The hold hld_1 wasn't settled: ${code} Used: ${JSON.stringify(held)}`,
    ]);
  }
});

Deno.test("close() returns false and logs what it couldn't settle in time", async () => {
  const { gatehouse, serve } = scene([failed(503)]);
  const lines = await logged(async () => {
    await (await serve(held)).text();
    assert.equal(await gatehouse.close({ timeoutMs: 0 }), false);
    // The last attempt.
    await gatehouse.close({ timeoutMs: 10_000 });
  });
  assert.deepEqual(lines, [
    `[gatehouse] The hold hld_1 wasn't settled: unavailable Used: ${JSON.stringify(held)}`,
  ]);
});

Deno.test("nothing found releases the hold, and an empty list settles it", async () => {
  for (
    const [found, path, body] of [[undefined, "release", "{}"], [[], "settle", '{"records":[]}']] as const
  ) {
    const { gatehouse, sent, serve } = scene([settled]);
    await (await serve(found as undefined)).text();
    assert.equal(await gatehouse.close(), true);
    assert.deepEqual(sent, [[`/api/operator/holds/hld_1/${path}`, body]]);
  }
});

Deno.test("a request without an active hold is denied", async () => {
  for (
    const without of [{ ...key, hold: null }, { ...key, hold: undefined }, {
      ...key,
      hold: { ...hold, status: "released" },
    }]
  ) {
    const { serve, sent, asked } = scene([settled], without);
    const response = await serve(held);
    assert.equal(response.status, 503);
    assert.equal(sent.length, 0);
    const [{ usage, hold: terms }] = asked as [{ usage: unknown[]; hold: Record<string, unknown> }];
    assert.deepEqual(usage, [{ productSlug: "models", metric: "tokens", quantity: 100 }]);
    assert.deepEqual(Object.keys(terms), ["idempotencyKey"]);
  }
});

Deno.test("the terms of holds are sent, and options that need or contradict others throw", async () => {
  const { gatehouse, serve, asked } = scene([settled]);
  await (await serve(held, { expiresIn: 60, onExpiry: "record" })).text();
  await gatehouse.close();
  const [{ hold: { expiresIn, onExpiry } }] = asked as [{ hold: Record<string, unknown> }];
  assert.deepEqual([expiresIn, onExpiry], [60, "record"]);
  const [hold, settle] = [() => held, () => []];
  for (
    const options of [
      { hold },
      { settle },
      { expiresIn: 60 },
      { onExpiry: "record" as const },
      { hold, settle, meter: { product: "tiles", metric: "requests" } },
      { hold, settle, limit: false },
      { hold, settle, holds: 1 },
    ]
  ) assert.throws(() => requireKey({ gatehouse, ...options }, () => new Response()), TypeError);
});

Deno.test("a promise of settle is waited for, and a handler of Express that ends twice settles once", async () => {
  const { gatehouse, sent } = scene([settled]);
  const { promise, resolve } = Promise.withResolvers<HeldUsage>();
  const protect = protectExpress({ gatehouse, hold: () => held, settle: () => promise });
  const listeners: (() => void)[] = [];
  const response = {
    ...{ statusCode: 200, headersSent: true, setHeader() {}, end() {}, write: () => true },
    once: (_event: string, listener: () => void) => void listeners.push(listener),
  };
  const request = {
    ...{ method: "GET", originalUrl: "/", protocol: "http", params: {}, query: {} },
    headers: { host: "localhost", authorization: "Bearer key" },
  };
  await new Promise<void>((next) => protect(request, response as never, () => next()));
  for (const listener of listeners) listener();
  response.write();
  response.end();
  response.end();
  assert.equal(sent.length, 0);
  resolve({ ...held, quantity: 7 });
  assert.equal(await gatehouse.close(), true);
  assert.deepEqual(sent.map(([, body]) => JSON.parse(body).records[0].quantity), [7]);
});
