// Runs nginx with the configuration in examples/nginx: requests hold usage, and settle it with what was delivered.
import assert from "node:assert/strict";
import type { Hold } from "../../packages/client/src/index.ts";
import { killProgram } from "../support/process/program.ts";
import { poll } from "../support/runner/poll.ts";
import {
  type KeyCustomer,
  keyProxy,
  type KeyProxyScene,
  sendRaw,
  withKeyProxy,
} from "../support/network/key_proxies.ts";

const promises: Readonly<Record<string, (scene: KeyProxyScene) => Promise<void>>> = {
  "a request holds the most that it may use, and settles its bytes and seconds": settlesResponses,
  "a request that finds no room beside others is rejected until they end": rejectsWithoutRoom,
  "a client that disconnects settles what was sent": settlesDisconnected,
  "an application that fails releases the hold, or settles what it sent": endsFailed,
  "an internal redirect takes no second hold": keepsHolds,
  "a location can require permissions, pass the key, and choose what to hold": obeysOptions,
  "parallel requests settle their exact sum": settlesParallel,
  "a request that ends while nginx is reloaded is settled": settlesAfterReload,
  "a request that ends while Gatehouse is down is settled later": settlesLater,
  "a hold that can't be settled before nginx stops is logged with its content": logsUnsettled,
};

/** The streams of the application that wait, by the name in their query. */
const waiting = new Map<string, ReadableStreamDefaultController>();

/** Responds with `bytes` bytes, and then does what the query says. */
function application({ url }: Request): Response {
  const { searchParams } = new URL(url);
  const [bytes, end, name] = [
    Number(searchParams.get("bytes")),
    searchParams.get("end"),
    searchParams.get("name"),
  ];
  if (end === "500") return new Response("failed", { status: 500 });
  if (end === "redirect") return new Response(null, { headers: { "X-Accel-Redirect": "/moved?bytes=1000" } });
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array(bytes));
      if (end === "wait") waiting.set(name ?? "", controller);
      else controller.close();
    },
  });
  return new Response(body);
}

const proxy = keyProxy("nginx");

Deno.test({
  name: "nginx holds and settles with the configuration in examples/",
  ignore: proxy.ignore,
  fn: (t) =>
    withKeyProxy(proxy, { application }, async (scene) => {
      for (const [name, run] of Object.entries(promises)) {
        await t.step({ name, fn: () => run(scene), sanitizeOps: false, sanitizeResources: false });
      }
    }),
});

/** Creates a customer, and functions that send requests of theirs and read what became of their holds. */
async function heldCustomer(scene: KeyProxyScene) {
  const { port, operate, usageOf } = scene;
  const customer = await scene.newCustomer();
  const lines = [`Authorization: Bearer ${customer.key}`];
  const holds = async (): Promise<Hold[]> =>
    (await operate("GET", `holds?organizationId=${customer.organizationId}`)).holds;
  return {
    customer,
    lines,
    holds,
    get: (path: string) => sendRaw(port, lines, { start: `GET ${path} HTTP/1.1` }),
    /** Waits until holds have ended. @returns Their states, the newest first. */
    async ended(count = 1): Promise<string[]> {
      await poll(async () => {
        const all = await holds();
        return all.length === count && all.every(({ status }) => status !== "active");
      });
      return (await holds()).map(({ status }) => status);
    },
    bytes: () => usageOf(customer, "bytes"),
    seconds: () => usageOf(customer, "seconds"),
  };
}

async function openStream({ port }: KeyProxyScene, { key }: KeyCustomer, bytes: number) {
  const name = crypto.randomUUID();
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const path = `/stream?bytes=${bytes}&end=wait&name=${name}`;
  const request = `GET ${path} HTTP/1.1\r\nHost: api.example.com\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  await connection.write(new TextEncoder().encode(request));
  const buffer = new Uint8Array(65_536);
  let text = "";
  const read = async () => {
    const count = await connection.read(buffer) ?? assert.fail("the response has ended");
    text += new TextDecoder("latin1").decode(buffer.subarray(0, count));
  };
  // The body is sent in chunks, each with its length.
  while (text.replaceAll(/[^\0]/g, "").length < bytes) await read();
  return {
    name,
    finish: async () => {
      waiting.get(name)?.close();
      while (!text.endsWith("\r\n0\r\n\r\n")) await read();
      connection.close();
    },
    /** The application breaks off its response. */
    breakOff: () => waiting.get(name)?.error(new Error("broken")),
    leave: () => connection.close(),
    /** All bytes of the body, with the lengths of chunks. */
    bodyBytes: () => text.length - text.indexOf("\r\n\r\n") - 4,
  };
}

async function settlesResponses(scene: KeyProxyScene): Promise<void> {
  const { customer, holds, ended, bytes, seconds } = await heldCustomer(scene);
  const began = Date.now();
  const stream = await openStream(scene, customer, 100_000);
  const [active] = await holds();
  assert.deepEqual([active?.status, active?.heldBy, active?.apiKeyId], [
    "active",
    "operator",
    customer.keyId,
  ]);
  assert.deepEqual(active?.records.map(({ metric, quantity }) => [metric, quantity]), [
    ["bytes", 10_000_000],
    ["seconds", 60],
  ]);
  await poll(() => Date.now() - began > 100);
  await stream.finish();
  assert.deepEqual(await ended(), ["settled"]);
  assert.equal(await bytes(), stream.bodyBytes());
  const took = await seconds();
  assert(took > 0 && took <= (Date.now() - began) / 1000 + 0.01, String(took));
  // The access log has the same numbers.
  const line = (await Deno.readTextFile(`${scene.folder}/api.log`)).split("\n").find((one) =>
    one.includes(active?.id ?? "?")
  );
  assert.match(line ?? "", new RegExp(` 200 ${stream.bodyBytes()} `));
  assert.equal(Number(line?.split(" ").at(-2)), took);
}

async function rejectsWithoutRoom(scene: KeyProxyScene): Promise<void> {
  const { customer, get, ended } = await heldCustomer(scene);
  const limit = { productSlug: "files", metric: "bytes", per: "month", mode: "hard", quantity: 15_000_000 };
  await scene.operate("PATCH", `api-keys/${customer.keyId}`, { budget: [limit] });
  const stream = await openStream(scene, customer, 1_000);
  const denied = await get("/file?bytes=1");
  assert.equal(denied.status, 429);
  const after = Number(/^retry-after: (\d+)\r?$/im.exec(denied.head)?.[1]);
  assert(after >= 1 && after <= 5, denied.head);
  const { error } = JSON.parse(denied.body);
  assert.deepEqual([error.code, error.details[0].held, error.details[0].used], [
    "limit_exceeded",
    10_000_000,
    0,
  ]);
  await stream.finish();
  assert.deepEqual(await ended(), ["settled"]);
  assert.equal((await get("/file?bytes=1")).status, 200);
  assert.deepEqual(await ended(2), ["settled", "settled"]);
}

async function settlesDisconnected(scene: KeyProxyScene): Promise<void> {
  const { customer, ended, bytes, seconds } = await heldCustomer(scene);
  const stream = await openStream(scene, customer, 100_000);
  stream.leave();
  assert.deepEqual(await ended(), ["settled"]);
  assert.equal(await bytes(), stream.bodyBytes());
  assert(await seconds() > 0);
}

async function endsFailed(scene: KeyProxyScene): Promise<void> {
  const { customer, get, ended, bytes } = await heldCustomer(scene);
  assert.equal((await get("/file?end=500")).status, 500);
  assert.deepEqual(await ended(), ["released"]);
  assert.equal((await get("/unreached/")).status, 502);
  assert.deepEqual(await ended(2), ["released", "released"]);
  const stream = await openStream(scene, customer, 5_000);
  stream.breakOff();
  assert.deepEqual(await ended(3), ["settled", "released", "released"]);
  assert.equal(await bytes(), stream.bodyBytes());
  stream.leave();
}

async function keepsHolds(scene: KeyProxyScene): Promise<void> {
  const { get, ended, bytes } = await heldCustomer(scene);
  const count = scene.received.length;
  assert.equal((await get("/file?end=redirect")).status, 200);
  assert.deepEqual(scene.received.slice(count).map(({ path }) => path), [
    "/file?end=redirect",
    "/moved?bytes=1000",
  ]);
  assert.deepEqual(await ended(), ["settled"]);
  assert(await bytes() >= 1_000);
}

async function obeysOptions(scene: KeyProxyScene): Promise<void> {
  const { customer, get, holds, ended, bytes, seconds } = await heldCustomer(scene);
  const denied = await get("/options/?bytes=1000");
  assert.deepEqual([denied.status, JSON.parse(denied.body).error.code], [403, "permission_missing"]);
  const permissions = ["files:read", "usage:read", "usage:write"];
  await scene.operate("PATCH", `api-keys/${customer.keyId}`, { permissions });
  assert.equal((await get("/options/?bytes=1000")).status, 200);
  assert.equal(scene.received.at(-1)?.headers["authorization"], `Bearer ${customer.key}`);
  assert.deepEqual(await ended(), ["settled"]);
  const [hold] = await holds();
  assert.deepEqual(hold?.records.map(({ metric }) => metric), ["bytes"]);
  assert.equal(Date.parse(hold?.expiresAt ?? "") - Date.parse(hold?.createdAt ?? ""), 5_000);
  assert(await bytes() >= 1_000);
  assert.equal(await seconds(), 0);
}

async function settlesParallel(scene: KeyProxyScene): Promise<void> {
  const { get, ended, bytes } = await heldCustomer(scene);
  const all = await Promise.all(Array.from({ length: 50 }, (_, n) => get(`/file?bytes=${1000 + n}`)));
  assert.deepEqual([...new Set(all.map(({ status }) => status))], [200]);
  assert.deepEqual([...new Set(await ended(50))], ["settled"]);
  assert.equal(await bytes(), all.reduce((sum, { body }) => sum + body.length, 0));
}

async function settlesAfterReload(scene: KeyProxyScene): Promise<void> {
  const { customer, get, ended, bytes } = await heldCustomer(scene);
  const stream = await openStream(scene, customer, 1_000);
  const pid = Number(await Deno.readTextFile(`${scene.folder}/pid`));
  const workers = async () =>
    (await Deno.readTextFile(`/proc/${pid}/task/${pid}/children`)).trim().split(" ");
  const old = await workers();
  Deno.kill(pid, "SIGHUP");
  // The worker of the stream stays until it has ended.
  await poll(async () => (await workers()).some((one) => !old.includes(one)));
  await poll(async () => (await workers()).filter((one) => old.includes(one)).length === 1);
  await stream.finish();
  assert.deepEqual(await ended(), ["settled"]);
  assert.equal(await bytes(), stream.bodyBytes());
  assert.equal((await get("/file?bytes=1")).status, 200);
  assert.deepEqual(await ended(2), ["settled", "settled"]);
}

async function settlesLater(scene: KeyProxyScene): Promise<void> {
  const { customer, get, holds, ended, bytes } = await heldCustomer(scene);
  const stream = await openStream(scene, customer, 1_000);
  await killProgram(scene.program);
  await stream.finish();
  assert.equal((await get("/file?bytes=1")).status, 503);
  await scene.restart();
  assert.deepEqual(await ended(), ["settled"]);
  assert.equal(await bytes(), stream.bodyBytes());
  assert.equal((await holds()).length, 1);
}

async function logsUnsettled(scene: KeyProxyScene): Promise<void> {
  const { customer, holds } = await heldCustomer(scene);
  const stream = await openStream(scene, customer, 1_000);
  const [hold] = await holds();
  await killProgram(scene.program);
  await stream.finish();
  // It waits for running requests, and removes the file when it ends.
  Deno.kill(Number(await Deno.readTextFile(`${scene.folder}/pid`)), "SIGQUIT");
  await poll(() => Deno.stat(`${scene.folder}/pid`).then(() => false, () => true));
  const log = await Deno.readTextFile(`${scene.folder}/error.log`);
  const line = log.split("\n").find((one) => one.includes(`the hold ${hold?.id} wasn't ended`)) ?? "";
  assert(line.includes('"metric":"bytes"') && line.includes(String(stream.bodyBytes())), log);
}
