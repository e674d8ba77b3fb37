// The domains of an organization with its own provider: who has them, and how long sessions of their people last.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { assertRows, outcomeOf, sendRow } from "../../../support/app/rows.ts";
import { companyTest, prove, providerOf, ssoOf } from "../../../support/identity_providers/company.ts";
import { joinedPerson, me, signInAgain, verifiedPerson } from "../../../support/people/people.ts";

const dayMs = 24 * 3_600_000;

companyTest("an organization's days end sessions of its people, also those that exist", async (scene) => {
  const { test, issuer } = scene;
  const owner = await verifiedPerson(test);
  const member = await joinedPerson(test, owner, "MEMBER");
  const outsider = await joinedPerson(test, owner, "MEMBER");
  await test.opened.database.write([
    sql`UPDATE users SET email = 'out@other.example' WHERE id = ${outsider.userId}`,
  ]);
  await assertRows(test, owner, [[`PUT ${ssoOf(owner)}`, providerOf(issuer, { sessionMaxDays: 3 }), 200]]);
  const isIn = async ({ cookie }: { cookie: string }) => (await me(test, cookie)).authenticated;
  // The domain's verification shortens the sessions that there are.
  await prove(scene, owner, "example.com");
  test.advance(2 * dayMs);
  const later = { cookie: await signInAgain(test, member.email) };
  assert.deepEqual([await isIn(owner), await isIn(member), await isIn(outsider)], [true, true, true]);
  test.advance(dayMs + 1);
  assert.deepEqual([await isIn(owner), await isIn(member), await isIn(outsider)], [false, false, true]);
  assert.equal(await isIn(later), true);
  const again = { ...owner, cookie: await signInAgain(test, owner.email) };
  await assertRows(test, again, [[`PUT ${ssoOf(owner)}`, providerOf(issuer, { sessionMaxDays: 1 }), 200]]);
  assert.deepEqual([await isIn(later), await isIn(again), await isIn(outsider)], [false, true, true]);
  await assertRows(test, again, [[`PUT ${ssoOf(owner)}`, providerOf(issuer), 200]]);
  test.advance(dayMs + 1);
  assert.deepEqual([await isIn(again), await isIn(outsider)], [false, true]);
});

companyTest("a domain moves to another organization only when the earlier record is gone", async (scene) => {
  const { test, dns } = scene;
  const first = await verifiedPerson(test);
  const second = await verifiedPerson(test, "Second");
  await prove(scene, first, "example.com");
  const name = "_gatehouse.example.com";
  const [, firstValue = ""] = dns.texts.get(name) ?? [];
  const path = `${ssoOf(second)}/domains`;
  const { html } = await assertRows(test, second, [[`POST ${path}`, { domain: "example.com" }, 201]]);
  const secondValue = JSON.parse(html).domain.recordValue;
  const verify = `POST ${path}/example.com/verify`;
  // The first one's token proves nothing for the second.
  await assertRows(test, second, [[verify, null, "409 domain_unproved"]]);
  dns.texts.set(name, [firstValue, secondValue]);
  await assertRows(test, second, [[verify, null, "409 domain_taken"]]);
  dns.texts.set(name, [secondValue]);
  await assertRows(test, second, [[verify, null, 200], [verify, null, 200]]);
  await assertRows(test, first, [
    [`GET ${ssoOf(first)}`, null, 200, { shows: ['"verifiedAt":null'] }],
    ["GET /api/portal/audit", null, 200, {
      shows: ["sso.domain_moved"],
      hides: [second.organizationId, "Second"],
    }],
  ]);
  assert.match((await test.mails()).findLast(({ to }) => to === first.email)?.subject ?? "", /lost a domain/);
  // Deleting an organization frees its domains and deletes its provider.
  await assertRows(test, second, [[`PUT ${ssoOf(second)}`, providerOf(scene.issuer), 200]]);
  const { name: organization } = (await me(test, second.cookie)).memberships[0] ?? {};
  await assertRows(test, second, [
    [`DELETE /api/portal/organizations/${second.organizationId}`, { name: organization }, 204],
  ]);
  const left = await test.opened.database.read(
    sql`SELECT organization_id FROM organization_domains WHERE verified_at IS NOT NULL
    UNION ALL SELECT id FROM identity_providers`,
  );
  assert.deepEqual(left, []);
  // Look-ups are limited.
  const outcomes = new Set<string>();
  for (let n = 0; n < 12; n++) {
    outcomes.add(
      await outcomeOf((await sendRow(test, first, `POST ${ssoOf(first)}/domains/example.com/verify`)).answer),
    );
  }
  assert.deepEqual([...outcomes], ["409 domain_unproved", "429 rate_limited"]);
});
