// One organization floods the recorder, and all records of another organization are still accepted.
import assert from "node:assert/strict";
import { generateApiKey } from "../../../domain/api_key.ts";
import { usageBatchRecordsMax } from "../../../domain/limits.ts";
import { cookieOf, testPassword } from "../../support/app/app.ts";
import { sendJson } from "../../support/process/journey.ts";
import { type Answer, post } from "../../support/meter/load.ts";
import { poll } from "../../support/runner/poll.ts";
import { isReady, killProgram, type Program, startProgram } from "../../support/process/program.ts";

const floodConnections = 120;
const neighborClients = 8;
const recordsOfEachClient = 5;

/** How a flood picks the API key and the idempotency keys of each batch. */
interface Flood {
  readonly name: string;
  readonly apiKey: (apiKeys: readonly string[], request: number) => string;
  readonly idempotencyKey: (request: number, record: number) => string;
  /** The status of rejected requests. Proves that the flood was large enough. */
  readonly rejection: number;
}

const env = {
  API_KEY_REQUESTS_PER_SECOND: "0",
  TRUSTED_PROXIES: "127.0.0.1, ::1",
  LOG_LEVEL: "error",
  // Each thread has a part of the flood. With more threads, it would not fill their queues.
  HTTP_THREADS: "2",
};
const one = ([apiKey = ""]: readonly string[]) => apiKey;
const floods: readonly Flood[] = [
  { name: "one idempotency key", apiKey: one, idempotencyKey: () => "same", rejection: 503 },
  {
    name: "one idempotency key under as many API keys as an organization can have",
    apiKey: (apiKeys, request) => apiKeys[request % apiKeys.length] ?? "",
    idempotencyKey: () => "same",
    rejection: 503,
  },
  {
    name: "distinct idempotency keys",
    apiKey: one,
    idempotencyKey: (request, record) => `${request}-${record}`,
    rejection: 503,
  },
  {
    name: "API keys that do not exist",
    apiKey: () => generateApiKey().fullKey,
    idempotencyKey: () => "same",
    rejection: 401,
  },
];

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
function startFlood({ baseUrl }: Program, flood: Flood, apiKeys: readonly string[]) {
  const statuses = new Map<number, number>();
  let isRunning = true;
  let requests = 0;
  const clients = Array.from({ length: floodConnections }, async () => {
    while (isRunning) {
      const request = requests++;
      const records = Array.from({ length: usageBatchRecordsMax }, (_, record) => ({
        productSlug: "flood",
        metric: "requests",
        quantity: 1,
        idempotencyKey: flood.idempotencyKey(request, record),
      }));
      const apiKey = flood.apiKey(apiKeys, request);
      const response = await post(baseUrl, {
        path: "/api/v1/usage/batch",
        apiKey,
        json: { records },
        // From many addresses, so that the rate limit of invalid keys per address doesn't stop it.
        headers: { "X-Forwarded-For": `10.0.${(request >> 8) & 255}.${request & 255}` },
      });
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

/** @returns The statuses of the neighbor's requests, and the time of the slowest, in milliseconds. */
async function recordBesides(
  { baseUrl }: Program,
  apiKey: string,
): Promise<{ answers: (Answer | null)[]; waitMsMax: number }> {
  const responses: (Answer | null)[] = [];
  let waitMsMax = 0;
  await Promise.all(Array.from({ length: neighborClients }, async () => {
    for (let n = 0; n < recordsOfEachClient; n++) {
      const json = { productSlug: "quiet", metric: "requests", quantity: 1 };
      const startedAt = performance.now();
      responses.push(await post(baseUrl, { path: "/api/v1/usage", apiKey, json }));
      waitMsMax = Math.max(waitMsMax, performance.now() - startedAt);
    }
  }));
  return { answers: responses, waitMsMax };
}

for (const flood of floods) {
  Deno.test(`accepts all records of a neighbor during a flood with ${flood.name}`, async () => {
    const folder = await Deno.makeTempDir({ prefix: "gatehouse-neighbor-" });
    const program = startProgram({ folder, env });
    try {
      await isReady(program);
      const { baseUrl } = program;
      const loudKeys = await newKeys(baseUrl, { email: "loud@example.com", count: 100 });
      const [quietKey = ""] = await newKeys(baseUrl, { email: "quiet@example.com", count: 1 });
      const load = startFlood(program, flood, loudKeys);
      try {
        await poll(() => load.statuses.has(flood.rejection), 60_000);
        const { answers: responses, waitMsMax } = await recordBesides(program, quietKey);
        const rejected = responses.filter((response) => response?.status !== 201);
        const counts = [...load.statuses].map(([status, count]) => `${count} × ${status}`).join(", ");
        Deno.stdout.writeSync(new TextEncoder().encode(
          `flood with ${flood.name} (${counts}): ${rejected.length} of ${responses.length} records of a neighbor not taken, the longest wait ${
            Math.round(waitMsMax)
          } ms\n`,
        ));
        assert.deepEqual(rejected, []);
      } finally {
        await load.stop();
      }
      const { data } = await (await sendJson(baseUrl, "/api/v1/usage?window=month", { apiKey: quietKey }))
        .json();
      assert.equal(data[0].count, neighborClients * recordsOfEachClient);
    } finally {
      await killProgram(program);
      await Deno.remove(folder, { recursive: true });
    }
  });
}
