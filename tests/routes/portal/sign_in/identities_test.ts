// Identities of people who are signed in: connecting and disconnecting providers.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { testApp, testPassword } from "../../../support/app/app.ts";
import { listAudit } from "../../../support/app/audit.ts";
import { assertRows, sendRow } from "../../../support/app/rows.ts";
import { startIssuer } from "../../../support/identity_providers/issuer.ts";
import {
  browserOf,
  confirmPath,
  elevenMinutes,
  identitiesPath,
  link,
  listed,
  providerPerson,
  providerUrl,
  securityPath,
  stranger,
  withPeer,
} from "../../../support/identity_providers/own_visits.ts";
import { addProvider } from "../../../support/identity_providers/providers.ts";
import { newVisitor, type Visitor } from "../../../support/identity_providers/visitor.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { newPasskey } from "../../../support/operators/operators.ts";
import { lastMail, me, reauthenticate, signInAgain, verifiedPerson } from "../../../support/people/people.ts";

testApp(
  "connects a provider page by page without scripts, and disconnects it",
  withPeer(async (test, issuer) => {
    const ada = await verifiedPerson(test);
    const browser = await browserOf(test, ada.cookie);
    // Another address and no assertion: both sides were proved anyway.
    issuer.person = stranger("ada@elsewhere.example");
    const form = { provider: "peer" };
    test.advance(elevenMinutes);
    const asked = await browser.open("/portal/account/identities/link", { form });
    assert.equal(asked.url.pathname, confirmPath);
    await reauthenticate(test, ada.cookie);
    assert.match((await browser.open(securityPath)).html, /Connect <bdi>Peer/);
    const page = await browser.open("/portal/account/identities/link", { form });
    assert.deepEqual([page.status, page.hops.length], [200, 1], "a redirect after a form stays with us");
    const done = await link(browser);
    assert.equal(`${done.url.pathname}${done.url.search}`, `${securityPath}?done=connected`);
    assert.match(done.html, /ada@elsewhere\.example/);
    assert.doesNotMatch(done.html, /Connect <bdi>Peer/);

    const { identities: [identity] } = await listed(test, ada.cookie);
    assert.deepEqual([identity?.provider?.slug, identity?.email], ["peer", "ada@elsewhere.example"]);
    assert.match((await lastMail(test, ada.email)).subject, /Peer was connected/);
    const again = newVisitor(test);
    await again.signInWith("peer");
    assert.equal((await me(test, await again.cookie())).user?.id, ada.userId);

    const remove = `/portal/account/identities/${identity?.id}/remove`;
    await assertRows(test, { cookie: ada.cookie }, [
      [`GET ${remove}`, null, 200, { shows: ["Disconnect", "ada@elsewhere.example"] }],
      [`POST ${remove}`, {}, `303 ${securityPath}?done=disconnected`],
      [`GET ${remove}`, null, 404],
    ]);
    assert.deepEqual((await listed(test, ada.cookie)).identities, []);
    assert.match((await lastMail(test, ada.email)).subject, /Peer was disconnected/);
    assert.equal((await me(test, await again.cookie())).authenticated, true);
    const other = newVisitor(test);
    await other.signInWith("peer");
    assert.notEqual((await me(test, await other.cookie())).user?.id, ada.userId);
    const { events } = await listAudit(test, ada.cookie);
    const actions = events.map(({ action, details }) => `${action} ${details["provider"] ?? ""}`);
    assert.ok(actions.includes("identity.linked Peer") && actions.includes("identity.unlinked Peer"));
  }),
);

testApp(
  "connects only for the session and the browser that began, and never someone else's identity",
  withPeer(async (test, issuer) => {
    const [ada, eve] = [await verifiedPerson(test), await verifiedPerson(test, "Eve")];
    issuer.person = stranger();
    const begin = async (browser: Visitor) => {
      const url = await providerUrl(browser, "/portal/account/identities/link", { provider: "peer" });
      const stopAt = (to: URL) => to.pathname.endsWith("/callback");
      return (await browser.open(url, { stopAt })).location ?? url;
    };
    const own = await browserOf(test, ada.cookie);
    const callback = await begin(own);
    // The same address in a browser that is signed in as someone else, or as the same person.
    for (const cookie of [eve.cookie, await signInAgain(test, ada.email)]) {
      const other = await browserOf(test, cookie);
      await other.open(callback, { from: issuer.url });
    }
    // The browser that began, but meanwhile signed in again or as someone else.
    for (const cookie of [eve.cookie, await signInAgain(test, ada.email), "access_token=none"]) {
      const attempt = await begin(own);
      await own.take(`${cookie}; Path=/; SameSite=Lax`);
      const page = await own.open(attempt, { from: issuer.url });
      assert.equal(page.status, 403, page.html);
      await own.take(`${ada.cookie}; Path=/; SameSite=Lax`);
    }
    // The session ends while the person is at the provider.
    const ending = await begin(own);
    await test.send("/api/auth/sign-out", { method: "POST", cookie: ada.cookie });
    assert.equal((await own.open(ending, { from: issuer.url })).status, 403);
    const rows = await test.opened.database.read(sql`SELECT id FROM identities`);
    assert.equal(rows.length, 0);

    const cookie = await signInAgain(test, ada.email);
    await link(await browserOf(test, cookie));
    assert.equal((await listed(test, cookie)).identities.length, 1);
    // Again is no error. For someone else it is.
    assert.equal((await link(await browserOf(test, cookie))).status, 200);
    const taken = await link(await browserOf(test, eve.cookie));
    assert.equal(taken.status, 409);
    assert.match(taken.html, /already connected to another account/);
    assert.deepEqual((await listed(test, eve.cookie)).identities, []);
    // Cancelling leads back to the account, not to signing in.
    issuer.lies = { callback: { code: undefined, error: "access_denied" } };
    const canceled = await link(await browserOf(test, eve.cookie));
    assert.match(canceled.html, new RegExp(`href="${securityPath}"`));
  }),
);

testApp(
  "begins by API on our own pages only, and connects a company's provider only to its people",
  async (test) => {
    await using issuer = startIssuer();
    const owner = await verifiedPerson(test, "Owner");
    await addProvider(test, issuer, {
      slug: "acme",
      company: { organizationId: owner.organizationId, domains: ["example.com"] },
    });
    await addProvider(test, issuer, { slug: "public", issuer: "https://public.example" });
    const unconfirmed = await test.signUp();
    const origin = { origin: "https://app.example.com" };
    await assertRows(test, { cookie: owner.cookie, headers: origin }, [
      [`GET ${identitiesPath}`, null, 200],
      [`POST ${identitiesPath}`, { provider: "acme" }, "403 cross_site"],
      [`DELETE ${identitiesPath}/idn_0`, null, "403 cross_site"],
    ]);
    await assertRows(test, unconfirmed, [
      [`POST ${identitiesPath}`, { provider: "acme" }, "422 validation_failed provider"],
      [`POST ${identitiesPath}`, { provider: "nope" }, "422 validation_failed provider"],
      [`GET ${securityPath}`, null, 200, { hides: ["Peer acme"], shows: ["Peer public"] }],
    ]);
    await assertRows(test, owner, [
      [
        `POST ${identitiesPath}`,
        { provider: "acme", returnTo: "https://evil.example/" },
        "422 validation_failed returnTo",
      ],
      [`DELETE ${identitiesPath}/idn_0`, null, "404 not_found"],
    ]);
    assert.equal((await test.send(identitiesPath)).status, 401);
    const response = await test.send(identitiesPath, {
      cookie: owner.cookie,
      json: { provider: "acme", returnTo: "/portal/usage" },
    });
    assert.equal(response.status, 200);
    issuer.person = stranger(owner.email);
    const browser = await browserOf(test, owner.cookie);
    for (const cookie of response.headers.getSetCookie()) await browser.take(cookie);
    const { url } = await response.json();
    // The organization loses its domain while the person is at the provider.
    await test.opened.database.write([sql`UPDATE organization_domains SET verified_at = NULL`]);
    const page = await browser.open(url);
    assert.deepEqual([page.status, (await listed(test, owner.cookie)).identities], [403, []]);
    await test.opened.database.write([sql`UPDATE organization_domains SET verified_at = 1`]);
    const done = await link(browser, "acme");
    assert.equal(done.status, 200, done.html);
    assert.equal((await listed(test, owner.cookie)).identities.length, 1);
    // It is a way to sign in only while the domain is verified.
    const passkey = `/api/portal/account/passkeys/${await newPasskey(test, owner.userId)}`;
    await test.opened.database.write([
      sql`UPDATE users SET has_password = 0`,
      sql`UPDATE organization_domains SET verified_at = NULL`,
    ]);
    await assertRows(test, owner, [[`DELETE ${passkey}`, null, "409 last_sign_in_method"]]);
    await test.opened.database.write([sql`UPDATE organization_domains SET verified_at = 1`]);
    await assertRows(test, owner, [[`DELETE ${passkey}`, null, 204]]);
    test.advance(elevenMinutes);
    await assertRows(test, owner, [[`POST ${identitiesPath}`, { provider: "acme" }, "403 proof_required"]]);
  },
  { ALLOWED_ORIGINS: "https://app.example.com", WEBHOOK_ALLOWED_HOSTS: "127.0.0.1" },
);

onEveryDatabase(
  "keeps the last way to sign in, also when two are removed at the same time",
  withPeer(async (test, issuer) => {
    const { browser, cookie, userId } = await providerPerson(test, issuer, "ada@example.com");
    const [first] = (await listed(test, cookie)).identities;
    const last = "409 last_sign_in_method";
    await assertRows(test, { cookie }, [[`DELETE ${identitiesPath}/${first?.id}`, null, last]]);
    await assertRows(test, { cookie }, [
      [`POST /portal/account/identities/${first?.id}/remove`, {}, 409, { shows: ["only way to sign in"] }],
    ]);

    issuer.person = stranger();
    await link(browser);
    const both = (await listed(test, cookie)).identities;
    assert.equal(both.length, 2);
    const removals = await Promise.all(
      both.map(({ id }) => sendRow(test, { cookie }, `DELETE ${identitiesPath}/${id}`)),
    );
    assert.deepEqual(removals.map(({ status }) => status).sort(), [204, 409]);

    const { identities: [left] } = await listed(test, cookie);
    const passkey = await newPasskey(test, userId);
    const passkeyPath = `/api/portal/account/passkeys/${passkey}`;
    await assertRows(test, { cookie }, [
      [`DELETE ${identitiesPath}/${left?.id}`, null, 204],
      [`DELETE ${passkeyPath}`, null, last],
    ]);
    // An identity counts only while a provider signs in with it.
    issuer.person = stranger();
    await link(browser);
    await test.opened.database.write([sql`UPDATE identity_providers SET issuer = 'https://moved.example'`]);
    await assertRows(test, { cookie }, [
      [`DELETE ${passkeyPath}`, null, last],
      ["POST /api/portal/account/password", { password: testPassword }, 204],
    ]);
    const signedIn = await signInAgain(test, "ada@example.com");
    const { identities: [dead], hasPassword } = await listed(test, signedIn);
    assert.deepEqual([dead?.provider, hasPassword], [null, true]);
    await assertRows(test, { cookie: signedIn }, [
      [`DELETE ${passkeyPath}`, null, 204],
      [`DELETE ${identitiesPath}/${dead?.id}`, null, 204],
    ]);
  }),
);
