// The page for users to whom an application behind a proxy denies access: when it is shown, what it says, and what it doesn't
// reveal.
import assert from "node:assert/strict";
import { newId } from "../../../../domain/id.ts";
import {
  assertError,
  cookieOf,
  type TestApp,
  testApp,
  testPassword,
  type TestPerson,
} from "../../../support/app/app.ts";
import { waitForAudit } from "../../../support/app/audit.ts";
import { ask, forwardPath, pageLoad } from "../../../support/network/forward.ts";
import { openPage } from "../../../support/portal/pages.ts";
import { joinedPerson, mailedToken, verifiedPerson } from "../../../support/people/people.ts";
import { badReturns, goodReturns, returnToSettings } from "../../../support/people/return_to.ts";
import { newOrganization, newPerson, run } from "../../../support/people/scene.ts";

const real = {
  BASE_URL: "http://auth.example.com",
  COOKIE_DOMAIN: ".example.com",
  ALLOWED_ORIGINS: "http://*.example.com",
} as const;
const page = "http://app.example.com/reports/7?tab=a&b=%2F";

/** @returns The path that a browser loading the page is redirected to. */
async function sentTo(test: TestApp, query: string, { cookie }: { cookie: string }): Promise<string> {
  const response = await ask(test, query, { headers: pageLoad(page), cookie });
  assert.equal(response.status, 302, query);
  const address = response.headers.get("location") ?? "";
  assert(address.startsWith(`${real.BASE_URL}/`), address);
  return address.slice(real.BASE_URL.length);
}

const act = (test: TestApp, path: string, person: { cookie: string }, form: Record<string, string>) =>
  openPage(test, path, { cookie: person.cookie, form });
const join = "INSERT INTO memberships (user_id, organization_id, role, created_at) VALUES (?, ?, ?, ?)";
/** @returns The visible text. */
const text = (html: string) => html.replaceAll(/<[^>]+>/g, " ").replaceAll(/\s+/g, " ");

testApp("redirects a browser to the page, and sends other clients the error as JSON", async (test) => {
  const eve = await test.signUp();
  const path = await sentTo(test, "?email=verified", eve);
  assert.equal(path, `/portal/access?return_to=${encodeURIComponent(page)}&email=verified`);
  for (const name of ["Remote-User", "Remote-Email"]) {
    const response = await ask(test, "?email=verified", { headers: pageLoad(page), cookie: eve.cookie });
    assert.equal(response.headers.get(name), null);
  }
  const nginx = await ask(test, "?email=verified&redirect=401", {
    headers: pageLoad(page),
    cookie: eve.cookie,
  });
  assert.equal(nginx.headers.get("location"), real.BASE_URL + path);
  await assertError(nginx, 403, "email_unverified");
  for (
    const headers of [
      {},
      pageLoad(page, { "sec-fetch-mode": "cors" }),
      pageLoad(page, { "x-forwarded-method": "POST" }),
      pageLoad("https://evil.example/"),
      pageLoad("https://app.example.org/"),
    ]
  ) {
    const answer = await ask(test, "?email=verified", { headers, cookie: eve.cookie });
    assert.equal(answer.headers.get("location"), null);
    await assertError(answer, 403, "email_unverified");
  }
}, real);

testApp(
  "a user without a confirmed email address can resend the email, and then has access",
  async (test) => {
    const eve = await test.signUp("Eve");
    const path = await sentTo(test, "?email=verified", eve);
    const shown = await openPage(test, path, { person: eve });
    assert.equal(shown.status, 403);
    assert.match(shown.html, /<h1>Confirm your email address<\/h1>/);
    assert.ok(shown.html.includes(`href="${page.replaceAll("&", "&amp;")}"`));
    const sent = await act(test, path, eve, { act: "send-email" });
    assert.deepEqual([sent.status, sent.location], [303, `${path}&sent=1`]);
    const after = await openPage(test, `${path}&sent=1`, { person: eve });
    assert.match(after.html, /role="status"[^]*Email sent\./);
    let many = sent;
    for (let i = 0; i < 10 && many.status === 303; i++) {
      many = await act(test, path, eve, { act: "send-email" });
    }
    assert.equal(many.status, 429);
    assert.match(many.html, /<h1>Confirm your email address<\/h1>[^]*role="alert"/);
    const token = await mailedToken(test, eve.email);
    await test.send("/api/auth/email/verify", { cookie: eve.cookie, json: { token } });
    const granted = await openPage(test, path, { person: eve });
    assert.equal(granted.status, 200);
    assert.match(granted.html, /<h1>You have access<\/h1>/);
    assert.doesNotMatch(granted.html, /http-equiv/);
    assert.equal((await ask(test, "?email=verified", { cookie: eve.cookie })).status, 200);
    // A confirmed account needs no email.
    const count = (await test.mails()).length;
    assert.equal((await act(test, path, eve, { act: "send-email" })).status, 303);
    assert.equal((await test.mails()).length, count);
  },
  real,
);

testApp("users of other organizations can't tell whether an organization exists", async (test) => {
  const owner = await verifiedPerson(test, "Olive Owner");
  const eve = await verifiedPerson(test, "Eve");
  const pages: string[] = [];
  for (const organization of [owner.organizationId, newId("org")]) {
    for (const role of ["", "&role=ADMIN"]) {
      const path = await sentTo(test, `?organization=${organization}${role}`, eve);
      const { status, html } = await openPage(test, path, { person: eve });
      assert.equal(status, 403);
      pages.push(text(html));
      assert.doesNotMatch(html, /Olive|Switch to/);
    }
  }
  assert.equal(new Set(pages).size, 1);
  assert.match(pages[0] ?? "", /only open to members of another organization/);
  // The denial is in the log of their own organization.
  const [event] = await waitForAudit(test, eve.cookie, "?action=access.denied");
  assert.deepEqual([event?.actor.id, event?.details["path"]], [eve.userId, forwardPath]);
}, real);

testApp("a member with an insufficient role sees the owners", async (test) => {
  const owner = await verifiedPerson(test, "Olive Owner");
  const bob = await joinedPerson(test, owner, "MEMBER");
  const gone = await newPerson(test, { organizationId: owner.organizationId, role: "OWNER" });
  await run(test, "UPDATE users SET disabled_at = 1 WHERE id = ?", gone.userId);
  // The application requires a certain organization, so another one doesn't help.
  await run(test, join, bob.userId, await newOrganization(test, "Bob’s own"), "OWNER", test.now());
  const path = await sentTo(test, `?organization=${owner.organizationId}&role=ADMIN`, bob);
  const { status, html } = await openPage(test, path, { person: bob });
  assert.equal(status, 403);
  assert.match(text(html), /requires the role Admin or higher\..*is Member\..*Ask an owner.*Olive Owner/);
  assert.doesNotMatch(html, /Switch to/);
  assert.ok(!html.includes(gone.email));
}, real);

testApp(
  "a button switches to another organization that meets the conditions, and leads back",
  async (test) => {
    const bob = await verifiedPerson(test, "Bob");
    const other = await newOrganization(test, "Night <b>Shift</b>");
    await run(test, join, bob.userId, other, "MEMBER", test.now());
    await test.send("/api/auth/organization", { cookie: bob.cookie, json: { organizationId: other } });
    const path = await sentTo(test, "?role=OWNER", bob);
    const { html } = await openPage(test, path, { person: bob });
    assert.match(text(html), /Night &lt;b&gt;Shift&lt;\/b&gt; is Member/);
    assert.match(html, new RegExp(`name="organizationId" value="${bob.organizationId}"`));
    assert.doesNotMatch(html, new RegExp(`value="${other}"`));
    const organizationId = bob.organizationId ?? "";
    const switched = await act(test, path, bob, { act: "switch", organizationId });
    assert.deepEqual([switched.status, switched.location], [
      303,
      `/sign-in/continue?return_to=${encodeURIComponent(page)}`,
    ]);
    assert.equal((await ask(test, "?role=OWNER", { cookie: bob.cookie })).status, 200);
    const foreign = await act(test, path, bob, { act: "switch", organizationId: newId("org") });
    assert.equal(foreign.status, 404);
  },
  real,
);

testApp("using another account signs out, and signing in leads back to the application", async (test) => {
  const [eve, ada] = [await test.signUp(), await verifiedPerson(test)];
  const path = await sentTo(test, "?email=verified", eve);
  const out = await act(test, path, eve, { act: "sign-out" });
  const signIn = `/sign-in?return_to=${encodeURIComponent(page)}&signed_out=1`;
  assert.deepEqual([out.status, out.location], [303, signIn]);
  const { html } = await openPage(test, signIn);
  assert.ok(html.includes(`name="return_to" value="${page.replaceAll("&", "&amp;")}"`));
  const back = await openPage(test, "/sign-in", {
    form: { email: ada.email, password: testPassword, return_to: page },
  });
  assert.equal(back.location, `/sign-in/continue?return_to=${encodeURIComponent(page)}`);
  assert.equal((await ask(test, "?email=verified", { cookie: cookieOf(back.answer) })).status, 200);
  // Users who aren't signed in sign in and go to the application.
  const gone = await openPage(test, path, { person: eve });
  assert.equal(gone.location, `/sign-in?return_to=${encodeURIComponent(page)}`);
}, real);

testApp("the page accepts only valid conditions and safe return addresses", async (test) => {
  const ada = await newPerson(test, null);
  for (const query of ["?role=BOSS", "?organization=Acme", "?email=any", "?email=unverified"]) {
    assert.equal((await openPage(test, `/portal/access${query}`, { person: ada })).status, 422, query);
  }
  // A reason in the address is ignored.
  const { status, html } = await openPage(test, "/portal/access?reason=role&error=x", { person: ada });
  assert.equal(status, 200);
  assert.match(html, /<h1>You have access<\/h1>/);
  assert.equal((await act(test, "/portal/access", ada, { act: "delete" })).status, 404);
  const all = [...Object.entries(goodReturns), ...badReturns.map((bad) => [bad, null] as const)];
  for (const [given, target] of all) {
    const path = `/portal/access?return_to=${encodeURIComponent(given)}`;
    const shown = await openPage(test, path, { person: ada });
    const [, href = null] = /<a class="button primary" href="([^"]*)"/.exec(shown.html) ?? [];
    const wanted = target === null ? null : new URL(target, returnToSettings.BASE_URL).href;
    assert.equal(href?.replaceAll("&amp;", "&").replaceAll("&#39;", "'") ?? null, wanted, given);
    const visitor = await openPage(test, path);
    const signIn = target === null ? "/sign-in" : `/sign-in?return_to=${encodeURIComponent(target)}`;
    assert.equal(visitor.location, signIn, given);
  }
}, returnToSettings);

testApp("Remote-User is the confirmed email address on request", async (test) => {
  const user = async (query: string, { cookie }: TestPerson) =>
    (await ask(test, query, { cookie })).headers.get("remote-user");
  const [ada, eve] = [await verifiedPerson(test), await test.signUp()];
  assert.equal(await user("?user=email&email=verified", ada), ada.email);
  assert.equal(await user("?user=id&email=verified", ada), ada.userId);
  assert.equal(await user("?email=verified", ada), ada.userId);
  await assertError(
    await ask(test, "?user=email&email=verified", { cookie: eve.cookie }),
    403,
    "email_unverified",
  );
  for (const query of ["?user=email", "?user=name&email=verified", "?user=email&email="]) {
    for (const person of [ada, eve]) {
      await assertError(await ask(test, query, { cookie: person.cookie }), 422, "validation_failed");
    }
  }
  await run(test, "UPDATE users SET email = 'zoë%@example.com' WHERE id = ?", ada.userId);
  assert.equal(await user("?user=email&email=verified", ada), "zo%C3%AB%25@example.com");
}, real);
