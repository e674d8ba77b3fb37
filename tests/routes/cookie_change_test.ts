// Changing COOKIE_DOMAIN while browsers have cookies with the old scope: after its first request, a browser is signed in
// exactly where the new setting says.
import assert from "node:assert/strict";
import { startTestApp, type TestApp, testPassword, type TestPerson } from "../support/app/app.ts";
import { type CookieBrowser, cookieBrowser } from "../support/browser/cookie_jar.ts";
import { embeddedTestDatabase } from "../support/database/database.ts";
import { me } from "../support/people/people.ts";
import { newPerson } from "../support/people/scene.ts";

const base = { BASE_URL: "https://auth.sso.example.com" };
const domains = {
  none: undefined,
  own: ".auth.sso.example.com",
  narrow: ".sso.example.com",
  wide: ".example.com",
} as const;
type Kind = keyof typeof domains;
const kinds = Object.keys(domains) as Kind[];
/** The settings that share the session with each product's server. */
const products = {
  "https://app.auth.sso.example.com/": ["own", "narrow", "wide"],
  "https://app.sso.example.com/": ["narrow", "wide"],
  "https://app.example.com/": ["wide"],
} as const satisfies Record<string, readonly Kind[]>;
const scopeOf = (kind: Kind) => [`${domains[kind] ?? "auth.sso.example.com"}/`];
const changes: readonly (readonly [from: Kind, to: Kind])[] = [
  ["none", "wide"],
  ["none", "own"],
  ["wide", "none"],
  ["own", "none"],
  ["narrow", "wide"],
  ["wide", "narrow"],
];

/** The service before and after a change of its settings. */
interface Change {
  readonly from: Kind;
  readonly to: Kind;
  readonly before: TestApp;
  readonly after: TestApp;
}

/** Runs with one app per setting, all using the same database. */
async function withSettings(kinds: readonly Kind[], run: (apps: Map<Kind, TestApp>) => Promise<void>) {
  const opened = await embeddedTestDatabase();
  const apps = new Map<Kind, TestApp>();
  try {
    for (const kind of kinds) {
      const open = () => Promise.resolve({ ...opened, dispose: () => Promise.resolve() });
      apps.set(kind, await startTestApp({ ...base, COOKIE_DOMAIN: domains[kind] }, { open }));
    }
    await run(apps);
  } finally {
    for (const app of apps.values()) await app.dispose();
    await opened.dispose();
  }
}

/** Defines a test with a step for each change from one setting to another. */
function changeTest(name: string, run: (change: Change) => Promise<void>): void {
  Deno.test(name, (t) =>
    withSettings(kinds, async (apps) => {
      for (const [from, to] of changes) {
        const [before, after] = [apps.get(from), apps.get(to)];
        assert(before !== undefined && after !== undefined);
        await t.step(`${from} → ${to}`, () => run({ from, to, before, after }));
      }
    }));
}

/** @returns A new person and a browser with their session cookie. */
async function signedIn(
  test: TestApp,
  kind: Kind,
  browser = cookieBrowser(),
): Promise<{ browser: CookieBrowser; person: TestPerson }> {
  const person = await newPerson(test, null);
  const domain = domains[kind];
  const value = person.cookie + (domain ?? "");
  await browser.take(
    base.BASE_URL,
    `${value}; Path=/; Secure${domain === undefined ? "" : `; Domain=${domain}`}`,
  );
  return { browser, person };
}

/** Asserts who is signed in at the service and on the products' servers, and that the browser has one session cookie at most. */
async function assertSignedIn(
  browser: CookieBrowser,
  { test, kind, userId }: { test: TestApp; kind: Kind; userId: string | null },
): Promise<void> {
  assert.deepEqual(await browser.kept(base.BASE_URL), userId === null ? [] : scopeOf(kind));
  const response = await browser.send(test, "/api/auth/me");
  assert.equal((await response.json()).user?.id ?? null, userId);
  assert.deepEqual(response.headers.getSetCookie(), [], "no further cookie changes");
  for (const [product, known] of Object.entries(products)) {
    const isKnown = (known as readonly Kind[]).includes(kind);
    const { user } = await me(test, await browser.cookieFor(product));
    assert.equal(user?.id ?? null, isKnown ? userId : null, product);
  }
}

changeTest("keeps people signed in with a cookie of the new scope", async ({ from, to, before, after }) => {
  for (const path of ["/api/auth/me", "/portal/usage", "/sign-in", "/sign-in/continue"]) {
    const { browser, person: { userId } } = await signedIn(before, from);
    await assertSignedIn(browser, { test: before, kind: from, userId });
    await browser.send(after, path);
    await assertSignedIn(browser, { test: after, kind: to, userId });
    // And back.
    await browser.send(before, path);
    await assertSignedIn(browser, { test: before, kind: from, userId });
  }
});

changeTest("signing out with an old cookie ends its session", async ({ before, after, from, to }) => {
  for (const path of ["/api/auth/sign-out", "/sign-out"]) {
    const { browser, person } = await signedIn(before, from);
    await browser.send(after, path, { method: "POST" });
    await assertSignedIn(browser, { test: after, kind: to, userId: null });
    for (const test of [before, after]) assert.equal((await me(test, person.cookie)).authenticated, false);
  }
});

changeTest("deleting the account removes an old cookie", async ({ before, after, from, to }) => {
  const { browser } = await signedIn(before, from);
  const response = await browser.send(after, "/api/portal/account", { method: "DELETE" });
  assert.equal(response.status, 204, await response.text());
  await assertSignedIn(browser, { test: after, kind: to, userId: null });
});

changeTest("signing in replaces another person's old cookie", async (change) => {
  const { before, after, from, to } = change;
  const fields = { email: `${from}-${to}@example.com`, password: testPassword };
  const created = await after.send("/api/auth/sign-up", { json: { name: "Ada", ...fields } });
  const { user: { id: userId } } = await created.json();
  for (const path of ["/api/auth/sign-in", "/sign-in"]) {
    const { browser } = await signedIn(before, from);
    await browser.send(after, path, path === "/sign-in" ? { form: fields } : { json: fields });
    await assertSignedIn(browser, { test: after, kind: to, userId });
  }
  // Changing the password replaces the old cookie too.
  const browser = cookieBrowser();
  await browser.send(before, "/api/auth/sign-in", { json: fields });
  assert.deepEqual(await browser.kept(base.BASE_URL), scopeOf(from));
  const changed = await browser.send(after, "/api/auth/password/change", {
    json: { currentPassword: testPassword, newPassword: "nine purple otters sing" },
  });
  assert.equal(changed.status, 204, await changed.text());
  await assertSignedIn(browser, { test: after, kind: to, userId });
});

changeTest("merges an old and a new cookie of one person, and clears those of two people", async (change) => {
  const { before, after, from, to } = change;
  // Unlike browsers, the jar doesn't tell a host-only cookie from one for the domain of the same name.
  if (from === "own" || to === "own") return;
  const open = (browser: CookieBrowser) => browser.send(after, "/portal/usage");
  /** @returns A browser with an old cookie and a new one. */
  async function both(isSame: boolean) {
    const { browser, person } = await signedIn(before, from);
    const domain = domains[to] ?? "";
    const { cookie } = isSame ? person : await newPerson(after, null);
    const more = domain === "" ? "" : `; Domain=${domain}`;
    await browser.take(base.BASE_URL, `${cookie}${domain}; Path=/; Secure${more}`);
    assert.deepEqual(await browser.kept(base.BASE_URL), [...scopeOf(from), ...scopeOf(to)].sort());
    return { browser, userId: person.userId };
  }
  const one = await both(true);
  await open(one.browser);
  await assertSignedIn(one.browser, { test: after, kind: to, userId: one.userId });
  const two = await both(false);
  await open(two.browser);
  await assertSignedIn(two.browser, { test: after, kind: to, userId: null });
  const out = await both(false);
  await out.browser.send(after, "/api/auth/sign-out", { method: "POST" });
  await assertSignedIn(out.browser, { test: after, kind: to, userId: null });
});

for (
  const [name, COOKIE_DOMAIN] of [["without a cookie domain", undefined], [
    "with a narrower cookie domain",
    domains.narrow,
  ]]
) {
  Deno.test(`a second Gatehouse under the first one's cookie domain, ${name}, leaves the first one's cookie alone`, async () => {
    const first = await startTestApp({ BASE_URL: "https://auth.example.com", COOKIE_DOMAIN: domains.wide });
    const second = await startTestApp({ ...base, COOKIE_DOMAIN });
    try {
      const browser = cookieBrowser();
      const fields = { name: "Ada", email: "ada@example.com", password: testPassword };
      for (const test of [first, second]) await browser.send(test, "/api/auth/sign-up", { json: fields });
      const own = COOKIE_DOMAIN ?? "auth.sso.example.com";
      const both = [".example.com/", `${own}/`].sort();
      const isSignedIn = async (test: TestApp) => {
        const response = await browser.send(test, "/api/auth/me");
        assert.deepEqual(response.headers.getSetCookie(), []);
        return (await response.json()).authenticated;
      };
      assert.deepEqual(await browser.kept(base.BASE_URL), both);
      for (const test of [first, second, first]) assert.equal(await isSignedIn(test), true);
      for (const path of ["/sign-in", "/api/auth/sign-in"]) {
        await browser.send(second, path, path === "/sign-in" ? { form: fields } : { json: fields });
        assert.deepEqual(await browser.kept(base.BASE_URL), both);
      }
      const changed = await browser.send(second, "/api/auth/password/change", {
        json: { currentPassword: testPassword, newPassword: "nine purple otters sing" },
      });
      assert.equal(changed.status, 204, await changed.text());
      for (const test of [second, first]) assert.equal(await isSignedIn(test), true);
      await browser.send(second, "/sign-out", { method: "POST" });
      assert.deepEqual(await browser.kept(base.BASE_URL), [".example.com/"]);
      assert.deepEqual([await isSignedIn(first), await isSignedIn(second)], [true, false]);
    } finally {
      for (const test of [first, second]) await test.dispose();
    }
  });
}

Deno.test("forward auth never changes cookies, because its response reaches a browser on another host", () =>
  withSettings(["wide", "narrow"], async (apps) => {
    const [before, after] = [...apps.values()];
    assert(before !== undefined && after !== undefined);
    const { browser } = await signedIn(before, "wide");
    const cookie = await browser.cookieFor("https://app.example.com/");
    for (const query of ["", "?organization=org_0199d3c1a2b47c6e8f00112233445566"]) {
      const response = await after.send(`/api/auth/forward${query}`, { cookie });
      assert.equal(response.status, query === "" ? 200 : 403);
      assert.deepEqual(response.headers.getSetCookie(), []);
    }
  }));
