// The pages behind emailed links with plain forms: what a link does, when it is rejected, and what its page never reveals.
import assert from "node:assert/strict";
import { mailUnavailableError } from "../../../../domain/errors.ts";
import { addressLinkRequestsMax } from "../../../../domain/limits.ts";
import { linkLifetimesMs } from "../../../../domain/mail/mail.ts";
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

testApp(
  "sets a password once with a reset link, however often it was opened, and ends all sessions",
  async (test) => {
    const person = await test.signUp();
    const other = await signInAgain(test, person, { password: testPassword });
    const { fullKey } = await createTestKey(test, person);
    const token = await linkToken(test, person, { purpose: "reset_password" });
    for (let i = 0; i < 3; i++) {
      const page = await openPage(test, `/reset-password?token=${token}`);
      assert.equal(page.status, 200);
      assert.match(page.html, new RegExp(`<input type="hidden" name="token" value="${token}"`));
      assert.doesNotMatch(page.html, new RegExp(`(href|action|src)="[^"]*${token}`));
      noReferrer(page);
    }
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
  },
);

testApp("rejects a reset link that is expired, replaced, made up or for something else", async (test) => {
  const person = await test.signUp();
  const old = await linkToken(test, person, { purpose: "reset_password" });
  test.advance(linkLifetimesMs.reset_password);
  const replaced = await linkToken(test, person, { purpose: "reset_password" });
  await openPage(test, "/forgot-password", { form: { email: person.email } });
  const verify = await linkToken(test, person, { purpose: "verify_email" });
  for (const token of [old, replaced, verify, "", "x", "A".repeat(43), `"><script>`, "%00"]) {
    const page = await openPage(test, `/reset-password?token=${encodeURIComponent(token)}`);
    assert.equal(page.status, 404, token);
    assert(page.html.includes(accountWords.deadLink));
    assert.doesNotMatch(page.html, /<form|"><script>/);
    noReferrer(page);
    const form = { token, password: newPassword };
    const sent = await openPage(test, "/reset-password", { form, peerAddress: `10.8.0.${token.length}` });
    assert.equal(sent.status, 404, token);
    noReferrer(sent);
  }
  assert.equal((await openPage(test, "/reset-password")).status, 404);
  assert.equal(await isSignedIn(test, person.cookie), true);
});

testApp("limits guesses at reset links by client address", async (test) => {
  const statuses = [];
  for (let i = 0; i < 12; i++) {
    const page = await openPage(test, "/reset-password", {
      form: { token: "A".repeat(43), password: newPassword },
    });
    statuses.push(page.status);
    noReferrer(page);
  }
  assert.deepEqual(statuses, [...Array(10).fill(404), 429, 429]);
});

testApp(
  "confirms an address once, with a button, and ends the account's other sessions",
  async (test) => {
    const person = await test.signUp();
    const other = await signInAgain(test, person, { password: testPassword });
    const token = await linkToken(test, person, { purpose: "verify_email" });
    for (let i = 0; i < 3; i++) {
      const page = await openPage(test, `/verify-email?token=${token}`, { person });
      assert.equal(page.status, 200);
      assert.match(page.html, new RegExp(`<button[^>]*>.*Confirm ${person.email}`));
      assert.doesNotMatch(page.html, new RegExp(`(href|action|src)="[^"]*${token}`));
      noReferrer(page);
    }
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
  },
);

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

testApp("confirms nothing with another account's link", async (test) => {
  const person = await test.signUp();
  const stranger = await test.signUp("Mallory");
  for (const purpose of ["verify_email", "change_email"] as const) {
    const token = await linkToken(test, person, { purpose });
    const page = await openPage(test, `/verify-email?token=${token}`, { person: stranger });
    assert.match(page.html, new RegExp(`${accountWords.otherAccount}[^]*${stranger.email}`));
    assert(!page.html.includes(token));
    noReferrer(page);
    const sent = await openPage(test, "/verify-email", { person: stranger, form: { token } });
    assert.equal(sent.status, 403);
    assert(sent.html.includes(accountWords.otherAccount));
    noReferrer(sent);
  }
  assert((await openPage(test, "/portal/account", { person })).html.includes(accountWords.notConfirmed));
  const { html } = await openPage(test, "/portal/account", { person: stranger });
  assert(html.includes(accountWords.notConfirmed));
});

testApp(
  "rejects a confirmation link that is expired, replaced, made up or for something else",
  async (test) => {
    const person = await test.signUp();
    const old = await linkToken(test, person, { purpose: "verify_email" });
    test.advance(linkLifetimesMs.verify_email);
    const replaced = await linkToken(test, person, { purpose: "verify_email" });
    assert.equal((await openPage(test, "/portal/account/verification", { person, form: {} })).status, 303);
    const reset = await linkToken(test, person, { purpose: "reset_password" });
    for (const token of [old, replaced, reset, "", "A".repeat(43)]) {
      for (const options of [{}, { person }]) {
        const page = await openPage(test, `/verify-email?token=${token}`, options);
        assert.equal(page.status, 404);
        assert(page.html.includes(accountWords.deadLink));
        assert.doesNotMatch(page.html, /<form/);
        noReferrer(page);
      }
      const sent = await openPage(test, "/verify-email", { person, form: { token } });
      assert.equal(sent.status, 404);
    }
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

testApp("confirms and changes an address with the links in the emails", async (test) => {
  const person = await test.signUp();
  const taken = await test.signUp("Grace");
  const press = async (to: string) => {
    const { path } = await lastMail(test, to);
    const page = await openPage(test, path ?? "", { person });
    const token = /name="token" value="([^"]+)"/.exec(page.html)?.[1] ?? "";
    return (await openPage(test, "/verify-email", { person, form: { token } })).location;
  };
  assert.equal(await press(person.email), "/portal/account?done=confirmed");
  const ask = (email: string) => openPage(test, "/portal/account/email", { person, form: { email } });
  await ask(taken.email);
  assert.equal((await lastMail(test, taken.email)).path?.includes("token=") ?? false, false);
  assert.match(
    (await openPage(test, "/portal/account", { person })).html,
    new RegExp(`class="aside-note".*${taken.email}`),
  );
  await ask("new@example.com");
  const { html } = await openPage(test, "/portal/account", { person });
  assert.match(html, /class="aside-note".*new@example\.com/);
  assert(!html.includes(taken.email));
  assert.equal(await press("new@example.com"), "/portal/account?done=changed");
});

testApp("rejects forms of emailed links from another site, and other methods", async (test) => {
  const person = await test.signUp();
  const token = await linkToken(test, person, { purpose: "verify_email" });
  for (const origin of ["https://evil.example", "null"]) {
    for (const path of ["/verify-email", "/reset-password", "/forgot-password"]) {
      const sent = await openPage(test, path, {
        person,
        form: { token, password: newPassword },
        headers: { origin },
      });
      assert.equal(sent.status, 403, path);
    }
  }
  assert.equal((await test.send("/verify-email", { method: "DELETE" })).status, 405);
  assert((await openPage(test, "/portal/account", { person })).html.includes(accountWords.notConfirmed));
});
