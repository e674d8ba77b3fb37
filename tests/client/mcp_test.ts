// The MCP middleware with @modelcontextprotocol/sdk over HTTP, against the real program.
import assert from "node:assert/strict";
import { Gatehouse } from "../../packages/client/src/gatehouse.ts";
import { meterTool, requireKey } from "../../packages/client/src/mcp.ts";
import {
  type McpCustomer,
  type McpScene,
  type ToolResult,
  withMcpScene,
} from "../support/client/mcp_scene.ts";
import { type Job, resourceMetadata } from "../support/client/products/mcp_product.ts";
import { poll } from "../support/runner/poll.ts";

type Case = (scene: McpScene) => Promise<void>;

const limit = { productSlug: "models", metric: "tokens", per: "month", quantity: 250, mode: "hard" };
const calls = { productSlug: "tools", metric: "calls", per: "month", quantity: 7, mode: "hard" };

/** Sends JSON-RPC messages in one body. */
function post(
  url: string,
  { apiKey, body, headers = {}, ...more }: {
    apiKey?: string;
    body: unknown;
    headers?: Record<string, string>;
    method?: string;
    signal?: AbortSignal;
  },
): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      ...headers,
    },
    body: JSON.stringify(body),
    ...more,
  });
}

const message = (id: number | string | undefined, name: string, args: object = {}) => ({
  jsonrpc: "2.0",
  ...(id === undefined ? {} : { id }),
  method: "tools/call",
  params: { name, arguments: args },
});

/** Runs `act`, and returns its result and what it logs as errors. */
async function logged<T>(act: () => Promise<T>): Promise<[result: T, lines: string[]]> {
  const { error } = console;
  const lines: string[] = [];
  // deno-lint-ignore no-console
  console.error = (line: unknown) => void lines.push(String(line));
  try {
    return [await act(), lines];
  } finally {
    // deno-lint-ignore no-console
    console.error = error;
  }
}

/** Waits until the customer has no active hold. Returns the statuses of all, the newest first. */
async function ended({ holds }: McpScene, customer: McpCustomer): Promise<string[]> {
  await poll(async () => !(await holds(customer)).includes("active"));
  return await holds(customer);
}

const challengesWithoutKey: Case = async ({ product: { url }, newCustomer }) => {
  const { apiKey } = await newCustomer();
  const metadata = `resource_metadata="${resourceMetadata}"`;
  const cases: [path: string, authorization: string | null, status: number, challenge: string | null][] = [
    ["/mcp", null, 401, `Bearer ${metadata}`],
    ["/mcp", "Basic YTpi", 401, `Bearer ${metadata}`],
    ["/mcp", "Bearer", 401, `Bearer ${metadata}`],
    ["/mcp", "Bearer service_live_unknown", 401, `Bearer error="invalid_token", ${metadata}`],
    ["/stateless", null, 401, 'Bearer realm="mcp"'],
    ["/stateless", "Bearer service_live_unknown", 401, 'Bearer error="invalid_token"'],
    [
      "/restricted",
      `Bearer ${apiKey}`,
      403,
      `Bearer error="insufficient_scope", scope="mcp:use mcp:admin", ${metadata}`,
    ],
    ["/down", `Bearer ${apiKey}`, 503, null],
  ];
  for (const [path, authorization, status, challenge] of cases) {
    for (const method of ["POST", "GET", "DELETE"]) {
      const response = await fetch(url + path, {
        method,
        headers: authorization === null ? {} : { authorization },
      });
      const what = `${method} ${path} ${authorization}`;
      assert.deepEqual(
        [response.status, response.headers.get("www-authenticate")],
        [status, challenge],
        what,
      );
      const { jsonrpc, error: { code, data }, ...rest } = await response.json();
      assert.deepEqual([jsonrpc, code, typeof data.code, rest], ["2.0", -32000, "string", {}]);
      assert.equal(response.headers.get("retry-after"), status === 503 ? "1" : null);
    }
  }
};

const metersCallsAlone: Case = async (scene) => {
  const { newCustomer, connected, byTool, product } = scene;
  const customer = await newCustomer();
  await connected(customer, async ({ client, transport, call }) => {
    await client.ping();
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map(({ name }: { name: string }) => name), ["free", "echo", "unheld", "work"]);
    assert.equal((await call("free")).content[0]?.text, "free");
    // Arguments that don't match the schema, and unknown tools.
    assert.equal((await call("work", { tokens: "many" })).isError, true);
    assert.equal((await call("missing")).isError, true);
    assert.deepEqual(await scene.holds(customer), []);
    assert.equal((await call("echo")).content[0]?.text, "echo");
    await call("work", { tokens: 42, then: "return" });
    await transport.terminateSession();
  });
  assert.deepEqual(await ended(scene, customer), ["settled", "settled"]);
  assert.deepEqual([await byTool(customer, "calls"), await byTool(customer, "tokens")], [
    { echo: 1 },
    { work: 42 },
  ]);
  assert.deepEqual(product.runs, [{ tokens: 42, then: "return" }]);
};

const rejectsRevokedKey: Case = async ({ operate, newCustomer, connected }) => {
  const customer = await newCustomer();
  await connected(customer, async ({ client, call }) => {
    assert.equal((await call("echo")).isError, undefined);
    await operate("DELETE", `api-keys/${customer.keyId}`);
    await assert.rejects(call("free"), { code: 401 });
    await assert.rejects(client.ping(), { code: 401 });
  });
};

const spendsExactly: Case = async (scene) => {
  const { newCustomer, connected, byTool } = scene;
  const customer = await newCustomer({ limits: [calls] });
  await connected(customer, async ({ call }) => {
    const results = await Promise.all(Array.from({ length: 20 }, () => call("echo")));
    const rejected = results.filter(({ isError }) => isError);
    assert.equal(rejected.length, 13);
    for (const { _meta, content: [first] } of rejected) {
      const { code, retryAfter = 0 } = _meta?.["gatehouse/error"] ?? assert.fail();
      assert.equal(code, "limit_exceeded");
      assert.ok(retryAfter > 0);
      assert.match(first?.text ?? "", /exceed.* Try again in \d+ seconds\.$/);
    }
    // What costs nothing still works.
    assert.equal((await call("free")).isError, undefined);
  });
  await ended(scene, customer);
  assert.deepEqual(await byTool(customer, "calls"), { echo: 7 });
};

const settlesWhatWasUsed: Case = async (scene) => {
  const { newCustomer, connected, byTool } = scene;
  const cases: [job: Job, status: string, used: number, isError: boolean][] = [
    [{ then: "return" }, "settled", 100, false],
    [{ tokens: 42, then: "return" }, "settled", 42, false],
    [{ tokens: 142, then: "return" }, "settled", 142, false],
    [{ then: "fail" }, "released", 0, true],
    [{ tokens: 42, then: "fail" }, "settled", 42, true],
    [{ then: "throw" }, "released", 0, true],
    [{ tokens: 42, then: "throw" }, "settled", 42, true],
    [{ then: "use nothing" }, "settled", 0, true],
    [{ tokens: 42, then: "know nothing" }, "released", 0, false],
    [{ then: "use nonsense" }, "active", 0, false],
  ];
  for (const [job, status, used, isError] of cases) {
    const customer = await newCustomer({ limits: [limit] });
    const [result, lines] = await logged(() => connected(customer, ({ call }) => call("work", job)));
    assert.equal(result.isError ?? false, isError, JSON.stringify(job));
    if (status !== "active") await ended(scene, customer);
    assert.equal(lines.length, status === "active" ? 1 : 0);
    assert.deepEqual(await scene.holds(customer), [status], JSON.stringify(job));
    const sums = await byTool(customer, "tokens");
    assert.deepEqual(sums, used === 0 ? {} : { work: used }, JSON.stringify(job));
  }
};

const settlesAbandoned: Case = async (scene) => {
  const { newCustomer, connected, byTool, product } = scene;
  const job = { tokens: 42, then: "wait" };
  const customer = await newCustomer({ limits: [limit] });
  // The client says that it no longer waits: the handler stops.
  await connected(customer, async ({ call }) => {
    const leaving = new AbortController();
    const result = call("work", job, leaving.signal);
    await poll(() => product.waiting.length === 1);
    assert.deepEqual(await scene.holds(customer), ["active"]);
    leaving.abort();
    await assert.rejects(result);
    assert.deepEqual(await ended(scene, customer), ["settled"]);
  });
  // The client deletes the session.
  await connected(customer, async ({ call, transport }) => {
    const result = assert.rejects(call("work", job));
    await poll(() => product.waiting.length === 2);
    await transport.terminateSession();
    assert.deepEqual(await ended(scene, customer), ["settled", "settled"]);
    await transport.close();
    await result;
  });
  // The client disconnects, which stops no handler.
  const leaving = new AbortController();
  const { apiKey } = customer;
  const response = await post(`${product.url}/stateless`, {
    apiKey,
    body: message(1, "work", { ...job, tokens: 5 }),
    signal: leaving.signal,
  });
  await poll(() => product.waiting.length === 3);
  leaving.abort();
  await response.body?.cancel().catch(() => {});
  assert.equal((await scene.holds(customer))[0], "active");
  product.waiting[2]?.();
  assert.deepEqual(await ended(scene, customer), ["settled", "settled", "settled"]);
  assert.deepEqual(await byTool(customer, "tokens"), { work: 89 });
};

const metersBatches: Case = async (scene) => {
  const { newCustomer, byTool, product } = scene;
  const customer = await newCustomer({ limits: [{ ...calls, quantity: 4 }] });
  const { apiKey } = customer;
  const batch = [
    message(1, "echo"),
    { jsonrpc: "2.0", id: 2, method: "ping" },
    message("three", "echo"),
    // Without an id, it is a notification, which no server answers or runs.
    message(undefined, "echo"),
    message(4, "free"),
    message(5, "work", { tokens: 5, then: "return" }),
    message(6, "echo"),
    message(7, "unknown"),
  ];
  const first = await (await post(`${product.url}/stateless`, { apiKey, body: batch })).text();
  assert.equal(first.match(/"result"/g)?.length, 7, first);
  await ended(scene, customer);
  assert.deepEqual(await byTool(customer, "calls"), { echo: 3 });
  assert.deepEqual(await byTool(customer, "tokens"), { work: 5 });
  // One of them fits.
  const second = await (await post(`${product.url}/stateless`, { apiKey, body: batch })).text();
  assert.equal(second.match(/"limit_exceeded"/g)?.length, 2, second);
  await ended(scene, customer);
  assert.deepEqual(await byTool(customer, "calls"), { echo: 4 });
};

const failsClosed: Case = async ({ newCustomer, connected }) => {
  const customer = await newCustomer();
  const [result, lines] = await logged(() => connected(customer, ({ call }) => call("unheld")));
  assert.deepEqual([result.isError, result.content[0]?.text, result._meta], [
    true,
    "Usage can't be checked right now. Try again in 5 seconds.",
    { "gatehouse/error": { code: "unavailable", retryAfter: 5 } },
  ]);
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /^\[gatehouse\] A call of the tool unheld was rejected: ConnectionError: /);
};

Deno.test("the MCP middleware", (t) =>
  withMcpScene(async (scene) => {
    const cases: Record<string, Case> = {
      "requires a key for every request, with a challenge": challengesWithoutKey,
      "meters calls by tool, and nothing else": metersCallsAlone,
      "rejects a revoked key on the next request": rejectsRevokedKey,
      "lets 20 concurrent calls spend a budget exactly": spendsExactly,
      "settles what the handler used, however it ends": settlesWhatWasUsed,
      "settles calls that are canceled, whose session is deleted and whose client disconnects":
        settlesAbandoned,
      "meters each call of a batch once": metersBatches,
      "runs no tool without a hold": failsClosed,
    };
    for (const [name, run] of Object.entries(cases)) await t.step(name, () => run(scene));
  }));

/** Calls a metered tool whose hold gets a response. */
async function rejectedWith(
  response: () => Response,
  authInfo: object | null = { extra: { apiKey: { id: "key_1" } } },
): Promise<{ result: ToolResult; lines: string[]; runs: number }> {
  const fetch = () => Promise.resolve(response());
  const gatehouse = new Gatehouse({ url: "https://auth.example.com", operatorToken: "token", fetch });
  let runs = 0;
  const hold = { product: "tools", metric: "calls", quantity: 1 };
  const handler = meterTool({ gatehouse, tool: "echo", hold }, (_extra: object): Promise<ToolResult> => {
    return Promise.resolve({ content: [{ text: `run ${++runs}` }] });
  });
  const [result, lines] = await logged(() => handler({ authInfo }));
  return { result, lines, runs };
}

Deno.test("a call that can't be held says why only if the customer can do something about it", async () => {
  const failed = (status: number, code: string) => () =>
    Response.json({ error: { code, message: `Says ${code}.` } }, { status });
  for (
    const [status, code] of [
      [429, "hold_limit_reached"],
      [422, "series_limit_reached"],
      [409, "key_inactive"],
      [403, "organization_suspended"],
    ] as const
  ) {
    const { result, lines, runs } = await rejectedWith(failed(status, code));
    assert.deepEqual([result.isError, result.content[0]?.text], [true, `Says ${code}.`]);
    assert.deepEqual([result._meta, lines, runs], [
      { "gatehouse/error": { code, retryAfter: undefined } },
      [],
      0,
    ]);
  }
  for (
    const [status, code] of [
      [401, "invalid_operator_token"],
      [422, "validation_failed"],
      [429, "rate_limited"],
      [503, "unavailable"],
    ] as const
  ) {
    const { result, lines, runs } = await rejectedWith(failed(status, code));
    assert.deepEqual([result._meta?.["gatehouse/error"]?.code, lines.length, runs], ["unavailable", 1, 0]);
    assert.doesNotMatch(JSON.stringify(result), /Says/);
  }
  const unprotected = await rejectedWith(() => assert.fail(), null);
  assert.deepEqual([unprotected.result.isError, unprotected.runs], [true, 0]);
  assert.match(unprotected.lines[0] ?? "", /requireKey did not run/);
});

Deno.test("the MCP middleware rejects unknown options and options without a value", () => {
  const gatehouse = new Gatehouse({ url: "https://auth.example.com", operatorToken: "token" });
  const hold = { product: "tools", metric: "calls", quantity: 1 };
  for (
    const unknown of [{ meter: hold }, { hold: () => hold }, { keyFrom: () => "key" }, { permissions: "x" }]
  ) {
    assert.throws(() => requireKey({ gatehouse, ...unknown }), TypeError, JSON.stringify(unknown));
  }
  for (const name of ["gatehouse", "permission", "feature", "addressFrom", "resourceMetadata"]) {
    assert.throws(() => requireKey({ gatehouse, [name]: undefined as never }), TypeError, name);
  }
  assert.throws(() => requireKey({ gatehouse, resourceMetadata: "/.well-known" }), TypeError);
  for (const name of ["gatehouse", "tool", "hold"]) {
    const options = { gatehouse, tool: "echo", hold, [name]: undefined as never };
    assert.throws(() => meterTool(options, () => {}), TypeError, name);
  }
  assert.throws(
    () => meterTool({ gatehouse, tool: "echo", hold, settle: () => {} } as never, () => {}),
    TypeError,
  );
});
