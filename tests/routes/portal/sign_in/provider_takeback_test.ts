// Taking an account back from someone who signed up with another person's address and prepared every way to come back that involves
// providers, and the visits to a provider that they had not finished.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { type TestApp, testPassword } from "../../../support/app/app.ts";
import { assertRows } from "../../../support/app/rows.ts";
import { startIssuer, type TestIssuer } from "../../../support/identity_providers/issuer.ts";
import { addProvider } from "../../../support/identity_providers/providers.ts";
import { newVisitor, type Visitor } from "../../../support/identity_providers/visitor.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { mailedToken, me } from "../../../support/people/people.ts";

const victim = "victim@example.com";
const ownPassword = "an entirely different 7 phrase";
const isCallback = (url: URL) => url.pathname.endsWith("/callback");

/** The ways in which an account without a confirmed address begins. */
const beginnings = {
  /** The provider doesn't vouch for the address. */
  async "by a provider"(_test: TestApp, issuer: TestIssuer, browser: Visitor) {
    issuer.person = { sub: "eve", email: victim };
    await browser.signInWith("peer");
    const form = { newPassword: testPassword };
    const set = await browser.open("/portal/account/security/first-password", { form });
    assert.equal(set.url.search, "?done=first-password", set.html);
  },
  async "by a password"(_test: TestApp, issuer: TestIssuer, browser: Visitor) {
    const form = { name: "Eve", email: victim, password: testPassword, organizationName: "" };
    assert.equal((await browser.open("/sign-up", { form })).status, 200);
    issuer.person = { sub: "eve" };
    await browser.open(await formUrl(browser, "link"));
  },
};

/** Sends a form that leads to the provider. */
async function formUrl(browser: Visitor, purpose: "link" | "confirm"): Promise<URL> {
  const path = purpose === "link" ? "/portal/account/identities/link" : "/portal/confirm-password/provider";
  const page = await browser.open(path, { form: { provider: "peer" } });
  const [, url = ""] = /content="0; url=([^"]+)"/.exec(page.html) ?? [];
  return new URL(url.replaceAll("&amp;", "&"));
}

/** Begins a visit, and stops before the browser comes back. */
async function unfinished(browser: Visitor, purpose: "link" | "confirm" | "sign_in"): Promise<URL> {
  if (purpose === "sign_in") return await browser.untilCallback("peer");
  const { location } = await browser.open(await formUrl(browser, purpose), { stopAt: isCallback });
  assert.ok(location);
  return location;
}

/** Ways for the owner of the address to recover the account. */
const recoveries = {
  async "a reset by email"(test: TestApp) {
    const signUp = { name: "Victoria", email: victim, password: ownPassword };
    await assertRows(test, {}, [
      ["POST /api/auth/sign-up", signUp, "409 email_taken"],
      ["POST /api/auth/password/forgot", { email: victim }, 202],
    ]);
    const json = { token: await mailedToken(test, victim), password: ownPassword };
    assert.equal((await test.send("/api/auth/password/reset", { json })).status, 204);
    return 0;
  },
  async "a provider that vouches"(test: TestApp, issuer: TestIssuer) {
    issuer.person = { sub: "victoria", email: victim, email_verified: true };
    const owner = newVisitor(test);
    await owner.signInWith("peer");
    assert.equal((await me(test, await owner.cookie())).user?.email, victim);
    return 1;
  },
};

for (const [beginning, begin] of Object.entries(beginnings)) {
  for (const [recovery, recover] of Object.entries(recoveries)) {
    onEveryDatabase(
      `an account squatted ${beginning} is taken back completely by ${recovery}`,
      async (test) => {
        const issuer = startIssuer();
        try {
          await addProvider(test, issuer);
          const eve = newVisitor(test);
          await begin(test, issuer, eve);
          const cookie = await eve.cookie();
          const userId = (await me(test, cookie)).user?.id ?? "";
          // A second identity, whose provider names an address of Eve's own.
          issuer.person = { sub: "eve-too", email: "eve@example.com", email_verified: true };
          await eve.open(await formUrl(eve, "link"));
          const signedOut = newVisitor(test);
          const begun = [
            [eve, await unfinished(eve, "confirm")],
            [eve, await unfinished(eve, "sign_in")],
            [signedOut, await unfinished(signedOut, "sign_in")],
          ] as const;
          issuer.person = { sub: "eve-three" };
          const linking = await unfinished(eve, "link");
          const identities = () =>
            test.opened.database.read<{ subject: string }>(
              sql`SELECT subject FROM identities WHERE user_id = ${userId} ORDER BY subject`,
            );
          assert.equal((await identities()).length, 2);

          const kept = await recover(test, issuer);
          for (const [browser, callback] of [...begun, [eve, linking] as const]) {
            await browser.open(callback, { from: issuer.url });
            assert.notEqual((await me(test, await browser.cookie())).user?.id, userId, callback.search);
          }
          for (const sub of ["eve", "eve-too", "eve-three"]) {
            issuer.person = { sub, email: victim };
            const visitor = newVisitor(test);
            await visitor.signInWith("peer");
            const signedIn = await visitor.cookie() === ""
              ? null
              : (await me(test, await visitor.cookie())).user;
            assert.notEqual(signedIn?.id, userId, sub);
          }
          assert.deepEqual(
            (await identities()).map(({ subject }) => subject),
            kept === 0 ? [] : ["victoria"],
          );
          assert.equal((await me(test, cookie)).authenticated, false);
          await assertRows(test, {}, [
            ["POST /api/auth/sign-in", { email: victim, password: testPassword }, "401 invalid_credentials"],
          ]);
          if (kept === 0) {
            await assertRows(test, {}, [[
              "POST /api/auth/sign-in",
              { email: victim, password: ownPassword },
              200,
            ]]);
          }
        } finally {
          await issuer.stop();
        }
      },
    );
  }
}
