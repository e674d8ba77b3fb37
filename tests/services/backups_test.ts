// Scheduled backups with a controlled clock, with failures, and stopped in the middle.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { BackupStopped } from "../../db/engine/backup.ts";
import type { MainDatabase } from "../../db/engine/database.ts";
import { backupAbandonedMs } from "../../domain/limits.ts";
import { type BackupPlan, BackupSchedule, makeBackup } from "../../services/backups.ts";
import { embeddedTestDatabase } from "../support/database/database.ts";
import { poll } from "../support/runner/poll.ts";

/** Runs a schedule until it has logged a number of backups and failures, and has looked for the newest file. */
async function runUntil(count: number, options: { path: string; plan: BackupPlan; now: number }) {
  const logged = { info: 0, error: 0 };
  const log = { info: () => void logged.info++, error: () => void logged.error++ };
  const schedule = new BackupSchedule({ ...options, clock: () => options.now, log });
  const stopping = new AbortController();
  const running = schedule.run(stopping.signal);
  await poll(() => logged.info + logged.error === count && (count > 0 || schedule.state.lastAt !== null));
  stopping.abort();
  await running;
  return { logged, schedule };
}

/** Runs a test with a data file and an empty folder. */
async function withFiles(
  use: (files: { path: string; folder: string; database: MainDatabase }) => Promise<void>,
): Promise<void> {
  const { place: path, database, dispose } = await embeddedTestDatabase();
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-kept-" });
  try {
    await use({ path, folder, database });
  } finally {
    await Deno.remove(folder, { recursive: true });
    await dispose().catch(() => {});
  }
}

const hourMs = 3_600_000;
const noon = Date.UTC(2026, 10, 22, 12);
const namesIn = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();

Deno.test("the newest file's name decides when a backup is due", () =>
  withFiles(async ({ path, folder }) => {
    const plan = { folder, everyHours: 6, keep: 10 };
    const due = async (now: number, count: number) =>
      assert.deepEqual((await runUntil(count, { path, plan, now })).logged, { info: count, error: 0 });
    await due(noon, 1);
    await due(noon + 6 * hourMs - 1_000, 0);
    // The clock was set back.
    await due(noon - 5 * hourMs, 1);
    await due(noon + 6 * hourMs, 1);
    assert.deepEqual(namesIn(folder), [
      "gatehouse-20261122T070000Z.db",
      "gatehouse-20261122T120000Z.db",
      "gatehouse-20261122T180000Z.db",
    ]);
  }));

Deno.test("a backup removes unfinished backups that crashed programs left behind, and nothing else", () =>
  withFiles(async ({ path, folder }) => {
    const [abandoned, inProgress, other] = [
      "gatehouse-20261122T050000Z.db.0123abcd.part-journal",
      "gatehouse-20261122T060000Z.db.0123abcd.part",
      "gatehouse-my-own.db.0123abcd.part",
    ];
    for (const name of [abandoned, inProgress, other]) {
      await Deno.writeTextFile(`${folder}/${name}`, "x");
      const changedAt = new Date(Date.now() - backupAbandonedMs + (name === inProgress ? 60_000 : -1));
      await Deno.utime(`${folder}/${name}`, changedAt, changedAt);
    }
    await runUntil(1, { path, plan: { folder, everyHours: 6, keep: 1 }, now: noon });
    assert.deepEqual(namesIn(folder), ["gatehouse-20261122T120000Z.db", inProgress, other].sort());
  }));

Deno.test("a file from before the clock was set back neither delays backups nor replaces one", () =>
  withFiles(async ({ path, folder }) => {
    const plan = { folder, everyHours: 6, keep: 1 };
    for (const now of [noon, noon - 48 * hourMs, noon - 42 * hourMs]) {
      const { logged, schedule } = await runUntil(1, { path, plan, now });
      assert.deepEqual(logged, { info: 1, error: 0 });
      assert.deepEqual(schedule.state, { lastAt: now, failures: 0 });
    }
    assert.deepEqual(namesIn(folder), ["gatehouse-20261120T180000Z.db", "gatehouse-20261122T120000Z.db"]);
  }));

Deno.test("a failed backup is logged and counted, and leaves nothing behind", () =>
  withFiles(async ({ folder }) => {
    await Deno.writeTextFile(`${folder}/letter.db`, "Dear reader, this is not a database. ".repeat(300));
    const plan = { folder: `${folder}/kept`, everyHours: 6, keep: 1 };
    await Deno.mkdir(plan.folder);
    const { logged, schedule } = await runUntil(1, { path: `${folder}/letter.db`, plan, now: noon });
    assert.deepEqual(schedule.state, { lastAt: null, failures: 1 });
    assert.deepEqual(logged, { info: 0, error: 1 });
    assert.deepEqual(namesIn(plan.folder), []);
  }));

Deno.test("a stopped backup leaves nothing behind and releases the data file", () =>
  withFiles(async ({ path, folder, database }) => {
    await assert.rejects(
      makeBackup(path, { file: `${folder}/kept.db`, signal: AbortSignal.abort() }),
      BackupStopped,
    );
    assert.deepEqual(namesIn(folder), []);
    // The final checkpoint truncates or removes the log only if it isn't being read.
    await database.close();
    const log = await Deno.stat(`${path}-wal`).catch(() => null);
    assert.equal(log?.size ?? 0, 0);
  }));

Deno.test("a backup without file descriptors fails, and the program continues", () =>
  withFiles(async ({ path }) => {
    const script = fileURLToPath(new URL("../support/database/crowded_backup.ts", import.meta.url));
    const run = [Deno.execPath(), "run", "--no-prompt", "--allow-all", script];
    const { code, stdout, stderr } = await new Deno.Command("bash", {
      args: ["-c", 'ulimit -n 128; exec "$@"', "limited", ...run, path, `${path}.kept`],
    }).output();
    assert.equal(
      new TextDecoder().decode(stdout),
      "failed, then succeeded",
      new TextDecoder().decode(stderr),
    );
    assert.equal(code, 0);
  }));
