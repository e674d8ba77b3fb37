// Another process holds the write lock of the data file: writes wait or return 503 in time, reads never wait, and no
// acknowledged record is lost, even by a kill afterwards.
import assert from "node:assert/strict";
import { type HeldLock, holdLock } from "../support/database/held_lock.ts";
import { Ledger } from "../support/meter/ledger.ts";
import { sendRequest, signUpForLoad, startLoad } from "../support/meter/load.ts";
import { isFull } from "../support/runner/extent.ts";
import { poll } from "../support/runner/poll.ts";
import { assertReadsWork, killAndCheck } from "../support/process/ledger_scene.ts";
import { httpThreads, withThreadCounts } from "../support/process/program.ts";
import { onServer } from "../support/process/scene.ts";
import { faultRandom } from "../support/runner/random.ts";
import { untilReadiness } from "../support/process/threads.ts";

/** A server with some acknowledged usage, and the ledger of it. */
interface LockScene {
  /** Takes the lock (see {@linkcode holdLock}). */
  hold(): HeldLock;
  readonly ledger: Ledger;
  readonly baseUrl: string;
  readonly threads: number;
  /** Sends new single records and batches at the same time. @returns For each, whether it succeeded. */
  record(singles: number, batches?: number): Promise<boolean>[];
  /** Reads some times in sequence. */
  reads(): Promise<void>;
}

function onLockedFile(HTTP_THREADS: string, test: (scene: LockScene) => Promise<void>): Promise<void> {
  const random = faultRandom("held_lock_test.ts");
  const env = { API_KEY_REQUESTS_PER_SECOND: "0", LOG_LEVEL: "error", HTTP_THREADS };
  return onServer({ env }, async (scene) => {
    const { baseUrl, path } = scene;
    const { apiKeys, cookie } = await signUpForLoad(baseUrl);
    const ledger = new Ledger({ random, apiKeys });
    const send = (request: Parameters<typeof sendRequest>[1]["request"]) =>
      sendRequest(baseUrl, { request, ledger });
    const before = startLoad({ ledger, random, targets: [baseUrl] });
    await poll(() => ledger.answered > 50);
    await before.stop();
    let lock: HeldLock | undefined;
    try {
      await test({
        hold: () => lock = holdLock(path),
        ledger,
        baseUrl,
        threads: Number(HTTP_THREADS),
        record: (singles, batches = 0) => [
          ...Array.from({ length: singles }, () => send(ledger.newSingle())),
          ...Array.from({ length: batches }, () => send(ledger.newBatch(20))),
        ],
        async reads() {
          for (let n = 0; n < 3; n++) await assertReadsWork(baseUrl, { cookie, apiKeys });
        },
      });
    } finally {
      lock?.release();
    }
    await killAndCheck(scene, ledger);
  });
}

/** Writes wait for the lock, but reads don't. */
async function waitsShortly({ hold, record, reads }: LockScene): Promise<void> {
  const lock = hold();
  const responses = record(40, 5);
  let isFirstAnswered = false;
  Promise.any(responses).then(() => isFirstAnswered = true);
  await reads();
  assert.equal(isFirstAnswered, false, "a write was acknowledged or rejected while the lock was held");
  lock.release();
  assert((await Promise.all(responses)).every((isAnswered) => isAnswered), "a delayed write was rejected");
}

/** Writes are rejected in time, and resume. */
async function rejectsInTime(scene: LockScene): Promise<void> {
  const { hold, baseUrl, threads, ledger, record, reads } = scene;
  const lock = hold();
  const startedAt = performance.now();
  const rejected = record(40, 5).map(async (isAnswered) => {
    assert.equal(await isAnswered, false, "acknowledged while another process held the lock");
    return performance.now() - startedAt;
  });
  await reads();
  // Requests queued behind the waiting group don't wait for the full timeout again.
  const tookMs = await Promise.all(rejected);
  const [first, last] = [Math.min(...tookMs), Math.max(...tookMs)];
  assert(last < 2 * first, `the first rejection took ${first} ms, the last one ${last} ms`);
  await reads();
  await untilReadiness(baseUrl, { threads, reason: "database_locked" });
  const delayed = record(20, 5);
  lock.release();
  await untilReadiness(baseUrl, { threads, reason: null });
  assert((await Promise.all(delayed)).every((isAnswered) => isAnswered), "writes didn't resume");
  // Resend the rejected records with the same keys, together with new ones.
  const repeated = ledger.unanswered.splice(0);
  assert(repeated.length > 10);
  const again = repeated.map((request) => sendRequest(baseUrl, { request, ledger }));
  assert((await Promise.all([...again, ...record(20, 5)])).every((isAnswered) => isAnswered));
}

const counts = isFull ? httpThreads : ["2"];
Deno.test(`HTTP_THREADS=${counts.join(", ")}: while another process holds the lock of the data file, reads go on and a kill loses nothing`, async (t) => {
  await withThreadCounts(counts, (count) =>
    onLockedFile(count, async (scene) => {
      const steps = {
        "delays writes while another process holds the lock for a short time": waitsShortly,
        "returns 503 for writes that wait too long for the lock, then resumes": rejectsInTime,
      };
      for (const [name, fn] of Object.entries(steps)) {
        const step = { name: `${count} threads: ${name}`, fn: () => fn(scene) };
        await t.step({ ...step, sanitizeOps: false, sanitizeResources: false, sanitizeExit: false });
      }
    }));
});
