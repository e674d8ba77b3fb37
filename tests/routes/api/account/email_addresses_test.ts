// The API for confirming and changing an email address.
import assert from "node:assert/strict";
import { assertError, type TestApp, testApp, testPassword } from "../../../support/app/app.ts";
import { linkToken } from "../../../support/people/links.ts";
import { lastMail, mailedToken, me, signInAgain, verifiedPerson } from "../../../support/people/people.ts";

const verify = (test: TestApp, cookie: string, token: string) =>
  test.send("/api/auth/email/verify", { cookie, json: { token } });
const change = (test: TestApp, cookie: string, email: string) =>
  test.send("/api/portal/account/email", { cookie, json: { email } });

testApp("sends a link on sign-up that confirms the address, and ends older sessions", async (test) => {
  const ada = await test.signUp();
  const older = await signInAgain(test, ada.email);
  const token = await mailedToken(test, ada.email);
  const response = await verify(test, ada.cookie, token);
  assert.equal(response.status, 200);
  assert.equal((await response.json()).user.emailVerified, true);
  assert.equal((await me(test, older)).authenticated, false, "older sessions end");
  assert.equal((await me(test, ada.cookie)).authenticated, true);
});

testApp("sends a confirmed address no more links", async (test) => {
  const { cookie } = await verifiedPerson(test);
  const again = { cookie, method: "POST" };
  const sent = (await test.mails()).length;
  assert.equal((await test.send("/api/auth/email/verification", again)).status, 202);
  assert.equal((await test.mails()).length, sent);
});

testApp("limits confirmation emails", async (test) => {
  const ada = await test.signUp();
  const statuses = [];
  for (let i = 0; i < 6; i++) {
    statuses.push(
      (await test.send("/api/auth/email/verification", { cookie: ada.cookie, method: "POST" })).status,
    );
  }
  assert.deepEqual(statuses, [202, 202, 202, 202, 202, 429]);
});

testApp("changes an address only when the new one is confirmed, and notifies both", async (test) => {
  const ada = await verifiedPerson(test);
  assert.equal((await change(test, ada.cookie, "New.Address@Example.com")).status, 202);
  assert.equal((await me(test, ada.cookie)).user?.email, ada.email, "not yet");
  assert.match((await lastMail(test, ada.email)).text, /new\.address@example\.com/);
  const token = await mailedToken(test, "new.address@example.com");
  await test.send("/api/auth/password/forgot", { json: { email: ada.email } });
  const oldReset = await mailedToken(test, ada.email);
  const response = await verify(test, ada.cookie, token);
  assert.equal(response.status, 200);
  assert.deepEqual((await response.json()).user, {
    id: ada.userId,
    name: "Ada Lovelace",
    email: "new.address@example.com",
    emailVerified: true,
  });
  for (const to of [ada.email, "new.address@example.com"]) {
    assert.match((await lastMail(test, to)).text, /new\.address@example\.com/);
  }
  await signInAgain(test, "new.address@example.com");
  await assertError(
    await test.send("/api/auth/sign-in", { json: { email: ada.email, password: testPassword } }),
    401,
    "invalid_credentials",
  );
  await assertError(
    await test.send("/api/auth/password/reset", {
      json: { token: oldReset, password: "another 7 fine battery" },
    }),
    404,
    "invalid_token",
  );
});

testApp("responds to a taken address like to a free one, and changes nothing", async (test) => {
  const [ada, bob] = [await verifiedPerson(test), await verifiedPerson(test, "Bob")];
  assert.equal((await change(test, ada.cookie, bob.email)).status, 202);
  const mail = await lastMail(test, bob.email);
  assert.equal(mail.link === null || !mail.link.includes("token="), true, "no link for the taken address");
  assert.equal((await me(test, ada.cookie)).user?.email, ada.email);
});

testApp("gives an address to the first of two accounts that confirms it", async (test) => {
  const [ada, bob] = [await verifiedPerson(test), await verifiedPerson(test, "Bob")];
  await change(test, ada.cookie, "wanted@example.com");
  const first = await mailedToken(test, "wanted@example.com");
  await change(test, bob.cookie, "wanted@example.com");
  const second = await mailedToken(test, "wanted@example.com");
  assert.equal((await verify(test, bob.cookie, second)).status, 200);
  await assertError(await verify(test, ada.cookie, first), 409, "email_taken");
  assert.equal((await me(test, ada.cookie)).user?.email, ada.email);
});

testApp("requires recent authentication and a different, valid address for a change", async (test) => {
  const ada = await test.signUp();
  for (const email of ["nothing", ada.email, ` ${ada.email.toUpperCase()}`]) {
    const body = await assertError(await change(test, ada.cookie, email), 422, "validation_failed");
    assert.equal(body.error.details?.[0]?.path, "email");
  }
  test.advance(10 * 60_000 + 1);
  await assertError(await change(test, ada.cookie, "new@example.com"), 403, "proof_required");
  await test.send("/api/portal/account/proof", { cookie: ada.cookie, json: { password: testPassword } });
  assert.equal((await change(test, ada.cookie, "new@example.com")).status, 202);
});

testApp("a new password cancels a pending change", async (test) => {
  const newPassword = "an entirely different 7 phrase";
  for (const way of ["reset", "change"]) {
    const ada = await verifiedPerson(test);
    const eve = `eve-${way}@example.com`;
    assert.equal((await change(test, ada.cookie, eve)).status, 202);
    const token = await mailedToken(test, eve);
    const reset = await linkToken(test, ada, { purpose: "reset_password" });
    const json = { currentPassword: testPassword, newPassword };
    const changed = way === "reset"
      ? await test.send("/api/auth/password/reset", { json: { token: reset, password: newPassword } })
      : await test.send("/api/auth/password/change", { cookie: ada.cookie, json });
    assert.equal(changed.status, 204);
    const cookie = await signInAgain(test, ada.email, newPassword);
    await assertError(await verify(test, cookie, token), 404, "invalid_token");
  }
});
