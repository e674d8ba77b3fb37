// Tests SIGTERM under load: accepted requests complete, /health/ready turns 503, and a client that hangs doesn't delay
// others.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { type Connection, connectTo, requestText } from "../../support/network/connection.ts";
import { sendJson } from "../../support/process/journey.ts";
import { post, signUpForLoad } from "../../support/meter/load.ts";
import { changeDataFile } from "../../support/operators/operators.ts";
import { poll } from "../../support/runner/poll.ts";
import { isReady, killProgram, type Program, startProgram } from "../../support/process/program.ts";
import { sqldMissing, startSqld } from "../../support/database/sqld.ts";
import { storedAtServer } from "../../support/meter/stored_usage.ts";
import { startTcpProxy } from "../../support/network/tcp_proxy.ts";
import { sendOnce } from "../../support/process/threads.ts";

const env = { API_KEY_REQUESTS_PER_SECOND: "0" };
/** Time before service managers kill a process. */
const endMsMax = 10_000;

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

async function endsInTime(program: Program): Promise<void> {
  let status: number | undefined;
  program.ended().then((code) => status = code);
  await poll(() => status !== undefined, endMsMax);
  assert.equal(status, 0, program.output());
}

async function stopsUnderLoad(threads: number): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-shutdown-" });
  const withThreads = { ...env, HTTP_THREADS: String(threads) };
  let program = startProgram({ folder, env: withThreads });
  const connections: Connection[] = [];
  try {
    await isReady(program);
    const { baseUrl } = program;
    const { apiKeys: [apiKey = ""] } = await signUpForLoad(baseUrl);
    let acknowledged = 0;
    let isStopping = false;
    const senders = Array.from({ length: 16 }, async () => {
      for (;;) {
        const response = await post(baseUrl, { path: "/api/v1/usage", apiKey, json: record });
        if (response?.status === 201) acknowledged++;
        else {
          assert(
            isStopping && (response === null || response.status === 503),
            `${response?.status} ${response?.text}`,
          );
          return;
        }
      }
    });
    await poll(() => acknowledged > 100);
    const slow = await connectTo(baseUrl, recordText(apiKey, 10));
    const ready = await connectTo(baseUrl, requestText("GET", "/health/ready"));
    connections.push(slow, ready);
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
    acknowledged++;
    await endsInTime(program);
    assert.doesNotMatch(program.output(), /did not end in time/);
    program = startProgram({ folder, env: withThreads });
    await isReady(program);
    const path = "/api/v1/usage?window=month&metric=shutdown";
    const { data: [row] } = await (await sendJson(program.baseUrl, path, { apiKey })).json();
    assert.equal(row.count, acknowledged);
  } finally {
    for (const connection of connections) connection.close();
    await killProgram(program);
    await Deno.remove(folder, { recursive: true });
  }
}

for (const threads of [1, 2, 4]) {
  Deno.test(`HTTP_THREADS=${threads}: on SIGTERM under load, acknowledges and stores all accepted records, and /health/ready turns 503`, () =>
    stopsUnderLoad(threads));
}

Deno.test("records what was sent before SIGTERM although earlier usage must be added up for a limit", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-shutdown-" });
  const withThreads = { ...env, HTTP_THREADS: "2" };
  let program = startProgram({ folder, env: withThreads });
  let connections: Connection[] = [];
  try {
    await isReady(program);
    const { baseUrl } = program;
    const { apiKeys: [apiKey = ""] } = await signUpForLoad(baseUrl);
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
    connections = await Promise.all(Array.from({ length: 400 }, (_, n) => {
      const timestamp = new Date(now - n * 3_600_000).toISOString();
      return connectTo(baseUrl, recordText(apiKey, Infinity, { timestamp }));
    }));
    program.kill("SIGTERM");
    await endsInTime(program);
    const statuses = connections.map(({ received }) => received().slice(0, 12));
    assert.deepEqual(statuses, statuses.map(() => "HTTP/1.1 201"), program.output());
    program = startProgram({ folder, env: withThreads });
    await isReady(program);
    const path = "/api/v1/usage?window=total";
    const { data: [row] } = await (await sendJson(program.baseUrl, path, { apiKey })).json();
    assert.equal(row.count, connections.length + 1);
  } finally {
    for (const connection of connections) connection.close();
    await killProgram(program);
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test({
  name: "acknowledges and stores records on their way to the database even if a client hangs",
  ignore: sqldMissing() !== null,
  fn: async () => {
    const folder = await Deno.makeTempDir({ prefix: "gatehouse-shutdown-" });
    const server = await startSqld();
    const proxy = startTcpProxy({ targetPort: Number(new URL(server.url).port) });
    // Each thread has its own cache of keys.
    const program = startProgram({
      folder,
      env: { ...env, DATABASE_URL: proxy.url, HTTP_THREADS: "1" },
    });
    const connections: Connection[] = [];
    try {
      await isReady(program);
      const { baseUrl } = program;
      const { apiKeys: [apiKey = ""] } = await signUpForLoad(baseUrl);
      // Put the key into the cache, because looking it up would take another 3 s with the delay.
      const remembered = await post(baseUrl, { path: "/api/v1/usage", apiKey, json: record });
      assert.equal(remembered?.status, 201);
      // The first records are one commit, and the others wait for the next: 6 s for both. That is longer than the wait for a
      // client that hangs, but shorter than a shutdown may take.
      proxy.setDelay(1_500);
      connections.push(await connectTo(baseUrl, recordText(apiKey, 10)));
      const waiting = await Promise.all(
        Array.from({ length: 20 }, () => connectTo(baseUrl, recordText(apiKey))),
      );
      connections.push(...waiting);
      // Once these respond, the server has read the requests before them.
      for (let count = 0; count < 3; count++) await sendJson(baseUrl, "/health/live", {});
      program.kill("SIGTERM");
      await endsInTime(program);
      for (const { received } of waiting) assert.match(received(), /^HTTP\/1\.1 201 /, program.output());
      assert.match(program.output(), /some connections did not end in time/);
      const stored = storedAtServer(server.url);
      const [row] = await stored.read("SELECT count(*) AS count FROM usage_records");
      await stored.close();
      assert.equal(row?.["count"], waiting.length + 1);
    } finally {
      for (const connection of connections) connection.close();
      await killProgram(program);
      await proxy.close();
      await server.stop();
      await Deno.remove(folder, { recursive: true });
    }
  },
});
