// Tests `gatehouse backup` and `gatehouse restore` with the real program, under load and with invalid input.
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { openEmbedded } from "../../db/engine/embedded.ts";
import { migrate } from "../../db/engine/migrate.ts";
import { upgrades } from "../support/database/upgrades.ts";
import { type CommandEnd, runCommand } from "../support/process/command.ts";
import { assertMonthSum, sendJson, signUpAndRecord } from "../support/process/journey.ts";
import { poll } from "../support/runner/poll.ts";
import { runHere } from "../support/process/here.ts";
import { killProgram, type Program } from "../support/process/program.ts";
import { inScene, type Scene, stop } from "../support/process/scene.ts";

interface BackupScene extends Pick<Scene, "folder" | "path"> {
  /** Starts a server with more settings. */
  start(env?: Readonly<Record<string, string>>): Promise<Program>;
  /** Runs a command in this thread. Names of files are relative to the folder. */
  run(...args: readonly string[]): Promise<CommandEnd>;
  /** Runs a command in its own process. */
  runProcess: Scene["run"];
}

function inFolder(test: (scene: BackupScene) => Promise<void>): Promise<void> {
  const env = { API_KEY_REQUESTS_PER_SECOND: "0", LOG_LEVEL: "warning" };
  return inScene({ env }, ({ folder, path, options, start, run }) =>
    test({
      folder,
      path,
      start: (env = {}) => start({ env }),
      run(command = "", ...files) {
        if (command === "migrate") Deno.mkdirSync(`${folder}/data`);
        const paths = files.map((name) => name.startsWith("-") ? name : `${folder}/${name}`);
        return runHere(options, command, ...paths);
      },
      runProcess: run,
    }));
}

function assertRejected(end: CommandEnd, status: number, words: RegExp): void {
  assert.equal(end.status, status, end.stderr);
  assert.match(end.stderr, words);
  assert.equal(end.stdout, "");
  assert.equal(end.stderr.trim().split("\n").length, 1, end.stderr);
}

const namesIn = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();

/** Sends records one at a time, each with its own idempotency key, and remembers which were acknowledged. */
function startRecording(baseUrl: string, fullKey: string) {
  const acknowledged: string[] = [];
  let isRunning = true;
  const client = async (name: number) => {
    for (let n = 0; isRunning; n++) {
      const idempotencyKey = `${name}-${n}`;
      assert.equal((await record(baseUrl, fullKey, idempotencyKey)).status, 201);
      acknowledged.push(idempotencyKey);
    }
  };
  const clients = Array.from({ length: 8 }, (_, name) => client(name));
  return {
    acknowledged,
    async stop() {
      isRunning = false;
      await Promise.all(clients);
    },
  };
}

const record = (baseUrl: string, apiKey: string, idempotencyKey: string) =>
  sendJson(baseUrl, "/api/v1/usage", {
    apiKey,
    json: { productSlug: "tiles", metric: "load", quantity: 1, idempotencyKey },
  });

async function countOf(baseUrl: string, apiKey: string): Promise<number> {
  const response = await sendJson(baseUrl, "/api/v1/usage?window=month&metric=load", { apiKey });
  const { data: [row] } = await response.json();
  assert.equal(row.sum, row.count);
  return row.count;
}

Deno.test("a restored backup has every record acknowledged before the backup and none recorded after it", () =>
  inFolder(async ({ folder, path, start, run }) => {
    const first = await start({ HTTP_THREADS: "2" });
    const { fullKey } = await signUpAndRecord(first.baseUrl);
    const recording = startRecording(first.baseUrl, fullKey);
    await poll(() => recording.acknowledged.length > 150);
    const before = [...recording.acknowledged];
    const made = await run("backup", "kept.db");
    assert.equal(made.status, 0, made.stderr);
    const ended = recording.acknowledged.length;
    await poll(() => recording.acknowledged.length > ended + 150);
    await recording.stop();
    const after = recording.acknowledged.slice(ended + 8);
    assert.equal(((await Deno.stat(`${folder}/kept.db`)).mode ?? 0) & 0o777, 0o600);
    assert.deepEqual(namesIn(folder), ["data", "kept.db"]);

    assertRejected(
      await run("restore", "kept.db"),
      75,
      /a server is running on \/.*gatehouse\.db; stop it first/,
    );
    await stop(first);
    const restored = await run("restore", "kept.db");
    assert.equal(restored.status, 0, restored.stderr);
    const [, former = ""] = /The former database is (.*)\.\n/.exec(restored.stdout) ?? [];
    assert.deepEqual(namesIn(`${folder}/data`), [
      "gatehouse.db",
      former.replace(/.*\//, ""),
      "gatehouse.db.lock",
    ]);
    assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);

    const second = await start();
    const stored = await countOf(second.baseUrl, fullKey);
    assert.ok(stored >= before.length && stored < recording.acknowledged.length, String(stored));
    for (const key of before) assert.equal((await record(second.baseUrl, fullKey, key)).status, 200, key);
    for (const key of after) assert.equal((await record(second.baseUrl, fullKey, key)).status, 201, key);
    assert.equal(await countOf(second.baseUrl, fullKey), stored + after.length);
    await stop(second);

    const third = await start({ DATABASE_URL: `file:${former}` });
    assert.equal(await countOf(third.baseUrl, fullKey), recording.acknowledged.length);
  }));

Deno.test("backs up to standard output, and restores from standard input over a killed server's log", () =>
  inFolder(async ({ folder, path, start, runProcess }) => {
    const first = await start();
    const { fullKey } = await signUpAndRecord(first.baseUrl);
    const { status, bytes: backup, stderr } = await runProcess("backup", "-");
    assert.equal(status, 0, stderr);
    assert.equal(stderr, `Database: ${await Deno.realPath(path)}\n`);
    assert.deepEqual(namesIn(`${folder}/data`).filter((name) => name.endsWith(".output")), []);
    assert.equal((await record(first.baseUrl, fullKey, "later")).status, 201);
    await killProgram(first);
    assert.ok((await Deno.stat(`${path}-wal`)).size > 0);

    const restored = await runCommand({ folder, stdin: backup }, "restore", "-");
    assert.equal(restored.status, 0, restored.stderr);
    const second = await start();
    await assertMonthSum(second.baseUrl, { fullKey, sum: 1.6 });
    assert.equal(
      (await record(second.baseUrl, fullKey, "later")).status,
      201,
      "the old log must not undo the restore",
    );
    await stop(second);
    const [, former = ""] = /The former database is (.*)\.\n/.exec(restored.stdout) ?? [];
    const third = await start({ DATABASE_URL: `file:${former}` });
    assert.equal(
      (await record(third.baseUrl, fullKey, "later")).status,
      200,
      "the restore must keep the old log",
    );
  }));

Deno.test(
  "backs up and restores an older schema without a server, and migrates it on the next start",
  {},
  () =>
    inFolder(async ({ folder, path, start, runProcess }) => {
      const onFatal = (error: Error) => assert.fail(error);
      const older = await openEmbedded({ path: `${folder}/older.db`, create: "file", onFatal });
      await migrate(older, { now: 1, list: upgrades.slice(0, -1) });
      await older.close();
      const env = { DATABASE_URL: `file:${folder}/older.db` };
      for (const what of ["writes a new file", "replaces an existing file"]) {
        assert.equal((await runHere({ folder, env }, "backup", `${folder}/kept.db`)).status, 0, what);
      }
      const restored = await runProcess("restore", "kept.db");
      assert.equal(restored.status, 0, restored.stderr);
      assert.match(restored.stdout, /older schema/);
      assert.doesNotMatch(restored.stdout, /former/);
      assert.deepEqual(namesIn(`${folder}/data`), ["gatehouse.db", "gatehouse.db.lock"]);
      assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
      await signUpAndRecord((await start()).baseUrl);
    }),
);

Deno.test("restore rejects an unusable backup, and leaves the database unchanged", () =>
  inFolder(async ({ folder, path, run }) => {
    await run("migrate");
    assert.equal((await run("backup", "kept.db")).status, 0);
    const whole = await Deno.readFile(`${folder}/kept.db`);
    const change = (name: string, text: string) => {
      Deno.copyFileSync(`${folder}/kept.db`, `${folder}/${name}`);
      using database = new DatabaseSync(`${folder}/${name}`);
      database.exec(text);
    };
    Deno.writeTextFileSync(`${folder}/empty.db`, "");
    Deno.writeTextFileSync(`${folder}/letter.db`, "Dear reader, this is not a database. ".repeat(300));
    Deno.writeFileSync(`${folder}/half.db`, whole.subarray(0, Math.floor(whole.length / 8192) * 4096));
    Deno.writeFileSync(`${folder}/damaged.db`, whole.slice().fill(0x55, 5 * 4096, 6 * 4096));
    change("newer.db", "INSERT INTO schema_migrations VALUES (999, 'later', 'x', 1)");
    change("changed.db", "UPDATE schema_migrations SET checksum = 'x' WHERE number = 30");
    change(
      "unsupported.db",
      "DELETE FROM schema_migrations WHERE number > 30; UPDATE schema_migrations SET number = 29 WHERE number = 30",
    );
    change("other.db", "DROP TABLE schema_migrations");
    Deno.copyFileSync(`${folder}/kept.db`, `${folder}/used.db`);
    Deno.writeTextFileSync(`${folder}/used.db-wal`, "log");
    const before = await Deno.readFile(path);
    for (
      const [file, status, words] of [
        ["empty.db", 65, /empty\.db is not a usable backup: it is empty/],
        ["letter.db", 65, /letter\.db is not a usable backup: .*not a database/],
        ["half.db", 65, /half\.db is not a usable backup: .*(damaged|malformed)/],
        ["damaged.db", 65, /damaged\.db is not a usable backup: .*(damaged|malformed)/],
        ["newer.db", 65, /newer\.db: the database is newer .*migration 999/],
        ["changed.db", 65, /changed\.db: migration 30 .*changed/],
        ["unsupported.db", 65, /unsupported\.db: the database has schema 29 .*start a build of commit/],
        ["other.db", 65, /not a Gatehouse database/],
        ["used.db", 65, /used\.db-wal belongs to it/],
        ["missing.db", 66, /cannot read \S+missing\.db: no such file or directory\n$/],
        ["data/gatehouse.db", 64, /is the database itself/],
        ["--force", 64, /expected one file/],
      ] as const
    ) {
      assertRejected(await run("restore", file), status, words);
      assert.deepEqual(namesIn(`${folder}/data`), ["gatehouse.db", "gatehouse.db.lock"], file);
    }
    assert.deepEqual(await Deno.readFile(path), before);
  }));

Deno.test("backup doesn't create a database, back up a libSQL server or overwrite the data file", () =>
  inFolder(async ({ folder, run }) => {
    assertRejected(await run("backup", "kept.db"), 78, /\/data\/gatehouse\.db: the database doesn't exist/);
    assertRejected(await run("backup"), 64, /expected one file/);
    for (const command of ["backup", "restore"]) {
      const remote = await runHere(
        { folder, env: { DATABASE_URL: "http://127.0.0.1:1" } },
        command,
        "kept.db",
      );
      assertRejected(remote, 78, /a libSQL server, which makes its own backups/);
    }
    assert.deepEqual(namesIn(folder), []);
    await run("migrate");
    for (const file of ["data/gatehouse.db", "data/gatehouse.db.lock"]) {
      const same = await run("backup", file);
      assert.deepEqual([same.status, /is the database itself/.test(same.stderr)], [64, true], same.stderr);
    }
    const nowhere = await run("backup", "missing/kept.db");
    assert.equal(nowhere.status, 74, nowhere.stderr);
  }));

Deno.test("makes scheduled backups when due, prunes only its own, and reports the time of the last one", () =>
  inFolder(async ({ folder, start, run }) => {
    await Deno.mkdir(`${folder}/kept`);
    const env = { BACKUP_DIR: "kept", BACKUP_KEEP: "2", LOG_LEVEL: "info" };
    const metric = async (program: Program, name: string) => {
      const text = await (await fetch(`${program.baseUrl}/metrics`)).text();
      return Number(new RegExp(`^gatehouse_backup_${name} (.*)$`, "m").exec(text)?.[1]);
    };
    const startedAt = Math.floor(Date.now() / 1000);
    const first = await start(env);
    await poll(() => /"backup written"/.test(first.output()));
    const [name = ""] = namesIn(`${folder}/kept`);
    assert.match(name, /^gatehouse-\d{8}T\d{6}Z\.db$/);
    assert.deepEqual(namesIn(`${folder}/kept`), [name]);
    assert.equal(((await Deno.stat(`${folder}/kept/${name}`)).mode ?? 0) & 0o777, 0o600);
    assert.ok(await metric(first, "last_success_timestamp_seconds") >= startedAt);
    assert.equal(await metric(first, "failures_total"), 0);
    await stop(first);

    // The newest backup is recent, so a restart doesn't make another.
    const second = await start(env);
    const lastAt = await metric(second, "last_success_timestamp_seconds");
    assert.equal(new Date(lastAt * 1000).toISOString().replaceAll(/[-:]|\.000/g, ""), name.slice(10, -3));
    await stop(second);
    assert.deepEqual(namesIn(`${folder}/kept`), [name]);

    await Deno.remove(`${folder}/kept/${name}`);
    const others = [
      "gatehouse-20200101T000000Z.db",
      "gatehouse-20210101T000000Z.db",
      "gatehouse-my-own.db",
      "notes.txt",
    ];
    for (const other of others) await Deno.writeTextFile(`${folder}/kept/${other}`, "x");
    const third = await start(env);
    await poll(() => /"backup written"/.test(third.output()));
    await poll(() => !namesIn(`${folder}/kept`).includes("gatehouse-20200101T000000Z.db"));
    const names = namesIn(`${folder}/kept`);
    assert.equal(names.length, 4);
    assert.deepEqual(names.filter((one) => others.includes(one)), others.slice(1));
    await stop(third);
    const newest = names.find((one) => !others.includes(one));
    assert.equal((await run("restore", `kept/${newest}`)).status, 0);
  }));

Deno.test("doesn't start without the folder of scheduled backups", () =>
  inFolder(async ({ folder }) => {
    const end = await runCommand({ folder, env: { BACKUP_DIR: "missing" } }, "serve");
    const words = /^BACKUP_DIR: the folder (\/\S+\/missing) doesn't exist; create it with mkdir -p \1\n$/;
    assertRejected(end, 78, words);
  }));
