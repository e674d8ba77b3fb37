// Links in emails as a table, over the API and by their pages: who may use which link, and which ones are dead.
import assert from "node:assert/strict";
import { type TestApp, testApp, testPassword, type TestPerson } from "../support/app/app.ts";
import { linkToken } from "../support/people/links.ts";
import { me } from "../support/people/people.ts";
import { twoStepPerson } from "../support/people/second_step.ts";
import { openPage } from "../support/portal/pages.ts";
import { accountWords } from "../support/portal/words/account.ts";

type Purpose = keyof typeof kinds;

/** A kind of link: how long it works, its page, its route of the API, what is sent with the token, and how to request another one. */
const kinds = {
  reset_password: {
    hours: 1,
    page: "/reset-password",
    route: "/api/auth/password/reset",
    more: { password: "nine purple otters sing" },
    again: ({ email }: TestPerson) => ({ path: "/api/auth/password/forgot", json: { email } }),
    needsSession: false,
  },
  verify_email: {
    hours: 24,
    page: "/verify-email",
    route: "/api/auth/email/verify",
    more: {},
    again: () => ({ path: "/api/auth/email/verification", json: undefined }),
    needsSession: true,
  },
  change_email: {
    hours: 24,
    page: "/verify-email",
    route: "/api/auth/email/verify",
    more: {},
    again: () => ({ path: "/api/portal/account/email", json: { email: "other@example.com" } }),
    needsSession: true,
  },
  turn_off_two_step: {
    hours: 1,
    page: "/turn-off-two-step",
    route: "/api/portal/account/two-step/turn-off",
    more: {},
    again: () => ({ path: "/api/portal/account/two-step/turn-off-link", json: { password: testPassword } }),
    needsSession: true,
  },
} as const;

const newToken = (test: TestApp, person: TestPerson, purpose: Purpose) =>
  linkToken(test, person, { purpose, ...(purpose === "change_email" ? { email: "new@example.com" } : {}) });

/** Tokens that are of no kind. */
const madeUp = ["", "x", "A".repeat(43), "x".repeat(200), `"><script>`, "%00"];

/** How tokens of a kind come to be dead. */
const deaths: Readonly<
  Record<string, (test: TestApp, person: TestPerson, purpose: Purpose) => Promise<string[]>>
> = {
  "expired": async (test, person, purpose) => {
    const token = await newToken(test, person, purpose);
    test.advance(kinds[purpose].hours * 3_600_000);
    return [token];
  },
  "replaced": async (test, person, purpose) => {
    const token = await newToken(test, person, purpose);
    const { path, json } = kinds[purpose].again(person);
    const sent = await test.send(path, { method: "POST", cookie: person.cookie, json });
    assert.equal(sent.status, 202, await sent.text());
    return [token];
  },
  "used": async (test, person, purpose) => {
    const token = await newToken(test, person, purpose);
    const { route, more } = kinds[purpose];
    const used = await test.send(route, { cookie: person.cookie, json: { ...more, token } });
    assert.ok(used.ok, await used.text());
    return [token];
  },
  "made up": () => Promise.resolve(madeUp),
  "for something else": async (test, person, purpose) => {
    const others = (Object.keys(kinds) as Purpose[]).filter((other) =>
      kinds[other].page !== kinds[purpose].page
    );
    return await Promise.all(others.map((other) => newToken(test, person, other)));
  },
};

for (const purpose of Object.keys(kinds) as Purpose[]) {
  const { page, route, more, needsSession } = kinds[purpose];

  for (const [death, tokensOf] of Object.entries(deaths)) {
    testApp(`${purpose}: a link is dead when it is ${death}`, async (test) => {
      const person = await twoStepPerson(test);
      const before = await me(test, person.cookie);
      const tokens = await tokensOf(test, person, purpose);
      const after = await me(test, person.cookie);
      for (const [index, token] of tokens.entries()) {
        const peerAddress = `10.8.0.${index}`;
        const { cookie } = person;
        const response = await test.send(route, { cookie, json: { ...more, token }, peerAddress });
        assert.equal(response.status, needsSession && !after.authenticated ? 401 : 404, token);
        const sent = await openPage(test, page, { cookie, form: { ...more, token }, peerAddress });
        const shown = await openPage(test, `${page}?token=${encodeURIComponent(token)}`, { cookie });
        for (const { status, html, answer } of [sent, shown]) {
          assert.equal(status, 404, `${token} ${html.slice(-300)}`);
          assert.match(html, /<h1>This link (doesn&#39;t work|no longer works)/, token);
          assert.doesNotMatch(html, /<form|"><script>/);
          assert.equal(answer.headers.get("referrer-policy"), "no-referrer");
        }
      }
      if (death !== "used") assert.deepEqual([after, await me(test, person.cookie)], [before, before]);
    });
  }

  testApp(`${purpose}: opening a link changes nothing, and reveals its token to no site`, async (test) => {
    const person = await twoStepPerson(test);
    const token = await newToken(test, person, purpose);
    for (let time = 0; time < 3; time++) {
      const { status, html, answer } = await openPage(test, `${page}?token=${token}`, { person });
      assert.equal(status, 200);
      assert.match(html, new RegExp(`<input type="hidden" name="token" value="${token}"`));
      assert.doesNotMatch(html, new RegExp(`(href|action|src)="[^"]*${token}`));
      assert.equal(answer.headers.get("referrer-policy"), "no-referrer");
    }
    for (const origin of ["https://evil.example", "null"]) {
      const sent = await openPage(test, page, { person, form: { ...more, token }, headers: { origin } });
      assert.equal(sent.status, 403);
    }
  });

  testApp(`${purpose}: of many concurrent requests with a link, one succeeds`, async (test) => {
    const { cookie, ...person } = await twoStepPerson(test);
    const token = await newToken(test, { ...person, cookie }, purpose);
    const responses = await Promise.all(
      Array.from({ length: 5 }, () => test.send(route, { cookie, json: { ...more, token } })),
    );
    const statuses = responses.map(({ status }) => status).sort();
    assert.ok((statuses[0] ?? 0) < 300, String(statuses));
    // A late one may find its session ended, or its address taken by the first.
    for (const status of statuses.slice(1)) assert.ok([401, 404, 409].includes(status), String(statuses));
  });

  if (!needsSession) continue;
  testApp(`${purpose}: a link needs a session of its account`, async (test) => {
    const person = await twoStepPerson(test);
    const stranger = await test.signUp("Mallory");
    const token = await newToken(test, person, purpose);
    assert.equal((await test.send(route, { json: { token } })).status, 401);
    assert.equal((await test.send(route, { cookie: stranger.cookie, json: { token } })).status, 403);
    const shown = await openPage(test, `${page}?token=${token}`, { person: stranger });
    const sent = await openPage(test, page, { person: stranger, form: { token } });
    for (const { html, answer } of [shown, sent]) {
      assert.ok(!html.includes(token));
      assert.equal(answer.headers.get("referrer-policy"), "no-referrer");
    }
    if (page !== "/verify-email") return;
    assert.match(shown.html, new RegExp(`${accountWords.otherAccount}[^]*${stranger.email}`));
    assert.equal(sent.status, 403);
    assert.ok(sent.html.includes(accountWords.otherAccount));
  });
}

testApp("limits guesses at reset links by client address", async (test) => {
  const statuses = [];
  for (let time = 0; time < 12; time++) {
    const page = await openPage(test, "/reset-password", {
      form: { ...kinds.reset_password.more, token: "A".repeat(43) },
    });
    statuses.push(page.status);
    assert.equal(page.answer.headers.get("referrer-policy"), "no-referrer");
  }
  assert.deepEqual(statuses, [...Array(10).fill(404), 429, 429]);
});
