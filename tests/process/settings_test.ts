// Tests the sources of settings: the environment, --env-file, and files with secrets.
import assert from "node:assert/strict";
import { type CommandEnd, runCommand } from "../support/process/command.ts";
import { runHere } from "../support/process/here.ts";
import { inScene } from "../support/process/scene.ts";

function assertRejected(end: CommandEnd, status: number, words: RegExp): void {
  assert.equal(end.status, status, end.stderr);
  assert.match(end.stderr, words);
  assert.equal(end.stderr.trim().split("\n").length, 1, end.stderr);
}

Deno.test("--env-file adds settings to every command at any position, the environment takes precedence, and an invalid line is rejected with its number", () =>
  inScene({}, async ({ folder, start }) => {
    await Deno.writeTextFile(
      `${folder}/gatehouse.env`,
      '# Where the data is.\nDATABASE_URL="file:from-file.db"\nSIGN_UP=closed\n',
    );
    const file = (env: Record<string, string>, ...args: string[]) => runCommand({ folder, env }, ...args);
    const migrated = await file({ SIGN_UP: "" }, "--env-file", "gatehouse.env", "migrate");
    assert.equal(migrated.status, 0, migrated.stderr);
    assert.match(migrated.stderr, /from-file\.db\n$/);
    const create = ["user", "create", "a@example.com", "--name", "A"];
    const created = await file({}, ...create, "--env-file=gatehouse.env");
    assert.equal(created.status, 0, created.stderr);
    const other = await file({ DATABASE_URL: "file:other.db" }, "migrate", "--env-file", "gatehouse.env");
    assert.match(other.stderr, /other\.db\n$/);
    assert.match((await file({}, "backup", "--env-file", "gatehouse.env", "kept.db")).stdout, /kept\.db/);

    const accepted =
      '\n# A comment\n; another\nexport SIGN_UP=closed\nOTHER="several\nlines"\nDATABASE_URL = file:a.db\n';
    const lines = [[accepted, null], [`${accepted}BASE_URL https://a.example\n`, 8], ["x\n", 1]] as const;
    for (const [text, line] of lines) {
      await Deno.writeTextFile(`${folder}/lines.env`, text);
      const { status, stderr } = await file({}, "migrate", "--env-file", "lines.env");
      assert.equal(status, line === null ? 0 : 78, stderr);
      if (line !== null) assert.match(stderr, new RegExp(`line ${line} of lines\\.env isn't NAME=VALUE`));
    }

    const server = await start({ args: ["--env-file", "gatehouse.env"] });
    const page = await (await fetch(`${server.baseUrl}/sign-up`)).text();
    assert.ok(!page.includes('name="password"'), "SIGN_UP=closed came from the file");
    assertRejected(await file({}, "migrate", "--env-file", "missing.env"), 78, /cannot read missing\.env/);
    assertRejected(await file({}, "migrate", "--env-file"), 64, /--env-file requires a file/);
    assertRejected(await file({}, "--env-file=a", "--env-file=b"), 64, /given twice/);
  }));

Deno.test("reads a secret from the file named by NAME_FILE without its line ending, never prints it, and logs misspelled settings and the data file's full path", () =>
  inScene({}, async ({ folder, start }) => {
    const secret = "correct-horse-battery";
    await Deno.writeTextFile(`${folder}/token`, `${secret}\n`);
    await Deno.writeTextFile(`${folder}/short`, "s3cret\n");
    await Deno.writeTextFile(`${folder}/empty`, "\n");
    // Misspelled settings don't keep a server from starting.
    const misspelled = { DATABASE_URI: "http://db.example.com", SESSIONS_MAX_DAYS: "3", EDITOR: "vi" };
    const server = await start({ env: { METRICS_TOKEN_FILE: "token", ...misspelled } });
    const statusFor = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${server.baseUrl}/metrics`, { headers });
      await response.body?.cancel();
      return response.status;
    };
    assert.deepEqual([await statusFor(secret), await statusFor("wrong")], [200, 404]);
    assert.ok(!server.output().includes(secret));
    const warned = server.output().split("\n").filter((line) =>
      line.includes("unknown setting in the environment")
    );
    const names = warned.map((line) => JSON.parse(line).properties.name);
    assert.deepEqual(names.sort(), ["DATABASE_URI", "SESSIONS_MAX_DAYS"]);
    assert.match(warned.join("\n"), /rename it to DATABASE_URL\b/);
    assert.ok(!server.output().includes("db.example.com"), "a value can be a secret");
    assert.ok(server.output().includes(`"database":"${await Deno.realPath(folder)}/data/gatehouse.db"`));
    const rejected = async (given: Record<string, string>, words: RegExp) => {
      const files = Object.entries(given).map(([name, value]) =>
        [name, name.endsWith("_FILE") ? `${folder}/${value}` : value] as const
      );
      const end = await runHere({ folder, env: Object.fromEntries(files) }, "migrate");
      assertRejected(end, 78, words);
      assert.ok(!end.stderr.includes("s3cret") && !end.stderr.includes(secret));
    };
    await rejected(
      { METRICS_TOKEN_FILE: "token", METRICS_TOKEN: secret },
      /^METRICS_TOKEN_FILE: METRICS_TOKEN is also set/,
    );
    await rejected({ SMTP_URL_FILE: "missing" }, /^SMTP_URL_FILE: cannot read "\S+missing"/);
    await rejected({ DATABASE_AUTH_TOKEN_FILE: "empty" }, /^DATABASE_AUTH_TOKEN_FILE: \S+empty is empty/);
    await rejected({ SECRETS_KEY_FILE: "short" }, /^SECRETS_KEY: expected 32 bytes .*, got a hidden value$/m);
    await rejected({ METRICS_TOKEN_FILE: "short" }, /^METRICS_TOKEN: .*, got a hidden value$/m);
  }));
