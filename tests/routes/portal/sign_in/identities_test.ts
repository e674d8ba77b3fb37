// Identities of people who are signed in: connecting and disconnecting providers, confirming with one, and accounts without a password.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { type TestApp, testApp, testPassword } from "../../../support/app/app.ts";
import { listAudit } from "../../../support/app/audit.ts";
import { assertRows, sendRow } from "../../../support/app/rows.ts";
import { startIssuer, type TestIssuer } from "../../../support/identity_providers/issuer.ts";
import { addProvider } from "../../../support/identity_providers/providers.ts";
import { newVisitor, type Visited, type Visitor } from "../../../support/identity_providers/visitor.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { newPasskey } from "../../../support/operators/operators.ts";
import {
  lastMail,
  mailedToken,
  me,
  reauthenticate,
  signInAgain,
  verifiedPerson,
} from "../../../support/people/people.ts";
import { codeOf, turnOnTwoStep } from "../../../support/people/second_step.ts";

const security = "/portal/account/security";
const identities = "/api/auth/identities";
const confirm = "/portal/confirm-password";
const elevenMinutes = 11 * 60_000;

type Run = (test: TestApp, issuer: TestIssuer) => Promise<void>;

/** Runs a test with an issuer that is the provider `peer`. */
const withPeer = (run: Run) => async (test: TestApp) => {
  const issuer = startIssuer();
  try {
    await addProvider(test, issuer, { name: "Peer" });
    await run(test, issuer);
  } finally {
    await issuer.stop();
  }
};

let subjects = 0;
const stranger = (email?: string, claims = {}) => ({
  sub: `stranger-${++subjects}`,
  ...(email && { email }),
  ...claims,
});

/** A browser that is signed in with a cookie. */
async function browserOf(test: TestApp, cookie: string): Promise<Visitor> {
  const visitor = newVisitor(test);
  await visitor.take(`${cookie}; Path=/; SameSite=Lax`);
  return visitor;
}

/** Sends a form that leads to a provider. @returns The address on its page. */
async function providerUrl(browser: Visitor, path: string, form: Record<string, string>): Promise<URL> {
  const page = await browser.open(path, { form });
  const [, url] = /http-equiv="refresh" content="0; url=([^"]+)"/.exec(page.html) ?? [];
  assert.ok(url, `${page.status} at ${page.url}: ${page.html.slice(0, 400)}`);
  return new URL(url.replaceAll("&amp;", "&"));
}

async function link(browser: Visitor, provider = "peer"): Promise<Visited> {
  return await browser.open(await providerUrl(browser, "/portal/account/identities/link", { provider }));
}

async function confirmWith(browser: Visitor, returnTo: string, provider = "peer"): Promise<Visited> {
  return await browser.open(
    await providerUrl(browser, `${confirm}/provider`, { provider, return_to: returnTo }),
  );
}

/** Signs up with the provider. */
async function providerPerson(test: TestApp, issuer: TestIssuer, email: string) {
  issuer.person = stranger(email, { email_verified: true, name: "Ada" });
  const browser = newVisitor(test);
  const page = await browser.signInWith("peer");
  assert.equal(page.status, 200, page.html);
  const cookie = await browser.cookie();
  const user = (await me(test, cookie)).user;
  assert.equal(user?.email, email);
  return { browser, cookie, userId: user?.id ?? "" };
}

async function listed(test: TestApp, cookie: string) {
  const response = await test.send(identities, { cookie });
  return await response.json() as {
    identities: {
      id: string;
      provider: { slug: string } | null;
      email: string | null;
      lastUsedAt: string | null;
    }[];
    hasPassword: boolean;
  };
}

const subjectsTo = async (test: TestApp, email: string) =>
  (await test.mails()).filter(({ to }) => to === email).map(({ subject }) => subject);

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
    assert.equal(asked.url.pathname, confirm);
    await reauthenticate(test, ada.cookie);
    assert.match((await browser.open(security)).html, /Connect <bdi>Peer/);
    const page = await browser.open("/portal/account/identities/link", { form });
    assert.deepEqual([page.status, page.hops.length], [200, 1], "a redirect after a form stays with us");
    const done = await link(browser);
    assert.equal(`${done.url.pathname}${done.url.search}`, `${security}?done=connected`);
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
      [`POST ${remove}`, {}, `303 ${security}?done=disconnected`],
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
    assert.match(canceled.html, new RegExp(`href="${security}"`));
  }),
);

testApp(
  "begins by API on our own pages only, and connects a company's provider only to its people",
  async (test) => {
    const issuer = startIssuer();
    try {
      const owner = await verifiedPerson(test, "Owner");
      await addProvider(test, issuer, {
        slug: "acme",
        company: { organizationId: owner.organizationId, domains: ["example.com"] },
      });
      await addProvider(test, issuer, { slug: "public", issuer: "https://public.example" });
      const unconfirmed = await test.signUp();
      const origin = { origin: "https://app.example.com" };
      await assertRows(test, { cookie: owner.cookie, headers: origin }, [
        [`GET ${identities}`, null, 200],
        [`POST ${identities}`, { provider: "acme" }, "403 cross_site"],
        [`DELETE ${identities}/idn_0`, null, "403 cross_site"],
      ]);
      await assertRows(test, unconfirmed, [
        [`POST ${identities}`, { provider: "acme" }, "422 validation_failed provider"],
        [`POST ${identities}`, { provider: "nope" }, "422 validation_failed provider"],
        [`GET ${security}`, null, 200, { hides: ["Peer acme"], shows: ["Peer public"] }],
      ]);
      await assertRows(test, owner, [
        [
          `POST ${identities}`,
          { provider: "acme", returnTo: "https://evil.example/" },
          "422 validation_failed returnTo",
        ],
        [`DELETE ${identities}/idn_0`, null, "404 not_found"],
      ]);
      assert.equal((await test.send(identities)).status, 401);
      const response = await test.send(identities, {
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
      test.advance(elevenMinutes);
      await assertRows(test, owner, [[`POST ${identities}`, { provider: "acme" }, "403 proof_required"]]);
    } finally {
      await issuer.stop();
    }
  },
  { ALLOWED_ORIGINS: "https://app.example.com", WEBHOOK_ALLOWED_HOSTS: "127.0.0.1" },
);

onEveryDatabase(
  "keeps the last way to sign in, also when two are removed at the same time",
  withPeer(async (test, issuer) => {
    const { browser, cookie, userId } = await providerPerson(test, issuer, "ada@example.com");
    const [first] = (await listed(test, cookie)).identities;
    const last = "409 last_sign_in_method";
    await assertRows(test, { cookie }, [[`DELETE ${identities}/${first?.id}`, null, last]]);
    await assertRows(test, { cookie }, [
      [`POST /portal/account/identities/${first?.id}/remove`, {}, 409, { shows: ["only way to sign in"] }],
    ]);

    issuer.person = stranger();
    await link(browser);
    const both = (await listed(test, cookie)).identities;
    assert.equal(both.length, 2);
    const removals = await Promise.all(
      both.map(({ id }) => sendRow(test, { cookie }, `DELETE ${identities}/${id}`)),
    );
    assert.deepEqual(removals.map(({ status }) => status).sort(), [204, 409]);

    const { identities: [left] } = await listed(test, cookie);
    const passkey = await newPasskey(test, userId);
    const passkeyPath = `/api/portal/account/passkeys/${passkey}`;
    await assertRows(test, { cookie }, [
      [`DELETE ${identities}/${left?.id}`, null, 204],
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
      [`DELETE ${identities}/${dead?.id}`, null, 204],
    ]);
  }),
);

testApp(
  "confirms with a provider, and an account without a password does everything without one",
  withPeer(async (test, issuer) => {
    const { browser, cookie } = await providerPerson(test, issuer, "ada@example.com");
    const ada = issuer.person;
    test.advance(elevenMinutes);
    const remove = "/portal/account/delete";
    await assertRows(test, { cookie }, [
      ["POST /api/portal/account/proof", { password: testPassword }, "401 invalid_credentials"],
      ["POST /api/portal/account/password", { password: testPassword }, "403 proof_required"],
      ["POST /api/auth/password/change", {
        currentPassword: testPassword,
        newPassword: testPassword,
      }, "422 validation_failed currentPassword"],
      [`GET ${remove}`, null, `303 ${confirm}?return_to=${encodeURIComponent(remove)}`],
      [`GET ${confirm}?return_to=${remove}`, null, 200, {
        shows: ["Confirm with"],
        hides: ["current-password", "data-passkey="],
      }],
      [`GET ${security}`, null, 200, { shows: ["Set a password"], hides: ["currentPassword"] }],
    ]);
    // Another identity, or an old authentication there, confirms nothing.
    issuer.person = stranger("ada@example.com", { email_verified: true });
    assert.equal((await confirmWith(browser, remove)).status, 403);
    issuer.person = ada;
    issuer.lies = { claims: { auth_time: Math.floor((test.now() - elevenMinutes) / 1000) } };
    assert.ok((await confirmWith(browser, remove)).status >= 400);
    issuer.lies = {};
    await assertRows(test, { cookie }, [["DELETE /api/portal/account", null, "403 proof_required"]]);

    const confirmed = await confirmWith(browser, remove);
    assert.equal(confirmed.url.pathname, remove);
    assert.equal(issuer.asked.get("prompt"), "login");
    assert.equal((await me(test, cookie)).authenticated, true, "the session stays");
    await assertRows(test, { cookie }, [
      ["POST /api/portal/account/email", { email: "new@example.com" }, 202],
      [`POST ${security}/first-password`, { newPassword: "short" }, "422 newPassword"],
    ]);
    const set = await browser.open(`${security}/first-password`, { form: { newPassword: testPassword } });
    assert.equal(`${set.url.pathname}${set.url.search}`, `${security}?done=first-password`);
    assert.ok((await subjectsTo(test, "ada@example.com")).includes("A password was added"));
    const own = { cookie: await browser.cookie() };
    await assertRows(test, own, [
      [`GET ${security}/first-password`, null, `303 ${security}`],
      [`GET ${security}`, null, 200, { shows: ["currentPassword"] }],
      [
        "POST /api/portal/account/password",
        { password: "another good 5 phrase" },
        "422 validation_failed currentPassword",
      ],
    ]);
    await signInAgain(test, "ada@example.com");
    assert.match(JSON.stringify((await listAudit(test, own.cookie)).events), /"first":"yes"/);
  }),
);

testApp(
  "asks for the second step after confirming, and emails a link to someone who lost it",
  withPeer(async (test, issuer) => {
    const { browser, cookie, userId } = await providerPerson(test, issuer, "ada@example.com");
    const { secret } = await turnOnTwoStep(test, cookie);
    test.advance(elevenMinutes);
    const page = "/portal/account/two-step/turn-off";
    const step = await confirmWith(browser, page);
    assert.equal(step.url.pathname, "/sign-in/second-step");
    await assertRows(test, { cookie }, [[
      "DELETE /api/portal/account/two-step/totp",
      null,
      "403 proof_required",
    ]]);
    const form = { code: codeOf(secret, test.now()), return_to: page };
    const done = await browser.open("/sign-in/second-step", { form });
    assert.deepEqual([done.status, done.url.pathname], [200, page], done.html);
    assert.equal((await me(test, await browser.cookie())).user?.id, userId);
    assert.equal((await me(test, cookie)).authenticated, false, "the new session replaces the old one");

    test.advance(elevenMinutes);
    const lost = "/portal/account/two-step/turn-off-link";
    const own = { cookie: await browser.cookie() };
    await assertRows(test, own, [
      [`GET ${lost}`, null, 200, { shows: ["Confirm with"], hides: ["current-password"] }],
      [
        "POST /api/portal/account/two-step/turn-off-link",
        { password: testPassword },
        "401 invalid_credentials",
      ],
    ]);
    const ada = issuer.person;
    issuer.person = stranger();
    assert.equal((await confirmWith(browser, lost)).status, 403);
    issuer.person = ada;
    const sent = await confirmWith(browser, lost);
    assert.equal(`${sent.url.pathname}${sent.url.search}`, "/portal/account/two-step?done=link-sent");
    const json = { token: await mailedToken(test, "ada@example.com") };
    await assertRows(test, own, [
      ["POST /api/portal/account/two-step/turn-off", json, 204],
      ["DELETE /api/portal/account", null, "403 proof_required"],
    ]);
  }),
);

testApp(
  "shows operators how people sign in, and deletes identities with the account",
  withPeer(async (test, issuer) => {
    const { cookie, userId } = await providerPerson(test, issuer, "ada@example.com");
    const operator = await newOperator(test);
    await assertRows(test, operator, [
      [`GET /operator/users/${userId}`, null, 200, { shows: ["Not set", "Connected providers", "Peer"] }],
    ]);
    const details = JSON.parse((await sendRow(test, operator, `GET /api/operator/users/${userId}`)).html);
    assert.deepEqual(
      [details.user.hasPassword, details.passkeys, details.identities[0].provider.slug],
      [false, 0, "peer"],
    );
    await assertRows(test, { cookie }, [["DELETE /api/portal/account", null, 204]]);
    assert.deepEqual(await test.opened.database.read(sql`SELECT id FROM identities`), []);
  }),
);
