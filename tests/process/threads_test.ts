// Tests that several HTTP threads behave as one server: on one port, with one state, and with one end.
import assert from "node:assert/strict";
import { cookieOf, testPassword } from "../support/app/app.ts";
import { connectTo, requestText } from "../support/network/connection.ts";
import { type Journey, sendJson, signUpAndRecord } from "../support/process/journey.ts";
import { poll } from "../support/runner/poll.ts";
import { isReady, type Program } from "../support/process/program.ts";
import { endsWith, inScene, onServer, type Scene, stop } from "../support/process/scene.ts";
import { type ReplacedModules, replaceModule, shortenWaits, writeConfig } from "../support/process/config.ts";
import { orderFile } from "../support/process/orders.ts";
import { codeOf } from "../support/people/second_step.ts";
import { requestsByThread, sendOnce, sendToAll } from "../support/process/threads.ts";

/** Runs a test with a server of so many threads. */
function withThreads(threads: number, test: (scene: Scene) => Promise<void>): Promise<void> {
  return onServer({ env: { HTTP_THREADS: String(threads) } }, test);
}

const statusOf = (response: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(response)?.[1]);

Deno.test("four threads are one server", (t) =>
  withThreads(4, async ({ program, baseUrl }) => {
    await t.step("all threads respond with one state, and the metrics are their sum", () =>
      haveOneState(baseUrl));
    await t.step("queries and exports work on every thread", () =>
      report(baseUrl));
    await t.step(
      "each step of a two-step sign-in may reach another thread, and a code works once",
      () => signInInTwoSteps(sendTo(baseUrl)),
    );
    await stop(program);
  }));

async function haveOneState(baseUrl: string): Promise<void> {
  const responses = await sendToAll(baseUrl, "/health/live", { threads: 4 });
  assert.deepEqual([...new Set(responses.map(statusOf))], [200]);
  assert.deepEqual([...(await requestsByThread(baseUrl)).keys()].sort(), ["1", "2", "3", "4"]);
  const metrics = await (await fetch(`${baseUrl}/metrics`)).text();
  const live = 'gatehouse_http_requests_total{method="GET",route="/health/live",status="200"}';
  assert(metrics.includes(`\n${live} ${responses.length}\n`), metrics);
  assert.equal(metrics.match(/^process_start_time_seconds \S+$/gm)?.length, 1);

  // Signing in, signing out and revoking a key take effect on every thread with the next request.
  const { cookie, fullKey, keyId }: Journey = await signUpAndRecord(baseUrl);
  const everywhere = async (path: string, headers: Record<string, string>) =>
    await sendToAll(baseUrl, path, { threads: 4, headers });
  const usage = "/api/v1/usage?window=month";
  const authorization = `Bearer ${fullKey}`;
  for (const me of await everywhere("/api/auth/me", { cookie })) assert.match(me, /"ada@example\.com"/);
  for (const sums of await everywhere(usage, { authorization })) assert.equal(statusOf(sums), 200);

  await sendJson(baseUrl, `/api/portal/api-keys/${keyId}`, { method: "DELETE", cookie });
  for (const sums of await everywhere(usage, { authorization })) assert.equal(statusOf(sums), 401);
  await sendJson(baseUrl, "/api/auth/sign-out", { method: "POST", cookie });
  for (const me of await everywhere("/api/auth/me", { cookie })) assert.match(me, /"authenticated":false/);
}

Deno.test("the first requests that need the whole app may reach all threads at the same time", () =>
  withThreads(4, async ({ program, baseUrl }) => {
    const first = await fetch(`${baseUrl}/api/auth/me`, { method: "DELETE", headers: { origin: baseUrl } });
    await first.body?.cancel();
    assert.deepEqual([first.status, first.headers.get("allow")], [405, "GET, HEAD"]);
    const responses = await Promise.all(
      Array.from({ length: 24 }, (_, n) => sendOnce(baseUrl, n % 2 === 0 ? "/sign-in" : "/nowhere")),
    );
    assert.deepEqual(responses.map(statusOf), responses.map((_, n) => n % 2 === 0 ? 200 : 404));
    assert.equal((await requestsByThread(baseUrl)).size, 4);
    await stop(program);
  }));

type Send = (path: string, json: unknown, cookie?: string) => Promise<Response>;

/** @returns A function that sends JSON over a new connection. */
function sendTo(baseUrl: string): Send {
  return async (path, json, cookie = "") => {
    using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
    const headers = { origin: baseUrl, "content-type": "application/json", cookie };
    const body = JSON.stringify(json);
    const response = await fetch(`${baseUrl}${path}`, { method: "POST", headers, body, client });
    const text = await response.text();
    return new Response(text === "" ? null : text, response);
  };
}

async function signInInTwoSteps(send: Send): Promise<void> {
  const email = "grace@example.com";
  const signedUp = await send("/api/auth/sign-up", { name: "Ada", email, password: testPassword });
  const cookie = cookieOf(signedUp);
  const account = "/api/portal/account/two-step/totp";
  const { secret } = await (await send(account, {}, cookie)).json();
  const confirmed = await send(`${account}/confirm`, { code: codeOf(secret, Date.now()) }, cookie);
  const { recoveryCodes } = await confirmed.json();
  const tokens = await Promise.all(
    recoveryCodes.slice(0, 4).map(async () => {
      const { secondStep } = await (await send("/api/auth/sign-in", { email, password: testPassword }))
        .json();
      return secondStep.token;
    }),
  );
  // All with the same code.
  const finished = await Promise.all(
    tokens.map((token) => send("/api/auth/sign-in/second-step", { token, code: recoveryCodes[0] })),
  );
  const [first, ...others] = finished.map(({ status }) => status).sort();
  assert.equal(first, 200);
  // 409: the code was used after it had been checked.
  for (const status of others) assert.ok([401, 409].includes(status), String(status));
}

async function report(baseUrl: string): Promise<void> {
  const { cookie, fullKey } = await signUpAndRecord(baseUrl, "hedy@example.com");
  const authorization = `Bearer ${fullKey}`;
  const day = "usage?window=day";
  for (const sums of await sendToAll(baseUrl, `/api/v1/${day}`, { threads: 4, headers: { authorization } })) {
    assert.match(sums, /^HTTP\/1\.1 200 [^]*"sum":1\.6,/);
  }
  const csv = "/api/portal/usage.csv?window=day";
  for (const sums of await sendToAll(baseUrl, csv, { threads: 4, headers: { cookie } })) {
    assert.match(sums, /^HTTP\/1\.1 200 [^]*,1\.6,/);
  }
}

Deno.test("two threads on one port", (t) =>
  withThreads(2, async (scene) => {
    const { path, baseUrl } = scene;
    const second = "emails of all threads are on one page, and no second server starts on their port";
    await t.step(second, () => shareEmails(scene));
    await t.step("health checks write nothing while other writes succeed", async () => {
      await signUpAndRecord(baseUrl, "eve@example.com");
      const logBytes = () => Deno.statSync(`${path}-wal`).size;
      const before = logBytes();
      for (let n = 0; n < 200; n++) {
        const response = await fetch(`${baseUrl}/health/ready`);
        assert.equal(await response.text(), '{"status":"ok"}');
      }
      // The server also writes by itself now and then.
      assert(logBytes() - before < 100 * 4120, `${logBytes() - before} bytes`);
    });
  }));

async function shareEmails({ baseUrl, begin }: Scene): Promise<void> {
  const addresses = ["ada", "bob", "cleo", "dora"].map((name) => `${name}@example.com`);
  for (const email of addresses) {
    const sent = await sendTo(baseUrl)("/api/auth/sign-up", { name: "A", email, password: testPassword });
    assert.equal(sent.status, 201, await sent.text());
  }
  const pages = () => sendToAll(baseUrl, "/dev/mail", { threads: 2 });
  await poll(async () =>
    (await pages()).every((page) => addresses.every((address) => page.includes(address)))
  );
  // A second server on the same port doesn't start, although the first one shares it.
  const second = begin({ env: { PORT: new URL(baseUrl).port, DATABASE_URL: "file:other.db" } });
  await endsWith(second, 75);
  assert.match(second.output(), /cannot listen on 127\.0\.0\.1:\d+: .*in use/i);
}

Deno.test("with PORT=0, all threads listen on the port that the log names", () =>
  inScene({ env: { PORT: "0", HTTP_THREADS: "2" } }, async ({ begin }) => {
    const program = begin();
    const named = () => /"baseUrl":"(http:\/\/localhost:\d+)"/.exec(program.output())?.[1] ?? "";
    await poll(() => named() !== "");
    await sendToAll(named(), "/health/ready", { threads: 2 });
  }));

Deno.test("with one thread, the server does not share its port", () =>
  withThreads(1, async ({ program, baseUrl }) => {
    const hostname = "127.0.0.1";
    const options = { hostname, port: Number(new URL(baseUrl).port), reusePort: true };
    assert.throws(() => Deno.listen(options), Deno.errors.AddrInUse);
    assert.deepEqual([...(await requestsByThread(baseUrl)).keys()], ["1"]);
    for (const signal of ["SIGHUP", "SIGINT"] as const) program.kill(signal);
    await endsWith(program, 0);
    assert.match(program.output(), /SIGHUP ignored/);
  }));

const dyingThread = replaceModule({
  importer: "commands/serve/http_worker.ts",
  module: "commands/serve/http_server.ts",
  replacement: "tests/support/process/dying_thread.ts",
});

/** Begins a server of two threads, the second of which does what it is ordered to. */
function withOrders(
  test: (program: Program, order: (text: string) => Promise<void>) => Promise<void>,
  { first = "", changes = dyingThread }: { first?: string; changes?: ReplacedModules } = {},
): Promise<void> {
  return inScene({ env: { HTTP_THREADS: "2" } }, async ({ folder, begin }) => {
    const order = (text: string) => Deno.writeTextFile(`${folder}/${orderFile}`, text);
    await order(first);
    await test(begin({ config: await writeConfig(folder, changes) }), order);
  });
}

Deno.test("/health/ready returns 503 until all threads have started", () =>
  withOrders(async (program, order) => {
    const status = async (path: string) => statusOf(await sendOnce(program.baseUrl, path));
    await poll(async () => await status("/health/live").catch(() => 0) === 200);
    assert.equal(await status("/health/ready"), 503);
    assert.doesNotMatch(program.output(), /"listening"/);
    await order("");
    await isReady(program);
    await poll(() => /"listening".*"httpThreads":2/.test(program.output()));
    for (const ready of await sendToAll(program.baseUrl, "/health/ready", { threads: 2 })) {
      assert.equal(statusOf(ready), 200);
    }
  }, { first: "wait" }));

const deaths = { throw: "thrown by a test", reject: "rejected by a test", exit: "it ended" };
for (const [death, reason] of Object.entries(deaths)) {
  Deno.test(`a thread that dies (${death}) ends the program with status 70 and one line`, () =>
    withOrders(async (program, order) => {
      await isReady(program);
      await sendToAll(program.baseUrl, "/health/live", { threads: 2 });
      await order(death);
      await endsWith(program, 70);
      const lines = program.output().split("\n").filter((line) =>
        line.includes("stopping: a thread has died")
      );
      assert.equal(lines.length, 1, program.output());
      assert.match(lines[0] ?? "", new RegExp(`"reason":"HTTP thread 2 stopped: .*${reason}"`));
    }));
}

Deno.test("a thread that dies while the server stops ends the program with status 70", () =>
  withOrders(async (program, order) => {
    await isReady(program);
    const headers = { "content-type": "application/json", "content-length": "10" };
    const slow = await connectTo(program.baseUrl, requestText("POST", "/api/auth/sign-up", { headers }));
    try {
      program.kill("SIGTERM");
      await poll(() => program.output().includes('"stopping"'));
      await order("throw");
      await endsWith(program, 70);
      assert.match(program.output(), /HTTP thread 2 stopped: .*thrown by a test/);
    } finally {
      slow.close();
    }
  }));

Deno.test("a thread can't write files while the server runs, or keep it from ending by hanging", () => {
  const { scopes } = shortenWaits("commands/serve/serve.ts");
  return withOrders(async (program, order) => {
    await isReady(program);
    await order("write");
    await poll(() => program.output().includes("a thread can't write: NotCapable"));
    await order("hang");
    await poll(() => program.output().includes("a thread hangs"));
    await stop(program);
    assert.match(program.output(), /some connections did not end in time/);
  }, { changes: { scopes: { ...dyingThread.scopes, ...scopes } } });
});

for (
  const [order, { status, line }] of Object.entries({
    fail: { status: 75, line: "gatehouse serve: failed by a test" },
    die: { status: 70, line: /^gatehouse serve: HTTP thread 2 stopped: .*thrown by a test$/m },
  })
) {
  Deno.test(`a thread that can't start (${order}) keeps the program from starting`, () =>
    withOrders(async (program) => {
      await endsWith(program, status);
      assert.match(program.output(), new RegExp(line));
      assert.doesNotMatch(program.output(), /"listening"/);
    }, { first: order }));
}

Deno.test("where threads can't share a port, one thread serves, and the log says so", () =>
  inScene({ env: { HTTP_THREADS: "2" } }, async ({ folder, start }) => {
    const program = await start({ config: await writeConfig(folder, { unstable: ["raw-imports"] }) });
    assert.deepEqual([...(await requestsByThread(program.baseUrl)).keys()], ["1"]);
    assert.equal(program.output().split("serving with one HTTP thread").length, 2, program.output());
    await stop(program);
  }));
