// Tests `gatehouse check` with the real program: without faults and with one fault at a time, with and without a server.
import assert from "node:assert/strict";
import { Connection } from "../../db/engine/connection.ts";
import { migrations } from "../../db/engine/migrate.ts";
import { type CommandEnd, runCommand } from "../support/process/command.ts";
import { runHere } from "../support/process/here.ts";
import type { Program } from "../support/process/program.ts";
import { inScene, type Scene, stop } from "../support/process/scene.ts";
import { mayMount, mountSmallDisk } from "../support/database/small_disk.ts";
import { smtpTlsMissing, startSmtpTls, testAuthority } from "../support/network/smtp_tls.ts";
import { freePort, sqldMissing, startSqld } from "../support/database/sqld.ts";

interface Check {
  readonly about: string;
  readonly verdict: string;
  readonly saw: string;
  readonly advice: string | null;
}

/** A folder with settings, and a port that is free at first. */
interface CheckScene extends Pick<Scene, "folder"> {
  readonly port: number;
  start(env?: Record<string, string>): Promise<Program>;
  check(env?: Record<string, string>, ...args: string[]): Promise<CommandEnd>;
  /** @returns The exit status, and the problems found by subject. */
  problems(env?: Record<string, string>): Promise<{ status: number; found: Record<string, string> }>;
}

function inFolder(test: (scene: CheckScene) => Promise<void>, folder?: string): Promise<void> {
  const port = freePort();
  const settings = { PORT: String(port), LOG_LEVEL: "warning" };
  return inScene(
    { env: settings, ...(folder === undefined ? {} : { folder }) },
    async ({ folder, options, start }) => {
      const check: CheckScene["check"] = (env = {}, ...args) => {
        const all = { ...options, env: { ...options.env, ...env } };
        // These take effect when a process starts, or are relative to its folder.
        const needsProcess = "DENO_CERT" in env || env["DATABASE_URL"]?.startsWith("file:");
        const run = needsProcess || !existsData(folder) ? runCommand : runHere;
        return run(all, "check", ...args);
      };
      await test({
        folder,
        port,
        start: (env = {}) => start({ env }),
        check,
        async problems(env) {
          const { status, stdout, stderr } = await check(env, "--json");
          assert.equal(stderr, "");
          const { checks } = JSON.parse(stdout) as { checks: Check[] };
          const bad = checks.filter(({ verdict }) => verdict !== "ok");
          assert(bad.every(({ advice }) => advice !== null), stdout);
          assert.equal(status, bad.some(({ verdict }) => verdict === "wrong") ? 1 : 0);
          return {
            status,
            found: Object.fromEntries(bad.map((one) => [one.about, `${one.verdict}: ${one.saw}`])),
          };
        },
      });
    },
  );
}

/** True once a server has created the folder of its data file. */
function existsData(folder: string): boolean {
  return [...Deno.readDirSync(folder)].some(({ name }) => name === "data");
}

Deno.test("check reports no problem next to a running server, and changes nothing", () =>
  inFolder(async ({ folder, start, check, problems }) => {
    const env = { ALLOWED_ORIGINS: "http://localhost:3000" };
    const program = await start(env);
    const before = contentOf(folder);
    const { status, stdout, stderr } = await check(env);
    assert.equal(status, 0, stdout);
    assert.equal(stderr, "");
    assert.match(
      stdout,
      /^ok +Database +\/.*\/data\/gatehouse\.db has this program's schema and is writable\.$/m,
    );
    assert.match(
      stdout,
      new RegExp(
        `^ok +SQLite +Version 3\\.\\d+\\.\\d+ of Deno ${RegExp.escape(Deno.version.deno)}, ` +
          "with(out the WAL-reset fault\\.$| the WAL-reset fault: no other program may )",
        "m",
      ),
    );
    assert.match(stdout, /^ok +CORS for http:\/\/localhost:3000 /m);
    assert.match(stdout, /\n0 wrong, 0 warnings, \d+ ok\.\n$/);
    assert.deepEqual(await problems(env), { status: 0, found: {} });
    assert.deepEqual(contentOf(folder), before);
    assert.equal(program.output(), "");
  }));

Deno.test("check without a server reports what it can't check or every invalid setting, and creates no data file", () =>
  inFolder(async ({ folder, check, problems }) => {
    const { status, found } = await problems();
    assert.equal(status, 0);
    assert.deepEqual(Object.keys(found), ["Database", "Public address"]);
    assert.match(found["Database"] ?? "", /^warning: .*does not exist/);
    assert.match(found["Public address"] ?? "", /^warning: .*is not reachable/);
    assert.deepEqual([...Deno.readDirSync(folder)], []);
    const elsewhere = await problems({ DATABASE_URL: "file:nowhere/gatehouse.db" });
    assert.match(elsewhere.found["Database"] ?? "", /^wrong: .*Its folder does not exist either/);
    const invalid = await check({ BASE_URL: "ftp://x", SIGN_UP: "maybe" }, "--json");
    assert.deepEqual([invalid.status, invalid.stdout], [78, ""]);
    assert.match(invalid.stderr, /^BASE_URL: .*\nSIGN_UP: .*\n$/);
    // An unknown option checks nothing.
    assert.equal((await check({}, "--proxy")).status, 64);
  }));

Deno.test("check reports a database that is missing, older, newer, invalid or not private", () =>
  inFolder(async ({ folder, start, problems }) => {
    const program = await start();
    const other = await problems({ DATABASE_URL: "file:other.db" });
    assert.match(other.found["Database"] ?? "", /^wrong: \/.*\/other\.db: the file does not exist/);
    await stop(program);

    const path = `${folder}/data/gatehouse.db`;
    const database = async (change?: string) => {
      if (change !== undefined) {
        const connection = new Connection(path, { readOnly: false });
        connection.exec(change);
        connection.close();
      }
      return (await problems()).found["Database"];
    };
    assert.equal(await database(), undefined);
    const last = migrations.at(-1)?.number ?? 0;
    const older = await database(`DELETE FROM schema_migrations WHERE number = ${last}`);
    const state = migrations.length > 1 ? `older .*lacks migration ${last} ` : "no schema";
    assert.match(older ?? "", new RegExp(`^warning: .*${state}`));
    // The check didn't migrate it.
    assert.equal(await database(), older);
    const newer = await database(
      `INSERT INTO schema_migrations VALUES (${last}, 'x', 'x', 0); ` +
        `INSERT INTO schema_migrations VALUES (${last + 1}, 'x', 'x', 0)`,
    );
    assert.match(newer ?? "", /^wrong: .*(newer|changed)/);
    await database("DELETE FROM schema_migrations");
    const unsupported = await database("INSERT INTO schema_migrations VALUES (29, 'x', 'x', 0)");
    assert.match(unsupported ?? "", /^wrong: .*schema 29 .*start a build of commit/);
    assert.match(await database("DROP TABLE schema_migrations") ?? "", /^warning: .*no schema yet/);
    Deno.chmodSync(path, 0o644);
    assert.match((await problems()).found["Data file"] ?? "", /^warning: Its mode is 0644/);
    // A new file, because a connection of this process that closes late would restore the old pages.
    Deno.writeTextFileSync(`${folder}/data/list.db`, "This was a shopping list. ".repeat(400));
    const list = await problems({ DATABASE_URL: "file:data/list.db" });
    assert.match(list.found["Database"] ?? "", /^wrong: /);
  }));

Deno.test({
  name: "check reports a nearly full disk, a full disk next to a running server, and a read-only data file",
  ignore: !mayMount(),
  fn: async () => {
    const disk = mountSmallDisk(8 * 1024 * 1024);
    try {
      await inFolder(async ({ folder, start, problems }) => {
        const program = await start();
        const nearlyFull = (await problems()).found;
        assert.equal(nearlyFull["Database"], undefined);
        assert.match(nearlyFull["Disk"] ?? "", /^wrong: \d MB are free/);
        disk.fill();
        assert.match((await problems()).found["Database"] ?? "", /^wrong: .*disk is full/);
        disk.makeRoom();
        assert.equal((await problems()).found["Database"], undefined);
        await stop(program);
        assert.equal((await problems()).found["Database"], undefined);
        const { success } = await new Deno.Command("mount", { args: ["-o", "remount,ro", folder] }).output();
        assert(success);
        assert.match((await problems()).found["Database"] ?? "", /^wrong: .*[Rr]ead-only file system/);
      }, disk.folder);
    } finally {
      disk.unmount();
    }
  },
});

Deno.test({
  name: "check signs in to the mail server, sends nothing, and reports rejections without the password",
  ignore: smtpTlsMissing(),
  fn: () =>
    inFolder(async ({ check, problems }) => {
      const authority = await testAuthority();
      const credentials = { user: "robin.mailer", pass: "open sesame" };
      const certificate = await authority.certify("localhost");
      const server = await startSmtpTls({ encryption: "smtps", certificate, credentials });
      const env = (password: string) => ({
        SMTP_URL: `smtps://robin.mailer:${password}@localhost:${server.port}`,
        MAIL_FROM: "auth@example.com",
      });
      const known = { DENO_CERT: authority.certPath };
      const mail = async (given: Record<string, string>) => (await problems(given)).found["Mail"];
      try {
        assert.equal(await mail({ ...env("open%20sesame"), ...known }), undefined);
        const refused = await check({ ...env("shut%20sesame"), ...known }, "--json");
        assert.equal(refused.status, 1);
        assert.match(
          refused.stdout,
          /smtps:\/\/localhost:\d+ does not accept emails: EAUTH .* 535/,
        );
        assert.doesNotMatch(refused.stdout + refused.stderr, /sesame|robin\.mailer/);
        assert.match(
          await mail(env("open%20sesame")) ?? "",
          /^wrong: .*(certificate|issuer)/i,
        );
        assert.equal(server.received.length, 0);
      } finally {
        await server.stop();
        await authority.dispose();
      }
      assert.match(await mail(env("open%20sesame")) ?? "", /^wrong: .*no connection/i);
      assert.match(await mail({ BASE_URL: "https://localhost:1" }) ?? "", /^warning: SMTP_URL is not set/);
    }),
});

Deno.test("check reports a proxy that removes headers and has a wrong clock, and prints a configuration for it", () =>
  inFolder(async ({ port, start, check }) => {
    const proxy = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
      const { pathname } = new URL(request.url);
      const headers = new Headers(request.headers);
      for (const name of ["origin", "cookie", "host"]) headers.delete(name);
      const upstream = await fetch(`http://127.0.0.1:${port}${pathname}`, {
        method: request.method,
        headers,
      });
      const response = new Headers(upstream.headers);
      response.set("date", new Date(Date.now() - 30_000).toUTCString());
      return new Response(upstream.body, { status: upstream.status, headers: response });
    });
    const env = {
      BASE_URL: `http://localhost:${proxy.addr.port}`,
      ALLOWED_ORIGINS: "http://localhost:3000,https://app.example.com",
    };
    try {
      await start(env);
      const { status, stdout } = await check(env);
      assert.equal(status, 1);
      const wrong = [...stdout.matchAll(/^(wrong|warning) +(.*?) {2}/gm)].map((
        [, verdict, about],
      ) => [verdict, about]);
      assert.deepEqual(wrong, [
        ["warning", "Origin https://app.example.com"],
        ["warning", "TRUSTED_PROXIES"],
        ["warning", "Clock of the public address"],
        ["wrong", "Cookie"],
        ["wrong", "Cookies of requests"],
        // The proxy also removes the query.
        ["warning", "Long redirects"],
        ["wrong", "CORS for http://localhost:3000"],
        ["wrong", "CORS for https://app.example.com"],
        ["wrong", "X-Forwarded-For"],
      ]);
      assert.match(stdout, /^wrong +Cookie .*no one can sign in/m);
      assert.match(stdout, /^wrong +CORS .*the preflight lacks Access-Control-Allow-Origin/m);
      assert.match(stdout, /→ List the proxy\. .*TRUSTED_PROXIES=127\.0\.0\.1,::1$/m);
      assert(stdout.includes(`http://localhost:${proxy.addr.port} {\n`));
      assert(stdout.includes(`reverse_proxy 127.0.0.1:${port}\n`));
      assert(stdout.includes(`server 127.0.0.1:${port};`));
      // Only the public address is unreachable.
      const broken = await check({ ...env, BASE_URL: `http://localhost:${freePort()}` }, "--json");
      assert.equal(broken.status, 1);
      assert.match(broken.stdout, /The server itself responds at 127\.0\.0\.1/);
    } finally {
      await proxy.shutdown();
    }
  }));

Deno.test("check finds names below localhost, which no resolver has to know", () =>
  inFolder(async ({ port, start, problems }) => {
    const env = {
      BASE_URL: `http://auth.acme.localhost:${port}`,
      COOKIE_DOMAIN: ".acme.localhost",
      ALLOWED_ORIGINS: `http://tiles.acme.localhost:3001`,
    };
    await start(env);
    assert.deepEqual(await problems(env), { status: 0, found: {} });
  }));

Deno.test({
  name: "check reports an invalid certificate, and prints no configuration for a proxy",
  ignore: smtpTlsMissing(),
  fn: () =>
    inFolder(async ({ port, start, check }) => {
      const authority = await testAuthority();
      const certificate = await authority.certify("localhost");
      const proxy = Deno.serve(
        { hostname: "127.0.0.1", port: 0, onListen() {}, ...certificate },
        (request) => {
          const { pathname, search } = new URL(request.url);
          const headers = new Headers(request.headers);
          headers.set("x-forwarded-for", "192.0.2.1");
          const { method, body } = request;
          return fetch(`http://127.0.0.1:${port}${pathname}${search}`, {
            method,
            body,
            headers,
            redirect: "manual",
          });
        },
      );
      const env = {
        BASE_URL: `https://localhost:${proxy.addr.port}`,
        TRUSTED_PROXIES: "127.0.0.1",
      };
      try {
        await start(env);
        const unknown = await check(env);
        assert.equal(unknown.status, 1);
        assert.match(unknown.stdout, /^wrong +Public address .* is not reachable: .*UnknownIssuer$/m);
        assert.match(unknown.stdout, /→ .*certificate for localhost\..*DENO_CERT=/);
        assert.doesNotMatch(unknown.stdout, /reverse_proxy|proxy_pass/);
        const known = await check({ ...env, DENO_CERT: authority.certPath });
        assert.match(known.stdout, /^ok +Public address .*reaches the server/m);
      } finally {
        await proxy.shutdown();
        await authority.dispose();
      }
    }),
});

Deno.test({
  name: "check writes to a libSQL server, reads its clock, and reports when it is down",
  ignore: sqldMissing() !== null,
  fn: () =>
    inFolder(async ({ start, check, problems }) => {
      const sqld = await startSqld();
      const env = { DATABASE_URL: sqld.url };
      try {
        assert.match((await problems(env)).found["Database"] ?? "", /^warning: .*no schema yet/);
        await start(env);
        const { status, stdout } = await check(env);
        assert.equal(status, 0, stdout);
        assert.match(stdout, /^ok +Database .*is writable\.$/m);
        assert.match(
          stdout,
          /^ok +SQLite +The server has version 3\.45\.1, with the WAL-reset fault: .* than the server may /m,
        );
        assert.match(stdout, /^ok +Clock of the database /m);
        assert.doesNotMatch(stdout, /^(warning|wrong)/m);
      } finally {
        await sqld.stop();
      }
      const { found } = await problems(env);
      assert.match(found["Database"] ?? "", /^wrong: /);
      assert.match(found["Public address"] ?? "", /^wrong: .*not ready/);
    }),
});

/** @returns The rows of every table, except of those where a server notes how far its own work has come. */
function contentOf(folder: string): Record<string, unknown[]> {
  const connection = new Connection(`${folder}/data/gatehouse.db`, { readOnly: true, isGuest: true });
  try {
    const tables = connection.all({
      sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%_cursor'",
      args: [],
    });
    return Object.fromEntries((tables as { name: string }[]).map(({ name }) => [
      name,
      connection.all({ sql: `SELECT * FROM "${name}"`, args: [] }),
    ]));
  } finally {
    connection.close();
  }
}
