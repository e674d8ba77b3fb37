// The pages of the user's own account with plain forms. What an action does is tested with the API; here are the forms, redirects and
// notices.
import assert from "node:assert/strict";
import {
  accountMailsPerHourMax,
  recentAuthenticationMs,
  signInFailuresFree,
} from "../../../../domain/limits.ts";
import { linkLifetimesMs } from "../../../../domain/outbox/mail.ts";
import { enterName } from "../../../../routes/schemas/messages.ts";
import { cookieOf, type TestApp, testApp, testPassword } from "../../../support/app/app.ts";
import { assertRows, type Row } from "../../../support/app/rows.ts";
import { linkToken } from "../../../support/people/links.ts";
import { joinedPerson, me } from "../../../support/people/people.ts";
import { signInAgain } from "../../../support/portal/pages.ts";
import { accountWords, doneNotice, rejectedNotice } from "../../../support/portal/words/account.ts";
import { signInWords } from "../../../support/portal/words/sign_in.ts";

const account = "/portal/account";
const confirmHref = (page: string) => `/portal/confirm-password?return_to=${encodeURIComponent(page)}`;
const isSignedIn = async (test: TestApp, cookie: string) => (await me(test, cookie)).authenticated;

testApp("changes the name with a form that keeps rejected input and escapes it", async (test) => {
  const path = `${account}/name`;
  await assertRows(test, await test.signUp(), [
    [`POST ${path}`, { name: `  <b>"Ada"</b> ` }, `303 ${account}?done=renamed`],
    [`GET ${account}?done=renamed`, null, 200, {
      shows: [doneNotice, 'value="&lt;b&gt;&quot;Ada&quot;&lt;/b&gt;"'],
      hides: ["<b>"],
    }],
    ...["", "   ", "x".repeat(101)].map((name): Row => [`POST ${path}`, { name }, "422 name", {
      shows: [enterName, `value="${name}"`],
    }]),
    [`GET ${path}`, null, `303 ${account}`],
  ]);
});

testApp("resends the confirmation email and returns only to pages of the portal", async (test) => {
  const person = await test.signUp();
  const path = `POST ${account}/verification`;
  const first = await linkToken(test, person, { purpose: "verify_email" });
  await assertRows(test, person, [
    [path, {}, `303 ${account}?done=mail-sent`],
    [`GET ${account}?done=mail-sent`, null, 200, { shows: [doneNotice] }],
    [`GET /verify-email?token=${first}`, null, 404],
    [path, { return_to: "/portal/usage?range=7d" }, "303 /portal/usage?range=7d&done=mail-sent"],
    [path, { return_to: "//evil.example" }, `303 ${account}?done=mail-sent`],
    ...Array.from({ length: accountMailsPerHourMax - 3 }, (): Row => [path, {}, 303]),
    [path, { return_to: "/portal/usage" }, 429, { shows: [rejectedNotice] }],
  ]);
  const token = await linkToken(test, person, { purpose: "verify_email" });
  await assertRows(test, person, [["POST /verify-email", { token }, 303], [path, {}, `303 ${account}`]]);
});

testApp("the form for another address shows errors, and a taken address like a free one", async (test) => {
  const person = await test.signUp();
  const other = await test.signUp("Grace");
  const path = `${account}/email`;
  await assertRows(test, person, [
    [`GET ${path}`, null, 200, { shows: [`action="${path}"`] }],
    [`POST ${path}`, { email: `"no address"` }, "422 email", { shows: ['value="&quot;no address&quot;"'] }],
    [`POST ${path}`, { email: person.email }, "422 email"],
  ]);
  const pages = [];
  for (const email of ["free@example.com", other.email]) {
    const { html } = await assertRows(test, person, [
      [`POST ${path}`, { email }, `303 ${account}?done=asked`],
      [`GET ${account}?done=asked`, null, 200, { shows: [`<strong>${email}</strong>`] }],
    ]);
    pages.push(html.replaceAll(email, ""));
  }
  assert.equal(pages[0], pages[1]);
  test.advance(recentAuthenticationMs);
  await assertRows(test, person, [
    [`GET ${path}`, null, `303 ${confirmHref(path)}`],
    [`POST ${path}`, { email: "x@example.com" }, `303 ${confirmHref(path)}`],
  ]);
});

testApp("shows a pending change of address until its link expires", async (test) => {
  const person = await test.signUp();
  await linkToken(test, person, { purpose: "change_email", email: "new@example.com" });
  const shown = [/class="aside-note"[^]*<strong>new@example\.com<\/strong>/];
  await assertRows(test, person, [[`GET ${account}`, null, 200, { shows: shown }]]);
  test.advance(linkLifetimesMs.change_email);
  await assertRows(test, person, [[`GET ${account}`, null, 200, { hides: ["new@example.com"] }]]);
});

testApp("names the rejected password, and signs this browser in again after a change", async (test) => {
  const person = await test.signUp();
  const path = `POST ${account}/security/password`;
  const newPassword = "nine purple otters sing";
  const { answer } = await assertRows(test, person, [
    [path, { currentPassword: "not my password", newPassword }, "401 currentPassword", {
      hides: ["not my password"],
    }],
    [path, { currentPassword: testPassword, newPassword: "short" }, "422 newPassword"],
    [path, { currentPassword: testPassword, newPassword }, `303 ${account}/security?done=password`],
  ]);
  await assertRows(test, { cookie: cookieOf(answer) }, [
    [`GET ${account}/security?done=password`, null, 200, {
      shows: ["Password changed. You're signed out everywhere else.", signInWords.onlyHere],
    }],
  ]);
});

testApp("lists sessions by device, the current one first, and ends one or all others", async (test) => {
  const person = await test.signUp();
  const agents = [
    [
      "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36",
      "Chrome on Linux",
    ],
    [
      `<script>alert(1)</script> ${"x".repeat(300)}`,
      `&lt;script&gt;alert(1)&lt;/script&gt; ${"x".repeat(34)}…`,
    ],
    ["my-program/1.0 (tries things)", "my-program/1.0 (tries things)"],
    ["", "Unknown device"],
  ] as const;
  const cookies: string[] = [];
  for (const [userAgent] of agents) {
    test.advance(60_000);
    const options = { password: testPassword, userAgent, address: "2001:db8::7" };
    cookies.push(await signInAgain(test, person, options));
  }
  const path = `${account}/security`;
  const { html } = await assertRows(test, person, [[`GET ${path}`, null, 200, {
    shows: [
      ...agents.map(([, words]) => `<bdi>${words}</bdi>`),
      "2001:db8::7",
      "3 minutes ago",
      // The current session comes first, and has no button.
      /<tbody[^>]*><tr[^>]*>(?:(?!<\/tr>).)*<td[^>]*class="state"[^>]*><span(?:(?!<form).)*<\/tr>/s,
    ],
  }]]);
  assert.equal(html.match(new RegExp("This session", "g"))?.length, 1);
  const ends = [...html.matchAll(/action="(\/portal\/account\/security\/sessions\/ses_[^"]+\/end)"/g)];
  assert.equal(ends.length, agents.length);
  const end = `POST ${ends[0]?.[1]}`;
  await assertRows(test, await test.signUp("Mallory"), [[end, null, 404]]);
  await assertRows(test, person, [[end, null, `303 ${path}?done=ended`], [end, null, 404]]);
  const signedIn = async () => await Promise.all(cookies.map((cookie) => isSignedIn(test, cookie)));
  assert.deepEqual(await signedIn(), [true, true, true, false], "the newest is listed first");
  await assertRows(test, person, [
    [`POST ${path}/sessions/end-others`, null, `303 ${path}?done=others-ended`],
    [`GET ${path}?done=others-ended`, null, 200, {
      shows: ["You're signed out everywhere else.", signInWords.onlyHere],
    }],
  ]);
  assert.deepEqual(await signedIn(), [false, false, false, false]);
});

testApp("deletes an account after recent authentication and with its address typed", async (test) => {
  const person = await test.signUp();
  const path = `${account}/delete`;
  await assertRows(test, person, [
    [`GET ${path}`, null, 200, {
      shows: ["“Ada Lovelace’s organization”</strong> is deleted", "API keys"],
    }],
    ...["", "person2@example.com", "<i>"].map((email): Row => [`POST ${path}`, { email }, "422 email", {
      hides: ["<i>"],
    }]),
  ]);
  test.advance(recentAuthenticationMs);
  const { answer } = await assertRows(test, person, [
    [`GET ${path}`, null, `303 ${confirmHref(path)}`],
    [`POST ${path}`, { email: person.email }, `303 ${confirmHref(path)}`],
    ["POST /portal/confirm-password", { password: testPassword, return_to: path }, `303 ${path}`],
    [`POST ${path}`, { email: person.email.toUpperCase() }, "303 /sign-in?deleted=1"],
  ]);
  assert.match(answer.headers.getSetCookie().join(), /access_token=; Max-Age=0/i);
  assert.equal(await isSignedIn(test, person.cookie), false);
  await assertRows(test, {}, [
    ["GET /sign-in?deleted=1", null, 200, { shows: ["Your account has been deleted."] }],
  ]);
});

testApp("keeps the account of the only owner of an organization with other members", async (test) => {
  const owner = await test.signUp();
  const member = await joinedPerson(test, owner, "MEMBER");
  const path = `${account}/delete`;
  const onlyOwner = "only owner of “Ada Lovelace’s organization”";
  await assertRows(test, owner, [
    [`GET ${account}`, null, 200, { shows: [onlyOwner], hides: [`href="${path}"`] }],
    [`GET ${path}`, null, 200, { shows: [onlyOwner], hides: [`action="${path}"`] }],
    [`POST ${path}`, { email: owner.email }, 409, { shows: [onlyOwner] }],
  ]);
  await test.send("/api/portal/organizations", { cookie: member.cookie, json: { name: "Grace alone" } });
  await assertRows(test, member, [[`GET ${path}`, null, 200, {
    shows: ["“Grace alone”</strong> is deleted"],
    hides: ["“Ada Lovelace’s organization”"],
  }]]);
});

testApp("shows a wrong password and a delay in the form for recent authentication", async (test) => {
  const person = await test.signUp();
  test.advance(recentAuthenticationMs);
  const return_to = `${account}/email`;
  const shown = { shows: [`name="return_to" value="${return_to}"`], hides: ["a wrong but long one"] };
  const path = "POST /portal/confirm-password";
  const wrong: Row = [path, { password: "a wrong but long one", return_to }, "401 password", shown];
  await assertRows(test, person, [
    [`GET ${confirmHref(return_to)}`, null, 200, shown],
    ...Array<Row>(signInFailuresFree).fill(wrong),
    [path, { password: testPassword, return_to }, 429, { shows: [...shown.shows, rejectedNotice] }],
    [`GET ${return_to}`, null, 303],
  ]);
  test.advance(20 * 60_000);
  await assertRows(test, person, [
    [path, { password: testPassword, return_to }, `303 ${return_to}`],
    [`GET ${return_to}`, null, 200],
    [`GET ${confirmHref(return_to)}`, null, `303 ${return_to}`],
  ]);
});

for (
  const [policy, text] of [["closed", accountWords.signUpClosed], [
    "invite",
    "By invitation only",
  ]] as const
) {
  testApp(`explains SIGN_UP=${policy}, without a form`, async (test) => {
    await assertRows(test, {}, [
      ["GET /sign-up", null, 200, { shows: [text], hides: ["<form"] }],
      ["POST /sign-up", { name: "A", email: "a@b.example", password: testPassword }, 403],
    ]);
  }, { SIGN_UP: policy });
}
