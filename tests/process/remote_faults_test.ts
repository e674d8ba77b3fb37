// The remote database is unreachable, slow, or loses responses: requests get a 503 in time, concurrency stays bounded,
// no record is stored twice, and the service recovers quickly.
import assert from "node:assert/strict";
import { databaseWritesWaitingMax, remoteRequestTimeoutMs } from "../../domain/limits.ts";
import { type Answer, post, signUpForLoad } from "../support/meter/load.ts";
import { isFull } from "../support/runner/extent.ts";
import { poll } from "../support/runner/poll.ts";
import { httpThreads, withThreadCounts } from "../support/process/program.ts";
import { onServer } from "../support/process/scene.ts";
import { sqldMissing, startSqld } from "../support/database/sqld.ts";
import { storedAtServer, type StoredUsage } from "../support/meter/stored_usage.ts";
import { startTcpProxy, type TcpProxy } from "../support/network/tcp_proxy.ts";

const counts = isFull ? httpThreads : ["2"];
/** Limit of connections of each thread, for reads and writes together. */
const connectionsMax = 2 * 64;

/** The program, with a TCP proxy between it and a libSQL server. */
interface Service {
  readonly baseUrl: string;
  readonly threads: number;
  readonly apiKey: string;
  readonly cookie: string;
  readonly proxy: TcpProxy;
  readonly stored: StoredUsage;
  record(more?: { idempotencyKey?: string; metric?: string }): Promise<Answer>;
  /** @returns The number of stored records of a metric. */
  storedOf(metric: string): Promise<number>;
}

async function withService(HTTP_THREADS: string, test: (service: Service) => Promise<void>): Promise<void> {
  const server = await startSqld();
  const proxy = startTcpProxy({ targetPort: Number(new URL(server.url).port) });
  const env = { API_KEY_REQUESTS_PER_SECOND: "0", LOG_LEVEL: "error", HTTP_THREADS, DATABASE_URL: proxy.url };
  const stored = storedAtServer(server.url);
  try {
    await onServer({ env }, async ({ baseUrl }) => {
      const { apiKeys: [apiKey = ""], cookie } = await signUpForLoad(baseUrl);
      await test({
        baseUrl,
        threads: Number(HTTP_THREADS),
        apiKey,
        cookie,
        proxy,
        stored,
        async record(more = {}) {
          const json = { productSlug: "tiles", metric: "requests", quantity: 1, ...more };
          const response = await post(baseUrl, { path: "/api/v1/usage", apiKey, json });
          assert(response !== null, "the program didn't respond");
          return response;
        },
        async storedOf(metric) {
          const [row] = await stored.read(
            `SELECT count(*) AS count, (SELECT coalesce(sum(c.count), 0) FROM usage_rollups c WHERE c.series = s.id) AS rolled_up
             FROM usage_series s JOIN usage_records r ON r.series = s.id WHERE s.metric = '${metric}'`,
          );
          assert.equal(row?.["count"], row?.["rolled_up"] ?? 0);
          return Number(row?.["count"]);
        },
      });
    });
  } finally {
    await stored.close();
    await proxy.close();
    await server.stop();
  }
}

function isUnavailable(response: Answer): void {
  assert.equal(response.status, 503, response.text);
  assert.equal(JSON.parse(response.text).error.code, "unavailable");
  assert.match(response.retryAfter ?? "", /^\d+$/);
}

async function worksAgain(service: Service): Promise<void> {
  await poll(async () => (await service.record({ metric: "again" })).status === 201);
}

async function findsRepeats(service: Service): Promise<void> {
  const { proxy } = service;
  for (let n = 0; n < 5; n++) {
    proxy.loseAnswers({ count: 1, toRequestsWith: "INSERT INTO usage_records" });
    isUnavailable(await service.record({ metric: "keyed", idempotencyKey: `key ${n}` }));
    assert.equal(proxy.answersToLose, 0);
    const repeat = await service.record({ metric: "keyed", idempotencyKey: `key ${n}` });
    assert.equal(repeat.status, 200, repeat.text);
    assert.equal(JSON.parse(repeat.text).duplicate, true);
    assert.equal(await service.storedOf("keyed"), n + 1);
  }
}

async function neverResends(service: Service): Promise<void> {
  const { proxy } = service;
  for (let n = 0; n < 5; n++) {
    proxy.loseAnswers({ count: 1, toRequestsWith: "INSERT INTO usage_records" });
    isUnavailable(await service.record({ metric: "keyless" }));
    assert.equal(proxy.answersToLose, 0);
    assert.equal(await service.storedOf("keyless"), n + 1);
  }
  assert.equal((await service.record({ metric: "keyless" })).status, 201);
  assert.equal(await service.storedOf("keyless"), 6);
}

/** Requests that read the database. */
function reads(service: Service, count: number): Promise<Answer>[] {
  const { baseUrl, cookie, apiKey } = service;
  return Array.from({ length: count }, async (_, n) => {
    const response = n % 2 === 0
      ? await fetch(`${baseUrl}/api/auth/me`, { headers: { cookie } })
      : await fetch(`${baseUrl}/api/v1/usage`, { headers: { authorization: `Bearer ${apiKey}` } });
    return {
      status: response.status,
      text: await response.text(),
      retryAfter: response.headers.get("Retry-After"),
    };
  });
}

async function rejectsImmediately(service: Service): Promise<void> {
  const { proxy, baseUrl } = service;
  proxy.cut();
  for (let n = 0; n < 3; n++) {
    const startedAt = performance.now();
    const writes = Array.from(
      { length: 50 },
      (_, k) => service.record({ metric: "down", idempotencyKey: `down ${n} ${k}` }),
    );
    for (const response of await Promise.all([...writes, ...reads(service, 50)])) isUnavailable(response);
    assert(performance.now() - startedAt < remoteRequestTimeoutMs / 2);
    const ready = await fetch(`${baseUrl}/health/ready`);
    await ready.body?.cancel();
    assert.equal(ready.status, 503);
  }
  assert.equal(await service.storedOf("down"), 0);
  proxy.restore();
  await worksAgain(service);
}

Deno.test({
  name: `HTTP_THREADS=${counts.join(", ")}: a remote database that loses responses or is unreachable`,
  ignore: sqldMissing() !== null,
  fn: (t) =>
    withThreadCounts(counts, (count) =>
      withService(count, async (service) => {
        const step = (name: string, run: (service: Service) => Promise<void>) =>
          t.step({
            ...{ name: `${count} threads: ${name}`, fn: () => run(service) },
            ...{ sanitizeOps: false, sanitizeResources: false, sanitizeExit: false },
          });
        await step(
          "returns 503 if the database's response is lost after the commit, and a repeat finds the record",
          findsRepeats,
        );
        await step("never resends a record without an idempotency key after a lost response", neverResends);
        await step("returns 503 immediately while the database is unreachable", rejectsImmediately);
      })),
});

async function waitUpToTheTimeout(service: Service): Promise<void> {
  const { proxy, threads } = service;
  // A round trip of 5 seconds is within the timeout.
  proxy.setDelay(2_500);
  const inTime = await Promise.all([service.record({ metric: "slow" }), ...reads(service, 1)]);
  assert.deepEqual(inTime.map(({ status }) => status), [201, 200]);
  // A round trip of 10 seconds exceeds it.
  proxy.setDelay(5_000);
  const keys = Array.from({ length: 40 }, (_, n) => `slow ${n}`);
  const write = (idempotencyKey: string) => service.record({ metric: "late", idempotencyKey });
  const startedAt = performance.now();
  for (const answer of await Promise.all([...keys.map(write), ...reads(service, 200)])) {
    isUnavailable(answer);
  }
  const tookMs = performance.now() - startedAt;
  assert(tookMs < 2 * remoteRequestTimeoutMs, `the last response took ${tookMs} ms`);
  assert(proxy.openConnectionsMax <= threads * connectionsMax, `${proxy.openConnectionsMax} connections`);
  proxy.setDelay(0);
  await worksAgain(service);
  for (const answer of await Promise.all(keys.map(write))) {
    assert([200, 201].includes(answer.status), answer.text);
  }
  assert.equal(await service.storedOf("late"), keys.length);
}

async function limitWaitingRequests(service: Service): Promise<void> {
  const { proxy, baseUrl } = service;
  proxy.setDelay(5_000);
  let late = 0;
  const flood = reads(service, databaseWritesWaitingMax + 200).map(async (response) => {
    isUnavailable(await response);
    late++;
  });
  // Requests beyond the limit get a 503 immediately, and those that need no database stay fast.
  await Promise.race(flood);
  await (await fetch(`${baseUrl}/health/live`)).body?.cancel();
  assert(late <= 250, `${late} requests were rejected`);
  await Promise.all(flood);
  assert(proxy.openConnectionsMax <= connectionsMax, `${proxy.openConnectionsMax} connections`);
  proxy.setDelay(0);
  await worksAgain(service);
}

Deno.test({
  name:
    "waits for a slow database up to the timeout, returns 503 beyond it, and limits connections and waiting requests",
  ignore: sqldMissing() !== null,
  // The limit is for each thread, and the system chooses the thread of a connection. All wait most of the time.
  fn: () =>
    withThreadCounts(
      ["1", ...counts],
      (count) => withService(count, count === "1" ? limitWaitingRequests : waitUpToTheTimeout),
    ),
});
