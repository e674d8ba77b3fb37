// A new session replaces the one in the request's cookie, and the least recently used one beyond the limit.
import assert from "node:assert/strict";
import { sessionsPerUserMax, signInFailuresFree } from "../../../../domain/limits.ts";
import { cookieOf, type TestApp, testApp, testPassword, type TestPerson } from "../../../support/app/app.ts";
import { assertRows, sendRow } from "../../../support/app/rows.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { me, signInAgain } from "../../../support/people/people.ts";
import {
  addPasskey,
  codeOf,
  firstStep,
  secondStep,
  signInOptions,
  type TwoStepPerson,
  twoStepPerson,
} from "../../../support/people/second_step.ts";
import type { TestPage } from "../../../support/portal/pages.ts";

const path = "/api/auth/sign-in";
const password = ({ email }: TestPerson) => ({ email, password: testPassword });

async function isLive(test: TestApp, cookie: string): Promise<boolean> {
  return (await me(test, cookie)).authenticated;
}

/** Requests that sign in, each sent with the cookie of an earlier session. */
const ways: Readonly<
  Record<string, (test: TestApp, ada: TwoStepPerson, cookie: string) => Promise<TestPage>>
> = {
  "a password in the API": async (test, _, cookie) =>
    await sendRow(test, { cookie }, `POST ${path}`, password(await test.signUp())),
  "a password in the portal": async (test, _, cookie) =>
    await sendRow(test, { cookie }, "POST /sign-in", password(await test.signUp())),
  "signing up in the API": (test, _, cookie) =>
    sendRow(test, { cookie }, "POST /api/auth/sign-up", { name: "Grace", ...newAccount }),
  "signing up in the portal": (test, _, cookie) =>
    sendRow(test, { cookie }, "POST /sign-up", { name: "Grace", ...newAccount }),
  "the second step in the API": async (test, ada, cookie) => {
    const { html } = await sendRow(test, { cookie }, `POST ${path}`, password(ada));
    assert.equal(await isLive(test, cookie), true, "the first step ends no session");
    const { secondStep: { token } } = JSON.parse(html);
    const body = { token, code: codeOf(ada.secret, test.now()) };
    return await sendRow(test, { cookie }, `POST ${path}/second-step`, body);
  },
  "the second step in the portal": async (test, ada, cookie) => {
    const { answer } = await sendRow(test, { cookie }, "POST /sign-in", password(ada));
    assert.equal(await isLive(test, cookie), true, "the first step ends no session");
    const both = { cookie: `${cookie}; ${cookieOf(answer)}` };
    return await sendRow(test, both, "POST /sign-in/second-step", { code: ada.recoveryCodes[0] });
  },
  "a passkey": async (test, ada, cookie) => {
    const { passkey } = await addPasskey(test, ada.cookie);
    const response = passkey.signIn(await signInOptions(test));
    return await sendRow(test, { cookie }, `POST ${path}/passkey`, { response });
  },
};
const newAccount = { email: "grace@example.com", password: testPassword };

for (const [way, signIn] of Object.entries(ways)) {
  testApp(`${way} ends the session of the request's cookie`, async (test) => {
    const ada = await twoStepPerson(test);
    const { cookie } = await test.signUp("Eve");
    const { status, html, answer } = await signIn(test, ada, cookie);
    assert.ok(status < 400, html);
    assert.equal(await isLive(test, cookieOf(answer)), true);
    assert.equal(await isLive(test, cookie), false, "the earlier session has ended");
    assert.equal(await isLive(test, ada.cookie), true, "a session in another browser stays");
  });
}

testApp("signing in ends the sessions of all cookies of the request", async (test) => {
  const [ada, eve] = [await test.signUp(), await test.signUp("Eve")];
  const other = await signInAgain(test, ada.email);
  const cookie = [ada.cookie, "access_token=planted", eve.cookie].join("; ");
  const { answer } = await assertRows(test, { cookie }, [[`POST ${path}`, password(ada), 200]]);
  assert.equal(await isLive(test, cookieOf(answer)), true);
  for (const { cookie } of [ada, eve]) assert.equal(await isLive(test, cookie), false);
  assert.equal(await isLive(test, other), true, "a session in another browser stays");
});

testApp("a failed sign-in ends no session", async (test) => {
  const ada = await test.signUp();
  await assertRows(test, ada, [
    [`POST ${path}`, { email: ada.email, password: "a wrong but long one" }, 401],
    ["POST /api/auth/sign-up", { name: "Ada", ...password(ada) }, 409],
  ]);
  assert.equal(await isLive(test, ada.cookie), true);
});

testApp("a person has at most fifty sessions: the least recently used one ends", async (test) => {
  const ada = await test.signUp();
  const cookies: string[] = [ada.cookie];
  for (let n = 1; n < sessionsPerUserMax; n++) {
    test.advance(1_000);
    cookies.push(await signInAgain(test, ada.email));
  }
  for (const cookie of cookies) assert.equal((await me(test, cookie)).authenticated, true);
  test.advance(6 * 60_000);
  assert.equal((await me(test, ada.cookie)).authenticated, true, "the first session was used");
  test.advance(1_000);
  const newest = await signInAgain(test, ada.email);
  const alive = await Promise.all([...cookies, newest].map((cookie) => me(test, cookie)));
  assert.deepEqual(alive.flatMap(({ authenticated }, n) => authenticated ? [] : [n]), [1]);
});

/** Asserts how many of these sessions are live, and that their person sees them all. */
async function assertLive(test: TestApp, cookies: readonly string[], expected: number): Promise<void> {
  const states = await Promise.all(cookies.map((cookie) => me(test, cookie)));
  const live = cookies.filter((_, n) => states[n]?.authenticated);
  assert.equal(live.length, expected);
  const listed = await test.send("/api/auth/sessions", { cookie: live[0] ?? "" });
  assert.equal((await listed.json()).sessions.length, expected);
}

onEveryDatabase("concurrent sign-ins of every kind never leave more than fifty sessions", async (test) => {
  const ada = await twoStepPerson(test);
  const { passkey } = await addPasskey(test, ada.cookie);
  const cookies = [ada.cookie];
  const finish = async (sent: Promise<Response>) => {
    const response = await sent;
    assert.equal(response.status, 200, await response.clone().text());
    cookies.push(cookieOf(response));
  };
  for (const code of ada.recoveryCodes) {
    const step = await firstStep(test, ada.email);
    const byPasskey: object[] = [{
      token: step,
      response: passkey.signIn(await signInOptions(test, step)),
    }];
    for (let n = 0; n < 4; n++) byPasskey.push({ response: passkey.signIn(await signInOptions(test)) });
    const token = await firstStep(test, ada.email);
    await Promise.all([
      ...byPasskey.map((json) => finish(test.send("/api/auth/sign-in/passkey", { json }))),
      finish(secondStep(test, { token, code })),
    ]);
    await assertLive(test, cookies, Math.min(cookies.length, sessionsPerUserMax));
  }
  assert(cookies.length > sessionsPerUserMax);

  const eve = await test.signUp("Eve");
  const others = [eve.cookie];
  for (let round = 0; round < 15; round++) {
    // More at the same time would be delayed as guesses.
    const signIns = Array.from({ length: signInFailuresFree - 1 }, () => signInAgain(test, eve.email));
    others.push(...await Promise.all(signIns));
    if (round % 5 === 4) await assertLive(test, others, Math.min(others.length, sessionsPerUserMax));
  }
  assert(others.length > sessionsPerUserMax);
});
