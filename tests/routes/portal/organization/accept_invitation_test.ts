// The page of an invitation's link, for everyone who can open it.
import assert from "node:assert/strict";
import { membershipsPerUserMax } from "../../../../domain/limits.ts";
import { cookieOf, testApp, testPassword } from "../../../support/app/app.ts";
import { assertRows, type Row } from "../../../support/app/rows.ts";
import { inviteTo, joinedPerson, mailedToken, reauthenticate } from "../../../support/people/people.ts";
import { activeOrganization, noticesOf, page } from "../../../support/people/portal_people.ts";
import { newOrganization, newPerson } from "../../../support/people/scene.ts";
import { accountWords } from "../../../support/portal/words/account.ts";
import { organizationWords as words } from "../../../support/portal/words/organization.ts";
import { inPage } from "../../../support/portal/words/sign_in.ts";

const accept = "/invitations/accept";
const signUp = "POST /invitations/sign-up";
const email = "grace@example.com";
const isJoined = "303 /portal/members?done=joined";

testApp("a new person creates an account with the link and joins", async (test) => {
  const owner = await test.signUp("Olive Owner");
  await assertRows(test, owner, [["POST /portal/organization", { name: "Acme" }, 303]]);
  const { path, token } = await inviteTo(test, owner, { email, role: "ADMIN" });
  const shown = await assertRows(test, {}, [[`GET ${path}`, null, 200, {
    shows: [
      "<h1>Join <bdi>Acme</bdi></h1>",
      /Olive Owner[^<]* as an admin/,
      /value="grace@example\.com"[^>]* readonly/,
    ],
    hides: [new RegExp(`<(?:a|link|script|img)\\b[^>]*${token}`)],
  }]]);
  const weak = await assertRows(test, {}, [
    [signUp, { token, name: "<i>Grace</i>", password: "short" }, "422 password", {
      shows: ['value="&lt;i&gt;Grace&lt;/i&gt;"'],
      hides: ['value="short"'],
    }],
  ]);
  for (const { answer } of [shown, weak]) {
    assert.equal(answer.headers.get("referrer-policy"), "same-origin");
  }
  // The address of the form is ignored.
  const form = { token, name: "Grace", email: "evil@example.com", password: testPassword };
  const { answer } = await assertRows(test, {}, [
    [signUp, { token, name: "  ", password: testPassword }, "422 name"],
    [signUp, form, isJoined],
  ]);
  await assertRows(test, {}, [[signUp, form, 404, { shows: [words.endedInvitation] }]]);
  await assertRows(test, { cookie: cookieOf(answer) }, [["GET /portal/members?done=joined", null, 200, {
    shows: [email, words.invite],
    hides: [/Confirm your email address|evil@example/],
  }]]);
});

testApp("opening the link does not use it up, and the invited person joins once", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const grace = await joinedPerson(test, await test.signUp("Otto Other"), "MEMBER");
  const { path, token } = await inviteTo(test, owner, { email: grace.email, role: "ADMIN" });
  const look: Row = [`GET ${path}`, null, 200, {
    shows: [
      "Join Olive Owner’s organization as Admin</button>",
      `<input type="hidden" name="token" value="${token}"`,
    ],
  }];
  await assertRows(test, grace, [look, look, look, [`POST ${accept}`, { token }, isJoined]]);
  const { html } = await page(test, "/portal/members", grace);
  assert.equal(activeOrganization(html), "Olive Owner’s organization");
  await assertRows(test, grace, [
    [`POST ${accept}`, { token }, 404, { shows: [/class="card".*href="\/portal"/] }],
  ]);
});

testApp("someone else can't join, and returns to the link after signing out", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const other = await test.signUp("Otto Other");
  const { path, token } = await inviteTo(test, owner, { email });
  const { answer } = await assertRows(test, other, [
    [`GET ${path}`, null, 200, {
      shows: [`<strong>${email}</strong>`],
      hides: [/action="\/invitations\/(accept|sign-up)"/],
    }],
    [`POST ${accept}`, { token }, 403, { shows: [`<strong>${other.email}</strong>`] }],
    ["POST /invitations/sign-out", { token }, `303 ${path}`],
  ]);
  assert.match(answer.headers.getSetCookie().join(), /access_token=; Max-Age=0/);
  await assertRows(test, other, [
    ["GET /portal/members", null, 303],
    [`GET ${path}`, null, 200, { shows: [words.signUp] }],
  ]);
});

testApp("a person with an account signs in and returns to the link", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const grace = await joinedPerson(test, await test.signUp(), "MEMBER");
  const { path, token } = await inviteTo(test, owner, { email: grace.email });
  const { html } = await assertRows(test, {}, [[`GET ${path}`, null, 200, { hides: ['name="password"'] }]]);
  const back = /href="(\/sign-in\?return_to=[^"]+)"/.exec(html)?.[1] ?? "";
  const return_to = /name="return_to" value="([^"]+)"/.exec((await page(test, back)).html)?.[1] ?? "";
  await assertRows(test, {}, [
    ["POST /sign-in", { email: grace.email, password: testPassword, return_to }, `303 ${path}`],
    // Without a session, no one joins.
    [`POST ${accept}`, { token }, 401, { shows: [words.accept] }],
    [signUp, { token, name: "Grace", password: testPassword }, 409, { shows: [words.accept] }],
  ]);
});

testApp("an unconfirmed address must be confirmed before the invitation can be accepted", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const ada = await test.signUp("Ada");
  const verification = await mailedToken(test, ada.email);
  const { path, token } = await inviteTo(test, owner, { email: ada.email });
  await assertRows(test, ada, [
    [`GET ${path}`, null, 200, {
      shows: ['action="/portal/account/verification"'],
      hides: ['action="/invitations/accept"'],
    }],
    [`POST ${accept}`, { token }, 403],
    ["POST /api/auth/email/verify", { token: verification }, 200],
    [`POST ${accept}`, { token }, isJoined],
  ]);
});

testApp("a person at the limit of organizations can't join, and the invitation stays valid", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const grace = await joinedPerson(test, await test.signUp(), "MEMBER");
  const { token } = await inviteTo(test, owner, { email: grace.email });
  const names = Array.from({ length: membershipsPerUserMax - 1 }, (_, count) => `Nr ${count}`);
  for (const name of names) {
    await assertRows(test, grace, [["POST /portal/organizations", { name }, 303]]);
    // A person can create some organizations an hour.
    test.advance(10 * 60_000);
  }
  await reauthenticate(test, grace.cookie);
  const full = await assertRows(test, grace, [
    [`POST ${accept}`, { token }, 409, { shows: ['action="/invitations/accept"'] }],
  ]);
  assert.match(noticesOf(full.html).join(), inPage(words.organizationLimit));
  await assertRows(test, grace, [
    ["POST /portal/organization/delete", { name: names.at(-1) }, 303],
    [`POST ${accept}`, { token }, isJoined],
  ]);
});

testApp("an invalid link of any form shows that the invitation is not valid", async (test) => {
  const invalid = { shows: [words.endedInvitation], hides: ["<script>alert"] };
  const tokens = ["", "x", "a".repeat(43), "<script>alert(1)</script>", "%00", "'--"];
  const rows = tokens.map((token): Row => [
    `GET ${accept}?token=${encodeURIComponent(token)}`,
    null,
    404,
    invalid,
  ]);
  for (const by of [{}, await test.signUp()]) await assertRows(test, by, rows);
  await assertRows(test, {}, [
    [`GET ${accept}`, null, 404],
    ["GET /invitations/sign-up", null, 303],
    [signUp, null, 404],
  ]);
});

for (const SIGN_UP of ["invite", "closed"] as const) {
  testApp(`a new person can sign up with the link if SIGN_UP=invite: ${SIGN_UP}`, async (test) => {
    const organizationId = await newOrganization(test, "Acme");
    const owner = await newPerson(test, { organizationId, role: "OWNER" });
    const { path, token } = await inviteTo(test, owner, { email });
    const form = { token, name: "Grace", password: testPassword };
    if (SIGN_UP === "invite") {
      await assertRows(test, {}, [
        [`GET ${path}`, null, 200, { shows: [words.signUp] }],
        [signUp, form, isJoined],
      ]);
    } else {
      const { html } = await assertRows(test, {}, [
        [`GET ${path}`, null, 200, { shows: [`<strong>${email}</strong>`], hides: ['name="password"'] }],
        [signUp, form, 403],
      ]);
      assert.ok(noticesOf(html).join().includes(accountWords.signUpClosed));
    }
  }, { SIGN_UP });
}
