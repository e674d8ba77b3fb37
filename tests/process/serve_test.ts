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
import { isReady, type Program, type ProgramOptions, startProgram } from "../support/process/program.ts";

async function inFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-process-" });
  try {
    await run(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function ended(options: ProgramOptions): Promise<{ status: number; output: string }> {
  const program = startProgram(options);
  const status = await program.ended();
  return { status, output: program.output() };
}

async function started(options: ProgramOptions): Promise<Program> {
  const program = startProgram(options);
  await isReady(program);
  return program;
}

Deno.test("the main workflow works over HTTP, and its data survives SIGTERM and a restart", () =>
  inFolder(async (folder) => {
    const first = await started({ folder });
    const journey = await signUpAndRecord(first.baseUrl);
    first.kill("SIGTERM");
    assert.equal(await first.ended(), 0, first.output());
    assert.equal(((await Deno.stat(`${folder}/data/gatehouse.db`)).mode ?? 0) & 0o777, 0o600);

    const second = await started({ folder });
    await assertMonthSum(second.baseUrl, { fullKey: journey.fullKey, sum: 1.6 });
    // A POST without a body, which only a real connection can send.
    const path = `/api/portal/api-keys/${journey.keyId}/rotate`;
    const rotated = await sendJson(second.baseUrl, path, { method: "POST", cookie: journey.cookie });
    assert.equal(rotated.status, 201, await rotated.clone().text());
    const { apiKey: { id: keyId }, fullKey } = await rotated.json();
    const me = await (await sendJson(second.baseUrl, "/api/auth/me", { cookie: journey.cookie })).json();
    assert.equal(me.user.email, journey.email);
    await revokeAndAssertRejected(second.baseUrl, { ...journey, keyId, fullKey });
    const files = await Promise.all(
      ["", "-wal"].map((end) => Deno.readFile(`${folder}/data/gatehouse.db${end}`)),
    );
    const stored = files.map((bytes) => new TextDecoder("latin1").decode(bytes)).join("");
    second.kill("SIGINT");
    assert.equal(await second.ended(), 0);
    // Output and database contain no secrets.
    assert(stored.includes(journey.email));
    for (const secret of [journey.fullKey, fullKey, journey.cookie.split("=")[1] ?? "-", "correct horse"]) {
      assert(!stored.includes(secret));
      assert(!(first.output() + second.output()).includes(secret));
    }
  }));

Deno.test("keeps running after SIGHUP, and reports an untrusted proxy once in the log and once on the console", () =>
  inFolder(async (folder) => {
    const program = await started({ folder });
    program.kill("SIGHUP");
    await poll(() => program.output().includes("SIGHUP ignored"));
    const headers = { "x-forwarded-for": "203.0.113.9" };
    for (let count = 0; count < 3; count++) {
      await (await fetch(`${program.baseUrl}/health/live`, { headers })).text();
    }
    program.kill("SIGTERM");
    assert.equal(await program.ended(), 0);
    const lines = program.output().split("\n").filter((line) => line.includes("TRUSTED_PROXIES"));
    assert.deepEqual(lines.map((line) => line.slice(0, 1)).sort(), ["g", "{"]);
  }));

Deno.test("keeps acknowledged records after a kill", () =>
  inFolder(async (folder) => {
    const program = await started({ folder });
    const { fullKey } = await signUpAndRecord(program.baseUrl);
    let acknowledged = 0;
    let isRunning = true;
    const senders = Array.from({ length: 8 }, async () => {
      while (isRunning) {
        const json = { productSlug: "tiles", metric: "killed", quantity: 1 };
        const response = await sendJson(program.baseUrl, "/api/v1/usage", { apiKey: fullKey, json }).catch(
          () => null,
        );
        if (response === null) return;
        if (response.status === 201) acknowledged++;
      }
    });
    await poll(() => acknowledged > 200);
    program.kill("SIGKILL");
    await program.ended();
    isRunning = false;
    await Promise.all(senders);
    const again = await started({ folder });
    const answer = await sendJson(again.baseUrl, "/api/v1/usage?window=month&metric=killed", {
      apiKey: fullKey,
    });
    const { data: [row] } = await answer.json();
    // Each sender may have one more record that was stored but not acknowledged.
    assert(
      row.count >= acknowledged && row.count <= acknowledged + senders.length,
      `${row.count} of ${acknowledged}`,
    );
    assert.equal(row.sum, row.count);
    again.kill("SIGTERM");
    assert.equal(await again.ended(), 0);
  }));

Deno.test("reports all invalid settings together with exit status 78, and prints no secret", () =>
  inFolder(async (folder) => {
    const { status, output } = await ended({
      folder,
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
    assert.deepEqual(lines.map((line) => line.split(":")[0]).sort(), [
      "COOKIE_DOMAIN",
      "METRICS_TOKEN",
      "PORT",
      "SESSION_MAX_DAYS",
      "SIGN_UP",
    ]);
    assert(!output.includes("s3cret"));
    assert.match(output, /SIGN_UP: expected open, invite or closed, got "maybe"/);
    assert.deepEqual([...Deno.readDirSync(folder)], []);
  }));

Deno.test("doesn't start with an unusable database, and prints one line", () =>
  inFolder(async (folder) => {
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
      const { status, output } = await ended({ folder, env: { DATABASE_URL: url } });
      assert.equal(status, url.startsWith("http:") ? 75 : 78, output);
      assert.match(output, words);
      assert.equal(output.trim().split("\n").length, 1, output);
    }
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), ["empty.db", "letter.db"]);
    assert.equal((await Deno.stat(`${folder}/empty.db`)).size, 0);
  }));

Deno.test("doesn't start a second server on the same file or on a port in use", () =>
  inFolder(async (folder) => {
    const first = await started({ folder });
    const second = await ended({ folder });
    assert.equal(second.status, 75);
    assert.match(second.output, /another server is running on .*gatehouse\.db/);
    assert.ok((await Deno.stat(`${folder}/data/gatehouse.db-wal`)).size > 0, "the log was left alone");
    await Deno.mkdir(`${folder}/other`);
    const third = await ended({ folder: `${folder}/other`, env: { PORT: new URL(first.baseUrl).port } });
    assert.equal(third.status, 75);
    assert.match(third.output, /cannot listen on 127\.0\.0\.1:\d+: address already in use\n$/);
    assert.deepEqual([...Deno.readDirSync(`${folder}/other`)], [], "no database was created");
    first.kill("SIGTERM");
    assert.equal(await first.ended(), 0);
  }));

Deno.test("commands print their results", () =>
  inFolder(async (folder) => {
    const run = (...args: string[]) => ended({ folder, args });
    assert.match((await run("--version")).output, /^gatehouse \d+\.\d+\.\d+\n$/);
    const help = await run("--help");
    assert.equal(help.status, 0);
    for (const word of ["serve", "migrate", "openapi", "user", "DATABASE_URL", "USAGE_RETENTION_DAYS"]) {
      assert(help.output.includes(word));
    }
    // A command with --help prints the same help and does nothing else.
    assert.deepEqual(await run("migrate", "--help"), help);
    const migrated = await runCommand({ folder }, "migrate");
    assert.deepEqual(migrated, {
      ...migrated,
      status: 0,
      stdout: `Applied: ${migrations.map(({ number }) => number).join(", ")}.\n`,
      stderr: `Database: ${await Deno.realPath(folder)}/data/gatehouse.db\n`,
    });
    assert.equal((await runCommand({ folder }, "migrate")).stdout, "The database is up to date.\n");
    const document = JSON.parse((await run("openapi")).output);
    assert.equal(document.openapi, "3.1.0");
    const unknown = await run("dance");
    assert.equal(unknown.status, 64);
    assert.match(unknown.output, /dance is not a command/);
  }));
