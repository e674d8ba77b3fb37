// The cookie's two forms, for this host alone and for the domain: who has the first while the settings say the second.
import assert from "node:assert/strict";
import { type TestApp, testApp } from "../support/app.ts";
import { me, signInAgain } from "../support/people.ts";

const shared = { BASE_URL: "https://auth.example.com", COOKIE_DOMAIN: ".example.com" };
const dayMs = 24 * 3_600_000;
const tokenOf = (cookie: string) => /access_token=([\w-]{43})/.exec(cookie)?.[1] ?? "";
const hostOnly = (token: string) => `access_token=${token}`;
const ofDomain = (token: string) => `access_token=${token}.example.com`;
const cleared = "access_token=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax";
const set = async (test: TestApp, path: string, cookie: string) =>
  (await test.send(path, { cookie })).headers.getSetCookie();

testApp("the cookie of the domain says so in its value, and signs in with it", async (test) => {
  const { cookie, userId } = await test.signUp();
  assert.equal(cookie, ofDomain(tokenOf(cookie)));
  assert.equal((await me(test, cookie)).user?.id, userId);
  assert.deepEqual(await set(test, "/api/auth/me", cookie), []);
}, shared);

testApp(
  "a cookie whose name is written otherwise is another one, as for a proxy that takes the token away",
  async (test) => {
    const { cookie, userId } = await test.signUp();
    const token = tokenOf(cookie);
    const found = async (cookie: string) => (await me(test, cookie)).user?.id ?? null;
    for (
      const name of [
        "access_token ",
        "\u00a0access_token",
        "access_token\t",
        "ACCESS_TOKEN",
        "x access_token",
      ]
    ) {
      assert.equal(await found(`a=1; ${name}=${token}.example.com`), null, JSON.stringify(name));
    }
    for (const before of ["a=1;", "a=1;\t ", ";", ""]) assert.equal(await found(before + cookie), userId);
  },
  shared,
);

testApp(
  "a host-only cookie becomes the domain's, wherever it comes first, for the days it has left",
  async (test) => {
    const person = await test.signUp();
    const token = tokenOf(person.cookie);
    test.advance(3 * dayMs + 500);
    const paths = [
      "/api/auth/me",
      "/portal/usage",
      "/sign-in?return_to=/portal",
      "/",
      "/portal/nothing-here",
    ];
    for (const path of paths) {
      assert.deepEqual(await set(test, path, hostOnly(token)), [
        cleared,
        `access_token=${token}.example.com; Max-Age=${
          27 * 86_400 - 1
        }; Domain=.example.com; Path=/; HttpOnly; Secure; SameSite=Lax`,
      ], path);
    }
    // It has the same token: no session is made, and none ends.
    assert.equal((await me(test, hostOnly(token))).user?.id, person.userId);
  },
  shared,
);

testApp("a host-only cookie that signs nobody in is left alone", async (test) => {
  const { cookie } = await test.signUp();
  const token = tokenOf(cookie);
  await test.send("/api/auth/sign-out", { method: "POST", cookie });
  for (const stale of [hostOnly(token), hostOnly("x"), hostOnly("A".repeat(43)), "access_token="]) {
    assert.deepEqual(await set(test, "/api/auth/me", stale), []);
  }
}, shared);

testApp(
  "of both cookies the domain's counts, as it does for the products, and the other goes",
  async (test) => {
    const ada = await test.signUp();
    const made = await test.send("/api/portal/organizations", {
      cookie: ada.cookie,
      json: { name: "Second" },
    });
    const { organization: { id: second } } = await made.json();
    const young = tokenOf(await signInAgain(test, ada.email));
    const old = tokenOf(ada.cookie);
    await test.send("/api/auth/organization", { cookie: ofDomain(young), json: { organizationId: second } });
    for (const cookie of [`${hostOnly(old)}; ${ofDomain(young)}`, `${ofDomain(young)}; ${hostOnly(old)}`]) {
      assert.equal((await me(test, cookie)).organizationId, second);
      assert.deepEqual(await set(test, "/api/auth/me", cookie), [cleared]);
    }
    // The domain's is stale: then the host's is what is left, and becomes the domain's.
    const stale = ofDomain("A".repeat(43));
    const renewed = await set(test, "/api/auth/me", `${stale}; ${hostOnly(old)}`);
    assert.equal(renewed.length, 2);
    assert.match(renewed[1] ?? "", new RegExp(`^access_token=${old}\\.example\\.com; .*Domain=`));
    // A stale one of the host is taken away.
    assert.deepEqual(await set(test, "/api/auth/me", `${hostOnly("A".repeat(43))}; ${ofDomain(young)}`), [
      cleared,
    ]);
    // Signing out ends both.
    const both = `${hostOnly(old)}; ${ofDomain(young)}`;
    const out = await test.send("/api/auth/sign-out", { method: "POST", cookie: both });
    assert.equal(out.headers.getSetCookie().length, 2);
    for (const token of [old, young]) assert.equal((await me(test, hostOnly(token))).authenticated, false);
  },
  shared,
);

testApp("a cookie of another domain than the settings' becomes the domain's", async (test) => {
  const { cookie } = await test.signUp();
  const token = tokenOf(cookie);
  for (const other of [`${hostOnly(token)}.auth.example.com`, `${hostOnly(token)}.evil.example`]) {
    const renewed = await set(test, "/api/auth/me", other);
    assert.match(
      renewed.at(-1) ?? "",
      new RegExp(`^access_token=${token}\\.example\\.com; .*Domain=\\.example\\.com`),
    );
  }
}, shared);

testApp(
  "without COOKIE_DOMAIN the cookie is the host's alone, and one of a domain of before becomes it",
  async (test) => {
    const { cookie, userId } = await test.signUp();
    const token = tokenOf(cookie);
    assert.equal(cookie, hostOnly(token));
    assert.deepEqual(await set(test, "/api/auth/me", cookie), []);
    assert.equal((await me(test, ofDomain(token))).user?.id, userId);
    const [own, domain] = [cleared, cleared.replace("Path", "Domain=.example.com; Path")];
    assert.deepEqual(await set(test, "/api/auth/me", ofDomain(token)), [
      domain,
      own.replace("access_token=; Max-Age=0", `access_token=${token}; Max-Age=${30 * 86_400}`),
    ]);
    assert.deepEqual(await set(test, "/api/auth/me", `${hostOnly(token)}; ${ofDomain(token)}`), [domain]);
  },
  { BASE_URL: shared.BASE_URL },
);

testApp(
  "only domains that a browser takes from this host are expired, whatever a cookie names",
  async (test) => {
    const { cookie } = await test.signUp();
    for (
      const name of [
        ".com",
        ".",
        "..com",
        ".evil.example",
        ".app.example.com",
        ".xample.com",
        ".example.com.",
        ".EXAMPLE.COM",
        ".example.com, a=1",
      ]
    ) {
      const own = await set(test, "/api/auth/me", `${cookie}; access_token=x${name}`);
      assert.deepEqual(own, [], name);
      const out = await test.send("/api/auth/sign-out", { method: "POST", cookie: `access_token=x${name}` });
      assert.deepEqual(out.headers.getSetCookie(), [cleared], name);
    }
  },
  { BASE_URL: shared.BASE_URL },
);
