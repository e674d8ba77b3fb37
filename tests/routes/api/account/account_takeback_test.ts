// Taking over an account from someone who signed up with another person's address, and from the people they invited.
import assert from "node:assert/strict";
import {
  assertError,
  createTestKey,
  type TestApp,
  testApp,
  testPassword,
  type TestPerson,
} from "../../../support/app/app.ts";
import { assertRows, sendRow } from "../../../support/app/rows.ts";
import { listAudit } from "../../../support/app/audit.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import {
  joinedPerson,
  mailedToken,
  me,
  signInAgain,
  verifiedPerson,
} from "../../../support/people/people.ts";
import { createTestWebhook } from "../../../support/webhooks/webhooks.ts";
import { subjectOf } from "../../../support/portal/words/mail.ts";

const newPassword = "an entirely different 7 phrase";
const record = { productSlug: "p", metric: "m", quantity: 1 };

const recordWith = (test: TestApp, apiKey: string) => test.send("/api/v1/usage", { apiKey, json: record });

async function inviteTo(
  test: TestApp,
  from: TestPerson,
  to: { email: string; role: string },
): Promise<string> {
  const { organizationId, cookie } = from;
  const response = await test.send(`/api/portal/organizations/${organizationId}/invitations`, {
    cookie,
    json: to,
  });
  assert.equal(response.status, 201, await response.text());
  return await mailedToken(test, to.email);
}

async function setRole(test: TestApp, by: TestPerson, of: TestPerson, role: string): Promise<void> {
  const response = await test.send(`/api/portal/organizations/${of.organizationId}/members/${of.userId}`, {
    method: "PATCH",
    cookie: by.cookie,
    json: { role },
  });
  assert.equal(response.status, 200, await response.text());
}

/** Sets a new password with an emailed link. @returns The page behind the link, and the session after signing in. */
async function resetByMail(test: TestApp, email: string): Promise<{ page: string; cookie: string }> {
  const asked = await test.send("/api/auth/password/forgot", { json: { email } });
  assert.equal(asked.status, 202);
  const token = await mailedToken(test, email);
  const page = await (await test.send(`/reset-password?token=${token}`)).text();
  const done = await test.send("/api/auth/password/reset", { json: { token, password: newPassword } });
  assert.equal(done.status, 204, await done.text());
  return { page, cookie: await signInAgain(test, email, newPassword) };
}

/** The squatter promotes an accomplice to OWNER, who adds a helper, invites a guest and demotes the squatted account. */
async function squat(test: TestApp) {
  const squatter = await test.signUp("Squatter");
  const accomplice = await verifiedPerson(test, "Accomplice");
  const ownKey = await createTestKey(test, accomplice);
  for (const { cookie } of [squatter, accomplice]) {
    await createTestWebhook(test, { cookie } as TestPerson);
    const json = { per: "month", quantity: 1 };
    assert.equal((await test.send("/api/portal/alerts", { cookie, json })).status, 201);
  }
  const token = await inviteTo(test, squatter, { email: accomplice.email, role: "OWNER" });
  const accepted = await test.send("/api/portal/invitations/accept", {
    cookie: accomplice.cookie,
    json: { token },
  });
  assert.equal(accepted.status, 200, await accepted.text());
  const inside = { ...accomplice, organizationId: squatter.organizationId };
  const helper = await joinedPerson(test, inside, "ADMIN");
  const guestToken = await inviteTo(test, inside, { email: "guest@example.com", role: "OWNER" });
  const keys = [
    await createTestKey(test, squatter),
    await createTestKey(test, inside),
    await createTestKey(test, helper),
  ];
  for (const { fullKey } of keys) assert.equal((await recordWith(test, fullKey)).status, 201);
  await setRole(test, inside, squatter, "MEMBER");
  return { squatter, accomplice, helper, guestToken, keys, ownKey };
}

onEveryDatabase("a reset removes everyone else from what a squatter set up", async (test) => {
  const { squatter, accomplice, helper, guestToken, keys, ownKey } = await squat(test);
  const { page, cookie } = await resetByMail(test, squatter.email);
  assert.match(page, /never confirmed/);
  const { organizationId } = squatter;
  const own = await me(test, cookie);
  assert.deepEqual(own.memberships.map((one) => [one.organizationId, one.role]), [[organizationId, "OWNER"]]);
  const path = `/api/portal/organizations/${organizationId}`;
  const { members } = await (await test.send(`${path}/members`, { cookie })).json();
  assert.deepEqual(members.map((one: { user: { id: string } }) => one.user.id), [squatter.userId]);

  // Webhooks and alerts of the people who were removed are gone.
  const left = await sendRow(test, { cookie }, "GET /api/portal/webhooks");
  assert.deepEqual(JSON.parse(left.html).webhooks, []);
  assert.deepEqual(JSON.parse((await sendRow(test, { cookie }, "GET /api/portal/alerts")).html).alerts, []);
  assert.equal(
    JSON.parse((await sendRow(test, accomplice, "GET /api/portal/webhooks")).html).webhooks.length,
    1,
  );
  assert.equal(JSON.parse((await sendRow(test, accomplice, "GET /api/portal/alerts")).html).alerts.length, 1);

  // The removed people see nothing, and their keys are rejected.
  const { fullKey, id } = await createTestKey(test, { ...squatter, cookie });
  assert.equal((await recordWith(test, fullKey)).status, 201);
  for (const person of [accomplice, helper]) {
    assert.ok(!JSON.stringify(await me(test, person.cookie)).includes(organizationId));
    await assertRows(test, person, [
      [`GET ${path}`, null, "404 not_found"],
      [`GET ${path}/members`, null, "404 not_found"],
      [`GET ${path}/invitations`, null, "404 not_found"],
      ["POST /api/auth/organization", { organizationId }, "404 not_found"],
    ]);
    const keys = await sendRow(test, person, "GET /api/portal/api-keys");
    assert.ok(!keys.html.includes(id));
  }
  for (const key of keys) await assertError(await recordWith(test, key.fullKey), 401, "invalid_api_key");

  // No invitation works any more.
  const guest = { name: "Guest", password: testPassword, invitationToken: guestToken };
  await assertRows(test, {}, [["POST /api/auth/sign-up", guest, "404 invalid_token"]]);
  await assertRows(test, { cookie }, [
    [`GET ${path}/invitations`, null, 200, { hides: ['"status":"pending"'] }],
  ]);

  // The accomplice keeps what they had before.
  assert.equal((await me(test, accomplice.cookie)).organizationId, accomplice.organizationId);
  assert.equal((await recordWith(test, ownKey.fullKey)).status, 201);
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
  const revoked = await (await test.send("/api/portal/events?type=api_key.revoked", { cookie })).json();
  const revokedIds = revoked.events.map(({ data }: { data: { apiKey: { id: string } } }) => data.apiKey.id);
  assert.deepEqual(revokedIds.sort(), keys.map(({ id }) => id).sort());
  const subjects = (await test.mails()).filter(({ to }) => to === squatter.email).map(({ subject }) =>
    subject
  );
  assert.deepEqual(subjects.slice(-1), [subjectOf("account_taken_back")]);
  assert.ok(!subjects.includes(subjectOf("password_changed")));
});

testApp("removes no member and no key when people confirm their own address late", async (test) => {
  const ada = await test.signUp();
  const bob = await joinedPerson(test, ada, "MEMBER");
  const { fullKey } = await createTestKey(test, bob);
  const asked = await test.send("/api/auth/email/verification", { method: "POST", cookie: ada.cookie });
  assert.equal(asked.status, 202);
  const json = { token: await mailedToken(test, ada.email) };
  const confirmed = await test.send("/api/auth/email/verify", { cookie: ada.cookie, json });
  assert.equal(confirmed.status, 200, await confirmed.text());
  const { page } = await resetByMail(test, ada.email);
  assert.doesNotMatch(page, /never confirmed/);
  assert.equal((await me(test, bob.cookie)).organizationId, ada.organizationId);
  assert.equal((await recordWith(test, fullKey)).status, 201);
  assert.equal(
    (await test.mails()).findLast(({ to }) => to === ada.email)?.subject,
    subjectOf("password_changed"),
  );
});

testApp("keeps organization and usage when the only member resets an unconfirmed account", async (test) => {
  const ada = await test.signUp();
  const { fullKey } = await createTestKey(test, ada);
  assert.equal((await recordWith(test, fullKey)).status, 201);
  const { cookie } = await resetByMail(test, ada.email);
  assert.equal((await me(test, cookie)).organizationId, ada.organizationId);
  const usage = await (await test.send("/api/portal/usage?productSlug=p&metric=m", { cookie })).text();
  assert.match(usage, /"records":1|"count":1/, usage);
  await assertError(await recordWith(test, fullKey), 401, "invalid_api_key");
});
