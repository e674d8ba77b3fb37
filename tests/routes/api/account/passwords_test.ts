// The API for resetting and changing passwords.
import assert from "node:assert/strict";
import {
  assertError,
  cookieOf,
  createTestKey,
  type TestApp,
  testApp,
  testPassword,
} from "../../../support/app/app.ts";
import { assertRows, type Row } from "../../../support/app/rows.ts";
import { linkToken } from "../../../support/people/links.ts";
import { lastMail, mailedToken, me, signInAgain, verifiedPerson } from "../../../support/people/people.ts";

const newPassword = "another 7 fine battery";
const record = { productSlug: "p", metric: "m", quantity: 1 };
const reset = "POST /api/auth/password/reset";
const change = "POST /api/auth/password/change";
const signIn = "POST /api/auth/sign-in";
const forgot = (test: TestApp, email: string, peerAddress = "10.5.0.1") =>
  test.send("/api/auth/password/forgot", { json: { email }, peerAddress });

testApp("resets a password once with an emailed link, and ends all sessions", async (test) => {
  const ada = await verifiedPerson(test);
  const { email } = ada;
  const other = await signInAgain(test, email);
  const { fullKey } = await createTestKey(test, ada);
  assert.equal((await forgot(test, ` ${email.toUpperCase()} `)).status, 202);
  const token = await mailedToken(test, email);
  assert.equal((await me(test, other)).authenticated, true, "a request must not end sessions");
  await assertRows(test, {}, [[reset, { token, password: newPassword }, 204]]);
  for (const cookie of [ada.cookie, other]) assert.equal((await me(test, cookie)).authenticated, false);
  await assertRows(test, {}, [
    [signIn, { email, password: testPassword }, "401 invalid_credentials"],
    [signIn, { email, password: newPassword }, 200],
    [reset, { token, password: "yet 8 another battery" }, "404 invalid_token"],
  ]);
  assert.match((await lastMail(test, email)).subject, /password/i);
  const used = await test.send("/api/v1/usage", { apiKey: fullKey, json: record });
  assert.equal(used.status, 201, "keys of a confirmed account must keep working");
});

testApp("doesn't reveal whether an account exists when a link is requested", async (test) => {
  const ada = await test.signUp();
  const responses = [await forgot(test, ada.email), await forgot(test, "nobody@example.com")];
  const shown = await Promise.all(responses.map(async (response) => {
    const headers = [...response.headers].filter(([name]) => name !== "x-request-id");
    return JSON.stringify([response.status, headers, await response.text()]);
  }));
  assert.equal(shown[0], shown[1]);
  assert.equal((await test.mails()).filter(({ to }) => to === "nobody@example.com").length, 0);
  await assertError(await forgot(test, "no address"), 422, "validation_failed");
  // Neither do too many requests.
  for (const email of [ada.email, "nobody@example.com"]) {
    for (let n = 0; n < 6; n++) assert.equal((await forgot(test, email, `10.5.${n}.9`)).status, 202, email);
  }
});

testApp("rejects an invalid new password and keeps the link valid", async (test) => {
  const ada = await verifiedPerson(test);
  const token = await linkToken(test, ada, { purpose: "reset_password" });
  const bad = ["short", "password1234", ada.email, "x".repeat(129)];
  await assertRows(test, {}, [
    ...bad.map((password): Row => [reset, { token, password }, "422 validation_failed password"]),
    [reset, { token, password: newPassword }, 204],
  ]);
});

testApp("a change requires the current password, and ends all sessions but this one", async (test) => {
  const ada = await test.signUp();
  const other = await signInAgain(test, ada.email);
  const right = { currentPassword: testPassword, newPassword };
  const { answer } = await assertRows(test, ada, [
    [change, { ...right, currentPassword: "not my password" }, "401 invalid_credentials currentPassword"],
    [change, { ...right, newPassword: "short" }, "422 validation_failed newPassword"],
    [change, right, 204],
  ]);
  const fresh = cookieOf(answer);
  assert.notEqual(fresh, ada.cookie);
  assert.equal((await me(test, fresh)).authenticated, true);
  for (const cookie of [ada.cookie, other]) assert.equal((await me(test, cookie)).authenticated, false);
  await assertRows(test, { cookie: other }, [
    [change, right, "401 unauthenticated"],
    [signIn, { email: ada.email, password: newPassword }, 200],
  ]);
});

testApp("rejects link requests over https without a mail server", async (test) => {
  await assertError(await forgot(test, "ada@example.com"), 503, "mail_unavailable");
}, { BASE_URL: "https://auth.example.com" });
