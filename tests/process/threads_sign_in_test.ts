// Tests that sign-in and reports work on any of several threads.
import assert from "node:assert/strict";
import { cookieOf, testPassword } from "../support/app/app.ts";
import { signUpAndRecord } from "../support/process/journey.ts";
import { onServer, stop } from "../support/process/scene.ts";
import { codeOf } from "../support/people/second_step.ts";
import { sendToAll } from "../support/process/threads.ts";

const threads = 4;

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

async function signsInInTwoSteps(send: Send): Promise<void> {
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

async function reports(baseUrl: string): Promise<void> {
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
}

Deno.test("four threads sign in and report as one server", (t) =>
  onServer({ env: { HTTP_THREADS: String(threads) } }, async ({ program, baseUrl }) => {
    const send = sendTo(baseUrl);
    await t.step("queries and exports work on every thread", () => reports(baseUrl));
    const twoSteps = "each step of a two-step sign-in may reach another thread, and a code works once";
    await t.step(twoSteps, () => signsInInTwoSteps(send));
    await stop(program);
  }));
