// Runs nginx, Caddy, HAProxy and Apache with the configurations in examples/: which requests with API keys reach an application.
import assert from "node:assert/strict";
import { readGuide } from "../support/runner/guides.ts";
import { killProgram } from "../support/process/program.ts";
import { poll } from "../support/runner/poll.ts";
import {
  type KeyCustomer,
  keyProxies,
  type KeyProxyScene,
  readExample,
  type Received,
  sendRaw,
  withKeyProxy,
} from "../support/network/key_proxies.ts";

const promises: Readonly<Record<string, (scene: KeyProxyScene) => Promise<void>>> = {
  "a request with a working key arrives with the ids of the key and its organization": passesKeys,
  "identity headers from clients never arrive": dropsForgedHeaders,
  "a client can't open a tunnel past the check": opensNoTunnels,
  "hostile credentials are rejected": rejectsHostileValues,
  "each accepted request counts exactly once": countsRequests,
  "a key over its limit gets 429 with Retry-After": limitsKeys,
  "a key that may only be used from an address is judged by the client's": checksAddresses,
  "a revoked key, and one of a suspended organization, is rejected on the next request": rejectsRevokedKeys,
  "no request arrives while Gatehouse is down": failsClosed,
};

/** The pages, with the names of the blocks that are files of the example. */
const pages = {
  nginx: ["nginx.md", "api.conf", "gatehouse.lua"],
  caddy: ["caddy.md", "Caddyfile"],
  haproxy: ["haproxy.md", "haproxy.cfg", "gatehouse.lua"],
  apache: ["apache.md", "api.conf", "gatehouse.lua"],
} as const;

for (const proxy of keyProxies) {
  const { name, files } = proxy;
  const [page, ...names] = pages[name];
  const block = await readGuide(page);

  Deno.test({
    name: `${name}: the configuration in examples/ admits requests with API keys`,
    ignore: proxy.ignore,
    fn: (t) => {
      const application = () => new Response("hello");
      // nginx sends the client's address with the key.
      const settings = name === "nginx" ? "" : block("settings");
      return withKeyProxy(proxy, { application, settings }, async (scene) => {
        for (const [promise, run] of Object.entries(promises)) {
          const fn = () => run(scene);
          await t.step({ name: promise, fn, sanitizeOps: false, sanitizeResources: false });
        }
      });
    },
  });

  Deno.test(`docs/${page} shows the files of examples/${name}`, async () => {
    assert.deepEqual([...names], files);
    for (const file of names) assert.equal(block(file), await readExample(name, file));
  });
}

const bearer = ({ key }: KeyCustomer) => `Authorization: Bearer ${key}`;

/** Asserts that a request reaches the application once. @returns The request as received. */
async function arrives(
  { port, received }: KeyProxyScene,
  lines: string[],
  more?: { start: string; body: string },
): Promise<Received> {
  const count = received.length;
  const { status, head, body } = await sendRaw(port, lines, more);
  assert.equal(status, 200, `${lines}\n${head}\n${body}`);
  assert.equal(received.length, count + 1);
  return received.at(-1) ?? assert.fail();
}

/** Asserts that a request doesn't reach the application. @returns The response. */
async function isBlocked({ port, received }: KeyProxyScene, lines: string[]) {
  const count = received.length;
  const response = await sendRaw(port, lines);
  assert(response.status >= 400, `${lines}\n${response.head}\n${response.body}`);
  assert.equal(received.length, count, lines.join("\n"));
  return response;
}

async function passesKeys(scene: KeyProxyScene): Promise<void> {
  const customer = await scene.newCustomer();
  const body = "a".repeat(20_000);
  const got = await arrives(scene, [bearer(customer)], {
    start: "POST /a/b?c=%2F&accept=session HTTP/1.1",
    body,
  });
  assert.deepEqual([got.method, got.path, got.body], ["POST", "/a/b?c=%2F&accept=session", body]);
  assert.equal(got.headers["remote-organization"], customer.organizationId);
  assert.equal(got.headers["remote-api-key"], customer.keyId);
  assert.equal(got.headers["authorization"] ?? "", "");
  assert(!JSON.stringify(got).includes(customer.key));
}

async function dropsForgedHeaders(scene: KeyProxyScene): Promise<void> {
  const customer = await scene.newCustomer();
  const names =
    "Remote-Organization REMOTE-ORGANIZATION Remote_Organization Remote-Api-Key remote_api_key Remote.Api.Key " +
    "Remote-User Remote-Permissions Remote-Groups";
  const forged = names.split(" ").flatMap((name) => [`${name}: forged`, `${name}: forged twice`]);
  const all = [[...forged, bearer(customer)], [bearer(customer), ...forged], [
    // Some gateways accept a line feed as the end of a line.
    `${bearer(customer)}\nRemote-Organization: forged`,
  ]];
  for (const lines of all) {
    const count = scene.received.length;
    const { status } = await sendRaw(scene.port, lines);
    if (status === 400) continue;
    assert.equal(status, 200);
    assert.equal(scene.received.length, count + 1);
    const { headers } = scene.received.at(-1) ?? assert.fail();
    assert.doesNotMatch(JSON.stringify(headers), /forged/);
    assert.equal(headers["remote-organization"], customer.organizationId);
    assert.equal(headers["remote-api-key"], customer.keyId);
  }
  await isBlocked(scene, forged);
  // A client can't have its identity removed either.
  const count = scene.received.length;
  const { status } = await sendRaw(scene.port, [
    bearer(customer),
    "Connection: Remote-Organization, Remote-Api-Key",
  ]);
  assert(status === 400 || scene.received.length === count + 1);
  if (status !== 400) {
    assert.equal(scene.received.at(-1)?.headers["remote-organization"], customer.organizationId);
  }
}

async function opensNoTunnels(scene: KeyProxyScene): Promise<void> {
  const customer = await scene.newCustomer();
  const settings = ["HTTP2-Settings: AAMAAABk", "Connection: Upgrade, HTTP2-Settings"];
  for (const upgrade of [["h2c"], ["websocket", "h2c"], ["h2c", "websocket"], ["websocket, h2c"]]) {
    const count = scene.received.length;
    const lines = upgrade.map((value) => `Upgrade: ${value}`);
    const { status } = await sendRaw(scene.port, [bearer(customer), ...lines, ...settings]);
    if (status === 400) continue;
    assert.equal(scene.received.length, count + 1);
    assert.match(scene.received.at(-1)?.headers["upgrade"] ?? "websocket", /^websocket$/i);
  }
}

async function rejectsHostileValues(scene: KeyProxyScene): Promise<void> {
  const { key, ...customer } = await scene.newCustomer();
  const values = [
    "",
    "Bearer",
    "Bearer ",
    key,
    `Basic ${key}`,
    `Bearer ${key}"`,
    `Bearer "${key}"`,
    `Bearer ","key":"${key}`,
    `Bearer x"},"key":"${key}","a":{"b":"`,
    `Bearer x\\","key":"${key}`,
    `Bearer ${key}\\`,
    `Bearer ${key}\\u0022`,
    `Bearer ${key} ${key}`,
    `Bearer ${key}, Bearer ${key}`,
    `Bearer ${key}\t.`,
    `Bearer ${key}\r\n folded`,
    `Bearer ${key}\rX: y`,
    `Bearer ${key}\0`,
    `Bearer ${key}\xff`,
    `Bearer \xc3\x28`,
    `Bearer $http_host%{HOST}e\${1}`,
    `Bearer ${"x".repeat(8_000)}`,
    `Bearer ${key}${"=".repeat(8_000)}`,
  ];
  for (const value of values) {
    const { status } = await isBlocked(scene, [`Authorization: ${value}`]);
    assert(status < 500, `${value}: ${status}`);
  }
  const none = await isBlocked(scene, []);
  assert.equal(none.status, 401);
  assert.match(none.head, /^www-authenticate: Bearer/im);
  const [own, other] = [`Authorization: Bearer ${key}`, "Authorization: Bearer x"];
  for (const lines of [[own, other], [other, own], [own, own]]) {
    // One that several programs read differently must not pass.
    const { status } = await isBlocked(scene, lines);
    assert(status < 500, `${lines}: ${status}`);
  }
  // More header fields than a script reads by default.
  const many = Array.from({ length: 120 }, (_, n) => `X-${n}: y`);
  for (const lines of [[...many, "Remote-Organization: forged", own], ["Authorization:", own]]) {
    const count = scene.received.length;
    const { status } = await sendRaw(scene.port, lines);
    if (status === 200) {
      assert.equal(scene.received.at(-1)?.headers["remote-organization"], customer.organizationId);
    } else assert.equal(scene.received.length, count);
  }
}

async function countsRequests(scene: KeyProxyScene): Promise<void> {
  const customer = await scene.newCustomer();
  for (let n = 0; n < 3; n++) await arrives(scene, [bearer(customer)]);
  const all = Array.from({ length: 20 }, () => sendRaw(scene.port, [bearer(customer)]));
  assert((await Promise.all(all)).every(({ status }) => status === 200));
  const expected = scene.proxy.metric === "bytes" ? 23 * "hello".length : 23;
  await poll(async () => await scene.usageOf(customer, scene.proxy.metric) >= expected);
  await isBlocked(scene, [`${bearer(customer)}x`]);
  assert.equal(await scene.usageOf(customer, scene.proxy.metric), expected);
}

async function limitsKeys(scene: KeyProxyScene): Promise<void> {
  const customer = await scene.newCustomer();
  const limit = { productSlug: "files", metric: scene.proxy.metric, per: "month", mode: "hard" };
  const change = (json: unknown) => scene.operate("PATCH", `api-keys/${customer.keyId}`, json);
  await change({ budget: [{ ...limit, quantity: 0 }] });
  const { status, head } = await isBlocked(scene, [bearer(customer)]);
  assert.equal(status, 429);
  const seconds = Number(/^retry-after: (\d+)\r?$/im.exec(head)?.[1]);
  assert(seconds > 0 && seconds <= 31 * 86_400, head);
  await change({ budget: [] });
  await arrives(scene, [bearer(customer)]);
}

async function checksAddresses(scene: KeyProxyScene): Promise<void> {
  const customer = await scene.newCustomer();
  await scene.operate("PATCH", `api-keys/${customer.keyId}`, { addresses: ["127.0.0.2"] });
  for (const lines of [[], ["X-Forwarded-For: 127.0.0.2"]]) {
    const { status } = await isBlocked(scene, [bearer(customer), ...lines]);
    assert(status === 401 || status === 403, String(status));
  }
  assert.equal((await sendRaw(scene.port, [bearer(customer)], { from: "127.0.0.2" })).status, 200);
}

async function rejectsRevokedKeys(scene: KeyProxyScene): Promise<void> {
  const customer = await scene.newCustomer();
  await arrives(scene, [bearer(customer)]);
  await scene.operate("DELETE", `api-keys/${customer.keyId}`);
  assert.equal((await isBlocked(scene, [bearer(customer)])).status, 401);
  const suspended = await scene.newCustomer();
  await scene.operate("PATCH", `organizations/${suspended.organizationId}`, { status: "suspended" });
  assert.equal((await isBlocked(scene, [bearer(suspended)])).status, 403);
}

async function failsClosed(scene: KeyProxyScene): Promise<void> {
  const customer = await scene.newCustomer();
  await killProgram(scene.program);
  const { status, head } = await isBlocked(scene, [bearer(customer)]);
  assert.equal(status, 503);
  assert.match(head, /^retry-after: \d+\r?$/im);
}
