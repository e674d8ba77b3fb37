// Concurrent changes between a verb's read of the database and its write, by this server or another.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { assertError, type TestApp, type TestPerson } from "../../support/app/app.ts";
import { listAudit } from "../../support/app/audit.ts";
import { linkToken } from "../../support/people/links.ts";
import { testMeanwhile } from "../../support/app/meanwhile.ts";
import { joinedPerson, mailedToken, signInAgain, verifiedPerson } from "../../support/people/people.ts";
import { firstStep, secondStep, twoStepPerson } from "../../support/people/second_step.ts";

const newPassword = "an entirely different 7 phrase";

async function changeAddress(test: TestApp, person: TestPerson, email: string): Promise<void> {
  const requested = await test.send("/api/portal/account/email", { cookie: person.cookie, json: { email } });
  assert.equal(requested.status, 202);
  const token = await mailedToken(test, email);
  const changed = await test.send("/api/auth/email/verify", { cookie: person.cookie, json: { token } });
  assert.equal(changed.status, 200, await changed.text());
}

testMeanwhile("a reset link sent to a former email address doesn't work", async (test, meanwhile) => {
  const ada = await verifiedPerson(test);
  meanwhile(/INSERT INTO outbox/, () => changeAddress(test, ada, "new@example.com"));
  const requested = await test.send("/api/auth/password/forgot", { json: { email: ada.email } });
  assert.equal(requested.status, 202);
  assert.ok(!(await test.mails()).some(({ link }) => link?.includes("/reset-")), "no email with a dead link");
  // A link whose email was already on its way.
  const token = await linkToken(test, ada, { purpose: "reset_password" });
  const page = await test.send(`/reset-password?token=${token}`);
  assert.equal(page.status, 404);
  await page.body?.cancel();
  await assertError(
    await test.send("/api/auth/password/reset", { json: { token, password: newPassword } }),
    404,
    "invalid_token",
  );
  await signInAgain(test, "new@example.com");
});

testMeanwhile("setting the same role twice concurrently succeeds both times", async (test, meanwhile) => {
  const ada = await verifiedPerson(test);
  const bob = await joinedPerson(test, ada, "MEMBER");
  const path = `/api/portal/organizations/${ada.organizationId}/members/${bob.userId}`;
  const set = (role: string) => test.send(path, { method: "PATCH", cookie: ada.cookie, json: { role } });
  meanwhile(/UPDATE memberships SET role/, async () => assert.equal((await set("ADMIN")).status, 200));
  const again = await set("ADMIN");
  assert.equal(again.status, 200, await again.clone().text());
  assert.equal((await again.json()).member.role, "ADMIN");
});

testMeanwhile("changing a role that was just changed returns a 503", async (test, meanwhile) => {
  const ada = await verifiedPerson(test);
  const bob = await joinedPerson(test, ada, "MEMBER");
  const path = `/api/portal/organizations/${ada.organizationId}/members/${bob.userId}`;
  const set = (role: string) => test.send(path, { method: "PATCH", cookie: ada.cookie, json: { role } });
  meanwhile(/UPDATE memberships SET role/, async () => assert.equal((await set("OWNER")).status, 200));
  await assertError(await set("ADMIN"), 503, "unavailable");
  assert.equal((await set("ADMIN")).status, 200);
});

testMeanwhile("a person who joins while deleting their account has left", async (test, meanwhile) => {
  const ada = await verifiedPerson(test);
  const bob = await verifiedPerson(test, "Bob");
  const invited = await test.send(`/api/portal/organizations/${ada.organizationId}/invitations`, {
    cookie: ada.cookie,
    json: { email: bob.email, role: "MEMBER" },
  });
  assert.equal(invited.status, 201);
  const token = await mailedToken(test, bob.email);
  const cookie = await signInAgain(test, bob.email);
  meanwhile(/DELETE FROM users/, async () => {
    const joined = await test.send("/api/portal/invitations/accept", { cookie, json: { token } });
    assert.equal(joined.status, 200, await joined.text());
  });
  const conflicted = await test.send("/api/portal/account", { method: "DELETE", cookie: bob.cookie });
  await assertError(conflicted, 503, "unavailable");
  const again = await test.send("/api/portal/account", { method: "DELETE", cookie: bob.cookie });
  assert.equal(again.status, 204, await again.text());
  const { events: [left] } = await listAudit(test, ada.cookie);
  assert.deepEqual([left?.action, left?.target?.name], ["member.left", "Bob"]);
});

for (
  const [change, update] of [
    ["whose email address changes", sql`email = 'elsewhere@example.com'`],
    ["whose email address loses its verification", sql`email_verified_at = NULL`],
  ] as const
) {
  testMeanwhile(`a person ${change} meanwhile can't accept the invitation`, async (test, meanwhile) => {
    const ada = await verifiedPerson(test);
    const bob = await verifiedPerson(test, "Bob");
    const invited = await test.send(`/api/portal/organizations/${ada.organizationId}/invitations`, {
      cookie: ada.cookie,
      json: { email: bob.email, role: "MEMBER" },
    });
    assert.equal(invited.status, 201);
    const token = await mailedToken(test, bob.email);
    const { database } = test.opened;
    meanwhile(
      /SET accepted_at/,
      () => database.write([sql`UPDATE users SET ${update} WHERE id = ${bob.userId}`]),
    );
    const accepted = await test.send("/api/portal/invitations/accept", {
      cookie: bob.cookie,
      json: { token },
    });
    await assertError(accepted, 404, "invalid_token");
    const members = await database.read<{ user: string }>(
      sql`SELECT user_id AS user FROM memberships WHERE organization_id = ${ada.organizationId}`,
    );
    assert.deepEqual(members.map(({ user }) => user), [ada.userId]);
  });
}

testMeanwhile("one of two concurrent recovery codes signs in", async (test, meanwhile) => {
  const ada = await twoStepPerson(test);
  const [first = "", second = ""] = ada.recoveryCodes;
  const tokens = [await firstStep(test, ada.email), await firstStep(test, ada.email)] as const;
  meanwhile(
    /UPDATE recovery_codes SET used_at/,
    async () => assert.equal((await secondStep(test, { token: tokens[1], code: second })).status, 200),
  );
  await assertError(await secondStep(test, { token: tokens[0], code: first }), 409, "two_step_state");
  // The rejected code is still unused.
  const token = await firstStep(test, ada.email);
  assert.equal((await secondStep(test, { token, code: first })).status, 200);
  const codesLeft = (await test.mails()).flatMap(({ text }) => /Codes left: (\d+)/.exec(text)?.[1] ?? []);
  assert.deepEqual(codesLeft, ["9", "8"]);
});

testMeanwhile("deleting an account twice concurrently returns a 401", async (test, meanwhile) => {
  const bob = await verifiedPerson(test, "Bob");
  const cookie = await signInAgain(test, bob.email);
  const end = (cookie: string) => test.send("/api/portal/account", { method: "DELETE", cookie });
  meanwhile(/DELETE FROM users/, async () => assert.equal((await end(cookie)).status, 204));
  await assertError(await end(bob.cookie), 401, "unauthenticated");
});

testMeanwhile("the audit entry for a rename has the actual previous name", async (test, meanwhile) => {
  const ada = await verifiedPerson(test);
  const path = `/api/portal/organizations/${ada.organizationId}`;
  const rename = (name: string) => test.send(path, { method: "PATCH", cookie: ada.cookie, json: { name } });
  meanwhile(/UPDATE organizations SET name/, async () => assert.equal((await rename("First")).status, 200));
  await assertError(await rename("Second"), 503, "unavailable");
  // The second time, the organization already has this name.
  for (let n = 0; n < 2; n++) {
    assert.equal((await (await rename("Second")).json()).organization.name, "Second");
  }
  const { events } = await listAudit(test, ada.cookie, "?action=organization.renamed");
  assert.deepEqual(events.map(({ details }) => details), [
    { from: "First", to: "Second" },
    { from: "Ada Lovelace’s organization", to: "First" },
  ]);
});
