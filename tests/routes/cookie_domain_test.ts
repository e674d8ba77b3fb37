// The session cookie with and without COOKIE_DOMAIN, and how cookies with an outdated scope are replaced.
import assert from "node:assert/strict";
import { type TestApp, testApp } from "../support/app/app.ts";
import { me, signInAgain } from "../support/people/people.ts";

const shared = { BASE_URL: "https://auth.example.com", COOKIE_DOMAIN: ".example.com" };
const dayMs = 24 * 3_600_000;
const tokenOf = (cookie: string) => /access_token=([\w-]{43})/.exec(cookie)?.[1] ?? "";
const hostOnly = (token: string) => `access_token=${token}`;
const ofDomain = (token: string) => `access_token=${token}.example.com`;
const cleared = "access_token=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax";
const set = async (test: TestApp, path: string, cookie: string) =>
  (await test.send(path, { cookie })).headers.getSetCookie();

testApp(
  "a domain cookie names its domain in its value, and is known only by its exact name",
  async (test) => {
    const { cookie, userId } = await test.signUp();
    const token = tokenOf(cookie);
    assert.equal(cookie, ofDomain(token));
    assert.deepEqual(await set(test, "/api/auth/me", cookie), []);
    const userIdOf = async (cookie: string) => (await me(test, cookie)).user?.id ?? null;
    for (
      const name of [
        "access_token ",
        "\u00a0access_token",
        "access_token\t",
        "ACCESS_TOKEN",
        "x access_token",
      ]
    ) {
      assert.equal(await userIdOf(`a=1; ${name}=${token}.example.com`), null, JSON.stringify(name));
    }
    for (const before of ["a=1;", "a=1;\t ", ";", ""]) assert.equal(await userIdOf(before + cookie), userId);
  },
  shared,
);

testApp("replaces a host-only cookie with a domain cookie for the rest of its lifetime", async (test) => {
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
  // The token and the session stay the same.
  assert.equal((await me(test, hostOnly(token))).user?.id, person.userId);
}, shared);

testApp("prefers the domain cookie, as products do, and clears the host-only one", async (test) => {
  const ada = await test.signUp();
  const created = await test.send("/api/portal/organizations", {
    cookie: ada.cookie,
    json: { name: "Second" },
  });
  const { organization: { id: second } } = await created.json();
  const young = tokenOf(await signInAgain(test, ada.email));
  const old = tokenOf(ada.cookie);
  await test.send("/api/auth/organization", { cookie: ofDomain(young), json: { organizationId: second } });
  for (const cookie of [`${hostOnly(old)}; ${ofDomain(young)}`, `${ofDomain(young)}; ${hostOnly(old)}`]) {
    assert.equal((await me(test, cookie)).organizationId, second);
    assert.deepEqual(await set(test, "/api/auth/me", cookie), [cleared]);
  }
  // When the domain cookie is stale, the host-only one replaces it.
  const stale = ofDomain("A".repeat(43));
  const renewed = await set(test, "/api/auth/me", `${stale}; ${hostOnly(old)}`);
  assert.equal(renewed.length, 2);
  assert.match(renewed[1] ?? "", new RegExp(`^access_token=${old}\\.example\\.com; .*Domain=`));
  // A stale host-only cookie is cleared.
  assert.deepEqual(await set(test, "/api/auth/me", `${hostOnly("A".repeat(43))}; ${ofDomain(young)}`), [
    cleared,
  ]);
  // Signing out ends both sessions.
  const both = `${hostOnly(old)}; ${ofDomain(young)}`;
  const out = await test.send("/api/auth/sign-out", { method: "POST", cookie: both });
  assert.equal(out.headers.getSetCookie().length, 2);
  for (const token of [old, young]) assert.equal((await me(test, hostOnly(token))).authenticated, false);
}, shared);

testApp("replaces a cookie for another domain than COOKIE_DOMAIN, and no invalid one", async (test) => {
  const { cookie } = await test.signUp();
  const token = tokenOf(cookie);
  for (const other of [`${hostOnly(token)}.auth.example.com`, `${hostOnly(token)}.evil.example`]) {
    const renewed = await set(test, "/api/auth/me", other);
    assert.match(
      renewed.at(-1) ?? "",
      new RegExp(`^access_token=${token}\\.example\\.com; .*Domain=\\.example\\.com`),
    );
  }
  await test.send("/api/auth/sign-out", { method: "POST", cookie });
  for (const stale of [hostOnly(token), hostOnly("x"), hostOnly("A".repeat(43)), "access_token="]) {
    assert.deepEqual(await set(test, "/api/auth/me", stale), []);
  }
}, shared);

testApp("without COOKIE_DOMAIN a host-only cookie replaces an earlier domain cookie", async (test) => {
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
}, { BASE_URL: shared.BASE_URL });

testApp("clears cookies only for domains that browsers accept from this host", async (test) => {
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
}, { BASE_URL: shared.BASE_URL });
