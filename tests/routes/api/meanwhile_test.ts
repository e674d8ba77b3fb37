// Concurrent changes between a verb's read of the database and its write, by this server or another.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { newId } from "../../../domain/id.ts";
import type { TestApp, TestPerson } from "../../support/app/app.ts";
import { assertOutcome, assertRows, fetchJson, type Row } from "../../support/app/rows.ts";
import { listAudit } from "../../support/app/audit.ts";
import { newOperator } from "../../support/operators/console.ts";
import { linkToken } from "../../support/people/links.ts";
import { testMeanwhile } from "../../support/app/meanwhile.ts";
import {
  inviteTo,
  joinedPerson,
  mailedToken,
  signInAgain,
  verifiedPerson,
} from "../../support/people/people.ts";
import { firstStep, secondStep, twoStepPerson } from "../../support/people/second_step.ts";

const newPassword = "an entirely different 7 phrase";
const accept = "POST /api/portal/invitations/accept";
const deleteAccount = "DELETE /api/portal/account";

async function changeAddress(test: TestApp, person: TestPerson, email: string): Promise<void> {
  await assertRows(test, person, [["POST /api/portal/account/email", { email }, 202]]);
  const token = await mailedToken(test, email);
  await assertRows(test, person, [["POST /api/auth/email/verify", { token }, 200]]);
}

testMeanwhile("a reset link sent to a former email address doesn't work", async (test, meanwhile) => {
  const ada = await verifiedPerson(test);
  meanwhile(/INSERT INTO outbox/, () => changeAddress(test, ada, "new@example.com"));
  await assertRows(test, {}, [["POST /api/auth/password/forgot", { email: ada.email }, 202]]);
  const mails = await test.mails();
  assert.ok(!mails.some(({ link }) => link?.includes("/reset-")), "no email with a dead link");
  // A link whose email was already on its way.
  const token = await linkToken(test, ada, { purpose: "reset_password" });
  await assertRows(test, {}, [
    [`GET /reset-password?token=${token}`, null, 404],
    ["POST /api/auth/password/reset", { token, password: newPassword }, "404 invalid_token"],
  ]);
  await signInAgain(test, "new@example.com");
});

for (
  const [first, outcome] of [["ADMIN", "200"], ["OWNER", "503 unavailable"]] as const
) {
  testMeanwhile(
    `making an ADMIN of someone just made ${first} returns ${outcome}`,
    async (test, meanwhile) => {
      const ada = await verifiedPerson(test);
      const bob = await joinedPerson(test, ada, "MEMBER");
      const change = `PATCH /api/portal/organizations/${ada.organizationId}/members/${bob.userId}`;
      meanwhile(/UPDATE memberships SET role/, () => assertRows(test, ada, [[change, { role: first }, 200]]));
      await assertRows(test, ada, [[change, { role: "ADMIN" }, outcome]]);
      assert.equal((await fetchJson(test, ada, change, { role: "ADMIN" })).member.role, "ADMIN");
    },
  );
}

testMeanwhile("a person who joins while deleting their account has left", async (test, meanwhile) => {
  const ada = await verifiedPerson(test);
  const bob = await verifiedPerson(test, "Bob");
  const { token } = await inviteTo(test, ada, bob);
  const cookie = await signInAgain(test, bob.email);
  meanwhile(/DELETE FROM users/, () => assertRows(test, { cookie }, [[accept, { token }, 200]]));
  await assertRows(test, bob, [[deleteAccount, null, "503 unavailable"], [deleteAccount, null, 204]]);
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
    const { token } = await inviteTo(test, ada, bob);
    const { database } = test.opened;
    meanwhile(
      /SET accepted_at/,
      () => database.write([sql`UPDATE users SET ${update} WHERE id = ${bob.userId}`]),
    );
    await assertRows(test, bob, [[accept, { token }, "404 invalid_token"]]);
    const members = await database.read<{ user: string }>(
      sql`SELECT user_id AS user FROM memberships WHERE organization_id = ${ada.organizationId}`,
    );
    assert.deepEqual(members.map(({ user }) => user), [ada.userId]);
  });
}

testMeanwhile("one of two concurrent recovery codes signs in", async (test, meanwhile) => {
  const ada = await twoStepPerson(test);
  const [first = "", second = ""] = ada.recoveryCodes;
  const [token, other] = [await firstStep(test, ada.email), await firstStep(test, ada.email)];
  meanwhile(
    /UPDATE recovery_codes SET used_at/,
    () => assertOutcome(secondStep(test, { token: other, code: second }), 200),
  );
  await assertOutcome(secondStep(test, { token, code: first }), "409 two_step_state");
  // The rejected code is still unused.
  await assertOutcome(secondStep(test, { token: await firstStep(test, ada.email), code: first }), 200);
  const codesLeft = (await test.mails()).flatMap(({ text }) => /Codes left: (\d+)/.exec(text)?.[1] ?? []);
  assert.deepEqual(codesLeft, ["9", "8"], "each email says how many are left");
});

testMeanwhile("deleting an account twice concurrently returns a 401", async (test, meanwhile) => {
  const bob = await verifiedPerson(test, "Bob");
  const cookie = await signInAgain(test, bob.email);
  meanwhile(/DELETE FROM users/, () => assertRows(test, { cookie }, [[deleteAccount, null, 204]]));
  // And no error about the last owner.
  await assertRows(test, bob, [[deleteAccount, null, "401 unauthenticated"]]);
});

testMeanwhile("the audit entry for a rename has the actual previous name", async (test, meanwhile) => {
  const ada = await verifiedPerson(test);
  const rename = `PATCH /api/portal/organizations/${ada.organizationId}`;
  meanwhile(/UPDATE organizations SET name/, () => assertRows(test, ada, [[rename, { name: "First" }, 200]]));
  await assertRows(test, ada, [[rename, { name: "Second" }, "503 unavailable"]]);
  // The second time, the organization already has this name.
  for (let n = 0; n < 2; n++) {
    assert.equal((await fetchJson(test, ada, rename, { name: "Second" })).organization.name, "Second");
  }
  const { events } = await listAudit(test, ada.cookie, "?action=organization.renamed");
  assert.deepEqual(events.map(({ details }) => details), [
    { from: "First", to: "Second" },
    { from: "Ada Lovelace’s organization", to: "First" },
  ]);
});

for (
  const [change, update] of [
    ["changed", sql`name = 'First', updated_at = updated_at + 1`],
    ["encrypted again", sql`client_secret = 'plain:again'`],
  ] as const
) {
  testMeanwhile(`a provider that is ${change} meanwhile is not overwritten`, async (test, meanwhile) => {
    const operator = await newOperator(test);
    const { database } = test.opened;
    const id = newId("idp");
    await database.write([sql`
      INSERT INTO identity_providers (id, slug, kind, name, issuer, client_id, client_secret, position, created_at, updated_at)
      VALUES (${id}, 'hub', 'github', 'Hub', 'https://github.com', 'a', 'plain:a', 1, 0, 0)`]);
    const stored = () => database.readFirst(sql`SELECT name, client_secret FROM identity_providers`);
    const patch: Row = [`PATCH /api/operator/identity-providers/${id}`, { clientId: "b" }, "503 unavailable"];
    meanwhile(/SET name/, () => database.write([sql`UPDATE identity_providers SET ${update}`]));
    await assertRows(test, operator, [patch]);
    const before = await stored();
    await assertRows(test, operator, [[patch[0], { clientId: "b" }, 200]]);
    assert.deepEqual(await stored(), before);
  });
}
