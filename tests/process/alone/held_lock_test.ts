// Another process holds the write lock of the data file: writes wait or return 503 in time, reads never wait, and no
// acknowledged record is lost, even by a kill afterwards.
import assert from "node:assert/strict";
import { databaseBusyTimeoutMs } from "../../../domain/limits.ts";
import { type HeldLock, holdLock } from "../../support/database/held_lock.ts";
import { Ledger } from "../../support/meter/ledger.ts";
import { repeatAll, sendRequest, signUpForLoad, startLoad } from "../../support/meter/load.ts";
import { poll } from "../../support/runner/poll.ts";
import {
  httpThreads,
  isReady,
  killProgram,
  startProgram,
  withThreadCounts,
} from "../../support/process/program.ts";
import { faultRandom } from "../../support/runner/random.ts";
import { untilReadiness } from "../../support/process/threads.ts";
import { checkAllUsage, storedInFile } from "../../support/meter/stored_usage.ts";

/** A server with some acknowledged usage, and the ledger of it. */
interface Scene {
  /** Lets another process take the lock (see {@linkcode holdLock}). */
  hold(): Promise<HeldLock>;
  readonly ledger: Ledger;
  readonly baseUrl: string;
  readonly threads: number;
  /** Sends new single records and batches at the same time. @returns For each, whether it succeeded. */
  record(singles: number, batches?: number): Promise<boolean>[];
  /** Reads 20 times in sequence, and asserts that the lock was held all the time. */
  readsMeanwhile(lock: HeldLock): Promise<void>;
}

async function inScene(
  HTTP_THREADS: string,
  test: (scene: Scene) => Promise<void>,
): Promise<void> {
  const random = faultRandom("held_lock_test.ts");
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-lock-" });
  const path = `${folder}/data/gatehouse.db`;
  const env = { API_KEY_REQUESTS_PER_SECOND: "0", LOG_LEVEL: "error", HTTP_THREADS };
  let program = startProgram({ folder, env });
  let lock: HeldLock | undefined;
  try {
    await isReady(program);
    const { baseUrl } = program;
    const { apiKeys, cookie } = await signUpForLoad(baseUrl);
    const ledger = new Ledger({ random, apiKeys });
    const send = (request: Parameters<typeof sendRequest>[1]["request"]) =>
      sendRequest(baseUrl, { request, ledger });
    const before = startLoad({ ledger, random, targets: [baseUrl] });
    await poll(() => ledger.answered > 50);
    await before.stop();
    await test({
      hold: async () => lock = await holdLock(path),
      ledger,
      baseUrl,
      threads: Number(HTTP_THREADS),
      record: (singles, batches = 0) => [
        ...Array.from({ length: singles }, () => send(ledger.newSingle())),
        ...Array.from({ length: batches }, () => send(ledger.newBatch(20))),
      ],
      async readsMeanwhile(lock) {
        for (let n = 0; n < 10; n++) {
          const me = await fetch(`${baseUrl}/api/auth/me`, { headers: { cookie } });
          assert.equal((await me.json()).authenticated, true);
          const headers = { authorization: `Bearer ${apiKeys[0]}` };
          const usage = await fetch(`${baseUrl}/api/v1/usage`, { headers });
          assert.equal(usage.status, 200);
          assert((await usage.json()).data.length > 0);
        }
        assert.equal(lock.isReleased, false, "the reads waited for the lock");
      },
    });
    assert.deepEqual(ledger.surprises, []);
    for (const again of [false, true]) {
      if (again) await repeatAll(program.baseUrl, ledger);
      await killProgram(program);
      const stored = await storedInFile(path);
      await checkAllUsage(stored, ledger);
      await stored.close();
      program = startProgram({ folder, env });
      await isReady(program);
    }
  } finally {
    await lock?.release();
    await killProgram(program);
    await Deno.remove(folder, { recursive: true });
  }
}

function lockTest(name: string, test: (scene: Scene) => Promise<void>): void {
  Deno.test(`HTTP_THREADS=${httpThreads.join(", ")}: ${name}`, () =>
    withThreadCounts(httpThreads, (count) => inScene(count, test)));
}

lockTest(
  "delays writes but not reads while another process holds the lock for a short time",
  async ({ hold, record, readsMeanwhile }) => {
    const lock = await hold();
    const responses = record(40, 5);
    let isFirstAnswered = false;
    Promise.any(responses).then(() => isFirstAnswered = true);
    await readsMeanwhile(lock);
    assert.equal(isFirstAnswered, false, "a write was acknowledged while another process held the lock");
    await lock.release();
    assert((await Promise.all(responses)).every((isAnswered) => isAnswered), "a delayed write was rejected");
  },
);

lockTest(
  "returns 503 for writes that wait too long for the lock, then resumes, and a kill loses nothing",
  async ({ hold, baseUrl, threads, ledger, record, readsMeanwhile }) => {
    const lock = await hold();
    const startedAt = performance.now();
    const refused = record(40, 5);
    await readsMeanwhile(lock);
    assert(
      (await Promise.all(refused)).every((isAnswered) => !isAnswered),
      "acknowledged while another process held the lock",
    );
    // Requests queued behind the waiting group don't wait for the full timeout again.
    const tookMs = performance.now() - startedAt;
    assert(tookMs < 2 * databaseBusyTimeoutMs, `the last rejection took ${tookMs} ms`);
    await readsMeanwhile(lock);
    await untilReadiness(baseUrl, { threads, reason: "database_locked" });
    const delayed = record(20, 5);
    await lock.release();
    await untilReadiness(baseUrl, { threads, reason: null });
    assert((await Promise.all(delayed)).every((isAnswered) => isAnswered), "writes didn't resume");
    // Resend the rejected records with the same keys, together with new ones.
    const repeats = ledger.unanswered.splice(0);
    assert(repeats.length > 10);
    const again = repeats.map((request) => sendRequest(baseUrl, { request, ledger }));
    assert((await Promise.all([...again, ...record(20, 5)])).every((isAnswered) => isAnswered));
  },
);
