// The pages behind emailed links with plain forms: what a link does, when it is rejected, and what its page never reveals.
import assert from "node:assert/strict";
import { mailUnavailableError } from "../../../../domain/errors.ts";
import { addressLinkRequestsMax } from "../../../../domain/limits.ts";
import { createTestKey, type TestApp, testApp, testPassword } from "../../../support/app/app.ts";
import { linkToken } from "../../../support/people/links.ts";
import { accountWords, doneNotice, rejectedNotice } from "../../../support/portal/words/account.ts";
import { openPage, signInAgain } from "../../../support/portal/pages.ts";
import { inPage, signInWords } from "../../../support/portal/words/sign_in.ts";

const newPassword = "nine purple otters sing";
const isSignedIn = async (test: TestApp, cookie: string) =>
  (await openPage(test, "/portal/account", { cookie })).status === 200;
const noReferrer = ({ answer: response }: { answer: Response }) =>
  assert.equal(response.headers.get("referrer-policy"), "no-referrer");
/** @returns The newest email to an address, with the path of its link. */
async function lastMail(test: TestApp, to: string): Promise<{ subject: string; path: string | null }> {
  const mail = (await test.mails()).findLast((one) => one.to === to);
  const link = mail?.link ?? null;
  return { subject: mail?.subject ?? "", path: link?.replace(test.config.baseUrl.origin, "") ?? null };
}

testApp("gives the same response to a forgotten password with and without an account", async (test) => {
  const { email } = await test.signUp();
  assert.match((await openPage(test, "/sign-in")).html, /<a href="\/forgot-password">/);
  const known = await openPage(test, "/forgot-password", { form: { email } });
  const unknown = await openPage(test, "/forgot-password", { form: { email: "nobody@example.com" } });
  assert.equal(known.status, 200);
  assert(known.html.includes(accountWords.checkEmail));
  assert.match(known.html, new RegExp(`value="${email}"`));
  assert.equal(known.html.replaceAll(email, ""), unknown.html.replaceAll("nobody@example.com", ""));
  assert.deepEqual(
    [...known.answer.headers.keys()],
    [...unknown.answer.headers.keys()],
  );
  assert.equal((await test.mails()).some(({ to }) => to === "nobody@example.com"), false);
  const { path } = await lastMail(test, email);
  assert.match(path ?? "", /^\/reset-password\?token=/);
  const page = await openPage(test, path ?? "");
  assert.match(page.html, /name="password"/);
  noReferrer(known);
});

testApp(
  "shows an invalid address, and too many requests from a client, in the form for a forgotten password",
  async (test) => {
    const bad = await openPage(test, "/forgot-password", { form: { email: `<b>"ada"` } });
    assert.equal(bad.status, 422);
    assert.match(bad.html, /id="email-error"/);
    assert.match(bad.html, /value="&lt;b&gt;&quot;ada&quot;"/);
    assert.equal((await openPage(test, "/forgot-password", { form: {} })).status, 422);
    for (let i = 0; i <= addressLinkRequestsMax; i++) {
      const { status, html, answer: response } = await openPage(test, "/forgot-password", {
        form: { email: "ada@example.com" },
      });
      assert.equal(status, i < addressLinkRequestsMax ? 200 : 429);
      if (status === 429) {
        assert.match(html, rejectedNotice);
        assert(Number(response.headers.get("retry-after")) > 0);
      }
    }
  },
);

testApp("offers no form for a forgotten password without a mail server", async (test) => {
  const person = await test.signUp();
  const page = await openPage(test, "/forgot-password");
  assert.doesNotMatch(page.html, /<form/);
  const sent = await openPage(test, "/forgot-password", { form: { email: person.email } });
  assert.equal(sent.status, 503);
  assert.doesNotMatch(sent.html, /<form/);
  const account = await openPage(test, "/portal/account", { person });
  assert.doesNotMatch(account.html, /account\/(verification|email)"/);
  const again = await openPage(test, "/portal/account/verification", { person, form: {} });
  assert.equal(again.status, 503);
  assert.match(again.html, inPage(mailUnavailableError().message));
}, { BASE_URL: "https://auth.example.com" });

testApp("sets a password with a reset link, and ends all sessions", async (test) => {
  const person = await test.signUp();
  const other = await signInAgain(test, person, { password: testPassword });
  const { fullKey } = await createTestKey(test, person);
  const token = await linkToken(test, person, { purpose: "reset_password" });
  const short = await openPage(test, "/reset-password", { form: { token, password: "short" } });
  assert.equal(short.status, 422);
  assert.match(short.html, /id="password-error"/);
  assert.match(short.html, new RegExp(`name="token" value="${token}"`));
  assert.doesNotMatch(short.html, /value="short"/);
  noReferrer(short);

  const done = await openPage(test, "/reset-password", { form: { token, password: newPassword } });
  assert.equal(done.status, 303);
  assert.equal(done.location, "/sign-in?reset=1");
  noReferrer(done);
  assert.match((await openPage(test, "/sign-in?reset=1")).html, inPage(signInWords.passwordReset));
  for (const cookie of [person.cookie, other]) assert.equal(await isSignedIn(test, cookie), false);
  assert.equal(
    (await openPage(test, "/sign-in", { form: { email: person.email, password: testPassword } })).status,
    401,
  );
  assert.equal(
    (await openPage(test, "/sign-in", { form: { email: person.email, password: newPassword } })).status,
    303,
  );
  // The address was never confirmed, so the key may be a stranger's.
  const json = { productSlug: "tiles", metric: "requests", quantity: 1 };
  assert.equal((await test.send("/api/v1/usage", { apiKey: fullKey, json })).status, 401);

  const again = await openPage(test, "/reset-password", { form: { token, password: testPassword } });
  assert.equal(again.status, 404);
  assert.match(again.html, new RegExp(`${accountWords.deadLink}[^]*href="/forgot-password"`));
  noReferrer(again);
});

testApp("confirms an address once, with a button, and ends the account's other sessions", async (test) => {
  const person = await test.signUp();
  const other = await signInAgain(test, person, { password: testPassword });
  const token = await linkToken(test, person, { purpose: "verify_email" });
  const page = await openPage(test, `/verify-email?token=${token}`, { person });
  assert.match(page.html, new RegExp(`<button[^>]*>.*Confirm ${person.email}`));
  assert((await openPage(test, "/portal/account", { person })).html.includes(accountWords.notConfirmed));
  const done = await openPage(test, "/verify-email", { person, form: { token } });
  assert.equal(done.location, "/portal/account?done=confirmed");
  noReferrer(done);
  const account = await openPage(test, done.location ?? "", { person });
  assert.match(account.html, doneNotice);
  assert(account.html.includes(accountWords.confirmed));
  assert.doesNotMatch(account.html, /account\/verification"/);
  assert.equal(await isSignedIn(test, other), false);
  for (const form of [undefined, { token }]) {
    const path = form === undefined ? `/verify-email?token=${token}` : "/verify-email";
    const again = await openPage(test, path, { person, ...form === undefined ? {} : { form } });
    assert.equal(again.status, 404);
    assert.match(
      again.html,
      new RegExp(`${accountWords.deadLink}[^]*${person.email}</strong> is confirmed`),
    );
    noReferrer(again);
  }
});

testApp(
  "redirects a link without its session to sign-in and back, and offers to reset the password",
  async (test) => {
    const person = await test.signUp();
    const token = await linkToken(test, person, { purpose: "verify_email" });
    const back = `/sign-in?return_to=${encodeURIComponent(`/verify-email?token=${token}`)}`;
    const page = await openPage(test, `/verify-email?token=${token}`);
    assert.equal(page.status, 200);
    assert(page.html.includes(`href="${back}"`));
    assert.match(page.html, /href="\/forgot-password"/);
    assert.doesNotMatch(page.html, /<form/);
    const hrefs = [...page.html.matchAll(/(?:href|action|src)="([^"]*)"/g)].map(([, href = ""]) => href);
    assert.deepEqual(hrefs.filter((href) => href.includes(token)), [back]);
    noReferrer(page);
    const sent = await openPage(test, "/verify-email", { form: { token } });
    assert.equal(sent.location, back);
    noReferrer(sent);
    const signIn = await openPage(test, "/sign-in", {
      form: { email: person.email, password: testPassword, return_to: `/verify-email?token=${token}` },
    });
    assert.equal(signIn.location, `/verify-email?token=${token}`);
    assert.match((await openPage(test, `/verify-email?token=${token}`, { person })).html, /Confirm person/);
  },
);

testApp("changes the address with a link, unless another account has taken it meanwhile", async (test) => {
  const person = await test.signUp();
  const token = await linkToken(test, person, { purpose: "change_email", email: "new@example.com" });
  const account = await openPage(test, "/portal/account", { person });
  assert.match(account.html, /class="aside-note"[^]*<strong>new@example\.com<\/strong>/);
  const page = await openPage(test, `/verify-email?token=${token}`, { person });
  assert.match(page.html, /Confirm new@example\.com/);
  const done = await openPage(test, "/verify-email", { person, form: { token } });
  assert.equal(done.location, "/portal/account?done=changed");
  const after = await openPage(test, done.location ?? "", { person });
  assert.match(
    after.html,
    /class="note done"[^]*new@example\.com<\/span> <span class="badge on">/,
  );
  assert.doesNotMatch(after.html, /class="aside-note"/);

  const { email } = await test.signUp("Grace");
  const late = await linkToken(test, person, { purpose: "change_email", email });
  const taken = await openPage(test, "/verify-email", { person, form: { token: late } });
  assert.equal(taken.status, 409);
  assert(taken.html.includes(accountWords.takenAddress));
  noReferrer(taken);
});
