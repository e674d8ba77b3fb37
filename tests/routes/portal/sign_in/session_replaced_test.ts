// A new session replaces the one in the request's cookie, and the least recently used one beyond the limit.
import assert from "node:assert/strict";
import { sessionsPerUserMax, signInFailuresFree } from "../../../../domain/limits.ts";
import { cookieOf, type TestApp, testApp, testPassword, type TestPerson } from "../../../support/app/app.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { me, signInAgain } from "../../../support/people/people.ts";
import {
  addPasskey,
  codeOf,
  firstStep,
  secondStep,
  signInOptions,
  twoStepPerson,
} from "../../../support/people/second_step.ts";

const path = "/api/auth/sign-in";

async function assertReplaced(test: TestApp, { from, to }: { from: string; to: Response }): Promise<void> {
  assert(to.status < 400, `${to.status} ${await to.clone().text()}`);
  assert.equal((await me(test, cookieOf(to).replace(/sign_in_step=[^;]*;? ?/, ""))).authenticated, true);
  assert.equal((await me(test, from)).authenticated, false, "the earlier session has ended");
}

const password = ({ email }: TestPerson) => ({ email, password: testPassword });

testApp(
  "a password sign-in ends the session of the request's cookie, in the API and the portal",
  async (test) => {
    const ada = await test.signUp();
    const byJson = await test.send(path, { json: password(ada), cookie: ada.cookie });
    await assertReplaced(test, { from: ada.cookie, to: byJson });
    const from = cookieOf(byJson);
    await assertReplaced(test, {
      from,
      to: await test.send("/sign-in", { form: password(ada), cookie: from }),
    });
  },
);

testApp("it ends the sessions of all cookies of the request, even another person's", async (test) => {
  const [ada, eve] = [await test.signUp(), await test.signUp("Eve")];
  const other = await signInAgain(test, ada.email);
  const cookie = [ada.cookie, "access_token=planted", eve.cookie].join("; ");
  const signedIn = await test.send(path, { json: password(ada), cookie });
  await assertReplaced(test, { from: ada.cookie, to: signedIn });
  assert.equal((await me(test, eve.cookie)).authenticated, false);
  assert.equal((await me(test, other)).authenticated, true, "a session in another browser stays");
});

testApp("a failed sign-in ends no session", async (test) => {
  const ada = await test.signUp();
  const json = { email: ada.email, password: "a wrong but long one" };
  assert.equal((await test.send(path, { json, cookie: ada.cookie })).status, 401);
  const taken = { name: "Ada", ...password(ada) };
  assert.equal((await test.send("/api/auth/sign-up", { json: taken, cookie: ada.cookie })).status, 409);
  assert.equal((await me(test, ada.cookie)).authenticated, true);
});

testApp("signing up ends the session of the request's cookie, in the API and the portal", async (test) => {
  const ada = await test.signUp();
  const made = (email: string) => ({ name: "Grace", email, password: testPassword });
  const byJson = await test.send("/api/auth/sign-up", { json: made("a@example.com"), cookie: ada.cookie });
  await assertReplaced(test, { from: ada.cookie, to: byJson });
  const from = cookieOf(byJson);
  await assertReplaced(test, {
    from,
    to: await test.send("/sign-up", { form: made("b@example.com"), cookie: from }),
  });
});

testApp("the second step ends the session of the request's cookie, and the first doesn't", async (test) => {
  const ada = await twoStepPerson(test);
  const first = await test.send(path, { json: password(ada), cookie: ada.cookie });
  const { secondStep: { token } } = await first.json();
  assert.equal((await me(test, ada.cookie)).authenticated, true);
  const to = await test.send("/api/auth/sign-in/second-step", {
    json: { token, code: codeOf(ada.secret, test.now()) },
    cookie: ada.cookie,
  });
  await assertReplaced(test, { from: ada.cookie, to });
  const from = cookieOf(to);
  const byForm = await test.send("/sign-in", { form: password(ada), cookie: from });
  const page = await test.send("/sign-in/second-step", {
    form: { code: ada.recoveryCodes[0] ?? "" },
    cookie: `${from}; ${cookieOf(byForm)}`,
  });
  await assertReplaced(test, { from, to: page });
});

testApp("a passkey sign-in ends the session of the request's cookie", async (test) => {
  const ada = await test.signUp();
  const { passkey } = await addPasskey(test, ada.cookie);
  const response = passkey.signIn(await signInOptions(test));
  const to = await test.send("/api/auth/sign-in/passkey", { json: { response }, cookie: ada.cookie });
  await assertReplaced(test, { from: ada.cookie, to });
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
