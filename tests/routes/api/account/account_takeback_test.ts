// Taking over an account from someone who signed up with another person's address, and from the people they invited.
import assert from "node:assert/strict";
import { createTestKey, type TestApp, testApp, testPassword } from "../../../support/app/app.ts";
import { assertOutcome, assertRows, fetchJson, sendRow } from "../../../support/app/rows.ts";
import { listAudit } from "../../../support/app/audit.ts";
import { onEveryDatabase, recordOne, recordWith } from "../../../support/meter/usage.ts";
import {
  inviteTo,
  joinedPerson,
  lastMail,
  mailedToken,
  me,
  signInAgain,
  verifiedPerson,
} from "../../../support/people/people.ts";
import { addPasskey, signInOptions } from "../../../support/people/second_step.ts";
import { createTestWebhook } from "../../../support/webhooks/webhooks.ts";
import { subjectOf } from "../../../support/portal/words/mail.ts";

const newPassword = "an entirely different 7 phrase";

/** Sets a new password with an emailed link. @returns The page behind the link, and the session after signing in. */
async function resetByMail(test: TestApp, email: string): Promise<{ page: string; cookie: string }> {
  await assertRows(test, {}, [["POST /api/auth/password/forgot", { email }, 202]]);
  const token = await mailedToken(test, email);
  const { html: page } = await sendRow(test, {}, `GET /reset-password?token=${token}`);
  await assertRows(test, {}, [["POST /api/auth/password/reset", { token, password: newPassword }, 204]]);
  return { page, cookie: await signInAgain(test, email, newPassword) };
}

/** The squatter promotes an accomplice to OWNER, who adds a helper, invites a guest and demotes the squatted account. */
async function squat(test: TestApp) {
  const squatter = await test.signUp("Squatter");
  const verification = await mailedToken(test, squatter.email);
  const { passkey } = await addPasskey(test, squatter.cookie);
  const accomplice = await verifiedPerson(test, "Accomplice");
  const ownKey = await createTestKey(test, accomplice);
  for (const person of [squatter, accomplice]) {
    await createTestWebhook(test, person);
    await assertRows(test, person, [["POST /api/portal/alerts", { per: "month", quantity: 1 }, 201]]);
  }
  const { token } = await inviteTo(test, squatter, { email: accomplice.email, role: "OWNER" });
  await assertRows(test, accomplice, [["POST /api/portal/invitations/accept", { token }, 200]]);
  const inside = { ...accomplice, organizationId: squatter.organizationId };
  const helper = await joinedPerson(test, inside, "ADMIN");
  const guestTokens = [];
  for (const [by, email] of [[squatter, "friend@example.com"], [inside, "guest@example.com"]] as const) {
    guestTokens.push((await inviteTo(test, by, { email, role: "OWNER" })).token);
  }
  const keys = [];
  for (const person of [squatter, inside, helper]) keys.push(await createTestKey(test, person));
  for (const { fullKey } of keys) await recordOne(test, fullKey);
  const member = `/api/portal/organizations/${squatter.organizationId}/members/${squatter.userId}`;
  await assertRows(test, inside, [[`PATCH ${member}`, { role: "MEMBER" }, 200]]);
  return { squatter, verification, passkey, accomplice, helper, guestTokens, keys, ownKey };
}

onEveryDatabase("a reset removes everyone else from what a squatter set up", async (test) => {
  const { squatter, verification, passkey, accomplice, helper, guestTokens, keys, ownKey } = await squat(
    test,
  );
  const { page, cookie } = await resetByMail(test, squatter.email);
  assert.match(page, /never confirmed/);
  const owner = { ...squatter, cookie };
  const { organizationId } = owner;
  const { memberships, user } = await me(test, cookie);
  assert.equal(user?.emailVerified, true, "the mail proved the address");
  // Nothing that the squatter had signs in.
  assert.equal((await me(test, squatter.cookie)).authenticated, false);
  const response = passkey.signIn(await signInOptions(test));
  await assertRows(test, { cookie }, [
    ["POST /api/auth/sign-in/passkey", { response }, "401 invalid_credentials"],
    ["POST /api/auth/email/verify", { token: verification }, "404 invalid_token"],
  ]);
  assert.deepEqual(memberships.map((one) => [one.organizationId, one.role]), [[organizationId, "OWNER"]]);
  const path = `/api/portal/organizations/${organizationId}`;
  const { members } = await fetchJson(test, owner, `GET ${path}/members`);
  assert.deepEqual(members.map((one: { user: { id: string } }) => one.user.id), [squatter.userId]);

  // Webhooks and alerts of the people who were removed are gone.
  for (const [person, count] of [[owner, 0], [accomplice, 1]] as const) {
    assert.equal((await fetchJson(test, person, "GET /api/portal/webhooks")).webhooks.length, count);
    assert.equal((await fetchJson(test, person, "GET /api/portal/alerts")).alerts.length, count);
  }

  // The removed people see nothing, and their keys are rejected.
  const { fullKey, id } = await createTestKey(test, owner);
  await recordOne(test, fullKey);
  for (const person of [accomplice, helper]) {
    assert.ok(!JSON.stringify(await me(test, person.cookie)).includes(organizationId));
    const keys = await sendRow(test, person, "GET /api/portal/api-keys");
    assert.ok(!keys.html.includes(id));
  }
  for (const key of keys) await assertOutcome(recordWith(test, key.fullKey), "401 invalid_api_key");

  // No invitation works any more.
  for (const invitationToken of guestTokens) {
    const guest = { name: "Guest", password: testPassword, invitationToken };
    await assertRows(test, {}, [["POST /api/auth/sign-up", guest, "404 invalid_token"]]);
  }
  const pending = { hides: ['"status":"pending"'] };
  await assertRows(test, owner, [[`GET ${path}/invitations`, null, 200, pending]]);

  // The accomplice keeps what they had before.
  assert.equal((await me(test, accomplice.cookie)).organizationId, accomplice.organizationId);
  await recordOne(test, ownKey.fullKey);
});

testApp("audits everyone whom the owner's reset removed, and sends one email about it", async (test) => {
  const { squatter, accomplice, helper, keys } = await squat(test);
  const { cookie } = await resetByMail(test, squatter.email);
  const { events } = await listAudit(test, cookie);
  const removed = events.filter(({ action }) => action === "member.removed");
  assert.deepEqual(
    removed.map(({ target, actor, details }) => [target?.id, actor.id, details["role"]]).sort(),
    [[accomplice.userId, squatter.userId, "OWNER"], [helper.userId, squatter.userId, "ADMIN"]].sort(),
  );
  assert.equal(events.filter(({ action }) => action === "account.taken_back").length, 1);
  const revoked = await fetchJson(test, { cookie }, "GET /api/portal/events?type=api_key.revoked");
  const revokedIds = revoked.events.map(({ data }: { data: { apiKey: { id: string } } }) => data.apiKey.id);
  assert.deepEqual(revokedIds.sort(), keys.map(({ id }) => id).sort());
  const mails = (await test.mails()).filter(({ to }) => to === squatter.email);
  const subjects = mails.map(({ subject }) => subject);
  assert.equal(subjects.at(-1), subjectOf("account_taken_back"));
  assert.ok(!subjects.includes(subjectOf("password_changed")));
});

testApp("removes no member and no key when people confirm their own address late", async (test) => {
  const ada = await test.signUp();
  const bob = await joinedPerson(test, ada, "MEMBER");
  const { fullKey } = await createTestKey(test, bob);
  await assertRows(test, ada, [["POST /api/auth/email/verification", null, 202]]);
  const token = await mailedToken(test, ada.email);
  await assertRows(test, ada, [["POST /api/auth/email/verify", { token }, 200]]);
  const { page } = await resetByMail(test, ada.email);
  assert.doesNotMatch(page, /never confirmed/);
  assert.equal((await me(test, bob.cookie)).organizationId, ada.organizationId);
  await recordOne(test, fullKey);
  assert.equal((await lastMail(test, ada.email)).subject, subjectOf("password_changed"));
});

testApp("keeps organization and usage when the only member resets an unconfirmed account", async (test) => {
  const ada = await test.signUp();
  const { fullKey } = await createTestKey(test, ada);
  await recordOne(test, fullKey);
  const { cookie } = await resetByMail(test, ada.email);
  assert.equal((await me(test, cookie)).organizationId, ada.organizationId);
  const usage = { shows: [/"records":1|"count":1/] };
  await assertRows(test, { cookie }, [[
    "GET /api/portal/usage?productSlug=tiles&metric=requests",
    null,
    200,
    usage,
  ]]);
  await assertOutcome(recordWith(test, fullKey), "401 invalid_api_key");
});
