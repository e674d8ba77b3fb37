// Tests `gatehouse user …` with the real program while a server keeps running.
import assert from "node:assert/strict";
import type { CommandError } from "../../commands/settings.ts";
import { userCommand } from "../../commands/user.ts";
import { Connection } from "../../db/engine/connection.ts";
import { migrations } from "../../db/engine/migrate.ts";
import { cookieOf } from "../support/app/app.ts";
import { type CommandEnd, runCommand } from "../support/process/command.ts";
import { runHere } from "../support/process/here.ts";
import { shortenWaits, writeConfig } from "../support/process/config.ts";
import { holdLock } from "../support/database/held_lock.ts";
import { sendJson } from "../support/process/journey.ts";
import { Ledger } from "../support/meter/ledger.ts";
import { repeatAll, signUpForLoad, startLoad } from "../support/meter/load.ts";
import { poll } from "../support/runner/poll.ts";
import { remoteTest } from "../support/process/remote.ts";
import { inScene, type Scene } from "../support/process/scene.ts";
import { faultRandom } from "../support/runner/random.ts";
import { freePort } from "../support/database/sqld.ts";
import { accountWords } from "../support/portal/words/account.ts";

const password = "nine green umbrellas";

/** A folder with a running server, unless `server` is false. */
interface UserScene extends Pick<Scene, "folder" | "options" | "run"> {
  /** Runs `gatehouse user …`. */
  user(...args: readonly string[]): Promise<CommandEnd>;
  /** The same with standard input. */
  userWith(stdin: string, ...args: readonly string[]): Promise<CommandEnd>;
  start(): Promise<void>;
  baseUrl(): string;
  send(path: string, options?: Parameters<typeof sendJson>[2]): Promise<Response>;
  signIn(email: string, given?: string): Promise<Response>;
}

function inFolder(
  { env = {}, server = true }: { env?: Record<string, string>; server?: boolean },
  test: (scene: UserScene) => Promise<void>,
): Promise<void> {
  const settings = { LOG_LEVEL: "warning", PORT: String(freePort()), ...env };
  return inScene({ env: settings }, async (scene) => {
    const { folder, options } = scene;
    let hasStarted = false;
    const users: UserScene = {
      ...{ folder, options, run: scene.run },
      user: async (...args) => withoutDatabase(await runHere(options, "user", ...args)),
      userWith: async (stdin, ...args) =>
        withoutDatabase(await runCommand({ ...options, stdin }, "user", ...args)),
      async start() {
        await scene.start();
        hasStarted = true;
      },
      baseUrl: () => scene.baseUrl,
      send: (path, options = {}) => sendJson(scene.baseUrl, path, options),
      signIn: (email, given = password) =>
        sendJson(scene.baseUrl, "/api/auth/sign-in", { json: { email, password: given } }),
    };
    if (server) await users.start();
    await test(users);
    if (hasStarted) assert.doesNotMatch(scene.program.output(), /error|fatal/i);
  });
}

const withoutDatabase = (end: CommandEnd): CommandEnd => ({
  ...end,
  stderr: end.stderr.replace(/^Database: .*\n/, ""),
});

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

const setPassword = (scene: UserScene, token: string) =>
  scene.send("/api/auth/password/reset", { json: { token, password } });

/** Signs in and creates a key. @returns The cookie and the key. */
async function signInAndMakeKey(
  scene: UserScene,
  email: string,
): Promise<{ cookie: string; apiKey: string }> {
  const response = await scene.signIn(email);
  assert.equal(response.status, 200, await response.text());
  const cookie = cookieOf(response);
  const created = await scene.send("/api/portal/api-keys", { cookie, json: { name: "Production" } });
  assert.equal(created.status, 201);
  return { cookie, apiKey: (await created.json()).fullKey };
}

const record = { productSlug: "tiles", metric: "requests", quantity: 1 };
const statusOf = async (response: Promise<Response>) => (await response).status;
const isSignedIn = async (scene: UserScene, cookie: string) =>
  (await (await scene.send("/api/auth/me", { cookie })).json()).authenticated;

/** Takes the first account through creation, setting a password with its link, sign-in and disabling. */
async function firstAccount(scene: UserScene): Promise<void> {
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

Deno.test("with SIGN_UP=closed nobody can sign up, and user create creates the first account", () =>
  inFolder({ env: { SIGN_UP: "closed" } }, async (scene) => {
    const account = { name: "Eve", email: "eve@example.com", password };
    assert.equal(await statusOf(scene.send("/api/auth/sign-up", { json: account })), 403);
    const page = await (await scene.send("/sign-up")).text();
    assert.ok(!page.includes('name="password"'), page);
    const headers = { origin: scene.baseUrl() };
    const body = new URLSearchParams(account);
    const posted = await fetch(`${scene.baseUrl()}/sign-up`, { method: "POST", headers, body });
    assert.equal(posted.status, 403);
    await posted.body?.cancel();
    assert.equal((await scene.user("list", "--json")).stdout, "");
    await firstAccount(scene);
  }));

Deno.test("doesn't create a database, but after migrate creates the first account before a server starts", () =>
  inFolder({ server: false }, async (scene) => {
    const { folder } = scene;
    for (const args of [["create", "ada@example.com", "--name", "Ada"], ["list"]]) {
      assertEnd(await scene.user(...args), 78, /\/data\/gatehouse\.db: the database doesn't exist/);
      assert.deepEqual([...Deno.readDirSync(folder)], []);
    }
    const migrated = await scene.run("migrate");
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

remoteTest(
  "works on a libSQL server with running servers and before the first one starts",
  async ({ url }) => {
    const email = "first@example.com";
    const fromInput = ["reset-password", email, "--password-stdin"];
    await inFolder({ env: { DATABASE_URL: url, SIGN_UP: "closed" }, server: false }, async (scene) => {
      assertEnd(await scene.user("list"), 78, /has no tables yet/);
      assert.equal((await scene.run("migrate")).status, 0);
      tokenOf(await scene.user("create", email, "--name", "First"));
      assertEnd(await scene.user("disable", email), 0);
      assertEnd(await scene.userWith("short", ...fromInput), 65);
      await scene.start();
      assertEnd(await scene.user("enable", email), 0);
      assertEnd(await scene.userWith(password, ...fromInput), 0);
      const { cookie, apiKey } = await signInAndMakeKey(scene, email);
      assertEnd(await scene.user("disable", email, "--revoke-keys"), 0, /Revoked 1 active API key/);
      assert.equal(await isSignedIn(scene, cookie), false);
      assert.equal(await statusOf(scene.send("/api/v1/usage", { apiKey, json: record })), 401);
    });
    await inFolder({ env: { DATABASE_URL: "http://127.0.0.1:1" }, server: false }, async (scene) => {
      assertEnd(await scene.user("list"), 75, /127\.0\.0\.1:1/);
    });
  },
);

Deno.test("disabling an account ends its sessions on the next request, and revokes keys only on request", () =>
  inFolder({}, async (scene) => {
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
  inFolder({ server: false }, async (scene) => {
    const secret = "s3cret-value";
    for (
      const line of [
        "",
        "dance",
        `list ${secret}`,
        "create",
        "create a@example.com",
        "create a@example.com b@example.com --name A",
        "create a@example.com --name --role",
        "create a@example.com --name A --name B",
        `create a@example.com --name A --password=${secret}`,
        `create a@example.com --name A --password-stdin=${secret}`,
        "create a@example.com --name A --join org_1",
        "create a@example.com --name A --join org_1 --role BOSS",
        "create a@example.com --name A --organization O --join org_1 --role OWNER",
        "disable a@example.com -r",
      ]
    ) {
      const settings = { DATABASE_URL: `file:${scene.folder}/gatehouse.db` };
      const args = line.split(" ").filter((word) => word !== "");
      await assert.rejects(userCommand(args, settings), (error: CommandError) => {
        assert.ok(!error.message.includes(secret), error.message);
        return error.status === 64;
      }, line);
    }
    assertEnd(await scene.user("disable", "a@example.com", "-r"), 64);
    assert.deepEqual([...Deno.readDirSync(scene.folder)], [], "no file was created");
    assert.equal((await scene.run("migrate")).status, 0);
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

Deno.test("doesn't migrate or write next to a server of another version", {
  ignore: migrations.length < 2,
}, () =>
  inFolder({}, async (scene) => {
    const connection = new Connection(`${scene.folder}/data/gatehouse.db`, { readOnly: false });
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
  inScene({}, async ({ folder, path, options, start }) => {
    const waitsLess = {
      ...options,
      config: await writeConfig(folder, shortenWaits("db/engine/connection.ts")),
    };
    await start(waitsLess);
    const user = async (...args: readonly string[]) =>
      withoutDatabase(await runCommand(waitsLess, "user", ...args));
    const lock = holdLock(path);
    const create = () => user("create", "ada@example.com", "--name", "Ada");
    assertEnd(await create(), 75, /try again/);
    // Reading doesn't need the lock.
    assertEnd(await user("list"), 0);
    lock.release();
    tokenOf(await create());
  }));

Deno.test("creates and disables accounts while a server records, and loses nothing", () =>
  inFolder({ env: { API_KEY_REQUESTS_PER_SECOND: "0", HTTP_THREADS: "2" } }, async (scene) => {
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
