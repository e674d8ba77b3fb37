// What requireKey promises, for the product of each framework. middleware_test.ts runs these cases.
import assert from "node:assert/strict";
import type { LimitStanding } from "../../packages/client/src/api.ts";
import type { ClientScene, Customer, ProductCases, See } from "../support/client/scene.ts";
import { poll } from "../support/runner/poll.ts";
import type { Visited } from "../support/network/visit.ts";

const runs = { productSlug: "jobs", metric: "runs" };

export const keyCases: ProductCases = {
  "passes a key on with its permissions and organization": passesKeys,
  "rejects invalid keys without saying what is wrong with them": rejectsKeys,
  "rejects a revoked key, and a suspended organization, on the next request": rejectsOnNextRequest,
  "requires permissions": requiresPermissions,
  "takes the key from where the product says": takesKeyFromElsewhere,
  "rejects requests beyond the key's rate limit": limitsRate,
  "records once for each response with a status below 400": recordsResponses,
  "asks whether usage fits, without recording it": asksWhetherUsageFits,
  "rejects what doesn't fit into a hard limit before the handler runs, and records it afterwards":
    checksMeter,
  "checks whether anything is left if the quantity depends on the response or the handler":
    checksUnknownQuantity,
  "serves customers beyond a hard limit with limit: false": servesBeyondLimit,
  "says that an organization records too many kinds of usage": limitsSeries,
  "denies access if Gatehouse is down or slow, and fails with a wrong operator token": failsClosed,
};

function bearer({ apiKey }: Customer): { authorization: string } {
  return { authorization: `Bearer ${apiKey}` };
}

function errorOf({ body }: Visited): { code: string; message: string; details?: LimitStanding[] } {
  return JSON.parse(body).error;
}

function assertInvalid(denied: Visited, what: string): void {
  assert.equal(denied.status, 401, what);
  assert.deepEqual(errorOf(denied), { code: "invalid_api_key", message: "Invalid or missing API key." });
  const { "www-authenticate": challenge, "cache-control": cache } = denied.headers;
  assert.deepEqual([challenge, cache], ["Bearer", "no-store"]);
}

async function passesKeys(see: See, { newCustomer }: ClientScene): Promise<void> {
  const customer = await newCustomer();
  const { status, headers, body } = await see("/render", bearer(customer));
  assert.equal(status, 200, body);
  const { id, permissions, organization, limits } = JSON.parse(body);
  assert.deepEqual([id, organization.id, limits], [customer.keyId, customer.organizationId, []]);
  assert.deepEqual(permissions, ["maps:edit", "maps:render"]);
  assert.equal(headers["ratelimit"], undefined);
  assert.equal((await see("/render", { authorization: `bearer  ${customer.apiKey}` })).status, 200);
}

async function rejectsKeys(see: See, { newCustomer, ada }: ClientScene): Promise<void> {
  const { apiKey } = await newCustomer();
  const valid = `Bearer ${apiKey}`;
  const headers = [
    ...["Bearer", "Bearer ", apiKey, `Basic ${apiKey}`, `Bearer ${apiKey}x`, `Bearer ${apiKey.slice(0, -1)}`],
    ...[`Bearer service_live_${"0".repeat(38)}`, `${valid} x`, `${valid}, ${valid}`, `${valid},${valid}`],
    `${valid};`,
    `Bearer ${"a".repeat(12_000)}`,
    `Bearer ${apiKey}\u00e9`,
    `Bearer "${apiKey}"`,
    "Bearer \u0080\u00ff",
  ];
  for (const authorization of headers) {
    assertInvalid(await see("/render", { authorization }), authorization.slice(0, 99));
  }
  // Which of two keys a proxy has read is unknown.
  for (const two of [[valid, valid], [valid, "Bearer x"], ["Bearer x", valid], [valid, "Basic x"]]) {
    assert.equal(await statusOfTwo(see.host, two), 401);
  }
  assertInvalid(await see("/render", { cookie: ada.cookie, "x-api-key": apiKey }), "elsewhere");
  assertInvalid(await see(`/render?key=${apiKey}`), "in the query");
  assertInvalid(await see("/render", { origin: "https://app.example.com" }, "OPTIONS"), "preflight");
}

/** @returns The status of a request with several `Authorization` headers, each on a line of its own. */
async function statusOfTwo(host: string, authorization: string[]): Promise<number> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(host.split(":")[1]) });
  const lines = authorization.map((value) => `Authorization: ${value}\r\n`).join("");
  const request = `GET /render HTTP/1.1\r\nHost: ${host}\r\n${lines}Connection: close\r\n\r\n`;
  await connection.write(new TextEncoder().encode(request));
  const response = await new Response(connection.readable).text();
  return Number(response.split(" ")[1]);
}

async function rejectsOnNextRequest(see: See, { newCustomer, operate }: ClientScene): Promise<void> {
  const customer = await newCustomer();
  assert.equal((await see("/render", bearer(customer))).status, 200);
  await operate("PATCH", `organizations/${customer.organizationId}`, { status: "suspended" });
  const suspended = await see("/render", bearer(customer));
  assert.deepEqual([suspended.status, errorOf(suspended).code], [403, "organization_suspended"]);
  assert.equal(suspended.headers["cache-control"], "no-store");
  await operate("PATCH", `organizations/${customer.organizationId}`, { status: "active" });
  assert.equal((await see("/render", bearer(customer))).status, 200);
  await operate("DELETE", `api-keys/${customer.keyId}`);
  assertInvalid(await see("/render", bearer(customer)), "revoked");
}

async function requiresPermissions(see: See, { newCustomer, operate }: ClientScene): Promise<void> {
  const customer = await newCustomer(["maps:render"]);
  const denied = await see("/render", bearer(customer));
  assert.equal(denied.status, 403);
  const message = "This API key lacks the permission maps:edit.";
  assert.deepEqual(errorOf(denied), { code: "permission_missing", message });
  await operate("PATCH", `api-keys/${customer.keyId}`, { permissions: ["maps:render", "maps:edit"] });
  assert.equal((await see("/render", bearer(customer))).status, 200);
}

async function takesKeyFromElsewhere(see: See, { newCustomer }: ClientScene): Promise<void> {
  const customer = await newCustomer();
  assert.equal((await see(`/query?key=${customer.apiKey}`)).status, 200);
  const wrong = ["", "?key=", "?key=x", "?key=%00", "?key[]=x", "?key[get]=x", `?key=%20${customer.apiKey}`];
  for (const query of wrong) {
    assertInvalid(await see(`/query${query}`, bearer(customer)), query);
  }
}

async function limitsRate(see: See, { newCustomer }: ClientScene): Promise<void> {
  const customer = await newCustomer(undefined, { requestsPerSecond: 1 });
  const seen = await Promise.all(Array.from({ length: 5 }, () => see("/render", bearer(customer))));
  const denied = seen.find(({ status }) => status === 429);
  assert(denied !== undefined);
  assert.deepEqual([errorOf(denied).code, denied.headers["retry-after"]], ["rate_limited", "1"]);
}

async function recordsResponses(see: See, { newCustomer, usageOf }: ClientScene): Promise<void> {
  const customer = await newCustomer();
  const address = (query: string) => `http://${see.host}/tiles?${query}`;
  const post = async (path: string) =>
    await (await fetch(`http://${see.host}/${path}`, { method: "POST" })).json();
  assert.equal((await see("/tiles?tiles=1", bearer(customer))).status, 200);
  assert.equal((await see("/tiles?tiles=10&do=fail", bearer(customer))).status, 404);
  assert.equal((await see("/tiles?tiles=100&do=throw", bearer(customer))).status, 500);
  assert.equal((await see("/tiles?tiles=1000", { authorization: "Bearer x" })).status, 401);
  // The client disconnects while the response is streamed.
  const leaving = new AbortController();
  const streamed = await fetch(address("tiles=10000&do=stream"), {
    headers: bearer(customer),
    signal: leaving.signal,
  });
  await streamed.body?.getReader().read();
  leaving.abort();
  // The response breaks off.
  const broken = await fetch(address("tiles=100000&do=break"), { headers: bearer(customer) });
  await assert.rejects(broken.arrayBuffer());
  // The client disconnects before the handler responds, which must not make its work free.
  const impatient = new AbortController();
  const waiting = fetch(address("tiles=1000000&do=wait"), {
    headers: bearer(customer),
    signal: impatient.signal,
  });
  const state = async () => await (await fetch(`http://${see.host}/state`)).json();
  await poll(async () => (await state()).waiting === 1);
  impatient.abort();
  await assert.rejects(waiting);
  await poll(async () => (await state()).gone === 1);
  await post("release");
  // A quantity that isn't one is reported by the meter, and the response is sent.
  assert.equal((await see("/tiles?tiles=none", bearer(customer))).status, 200);
  await poll(async () =>
    (await post("flush")).rejected === 1 && (await usageOf(customer, "requests"))[0] >= 4
  );
  assert.equal((await post("flush")).isFlushed, true);
  assert.deepEqual(await usageOf(customer, "requests"), [4, 1_110_001]);
}

async function asksWhetherUsageFits(see: See, { newCustomer, usageOf }: ClientScene): Promise<void> {
  const limits = [{ ...runs, per: "total", quantity: 7, mode: "hard" }];
  const customer = await newCustomer(undefined, { limits });
  for (const quantity of ["7", "6.5", "0", String(0.1 + 0.2)]) {
    const passed = await see(`/fits?runs=${quantity}`, bearer(customer));
    assert.equal(passed.status, 200, passed.body);
    assert.match(passed.headers["ratelimit"] ?? "", /^"lim_[0-9a-f]{32}";r=7$/);
    assert.match(passed.headers["ratelimit-policy"] ?? "", /^"lim_[0-9a-f]{32}";q=7$/);
  }
  const denied = await see("/fits?runs=8", bearer(customer));
  assert.deepEqual([denied.status, errorOf(denied).code], [429, "limit_exceeded"]);
  // A limit without windows never resets.
  assert.equal(denied.headers["retry-after"], undefined);
  assert.deepEqual(await usageOf(customer, "runs"), [0, 0]);
  for (const wrong of ["none", "-1"]) {
    assert.equal((await see(`/fits?runs=${wrong}`, bearer(customer))).status, 500, wrong);
  }
}

async function checksMeter(see: See, { newCustomer, usageOf }: ClientScene): Promise<void> {
  const limits = [{ ...runs, per: "month", quantity: 7, mode: "hard" }];
  const customer = await newCustomer(undefined, { limits });
  const passed = await see("/work?runs=5", bearer(customer));
  assert.equal(passed.status, 200, passed.body);
  assert.match(passed.headers["ratelimit"] ?? "", /^"lim_[0-9a-f]{32}";r=7;t=\d+$/);
  assert.equal((await see("/work?runs=1&do=fail", bearer(customer))).status, 404);
  await poll(async () => (await flush(see)).isFlushed && (await usageOf(customer, "runs"))[1] === 5);
  const denied = await see("/work?runs=3", bearer(customer));
  assert.deepEqual([denied.status, denied.headers["x-tiles"]], [429, undefined], denied.body);
  const { code, details = [] } = errorOf(denied);
  const [{ remaining, used, ...limit } = assert.fail()] = details;
  assert.deepEqual([code, details.length, remaining, used, limit.per], ["limit_exceeded", 1, 2, 5, "month"]);
  assert(Number(denied.headers["retry-after"]) > 0);
  const { limits: [standing] } = JSON.parse((await see("/work?runs=2", bearer(customer))).body);
  assert.equal(standing.limitId, limit.limitId);
  await poll(async () => (await flush(see)).isFlushed && (await usageOf(customer, "runs"))[1] === 7);
  for (const unknown of ["none", "-1", "0"]) {
    assert.equal((await see(`/work?runs=${unknown}`, bearer(customer))).status, 429, unknown);
  }
}

async function checksUnknownQuantity(see: See, { newCustomer, usageOf }: ClientScene): Promise<void> {
  const limits = [{ productSlug: "tiles", metric: "requests", per: "total", quantity: 2.5, mode: "hard" }];
  const customer = await newCustomer(undefined, { limits });
  for (const [index, tiles] of [2.499999, 0.000001].entries()) {
    assert.equal((await see(`/tiles?tiles=${tiles}`, bearer(customer))).status, 200);
    await poll(async () => (await flush(see)).isFlushed && (await usageOf(customer, "requests"))[0] > index);
  }
  const denied = await see("/tiles?tiles=0", bearer(customer));
  assert.deepEqual([denied.status, errorOf(denied).details?.length], [429, 1], denied.body);
  assert.deepEqual(await usageOf(customer, "requests"), [2, 2.5]);
}

async function servesBeyondLimit(see: See, { newCustomer, usageOf }: ClientScene): Promise<void> {
  const limits = [{ ...runs, per: "total", quantity: 1, mode: "hard" }];
  const customer = await newCustomer(undefined, { limits });
  const { rejected } = await flush(see);
  const served = await see("/free?runs=2", bearer(customer));
  assert.deepEqual([served.status, served.headers["ratelimit"]], [200, undefined], served.body);
  await poll(async () => (await flush(see)).rejected === rejected + 1);
  assert.deepEqual(await usageOf(customer, "runs"), [0, 0]);
}

/** Sends what the product's meter has recorded. */
async function flush({ host }: See): Promise<{ isFlushed: boolean; rejected: number }> {
  return await (await fetch(`http://${host}/flush`, { method: "POST" })).json();
}

async function limitsSeries(see: See, { newCustomer, usageOf }: ClientScene): Promise<void> {
  const customer = await newCustomer(undefined, { usageSeriesMax: 1 });
  assert.equal((await see("/jobs", bearer(customer))).status, 200);
  const other = await newCustomer(undefined, { usageSeriesMax: 0 });
  const denied = await see("/jobs", bearer(other));
  assert.deepEqual([denied.status, errorOf(denied).code], [422, "series_limit_reached"], denied.body);
  assert.deepEqual(await usageOf(customer, "runs"), [1, 1]);
}

async function failsClosed(see: See, { newCustomer }: ClientScene): Promise<void> {
  const customer = await newCustomer();
  for (const path of ["/down-key", "/slow-key"]) {
    const denied = await see(path, bearer(customer));
    assert.deepEqual([denied.status, errorOf(denied).code], [503, "unavailable"]);
    const { "retry-after": retryAfter, "cache-control": cache } = denied.headers;
    assert.deepEqual([retryAfter, cache], ["1", "no-store"]);
  }
  // What the people who run the product must repair is for their log.
  const wrong = await see("/misconfigured", bearer(customer));
  assert.deepEqual([wrong.status, wrong.body], [500, "broken"]);
}

export async function recordsExactly({ products, newCustomer, usageOf }: ClientScene): Promise<void> {
  const limits = [{ ...runs, per: "month", quantity: 7, mode: "hard" }];
  const customer = await newCustomer(undefined, { limits });
  const addresses = Object.values(products).flatMap(({ url }) =>
    Array<string>(10).fill(`${url}/jobs?do=fail`)
  );
  const responses = await Promise.all(
    addresses.map((address) => fetch(address, { headers: bearer(customer) })),
  );
  const bodies = await Promise.all(responses.map((response) => response.json()));
  const denied = responses.filter(({ status }) => status === 429);
  // Recorded before the handler, which then fails.
  assert.deepEqual([denied.length, responses.filter(({ status }) => status === 404).length], [
    addresses.length - 7,
    7,
  ]);
  assert.deepEqual(await usageOf(customer, "runs"), [7, 7]);
  const limitId = bodies.find(({ error }) => error !== undefined).error.details[0].limitId;
  for (const response of denied) {
    const { headers } = response;
    assert(Number(headers.get("retry-after")) > 0);
    assert.match(headers.get("ratelimit") ?? "", new RegExp(`^"${limitId}";r=0;t=\\d+$`));
    assert.equal(headers.get("ratelimit-policy"), `"${limitId}";q=7`);
    assert.equal(headers.get("cache-control"), "no-store");
  }
  // Concurrent requests may be recorded together, and then all report what is left after the last of them.
  for (const { headers } of responses.filter(({ status }) => status === 404)) {
    assert.match(headers.get("ratelimit") ?? "", new RegExp(`^"${limitId}";r=[0-6];t=\\d+$`));
  }
}

export async function recordsSocket(
  { products: { hono }, newCustomer, usageOf }: ClientScene,
): Promise<void> {
  const limits = [{ ...runs, per: "month", quantity: 7, mode: "hard" }];
  const customer = await newCustomer(undefined, { limits });
  const socket = new WebSocket(`${hono.url.replace("http", "ws")}/jobs/socket`, {
    headers: bearer(customer),
  });
  const echo = await new Promise((resolve, reject) => {
    socket.onopen = () => socket.send("hello");
    socket.onmessage = ({ data }) => resolve(data);
    socket.onerror = reject;
  });
  assert.equal(echo, "hello");
  const closed = new Promise((resolve) => socket.onclose = resolve);
  socket.close();
  await closed;
  assert.deepEqual(await usageOf(customer, "runs"), [1, 1]);
}
