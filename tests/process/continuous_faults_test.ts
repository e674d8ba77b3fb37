// A continuous backup without space or without its target: usage is recorded, what grows is bounded, and the copy is whole again
// afterwards. And a server without one.
import assert from "node:assert/strict";
import { Connection } from "../../db/engine/connection.ts";
import {
  limitFileSize,
  mayMount,
  mountSmallDisk,
  throughFileSizeLimit,
} from "../support/database/small_disk.ts";
import { Ledger } from "../support/meter/ledger.ts";
import { sendRequest, signUpForLoad } from "../support/meter/load.ts";
import { checkAllUsage, storedInFile } from "../support/meter/stored_usage.ts";
import { replaceModule, replaceModules, writeConfig } from "../support/process/config.ts";
import {
  backupHealth,
  backupIs,
  backupKey,
  isRestorable,
  recordFor,
  segmentsIn,
  shortTurns,
} from "../support/process/continuous.ts";
import { createGuestRows } from "../support/process/guest.ts";
import { inScene, type Scene, stop } from "../support/process/scene.ts";
import { repeats } from "../support/runner/extent.ts";
import { poll } from "../support/runner/poll.ts";
import { faultRandom, faultsTimeoutMs, letOthersRun } from "../support/runner/random.ts";

const mib = 1024 * 1024;

/** Runs a test with a server that copies to a folder. @param options `config`: changes of deno.json. */
function withCopy(
  { config, target: given, folder, through = [] }: {
    config?: Readonly<Record<string, unknown>>;
    target?: string;
    folder?: string;
    through?: readonly string[];
  },
  test: (copy: { scene: Scene; target: string; apiKeys: string[] }) => Promise<void>,
): Promise<void> {
  const target = given ?? Deno.makeTempDirSync({ prefix: "gatehouse-target-" });
  const env = {
    ...{ BACKUP_STREAM_TO: target, BACKUP_ENCRYPTION_KEY: backupKey, BACKUP_STREAM_MB: "64" },
    ...{ LOG_LEVEL: "info", API_KEY_REQUESTS_PER_SECOND: "0" },
  };
  return inScene({ env, through, ...folder !== undefined && { folder } }, async (scene) => {
    const path = config && await writeConfig(scene.folder, config);
    const { baseUrl } = await scene.start(path === undefined ? {} : { config: path });
    const { apiKeys } = await signUpForLoad(baseUrl);
    await test({ scene, target, apiKeys });
  }).finally(() => given ?? Deno.remove(target, { recursive: true }).catch(() => {}));
}

async function metric(baseUrl: string, name: string): Promise<number> {
  const text = await (await fetch(`${baseUrl}/metrics`)).text();
  return Number(new RegExp(`^gatehouse_stream_${name} (\\S+)$`, "m").exec(text)?.[1]);
}

/** Commits to the data file as a command does. @param pages That each commit changes. */
function guestOf(path: string, pages: number): { commit: () => void; close: () => void } {
  createGuestRows(path);
  const connection = new Connection(path, { readOnly: false, isGuest: true });
  connection.exec("CREATE TABLE filler (page BLOB NOT NULL) STRICT");
  connection.exec(`INSERT INTO filler
    WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < ${pages})
    SELECT zeroblob(4000) FROM n`);
  return {
    commit: () => connection.exec("UPDATE filler SET page = randomblob(4000)"),
    close: () => connection.close(),
  };
}

const logBytes = ({ path }: Scene) => Deno.statSync(`${path}-wal`).size;

/** Returns the names of all parts of snapshots, also of unfinished ones. */
function partsIn(target: string): string[] {
  const found: string[] = [];
  const walk = (folder: string) => {
    for (const { name, isDirectory } of Deno.readDirSync(folder)) {
      if (isDirectory) walk(`${folder}/${name}`);
      else found.push(name);
    }
  };
  walk(`${target}/snapshots`);
  return found;
}

function chains(target: string): number {
  return new Set(segmentsIn(target).map(({ head }) => head.chain)).size;
}

Deno.test(
  "while the spool has no space, usage is recorded and the log is bounded; a new snapshot follows when there is",
  {
    ignore: !mayMount(),
    timeout: faultsTimeoutMs,
  },
  async () => {
    const disk = mountSmallDisk(mib);
    const config = replaceModules(
      ...["copier", "stream_worker"].map((name) => ({
        importer: `db/engine/stream/${name}.ts`,
        module: "domain/stream_limits.ts",
        replacement: "tests/support/process/short_stream.ts",
      })),
      {
        importer: "db/engine/stream/turns.ts",
        module: "db/engine/connection.ts",
        replacement: "tests/support/process/short_log.ts",
      },
    );
    await inScene({}, async ({ folder }) => {
      await Deno.mkdir(`${folder}/data`);
      await Deno.symlink(disk.folder, `${folder}/data/gatehouse.db.stream`);
      await withCopy({ folder, config }, async ({ scene, target, apiKeys: [apiKey = ""] }) => {
        const { baseUrl, path } = scene;
        await backupIs(baseUrl, "ok");
        const guest = guestOf(path, 100);
        await poll(async () => await metric(baseUrl, "spool_bytes") < 100_000);
        disk.fill();
        const tries = async () =>
          await metric(baseUrl, "failures_total") + await metric(baseUrl, "gaps_total");
        const commit = async (key: string) => {
          const before = await tries();
          guest.commit();
          await recordFor(baseUrl, { apiKey, key });
          await poll(async () => await tries() > before);
        };
        for (let n = 0; await metric(baseUrl, "gaps_total") === 0; n++) await commit(`full${n}`);
        const bytes = logBytes(scene);
        assert.ok(bytes > 900 * 4_120 && bytes < 1_500 * 4_120, `${bytes} bytes of log`);
        assert.notEqual((await backupHealth(baseUrl)).state, "ok");
        // Also from then on.
        for (let n = 0; n < 20; n++) await commit(`gap${n}`);
        assert.ok(logBytes(scene) < 2_000 * 4_120, `${logBytes(scene)} bytes of log`);
        assert.doesNotMatch(scene.program.output(), /works again/);
        disk.makeRoom();
        await backupIs(baseUrl, "ok");
        guest.close();
        await recordFor(baseUrl, { apiKey, key: "after" });
        await stop(scene.program);
        assert.ok(chains(target) > 1);
        await isRestorable(scene, target);
      });
    });
    disk.unmount();
  },
);

Deno.test(
  "while the target has no space, usage is recorded; the copy continues without a gap when there is",
  {
    ignore: !mayMount(),
    timeout: faultsTimeoutMs,
  },
  async () => {
    const disk = mountSmallDisk(4 * mib);
    await withCopy({ target: disk.folder }, async ({ scene, target, apiKeys: [apiKey = ""] }) => {
      const { baseUrl } = scene;
      await backupIs(baseUrl, "ok");
      const before = await metric(baseUrl, "failures_total");
      disk.fill();
      const waiting = () => [...Deno.readDirSync(`${scene.path}.stream`)].length;
      for (let n = 0; waiting() < 6 || await metric(baseUrl, "failures_total") === before; n++) {
        await recordFor(baseUrl, { apiKey, key: `full${n}` });
      }
      const { behindSeconds } = await backupHealth(baseUrl);
      assert.equal(typeof behindSeconds, "number");
      await poll(() =>
        /the target of the continuous backup can't be used.*[Nn]o space/.test(scene.program.output())
      );
      disk.makeRoom();
      await poll(() => /continuous backup works again/.test(scene.program.output()));
      await stop(scene.program);
      assert.equal(chains(target), 1);
      await isRestorable(scene, target);
    });
    disk.unmount();
  },
);

Deno.test("a snapshot for which the target has no space leaves nothing there, and is made when there is", {
  ignore: !mayMount(),
  timeout: faultsTimeoutMs,
}, async () => {
  const disk = mountSmallDisk(6 * mib);
  const config = replaceModules(
    ...["snapshots", "stream_worker"].map((name) => ({
      importer: `db/engine/stream/${name}.ts`,
      module: "domain/stream_limits.ts",
      replacement: "tests/support/process/short_stream.ts",
    })),
  );
  await Deno.mkdir(`${disk.folder}/copies`);
  disk.fill({ leaveBytes: 2 * mib });
  await inScene({}, async ({ folder }) => {
    await withCopy({ folder, config, target: `${disk.folder}/copies` }, async ({ scene, target }) => {
      await backupIs(scene.baseUrl, "ok");
      await stop(scene.program);
      const guest = guestOf(scene.path, 600);
      guest.commit();
      guest.close();
      await scene.start({ config: `${folder}/deno.json` });
      await poll(() =>
        /the snapshot of the continuous backup failed.*[Nn]o space/.test(scene.program.output())
      );
      const failures = await metric(scene.baseUrl, "failures_total");
      await poll(async () => await metric(scene.baseUrl, "failures_total") > failures + 2);
      await backupIs(scene.baseUrl, "snapshot");
      // Between two tries, only the first one is there.
      await poll(() => partsIn(target).length === 1);
      disk.makeRoom();
      await backupIs(scene.baseUrl, "ok");
      await stop(scene.program);
      await isRestorable(scene, target);
    });
  });
  disk.unmount();
});

Deno.test(
  "a failure at any byte of the log, the data file, the spool or the target loses nothing",
  {
    ignore: Deno.build.os !== "linux",
    timeout: faultsTimeoutMs,
  },
  () =>
    withCopy({ config: shortTurns, through: throughFileSizeLimit }, async ({ scene, target, apiKeys }) => {
      const random = faultRandom("continuous_faults_test.ts");
      const ledger = new Ledger({ random, apiKeys });
      const { baseUrl, program: { pid } } = scene;
      await backupIs(baseUrl, "ok");
      for (let step = 0; step < repeats({ quick: 40, full: 120 }); step++) {
        // Small ones fail what is written to the spool, the target and the beginning of the log; others the data file and its end.
        const most = random.pick([4_000, 60_000, logBytes(scene) + 36_000]);
        limitFileSize(pid, random.between(0, most));
        for (let n = random.between(1, 3); n > 0; n--) {
          const request = ledger.takeUnanswered() ??
            (random.chance(0.5) ? ledger.newSingle() : ledger.newBatch(20));
          await sendRequest(baseUrl, { request, ledger });
        }
        await letOthersRun(random.between(0, 800));
        limitFileSize(pid, "unlimited");
        await poll(() => sendRequest(baseUrl, { request: ledger.newSingle(), ledger }));
      }
      assert.ok(await metric(baseUrl, "failures_total") > 0);
      await backupIs(baseUrl, "ok");
      await stop(scene.program);
      const stored = await storedInFile(await isRestorable(scene, target));
      await checkAllUsage(stored, ledger);
      await stored.close();
    }),
);

Deno.test(
  "with its target away for long, the spool is bounded, a gap follows, and a new snapshot when the target is back",
  { timeout: faultsTimeoutMs },
  () =>
    withCopy({}, async ({ scene, target, apiKeys: [apiKey = ""] }) => {
      const { baseUrl, path } = scene;
      await backupIs(baseUrl, "ok");
      const guest = guestOf(path, 3_500);
      await Deno.rename(target, `${target}.away`);
      const spoolBytes = () =>
        [...Deno.readDirSync(`${path}.stream`)].reduce(
          (sum, { name }) => sum + Deno.statSync(`${path}.stream/${name}`).size,
          0,
        );
      let largest = 0;
      for (let n = 0; await metric(baseUrl, "gaps_total") === 0; n++) {
        const before = spoolBytes();
        guest.commit();
        await recordFor(baseUrl, { apiKey, key: `away${n}` });
        await poll(async () => spoolBytes() > before + 10 * mib || await metric(baseUrl, "gaps_total") > 0);
        largest = Math.max(largest, spoolBytes());
      }
      assert.ok(largest > 64 * mib && largest < 90 * mib, `${largest} bytes in the spool`);
      for (let n = 0; n < 3; n++) {
        guest.commit();
        await recordFor(baseUrl, { apiKey, key: `gap${n}` });
      }
      guest.close();
      const { state, behindSeconds } = await backupHealth(baseUrl);
      assert.deepEqual([state, typeof behindSeconds], ["gap", "number"]);
      assert.ok(spoolBytes() <= largest);
      await Deno.rename(`${target}.away`, target);
      await backupIs(baseUrl, "ok");
      await recordFor(baseUrl, { apiKey, key: "back" });
      await stop(scene.program);
      assert.equal(chains(target), 2);
      await isRestorable(scene, target);
    }),
);

Deno.test(
  "while something reads the data file for long, the log grows without a gap, and is used again afterwards",
  { timeout: faultsTimeoutMs },
  () => {
    const config = replaceModule({
      importer: "db/engine/stream/copier.ts",
      module: "domain/stream_limits.ts",
      replacement: "tests/support/process/short_log_limit.ts",
    });
    return withCopy({ config }, async ({ scene, target, apiKeys: [apiKey = ""] }) => {
      const { baseUrl, path } = scene;
      const last = () => segmentsIn(target).at(-1)?.head ?? assert.fail();
      await backupIs(baseUrl, "ok");
      const guest = guestOf(path, 20);
      const reader = new Connection(path, { readOnly: true });
      reader.exec("BEGIN");
      reader.first({ sql: "SELECT 1 FROM sqlite_schema", args: [] });
      let steps = 0;
      const commit = async () => {
        guest.commit();
        await recordFor(baseUrl, { apiKey, key: `step${steps++}` });
      };
      // The first commit may begin a new round, if the log was complete in the data file before.
      await commit();
      const begunAt = Date.now();
      while (last().startedAt < begunAt) await commit();
      const { roundFrom } = last();
      // Ten turns and more, and beyond the length that is too long if the copier is late.
      for (const end = steps + repeats({ quick: 80, full: 2_000 }); steps < end;) await commit();
      await poll(() => (last().position?.frame ?? 0) > 1_500);
      assert.deepEqual([last().roundFrom, chains(target)], [roundFrom, 1]);
      assert.equal((await backupHealth(baseUrl)).state, "ok");
      reader.close();
      const bytes = logBytes(scene);
      assert.ok(bytes > 1_500 * 4_120, `${bytes} bytes of log`);
      for (const end = steps + 10; steps < end;) {
        const { number } = last();
        await commit();
        await poll(() => last().number > number);
      }
      assert.notEqual(last().roundFrom, roundFrom);
      assert.ok(logBytes(scene) < bytes + 300 * 4_120, `${logBytes(scene)} bytes of log after ${bytes}`);
      guest.close();
      await stop(scene.program);
      assert.equal(chains(target), 1);
      await isRestorable(scene, target);
    });
  },
);

Deno.test("without the setting, nothing of the continuous backup is loaded, and the log is checkpointed at 80 MB", () =>
  inScene({}, async (scene) => {
    const parts = ["copier", "owner", "replay", "s3", "snapshots", "stream_worker", "turns"].map((name) =>
      `db/engine/stream/${name}.ts`
    );
    const config = await writeConfig(
      scene.folder,
      replaceModules(
        ...["services/continuous_backup.ts", ...parts].map((importer) => ({
          importer,
          module: "domain/stream_limits.ts",
          replacement: "tests/support/process/loud_stream.ts",
        })),
      ),
    );
    const { baseUrl } = await scene.start({ config });
    const { apiKeys: [apiKey = ""] } = await signUpForLoad(baseUrl);
    const guest = guestOf(scene.path, 4_000);
    while (logBytes(scene) < 20_100 * 4_120) guest.commit();
    guest.close();
    const before = Deno.statSync(scene.path).size;
    await recordFor(baseUrl, { apiKey, key: "one" });
    assert.ok(Deno.statSync(scene.path).size > before + 10 * mib, "the log was checkpointed");
    await stop(scene.program);
    assert.doesNotMatch(scene.program.output(), /a part of the continuous backup is loaded/);
    await Deno.mkdir(`${scene.folder}/copies`);
    await scene.start({ config, env: { BACKUP_STREAM_TO: `${scene.folder}/copies` } });
    await backupIs(scene.baseUrl, "ok");
    await stop(scene.program);
    assert.match(scene.program.output(), /a part of the continuous backup is loaded/);
  }));
