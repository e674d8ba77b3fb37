// An organization's own provider: testing and requiring it, and who becomes a member by signing in with it.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { testPassword } from "../../../support/app/app.ts";
import { assertRows, type Row } from "../../../support/app/rows.ts";
import {
  companyTest,
  prove,
  providerOf,
  requireProvider,
  signInAs,
  slugOf,
  ssoOf,
  testProvider,
  userOf,
} from "../../../support/identity_providers/company.ts";
import { startIssuer } from "../../../support/identity_providers/issuer.ts";
import { addProvider } from "../../../support/identity_providers/providers.ts";
import { newVisitor } from "../../../support/identity_providers/visitor.ts";
import {
  joinedPerson,
  me,
  reauthenticate,
  signInAgain,
  verifiedPerson,
} from "../../../support/people/people.ts";
import { addPasskey, signInOptions, turnOnTwoStep } from "../../../support/people/second_step.ts";

companyTest("an owner proves a domain, tests the provider, and only then requires it", async (scene) => {
  const { test, dns, issuer } = scene;
  const stranger = await test.signUp();
  await assertRows(test, stranger, [[`PUT ${ssoOf(stranger)}`, providerOf(issuer), "403 email_unverified"]]);
  const owner = await verifiedPerson(test);
  const path = ssoOf(owner);
  await assertRows(test, owner, [
    [`GET ${path}`, null, 200, { shows: ['"provider":null', "/callback"] }],
    [`PUT ${path}`, { ...providerOf(issuer), clientSecret: undefined }, "422 validation_failed clientSecret"],
    [`PUT ${path}`, providerOf(issuer, { sessionMaxDays: 31 }), "422 validation_failed sessionMaxDays"],
    [`PUT ${path}`, providerOf(issuer, { issuer: `${issuer.url}/other` }), "422 validation_failed issuer"],
    [`PUT ${path}`, providerOf(issuer, { issuer: "https://10.0.0.1" }), "422 validation_failed issuer"],
    [`PUT ${path}`, providerOf(issuer, { enforced: true }), "409 sso_untested"],
    [`PUT ${path}`, providerOf(issuer), 200, { hides: [issuer.clientSecret] }],
    [`PUT ${path}`, providerOf(issuer, { enforced: true }), "409 sso_untested"],
    [`POST ${path}/domains`, { domain: "gmail.com" }, "422 validation_failed domain"],
    [`POST ${path}/domains`, { domain: "co.uk" }, "422 validation_failed domain"],
    [`POST ${path}/domains`, { domain: "10.0.0.1" }, "422 validation_failed domain"],
    [`POST ${path}/domains`, { domain: "Bücher.Example." }, 201, {
      shows: ["_gatehouse.xn--bcher-kva.example"],
    }],
    [`POST ${path}/domains/xn--bcher-kva.example/verify`, null, "409 domain_unproved"],
    [`POST ${path}/domains/unknown.example/verify`, null, "404 not_found"],
  ]);
  const secrets = await test.opened.database.read<{ secret: string }>(
    sql`SELECT client_secret AS secret FROM identity_providers`,
  );
  assert.deepEqual(secrets.map(({ secret }) => secret.startsWith("plain:")), [true]);
  await prove(scene, owner, "example.com");
  // Someone of another domain, an unconfirmed address and no address are no success, and sign no one in.
  for (const person of [{ email: "ada@other.example" }, { email: owner.email, email_verified: false }, {}]) {
    issuer.person = { sub: "ada", ...person };
    assert.match((await testProvider(scene, owner)).html, /The test didn(&#39;|')t succeed/);
  }
  await assertRows(test, owner, [[
    `PUT ${path}`,
    providerOf(issuer, { enforced: true }),
    "409 sso_untested",
  ]]);
  issuer.person = { sub: "ada", email: owner.email };
  assert.match((await testProvider(scene, owner)).html, /Single sign-on works/);
  const { clientSecret: _kept, ...unchanged } = providerOf(issuer, { enforced: true });
  await assertRows(test, owner, [
    [`PUT ${path}`, providerOf(issuer, { enforced: true, clientSecret: "other" }), "409 sso_untested"],
    [`PUT ${path}`, unchanged, 200, { shows: ['"enforced":true'] }],
    [`PUT ${path}`, providerOf(issuer, { clientSecret: "other" }), 200, {
      shows: ['"testedAt":null', '"enforced":false'],
    }],
  ]);
  const told = (await test.mails()).filter(({ to, subject }) =>
    to === owner.email && /^Single sign-on/.test(subject)
  );
  assert.deepEqual(told.map(({ subject }) => subject.replace(/.*organization /, "")).length, 3);
  const { html } = await assertRows(test, owner, [[`GET /api/portal/audit`, null, 200]]);
  for (
    const action of ["added", "domain_added", "domain_verified", "tested", "enforced", "enforcement_ended"]
  ) {
    assert.ok(html.includes(`"sso.${action}"`), action);
  }
  // Twenty domains at most.
  for (let n = 0; n < 18; n++) {
    await assertRows(test, owner, [[`POST ${path}/domains`, { domain: `d${n}.example` }, 201]]);
  }
  await assertRows(test, owner, [
    [`POST ${path}/domains`, { domain: "d0.example" }, 201],
    [`POST ${path}/domains`, { domain: "d18.example" }, "409 limit_reached"],
  ]);
  dns.isSilent = false;
});

companyTest("a required provider is the only way in, and owners' passkeys the way back", async (scene) => {
  const { test, issuer } = scene;
  const owner = await verifiedPerson(test);
  const member = await joinedPerson(test, owner, "MEMBER");
  const outsider = await verifiedPerson(test, "Outsider");
  await test.opened.database.write([
    sql`UPDATE users SET email = 'out@other.example' WHERE id = ${outsider.userId}`,
  ]);
  const passkeys = [await addPasskey(test, owner.cookie), await addPasskey(test, member.cookie)];
  const second = await joinedPerson(test, owner, "MEMBER");
  const twoStep = { ...second, ...await turnOnTwoStep(test, second.cookie) };
  await requireProvider(scene, owner);
  const slug = await slugOf(scene, owner);
  const before = await test.opened.database.read(sql`SELECT id FROM users ORDER BY id`);

  // Whether or not there is an account, and whether or not the password is right, the response is the same.
  const bodies = new Set<string>();
  for (
    const [email, password] of [[member.email, testPassword], [member.email, "wrong"], [
      "nobody@example.com",
      "wrong",
    ]]
  ) {
    const response = await test.send("/api/auth/sign-in", { json: { email, password } });
    assert.equal(response.status, 403);
    bodies.add(JSON.stringify((await response.json()).error));
  }
  assert.equal(bodies.size, 1);
  assert.match([...bodies][0] ?? "", new RegExp(`sso_required.*/sign-in/with/${slug}`));
  await assertRows(test, {}, [
    ["POST /api/auth/sign-in", { email: twoStep.email, password: testPassword }, "403 sso_required"],
    ["POST /api/auth/sign-in", { email: "out@other.example", password: testPassword }, 200],
    [
      "POST /api/auth/sign-up",
      { name: "New", email: "new@example.com", password: testPassword },
      "403 sso_required",
    ],
    ["POST /api/auth/password/forgot", { email: member.email }, "403 sso_required"],
    // The page leads to the provider, with and without a password.
    ["POST /sign-in", { email: member.email, password: "" }, 200, {
      shows: [`href="/sign-in/with/${slug}"`],
    }],
    ["POST /sign-in", { email: "Nobody@EXAMPLE.com", password: "x", single_sign_on: "1" }, 200, {
      shows: [`/with/${slug}`],
    }],
    ["POST /sign-in", { email: "out@other.example", single_sign_on: "1" }, "422 email"],
    // No address is not one without single sign-on.
    ...["", "grace"].map((email): Row => ["POST /sign-in", { email, single_sign_on: "1" }, 422, {
      shows: ["Enter an email address"],
    }]),
  ]);
  const [owners, members] = passkeys.map(({ passkey }) => passkey);
  const response = await test.send("/api/auth/sign-in/passkey", {
    json: { response: owners?.signIn(await signInOptions(test)) },
  });
  assert.equal(response.status, 200, await response.clone().text());
  await assertRows(test, {}, [
    [
      "POST /api/auth/sign-in/passkey",
      { response: members?.signIn(await signInOptions(test)) },
      "403 sso_required",
    ],
  ]);
  // A provider of the whole service, which vouches, signs no one in and creates no one.
  const other = startIssuer();
  try {
    await addProvider(test, other, { slug: "peer" });
    for (const email of [member.email, "new@example.com"]) {
      other.person = { sub: email, email, email_verified: true };
      const visitor = newVisitor(test);
      const visited = await visitor.signInWith("peer");
      assert.equal(visited.status, 403, visited.html.slice(0, 500));
      assert.ok(!await visitor.isSignedIn());
    }
  } finally {
    await other.stop();
  }
  assert.deepEqual(await test.opened.database.read(sql`SELECT id FROM users ORDER BY id`), before);
  // Confirming the password in a session is no sign-in.
  await reauthenticate(test, member.cookie);
  await assertRows(test, member, [
    ["POST /api/portal/account/email", { email: "elsewhere@other.example" }, "403 sso_required"],
  ]);
  // The provider does, and the second step set up here still follows.
  assert.ok(await (await signInAs(scene, slug, member.email)).visitor.isSignedIn());
  const { visitor, visited } = await signInAs(scene, slug, twoStep.email);
  assert.equal(visited.url.pathname, "/sign-in/second-step");
  assert.ok(!await visitor.isSignedIn());
  // Removing the domain takes effect on the next sign-in.
  await assertRows(test, owner, [[`DELETE ${ssoOf(owner)}/domains/example.com`, null, 204]]);
  await signInAgain(test, member.email);
  const refused = await signInAs(scene, slug, member.email);
  assert.equal(refused.visited.status, 404);
  assert.ok(!await refused.visitor.isSignedIn());
  issuer.person = { sub: "owner", email: owner.email };
});

companyTest("people who sign in with the provider become members, within the plan", async (scene) => {
  const { test } = scene;
  const owner = await verifiedPerson(test);
  const { organizationId } = owner;
  await requireProvider(scene, owner, { role: "ADMIN" });
  const slug = await slugOf(scene, owner);
  const { database } = test.opened;
  await database.write([
    sql`UPDATE identity_providers SET enforced = 0`,
    sql`UPDATE organizations SET members_max = 4 WHERE id = ${organizationId}`,
  ]);
  const fresh = await userOf(test, (await signInAs(scene, slug, "fresh@example.com")).visitor);
  assert.deepEqual(fresh.memberships.map(({ organizationId, role }) => [organizationId, role]), [[
    organizationId,
    "ADMIN",
  ]]);
  assert.equal(fresh.user?.emailVerified, true);
  // A confirmed account keeps its own organization.
  const confirmed = await verifiedPerson(test, "Grace");
  const joined = await userOf(test, (await signInAs(scene, slug, confirmed.email)).visitor);
  assert.equal(joined.user?.id, confirmed.userId);
  assert.equal(joined.memberships.length, 2);
  assert.equal(joined.organizationId, organizationId);
  // One that a stranger created is taken back: the stranger is out.
  const squatter = await test.signUp("Squatter");
  const owned = await userOf(test, (await signInAs(scene, slug, squatter.email)).visitor);
  assert.deepEqual([owned.user?.id, owned.memberships.length], [squatter.userId, 2]);
  assert.equal((await me(test, squatter.cookie)).authenticated, false);
  const entries = await database.read<{ details: string }>(
    sql`SELECT details FROM audit_events WHERE action = 'member.joined' AND organization_id = ${organizationId}`,
  );
  assert.equal(entries.length, 3);
  assert.ok(entries.every(({ details }) => JSON.parse(details).provider !== undefined));
  // Full, suspended, not confirmed at the provider, another domain: a page, no account and no membership.
  const counts =
    sql`SELECT (SELECT count(*) FROM users) AS users, (SELECT count(*) FROM memberships) AS members`;
  const before = await database.readFirst(counts);
  const full = await signInAs(scene, slug, "fifth@example.com");
  assert.equal(full.visited.status, 409);
  assert.match(full.visited.html, /limit of 4 members/);
  await database.write([
    sql`UPDATE organizations SET members_max = NULL, suspended_at = 1 WHERE id = ${organizationId}`,
  ]);
  assert.equal((await signInAs(scene, slug, "fifth@example.com")).visited.status, 403);
  assert.ok(await (await signInAs(scene, slug, "fresh@example.com")).visitor.isSignedIn());
  await database.write([sql`UPDATE organizations SET suspended_at = NULL WHERE id = ${organizationId}`]);
  for (
    const [email, claims] of [["x@other.example", {}], ["sixth@example.com", {
      email_verified: false,
    }]] as const
  ) {
    const { visited, visitor } = await signInAs(scene, slug, email, claims);
    assert.equal(visited.status, 403, email);
    assert.ok(!await visitor.isSignedIn());
  }
  assert.deepEqual(await database.readFirst(counts), before);
  // Removed from the organization and still in the directory, someone joins again.
  await assertRows(test, owner, [
    [`DELETE /api/portal/organizations/${organizationId}/members/${fresh.user?.id}`, null, 204],
  ]);
  assert.equal(
    (await userOf(test, (await signInAs(scene, slug, "fresh@example.com")).visitor)).memberships.length,
    1,
  );
});
