// An organization's own provider: proving domains, testing and requiring it, and who becomes a member by signing in with it.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { startTestApp, type TestApp, testPassword, type TestPerson } from "../../../support/app/app.ts";
import { assertRows, outcomeOf, sendRow } from "../../../support/app/rows.ts";
import { databaseKinds } from "../../../support/database/database.ts";
import { startIssuer, type TestIssuer } from "../../../support/identity_providers/issuer.ts";
import { addProvider } from "../../../support/identity_providers/providers.ts";
import { newVisitor, type Visitor } from "../../../support/identity_providers/visitor.ts";
import { type DnsServer, startDnsServer } from "../../../support/network/dns_server.ts";
import { joinedPerson, me, reauthenticate, signInAgain, verifiedPerson } from "../../../support/people/people.ts";
import { addPasskey, signInOptions, turnOnTwoStep } from "../../../support/people/second_step.ts";

interface Scene {
  readonly test: TestApp;
  readonly dns: DnsServer;
  readonly issuer: TestIssuer;
}

const dayMs = 24 * 3_600_000;

/** Defines a test on each kind of database, with a DNS server and a provider. */
function companyTest(promise: string, run: (scene: Scene) => Promise<void>): void {
  for (const kind of databaseKinds) {
    Deno.test({
      name: `${kind.name} database: ${promise}`,
      ignore: kind.ignore,
      async fn() {
        const dns = startDnsServer();
        const issuer = startIssuer();
        const settings = { DNS_SERVER: `127.0.0.1:${dns.nameServer.port}`, WEBHOOK_ALLOWED_HOSTS: "127.0.0.1" };
        const test = await startTestApp(settings, { open: kind.open });
        try {
          await run({ test, dns, issuer }).catch((e) => { console.log(test.logged().slice(-1500)); throw e; });
        } finally {
          await test.dispose();
          await Promise.all([dns.stop(), issuer.stop()]);
        }
      },
    });
  }
}

const ssoOf = ({ organizationId }: Pick<TestPerson, "organizationId">) =>
  `/api/portal/organizations/${organizationId}/sso`;

function providerOf(issuer: TestIssuer, more: Record<string, unknown> = {}) {
  const { url, clientId, clientSecret } = issuer;
  return { issuer: url, clientId, clientSecret, role: "MEMBER", enforced: false, ...more };
}

/** Adds a domain, publishes its record and verifies it. */
async function prove({ test, dns }: Scene, owner: TestPerson, domain: string): Promise<void> {
  const path = `${ssoOf(owner)}/domains`;
  const { html } = await assertRows(test, owner, [[`POST ${path}`, { domain }, 201]]);
  const { recordName, recordValue } = JSON.parse(html).domain;
  dns.texts.set(recordName, ["v=spf1 -all", ...dns.texts.get(recordName) ?? [], recordValue]);
  await assertRows(test, owner, [[`POST ${path}/${domain}/verify`, null, 200]]);
}

/** Tests the provider in the browser of an owner. @returns The page with the result. */
async function testProvider({ test }: Scene, owner: TestPerson) {
  const visitor = newVisitor(test);
  await visitor.take(owner.cookie);
  const begun = await test.send(`${ssoOf(owner)}/test`, { method: "POST", cookie: owner.cookie });
  assert.equal(begun.status, 200, await begun.clone().text());
  for (const cookie of begun.headers.getSetCookie()) await visitor.take(cookie);
  return await visitor.open((await begun.json()).url);
}

/** Sets up the provider with the domain example.com, tests it, and requires it. */
async function requireProvider(scene: Scene, owner: TestPerson, more: Record<string, unknown> = {}) {
  const { test, issuer } = scene;
  await assertRows(test, owner, [[`PUT ${ssoOf(owner)}`, providerOf(issuer), 200]]);
  await prove(scene, owner, "example.com");
  issuer.person = { sub: "owner", email: owner.email };
  assert.match((await testProvider(scene, owner)).html, /Single sign-on works/);
  await assertRows(test, owner, [[`PUT ${ssoOf(owner)}`, providerOf(issuer, { ...more, enforced: true }), 200]]);
}

async function slugOf({ test }: Scene, owner: TestPerson): Promise<string> {
  const { html } = await assertRows(test, owner, [[`GET ${ssoOf(owner)}`, null, 200]]);
  return new URL(JSON.parse(html).sso.signInUrl).pathname.split("/").at(-1) ?? "";
}

async function signInAs(
  { test, issuer }: Scene,
  slug: string,
  email: string,
  claims: Record<string, unknown> = {},
) {
  issuer.person = { sub: `sub of ${email}`, email, name: email.split("@")[0], ...claims };
  const visitor = newVisitor(test);
  return { visitor, visited: await visitor.signInWith(slug) };
}

async function userOf(test: TestApp, visitor: Visitor) {
  return await me(test, await visitor.cookie());
}

companyTest("an owner proves a domain, tests the provider, and only then requires it", async (scene) => {
  const { test, dns, issuer } = scene;
  const stranger = await test.signUp();
  await assertRows(test, stranger, [[`PUT ${ssoOf(stranger)}`, providerOf(issuer), "403 email_unverified"]]);
  const owner = await verifiedPerson(test);
  const admin = await joinedPerson(test, owner, "ADMIN");
  const path = ssoOf(owner);
  await assertRows(test, admin, [[`GET ${path}`, null, "403 forbidden"], [`PUT ${path}`, providerOf(issuer), "403 forbidden"]]);
  await assertRows(test, stranger, [[`GET ${path}`, null, "404 not_found"]]);
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
    [`POST ${path}/domains`, { domain: "Bücher.Example." }, 201, { shows: ["_gatehouse.xn--bcher-kva.example"] }],
    [`POST ${path}/domains/xn--bcher-kva.example/verify`, null, "409 domain_unproved"],
    [`POST ${path}/domains/unknown.example/verify`, null, "404 not_found"],
  ]);
  const secrets = await test.opened.database.read<{ secret: string }>(sql`SELECT client_secret AS secret FROM identity_providers`);
  assert.deepEqual(secrets.map(({ secret }) => secret.startsWith("plain:")), [true]);
  await prove(scene, owner, "example.com");
  // Someone of another domain, an unconfirmed address and no address are no success, and sign no one in.
  for (const person of [{ email: "ada@other.example" }, { email: owner.email, email_verified: false }, {}]) {
    issuer.person = { sub: "ada", ...person };
    assert.match((await testProvider(scene, owner)).html, /The test didn(&#39;|')t succeed/);
  }
  await assertRows(test, owner, [[`PUT ${path}`, providerOf(issuer, { enforced: true }), "409 sso_untested"]]);
  issuer.person = { sub: "ada", email: owner.email };
  assert.match((await testProvider(scene, owner)).html, /Single sign-on works/);
  const { clientSecret: _kept, ...unchanged } = providerOf(issuer, { enforced: true });
  await assertRows(test, owner, [
    [`PUT ${path}`, providerOf(issuer, { enforced: true, clientSecret: "other" }), "409 sso_untested"],
    [`PUT ${path}`, unchanged, 200, { shows: ['"enforced":true'] }],
    [`PUT ${path}`, providerOf(issuer, { clientSecret: "other" }), 200, { shows: ['"testedAt":null', '"enforced":false'] }],
  ]);
  const told = (await test.mails()).filter(({ to, subject }) => to === owner.email && /^Single sign-on/.test(subject));
  assert.deepEqual(told.map(({ subject }) => subject.replace(/.*organization /, "")).length, 3);
  const { html } = await assertRows(test, owner, [[`GET /api/portal/audit`, null, 200]]);
  for (const action of ["added", "domain_added", "domain_verified", "tested", "enforced", "enforcement_ended"]) {
    assert.ok(html.includes(`"sso.${action}"`), action);
  }
  // Twenty domains at most.
  for (let n = 0; n < 18; n++) await assertRows(test, owner, [[`POST ${path}/domains`, { domain: `d${n}.example` }, 201]]);
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
  await test.opened.database.write([sql`UPDATE users SET email = 'out@other.example' WHERE id = ${outsider.userId}`]);
  const passkeys = [await addPasskey(test, owner.cookie), await addPasskey(test, member.cookie)];
  const second = await joinedPerson(test, owner, "MEMBER");
  const twoStep = { ...second, ...await turnOnTwoStep(test, second.cookie) };
  await requireProvider(scene, owner);
  const slug = await slugOf(scene, owner);
  const before = await test.opened.database.read(sql`SELECT id FROM users ORDER BY id`);

  // Whether or not there is an account, and whether or not the password is right, the response is the same.
  const bodies = new Set<string>();
  for (const [email, password] of [[member.email, testPassword], [member.email, "wrong"], ["nobody@example.com", "wrong"]]) {
    const response = await test.send("/api/auth/sign-in", { json: { email, password } });
    assert.equal(response.status, 403);
    bodies.add(JSON.stringify((await response.json()).error));
  }
  assert.equal(bodies.size, 1);
  assert.match([...bodies][0] ?? "", new RegExp(`sso_required.*/sign-in/with/${slug}`));
  await assertRows(test, {}, [
    ["POST /api/auth/sign-in", { email: twoStep.email, password: testPassword }, "403 sso_required"],
    ["POST /api/auth/sign-in", { email: "out@other.example", password: testPassword }, 200],
    ["POST /api/auth/sign-up", { name: "New", email: "new@example.com", password: testPassword }, "403 sso_required"],
    ["POST /api/auth/password/forgot", { email: member.email }, "403 sso_required"],
    // The page leads to the provider, with and without a password.
    ["POST /sign-in", { email: member.email, password: "" }, 200, { shows: [`href="/sign-in/with/${slug}"`] }],
    ["POST /sign-in", { email: "Nobody@EXAMPLE.com", password: "x", single_sign_on: "1" }, 200, { shows: [`/with/${slug}`] }],
    ["POST /sign-in", { email: "out@other.example", single_sign_on: "1" }, "422 email"],
  ]);
  const [owners, members] = passkeys.map(({ passkey }) => passkey);
  const response = await test.send("/api/auth/sign-in/passkey", {
    json: { response: owners?.signIn(await signInOptions(test)) },
  });
  assert.equal(response.status, 200, await response.clone().text());
  await assertRows(test, {}, [
    ["POST /api/auth/sign-in/passkey", { response: members?.signIn(await signInOptions(test)) }, "403 sso_required"],
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
  assert.equal(refused.visited.status, 403);
  assert.ok(!await refused.visitor.isSignedIn());
  issuer.person = { sub: "owner", email: owner.email };
});

companyTest("whoever signs in with the organization's provider becomes its member, within the plan", async (scene) => {
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
  assert.deepEqual(fresh.memberships.map(({ organizationId, role }) => [organizationId, role]), [[organizationId, "ADMIN"]]);
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
  const counts = sql`SELECT (SELECT count(*) FROM users) AS users, (SELECT count(*) FROM memberships) AS members`;
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
  for (const [email, claims] of [["x@other.example", {}], ["sixth@example.com", { email_verified: false }]] as const) {
    const { visited, visitor } = await signInAs(scene, slug, email, claims);
    assert.equal(visited.status, 403, email);
    assert.ok(!await visitor.isSignedIn());
  }
  assert.deepEqual(await database.readFirst(counts), before);
  // Removed from the organization and still in the directory, someone joins again.
  await assertRows(test, owner, [
    [`DELETE /api/portal/organizations/${organizationId}/members/${fresh.user?.id}`, null, 204],
  ]);
  assert.equal((await userOf(test, (await signInAs(scene, slug, "fresh@example.com")).visitor)).memberships.length, 1);
});

companyTest("an organization's days end sessions of its people, also those that exist", async (scene) => {
  const { test, issuer } = scene;
  const owner = await verifiedPerson(test);
  const member = await joinedPerson(test, owner, "MEMBER");
  const outsider = await joinedPerson(test, owner, "MEMBER");
  await test.opened.database.write([sql`UPDATE users SET email = 'out@other.example' WHERE id = ${outsider.userId}`]);
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

companyTest("a domain moves to whoever proves it only when the record of the one before is gone", async (scene) => {
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
    ["GET /api/portal/audit", null, 200, { shows: ["sso.domain_moved"], hides: [second.organizationId, "Second"] }],
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
    outcomes.add(await outcomeOf((await sendRow(test, first, `POST ${ssoOf(first)}/domains/example.com/verify`)).answer));
  }
  assert.deepEqual([...outcomes], ["409 domain_unproved", "429 rate_limited"]);
});
