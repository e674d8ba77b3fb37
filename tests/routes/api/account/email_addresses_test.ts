// The API for confirming and changing an email address.
import assert from "node:assert/strict";
import { recentAuthenticationMs } from "../../../../domain/limits.ts";
import { testApp, testPassword } from "../../../support/app/app.ts";
import { assertRows, type Row } from "../../../support/app/rows.ts";
import { linkToken } from "../../../support/people/links.ts";
import { lastMail, mailedToken, me, signInAgain, verifiedPerson } from "../../../support/people/people.ts";

const verify = "POST /api/auth/email/verify";
const change = "POST /api/portal/account/email";
const newEmail = "new.address@example.com";
const newPassword = "an entirely different 7 phrase";

testApp("sends a link on sign-up that confirms the address, and ends older sessions", async (test) => {
  const ada = await test.signUp();
  const older = await signInAgain(test, ada.email);
  await assertRows(test, ada, [[verify, { token: await mailedToken(test, ada.email) }, 200]]);
  const { authenticated, user } = await me(test, ada.cookie);
  assert.deepEqual([authenticated, user?.emailVerified], [true, true]);
  assert.equal((await me(test, older)).authenticated, false, "older sessions end");
  const sent = (await test.mails()).length;
  await assertRows(test, ada, [["POST /api/auth/email/verification", null, 202]]);
  assert.equal((await test.mails()).length, sent, "a confirmed address gets no more links");
});

testApp("changes an address only when the new one is confirmed, and notifies both", async (test) => {
  const ada = await verifiedPerson(test);
  await assertRows(test, ada, [[change, { email: "New.Address@Example.com" }, 202]]);
  assert.equal((await me(test, ada.cookie)).user?.email, ada.email, "not yet");
  assert.match((await lastMail(test, ada.email)).text, /new\.address@example\.com/);
  const token = await mailedToken(test, newEmail);
  const oldReset = await linkToken(test, ada, { purpose: "reset_password" });
  const { html } = await assertRows(test, ada, [[verify, { token }, 200]]);
  assert.deepEqual(JSON.parse(html).user, {
    id: ada.userId,
    name: "Ada Lovelace",
    email: newEmail,
    emailVerified: true,
  });
  for (const to of [ada.email, newEmail]) {
    assert.match((await lastMail(test, to)).text, /new\.address@example\.com/);
  }
  const password = testPassword;
  await assertRows(test, {}, [
    ["POST /api/auth/sign-in", { email: newEmail, password }, 200],
    ["POST /api/auth/sign-in", { email: ada.email, password }, "401 invalid_credentials"],
    ["POST /api/auth/password/reset", { token: oldReset, password: newPassword }, "404 invalid_token"],
  ]);
});

testApp("responds to a taken address like to a free one, and changes nothing", async (test) => {
  const [ada, bob] = [await verifiedPerson(test), await verifiedPerson(test, "Bob")];
  await assertRows(test, ada, [[change, { email: bob.email }, 202]]);
  const mail = await lastMail(test, bob.email);
  assert.equal(mail.link === null || !mail.link.includes("token="), true, "no link for the taken address");
  assert.equal((await me(test, ada.cookie)).user?.email, ada.email);
});

testApp("gives an address to the first of two accounts that confirms it", async (test) => {
  const [ada, bob] = [await verifiedPerson(test), await verifiedPerson(test, "Bob")];
  await assertRows(test, ada, [[change, { email: newEmail }, 202]]);
  const first = await mailedToken(test, newEmail);
  await assertRows(test, bob, [[change, { email: newEmail }, 202]]);
  await assertRows(test, bob, [[verify, { token: await mailedToken(test, newEmail) }, 200]]);
  await assertRows(test, ada, [[verify, { token: first }, "409 email_taken"]]);
  assert.equal((await me(test, ada.cookie)).user?.email, ada.email);
});

testApp("requires recent authentication and a different, valid address for a change", async (test) => {
  const ada = await test.signUp();
  const wrong = ["nothing", ada.email, ` ${ada.email.toUpperCase()}`];
  await assertRows(test, ada, [
    ...wrong.map((email): Row => [change, { email }, "422 validation_failed email"]),
  ]);
  test.advance(recentAuthenticationMs + 1);
  await assertRows(test, ada, [
    [change, { email: newEmail }, "403 proof_required"],
    ["POST /api/portal/account/proof", { password: testPassword }, 204],
    [change, { email: newEmail }, 202],
  ]);
});

for (const way of ["reset", "change"]) {
  testApp(`a new password by ${way} cancels a pending change`, async (test) => {
    const ada = await verifiedPerson(test);
    await assertRows(test, ada, [[change, { email: newEmail }, 202]]);
    const token = await mailedToken(test, newEmail);
    const reset = await linkToken(test, ada, { purpose: "reset_password" });
    await assertRows(test, ada, [
      way === "reset"
        ? ["POST /api/auth/password/reset", { token: reset, password: newPassword }, 204]
        : ["POST /api/auth/password/change", { currentPassword: testPassword, newPassword }, 204],
    ]);
    const cookie = await signInAgain(test, ada.email, newPassword);
    await assertRows(test, { cookie }, [[verify, { token }, "404 invalid_token"]]);
  });
}
