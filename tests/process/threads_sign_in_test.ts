// Tests that sign-in and reports work on any of several threads, and that their limits count for all of them.
import assert from "node:assert/strict";
import { addressFailuresMax } from "../../domain/limits.ts";
import { cookieOf, testPassword } from "../support/app/app.ts";
import { signUpAndRecord } from "../support/process/journey.ts";
import { isReady, killProgram, startProgram } from "../support/process/program.ts";
import { codeOf } from "../support/people/second_step.ts";
import { sendToAll } from "../support/process/threads.ts";

const threads = 4;

/** Runs a test with a server of four threads. `send` sends JSON over a new connection. */
async function withThreads(
  test: (
    baseUrl: string,
    send: (path: string, json: unknown, cookie?: string) => Promise<Response>,
  ) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-threads-" });
  const program = startProgram({ folder, env: { HTTP_THREADS: String(threads) } });
  const { baseUrl } = program;
  const send = async (path: string, json: unknown, cookie = "") => {
    const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
    const headers = { origin: baseUrl, "content-type": "application/json", cookie };
    const body = JSON.stringify(json);
    const response = await fetch(`${baseUrl}${path}`, { method: "POST", headers, body, client });
    const text = await response.text();
    client.close();
    return new Response(text === "" ? null : text, response);
  };
  try {
    await isReady(program);
    await test(baseUrl, send);
    program.kill("SIGTERM");
    assert.equal(await program.ended(), 0, program.output());
  } finally {
    await killProgram(program);
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("an address has its failed sign-ins once, whichever threads they reach", () =>
  withThreads(async (_baseUrl, send) => {
    const responses = await Promise.all(
      Array.from(
        { length: 4 * addressFailuresMax },
        (_, n) => send("/api/auth/sign-in", { email: `nobody${n}@example.com`, password: testPassword }),
      ),
    );
    const count = (status: number) => responses.filter((response) => response.status === status).length;
    assert.deepEqual([count(401), count(429)], [addressFailuresMax, 3 * addressFailuresMax]);
  }));

Deno.test("each step of a two-step sign-in may reach another thread, and a code works once", () =>
  withThreads(async (_baseUrl, send) => {
    const email = "ada@example.com";
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
  }));

Deno.test("queries and exports work on every thread", () =>
  withThreads(async (baseUrl) => {
    const { cookie, fullKey } = await signUpAndRecord(baseUrl);
    const authorization = `Bearer ${fullKey}`;
    const day = "usage?window=day";
    for (const sums of await sendToAll(baseUrl, `/api/v1/${day}`, { threads, headers: { authorization } })) {
      assert.match(sums, /^HTTP\/1\.1 200 [^]*"sum":1\.6,/);
    }
    const csv = "/api/portal/usage.csv?window=day";
    for (const sums of await sendToAll(baseUrl, csv, { threads, headers: { cookie } })) {
      assert.match(sums, /^HTTP\/1\.1 200 [^]*,1\.6,/);
    }
  }));
