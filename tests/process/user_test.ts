// Tests `gatehouse user …` with the real program while a server keeps running.
import assert from "node:assert/strict";
import type { CommandError } from "../../commands/settings.ts";
import { userCommand } from "../../commands/user.ts";
import { Connection } from "../../db/engine/connection.ts";
import { migrations } from "../../db/engine/migrate.ts";
import { cookieOf } from "../support/app/app.ts";
import { runCommand } from "../support/process/command.ts";
import { runHere } from "../support/process/here.ts";
import { shortenWaits, writeConfig } from "../support/process/config.ts";
import { holdLock } from "../support/database/held_lock.ts";
import { sendJson } from "../support/process/journey.ts";
import { Ledger } from "../support/meter/ledger.ts";
import { repeatAll, signUpForLoad, startLoad } from "../support/meter/load.ts";
import { poll } from "../support/runner/poll.ts";
import {
  isReady,
  killProgram,
  type Program,
  type ProgramOptions,
  startProgram,
} from "../support/process/program.ts";
import { isFull } from "../support/runner/extent.ts";
import { faultRandom } from "../support/runner/random.ts";
import { freePort, sqldMissing, startSqld } from "../support/database/sqld.ts";
import { accountWords } from "../support/portal/words/account.ts";
import { type CommandEnd, userCommand as runUserCommand } from "../support/process/user_command.ts";

const password = "nine green umbrellas";

/** A folder with a running server, unless `server` is false. */
interface Scene {
  readonly options: ProgramOptions;
  /** Runs `gatehouse user …`. */
  user(...args: readonly string[]): Promise<CommandEnd>;
  /** The same with standard input. */
  userWith(stdin: string, ...args: readonly string[]): Promise<CommandEnd>;
  start(): Promise<Program>;
  /** Base URL of the server started last. */
  baseUrl(): string;
  send(path: string, options?: Parameters<typeof sendJson>[2]): Promise<Response>;
  signIn(email: string, given?: string): Promise<Response>;
}

async function inScene(
  { env = {}, server = true, waitsLess = false }: {
    env?: Record<string, string>;
    server?: boolean;
    /** Whether programs wait less for the lock of the data file. */
    waitsLess?: boolean;
  },
  test: (scene: Scene) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-user-" });
  const config = waitsLess ? await writeConfig(folder, shortenWaits("db/engine/connection.ts")) : undefined;
  const port = String(freePort());
  const options = { folder, config, env: { LOG_LEVEL: "warning", HTTP_THREADS: "1", PORT: port, ...env } };
  const programs: Program[] = [];
  const baseUrl = () => programs.at(-1)?.baseUrl ?? "";
  const scene: Scene = {
    options,
    baseUrl,
    async user(...args) {
      // A variant of the program needs its own process.
      if (waitsLess) return await runUserCommand(options, ...args);
      const end = await runHere({ folder, env: options.env }, "user", ...args);
      return { ...end, stderr: end.stderr.replace(/^Database: .*\n/, "") };
    },
    userWith: (stdin, ...args) => runUserCommand({ ...options, stdin }, ...args),
    async start() {
      const program = startProgram(options);
      programs.push(program);
      await isReady(program);
      return program;
    },
    send: (path, options = {}) => sendJson(baseUrl(), path, options),
    signIn: (email, given = password) =>
      sendJson(baseUrl(), "/api/auth/sign-in", { json: { email, password: given } }),
  };
  try {
    if (server) await scene.start();
    await test(scene);
    // A server that waits less reports its own work that the test's lock delays.
    if (waitsLess) return;
    for (const program of programs) assert.doesNotMatch(program.output(), /error|fatal/i);
  } finally {
    for (const program of programs) await killProgram(program);
    await Deno.remove(folder, { recursive: true });
  }
}

function assertEnd(end: CommandEnd, status: number, words: RegExp = /(?:)/): void {
  assert.equal(end.status, status, end.stdout + end.stderr);
  assert.match(end.stdout + end.stderr, words);
  if (status === 0) return;
  assert.equal(end.stdout, "");
  assert.equal(end.stderr.trim().split("\n").length, 1, end.stderr);
}

/** Asserts that standard output has only a link. @returns The token of the link. */
function tokenOf({ status, stdout, stderr }: CommandEnd): string {
  assert.equal(status, 0, stderr);
  const token = /^http:\/\/localhost:\d+\/reset-password\?token=([\w-]{43})\n$/.exec(stdout)?.[1];
  assert.ok(token, stdout);
  assert.ok(!stderr.includes(token));
  return token;
}

async function bodyWithoutId(response: Response): Promise<string> {
  return JSON.stringify({ status: response.status, ...await response.json(), requestId: null });
}

const setPassword = (scene: Scene, token: string) =>
  scene.send("/api/auth/password/reset", { json: { token, password } });

/** Signs in and creates a key. @returns The cookie and the key. */
async function signInAndMakeKey(scene: Scene, email: string): Promise<{ cookie: string; apiKey: string }> {
  const response = await scene.signIn(email);
  assert.equal(response.status, 200, await response.text());
  const cookie = cookieOf(response);
  const created = await scene.send("/api/portal/api-keys", { cookie, json: { name: "Production" } });
  assert.equal(created.status, 201);
  return { cookie, apiKey: (await created.json()).fullKey };
}

const record = { productSlug: "tiles", metric: "requests", quantity: 1 };
const statusOf = async (response: Promise<Response>) => (await response).status;
const isSignedIn = async (scene: Scene, cookie: string) =>
  (await (await scene.send("/api/auth/me", { cookie })).json()).authenticated;

/** Takes the first account through creation, setting a password with its link, sign-in and disabling. */
async function firstAccount(scene: Scene): Promise<void> {
  const email = "ada@example.com";
  const token = tokenOf(
    await scene.user("create", "Ada@Example.com", "--name", "Ada", "--organization", "Engines"),
  );
  // Until the link is used, no password works, and the response is the same as for an unknown address.
  assert.equal(
    await bodyWithoutId(await scene.signIn(email, token)),
    await bodyWithoutId(await scene.signIn("nobody@example.com", token)),
  );
  assert.equal(await statusOf(setPassword(scene, token)), 204);
  assert.equal(await statusOf(setPassword(scene, token)), 404);
  const response = await scene.signIn(email);
  const cookie = cookieOf(response);
  const me = await response.json();
  assert.deepEqual(
    [me.user.email, me.user.emailVerified, me.role, me.memberships[0].name],
    [email, true, "OWNER", "Engines"],
  );
  const before = (await scene.user("list", "--json")).stdout;
  assertEnd(await scene.user("create", "ADA@example.com", "--name", "Eve"), 65, /already/);
  assert.equal((await scene.user("list", "--json")).stdout, before);
  const [line] = before.trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(line.organizations, [{ id: me.organizationId, name: "Engines", role: "OWNER" }]);
  assert.equal(line.lastSignInAt.slice(0, 4), String(new Date().getUTCFullYear()));
  assertEnd(await scene.user("disable", email), 0);
  assert.equal(await isSignedIn(scene, cookie), false);
}

for (const signUp of isFull ? ["closed", "invite"] : ["closed"]) {
  Deno.test(`with SIGN_UP=${signUp} nobody can sign up, and user create creates the first account`, () =>
    inScene({ env: { SIGN_UP: signUp } }, async (scene) => {
      const account = { name: "Eve", email: "eve@example.com", password };
      const refused = await scene.send("/api/auth/sign-up", { json: account });
      assert.equal(refused.status, 403);
      assert.equal((await refused.json()).error.code, "sign_up_closed");
      const page = await (await scene.send("/sign-up")).text();
      assert.ok(!page.includes('name="password"'), page);
      const origin = scene.baseUrl();
      const posted = await fetch(`${origin}/sign-up`, {
        method: "POST",
        headers: { origin },
        body: new URLSearchParams(account),
      });
      assert.equal(posted.status, 403);
      await posted.body?.cancel();
      assert.equal((await scene.user("list", "--json")).stdout, "");
      if (signUp === "closed") await firstAccount(scene);
      else tokenOf(await scene.user("create", "ada@example.com", "--name", "Ada"));
    }));
}

Deno.test("doesn't create a database, but after migrate creates the first account before a server starts", () =>
  inScene({ server: false }, async (scene) => {
    const { folder } = scene.options;
    for (const args of [["create", "ada@example.com", "--name", "Ada"], ["list"]]) {
      assertEnd(await scene.user(...args), 78, /\/data\/gatehouse\.db: the database doesn't exist/);
      assert.deepEqual([...Deno.readDirSync(folder)], []);
    }
    const migrated = await runCommand(scene.options, "migrate");
    assert.deepEqual([migrated.status, migrated.stderr], [
      0,
      `Database: ${Deno.realPathSync(folder)}/data/gatehouse.db\n`,
    ]);
    assertEnd(
      await scene.userWith(`${password}\n`, "create", "ada@example.com", "--name", "Ada", "--password-stdin"),
      0,
    );
    await scene.start();
    assert.equal(await statusOf(scene.signIn("ada@example.com")), 200);
  }));

Deno.test({
  name: "works on a libSQL server with running servers and before the first one starts",
  ignore: sqldMissing() !== null,
  async fn() {
    const sqld = await startSqld();
    try {
      await inScene({ env: { DATABASE_URL: sqld.url, SIGN_UP: "closed" }, server: false }, async (scene) => {
        assertEnd(await scene.user("list"), 78, /has no tables yet/);
        assert.equal((await runCommand(scene.options, "migrate")).status, 0);
        tokenOf(await scene.user("create", "first@example.com", "--name", "First"));
        assertEnd(await scene.user("disable", "first@example.com"), 0);
        assertEnd(
          await scene.userWith("short", "reset-password", "first@example.com", "--password-stdin"),
          65,
        );
        await scene.start();
        assertEnd(await scene.user("enable", "first@example.com"), 0);
        const set = await scene.userWith(password, "reset-password", "first@example.com", "--password-stdin");
        assertEnd(set, 0);
        const { cookie, apiKey } = await signInAndMakeKey(scene, "first@example.com");
        assertEnd(
          await scene.user("disable", "first@example.com", "--revoke-keys"),
          0,
          /Revoked 1 active API key/,
        );
        assert.equal(await isSignedIn(scene, cookie), false);
        assert.equal(await statusOf(scene.send("/api/v1/usage", { apiKey, json: record })), 401);
      });
      await inScene({ env: { DATABASE_URL: "http://127.0.0.1:1" }, server: false }, async (scene) => {
        assertEnd(await scene.user("list"), 75, /127\.0\.0\.1:1/);
      });
    } finally {
      await sqld.stop();
    }
  },
});

Deno.test("disabling an account ends its sessions on the next request, and revokes keys only on request", () =>
  inScene({}, async (scene) => {
    const email = "ada@example.com";
    assertEnd(await scene.userWith(password, "create", email, "--name", "Ada", "--password-stdin"), 0);
    const { cookie, apiKey } = await signInAndMakeKey(scene, email);
    const link = tokenOf(await scene.user("reset-password", email));
    const wrong = await bodyWithoutId(await scene.signIn(email, "not the password"));
    assert.equal(await isSignedIn(scene, cookie), true, "a password link must not end sessions");

    assertEnd(await scene.user("disable", email), 0, /1 active API key still works/);
    assert.equal(await isSignedIn(scene, cookie), false);
    assert.equal(await bodyWithoutId(await scene.signIn(email)), wrong);
    assert.equal(await statusOf(setPassword(scene, link)), 404);
    assertEnd(await scene.user("reset-password", email), 65, /disabled/);
    assert.equal(await statusOf(scene.send("/api/v1/usage", { apiKey, json: record })), 201);

    assertEnd(
      await scene.user("disable", email, "--revoke-keys"),
      0,
      /already.*\n.*Revoked 1 active API key/,
    );
    assert.equal(await statusOf(scene.send("/api/v1/usage", { apiKey, json: record })), 401);
    assertEnd(await scene.user("enable", email), 0);
    assertEnd(await scene.user("enable", email), 0, /not disabled/);
    assert.equal(await isSignedIn(scene, cookie), false, "ended sessions must stay ended");
    assert.equal(await statusOf(scene.signIn(email)), 200);
  }));

Deno.test("exits with 64 for invalid arguments and 67 for an unknown address, and never prints their values", () =>
  inScene({ server: false }, async (scene) => {
    const secret = "s3cret-value";
    for (
      const args of [
        [],
        ["dance"],
        ["list", secret],
        ["create"],
        ["create", "a@example.com"],
        ["create", "a@example.com", "b@example.com", "--name", "A"],
        ["create", "a@example.com", "--name", "--role"],
        ["create", "a@example.com", "--name", "A", "--name", "B"],
        ["create", "a@example.com", "--name", "A", `--password=${secret}`],
        ["create", "a@example.com", "--name", "A", `--password-stdin=${secret}`],
        ["create", "a@example.com", "--name", "A", "--join", "org_1"],
        ["create", "a@example.com", "--name", "A", "--join", "org_1", "--role", "BOSS"],
        [
          "create",
          "a@example.com",
          "--name",
          "A",
          "--organization",
          "O",
          "--join",
          "org_1",
          "--role",
          "OWNER",
        ],
        ["disable", "a@example.com", "-r"],
      ]
    ) {
      const settings = { DATABASE_URL: `file:${scene.options.folder}/gatehouse.db` };
      await assert.rejects(userCommand(args, settings), (error: CommandError) => {
        assert.ok(!error.message.includes(secret), error.message);
        return error.status === 64;
      });
    }
    assertEnd(await scene.user("disable", "a@example.com", "-r"), 64);
    assert.deepEqual([...Deno.readDirSync(scene.options.folder)], [], "no file was created");
    assert.equal((await runCommand(scene.options, "migrate")).status, 0);
    const help = await scene.user("create", "--help");
    assertEnd(help, 0, /Exit status/);
    for (
      const word of ["create", "list", "disable", "enable", "reset-password", "64", "65", "67", "75", "78"]
    ) {
      assert.ok(help.stdout.includes(word), word);
    }
    assertEnd(await scene.user("disable", "nobody@example.com"), 67, new RegExp(accountWords.unknownEmail));
    assertEnd(await scene.user("create", "no address", "--name", "A"), 65);
    const joining = ["create", "a@example.com", "--name", "A", "--join", "org_1", "--role", "member"];
    assertEnd(await scene.user(...joining), 65, /“join”/);
    assertEnd(
      await scene.userWith("umbrellas\n", "create", "a@example.com", "--name", "A", "--password-stdin"),
      65,
    );
    assert.equal((await scene.user("list", "--json")).stdout, "");
  }));

Deno.test("doesn't migrate or write next to a server of another version", () =>
  inScene({}, async (scene) => {
    const connection = new Connection(`${scene.options.folder}/data/gatehouse.db`, { readOnly: false });
    const create = () => scene.user("create", "ada@example.com", "--name", "Ada");
    const last = migrations.at(-1)?.number ?? 0;
    const count = () => connection.first({ sql: "SELECT count(*) AS n FROM schema_migrations", args: [] });
    try {
      connection.exec(`UPDATE schema_migrations SET number = 99 WHERE number = ${last}`);
      assertEnd(await create(), 78, /newer|changed/);
      connection.exec("DELETE FROM schema_migrations WHERE number = 99");
      assertEnd(await create(), 78, /lacks migration/);
      assert.deepEqual(count(), { n: migrations.length - 1 });
      assert.deepEqual(connection.first({ sql: "SELECT count(*) AS n FROM users", args: [] }), { n: 0 });
    } finally {
      connection.close();
    }
  }));

Deno.test("exits with 75 and one line while another process holds the lock, and works afterwards", () =>
  inScene({ waitsLess: true }, async (scene) => {
    const lock = holdLock(`${scene.options.folder}/data/gatehouse.db`);
    const create = () => scene.user("create", "ada@example.com", "--name", "Ada");
    assertEnd(await create(), 75, /try again/);
    // Reading doesn't need the lock.
    assertEnd(await scene.user("list"), 0);
    lock.release();
    tokenOf(await create());
  }));

Deno.test("creates and disables accounts while a server records, and loses nothing", () =>
  inScene({ env: { API_KEY_REQUESTS_PER_SECOND: "0", HTTP_THREADS: "2" } }, async (scene) => {
    const random = faultRandom("user_test.ts");
    const baseUrl = scene.baseUrl();
    const { apiKeys, cookie } = await signUpForLoad(baseUrl);
    const ledger = new Ledger({ random, apiKeys });
    const load = startLoad({ ledger, random, targets: [baseUrl], singleClients: 4, batchClients: 1 });
    await poll(() => ledger.answered > 50);
    for (let n = 0; n < 2; n++) {
      const answered = ledger.answered;
      const email = `person${n}@example.com`;
      assertEnd(await scene.userWith(password, "create", email, "--name", "P", "--password-stdin"), 0);
      const signedIn = cookieOf(await scene.signIn(email));
      assertEnd(await scene.user("disable", email), 0);
      assert.equal(await isSignedIn(scene, signedIn), false);
      assert.ok(ledger.answered > answered, "recording stopped");
    }
    await load.stop();
    assert.deepEqual(ledger.surprises, []);
    assert.deepEqual(ledger.unanswered, [], "a record was rejected");
    await repeatAll(baseUrl, ledger);
    assert.equal(await isSignedIn(scene, cookie), true);
  }));
