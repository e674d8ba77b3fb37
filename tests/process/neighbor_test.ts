// One organization floods the recorder, and all records of another organization are still accepted.
import assert from "node:assert/strict";
import { generateApiKey } from "../../domain/keys/api_key.ts";
import { usageBatchRecordsMax } from "../../domain/limits.ts";
import { cookieOf, testPassword } from "../support/app/app.ts";
import { sendJson } from "../support/process/journey.ts";
import { post } from "../support/meter/load.ts";
import { poll } from "../support/runner/poll.ts";
import { repeats } from "../support/runner/extent.ts";
import { onServer } from "../support/process/scene.ts";

/** Each thread has a part of the flood. With more threads, the flood must be larger to fill their queues. */
const threads = repeats({ quick: 1, full: 2 });
const floodConnections = 60 * threads;
const neighborClients = repeats({ quick: 4, full: 8 });
const batchesOfEachClient = repeats({ quick: 2, full: 5 });

/** How a flood picks the API key and the idempotency keys of each batch. */
interface Flood {
  readonly apiKey: (apiKeys: readonly string[], request: number) => string;
  /** True if all batches have different idempotency keys. Otherwise, all records have the same one. */
  readonly isDistinct?: boolean;
  /** The status of rejected requests. Proves that the flood was large enough. */
  readonly rejection: number;
}

const one = ([apiKey = ""]: readonly string[]) => apiKey;
const floods: Readonly<Record<string, Flood>> = {
  "one idempotency key": { apiKey: one, rejection: 503 },
  "one idempotency key under as many API keys as an organization can have": {
    apiKey: (apiKeys, request) => apiKeys[request % apiKeys.length] ?? "",
    rejection: 503,
  },
  "distinct idempotency keys": { apiKey: one, isDistinct: true, rejection: 503 },
  "API keys that do not exist": { apiKey: () => generateApiKey().fullKey, rejection: 401 },
};

/** The body of a flood's batches. “REQUEST” stands for the number of the request. */
const batch = JSON.stringify({
  records: Array.from({ length: usageBatchRecordsMax }, (_, record) => ({
    ...{ productSlug: "flood", metric: "requests", quantity: 1 },
    idempotencyKey: `REQUEST-${record}`,
  })),
});
const sameKeys = batch.replaceAll(/REQUEST-\d+/g, "same");

async function newKeys(
  baseUrl: string,
  { email, count }: { email: string; count: number },
): Promise<string[]> {
  const signUp = await sendJson(baseUrl, "/api/auth/sign-up", {
    json: { name: "Ada", email, password: testPassword },
  });
  assert.equal(signUp.status, 201, await signUp.text());
  const cookie = cookieOf(signUp);
  const apiKeys: string[] = [];
  for (let n = 0; n < count; n++) {
    const created = await sendJson(baseUrl, "/api/portal/api-keys", { cookie, json: { name: `Key ${n}` } });
    apiKeys.push((await created.json()).fullKey);
  }
  return apiKeys;
}

/** Sends batches over many connections until it is stopped. */
function startFlood(baseUrl: string, { apiKey, isDistinct = false }: Flood, apiKeys: readonly string[]) {
  const statuses = new Map<number, number>();
  let isRunning = true;
  let requests = 0;
  const clients = Array.from({ length: floodConnections }, async () => {
    while (isRunning) {
      const request = requests++;
      const response = await fetch(`${baseUrl}/api/v1/usage/batch`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${apiKey(apiKeys, request)}`,
          "content-type": "application/json",
          // From many addresses, so that the rate limit of invalid keys per address doesn't stop it.
          "x-forwarded-for": `10.0.${(request >> 8) & 255}.${request & 255}`,
        },
        body: isDistinct ? batch.replaceAll("REQUEST", String(request)) : sameKeys,
      }).catch(() => null);
      await response?.body?.cancel();
      const status = response?.status ?? 0;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  });
  return {
    statuses,
    async stop() {
      isRunning = false;
      await Promise.all(clients);
    },
  };
}

/** Sends batches of the same size, because a full queue may have room for a small one. @returns Those that were rejected. */
async function recordBesides(baseUrl: string, apiKey: string): Promise<unknown[]> {
  const record = { productSlug: "quiet", metric: "requests", quantity: 1 };
  const json = { records: Array.from({ length: usageBatchRecordsMax }, () => record) };
  const clients = Array.from({ length: neighborClients }, async () => {
    const responses: unknown[] = [];
    for (let n = 0; n < batchesOfEachClient; n++) {
      const response = await post(baseUrl, { path: "/api/v1/usage/batch", apiKey, json });
      if (response?.status !== 201) responses.push(response);
    }
    return responses;
  });
  return (await Promise.all(clients)).flat();
}

Deno.test("accepts all records of a neighbor during a flood", (t) => {
  const env = {
    API_KEY_REQUESTS_PER_SECOND: "0",
    TRUSTED_PROXIES: "127.0.0.1, ::1",
    LOG_LEVEL: "error",
    HTTP_THREADS: String(threads),
  };
  return onServer({ env }, async ({ baseUrl }) => {
    const loudKeys = await newKeys(baseUrl, { email: "loud@example.com", count: 100 });
    const [quietKey = ""] = await newKeys(baseUrl, { email: "quiet@example.com", count: 1 });
    for (const [name, flood] of Object.entries(floods)) {
      await t.step(`with ${name}`, async () => {
        const load = startFlood(baseUrl, flood, loudKeys);
        try {
          await poll(() => load.statuses.has(flood.rejection));
          assert.deepEqual(await recordBesides(baseUrl, quietKey), []);
          assert.ok(!load.statuses.has(0), "the server closed a connection");
        } finally {
          await load.stop();
        }
      });
    }
    const stored = await sendJson(baseUrl, "/api/v1/usage?window=month", { apiKey: quietKey });
    const { data } = await stored.json();
    const batches = Object.keys(floods).length * neighborClients * batchesOfEachClient;
    assert.equal(data[0].count, batches * usageBatchRecordsMax);
  });
});
