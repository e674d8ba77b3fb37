// Visits that another site's page may have begun: an organization's provider asks first, and no one's session is replaced without a
// question.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { cookieOf, type TestApp, testApp, testPassword } from "../../../support/app/app.ts";
import { assertRows } from "../../../support/app/rows.ts";
import {
  companyTest,
  prove,
  providerOf,
  slugOf,
  ssoOf,
  testProvider,
} from "../../../support/identity_providers/company.ts";
import { startIssuer, type TestIssuer } from "../../../support/identity_providers/issuer.ts";
import { browserOf, providerUrl } from "../../../support/identity_providers/own_visits.ts";
import { addProvider, auditedBy } from "../../../support/identity_providers/providers.ts";
import { newVisitor, type Visited, type Visitor } from "../../../support/identity_providers/visitor.ts";
import { inviteTo, me, verifiedPerson } from "../../../support/people/people.ts";
import { newOrganization, newPerson, run } from "../../../support/people/scene.ts";
import { codeOf, twoStepPerson } from "../../../support/people/second_step.ts";
import { webhookSettings } from "../../../support/webhooks/endpoints.ts";

const path = "/sign-in/with/corp";

/** Defines a test with an organization's provider `corp` for corp.example, and the provider `peer` of the service. */
function asksTest(name: string, use: (test: TestApp, issuer: TestIssuer) => Promise<void>): void {
  testApp(name, async (test) => {
    await using issuer = startIssuer();
    const company = { organizationId: await newOrganization(test, "Corp"), domains: ["corp.example"] };
    await addProvider(test, issuer, { slug: "corp", name: "Corp", company });
    await addProvider(test, issuer);
    await use(test, issuer);
  }, webhookSettings);
}

async function userOf(test: TestApp, visitor: Visitor): Promise<string | undefined> {
  return (await me(test, await visitor.cookie())).user?.email;
}

/** Returns the target and the hidden fields of the only form on a page. */
function formOf({ html, status, url }: Visited): { action: string; form: Record<string, string> } {
  const [, action = "", fields = ""] = /<form[^>]* action="([^"]+)"[^>]*>(.*?)<\/form>/s.exec(html) ?? [];
  assert.ok(action, `${status} at ${url}: ${html.slice(0, 500)}`);
  const hidden = fields.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g);
  const unescape = (text = "") => text.replaceAll("&amp;", "&");
  return {
    action,
    form: Object.fromEntries([...hidden].map(([, field = "", value]) => [field, unescape(value)])),
  };
}

/** Presses the button of a page that leads to a provider. */
async function press(browser: Visitor, page: Visited): Promise<Visited> {
  const { action, form } = formOf(page);
  return await browser.open(await providerUrl(browser, action, form));
}

asksTest("an organization's provider asks unless one of our pages leads there", async (test, issuer) => {
  issuer.person = { sub: "eve", email: "eve@corp.example" };
  const attempts = sql`SELECT state_hash FROM provider_attempts`;
  for (const site of ["cross-site", "same-site", "none", ""]) {
    const browser = newVisitor(test);
    const headers = site === "" ? {} : { "sec-fetch-site": site };
    const page = await browser.open(`${path}?return_to=/portal/usage`, { headers });
    assert.equal(page.status, 200, site);
    assert.match(page.html, new RegExp(`Continue to <bdi>${new URL(issuer.url).host}</bdi>`), site);
    assert.match(page.html, /<bdi>Corp<\/bdi>/, site);
    assert.deepEqual(page.headers.getSetCookie(), [], site);
    assert.deepEqual([issuer.requests, await test.opened.database.read(attempts)], [[], []], site);
    // Only our own page can press its button.
    const forged = await browser.open(path, { form: {}, headers: { "sec-fetch-site": "cross-site" } });
    assert.equal(forged.status, 403, site);
    assert.deepEqual(issuer.requests, [], site);
    const { url } = await press(browser, page);
    assert.equal(url.pathname, "/portal/usage", site);
    assert.equal(await userOf(test, browser), "eve@corp.example", site);
    issuer.requests.length = 0;
  }
  const led = await newVisitor(test).open(path, { headers: { "sec-fetch-site": "same-origin" } });
  assert.equal(led.url.pathname, "/portal");
  // Providers of the service are the operator's choice.
  const product = await newVisitor(test).open("/sign-in/with/peer", {
    headers: { "sec-fetch-site": "cross-site" },
    stopAt: () => true,
  });
  assert.equal(product.status, 302);
});

asksTest("asks before it replaces someone else's session", async (test, issuer) => {
  const victim = await verifiedPerson(test, "Victim");
  const colleague = await newPerson(test, null);
  await run(test, "UPDATE users SET email = 'bob@corp.example' WHERE id = ?", colleague.userId);
  // Someone new, an account that is about to be connected, and one that is known.
  const people = ["new@corp.example", "bob@corp.example", "new@corp.example", "peer@example.com"];
  for (const [index, email] of people.entries()) {
    const name = `${index}: ${email}`;
    const slug = email === "peer@example.com" ? "peer" : "corp";
    issuer.person = { sub: email, email, email_verified: true };
    const browser = await browserOf(test, victim.cookie);
    const { result: page, changed } = await auditedBy(test, () => browser.signInWith(slug));
    assert.equal(page.status, 403, name);
    assert.ok(page.html.includes(victim.email) && page.html.includes(email), page.html);
    assert.ok(!changed, name);
    assert.equal(await userOf(test, browser), victim.email, name);
    // Another browser of the victim stays signed in.
    const own = newVisitor(test);
    await own.take(
      `${await signInWithPassword(test, victim.email)}; Path=/`,
    );
    const asked = await own.signInWith(slug);
    assert.equal((await press(own, asked)).status, 200, name);
    assert.equal(await userOf(test, own), email, name);
    assert.equal(await userOf(test, browser), victim.email, name);
  }
  // The same person isn't asked.
  const same = newVisitor(test);
  for (const _ of [1, 2]) assert.equal((await same.signInWith("peer")).url.pathname, "/portal");
});

async function signInWithPassword(test: TestApp, email: string): Promise<string> {
  return cookieOf(await test.send("/api/auth/sign-in", { json: { email, password: testPassword } }));
}

asksTest("asks before the second step of someone else", async (test, issuer) => {
  const ada = await twoStepPerson(test);
  await run(test, "UPDATE users SET email_verified_at = ? WHERE id = ?", test.now(), ada.userId);
  const victim = await verifiedPerson(test, "Victim");
  issuer.person = { sub: "ada", email: ada.email, email_verified: true };
  const browser = await browserOf(test, victim.cookie);
  const page = await browser.signInWith("peer");
  assert.equal(page.status, 403);
  assert.equal((await press(browser, page)).url.pathname, "/sign-in/second-step");
  test.advance(60_000);
  await browser.open("/sign-in/second-step", { form: { code: codeOf(ada.secret, test.now()) } });
  assert.equal(await userOf(test, browser), ada.email);
});

asksTest("signing out to continue keeps the invitation, and waits for the provider", async (test, issuer) => {
  const owner = await verifiedPerson(test, "Owner");
  const victim = await verifiedPerson(test, "Victim");
  const { token } = await inviteTo(test, owner, { email: "invited@example.com" });
  issuer.person = { sub: "invited", email: "invited@example.com" };
  const browser = await browserOf(test, victim.cookie);
  const page = await browser.open(`/sign-in/with/peer?invitation=${token}`);
  assert.equal(page.status, 403, page.html);
  const { action, form } = formOf(page);
  await run(test, "UPDATE identity_providers SET updated_at = 1");
  issuer.lies = { respond: { discovery: () => new Response(null, { status: 500 }) } };
  assert.equal((await browser.open(action, { form })).status, 502);
  assert.equal(await userOf(test, browser), victim.email);
  issuer.lies = {};
  assert.equal((await press(browser, page)).url.search, "?done=joined");
  const { memberships } = await me(test, await browser.cookie());
  assert.deepEqual(memberships.map(({ organizationId }) => organizationId), [owner.organizationId]);
});

companyTest("only an owner's test reaches a provider before its organization has a domain", async (scene) => {
  const { test, issuer } = scene;
  const owner = await verifiedPerson(test);
  await assertRows(test, owner, [[`PUT ${ssoOf(owner)}`, providerOf(issuer), 200]]);
  const slug = await slugOf(scene, owner);
  issuer.requests.length = 0;
  const address = `/sign-in/with/${slug}`;
  for (const headers of [{}, { "sec-fetch-site": "same-origin" }]) {
    const visitor = newVisitor(test);
    assert.equal((await visitor.open(address, { headers })).status, 404);
    assert.equal((await visitor.open(address, { headers, form: {} })).status, 404);
  }
  assert.deepEqual(issuer.requests, []);
  issuer.person = { sub: "owner", email: owner.email };
  assert.match((await testProvider(scene, owner)).html, new RegExp(owner.email));
  await prove(scene, owner, "example.com");
  assert.equal((await newVisitor(test).open(address)).status, 200);
}, { kinds: ["embedded"] });
