// Tests SIGTERM under load: accepted requests complete, /health/ready turns 503, and a client that hangs doesn't delay
// others.
import assert from "node:assert/strict";
import { sql } from "../../db/engine/database.ts";
import { shutdownTimeoutMs } from "../../domain/limits.ts";
import { type Connection, connectTo, requestText } from "../support/network/connection.ts";
import { sendJson } from "../support/process/journey.ts";
import { post, signUpForLoad } from "../support/meter/load.ts";
import { changeDataFile } from "../support/operators/operators.ts";
import { isFull, repeats } from "../support/runner/extent.ts";
import { poll } from "../support/runner/poll.ts";
import { remoteTest } from "../support/process/remote.ts";
import { endsWith, onServer, type Scene, stop } from "../support/process/scene.ts";
import { storedAtServer, storedInFile, type StoredUsage } from "../support/meter/stored_usage.ts";
import { startTcpProxy } from "../support/network/tcp_proxy.ts";
import { sendOnce } from "../support/process/threads.ts";

const record = { productSlug: "tiles", metric: "shutdown", quantity: 1 };

/** A record in HTTP/1.1 wire format. @param sent How many characters of the body to send now. Default: all. @param more Its fields. */
function recordText(apiKey: string, sent = Infinity, more: object = {}): string {
  const body = JSON.stringify({ ...record, ...more });
  const headers = {
    authorization: `Bearer ${apiKey}`,
    "content-type": "application/json",
    "content-length": String(body.length),
  };
  return requestText("POST", "/api/v1/usage", { headers, body: body.slice(0, sent) });
}

/** A server with an API key, and connections that are closed at the end. */
interface LoadedScene extends Scene {
  readonly apiKey: string;
  open(text: string): Promise<Connection>;
}

function onLoadedServer(
  env: Readonly<Record<string, string>>,
  test: (scene: LoadedScene) => Promise<void>,
): Promise<void> {
  return onServer({ env: { API_KEY_REQUESTS_PER_SECOND: "0", ...env } }, async (scene) => {
    const { apiKeys: [apiKey = ""] } = await signUpForLoad(scene.baseUrl);
    const connections: Connection[] = [];
    const open = async (text: string) => {
      const connection = await connectTo(scene.baseUrl, text);
      connections.push(connection);
      return connection;
    };
    try {
      await test({ ...scene, apiKey, open });
    } finally {
      for (const connection of connections) connection.close();
    }
  });
}

async function isStored(stored: StoredUsage, count: number): Promise<void> {
  const [row] = await stored.read(
    `SELECT (SELECT count(*) FROM usage_records) AS records, sum(count) AS counted
     FROM usage_rollups WHERE series IN (SELECT series FROM usage_records)`,
  );
  await stored.close();
  assert.deepEqual({ ...row }, { records: count, counted: count });
}

async function stopsUnderLoad(
  { program, baseUrl, path, apiKey, open }: LoadedScene,
  threads: number,
): Promise<void> {
  let acknowledged = 0;
  let isStopping = false;
  const senders = Array.from({ length: 16 }, async () => {
    for (;;) {
      const response = await post(baseUrl, { path: "/api/v1/usage", apiKey, json: record });
      if (response?.status === 201) acknowledged++;
      else {
        const isExpected = isStopping && (response === null || response.status === 503);
        return assert(isExpected, `${response?.status} ${response?.text}`);
      }
    }
  });
  await poll(() => acknowledged > 100);
  const slow = await open(recordText(apiKey, 10));
  const ready = await open(requestText("GET", "/health/ready"));
  await poll(() => ready.received().includes('{"status":"ok"}'));
  isStopping = true;
  program.kill("SIGTERM");
  await poll(async () => {
    if (!ready.isClosed()) await ready.send(requestText("GET", "/health/ready")).catch(() => {});
    return ready.received().includes("HTTP/1.1 503 ") || ready.isClosed();
  });
  assert.match(ready.received(), /HTTP\/1\.1 503 [^]*\{"status":"unavailable","reason":"stopping"\}/);
  await Promise.all(senders);
  // New requests are rejected on every thread, but the request in progress continues.
  const late = Array.from({ length: 8 * threads }, () => sendOnce(baseUrl, "/health/live"));
  for (const response of await Promise.all(late)) assert.match(response, /^HTTP\/1\.1 503 /);
  assert.equal(slow.isClosed(), false, program.output());
  await slow.send(JSON.stringify(record).slice(10));
  await poll(() => slow.received() !== "" || slow.isClosed());
  assert.match(slow.received(), /^HTTP\/1\.1 201 /, program.output());
  await endsWith(program, 0);
  assert.doesNotMatch(program.output(), /did not end in time/);
  await isStored(await storedInFile(path), acknowledged + 1);
}

for (const threads of isFull ? [1, 2, 4] : [1, 2]) {
  Deno.test(`HTTP_THREADS=${threads}: on SIGTERM under load, acknowledges and stores all accepted records, and /health/ready turns 503`, () =>
    onLoadedServer({ HTTP_THREADS: String(threads) }, (scene) => stopsUnderLoad(scene, threads)));
}

Deno.test("records what was sent before SIGTERM although earlier usage must be added up for a limit", () =>
  onLoadedServer({ HTTP_THREADS: "2" }, async ({ program, baseUrl, folder, path, apiKey, open }) => {
    assert.equal((await post(baseUrl, { path: "/api/v1/usage", apiKey, json: record }))?.status, 201);
    changeDataFile(
      folder,
      sql`INSERT INTO usage_limits (id, plan, product_slug, metric, per, quantity_whole, quantity_micro, mode,
        created_seq, created_at)
      SELECT 'lim_stop', plan, '', '', 'hour', 100, 0, 'hard', c.seq, 1000 * unixepoch()
      FROM organizations CROSS JOIN usage_cursor c LIMIT 1`,
    );
    // Each is alone in its hour.
    const now = Date.now();
    const connections = await Promise.all(
      Array.from({ length: repeats({ quick: 200, full: 400 }) }, (_, n) => {
        const timestamp = new Date(now - n * 3_600_000).toISOString();
        return open(recordText(apiKey, Infinity, { timestamp }));
      }),
    );
    await stop(program);
    const statuses = connections.map(({ received }) => received().slice(0, 12));
    assert.deepEqual(statuses, statuses.map(() => "HTTP/1.1 201"), program.output());
    await isStored(await storedInFile(path), connections.length + 1);
  }));

remoteTest(
  "acknowledges and stores records on their way to the database even if a client hangs",
  async (server) => {
    const proxy = startTcpProxy({ targetPort: Number(new URL(server.url).port) });
    try {
      // Each thread has its own cache of keys.
      await onLoadedServer({ DATABASE_URL: proxy.url, HTTP_THREADS: "1" }, async (scene) => {
        const { program, baseUrl, apiKey, open } = scene;
        // Put the key into the cache, because looking it up would take another 2.6 s with the delay.
        const remembered = await post(baseUrl, { path: "/api/v1/usage", apiKey, json: record });
        assert.equal(remembered?.status, 201);
        // The first records are one commit, and the others wait for the next: 5.2 s for both. That is longer than the wait for
        // a client that hangs, but much shorter than a shutdown may take.
        proxy.setDelay(1_300);
        await open(recordText(apiKey, 10));
        const waiting = await Promise.all(Array.from({ length: 20 }, () => open(recordText(apiKey))));
        // Once these respond, the server has read the requests before them.
        for (let count = 0; count < 3; count++) await sendJson(baseUrl, "/health/live", {});
        const startedAt = performance.now();
        await stop(program);
        // Half as much again for a slow machine.
        assert(performance.now() - startedAt < 1.5 * shutdownTimeoutMs, program.output());
        for (const { received } of waiting) assert.match(received(), /^HTTP\/1\.1 201 /, program.output());
        assert.match(program.output(), /some connections did not end in time/);
        await isStored(storedAtServer(server.url), waiting.length + 1);
      });
    } finally {
      await proxy.close();
    }
  },
);
