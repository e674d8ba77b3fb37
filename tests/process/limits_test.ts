// Limits with several HTTP threads: they count together, so connections to different threads get no more than the limit.
import assert from "node:assert/strict";
import { generateApiKey } from "../../domain/keys/api_key.ts";
import { addressFailuresMax, rejectedApiKeysPerMinuteMax } from "../../domain/limits.ts";
import { testPassword } from "../support/app/app.ts";
import { signUpAndRecord } from "../support/process/journey.ts";
import { poll } from "../support/runner/poll.ts";
import type { Program } from "../support/process/program.ts";
import { onServer } from "../support/process/scene.ts";
import { requestsByThread, sendOnce, sendToAll } from "../support/process/threads.ts";

const threads = 4;
const perSecond = 8;

/** Sends requests over as many new connections. @returns The responses' statuses. */
async function statusesOf(
  program: Program,
  path: string,
  { count, headers }: { count: number; headers: Readonly<Record<string, string>> },
): Promise<number[]> {
  const responses = Array.from({ length: count }, () => sendOnce(program.baseUrl, path, headers));
  return (await Promise.all(responses)).map((response) => Number(/^HTTP\/1\.1 (\d+)/.exec(response)?.[1]));
}

/** @returns How often each number occurs. */
function countEach(numbers: readonly number[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const number of numbers) counts[number] = (counts[number] ?? 0) + 1;
  return counts;
}

async function countsRequests(program: Program, fullKey: string): Promise<void> {
  const headers = { authorization: `Bearer ${fullKey}` };
  const path = "/api/v1/usage?window=month";
  let inOneWindow: number[] = [];
  await poll(async () => {
    const begin = performance.now();
    const first = await sendOnce(program.baseUrl, path, headers);
    // The first request of a window, which then lasts a second.
    if (!first.includes(`ratelimit: "key";r=${perSecond - 1};`)) return false;
    inOneWindow = await statusesOf(program, path, { count: 40, headers });
    return performance.now() - begin < 1_000;
  });
  assert.deepEqual(countEach(inOneWindow), { 200: perSecond - 1, 429: 41 - perSecond });
  const used = [...await requestsByThread(program.baseUrl)].filter(([, count]) => count > 0);
  assert(used.length > 1, "the requests reached several threads");
}

async function countsRejectedKeys(program: Program, fullKey: string): Promise<void> {
  const path = "/api/v1/usage?window=month";
  // Each is another one, because a key also has its requests per second.
  const sent = Array.from({ length: rejectedApiKeysPerMinuteMax + 20 }, () => {
    const headers = { authorization: `Bearer ${generateApiKey().fullKey}` };
    return statusesOf(program, path, { count: 1, headers });
  });
  const statuses = (await Promise.all(sent)).flat();
  assert.deepEqual(countEach(statuses), { 401: rejectedApiKeysPerMinuteMax, 429: 20 });
  const rightKey = { authorization: `Bearer ${fullKey}` };
  // The key may have used its requests of this second.
  await poll(async () => (await statusesOf(program, path, { count: 1, headers: rightKey }))[0] === 200);
}

async function countsFailures({ baseUrl }: Program): Promise<void> {
  const responses = await Promise.all(
    Array.from({ length: 4 * addressFailuresMax }, async (_, n) => {
      using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
      const body = JSON.stringify({ email: `nobody${n}@example.com`, password: testPassword });
      const headers = { origin: baseUrl, "content-type": "application/json" };
      const response = await fetch(`${baseUrl}/api/auth/sign-in`, { method: "POST", headers, body, client });
      await response.body?.cancel();
      return response.status;
    }),
  );
  assert.deepEqual(countEach(responses), { 401: addressFailuresMax, 429: 3 * addressFailuresMax });
}

async function warnsOnce(program: Program): Promise<void> {
  const origin = "https://app.example.com";
  const headers = { origin, "x-forwarded-for": "203.0.113.9" };
  await sendToAll(program.baseUrl, "/api/auth/me", { threads, headers });
  // The log is written in order, so it has every earlier warning once it has this one.
  await sendToAll(program.baseUrl, "/api/auth/me", {
    threads,
    headers: { origin: "https://last.example.com" },
  });
  await poll(() => program.output().includes("https://last.example.com"));
  const lines = program.output().split("\n").filter((line) => line.startsWith("{"));
  for (
    const part of [
      '"origin":"https://app.example.com"',
      "TRUSTED_PROXIES",
      '"origin":"https://last.example.com"',
    ]
  ) {
    assert.equal(lines.filter((line) => line.includes(part)).length, 1, part);
  }
}

Deno.test("four threads have one state of limits and warnings", (t) => {
  const env = { HTTP_THREADS: String(threads), API_KEY_REQUESTS_PER_SECOND: String(perSecond) };
  return onServer({ env }, async ({ program }) => {
    const { fullKey } = await signUpAndRecord(program.baseUrl);
    const step = (name: string, run: (program: Program, fullKey: string) => Promise<void>) =>
      t.step(`four threads together ${name}`, () => run(program, fullKey));
    await step("allow exactly a key's requests per second", countsRequests);
    await step("allow exactly an address's rejected keys", countsRejectedKeys);
    await step("allow exactly an address's failed sign-ins", countsFailures);
    await step("warn once", warnsOnce);
  });
});
