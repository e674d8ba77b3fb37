// The client secret of an organization's provider: after SECRETS_KEY was lost, and replaced while the provider is required.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { sql } from "../../../../db/engine/database.ts";
import { Secrets } from "../../../../services/secrets.ts";
import { assertRows } from "../../../support/app/rows.ts";
import {
  companyTest,
  prove,
  providerOf,
  requireProvider,
  signInAs,
  slugOf,
  ssoOf,
  testProvider,
} from "../../../support/identity_providers/company.ts";
import { addProvider, assertRejected } from "../../../support/identity_providers/providers.ts";
import { newVisitor } from "../../../support/identity_providers/visitor.ts";
import { verifiedPerson } from "../../../support/people/people.ts";

/** Replaces all secrets of providers by ones that were encrypted with a key that isn't set. */
const loseKey = sql`UPDATE identity_providers SET client_secret = ${
  new Secrets([randomBytes(32)]).seal("idp", "secret")
}`;

companyTest(
  "a secret that can't be read anymore is replaced, and no one meets an error page",
  async (scene) => {
    const { test, issuer } = scene;
    const owner = await verifiedPerson(test);
    await assertRows(test, owner, [[`PUT ${ssoOf(owner)}`, providerOf(issuer), 200]]);
    await prove(scene, owner, "example.com");
    await addProvider(test, issuer, { slug: "service" });
    await test.opened.database.write([loseKey]);
    for (const slug of ["service", await slugOf(scene, owner)]) {
      const visitor = newVisitor(test);
      const visit = () => visitor.signInWith(slug);
      const { status, html, reason } = await assertRejected(test, visitor, visit, { name: slug });
      assert.deepEqual([status, reason], [502, "client secret can't be read"]);
      assert.match(html, /until its client secret is entered again/);
    }
    issuer.person = { sub: "owner", email: owner.email };
    await assertRows(test, owner, [
      [`POST ${ssoOf(owner)}/test`, null, "502 provider_unavailable"],
      [`PUT ${ssoOf(owner)}`, providerOf(issuer), 200, { shows: ['"testedAt":null'] }],
    ]);
    assert.match((await testProvider(scene, owner)).html, /Single sign-on works/);
  },
);

companyTest("a new secret of a required provider is used once a test succeeds", async (scene) => {
  const { test, issuer } = scene;
  const owner = await verifiedPerson(test);
  const path = ssoOf(owner);
  await requireProvider(scene, owner);
  const slug = await slugOf(scene, owner);
  const signsIn = async () => {
    const { visitor } = await signInAs(scene, slug, "ada@example.com");
    return await visitor.isSignedIn();
  };
  const old = issuer.clientSecret;
  const put = async (clientSecret: string | undefined, hasPendingSecret: boolean) => {
    const input = { ...providerOf(issuer, { enforced: true }), clientSecret };
    await assertRows(test, owner, [[`PUT ${path}`, input, 200, {
      shows: [`"hasPendingSecret":${hasPendingSecret}`, '"enforced":true'],
      hides: ['"testedAt":null', clientSecret ?? old],
    }]]);
  };
  await put("new-secret", true);
  await put(undefined, true);
  assert.ok(await signsIn(), "with the old secret");
  // The provider doesn't know it yet.
  issuer.person = { sub: "owner", email: owner.email };
  assert.doesNotMatch((await testProvider(scene, owner)).html, /Single sign-on works/);
  assert.ok(await signsIn(), "with the old secret after a test that failed");
  await put(old, false);
  await put("new-secret", true);
  Object.assign(issuer, { clientSecret: "new-secret" });
  assert.ok(!await signsIn(), "the old secret has ended");
  issuer.person = { sub: "owner", email: owner.email };
  assert.match((await testProvider(scene, owner)).html, /The new client secret is now in use/);
  assert.ok(await signsIn(), "with the new secret");
  await assertRows(test, owner, [
    [`GET ${path}`, null, 200, { shows: ['"hasPendingSecret":false'] }],
    ["GET /api/portal/audit", null, 200, { shows: ["client secret to test", '"change":"client secret"'] }],
    // Other clients still need another test first.
    [`PUT ${path}`, providerOf(issuer, { enforced: true, clientId: "other" }), "409 sso_untested"],
  ]);
  // A secret that can't be read is replaced in the same way.
  await test.opened.database.write([loseKey]);
  await put("new-secret", true);
  issuer.person = { sub: "owner", email: owner.email };
  assert.match((await testProvider(scene, owner)).html, /The new client secret is now in use/);
  assert.ok(await signsIn(), "with the secret that was entered again");
});
