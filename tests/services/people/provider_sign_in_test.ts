// Signing in with a provider on both databases: each decision is one batch, and its conditions are SQL.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { insertPendingProviderSignIn } from "../../../db/people/pending_sign_ins.ts";
import { insertProviderSession } from "../../../db/access/sessions.ts";
import { providerKeptMs, providerVisitTimeoutMs } from "../../../domain/people/provider_limits.ts";
import { newSession, newToken } from "../../../services/access/session_tokens.ts";
import { cleanUpSignIns } from "../../../services/people/sign_in.ts";
import { type TestApp, testApp, testPassword } from "../../support/app/app.ts";
import { testMeanwhile } from "../../support/app/meanwhile.ts";
import { startIssuer, type TestIssuer } from "../../support/identity_providers/issuer.ts";
import { addProvider, auditedBy } from "../../support/identity_providers/providers.ts";
import { newVisitor } from "../../support/identity_providers/visitor.ts";
import { onBothDatabases, onEveryDatabase } from "../../support/meter/usage.ts";
import { inviteTo, lastMail, me, verifiedPerson } from "../../support/people/people.ts";
import { codeOf, turnOnTwoStep } from "../../support/people/second_step.ts";
import { run } from "../../support/people/scene.ts";

const vouched = (sub: string, email: string) => ({
  sub,
  email,
  email_verified: true,
  name: `  Ada\u202e ${sub}\n`,
});

/** Visits a provider as a new browser. */
async function visit(test: TestApp, issuer: TestIssuer, person: TestIssuer["person"]) {
  issuer.person = person;
  const visitor = newVisitor(test);
  const { result, entries } = await auditedBy(test, () => visitor.signInWith("peer"));
  return { visitor, entries, page: result, me: await me(test, await visitor.cookie()) };
}

async function rowsOf(test: TestApp, userId: string) {
  const row = await test.opened.database.readFirst<Record<string, number | string | null>>(sql`
    SELECT (SELECT count(*) FROM identities WHERE user_id = u.id) AS identities,
      (SELECT count(*) FROM passkeys WHERE user_id = u.id) + (SELECT count(*) FROM totp WHERE user_id = u.id) AS factors,
      u.has_password AS hasPassword, u.email_verified_at IS NOT NULL AS confirmed, u.name,
      (SELECT max(provider_id) FROM sessions WHERE user_id = u.id) AS provider
    FROM users u WHERE u.id = ${userId}`);
  return { ...row };
}

onBothDatabases("signs up, in and back with what a provider says", async (test) => {
  await using issuer = startIssuer();
  const provider = await addProvider(test, issuer);
  // The provider doesn't vouch for the address: it is to be confirmed.
  const unvouched = await visit(test, issuer, {
    ...vouched("first", "first@example.com"),
    email_verified: "true",
  });
  assert.equal(unvouched.page.url.pathname, "/portal");
  assert.deepEqual(unvouched.entries.map(({ action, details }) => [action, details["provider"]]), [
    ["account.created", undefined],
    ["organization.created", undefined],
    ["session.created", "Peer peer"],
  ]);
  const first = unvouched.me.user?.id ?? "";
  const row = { identities: 1, factors: 0, hasPassword: 0, confirmed: 0, name: "Ada first", provider };
  assert.deepEqual(await rowsOf(test, first), row);
  assert.match((await lastMail(test, "first@example.com")).text, /\/verify-email\?token=/);
  assert.equal(unvouched.me.memberships[0]?.role, "OWNER");

  // Someone else has added things to an account with their address.
  await turnOnTwoStep(test, await unvouched.visitor.cookie());
  issuer.person = vouched("second", "first@example.com");
  const owner = await visit(test, issuer, issuer.person);
  assert.equal(owner.me.user?.id, first);
  assert.deepEqual(await rowsOf(test, first), { ...row, confirmed: 1 });
  assert.equal(await unvouched.visitor.isSignedIn(), false);
  assert.match((await lastMail(test, "first@example.com")).text, /with Peer peer/);
  // The identity that was there before is a stranger's.
  const before = await visit(test, issuer, {
    ...vouched("first", "first@example.com"),
    email_verified: false,
  });
  assert.deepEqual([before.page.status, before.me.authenticated], [409, false]);

  // A confirmed account keeps its sessions and its second step.
  const grace = await verifiedPerson(test, "Grace");
  const { secret } = await turnOnTwoStep(test, grace.cookie);
  for (const isKnown of [false, true]) {
    const step = await visit(test, issuer, vouched("grace", grace.email));
    assert.equal(step.page.url.pathname, "/sign-in/second-step");
    assert.deepEqual(step.entries.map(({ action }) => action), ["session.second_step_asked"]);
    test.advance(60_000);
    const form = { code: codeOf(secret, test.now()) };
    const { entries } = await auditedBy(test, () => step.visitor.open("/sign-in/second-step", { form }));
    assert.deepEqual(
      entries.map(({ action }) => action).sort(),
      [...(isKnown ? [] : ["identity.linked"]), "session.created"],
    );
    const created = entries.find(({ action }) => action === "session.created");
    assert.deepEqual(created?.details, { provider: "Peer peer", step: "code" });
    assert.equal((await me(test, await step.visitor.cookie())).user?.id, grace.userId);
  }
  assert.equal((await rowsOf(test, grace.userId))["provider"], provider);
  assert.equal((await me(test, grace.cookie)).authenticated, true);
});

onEveryDatabase("an organization's own provider is believed for its verified domains only", async (test) => {
  await using issuer = startIssuer();
  const { database } = test.opened;
  const [acme, ada] = [await verifiedPerson(test, "Acme"), await verifiedPerson(test, "Ada")];
  const company = { organizationId: acme.organizationId, domains: ["acme.example"] };
  const providerId = await addProvider(test, issuer, { company });
  // No other address, even if the provider vouches for it.
  const foreign = await visit(test, issuer, vouched("ada", ada.email));
  assert.deepEqual([foreign.page.status, foreign.entries[0]?.details["reason"]], [
    403,
    "domain not verified",
  ]);
  const moveTo = (email: string) =>
    database.write([sql`UPDATE users SET email = ${email} WHERE id = ${ada.userId}`]);
  await moveTo("ada@acme.example");
  // Most such providers say nothing about the address.
  const own = await visit(test, issuer, { sub: "ada", email: "Ada@Acme.example" });
  assert.equal(own.me.user?.id, ada.userId);
  const denied = await visit(test, issuer, {
    sub: "eve",
    email: "ada@acme.example",
    email_verified: false,
  });
  assert.equal(denied.page.status, 409);

  // The statements that write a session hold the condition too.
  const use = { providerId, issuer: issuer.url, subject: "ada", email: null, isNew: false };
  const attempts = async () => {
    const client = { address: "", userAgent: "", requestId: null };
    const [first, second] = [1, 2].map(() => newSession(ada.userId, { client, now: test.now() }).row);
    const pending = { tokenHash: newToken(), userId: ada.userId, expiresAt: test.now() + 1 };
    const setTwoStep = (at: number | null) =>
      sql`UPDATE totp SET confirmed_at = ${at} WHERE user_id = ${ada.userId}`;
    assert.ok(first && second);
    const results = await database.write([
      insertProviderSession(first, use),
      insertPendingProviderSignIn(pending, use),
      setTwoStep(1),
      insertProviderSession(second, use),
      insertPendingProviderSignIn(pending, use),
      setTwoStep(null),
    ]);
    return [0, 1, 3, 4].map((index) => results[index]?.changes);
  };
  await database.write([
    sql`INSERT INTO totp (user_id, secret, created_at, last_step) VALUES (${ada.userId}, 'x', 0, 0)`,
  ]);
  assert.deepEqual(await attempts(), [1, 0, 0, 1]);
  const changes = [
    sql`UPDATE users SET email_verified_at = NULL WHERE id = ${ada.userId}`,
    sql`UPDATE users SET email = 'ada@acme.example.org' WHERE id = ${ada.userId}`,
    sql`UPDATE organization_domains SET verified_at = NULL`,
    sql`UPDATE organization_domains SET organization_id = ${ada.organizationId}`,
    sql`UPDATE identity_providers SET issuer = 'https://other.example'`,
    sql`UPDATE identities SET user_id = ${acme.userId}`,
    sql`UPDATE users SET disabled_at = 1 WHERE id = ${ada.userId}`,
  ];
  for (const change of changes) {
    await database.write([change]);
    assert.deepEqual(await attempts(), [0, 0, 0, 0], change.sql);
    await database.write([
      sql`UPDATE users SET email = 'ada@acme.example', email_verified_at = 1, disabled_at = NULL WHERE id = ${ada.userId}`,
      sql`UPDATE organization_domains SET verified_at = 1, organization_id = ${acme.organizationId}`,
      sql`UPDATE identity_providers SET issuer = ${issuer.url}`,
      sql`UPDATE identities SET user_id = ${ada.userId}`,
    ]);
  }
  assert.deepEqual(await attempts(), [1, 0, 0, 1]);
}, { WEBHOOK_ALLOWED_HOSTS: "127.0.0.0/8" });

const changes: Readonly<Record<string, string>> = {
  "has another address": "UPDATE users SET email = 'moved@example.com' WHERE id = ?",
  "has an unconfirmed address": "UPDATE users SET email_verified_at = NULL WHERE id = ?",
  "is disabled": "UPDATE users SET disabled_at = 1 WHERE id = ?",
};

for (const [change, statement] of Object.entries(changes)) {
  testMeanwhile(
    `a new identity isn't connected to an account that now ${change}`,
    async (test, meanwhile) => {
      await using issuer = startIssuer();
      await addProvider(test, issuer);
      const { userId, email, cookie } = await verifiedPerson(test);
      meanwhile(/INSERT INTO identities/, () => run(test, statement, userId));
      const { entries, visitor } = await visit(test, issuer, vouched("ada", email));
      assert.ok(entries.every(({ action }) => action !== "identity.linked"), JSON.stringify(entries));
      const { identities } = await rowsOf(test, userId);
      // The owner of an address that isn't confirmed takes the account back.
      const isTakenBack = change.includes("unconfirmed");
      assert.deepEqual([identities, (await me(test, await visitor.cookie())).user?.id === userId], [
        isTakenBack ? 1 : 0,
        isTakenBack,
      ]);
      assert.equal((await me(test, cookie)).authenticated, change.includes("another"));
    },
  );
}

testApp("an invitation admits its address: by its link, or if the provider vouches", async (test) => {
  await using issuer = startIssuer();
  await addProvider(test, issuer);
  const owner = await verifiedPerson(test, "Olive");
  const emails = ["link@example.com", "vouched@example.com"];
  const links: string[] = [];
  for (const email of emails) links.push((await inviteTo(test, owner, { email, role: "MEMBER" })).token);
  // Without its link, and without an assertion, it admits no one.
  const { database } = test.opened;
  await database.write([sql`UPDATE identity_providers SET sign_up = 0`]);
  const stranger = await visit(test, issuer, { sub: "eve", email: emails[0] });
  assert.deepEqual([stranger.page.status, stranger.me.authenticated], [403, false]);
  issuer.person = { sub: "link", email: emails[0] };
  const byLink = newVisitor(test);
  const joined = await byLink.open(`/sign-in/with/peer?invitation=${links[0]}`);
  assert.equal(joined.url.pathname + joined.url.search, "/portal/members?done=joined");
  const byAddress = await visit(test, issuer, vouched("vouched", emails[1] ?? ""));
  for (const visitor of [byLink, byAddress.visitor]) {
    const { user, memberships } = await me(test, await visitor.cookie());
    assert.deepEqual(memberships.map(({ role }: { role: string }) => role), ["MEMBER"]);
    assert.equal(user?.emailVerified, true);
  }
});

testApp("stores nothing that brings a visit to an end, and forgets it", async (test) => {
  await using issuer = startIssuer({ person: vouched("ada", "ada@example.com") });
  await addProvider(test, issuer);
  const { database } = test.opened;
  const visitor = newVisitor(test);
  const callback = await visitor.untilCallback("peer", { returnTo: "/invitations/accept?token=secret" });
  const stored = JSON.stringify(await database.read(sql`SELECT * FROM provider_attempts`));
  const cookie = /provider_visit=([\w-]{43})/.exec(await visitor.cookie())?.[1] ?? "missing";
  const secrets = [
    callback.searchParams.get("state"),
    cookie,
    issuer.asked.get("nonce"),
    "invitations",
    "secret",
  ];
  for (const secret of secrets) assert.ok(secret !== null && !stored.includes(secret), `${secret}`);
  assert.equal((await visitor.open(callback)).url.pathname, "/invitations/accept");
  // Reloading it leads on, and does nothing.
  assert.equal((await visitor.open(callback)).url.pathname, "/portal");

  await newVisitor(test).untilCallback("peer");
  const left = async () => (await database.read(sql`SELECT 1 FROM provider_attempts`)).length;
  await cleanUpSignIns(test.services);
  assert.equal(await left(), 1);
  test.advance(providerVisitTimeoutMs);
  await cleanUpSignIns(test.services);
  assert.equal(await left(), 0);
});

testApp("reads a provider's configuration and keys once in ten minutes", async (test) => {
  await using issuer = startIssuer({ person: vouched("ada", "ada@example.com") });
  await addProvider(test, issuer);
  const requests = async () => {
    issuer.requests.length = 0;
    const { url } = await newVisitor(test).signInWith("peer");
    assert.equal(url.pathname, "/portal");
    return issuer.requests.filter((request) => /well-known|jwks/.test(request)).length;
  };
  assert.equal(await requests(), 2);
  assert.equal(await requests(), 0);
  // A key that is unknown is asked for immediately.
  issuer.rotateKey();
  assert.equal(await requests(), 1);
  assert.equal(await requests(), 0);
  test.advance(providerKeptMs);
  assert.equal(await requests(), 2);
});

testApp("offers providers in their order, and remembers the last way", async (test) => {
  await using issuer = startIssuer({ person: vouched("ada", "ada@example.com") });
  const { email } = await test.signUp();
  for (const slug of ["peer", "other"]) await addProvider(test, issuer, { slug, name: `<${slug}>` });
  const owner = await verifiedPerson(test);
  const company = { organizationId: owner.organizationId, domains: [] };
  await addProvider(test, issuer, { slug: "hidden", company });
  const visitor = newVisitor(test);
  const offered = async (path: string) => {
    const { html } = await visitor.open(path);
    const links = [...html.matchAll(/<a [^>]*href="(\/sign-in\/with\/[^"]*)".*?<\/a>/gs)];
    assert.ok(links.every(([link]) => !link.includes("<peer>")));
    return links.map(([link, href]) => (link.includes("Last used") ? `${href} last` : href));
  };
  const query = "?return_to=%2Fportal%2Fusage";
  for (const path of ["/sign-in", "/sign-up"]) {
    assert.deepEqual(await offered(path + query), [
      `/sign-in/with/peer${query}`,
      `/sign-in/with/other${query}`,
    ]);
  }
  await visitor.signInWith("other");
  await visitor.open("/sign-out", { form: {} });
  assert.deepEqual(await offered("/sign-in"), ["/sign-in/with/peer", "/sign-in/with/other last"]);
  await visitor.open("/sign-in", { form: { email, password: testPassword } });
  await visitor.open("/sign-out", { form: {} });
  assert.deepEqual(await offered("/sign-in"), ["/sign-in/with/peer", "/sign-in/with/other"]);
});
