// Accounts without a password, and confirming with a provider.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { type TestApp, testApp, testPassword } from "../../../support/app/app.ts";
import { listAudit } from "../../../support/app/audit.ts";
import { assertRows, sendRow } from "../../../support/app/rows.ts";
import {
  confirmPath,
  confirmWith,
  elevenMinutes,
  providerPerson,
  securityPath,
  stranger,
  withPeer,
} from "../../../support/identity_providers/own_visits.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { mailedToken, me, signInAgain } from "../../../support/people/people.ts";
import { codeOf, turnOnTwoStep } from "../../../support/people/second_step.ts";

const subjectsTo = async (test: TestApp, email: string) =>
  (await test.mails()).filter(({ to }) => to === email).map(({ subject }) => subject);

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
      [`GET ${remove}`, null, `303 ${confirmPath}?return_to=${encodeURIComponent(remove)}`],
      [`GET ${confirmPath}?return_to=${remove}`, null, 200, {
        shows: ["Confirm with"],
        hides: ["current-password", "data-passkey="],
      }],
      [`GET ${securityPath}`, null, 200, { shows: ["Set a password"], hides: ["currentPassword"] }],
    ]);
    // Another identity, or an old authentication there, confirms nothing.
    issuer.person = stranger("ada@example.com", { email_verified: true });
    assert.equal((await confirmWith(browser, remove)).status, 403);
    issuer.person = ada;
    for (const authTime of [Math.floor((test.now() - elevenMinutes) / 1000), undefined, "now"]) {
      issuer.lies = { claims: { auth_time: authTime } };
      assert.equal((await confirmWith(browser, remove)).status, 403, `${authTime}`);
    }
    issuer.lies = {};
    await assertRows(test, { cookie }, [["DELETE /api/portal/account", null, "403 proof_required"]]);

    const confirmed = await confirmWith(browser, remove);
    assert.equal(confirmed.url.pathname, remove);
    assert.equal(issuer.asked.get("prompt"), "login");
    assert.equal((await me(test, cookie)).authenticated, true, "the session stays");
    await assertRows(test, { cookie }, [
      ["POST /api/portal/account/email", { email: "new@example.com" }, 202],
      [`POST ${securityPath}/first-password`, { newPassword: "short" }, "422 newPassword"],
    ]);
    const set = await browser.open(`${securityPath}/first-password`, { form: { newPassword: testPassword } });
    assert.equal(`${set.url.pathname}${set.url.search}`, `${securityPath}?done=first-password`);
    assert.ok((await subjectsTo(test, "ada@example.com")).includes("A password was added"));
    const own = { cookie: await browser.cookie() };
    await assertRows(test, own, [
      [`GET ${securityPath}/first-password`, null, `303 ${securityPath}`],
      [`GET ${securityPath}`, null, 200, { shows: ["currentPassword"] }],
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
