// The pages behind emailed links with plain forms. That links work once and only for their account is tested in
// tests/routes/emailed_links_test.ts, and what they do with the API.
import assert from "node:assert/strict";
import { mailUnavailableError } from "../../../../domain/errors.ts";
import { addressLinkRequestsMax } from "../../../../domain/limits.ts";
import { testApp, testPassword } from "../../../support/app/app.ts";
import { assertRows, type Row } from "../../../support/app/rows.ts";
import { linkToken } from "../../../support/people/links.ts";
import { lastMail } from "../../../support/people/people.ts";
import { openPage, type TestPage } from "../../../support/portal/pages.ts";
import { accountWords, doneNotice, rejectedNotice } from "../../../support/portal/words/account.ts";

const noReferrer = ({ answer: response }: TestPage) =>
  assert.equal(response.headers.get("referrer-policy"), "no-referrer");

testApp("gives the same page to a forgotten password with and without an account", async (test) => {
  const { email } = await test.signUp();
  await assertRows(test, {}, [["GET /sign-in", null, 200, { shows: ['<a href="/forgot-password">'] }]]);
  const known = await openPage(test, "/forgot-password", { form: { email } });
  const unknown = await openPage(test, "/forgot-password", { form: { email: "nobody@example.com" } });
  assert.equal(known.status, 200);
  assert(known.html.includes("Check your email"));
  assert.match(known.html, new RegExp(`value="${email}"`));
  assert.equal(known.html.replaceAll(email, ""), unknown.html.replaceAll("nobody@example.com", ""));
  assert.deepEqual([...known.answer.headers.keys()], [...unknown.answer.headers.keys()]);
  noReferrer(known);
  const link = new URL((await lastMail(test, email)).link ?? "");
  assert.equal(link.pathname, "/reset-password");
  await assertRows(test, {}, [[`GET ${link.pathname}${link.search}`, null, 200, {
    shows: ['name="password"'],
  }]]);
});

testApp("the form for a forgotten password shows an invalid address, and too many requests", async (test) => {
  const path = "POST /forgot-password";
  const { answer } = await assertRows(test, {}, [
    [path, { email: `<b>"ada"` }, "422 email", { shows: ['value="&lt;b&gt;&quot;ada&quot;"'] }],
    [path, {}, "422 email"],
    ...Array<Row>(addressLinkRequestsMax).fill([path, { email: "ada@example.com" }, 200]),
    [path, { email: "ada@example.com" }, 429, { shows: [rejectedNotice] }],
  ]);
  assert(Number(answer.headers.get("retry-after")) > 0);
});

testApp("offers no forms that send emails without a mail server", async (test) => {
  const person = await test.signUp();
  await assertRows(test, person, [
    ["GET /forgot-password", null, 200, { hides: ["<form"] }],
    ["POST /forgot-password", { email: person.email }, 503, { hides: ["<form"] }],
    ["GET /portal/account", null, 200, { hides: [/account\/(verification|email)"/] }],
    ["POST /portal/account/verification", null, 503, { shows: [mailUnavailableError().message] }],
  ]);
}, { BASE_URL: "https://auth.example.com" });

testApp("sets a password with a reset link", async (test) => {
  const person = await test.signUp();
  const token = await linkToken(test, person, { purpose: "reset_password" });
  const path = "POST /reset-password";
  const rows: Row[] = [
    [path, { token, password: "short" }, "422 password", {
      shows: [`name="token" value="${token}"`],
      hides: ['value="short"'],
    }],
    [path, { token, password: "nine purple otters sing" }, "303 /sign-in?reset=1"],
    [path, { token, password: testPassword }, 404, {
      shows: [new RegExp(`${accountWords.deadLink}[^]*href="/forgot-password"`)],
    }],
  ];
  for (const row of rows) noReferrer(await assertRows(test, {}, [row]));
  await assertRows(test, {}, [["GET /sign-in?reset=1", null, 200, {
    shows: ["Password changed. Sign in with the new one."],
  }]]);
});

testApp("confirms an address with a button", async (test) => {
  const person = await test.signUp();
  const token = await linkToken(test, person, { purpose: "verify_email" });
  const dead = {
    shows: [new RegExp(`${accountWords.deadLink}[^]*${person.email}</strong> is confirmed`)],
  };
  const rows: Row[] = [
    [`GET /verify-email?token=${token}`, null, 200, {
      shows: [new RegExp(`<button[^>]*>.*Confirm ${person.email}`)],
    }],
    ["POST /verify-email", { token }, "303 /portal/account?done=confirmed"],
    [`GET /verify-email?token=${token}`, null, 404, dead],
    ["POST /verify-email", { token }, 404, dead],
  ];
  await assertRows(test, person, [["GET /portal/account", null, 200, {
    shows: [">Not confirmed<"],
  }]]);
  for (const row of rows) noReferrer(await assertRows(test, person, [row]));
  await assertRows(test, person, [["GET /portal/account?done=confirmed", null, 200, {
    shows: [doneNotice, ">Confirmed<"],
    hides: ['account/verification"'],
  }]]);
});

testApp("a link without its session redirects to sign-in and back, and offers a reset", async (test) => {
  const person = await test.signUp();
  const token = await linkToken(test, person, { purpose: "verify_email" });
  const path = `/verify-email?token=${token}`;
  const back = `/sign-in?return_to=${encodeURIComponent(path)}`;
  const page = await assertRows(test, {}, [[`GET ${path}`, null, 200, {
    shows: [`href="${back}"`, 'href="/forgot-password"'],
    hides: ["<form"],
  }]]);
  noReferrer(page);
  const hrefs = [...page.html.matchAll(/(?:href|action|src)="([^"]*)"/g)].map(([, href = ""]) => href);
  assert.deepEqual(hrefs.filter((href) => href.includes(token)), [back]);
  noReferrer(await assertRows(test, {}, [["POST /verify-email", { token }, `303 ${back}`]]));
  const form = { email: person.email, password: testPassword, return_to: path };
  await assertRows(test, {}, [["POST /sign-in", form, `303 ${path}`]]);
});

testApp("changes the address with a link, unless another account has taken it meanwhile", async (test) => {
  const person = await test.signUp();
  const { email: taken } = await test.signUp("Grace");
  const token = await linkToken(test, person, { purpose: "change_email", email: "new@example.com" });
  await assertRows(test, person, [
    [`GET /verify-email?token=${token}`, null, 200, { shows: ["Confirm new@example.com"] }],
    ["POST /verify-email", { token }, "303 /portal/account?done=changed"],
    ["GET /portal/account?done=changed", null, 200, {
      shows: [/class="note done"[^]*new@example\.com<\/span> <span class="badge on">/],
      hides: ['class="aside-note"'],
    }],
  ]);
  const late = await linkToken(test, person, { purpose: "change_email", email: taken });
  noReferrer(
    await assertRows(test, person, [
      ["POST /verify-email", { token: late }, 409, { shows: ["This email address is taken"] }],
    ]),
  );
});
