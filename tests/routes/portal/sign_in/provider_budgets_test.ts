// What visits to providers use up: faults of a provider, other sites' pages and colleagues at an address keep no one from signing in.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { addressFailuresMax, addressSignUpsMax, passkeyChallengesMax } from "../../../../domain/limits.ts";
import { providerVisitsMax } from "../../../../domain/people/provider_limits.ts";
import { type TestApp, testApp, testPassword } from "../../../support/app/app.ts";
import { startIssuer, type TestIssuer } from "../../../support/identity_providers/issuer.ts";
import { browserOf, link } from "../../../support/identity_providers/own_visits.ts";
import { addProvider, auditedBy } from "../../../support/identity_providers/providers.ts";
import { newVisitor, type Visitor } from "../../../support/identity_providers/visitor.ts";
import { verifiedPerson } from "../../../support/people/people.ts";
import { newOrganization } from "../../../support/people/scene.ts";
import { addPasskey } from "../../../support/people/second_step.ts";
import { webhookSettings } from "../../../support/webhooks/endpoints.ts";

const more = addressFailuresMax + 2;

/** Defines a test with an issuer that is the provider `peer`. */
function budgetTest(name: string, use: (test: TestApp, issuer: TestIssuer) => Promise<void>): void {
  testApp(name, async (test) => {
    await using issuer = startIssuer();
    await addProvider(test, issuer);
    await use(test, issuer);
  }, webhookSettings);
}

/** Asserts that a browser's address has all ways to sign in. */
async function assertOpen(test: TestApp, browser: Visitor, name: string): Promise<void> {
  const { email } = await test.signUp();
  const { url } = await browser.open("/sign-in", { form: { email, password: testPassword } });
  assert.equal(url.pathname, "/portal", name);
  await browser.open("/sign-out", { form: {} });
  const form = { response: JSON.stringify({}) };
  assert.equal((await browser.open("/sign-in/passkey", { form })).status, 401, name);
}

const faults: Readonly<Record<string, TestIssuer["lies"]>> = {
  "an expired client secret": {
    respond: { token: () => Response.json({ error: "invalid_client" }, { status: 401 }) },
  },
  "a wrong nonce": { claims: { nonce: "other" } },
  "no email address": { claims: { email: undefined }, userinfo: { email: undefined } },
  "no assertion about the address": { claims: { email_verified: undefined } },
};

for (const [fault, lies] of Object.entries(faults)) {
  budgetTest(`a provider with ${fault} keeps no one at the address from signing in`, async (test, issuer) => {
    issuer.person = { sub: "ada", email: (await verifiedPerson(test)).email, email_verified: true };
    issuer.lies = lies;
    const browser = newVisitor(test);
    for (let count = 0; count < more; count++) {
      assert.ok((await browser.signInWith("peer")).status >= 400);
    }
    await assertOpen(test, browser, fault);
  });
}

budgetTest("pages of other sites use up nothing", async (test) => {
  const browser = newVisitor(test);
  const callback = "/sign-in/with/peer/callback?code=x&state=";
  const other = newVisitor(test);
  const late = await other.untilCallback("peer");
  const visits = async () =>
    (await test.opened.database.read(sql`SELECT state_hash FROM provider_attempts`)).length;
  const before = await visits();
  for (const dest of ["image", "iframe", "script", "object", "empty"]) {
    const headers = { "sec-fetch-dest": dest, "sec-fetch-site": "cross-site" };
    for (let count = 0; count <= providerVisitsMax / 4; count++) {
      const options = { headers, stopAt: () => true };
      assert.equal((await browser.open("/sign-in/with/peer", options)).status, 204, dest);
      assert.equal((await browser.open(`${callback}1`, options)).status, 204, dest);
    }
  }
  assert.equal(await visits(), before);
  // A frame doesn't complete someone's own visit.
  await other.open(late, { headers: { "sec-fetch-dest": "iframe" }, stopAt: () => true });
  assert.equal(await visits(), before);
  // Links, and reloads of a visit that has expired or was completed.
  for (const state of ["1", "x".repeat(43), late.searchParams.get("state") ?? ""]) {
    for (let count = 0; count < more; count++) {
      assert.equal((await browser.open(callback + state)).status, 403);
    }
  }
  await browser.untilCallback("peer");
  await assertOpen(test, browser, "after links and images");
});

budgetTest("nobody who is signed in is blocked by what others at their address did", async (test, issuer) => {
  const owner = await verifiedPerson(test);
  issuer.person = { sub: "ada", email: owner.email, email_verified: true };
  await addPasskey(test, owner.cookie);
  const browser = await browserOf(test, owner.cookie);
  const address = await addressOf(test, browser);
  const { rateLimits } = test.services;
  const client = { address };
  for (let count = 0; count < addressFailuresMax; count++) rateLimits.addressFailures.take(address);
  for (let count = 0; count < providerVisitsMax; count++) rateLimits.providerVisits.take(client);
  for (let count = 0; count < passkeyChallengesMax; count++) rateLimits.passkeyChallenges.take(client);
  const stranger = { peerAddress: address };
  const path = "/api/auth/sign-in/passkey/options";
  assert.equal((await test.send(path, { ...stranger, json: {} })).status, 429);
  assert.equal((await test.send("/sign-in/with/peer", stranger)).status, 429);
  assert.match((await link(browser)).url.search, /done=connected/);
  const proof = "/api/portal/account/proof/passkey/options";
  assert.equal(
    (await test.send(proof, { ...stranger, method: "POST", cookie: owner.cookie })).status,
    200,
  );
});

/** Finds the address of a browser by an entry of the audit log. */
async function addressOf(test: TestApp, browser: Visitor): Promise<string> {
  await browser.open("/sign-in", { form: { email: "nobody@example.com", password: testPassword } });
  const entry = await test.opened.database.readFirst<{ address: string }>(
    sql`SELECT address FROM audit_events WHERE action = 'session.refused'`,
  );
  assert.ok(entry);
  return entry.address;
}

budgetTest("a provider that is down writes one audit entry a minute", async (test, issuer) => {
  issuer.lies = { respond: { discovery: () => new Response(null, { status: 500 }) } };
  const browser = newVisitor(test);
  const visitTwice = async () => {
    const { entries } = await auditedBy(test, async () => {
      for (const _ of [1, 2]) assert.equal((await browser.signInWith("peer")).status, 502);
    });
    return entries.map(({ details }) => details["reason"]);
  };
  assert.deepEqual(await visitTwice(), ["provider unavailable"]);
  assert.deepEqual(await visitTwice(), []);
  test.advance(60_000);
  assert.deepEqual(await visitTwice(), ["provider unavailable"]);
});

budgetTest(
  "limits questions about accounts, apart from passwords and people who are known",
  async (test, issuer) => {
    const known = { sub: "known", email: "known@example.com", email_verified: true };
    issuer.person = known;
    const browser = newVisitor(test);
    await browser.signInWith("peer");
    await browser.open("/sign-out", { form: {} });
    const { email } = await verifiedPerson(test);
    const statuses: number[] = [];
    for (let count = 0; count < more; count++) {
      issuer.person = { sub: `guess ${count}`, email };
      statuses.push((await browser.signInWith("peer")).status);
    }
    assert.deepEqual(statuses, [...Array(addressFailuresMax).fill(409), 429, 429]);
    issuer.person = known;
    assert.equal((await browser.signInWith("peer")).url.pathname, "/portal");
    await browser.open("/sign-out", { form: {} });
    await assertOpen(test, browser, "after questions");
  },
);

testApp(
  "an organization's provider creates as many accounts an hour from an address as sign-up",
  async (test) => {
    await using issuer = startIssuer();
    const company = { organizationId: await newOrganization(test, "Corp"), domains: ["corp.example"] };
    await addProvider(test, issuer, { slug: "corp", company });
    const browser = newVisitor(test);
    const visit = async (name: string) => {
      issuer.person = { sub: name, email: `${name}@corp.example` };
      const visited = await browser.signInWith("corp");
      await browser.open("/sign-out", { form: {} });
      return visited;
    };
    await visit("one");
    const [session] = await test.opened.database.read<{ address: string }>(
      sql`SELECT address FROM audit_events WHERE action = 'session.created'`,
    );
    const client = { address: session?.address ?? "" };
    const { signUps } = test.services.rateLimits;
    for (let count = 2; count < addressSignUpsMax; count++) signUps.take(client);
    assert.equal((await visit("two")).status, 200);
    assert.equal((await visit("three")).status, 429);
    // People who have an account sign in.
    assert.equal((await visit("one")).status, 200);
    const users = await test.opened.database.read(sql`SELECT 1 FROM users WHERE email LIKE '%@corp.example'`);
    assert.equal(users.length, 2);
  },
  webhookSettings,
);
