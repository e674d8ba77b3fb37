// Continuous backup of a real server: stop and start, a target that fails or belongs to another server, and restoring to a point.
import assert from "node:assert/strict";
import { basename, dirname } from "node:path";
import { Connection } from "../../db/engine/connection.ts";
import { output } from "../support/build/sources.ts";
import { signUpForLoad } from "../support/meter/load.ts";
import {
  backupHealth,
  backupIs,
  backupKey,
  isRestorable,
  objectsIn,
  recordFor,
  segmentsIn,
} from "../support/process/continuous.ts";
import { sendJson } from "../support/process/journey.ts";
import { inScene, type Scene, stop } from "../support/process/scene.ts";
import { poll } from "../support/runner/poll.ts";

/** Runs a test with a target folder. */
function withTarget(
  test: (scene: Scene, target: string) => Promise<void>,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const target = Deno.makeTempDirSync({ prefix: "gatehouse-target-" });
  const settings = { LOG_LEVEL: "info", BACKUP_STREAM_TO: target, BACKUP_ENCRYPTION_KEY: backupKey, ...env };
  return inScene({ env: settings }, (scene) => test(scene, target))
    .finally(() => Deno.removeSync(target, { recursive: true }));
}

/** Waits for a segment after the last one. */
async function nextSegment(target: string): Promise<void> {
  const before = segmentsIn(target).length;
  await poll(() => segmentsIn(target).length > before);
}

/** Adds three segments. */
async function recordThree(
  baseUrl: string,
  { apiKey, target }: { apiKey: string; target: string },
): Promise<void> {
  for (const key of ["one", "two", "three"]) {
    const next = nextSegment(target);
    await recordFor(baseUrl, { apiKey, key });
    await next;
  }
}

function chains(target: string): number {
  return new Set(segmentsIn(target).map(({ head }) => head.chain)).size;
}

Deno.test("a clean stop and a start continue the copy; a change on the stopped server begins a new one", () =>
  withTarget(async (scene, target) => {
    const { baseUrl } = await scene.start();
    const { apiKeys: [apiKey = ""] } = await signUpForLoad(baseUrl);
    await backupIs(baseUrl, "ok");
    await recordFor(baseUrl, { apiKey, key: "one" });
    await stop(scene.program);
    await assert.rejects(Deno.stat(`${scene.path}-wal`), Deno.errors.NotFound);
    const again = await scene.start();
    await recordFor(again.baseUrl, { apiKey, key: "two" });
    await backupIs(again.baseUrl, "ok");
    await stop(scene.program);
    assert.equal(chains(target), 1);
    const created = await scene.run("user", "create", "eve@example.com", "--name", "Eve");
    assert.equal(created.status, 0, created.stderr);
    await scene.start();
    await backupIs(scene.baseUrl, "ok");
    assert.equal(chains(target), 2);
    await stop(scene.program);
    await restore(scene, target);
    assert.equal(count(scene, "SELECT count(*) AS n FROM usage_records"), 2);
    assert.equal(count(scene, "SELECT count(*) AS n FROM users WHERE email = 'eve@example.com'"), 1);
  }));

/** Restores to a new file, and returns what is printed. */
async function restore(scene: Scene, target: string, ...options: string[]): Promise<string> {
  const end = await scene.run("restore", "--from", target, ...options, "restored.db");
  assert.equal(end.status, 0, end.stderr);
  return end.stdout;
}

function count({ folder }: Scene, text: string): number {
  const connection = new Connection(`${folder}/restored.db`, { readOnly: true });
  try {
    return (connection.first({ sql: text, args: [] }) as { n: number }).n;
  } finally {
    connection.close();
  }
}

Deno.test("a command that closes the data file leaves the log to the server, also after a snapshot", () =>
  withTarget(async (scene, target) => {
    const { baseUrl } = await scene.start();
    const { apiKeys: [apiKey = ""] } = await signUpForLoad(baseUrl);
    await backupIs(baseUrl, "ok");
    // It is the last one to close the file if the server has lost its locks.
    const created = await scene.run("user", "create", "eve@example.com", "--name", "Eve");
    assert.equal(created.status, 0, created.stderr);
    await recordFor(baseUrl, { apiKey, key: "one" });
    scene.program.kill("SIGKILL");
    await scene.program.ended();
    await scene.start();
    await backupIs(scene.baseUrl, "ok");
    await stop(scene.program);
    await isRestorable(scene, target);
    assert.equal(await count(scene, "SELECT count(*) AS n FROM usage_records"), 1);
    assert.equal(await count(scene, "SELECT count(*) AS n FROM users"), 2);
  }));

Deno.test("a machine that was set back to an older state begins a new copy, as a clone would", () =>
  withTarget(async (scene, target) => {
    const files = ["", "-wal", ".stream"].map((end) => `${scene.path}${end}`);
    const saved = `${scene.folder}/saved/`;
    await Deno.mkdir(saved);
    const { baseUrl } = await scene.start();
    const { apiKeys: [apiKey = ""] } = await signUpForLoad(baseUrl);
    await recordFor(baseUrl, { apiKey, key: "one" });
    await backupIs(baseUrl, "ok");
    scene.program.kill("SIGKILL");
    await scene.program.ended();
    await output("cp", ["-r", ...files, saved]);
    await scene.start();
    const before = segmentsIn(target).length;
    await recordFor(scene.baseUrl, { apiKey, key: "two" });
    await poll(() => segmentsIn(target).length > before);
    scene.program.kill("SIGKILL");
    await scene.program.ended();
    for (const path of [...files, `${scene.path}-shm`]) await Deno.remove(path, { recursive: true });
    await output("cp", ["-r", ...files.map((path) => saved + basename(path)), dirname(scene.path)]);
    await scene.start();
    await poll(() => /the target has not what this copy continues/.test(scene.program.output()));
    await backupIs(scene.baseUrl, "ok");
    assert.equal(chains(target), 2);
    await stop(scene.program);
    await restore(scene, target);
    assert.equal(count(scene, "SELECT count(*) AS n FROM usage_records"), 1);
  }));

Deno.test("while the target fails, the server works and is ready; the copy continues once it is back", () =>
  withTarget(async (scene, target) => {
    const { baseUrl } = await scene.start();
    const { apiKeys: [apiKey = ""] } = await signUpForLoad(baseUrl);
    await backupIs(baseUrl, "ok");
    await Deno.rename(target, `${target}.away`);
    for (let n = 0; n < 5; n++) await recordFor(baseUrl, { apiKey, key: `away${n}` });
    await poll(() => /the target of the continuous backup can't be used/.test(scene.program.output()));
    await backupHealth(baseUrl);
    const metrics = await (await fetch(`${baseUrl}/metrics`)).text();
    assert.match(metrics, /^gatehouse_stream_failures_total [1-9]/m);
    await Deno.rename(`${target}.away`, target);
    await poll(() => /continuous backup works again/.test(scene.program.output()));
    await stop(scene.program);
    assert.equal(chains(target), 1);
    await restore(scene, target);
    assert.equal(count(scene, "SELECT count(*) AS n FROM usage_records"), 5);
  }));

Deno.test("starts without its target, and copies once it is there", () =>
  withTarget(async (scene, target) => {
    await Deno.rename(target, `${target}.away`);
    const { baseUrl } = await scene.start();
    await poll(() => /can't be used/.test(scene.program.output()));
    await backupIs(baseUrl, "gap");
    await Deno.rename(`${target}.away`, target);
    await backupIs(baseUrl, "ok");
  }));

Deno.test("a second server doesn't copy to a target that is in use, says so, and copies once it is free", () =>
  withTarget(async (scene, target) => {
    await scene.start();
    await backupIs(scene.baseUrl, "ok");
    const before = objectsIn(target, "manifests").length;
    await inScene({ env: scene.options.env }, async (other) => {
      await other.start();
      await backupIs(other.baseUrl, "refused");
      await poll(() => /another server copies to this target/.test(other.program.output()));
      assert.match(await (await fetch(`${other.baseUrl}/metrics`)).text(), /^gatehouse_stream_ok 0$/m);
      await backupIs(scene.baseUrl, "ok");
      assert.equal(objectsIn(target, "manifests").length, before);
      await stop(scene.program);
      await backupIs(other.baseUrl, "ok");
    });
  }));

Deno.test("restores to a time or a number, ends sessions then, and never writes over a file", () =>
  withTarget(async (scene, target) => {
    const { baseUrl } = await scene.start();
    const { apiKeys: [apiKey = ""], cookie } = await signUpForLoad(baseUrl);
    await backupIs(baseUrl, "ok");
    await recordThree(baseUrl, { apiKey, target });
    await stop(scene.program);
    const heads = segmentsIn(target).map(({ head }) => head);
    const rows = "SELECT count(*) AS n FROM usage_records";
    const sessions = "SELECT count(*) AS n FROM sessions";
    await restore(scene, target);
    assert.deepEqual([count(scene, rows), count(scene, sessions)], [3, 1]);
    const over = await scene.run("restore", "--from", target, "restored.db");
    assert.match(over.stderr, /restored.db exists/);
    const counts = [];
    for (const { number, endedAt } of heads.slice(-3)) {
      for (const at of [String(number), new Date(endedAt).toISOString()]) {
        await Deno.remove(`${scene.folder}/restored.db`);
        assert.match(
          await restore(scene, target, "--at", at),
          new RegExp(`to segment ${number},.*\n.*revoke them again`),
        );
        counts.push(count(scene, rows));
        assert.equal(count(scene, sessions), 0);
      }
    }
    assert.deepEqual([counts[0], counts[2], counts[4]], [counts[1], counts[3], counts[5]]);
    assert.deepEqual(counts.at(-1), 3);
    await Deno.remove(`${scene.folder}/restored.db`);
    await restore(scene, target, "--at", String(heads.at(-1)?.number), "--keep-sessions");
    assert.equal(count(scene, sessions), 1);
    // The restored file works.
    await Deno.remove(scene.path);
    await Deno.rename(`${scene.folder}/restored.db`, scene.path);
    await scene.start();
    const me = await sendJson(scene.baseUrl, "/api/auth/me", { cookie });
    assert.equal((await me.json()).authenticated, true);
    await stop(scene.program);
    const status = await scene.run("backup", "status", target);
    assert.match(status.stdout, /^Newest point: segment \d+, ended at 20\S+Z, \d+ seconds ago\./);
    assert.match((await scene.run("backup", "verify", target)).stdout, /^Segment \d+ can be restored/);
  }));

Deno.test("restoring names sums that don't match, keeps the file, and fails", () =>
  withTarget(async (scene, target) => {
    const { baseUrl } = await scene.start();
    const { apiKeys: [apiKey = ""], organizationId } = await signUpForLoad(baseUrl);
    await recordFor(baseUrl, { apiKey, key: "one" });
    await stop(scene.program);
    const connection = new Connection(scene.path, { readOnly: false });
    connection.exec("UPDATE usage_rollups_hourly SET sum_low = sum_low + 1 WHERE series = 1");
    connection.close();
    await scene.start();
    await backupIs(scene.baseUrl, "ok");
    await stop(scene.program);
    const problem = `tiles/requests of ${organizationId} (series 1): the sum of the hour from `;
    const verified = await scene.run("backup", "verify", target);
    assert.deepEqual([verified.status, verified.stderr.includes(`can be restored, but ${problem}`)], [
      65,
      true,
    ]);
    const end = await scene.run("restore", "--from", target, "restored.db");
    assert.deepEqual([end.status, end.stderr.includes(`The file is intact, but ${problem}`)], [65, true]);
    assert.match(end.stdout, /^Restored restored\.db/);
    assert.equal(count(scene, "SELECT count(*) AS n FROM usage_records"), 1);
  }));

Deno.test("restoring fails when a segment or a part is missing, cut off, changed, doubled, or in another's place", () =>
  withTarget(async (scene, target) => {
    const { baseUrl } = await scene.start();
    const { apiKeys: [apiKey = ""] } = await signUpForLoad(baseUrl);
    await backupIs(baseUrl, "ok");
    await recordThree(baseUrl, { apiKey, target });
    await stop(scene.program);
    const segments = objectsIn(target, "segments");
    const [part = ""] = objectsIn(target, "snapshots");
    const [first = "", second = ""] = segments.slice(-3);
    const bytes = {
      first: Deno.readFileSync(first),
      second: Deno.readFileSync(second),
      part: Deno.readFileSync(part),
    };
    const doubled = `${second.slice(0, -2)}${second.endsWith("99") ? "98" : "99"}`;
    const changed = bytes.second.slice();
    changed[changed.length - 1] = (changed.at(-1) as number) ^ 1;
    const cases: [RegExp, () => void, () => void][] = [
      [
        /segment \d+ is missing/,
        () => Deno.removeSync(second),
        () => Deno.writeFileSync(second, bytes.second),
      ],
      [
        /damaged|cut off/,
        () => Deno.truncateSync(second, 20),
        () => Deno.writeFileSync(second, bytes.second),
      ],
      [
        /is damaged/,
        () => Deno.writeFileSync(second, changed),
        () => Deno.writeFileSync(second, bytes.second),
      ],
      [
        /is damaged/,
        () => Deno.writeFileSync(second, bytes.first),
        () => Deno.writeFileSync(second, bytes.second),
      ],
      [
        /two segments/,
        () => Deno.copyFileSync(second, doubled),
        () => Deno.removeSync(doubled),
      ],
      [/is missing/, () => Deno.removeSync(part), () => Deno.writeFileSync(part, bytes.part)],
    ];
    for (const [words, breakIt, mend] of cases) {
      breakIt();
      const end = await scene.run("restore", "--from", target, "restored.db");
      assert.deepEqual([end.status, words.test(end.stderr)], [65, true], `${words}: ${end.stderr}`);
      assert.ok(
        ![...Deno.readDirSync(scene.folder)].some(({ name }) => /^restored\.db(?!\.lock)/.test(name)),
      );
      mend();
    }
    const wrongKey = { BACKUP_ENCRYPTION_KEY: "A".repeat(43) + "=" };
    await inScene({ env: { ...scene.options.env, ...wrongKey } }, async (other) => {
      const end = await other.run("restore", "--from", target, "restored.db");
      assert.match(end.stderr, /encrypted with key [0-9a-f]{16}; BACKUP_ENCRYPTION_KEY has other keys/);
    });
    await restore(scene, target);
  }));

Deno.test("rejects a continuous backup of a libSQL server, and works as before without the setting", () =>
  inScene({}, async (scene) => {
    const env = { BACKUP_STREAM_TO: "/srv/copies", DATABASE_URL: "http://127.0.0.1:1" };
    const { ended, output } = scene.begin({ env });
    assert.equal(await ended(), 78);
    assert.match(output(), /BACKUP_STREAM_TO: .*a libSQL server makes its own backups/);
    await scene.start();
    assert.equal((await (await fetch(`${scene.baseUrl}/health/ready`)).json()).backup, undefined);
    await assert.rejects(Deno.stat(`${scene.path}.stream`), Deno.errors.NotFound);
  }));
