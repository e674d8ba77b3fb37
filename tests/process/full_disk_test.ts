// Tests a full disk: writes and /health/ready return 503, reads continue, writes resume when there is space, and a kill loses nothing.
import assert from "node:assert/strict";
import { Connection } from "../../db/engine/connection.ts";
import { Ledger, type SentRequest } from "../support/meter/ledger.ts";
import { type LoadOptions, sendRequest, signUpForLoad, startLoad } from "../support/meter/load.ts";
import { poll } from "../support/runner/poll.ts";
import { assertReadsWork, killAndCheck } from "../support/process/ledger_scene.ts";
import { hasStarted, httpThreads, killProgram, type Program } from "../support/process/program.ts";
import { onServer } from "../support/process/scene.ts";
import { untilReadiness } from "../support/process/threads.ts";
import { isFull, repeats } from "../support/runner/extent.ts";
import { faultRandom, faultsTimeoutMs, type Random } from "../support/runner/random.ts";
import {
  limitFileSize,
  mayMount,
  mountSmallDisk,
  type SmallDisk,
  throughFileSizeLimit,
} from "../support/database/small_disk.ts";

/** The numbers of threads of one start after the other. */
const counts: readonly string[] = isFull ? httpThreads : ["2"];

/** A server with some acknowledged usage, and the ledger of it. */
interface DiskScene {
  readonly program: () => Program;
  readonly random: Random;
  readonly ledger: Ledger;
  readonly path: string;
  /** Sends usage until this many more requests succeed. */
  recordUntilAnswered(count: number, options?: Partial<LoadOptions>): Promise<void>;
  /** Sends single records and batches, and asserts that each gets a 503. */
  assertWritesFail(): Promise<void>;
  assertReadsWork(): Promise<void>;
  /** Waits until every thread is ready, or isn't for the reason. */
  untilReadiness(reason: string | null): Promise<void>;
  killAndStart(): Promise<void>;
}

/** @param threads The numbers of HTTP threads of the first start, of the next one, and so on in turn. */
function onDisk(
  threads: readonly string[],
  test: (scene: DiskScene) => Promise<void>,
  folder?: string,
): Promise<void> {
  const env = { API_KEY_REQUESTS_PER_SECOND: "0", LOG_LEVEL: "error", HTTP_THREADS: threads[0] ?? "" };
  const options = { env, through: throughFileSizeLimit, ...(folder === undefined ? {} : { folder }) };
  return onServer(options, async (scene) => {
    const random = faultRandom("full_disk_test.ts");
    let starts = 0;
    const { apiKeys, cookie } = await signUpForLoad(scene.baseUrl);
    const ledger = new Ledger({ random, apiKeys });
    const disk: DiskScene = {
      program: () => scene.program,
      random,
      ledger,
      path: scene.path,
      async recordUntilAnswered(count, options = {}) {
        const before = ledger.answered;
        const load = startLoad({ ledger, random, targets: [scene.baseUrl], ...options });
        await poll(() => ledger.answered >= before + count || ledger.surprises.length > 0);
        await load.stop();
        assert.deepEqual(ledger.surprises, []);
      },
      async assertWritesFail() {
        const requests = Array.from({ length: 10 }, () => [ledger.newSingle(), ledger.newBatch(20)]).flat();
        const responses = requests.map((request) => sendRequest(scene.baseUrl, { request, ledger }));
        assert(
          (await Promise.all(responses)).every((isAnswered) => !isAnswered),
          "acknowledged on a full disk",
        );
        assert.deepEqual(ledger.surprises, []);
      },
      assertReadsWork: () => assertReadsWork(scene.baseUrl, { cookie, apiKeys }),
      async untilReadiness(reason) {
        const count = Number(threads[starts % threads.length]);
        await untilReadiness(scene.baseUrl, { threads: count, reason });
      },
      async killAndStart() {
        await killProgram(scene.program);
        const HTTP_THREADS = threads[++starts % threads.length] as string;
        await hasStarted(scene.begin({ env: { HTTP_THREADS } }));
      },
    };
    await disk.recordUntilAnswered(50);
    await test(disk);
    await killAndCheck(scene, ledger);
  });
}

function diskTest(name: string, bytes: number, test: (scene: DiskScene, disk: SmallDisk) => Promise<void>) {
  Deno.test({
    name,
    ignore: !mayMount(),
    async fn() {
      const disk = mountSmallDisk(bytes);
      try {
        await onDisk(counts, (scene) => test(scene, disk), disk.folder);
      } finally {
        disk.unmount();
      }
    },
  });
}

function limitTest(name: string, test: (scene: DiskScene) => Promise<void>, threads = counts) {
  Deno.test({
    name,
    ignore: Deno.build.os !== "linux",
    timeout: faultsTimeoutMs,
    fn: () => onDisk(threads, test),
  });
}

function logBytes({ path }: DiskScene): number {
  return Deno.statSync(`${path}-wal`).size;
}

/** Fills the log to this size, as a command beside the server may. */
function fillLog(scene: DiskScene, bytes: number): void {
  const connection = new Connection(scene.path, { readOnly: false, isGuest: true });
  try {
    connection.exec("CREATE TABLE filler (page BLOB NOT NULL) STRICT");
    connection.exec(`INSERT INTO filler
      WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 100)
      SELECT zeroblob(4000) FROM n`);
    // The same pages again and again.
    while (logBytes(scene) < bytes) connection.exec("UPDATE filler SET page = randomblob(4000)");
  } finally {
    connection.close();
  }
}

diskTest(
  "is not ready on a full disk, still reads and starts, and resumes writes when there is space",
  16 * 1024 * 1024,
  async (scene, disk) => {
    const { pid } = scene.program();
    for (let n = 0; n < 2; n++) {
      disk.fill();
      await scene.assertWritesFail();
      await scene.assertReadsWork();
      await scene.untilReadiness("disk_full");
      await scene.assertWritesFail();
      disk.makeRoom();
      if (n === 0) await scene.untilReadiness(null);
      await scene.recordUntilAnswered(50);
      await scene.untilReadiness(null);
    }
    assert.equal(scene.program().pid, pid);
    disk.fill();
    await scene.assertWritesFail();
    await scene.killAndStart();
    await scene.untilReadiness("disk_full");
    await scene.assertReadsWork();
    await scene.assertWritesFail();
    disk.makeRoom();
    await scene.untilReadiness(null);
    await scene.recordUntilAnswered(50);
  },
);

diskTest(
  "keeps a log that doesn't fit into the data file, and moves it when there is space",
  100 * 1024 * 1024,
  async (scene, disk) => {
    const { path } = scene;
    // The server moves its log into the data file at about 80 MB.
    const checkpointBytes = 20_000 * 4120;
    const single = { singleClients: 2, batchClients: 0, singleKeyChance: 0.02 };
    fillLog(scene, checkpointBytes - 4_000_000);
    const before = Deno.statSync(path).size;
    disk.fill({ leaveBytes: checkpointBytes - logBytes(scene) + 400_000 });
    const load = startLoad({ ...scene, ...single, targets: [scene.program().baseUrl] });
    await poll(() => scene.ledger.unanswered.length > 2 || scene.ledger.surprises.length > 0);
    await load.stop();
    assert(logBytes(scene) > checkpointBytes, "the log didn't reach the size at which it is moved");
    await scene.assertWritesFail();
    await scene.assertReadsWork();
    disk.makeRoom();
    await scene.recordUntilAnswered(50, single);
    assert(Deno.statSync(path).size > before, "the log wasn't moved");
  },
);

for (const threads of counts) {
  limitTest(
    `HTTP_THREADS=${threads}: returns 503 for writes beyond a file size limit, and resumes writes when it is lifted`,
    async (scene) => {
      const { pid } = scene.program();
      limitFileSize(pid, logBytes(scene));
      await scene.assertWritesFail();
      await scene.assertReadsWork();
      await scene.untilReadiness("write_failed");
      limitFileSize(pid, "unlimited");
      await scene.untilReadiness(null);
      await scene.recordUntilAnswered(50);
      assert.equal(scene.program().pid, pid);
    },
    [threads],
  );
}

diskTest(
  "rejects a record that is in the log but not in its index, and a kill stores it at most once",
  32 * 1024 * 1024,
  async (scene, disk) => {
    const { ledger } = scene;
    // The index covers 4,062 frames of the log before it grows by 32 KiB.
    const indexedBytes = 4_062 * 4120;
    const single = { singleClients: 2, batchClients: 0, singleKeyChance: 0.1 };
    fillLog(scene, indexedBytes - 2_000_000);
    await scene.recordUntilAnswered(20, single);
    const { pid } = scene.program();
    const send = (request: SentRequest) => sendRequest(scene.program().baseUrl, { request, ledger });
    // A commit of a single record writes 6 or a few more pages. The index needs 8.
    let leavePages = 6;
    const sendInLittleRoom = async () => {
      disk.fill({ leaveBytes: leavePages * 4096 });
      const isAnswered = await send(ledger.newSingle(1));
      disk.makeRoom();
      return isAnswered;
    };
    for (let step = 0; await sendInLittleRoom() || logBytes(scene) < indexedBytes; step++) {
      assert(step < 1_000, "the index grew");
      leavePages = 6 + step % 7;
    }
    // The log now has space for the rejected record, but the index doesn't.
    leavePages = 0;
    let answered = 0;
    for (let n = 0; n < 5; n++) answered += await sendInLittleRoom() ? 1 : 0;
    // Every ten seconds, the server notes the last request with the key, which may make the index grow in between.
    assert(answered <= 2, `${answered} of 5 were answered`);
    await scene.assertReadsWork();
    assert.equal(scene.program().pid, pid);
    if (scene.random.chance(0.5)) {
      const repeat = ledger.takeUnanswered();
      assert(repeat !== undefined && await send(repeat), "writes didn't resume");
    }
    await scene.killAndStart();
    await scene.recordUntilAnswered(50, single);
  },
);

limitTest("a failure at any byte of a commit loses, duplicates or splits nothing", async (scene) => {
  const { ledger, random } = scene;
  const steps = repeats({ quick: 60, full: 120 });
  for (let step = 0; step < steps; step++) {
    const { pid, baseUrl } = scene.program();
    // Fails at the start, within each part of a frame (24 bytes and a page of 4096), and so on to the end of a commit.
    limitFileSize(pid, logBytes(scene) + Math.floor(36_000 * step / steps));
    const request = ledger.takeUnanswered() ??
      (random.chance(0.5) ? ledger.newSingle() : ledger.newBatch(20));
    await sendRequest(baseUrl, { request, ledger });
    if (random.chance(0.04)) await scene.killAndStart();
    else limitFileSize(pid, "unlimited");
  }
  assert.deepEqual(ledger.surprises, []);
});
