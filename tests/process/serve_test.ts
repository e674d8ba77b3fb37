// Tests the real program: its output, when it doesn't start, how it stops, and that a kill loses nothing.
import assert from "node:assert/strict";
import { migrations } from "../../db/engine/migrate.ts";
import { poll } from "../support/runner/poll.ts";
import { runCommand } from "../support/process/command.ts";
import {
  assertMonthSum,
  revokeAndAssertRejected,
  sendJson,
  signUpAndRecord,
} from "../support/process/journey.ts";
import { runHere } from "../support/process/here.ts";
import { endsWith, inScene, onServer, type Scene, stop } from "../support/process/scene.ts";

async function ended({ begin }: Scene, more: Parameters<Scene["begin"]>[0] = {}) {
  const program = begin(more);
  const status = await program.ended();
  return { status, output: program.output() };
}

Deno.test("the main workflow works over HTTP, also after SIGHUP, and its data survives SIGTERM and a restart", () =>
  onServer({}, async ({ program: first, path, start }) => {
    const journey = await signUpAndRecord(first.baseUrl);
    await stop(first);
    assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);

    const second = await start();
    second.kill("SIGHUP");
    await poll(() => second.output().includes("SIGHUP ignored"));
    await assertMonthSum(second.baseUrl, { fullKey: journey.fullKey, sum: 1.6 });
    // A POST without a body, which only a real connection can send.
    const rotation = `/api/portal/api-keys/${journey.keyId}/rotate`;
    const rotated = await sendJson(second.baseUrl, rotation, { method: "POST", cookie: journey.cookie });
    assert.equal(rotated.status, 201, await rotated.clone().text());
    const { apiKey: { id: keyId }, fullKey } = await rotated.json();
    const me = await (await sendJson(second.baseUrl, "/api/auth/me", { cookie: journey.cookie })).json();
    assert.equal(me.user.email, journey.email);
    await revokeAndAssertRejected(second.baseUrl, { ...journey, keyId, fullKey });
    const files = await Promise.all(["", "-wal"].map((end) => Deno.readFile(`${path}${end}`)));
    const stored = files.map((bytes) => new TextDecoder("latin1").decode(bytes)).join("");
    // An untrusted proxy is reported once in the log and once on the console.
    const headers = { "x-forwarded-for": "203.0.113.9" };
    for (let count = 0; count < 3; count++) {
      await (await fetch(`${second.baseUrl}/health/live`, { headers })).text();
    }
    second.kill("SIGINT");
    await endsWith(second, 0);
    const lines = second.output().split("\n").filter((line) => line.includes("TRUSTED_PROXIES"));
    assert.deepEqual(lines.map((line) => line.slice(0, 1)).sort(), ["g", "{"]);
    // Output and database contain no secrets.
    assert(stored.includes(journey.email));
    for (const secret of [journey.fullKey, fullKey, journey.cookie.split("=")[1] ?? "-", "correct horse"]) {
      assert(!stored.includes(secret));
      assert(!(first.output() + second.output()).includes(secret));
    }
  }));

Deno.test("reports all invalid settings together with exit status 78, and prints no secret", () =>
  inScene({}, async (scene) => {
    const { folder } = scene;
    const { status, output } = await ended(scene, {
      env: {
        PORT: "x1",
        SIGN_UP: "maybe",
        METRICS_TOKEN: "s3cret",
        SESSION_MAX_DAYS: "0",
        COOKIE_DOMAIN: ".com",
      },
    });
    assert.equal(status, 78);
    const lines = output.trim().split("\n");
    const names = lines.map((line) => line.split(":")[0]).sort();
    assert.equal(names.join(" "), "COOKIE_DOMAIN METRICS_TOKEN PORT SESSION_MAX_DAYS SIGN_UP");
    assert(!output.includes("s3cret"));
    assert.match(output, /SIGN_UP: expected open, invite or closed, got "maybe"/);
    assert.deepEqual([...Deno.readDirSync(folder)], []);
  }));

Deno.test("doesn't start with an unusable database, and prints one line", () =>
  inScene({}, async (scene) => {
    const { folder } = scene;
    await Deno.writeTextFile(`${folder}/empty.db`, "");
    await Deno.writeTextFile(`${folder}/letter.db`, "Dear reader, this is not a database. ".repeat(100));
    for (
      const [url, words] of [
        ["file:./letter.db", /letter\.db: .*not a database/],
        [
          "file:./missing/data.db",
          /the folder (\/\S+\/missing) doesn't exist; create it with mkdir -p \1, or check DATABASE_URL/,
        ],
        ["file:./my data/data.db", /create it with mkdir -p '\/\S+\/my data', or/],
        ["file:./letter.db/data.db", /letter\.db\/data\.db: cannot open .*not a directory/i],
        ["file:./empty.db", /empty\.db: the file is empty/],
        ["http://127.0.0.1:1", /127\.0\.0\.1:1: /],
      ] as const
    ) {
      const env = { DATABASE_URL: url.replace("file:.", `file:${folder}`) };
      // It opens the database as the server does.
      const { status, stderr } = await runHere({ folder, env }, "migrate");
      assert.equal(status, url.startsWith("http:") ? 75 : 78, stderr);
      assert.match(stderr, words);
      assert.equal(stderr.trim().split("\n").length, 1, stderr);
    }
    const server = await ended(scene, { env: { DATABASE_URL: "file:./letter.db" } });
    assert.equal(server.status, 78, server.output);
    assert.match(server.output, /^gatehouse serve: \S*letter\.db: .*not a database\n$/);
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), ["empty.db", "letter.db"]);
    assert.equal((await Deno.stat(`${folder}/empty.db`)).size, 0);
  }));

Deno.test("doesn't start a second server on the same file or on a port in use", () =>
  onServer({}, async (scene) => {
    const { folder, path, program: first } = scene;
    const second = await ended(scene);
    assert.equal(second.status, 75);
    assert.match(second.output, /another server is running on .*gatehouse\.db/);
    assert.ok((await Deno.stat(`${path}-wal`)).size > 0, "the log was left alone");
    await Deno.mkdir(`${folder}/other`);
    const env = { PORT: new URL(first.baseUrl).port, HTTP_THREADS: "1" };
    const third = await runCommand({ folder: `${folder}/other`, env });
    assert.equal(third.status, 75);
    assert.match(third.stderr, /cannot listen on 127\.0\.0\.1:\d+: address already in use\n$/);
    assert.deepEqual([...Deno.readDirSync(`${folder}/other`)], [], "no database was created");
    await stop(first);
  }));

Deno.test("commands print their results", () =>
  inScene({}, async ({ folder, run: runProcess, options }) => {
    const run = (...args: string[]) => runHere(options, ...args);
    assert.match((await runProcess("--version")).stdout, /^gatehouse \d+\.\d+\.\d+\n$/);
    const help = await run("--help");
    assert.equal(help.status, 0);
    for (const word of ["serve", "migrate", "openapi", "user", "DATABASE_URL", "USAGE_RETENTION_DAYS"]) {
      assert(help.stdout.includes(word));
    }
    // A command with --help prints the same help and does nothing else.
    assert.deepEqual(await run("migrate", "--help"), help);
    const migrated = await runProcess("migrate");
    assert.deepEqual(migrated, {
      ...migrated,
      status: 0,
      stdout: `Applied: ${migrations.map(({ number }) => number).join(", ")}.\n`,
      stderr: `Database: ${await Deno.realPath(folder)}/data/gatehouse.db\n`,
    });
    assert.equal((await run("migrate")).stdout, "The database is up to date.\n");
    const document = JSON.parse((await run("openapi")).stdout);
    assert.equal(document.openapi, "3.1.0");
    const unknown = await run("dance");
    assert.equal(unknown.status, 64);
    assert.match(unknown.stderr, /dance is not a command/);
  }));
