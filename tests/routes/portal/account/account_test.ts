// The pages of the user's own account with plain forms: name, email address, password, sessions and deletion.
import assert from "node:assert/strict";
import { insertMembership } from "../../../../db/organization/memberships.ts";
import { insertAuditEvent } from "../../../../db/audit.ts";
import { accountMailsPerHourMax, recentAuthenticationMs } from "../../../../domain/limits.ts";
import { linkLifetimesMs } from "../../../../domain/mail/mail.ts";
import {
  cookieOf,
  createTestKey,
  type TestApp,
  testApp,
  testPassword,
  type TestPerson,
} from "../../../support/app/app.ts";
import { linkToken } from "../../../support/people/links.ts";
import { openPage, signInAgain } from "../../../support/portal/pages.ts";
import { accountWords, doneNotice, rejectedNotice } from "../../../support/portal/words/account.ts";
import { enterName } from "../../../../routes/schemas/messages.ts";
import { inPage, signInWords } from "../../../support/portal/words/sign_in.ts";

const newPassword = "nine purple otters sing";
const confirmHref = (page: string) => `/portal/confirm-password?return_to=${encodeURIComponent(page)}`;
const isSignedIn = async (test: TestApp, cookie: string) =>
  (await openPage(test, "/portal/account", { cookie })).status === 200;

/** Adds a member to an organization, as an invitation would. */
async function join(test: TestApp, member: TestPerson, owner: TestPerson): Promise<void> {
  const now = test.now();
  const client = { address: "", userAgent: "", requestId: null };
  const audit = insertAuditEvent({ type: "system", client }, {
    action: "member.joined",
    organizationId: owner.organizationId,
  }, { now, always: true });
  const { userId } = member;
  const { organizationId } = owner;
  await test.opened.database.write([
    audit.statement,
    insertMembership({ userId, organizationId, role: "MEMBER", now }, audit.id),
  ]);
}

testApp("changes the name with a form that keeps rejected input and escapes it", async (test) => {
  const person = await test.signUp();
  const done = await openPage(test, "/portal/account/name", { person, form: { name: `  <b>"Ada"</b> ` } });
  assert.equal(done.status, 303);
  const page = await openPage(test, done.location ?? "", { person });
  assert.match(page.html, doneNotice);
  assert.match(page.html, /value="&lt;b&gt;&quot;Ada&quot;&lt;\/b&gt;"/);
  assert.doesNotMatch(page.html, /<b>/);
  for (const name of ["", "   ", "x".repeat(101)]) {
    const refused = await openPage(test, "/portal/account/name", { person, form: { name } });
    assert.equal(refused.status, 422);
    assert.match(refused.html, new RegExp(`id="name-error"[^]*${enterName}`));
    assert(refused.html.includes(`value="${name}"`));
  }
  assert.equal((await openPage(test, "/portal/account/name", { person })).location, "/portal/account");
});

testApp("resends the confirmation email and returns only to pages of the portal", async (test) => {
  const person = await test.signUp();
  const send = (form: Record<string, string>) =>
    openPage(test, "/portal/account/verification", { person, form });
  const first = await linkToken(test, person, { purpose: "verify_email" });
  assert.equal((await send({})).location, "/portal/account?done=mail-sent");
  assert.match(
    (await openPage(test, "/portal/account?done=mail-sent", { person })).html,
    doneNotice,
  );
  assert.equal((await openPage(test, `/verify-email?token=${first}`, { person })).status, 404);
  assert.equal(
    (await send({ return_to: "/portal/usage?range=7d" })).location,
    "/portal/usage?range=7d&done=mail-sent",
  );
  assert.equal((await send({ return_to: "//evil.example" })).location, "/portal/account?done=mail-sent");
  for (let i = 3; i < accountMailsPerHourMax; i++) await send({});
  assert.equal((await send({})).status, 429);
  const refused = await send({ return_to: "/portal/usage" });
  assert.equal(refused.status, 429);
  assert.match(refused.html, rejectedNotice);
  const token = await linkToken(test, person, { purpose: "verify_email" });
  await openPage(test, "/verify-email", { person, form: { token } });
  assert.equal((await send({})).location, "/portal/account");
});

testApp(
  "requires recent authentication to change the address, and treats a taken one like any other",
  async (test) => {
    const person = await test.signUp();
    const other = await test.signUp("Grace");
    const page = await openPage(test, "/portal/account/email", { person });
    assert.match(page.html, /action="\/portal\/account\/email"/);
    const refused = await openPage(test, "/portal/account/email", {
      person,
      form: { email: `"no address"` },
    });
    assert.equal(refused.status, 422);
    assert.match(refused.html, /id="email-error"/);
    assert.match(refused.html, /value="&quot;no address&quot;"/);
    const same = await openPage(test, "/portal/account/email", { person, form: { email: person.email } });
    assert.match(same.html, /id="email-error"/);
    const pages = [];
    for (const email of ["free@example.com", other.email]) {
      const sent = await openPage(test, "/portal/account/email", { person, form: { email } });
      assert.equal(sent.location, "/portal/account?done=asked");
      const { html } = await openPage(test, sent.location ?? "", { person });
      assert(html.includes(`<strong>${email}</strong>`));
      pages.push(html.replaceAll(email, ""));
    }
    assert.equal(pages[0], pages[1]);
    const unsent = await test.signUp("Hedy");
    await linkToken(test, unsent, { purpose: "change_email", email: "hedy@example.com" });
    const pending = async () =>
      (await openPage(test, "/portal/account", { person: unsent })).html.includes("hedy@example.com");
    assert.equal(await pending(), true);
    test.advance(linkLifetimesMs.change_email);
    assert.equal(await pending(), false);
    const late = await openPage(test, "/portal/account/email", { person });
    assert.equal(late.location, confirmHref("/portal/account/email"));
    const lateForm = await openPage(test, "/portal/account/email", {
      person,
      form: { email: "x@example.com" },
    });
    assert.equal(lateForm.location, confirmHref("/portal/account/email"));
  },
);

testApp("ends every other session and replaces the cookie when the password changes", async (test) => {
  const person = await test.signUp();
  const other = await signInAgain(test, person, { password: testPassword });
  const path = "/portal/account/security/password";
  const wrong = await openPage(test, path, {
    person,
    form: { currentPassword: "not my password", newPassword },
  });
  assert.equal(wrong.status, 401);
  assert.match(wrong.html, /id="currentPassword-error"/);
  assert.doesNotMatch(wrong.html, /id="newPassword-error"|not my password/);
  const short = await openPage(test, path, {
    person,
    form: { currentPassword: testPassword, newPassword: "short" },
  });
  assert.equal(short.status, 422);
  assert.match(short.html, /id="newPassword-error"/);
  assert.equal(await isSignedIn(test, other), true);

  const done = await openPage(test, path, { person, form: { currentPassword: testPassword, newPassword } });
  assert.equal(done.location, "/portal/account/security?done=password");
  const cookie = cookieOf(done.answer);
  assert.notEqual(cookie, person.cookie);
  assert.equal(await isSignedIn(test, cookie), true);
  for (const old of [person.cookie, other]) assert.equal(await isSignedIn(test, old), false);
  const page = await openPage(test, done.location ?? "", { cookie });
  assert.match(page.html, inPage(signInWords.passwordChanged));
  assert.match(page.html, inPage(signInWords.onlyHere));
  await signInAgain(test, person, { password: newPassword });
  await assert.rejects(signInAgain(test, person, { password: testPassword }));
});

testApp("lists sessions by device, and rejects an ended one on its next request", async (test) => {
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
  const cookies = [];
  for (const [userAgent] of agents) {
    test.advance(60_000);
    cookies.push(
      await signInAgain(test, person, { password: testPassword, userAgent, address: "2001:db8::7" }),
    );
  }
  const { html } = await openPage(test, "/portal/account/security", { person });
  for (const [, words] of agents) assert(html.includes(`<bdi>${words}</bdi>`), words);
  assert.match(html, /2001:db8::7/);
  assert.match(html, /3 minutes ago/);
  assert.equal(html.match(new RegExp(signInWords.thisSession, "g"))?.length, 1);
  // The current session comes first, and has no button.
  assert.match(
    html,
    /<tbody[^>]*><tr[^>]*>(?:(?!<\/tr>).)*<td[^>]*class="state"[^>]*><span(?:(?!<form).)*<\/tr>/s,
  );
  const forms = [...html.matchAll(/action="(\/portal\/account\/security\/sessions\/ses_[^"]+\/end)"/g)]
    .map(([, action = ""]) => action);
  assert.equal(forms.length, agents.length);
  const stranger = await test.signUp("Mallory");
  // Newest first.
  const action = forms.toReversed()[1] ?? "";
  assert.equal((await openPage(test, action, { person: stranger, form: {} })).status, 404);
  assert.equal(await isSignedIn(test, cookies[1] ?? ""), true);
  const ended = await openPage(test, action, { person, form: {} });
  assert.equal(ended.location, "/portal/account/security?done=ended");
  assert.equal(await isSignedIn(test, cookies[1] ?? ""), false);
  assert.equal(await isSignedIn(test, cookies[0] ?? ""), true);
  assert.equal((await openPage(test, action, { person, form: {} })).status, 404);

  const others = await openPage(test, "/portal/account/security/sessions/end-others", { person, form: {} });
  assert.match(
    (await openPage(test, others.location ?? "", { person })).html,
    /signed out everywhere else[\s\S]*Only here/,
  );
  for (const cookie of cookies) assert.equal(await isSignedIn(test, cookie), false);
  assert.equal(await isSignedIn(test, person.cookie), true);
  assert.equal(await isSignedIn(test, stranger.cookie), true);
});

testApp("deletes an account after recent authentication and with its address typed", async (test) => {
  const person = await test.signUp();
  const other = await signInAgain(test, person, { password: testPassword });
  const { fullKey } = await createTestKey(test, person);
  const path = "/portal/account/delete";
  const ask = await openPage(test, path, { person });
  assert.match(ask.html, /“Ada Lovelace’s organization”<\/strong> is deleted/);
  assert.match(ask.html, /API keys/);
  for (const email of ["", "person2@example.com", `<i>`]) {
    const refused = await openPage(test, path, { person, form: { email } });
    assert.equal(refused.status, 422);
    assert.match(refused.html, /id="email-error"/);
    assert.doesNotMatch(refused.html, /<i>/);
  }
  test.advance(recentAuthenticationMs);
  assert.equal((await openPage(test, path, { person })).location, confirmHref(path));
  assert.equal(
    (await openPage(test, path, { person, form: { email: person.email } })).location,
    confirmHref(path),
  );
  assert.equal(await isSignedIn(test, person.cookie), true);
  const confirmed = await openPage(test, "/portal/confirm-password", {
    person,
    form: { password: testPassword, return_to: path },
  });
  assert.equal(confirmed.location, path);
  const done = await openPage(test, path, { person, form: { email: person.email.toUpperCase() } });
  assert.equal(done.location, "/sign-in?deleted=1");
  assert.match(done.answer.headers.getSetCookie().join(), /access_token=; Max-Age=0/i);
  assert.match((await openPage(test, "/sign-in?deleted=1")).html, inPage(signInWords.accountDeleted));
  for (const cookie of [person.cookie, other]) assert.equal(await isSignedIn(test, cookie), false);
  const json = { productSlug: "tiles", metric: "requests", quantity: 1 };
  assert.equal((await test.send("/api/v1/usage", { apiKey: fullKey, json })).status, 401);
});

testApp("keeps the account of the only owner of an organization with other members", async (test) => {
  const owner = await test.signUp();
  const member = await test.signUp("Grace");
  await join(test, member, owner);
  const account = await openPage(test, "/portal/account", { person: owner });
  assert.match(account.html, /only owner of “Ada Lovelace’s organization”/);
  assert.doesNotMatch(account.html, /href="\/portal\/account\/delete"/);
  const ask = await openPage(test, "/portal/account/delete", { person: owner });
  assert.match(ask.html, /only owner of “Ada Lovelace’s organization”/);
  assert.doesNotMatch(ask.html, /action="\/portal\/account\/delete"/);
  const sent = await openPage(test, "/portal/account/delete", {
    person: owner,
    form: { email: owner.email },
  });
  assert.equal(sent.status, 409);
  assert.match(sent.html, /only owner of “Ada Lovelace’s organization”/);
  assert.equal(await isSignedIn(test, owner.cookie), true);
  // The member doesn't own it, so only their own organization is deleted.
  const leaving = await openPage(test, "/portal/account/delete", { person: member });
  assert.match(leaving.html, /“Grace’s organization”<\/strong> is deleted/);
  assert.doesNotMatch(leaving.html, /“Ada Lovelace’s organization”/);
});

testApp("shows a wrong password in the form for recent authentication, and limits guesses", async (test) => {
  const person = await test.signUp();
  test.advance(recentAuthenticationMs);
  const path = confirmHref("/portal/account/email");
  const page = await openPage(test, path, { person });
  assert.match(page.html, /name="return_to" value="\/portal\/account\/email"/);
  const statuses = [];
  for (let i = 0; i < 7; i++) {
    const { status, html } = await openPage(test, "/portal/confirm-password", {
      person,
      form: { password: i < 6 ? `wrong password ${i}` : testPassword, return_to: "/portal/account/email" },
    });
    statuses.push(status);
    assert.match(
      html,
      status === 401 ? /id="password-error"/ : rejectedNotice,
    );
    assert.match(html, /name="return_to" value="\/portal\/account\/email"/);
    assert.doesNotMatch(html, /wrong password/);
  }
  assert.deepEqual(statuses.slice(0, 5), Array(5).fill(401));
  assert.equal(statuses.at(-1), 429);
  assert.equal((await openPage(test, "/portal/account/email", { person })).status, 303);
  test.advance(20 * 60_000);
  const done = await openPage(test, "/portal/confirm-password", {
    person,
    form: { password: testPassword, return_to: "/portal/account/email" },
  });
  assert.equal(done.location, "/portal/account/email");
  assert.equal((await openPage(test, "/portal/account/email", { person })).status, 200);
  assert.equal((await openPage(test, path, { person })).location, "/portal/account/email");
});

testApp("returns only to pages of the portal after recent authentication", async (test) => {
  const person = await test.signUp();
  const away = [
    "//evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "https://evil.example/portal/account",
    "https://localhost:8000@evil.example/portal",
    "javascript:alert(1)",
    "/portal/../sign-out",
    "/portal/%2e%2e/sign-out",
    "/portal/..//evil.example",
    "/portalx",
    "/sign-in",
    "/portal\n/x",
    "portal/account",
    "/portal/confirm-password?return_to=/portal/usage",
    "",
  ];
  for (const return_to of away) {
    const shown = await openPage(test, confirmHref(return_to), { person });
    assert.equal(shown.location, "/portal/account", return_to);
    if (return_to.includes("\n")) continue;
    const sent = await openPage(test, "/portal/confirm-password", {
      person,
      form: { password: testPassword, return_to },
    });
    assert.equal(sent.location, "/portal/account", return_to);
  }
  for (const return_to of ["/portal", "/portal/account/delete", "/portal/usage?range=7d#x", "/portal?x=1"]) {
    assert.equal((await openPage(test, confirmHref(return_to), { person })).location, return_to);
  }
});

testApp("rejects the forms of other sites", async (test) => {
  const person = await test.signUp();
  const forms = ["name", "verification", "email", "delete"];
  const security = ["password", "sessions/ses_1/end", "sessions/end-others"].map((path) =>
    `security/${path}`
  );
  for (const path of [...[...forms, ...security].map((form) => `account/${form}`), "confirm-password"]) {
    const foreign = await openPage(test, `/portal/${path}`, {
      person,
      form: { email: person.email, name: "X" },
      headers: { origin: "https://evil.example" },
    });
    assert.equal(foreign.status, 403, path);
  }
  assert.equal(await isSignedIn(test, person.cookie), true);
});

testApp("explains sign-up by invitation, without a form", async (test) => {
  assert((await openPage(test, "/sign-up")).html.includes(accountWords.byInvitation));
  assert.doesNotMatch((await openPage(test, "/sign-up")).html, /<form/);
  const sent = await openPage(test, "/sign-up", {
    form: { name: "A", email: "a@b.example", password: testPassword },
  });
  assert.equal(sent.status, 403);
}, { SIGN_UP: "invite" });
