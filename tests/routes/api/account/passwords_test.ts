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
import { lastMail, mailedToken, me, signInAgain, verifiedPerson } from "../../../support/people/people.ts";
import { addPasskey, signInOptions } from "../../../support/people/second_step.ts";

const newPassword = "another 7 fine battery";
const forgot = (test: TestApp, email: string, peerAddress = "10.5.0.1") =>
  test.send("/api/auth/password/forgot", { json: { email }, peerAddress });
const reset = (test: TestApp, token: string, password = newPassword) =>
  test.send("/api/auth/password/reset", { json: { token, password } });
const signIn = (test: TestApp, email: string, password: string) =>
  test.send("/api/auth/sign-in", { json: { email, password } });

testApp("resets a password once with an emailed link, and ends all sessions", async (test) => {
  const ada = await verifiedPerson(test);
  const other = await signInAgain(test, ada.email);
  const { fullKey } = await createTestKey(test, ada);
  const response = await forgot(test, ` ${ada.email.toUpperCase()} `);
  assert.equal(response.status, 202);
  const token = await mailedToken(test, ada.email);
  assert.equal((await me(test, other)).authenticated, true, "a request must not end sessions");
  assert.equal((await reset(test, token)).status, 204);
  for (const cookie of [ada.cookie, other]) assert.equal((await me(test, cookie)).authenticated, false);
  await assertError(await signIn(test, ada.email, testPassword), 401, "invalid_credentials");
  assert.equal((await signIn(test, ada.email, newPassword)).status, 200);
  await assertError(await reset(test, token, "yet 8 another battery"), 404, "invalid_token");
  assert.match((await lastMail(test, ada.email)).subject, /password/i);
  const used = await test.send("/api/v1/usage", {
    apiKey: fullKey,
    json: { productSlug: "p", metric: "m", quantity: 1 },
  });
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
});

testApp("rejects an invalid new password and keeps the link valid", async (test) => {
  const ada = await verifiedPerson(test);
  await forgot(test, ada.email);
  const token = await mailedToken(test, ada.email);
  for (const password of ["short", "password1234", ada.email, "x".repeat(129)]) {
    const body = await assertError(await reset(test, token, password), 422, "validation_failed");
    assert.equal(body.error.details?.[0]?.path, "password");
  }
  assert.equal((await reset(test, token)).status, 204);
});

testApp("takes over an account with a reset if its address was never confirmed", async (test) => {
  const squatter = await test.signUp("Squatter");
  const { fullKey } = await createTestKey(test, squatter);
  const verification = await mailedToken(test, squatter.email);
  const { passkey } = await addPasskey(test, squatter.cookie);
  const invited = await test.send(`/api/portal/organizations/${squatter.organizationId}/invitations`, {
    cookie: squatter.cookie,
    json: { email: "accomplice@example.com", role: "OWNER" },
  });
  assert.equal(invited.status, 201);
  const invitationToken = await mailedToken(test, "accomplice@example.com");
  await forgot(test, squatter.email);
  assert.equal((await reset(test, await mailedToken(test, squatter.email))).status, 204);
  assert.equal((await me(test, squatter.cookie)).authenticated, false);
  await assertError(
    await test.send("/api/v1/usage", {
      apiKey: fullKey,
      json: { productSlug: "p", metric: "m", quantity: 1 },
    }),
    401,
    "invalid_api_key",
  );
  await assertError(
    await test.send("/api/auth/sign-up", {
      json: { name: "Accomplice", password: testPassword, invitationToken },
    }),
    404,
    "invalid_token",
  );
  const response = passkey.signIn(await signInOptions(test));
  await assertError(
    await test.send("/api/auth/sign-in/passkey", { json: { response } }),
    401,
    "invalid_credentials",
  );
  const cookie = await signInAgain(test, squatter.email, newPassword);
  assert.equal((await me(test, cookie)).user?.emailVerified, true, "the mail proved the address");
  await assertError(
    await test.send("/api/auth/email/verify", { cookie, json: { token: verification } }),
    404,
    "invalid_token",
  );
});

testApp(
  "responds the same to too many requests for an address, with and without an account",
  async (test) => {
    const ada = await test.signUp();
    for (const email of [ada.email, "nobody@example.com"]) {
      const statuses = [];
      for (let i = 0; i < 6; i++) statuses.push((await forgot(test, email, `10.5.${i}.9`)).status);
      assert.deepEqual(statuses, [202, 202, 202, 202, 202, 202], email);
    }
  },
);

testApp(
  "requires the current password for a change, gives this session a new token and ends all others",
  async (test) => {
    const ada = await test.signUp();
    const other = await signInAgain(test, ada.email);
    const change = (json: unknown, cookie = ada.cookie) =>
      test.send("/api/auth/password/change", { cookie, json });
    const wrong = await assertError(
      await change({ currentPassword: "not my password", newPassword }),
      401,
      "invalid_credentials",
    );
    assert.equal(wrong.error.details?.[0]?.path, "currentPassword");
    const weak = await assertError(
      await change({ currentPassword: testPassword, newPassword: "short" }),
      422,
      "validation_failed",
    );
    assert.equal(weak.error.details?.[0]?.path, "newPassword");
    const response = await change({ currentPassword: testPassword, newPassword });
    assert.equal(response.status, 204);
    const fresh = cookieOf(response);
    assert.notEqual(fresh, ada.cookie);
    assert.equal((await me(test, fresh)).authenticated, true);
    for (const cookie of [ada.cookie, other]) assert.equal((await me(test, cookie)).authenticated, false);
    await assertError(
      await change({ currentPassword: testPassword, newPassword }, other),
      401,
      "unauthenticated",
    );
    assert.equal((await signIn(test, ada.email, newPassword)).status, 200);
  },
);

testApp("rejects link requests over https without a mail server", async (test) => {
  await assertError(await forgot(test, "ada@example.com"), 503, "mail_unavailable");
}, { BASE_URL: "https://auth.example.com" });
