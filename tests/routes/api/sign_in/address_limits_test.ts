// Limits by client address: they count failures, not successes, and don't affect people who are signed in.
import assert from "node:assert/strict";
import {
  addressFailuresMax,
  addressSignUpsMax,
  addressSignUpWindowMs,
  passwordHashesWaitingMax,
  signInFailuresFree,
} from "../../../../domain/limits.ts";
import { assertError, cookieOf, type TestApp, testApp, testPassword } from "../../../support/app/app.ts";
import { me } from "../../../support/people/people.ts";

const office = "10.40.0.1";
const wrong = "a wrong but long one";
const signIn = (test: TestApp, email: string, password = testPassword, peerAddress = office) =>
  test.send("/api/auth/sign-in", { json: { email, password }, peerAddress });
const signUp = (test: TestApp, email: string) =>
  test.send("/api/auth/sign-up", {
    json: { name: "Ada", email, password: testPassword },
    peerAddress: office,
  });

testApp(
  "many colleagues behind one address sign up and sign in, one by one and simultaneously",
  async (test) => {
    const emails = Array.from({ length: 15 }, (_, n) => `colleague${n}@example.com`);
    for (const email of emails) assert.equal((await signUp(test, email)).status, 201);
    for (const email of emails) assert.equal((await signIn(test, email)).status, 200);
    const together = await Promise.all(emails.map((email) => signIn(test, email)));
    assert.deepEqual(together.map(({ status }) => status), emails.map(() => 200));
  },
);

testApp("successes with another account don't reset failures", async (test) => {
  const people = [];
  for (let n = 0; n <= addressFailuresMax; n++) people.push(await test.signUp());
  const [own, ...others] = people as [typeof people[number], ...typeof people];
  for (const { email } of others) {
    assert.equal((await signIn(test, email, wrong)).status, 401);
    const mine = await signIn(test, own.email);
    assert.equal(mine.status, email === others.at(-1)?.email ? 429 : 200);
  }
  await assertError(await signIn(test, "another@example.com", wrong), 429, "rate_limited");
});

testApp("of many simultaneous wrong guesses from one address, ten are checked", async (test) => {
  const responses = await Promise.all(
    Array.from({ length: 30 }, (_, n) => signIn(test, `person${n}@example.com`, wrong)),
  );
  const statuses = responses.map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 401).length, addressFailuresMax);
  assert.equal(statuses.filter((status) => status === 429).length, 30 - addressFailuresMax);
});

testApp("probing for accounts by sign-up counts as failures", async (test) => {
  const ada = await test.signUp();
  for (let n = 0; n < addressFailuresMax; n++) {
    await assertError(await signUp(test, ada.email), 409, "email_taken");
  }
  await assertError(await signUp(test, ada.email), 429, "rate_limited");
  await assertError(await signUp(test, "new@example.com"), 429, "rate_limited");
});

testApp(
  "limits accounts per hour from one IP address, where people can still sign in",
  async (test) => {
    for (let n = 0; n < addressSignUpsMax; n++) {
      assert.equal((await signUp(test, `new${n}@example.com`)).status, 201);
    }
    const limited = await signUp(test, "more@example.com");
    assert(Number(limited.headers.get("retry-after")) > 0);
    await assertError(limited, 429, "rate_limited");
    assert.equal((await signIn(test, "new0@example.com")).status, 200);
    test.advance(addressSignUpWindowMs);
    assert.equal((await signUp(test, "more@example.com")).status, 201);
  },
);

testApp("concurrent password checks of one client's sessions leave room for others", async (test) => {
  const [ada, bob] = [await test.signUp(), await test.signUp()];
  const sessions: string[] = [];
  for (let n = 0; n < 14; n++) sessions.push(cookieOf(await signIn(test, ada.email)));
  const confirmations = sessions.flatMap((cookie) =>
    Array.from({ length: signInFailuresFree - 1 }, () =>
      test.send("/api/portal/account/proof", {
        cookie,
        json: { password: testPassword },
        peerAddress: office,
      }))
  );
  assert(confirmations.length > passwordHashesWaitingMax);
  const colleague = signIn(test, bob.email, testPassword, "10.40.0.2");
  assert.equal((await colleague).status, 200);
  for (const { status } of await Promise.all(confirmations)) assert.equal(status, 204);
});

testApp(
  "a stranger's failed sign-ins don't keep a signed-in person from confirming their password",
  async (test) => {
    const ada = await test.signUp();
    for (let n = 0; n < addressFailuresMax; n++) {
      const password = n < signInFailuresFree ? wrong : testPassword;
      await signIn(test, n < signInFailuresFree ? ada.email : `other${n}@example.com`, password);
    }
    assert.equal((await signIn(test, ada.email)).status, 429, "the account and the address are limited");
    const prove = (password: string, peerAddress = office) =>
      test.send("/api/portal/account/proof", { cookie: ada.cookie, json: { password }, peerAddress });
    assert.equal((await prove(testPassword)).status, 204);
    const changed = await test.send("/api/auth/password/change", {
      cookie: ada.cookie,
      json: { currentPassword: testPassword, newPassword: "another 7 fine battery" },
      peerAddress: office,
    });
    assert.equal(changed.status, 204);
    assert.equal((await me(test, cookieOf(changed))).authenticated, true);
  },
);

testApp(
  "a session that guesses the password is delayed, and successes elsewhere don't reset that",
  async (test) => {
    const ada = await test.signUp();
    const prove = (password: string) =>
      test.send("/api/portal/account/proof", { cookie: ada.cookie, json: { password } });
    for (let n = 0; n < signInFailuresFree; n++) assert.equal((await prove(wrong)).status, 401);
    await assertError(await prove(testPassword), 429, "rate_limited");
    const change = await test.send("/api/auth/password/change", {
      cookie: ada.cookie,
      json: { currentPassword: testPassword, newPassword: "another 7 fine battery" },
    });
    await assertError(change, 429, "rate_limited");
    assert.equal((await signIn(test, ada.email)).status, 200, "signing in is not affected");
    assert.equal((await prove(testPassword)).status, 429);
    test.advance(1_000);
    assert.equal((await prove(testPassword)).status, 204);
  },
);
