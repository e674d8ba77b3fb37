// Visits to providers under attack: what one browser began, no other browser, provider, code or time completes.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { providerVisitsMax, providerVisitTimeoutMs } from "../../../../domain/people/provider_limits.ts";
import { type TestApp, testApp } from "../../../support/app/app.ts";
import {
  type IssuerPerson,
  startIssuer,
  type TestIssuer,
} from "../../../support/identity_providers/issuer.ts";
import { userOf } from "../../../support/identity_providers/own_visits.ts";
import { addProvider, assertRejected } from "../../../support/identity_providers/providers.ts";
import { newVisitor, type Visitor } from "../../../support/identity_providers/visitor.ts";
import { badReturns, goodReturns, returnToSettings } from "../../../support/people/return_to.ts";

const ada: IssuerPerson = { sub: "ada", email: "ada@example.com", email_verified: true };
const eve: IssuerPerson = { sub: "eve", email: "eve@example.com", email_verified: true };

/** Defines a test with the providers `peer` and `other`. */
function visitTest(
  name: string,
  run: (test: TestApp, peer: TestIssuer, other: TestIssuer) => Promise<void>,
  settings: Parameters<typeof testApp>[2] = {},
): void {
  testApp(name, async (test) => {
    await using peer = startIssuer({ person: ada });
    await using other = startIssuer({ person: eve });
    await addProvider(test, peer, { slug: "peer" });
    await addProvider(test, other, { slug: "other" });
    await run(test, peer, other);
  }, settings);
}

visitTest("completes a visit once, in the browser that began it", async (test) => {
  const [browser, another, began] = [newVisitor(test), newVisitor(test), newVisitor(test)];
  const callback = await browser.untilCallback("peer");
  const rejected = (visitor: Visitor, url: URL, name: string) =>
    assertRejected(test, visitor, () => visitor.open(url, { from: "http://127.0.0.1" }), {
      name,
      isAudited: false,
    });
  await rejected(another, callback, "a browser without a visit");
  await began.untilCallback("peer");
  await rejected(began, callback, "a browser with a visit of its own");
  // None of them used it up.
  assert.equal((await browser.open(callback)).url.pathname, "/portal");
  const { id } = await userOf(test, browser) ?? {};
  await browser.open("/sign-out", { form: {} });
  await rejected(browser, callback, "a second time");
  // Attackers who make someone open the address of their own visit, so that the person works in the attacker's account.
  const own = await newVisitor(test).untilCallback("other");
  await rejected(browser, own, "the visit of an attacker");
  // Tabs that began at the same time.
  const tabs = [await another.untilCallback("peer"), await another.untilCallback("peer")];
  for (const tab of tabs) {
    assert.equal((await another.open(tab)).url.pathname, "/portal");
    assert.equal((await userOf(test, another))?.id, id);
  }
});

visitTest("completes a visit within ten minutes", async (test) => {
  const browser = newVisitor(test);
  const [early, late] = [await browser.untilCallback("peer"), await browser.untilCallback("peer")];
  test.advance(providerVisitTimeoutMs - 1);
  assert.equal((await browser.open(early)).url.pathname, "/portal");
  await browser.open("/sign-out", { form: {} });
  test.advance(1);
  await assertRejected(test, browser, () => browser.open(late), {
    name: "an expired visit",
    isAudited: false,
  });
});

visitTest("accepts no code of another visit, and uses a visit up with the first code", async (test, peer) => {
  const [browser, attacker] = [newVisitor(test), newVisitor(test)];
  const callback = await browser.untilCallback("peer");
  peer.person = eve;
  const attackers = await attacker.untilCallback("peer");
  for (
    const [visitor, own, injected, name] of [
      [browser, callback, attackers, "the attacker's code with someone's state"],
      [attacker, attackers, callback, "someone's code with the attacker's state"],
    ] as const
  ) {
    const url = new URL(own);
    url.searchParams.set("code", injected.searchParams.get("code") ?? "");
    await assertRejected(test, visitor, () => visitor.open(url), { name });
    await assertRejected(test, visitor, () => visitor.open(own), { name: `after ${name}`, isAudited: false });
  }
});

visitTest("gives no provider the code of another one", async (test, peer, other) => {
  for (const more of [{}, { iss: other.url }, { iss: undefined }]) {
    const browser = newVisitor(test);
    peer.lies = { callback: more };
    const callback = await browser.untilCallback("peer");
    callback.pathname = "/sign-in/with/other/callback";
    await assertRejected(test, browser, () => browser.open(callback), {
      name: `mixed up, ${JSON.stringify(more)}`,
      isAudited: false,
    });
  }
  assert.deepEqual(other.requests.filter((request) => request.startsWith("POST")), []);
});

visitTest(
  "ties a visit to a cookie that no sibling of the host can plant, and stores neither half",
  async (test) => {
    const [attacker, browser] = [newVisitor(test), newVisitor(test)];
    const { headers } = await attacker.open("/sign-in/with/peer", { stopAt: () => true });
    const [cookie = ""] = headers.getSetCookie();
    assert.match(
      cookie,
      /^__Host-provider_visit=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    const callback = await attacker.untilCallback("peer");
    const token = /=([\w-]{43})/.exec(cookie)?.[1] ?? "";
    await browser.take(`provider_visit=${token}; Domain=example.com; Path=/; Secure`);
    const visit = () => browser.open(callback);
    await assertRejected(test, browser, visit, { name: "a planted cookie", isAudited: false });
    const stored = JSON.stringify(await test.opened.database.read(sql`SELECT * FROM provider_attempts`));
    for (const half of [token, callback.searchParams.get("state") ?? ""]) {
      assert.ok(half.length === 43 && !stored.includes(half));
    }
  },
  returnToSettings,
);

visitTest("takes two providers that use one subject for two people", async (test, _peer, other) => {
  other.person = { ...eve, sub: ada.sub };
  const [one, two] = [newVisitor(test), newVisitor(test)];
  await one.signInWith("peer");
  await two.signInWith("other");
  const emails = [(await userOf(test, one))?.email, (await userOf(test, two))?.email];
  assert.deepEqual(emails, [ada["email"], eve["email"]]);
});

visitTest("leads nowhere but to allowed addresses", async (test) => {
  const bad = badReturns.filter((_, index) => index % 4 === 0 || badReturns.length < 20);
  const elsewhere = (location: URL) =>
    location.origin !== test.config.baseUrl.origin && location.hostname !== "127.0.0.1";
  for (const returnTo of bad) {
    const browser = newVisitor(test);
    const visited = await browser.open(`/sign-in/with/peer?return_to=${encodeURIComponent(returnTo)}`, {
      stopAt: elsewhere,
    });
    assert.equal(visited.location, null, `${JSON.stringify(returnTo)} leads to ${visited.location}`);
    assert.equal(visited.url.pathname, "/portal", JSON.stringify(returnTo));
  }
  for (
    const [returnTo, target] of Object.entries(goodReturns).filter(([text]) =>
      /range=|app.example/.test(text)
    )
  ) {
    const { url, hops } = await newVisitor(test).signInWith("peer", { returnTo });
    const expected = target.startsWith("/")
      ? target
      : `/sign-in/continue?return_to=${encodeURIComponent(target)}`;
    assert.equal(`${url.pathname}${url.search}`, expected, hops.join(" "));
  }
  // Only what the visit began with counts.
  const browser = newVisitor(test);
  const callback = await browser.untilCallback("peer", { returnTo: "/portal/usage" });
  callback.searchParams.set("return_to", "https://app.example.com/");
  assert.equal((await browser.open(callback)).url.pathname, "/portal/usage");
}, returnToSettings);

visitTest("does nothing for requests that only look", async (test) => {
  const count = async () =>
    (await test.opened.database.readFirst<{ count: number }>(
      sql`SELECT count(*) AS count FROM provider_attempts`,
    ))
      ?.count;
  const browser = newVisitor(test);
  const callback = await browser.untilCallback("peer");
  const before = await count();
  for (const path of ["/sign-in/with/peer", callback.pathname + callback.search]) {
    await browser.open(path, { method: "HEAD", stopAt: () => true });
    await browser.open(path, { headers: { "sec-purpose": "prefetch;prerender" }, stopAt: () => true });
  }
  assert.equal(await count(), before);
  assert.equal((await browser.open(callback)).url.pathname, "/portal");
});

visitTest("limits visits by address, and keeps other ways open", async (test) => {
  const person = await test.signUp();
  const browser = newVisitor(test);
  let visited = await browser.open("/sign-in/with/peer", { stopAt: () => true });
  for (let count = 0; count < providerVisitsMax && visited.status === 302; count++) {
    visited = await browser.open("/sign-in/with/peer", { stopAt: () => true });
  }
  assert.equal(visited.status, 429);
  assert.match(visited.html, /href="\/sign-in|action="\/sign-in/);
  const signedIn = await browser.open("/sign-in", {
    form: { email: person.email, password: "correct horse 9 battery" },
  });
  assert.equal(signedIn.url.pathname, "/portal");
});
