// Verified domains are looked up again: one whose record is gone for two weeks isn't verified anymore.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { lookUpDomains } from "../../../../services/people/company_domains.ts";
import { testPassword } from "../../../support/app/app.ts";
import { assertRows } from "../../../support/app/rows.ts";
import { companyTest, requireProvider, ssoOf } from "../../../support/identity_providers/company.ts";
import { joinedPerson, signInAgain, verifiedPerson } from "../../../support/people/people.ts";

const dayMs = 24 * 3_600_000;

companyTest("a domain whose record is gone for two weeks isn't verified anymore", async (scene) => {
  const { test, dns } = scene;
  const owner = await verifiedPerson(test);
  const member = await joinedPerson(test, owner, "MEMBER");
  await requireProvider(scene, owner);
  const queries: string[] = [];
  dns.onQuery = (name) => queries.push(name);
  const looksUp = async (days: number) => {
    test.advance(days * dayMs);
    assert.equal(await lookUpDomains(test.services), false);
    return queries.splice(0).length > 0;
  };
  const state = async () => {
    const [row] = await test.opened.database.read<{ verified: number; missing: number }>(sql`
      SELECT verified_at IS NOT NULL AS verified, missing_since IS NOT NULL AS missing FROM organization_domains`);
    return [row?.verified, row?.missing];
  };
  const told = async () =>
    (await test.mails()).filter(({ to, subject }) => to === owner.email && /domain/.test(subject))
      .map(({ subject }) => subject.replace(/^Single sign-on of .*? (?=has|no longer)/, ""));
  assert.deepEqual([await looksUp(6.9), await looksUp(0.1)], [false, true]);
  assert.deepEqual([await state(), await told()], [[1, 0], []]);
  // A record that comes back counts as never gone.
  const record = dns.texts.get("_gatehouse.example.com") ?? [];
  dns.texts.delete("_gatehouse.example.com");
  assert.ok(await looksUp(7));
  assert.deepEqual([await state(), (await told()).length], [[1, 1], 1]);
  dns.texts.set("_gatehouse.example.com", record);
  assert.ok(await looksUp(1));
  assert.deepEqual(await state(), [1, 0]);
  // Gone, or a server that doesn't respond: daily look-ups, and one email before and one after.
  dns.texts.delete("_gatehouse.example.com");
  assert.ok(await looksUp(7));
  for (let day = 1; day < 14; day++) assert.ok(await looksUp(1), `day ${day}`);
  assert.deepEqual([await state(), (await told()).length], [[1, 1], 2]);
  await assertRows(test, {}, [
    ["POST /api/auth/sign-in", { email: member.email, password: testPassword }, "403 sso_required"],
  ]);
  assert.ok(await looksUp(1));
  assert.deepEqual([await state(), await told()], [[0, 0], [
    "has a domain without its TXT record",
    "has a domain without its TXT record",
    "no longer applies to a domain",
  ]]);
  assert.ok(!await looksUp(30));
  const again = { ...owner, cookie: await signInAgain(test, owner.email) };
  await assertRows(test, again, [
    ["GET /api/portal/audit", null, 200, { shows: ["sso.domain_missing", "sso.domain_unverified"] }],
  ]);
  // It can be verified again.
  dns.texts.set("_gatehouse.example.com", record);
  const path = `${ssoOf(owner)}/domains/example.com/verify`;
  await assertRows(test, again, [[`POST ${path}`, null, 200, { shows: ['"missingSince":null'] }]]);
  queries.length = 0;
  assert.deepEqual([await looksUp(6), await looksUp(1)], [false, true]);
});
