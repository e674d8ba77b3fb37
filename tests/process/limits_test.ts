// Limits with several HTTP threads: they count together, so connections to different threads get no more than the limit.
import assert from "node:assert/strict";
import { rejectedApiKeysPerMinuteMax } from "../../domain/limits.ts";
import { signUpAndRecord } from "../support/process/journey.ts";
import { poll } from "../support/runner/poll.ts";
import { isReady, killProgram, type Program, startProgram } from "../support/process/program.ts";
import { requestsByThread, sendOnce, sendToAll } from "../support/process/threads.ts";

const threads = 4;
const perSecond = 8;

function serverTest(
  name: string,
  env: Readonly<Record<string, string>>,
  run: (program: Program) => Promise<void>,
): void {
  Deno.test(name, async () => {
    const folder = await Deno.makeTempDir({ prefix: "gatehouse-limits-" });
    const program = startProgram({ folder, env: { HTTP_THREADS: String(threads), ...env } });
    try {
      await isReady(program);
      await run(program);
    } finally {
      await killProgram(program);
      await Deno.remove(folder, { recursive: true });
    }
  });
}

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

serverTest(
  "four threads together allow exactly a key's requests per second",
  { API_KEY_REQUESTS_PER_SECOND: String(perSecond) },
  async (program) => {
    const { fullKey } = await signUpAndRecord(program.baseUrl);
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
  },
);

serverTest("four threads together allow exactly an address's rejected keys", {}, async (program) => {
  const { fullKey } = await signUpAndRecord(program.baseUrl);
  const path = "/api/v1/usage?window=month";
  const wrongKey = { authorization: `Bearer ${fullKey.slice(0, -1)}${fullKey.endsWith("0") ? "1" : "0"}` };
  const statuses = await statusesOf(program, path, {
    count: rejectedApiKeysPerMinuteMax + 20,
    headers: wrongKey,
  });
  assert.deepEqual(countEach(statuses), { 401: rejectedApiKeysPerMinuteMax, 429: 20 });
  const rightKey = { authorization: `Bearer ${fullKey}` };
  assert.deepEqual(await statusesOf(program, path, { count: 1, headers: rightKey }), [200]);
});

serverTest("four threads together warn once", {}, async (program) => {
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
});
