// The page of an invitation's link, for everyone who can open it.
import assert from "node:assert/strict";
import { membershipsPerUserMax } from "../../../../domain/limits.ts";
import { cookieOf, type TestApp, testApp, testPassword } from "../../../support/app/app.ts";
import { accountWords } from "../../../support/portal/words/account.ts";
import {
  activeOrganization,
  joinBy,
  noticesOf,
  page,
  submit,
} from "../../../support/people/portal_people.ts";
import { inviteTo, mailedToken } from "../../../support/people/people.ts";
import { newOrganization, newPerson } from "../../../support/people/scene.ts";
import { organizationWords as words } from "../../../support/portal/words/organization.ts";
import { inPage } from "../../../support/portal/words/sign_in.ts";

const accept = "/invitations/accept";

/** Signs up with an invitation. */
async function signUpBy(test: TestApp, form: Record<string, string>) {
  return await submit(test, "/invitations/sign-up", { form });
}

testApp("a new person creates an account with the link and joins", async (test) => {
  const owner = await test.signUp("Olive Owner");
  await submit(test, "/portal/organization", { form: { name: "Acme" }, person: owner });
  const { path, token } = await inviteTo(test, owner, { email: "grace@example.com", role: "ADMIN" });
  const shown = await page(test, path);
  assert.equal(shown.status, 200);
  assert.equal(shown.answer.headers.get("referrer-policy"), "same-origin");
  assert.match(shown.html, /<h1>Join <bdi>Acme<\/bdi><\/h1>/);
  assert.match(shown.html, /Olive Owner[^<]* as an admin/);
  assert.match(shown.html, /value="grace@example\.com"[^>]* readonly/);
  assert.equal(
    shown.html.match(/<(?:a|link|script|img)\b[^>]*>/g)?.some((tag) => tag.includes(token)),
    false,
  );
  const weak = await signUpBy(test, { token, name: "<i>Grace</i>", password: "short" });
  assert.equal(weak.status, 422);
  assert.match(weak.html, /value="&lt;i&gt;Grace&lt;\/i&gt;"/);
  assert.match(weak.html, /id="password-error"/);
  assert.doesNotMatch(weak.html, /value="short"/);
  assert.equal(weak.answer.headers.get("referrer-policy"), "same-origin");
  const unnamed = await signUpBy(test, { token, name: "  ", password: testPassword });
  assert.match(unnamed.html, /id="name-error"/);
  // The address of the form is ignored.
  const form = { token, name: "Grace", email: "evil@example.com", password: testPassword };
  const joined = await signUpBy(test, form);
  assert.equal(joined.location, "/portal/members?done=joined");
  const person = { cookie: cookieOf(joined.answer) };
  const { html } = await page(test, joined.location ?? "", person);
  assert.match(html, /grace@example\.com/);
  assert.match(html, inPage(words.invite));
  assert.doesNotMatch(html, /Confirm your email address|evil@example/);
  const again = await signUpBy(test, form);
  assert.equal(again.status, 404);
  assert.match(again.html, inPage(words.endedInvitation));
});

testApp("opening the link does not use it up, and the invited person joins once", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const other = await test.signUp("Otto Other");
  const grace = await joinBy(test, other, { name: "Grace" });
  const { path, token } = await inviteTo(test, owner, { email: grace.email, role: "ADMIN" });
  for (let looks = 0; looks < 3; looks++) {
    const { html } = await page(test, path, grace);
    assert.match(html, /Join Olive Owner’s organization as Admin<\/button>/);
    assert.match(html, new RegExp(`<input type="hidden" name="token" value="${token}"`));
  }
  const joined = await submit(test, accept, { form: { token }, person: grace });
  assert.equal(joined.location, "/portal/members?done=joined");
  assert.equal(
    activeOrganization((await page(test, "/portal/members", grace)).html),
    "Olive Owner’s organization",
  );
  const again = await submit(test, accept, { form: { token }, person: grace });
  assert.equal(again.status, 404);
  assert.match(again.html, /class="card".*href="\/portal"/);
});

testApp("someone else can't join, and returns to the link after signing out", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const other = await test.signUp("Otto Other");
  const { path, token } = await inviteTo(test, owner, { email: "grace@example.com" });
  const shown = await page(test, path, other);
  assert.match(shown.html, /<strong>grace@example\.com<\/strong>/);
  assert.doesNotMatch(shown.html, /action="\/invitations\/(accept|sign-up)"/);
  const tried = await submit(test, accept, { form: { token }, person: other });
  assert.equal(tried.status, 403);
  assert.match(tried.html, new RegExp(`<strong>${other.email}</strong>`));
  const out = await submit(test, "/invitations/sign-out", { form: { token }, person: other });
  assert.equal(out.location, path);
  assert.match(out.answer.headers.getSetCookie().join(), /access_token=; Max-Age=0/);
  assert.equal((await page(test, "/portal/members", other)).status, 303);
  assert.match((await page(test, path)).html, inPage(words.signUp));
});

testApp("a person with an account signs in and returns to the link", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const grace = await joinBy(test, await test.signUp(), { name: "Grace" });
  const { path, token } = await inviteTo(test, owner, { email: grace.email });
  const { html } = await page(test, path);
  assert.doesNotMatch(html, /name="password"/);
  const back = /href="(\/sign-in\?return_to=[^"]+)"/.exec(html)?.[1] ?? "";
  const return_to = /name="return_to" value="([^"]+)"/.exec((await page(test, back)).html)?.[1] ?? "";
  const signedIn = await submit(test, "/sign-in", {
    form: { email: grace.email, password: testPassword, return_to },
  });
  assert.equal(signedIn.location, path);
  // Without a session, no one joins.
  const nobody = await submit(test, accept, { form: { token } });
  assert.equal(nobody.status, 401);
  assert.match(nobody.html, inPage(words.accept));
  const taken = await signUpBy(test, { token, name: "Grace", password: testPassword });
  assert.equal(taken.status, 409);
  assert.match(taken.html, inPage(words.accept));
});

testApp("an unconfirmed address must be confirmed before the invitation can be accepted", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const ada = await test.signUp("Ada");
  const verification = await mailedToken(test, ada.email);
  const { path, token } = await inviteTo(test, owner, { email: ada.email });
  const { html } = await page(test, path, ada);
  assert.match(html, /action="\/portal\/account\/verification"/);
  assert.doesNotMatch(html, /action="\/invitations\/accept"/);
  assert.equal((await submit(test, accept, { form: { token }, person: ada })).status, 403);
  const json = { token: verification };
  const verified = await test.send("/api/auth/email/verify", { cookie: ada.cookie, json });
  assert.equal(verified.status, 200, await verified.text());
  assert.equal(
    (await submit(test, accept, { form: { token }, person: ada })).location,
    "/portal/members?done=joined",
  );
});

testApp("a person at the limit of organizations can't join, and the invitation stays valid", async (test) => {
  const owner = await test.signUp("Olive Owner");
  const grace = await joinBy(test, await test.signUp(), { name: "Grace" });
  const { token } = await inviteTo(test, owner, { email: grace.email });
  for (let count = 1; count < membershipsPerUserMax; count++) {
    await submit(test, "/portal/organizations", { form: { name: `Nr ${count}` }, person: grace });
  }
  const full = await submit(test, accept, { form: { token }, person: grace });
  assert.equal(full.status, 409);
  assert.match(noticesOf(full.html).join(), inPage(words.organizationLimit));
  assert.match(full.html, /action="\/invitations\/accept"/);
  await submit(test, "/portal/organization/delete", { form: { name: "Nr 49" }, person: grace });
  const joined = await submit(test, accept, { form: { token }, person: grace });
  assert.equal(joined.location, "/portal/members?done=joined");
});

testApp("an invalid link of any form shows that the invitation is not valid", async (test) => {
  const person = await test.signUp();
  for (const token of ["", "x", "a".repeat(43), "<script>alert(1)</script>", "%00", "'--"]) {
    const query = `${accept}?token=${encodeURIComponent(token)}`;
    for (const given of [await page(test, query), await page(test, query, person)]) {
      assert.equal(given.status, 404, token);
      assert.match(given.html, inPage(words.endedInvitation));
      assert.doesNotMatch(given.html, /<script>alert/);
    }
  }
  assert.equal((await page(test, accept)).status, 404);
  assert.equal((await page(test, `/invitations/sign-up`)).status, 303);
  assert.equal((await submit(test, "/invitations/sign-up", {})).status, 404);
});

for (const SIGN_UP of ["invite", "closed"] as const) {
  testApp(`a new person can sign up with the link if SIGN_UP=invite: ${SIGN_UP}`, async (test) => {
    const organizationId = await newOrganization(test, "Acme");
    const owner = await newPerson(test, { organizationId, role: "OWNER" });
    const { path, token } = await inviteTo(test, owner, { email: "grace@example.com" });
    const { html } = await page(test, path);
    const made = await signUpBy(test, { token, name: "Grace", password: testPassword });
    if (SIGN_UP === "invite") {
      assert.match(html, inPage(words.signUp));
      assert.equal(made.location, "/portal/members?done=joined");
    } else {
      assert.match(html, /<strong>grace@example\.com<\/strong>/);
      assert.doesNotMatch(html, /name="password"/);
      assert.equal(made.status, 403);
      assert(noticesOf(made.html).join().includes(accountWords.signUpClosed));
    }
  }, { SIGN_UP });
}
