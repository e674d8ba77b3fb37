// People with two-step sign-in who come from an organization's provider: nothing is written before their second step passes.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { assertRows } from "../../../support/app/rows.ts";
import {
  type CompanyScene,
  companyTest,
  prove,
  providerOf,
  signInAs,
  slugOf,
  ssoOf,
} from "../../../support/identity_providers/company.ts";
import type { Visitor } from "../../../support/identity_providers/visitor.ts";
import { verifiedPerson } from "../../../support/people/people.ts";
import { codeOf, turnOnTwoStep } from "../../../support/people/second_step.ts";

const secondStep = "/sign-in/second-step";

/** Sets up an organization with a provider, and someone with two-step sign-in and an address of its domain. */
async function scenery(scene: CompanyScene) {
  const { test, issuer } = scene;
  const owner = await verifiedPerson(test);
  await assertRows(test, owner, [[`PUT ${ssoOf(owner)}`, providerOf(issuer), 200]]);
  await prove(scene, owner, "example.com");
  const slug = await slugOf(scene, owner);
  const grace = await verifiedPerson(test, "Grace");
  const { secret } = await turnOnTwoStep(test, grace.cookie);
  const begin = async () => {
    const { visitor, visited } = await signInAs(scene, slug, grace.email);
    assert.equal(visited.url.pathname, secondStep, visited.html.slice(0, 300));
    return visitor;
  };
  const finish = (visitor: Visitor) => {
    test.advance(60_000);
    return visitor.open(secondStep, { form: { code: codeOf(secret, test.now()) } });
  };
  const counts = async () => {
    const [row] = await test.opened.database.read<Record<string, number>>(sql`
      SELECT (SELECT count(*) FROM identities WHERE user_id = ${grace.userId}) AS identities,
        (SELECT count(*) FROM memberships WHERE user_id = ${grace.userId}
          AND organization_id = ${owner.organizationId}) AS memberships,
        (SELECT count(*) FROM audit_events WHERE action IN ('identity.linked', 'member.joined')) AS entries`);
    const mails = (await test.mails()).filter(({ to, subject }) =>
      to === grace.email && /connected/.test(subject)
    );
    return [row?.["identities"], row?.["memberships"], row?.["entries"], mails.length];
  };
  return { owner, grace, begin, finish, counts };
}

companyTest("connects an identity and adds a member when the second step passes", async (scene) => {
  const { begin, finish, counts } = await scenery(scene);
  const visitor = await begin();
  assert.deepEqual(await counts(), [0, 0, 0, 0]);
  await visitor.open(secondStep, { form: { code: "000000" } });
  assert.deepEqual(await counts(), [0, 0, 0, 0]);
  assert.ok(!await visitor.isSignedIn());
  await finish(visitor);
  assert.ok(await visitor.isSignedIn());
  assert.deepEqual(await counts(), [1, 1, 2, 1]);
  // The next sign-in finds both.
  const again = await begin();
  await finish(again);
  assert.ok(await again.isSignedIn());
  assert.deepEqual(await counts(), [1, 1, 2, 1]);
});

companyTest("rejects a second step if the provider may no longer sign the person in", async (scene) => {
  const { test } = scene;
  const { owner, grace, begin, finish, counts } = await scenery(scene);
  const { database } = test.opened;
  const changes = [
    [
      sql`UPDATE organization_domains SET verified_at = NULL`,
      sql`UPDATE organization_domains SET verified_at = 1`,
    ],
    [
      sql`UPDATE users SET email = 'grace@other.example' WHERE id = ${grace.userId}`,
      sql`UPDATE users SET email = ${grace.email} WHERE id = ${grace.userId}`,
    ],
    [
      sql`UPDATE identity_providers SET issuer = 'https://other.example'`,
      sql`UPDATE identity_providers SET issuer = ${scene.issuer.url}`,
    ],
    [
      sql`INSERT INTO identities (id, user_id, issuer, subject, created_at)
        VALUES ('idn_other', ${owner.userId}, ${scene.issuer.url}, ${`sub of ${grace.email}`}, 0)`,
      sql`DELETE FROM identities`,
    ],
    [sql`UPDATE organizations SET suspended_at = 1 WHERE id = ${owner.organizationId}`],
  ] as const;
  for (const [change, back] of changes) {
    const visitor = await begin();
    await database.write([change]);
    const { status } = await finish(visitor);
    assert.ok(status >= 400 && status < 500, `${status} after ${change.sql}`);
    assert.ok(!await visitor.isSignedIn(), change.sql);
    assert.deepEqual(await counts(), [0, 0, 0, 0], change.sql);
    if (back !== undefined) await database.write([back]);
  }
});
