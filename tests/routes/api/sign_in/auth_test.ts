// The sign-in API: signing up, in and out, the signed-in user, and what strangers can't do.
import assert from "node:assert/strict";
import { assertError, cookieOf, type TestApp, testApp, testPassword } from "../../../support/app/app.ts";

const nobody = { authenticated: false, user: null, organizationId: null, role: null, memberships: [] };
const signUp = (more: Record<string, unknown> = {}) => ({
  name: "Ada Lovelace",
  email: "ada@example.com",
  password: testPassword,
  ...more,
});
const me = async (test: TestApp, cookie?: string) =>
  await (await test.send("/api/auth/me", cookie === undefined ? {} : { cookie })).json();

testApp("sign-up creates a user who owns a new organization, and signs them in", async (test) => {
  const response = await test.send("/api/auth/sign-up", {
    json: signUp({ organizationName: "Northwind Maps" }),
  });
  assert.equal(response.status, 201);
  const body = await response.json();
  assert.equal(body.authenticated, true);
  assert.deepEqual({ ...body.user, id: "" }, {
    id: "",
    name: "Ada Lovelace",
    email: "ada@example.com",
    emailVerified: false,
  });
  assert.match(body.user.id, /^usr_[0-9a-f]{32}$/);
  assert.equal(body.role, "OWNER");
  assert.deepEqual(body.memberships, [{
    organizationId: body.organizationId,
    name: "Northwind Maps",
    role: "OWNER",
  }]);
  const [cookie = ""] = response.headers.getSetCookie();
  assert.match(cookie, /^access_token=[A-Za-z0-9_-]{43}; /);
  assert.match(cookie, /HttpOnly/);
  assert.match(cookie, /SameSite=Lax/);
  assert.match(cookie, /Path=\//);
  assert.match(cookie, /Max-Age=2592000/);
  assert.doesNotMatch(cookie, /Domain|Secure/);
  assert.match(response.headers.get("cache-control") ?? "", /no-store/);
  assert.deepEqual(await me(test, cookieOf(response)), body);
});

testApp("sets a Secure cookie for the whole domain if configured", async (test) => {
  const response = await test.send("/api/auth/sign-up", { json: signUp() });
  const cookies = response.headers.getSetCookie();
  assert.equal(cookies.length, 2);
  // The host-only cookie from before the domain was set is cleared.
  assert.match(cookies[0] ?? "", /^access_token=; Max-Age=0;.*Secure/);
  assert.doesNotMatch(cookies[0] ?? "", /Domain/);
  assert.match(cookies[1] ?? "", /Domain=\.example\.com;.*Secure/);
  assert.match(response.headers.get("strict-transport-security") ?? "", /max-age=63072000/);
}, { BASE_URL: "https://auth.example.com", COOKIE_DOMAIN: ".example.com" });

testApp("responds without an error if nobody is signed in", async (test) => {
  assert.deepEqual(await me(test), nobody);
  assert.deepEqual(await me(test, "access_token=planted"), nobody);
  assert.deepEqual(await me(test, `access_token=${"A".repeat(43)}; other=1`), nobody);
});

testApp("sign-in accepts the email address in any form, and each sign-in has its own token", async (test) => {
  const first = await test.send("/api/auth/sign-up", { json: signUp() });
  const second = await test.send("/api/auth/sign-in", {
    json: { email: "  ADA@Example.COM ", password: testPassword },
  });
  assert.equal(second.status, 200);
  assert.notEqual(cookieOf(first), cookieOf(second));
  assert.deepEqual(await me(test, cookieOf(first)), await me(test, cookieOf(second)));
});

testApp("sign-out ends the session on the server, and no others", async (test) => {
  const first = cookieOf(await test.send("/api/auth/sign-up", { json: signUp() }));
  const second = cookieOf(
    await test.send("/api/auth/sign-in", { json: { email: "ada@example.com", password: testPassword } }),
  );
  const response = await test.send("/api/auth/sign-out", { method: "POST", cookie: first });
  assert.equal(response.status, 204);
  assert.match(response.headers.getSetCookie()[0] ?? "", /^access_token=; Max-Age=0/);
  assert.deepEqual(await me(test, first), nobody);
  assert.equal((await me(test, second)).authenticated, true);
  assert.equal((await test.send("/api/auth/sign-out", { method: "POST" })).status, 204);
});

testApp("sign-up with a taken email address is rejected and changes nothing", async (test) => {
  await test.send("/api/auth/sign-up", { json: signUp() });
  const response = await test.send("/api/auth/sign-up", {
    json: signUp({ email: "ADA@example.com", name: "Eve" }),
  });
  await assertError(response, 409, "email_taken");
  assert.deepEqual(response.headers.getSetCookie(), []);
  const counts = await test.opened.database.read<{ n: number }>({
    sql: "SELECT count(*) AS n FROM organizations",
    args: [],
  });
  assert.equal(counts[0]?.n, 1);
});

testApp("sixteen concurrent sign-ups with one email address create one account", async (test) => {
  const responses = await Promise.all(
    Array.from(
      { length: 16 },
      (_, n) => test.send("/api/auth/sign-up", { json: signUp(), peerAddress: `10.0.0.${n}` }),
    ),
  );
  assert.deepEqual(responses.map(({ status }) => status).sort(), [201, ...Array(15).fill(409)]);
});

testApp("rejects short, common and personal passwords, naming the field", async (test) => {
  const bad = [
    "short",
    "a".repeat(129),
    "password1234",
    "ada@example.com",
    "AdaLovelace123",
    "gatehouse2026",
    "aaaaaaaaaaaaaaaa",
  ];
  for (const password of bad) {
    const { error } = await assertError(
      await test.send("/api/auth/sign-up", { json: signUp({ password }) }),
      422,
      "validation_failed",
    );
    assert.deepEqual(error.details?.map(({ path }) => path), ["password"], password);
  }
  const long = "𝒜 long pass".padEnd(128, "é");
  assert.equal((await test.send("/api/auth/sign-up", { json: signUp({ password: long }) })).status, 201);
  const signIn = await test.send("/api/auth/sign-in", {
    json: { email: "ada@example.com", password: long.normalize("NFKC") },
  });
  assert.equal(signIn.status, 200);
});

testApp("a wrong password and an unknown email address get the same response", async (test) => {
  await test.send("/api/auth/sign-up", { json: signUp() });
  const wrong = await assertError(
    await test.send("/api/auth/sign-in", { json: { email: "ada@example.com", password: "not it at all" } }),
    401,
    "invalid_credentials",
  );
  for (const email of ["nobody@example.com", "no address", ""]) {
    const response = await test.send("/api/auth/sign-in", { json: { email, password: testPassword } });
    assert.deepEqual((await assertError(response, 401, "invalid_credentials")).error, wrong.error);
  }
});

testApp(
  "failed sign-ins cause growing delays, for the right password too, and end no session",
  async (test) => {
    const cookie = cookieOf(await test.send("/api/auth/sign-up", { json: signUp() }));
    let address = 0;
    const attempt = (password: string) =>
      test.send("/api/auth/sign-in", {
        json: { email: "ada@example.com", password },
        peerAddress: `10.2.0.${++address}`,
      });
    for (let n = 0; n < 5; n++) assert.equal((await attempt("wrong password")).status, 401);
    for (const seconds of [1, 2, 4, 8]) {
      const rejected = await attempt(testPassword);
      await assertError(rejected, 429, "rate_limited");
      assert.equal(rejected.headers.get("retry-after"), String(seconds));
      test.advance(seconds * 1000);
      assert.equal((await attempt("wrong password")).status, 401);
    }
    assert.equal((await me(test, cookie)).authenticated, true);
    test.advance(15 * 60_000);
    assert.equal((await attempt(testPassword)).status, 200);
    // A success resets the count.
    assert.equal((await attempt("wrong password")).status, 401);
    assert.equal((await attempt(testPassword)).status, 200);
  },
);

testApp("limits an IP address after ten failures, and its IPv6 neighbors with it", async (test) => {
  const attempt = (n: number, peerAddress: string) =>
    test.send("/api/auth/sign-in", {
      json: { email: `x${n}@example.com`, password: testPassword },
      peerAddress,
    });
  for (let n = 0; n < 10; n++) assert.equal((await attempt(n, `2001:db8:1:2::${n + 1}`)).status, 401);
  await assertError(await attempt(10, "2001:db8:1:2:ffff::9"), 429, "rate_limited");
  assert.equal((await attempt(10, "2001:db8:1:3::1")).status, 401);
});

testApp("successful sign-ins are not limited", async (test) => {
  await test.send("/api/auth/sign-up", { json: signUp() });
  for (let n = 0; n < 12; n++) {
    const response = await test.send("/api/auth/sign-in", {
      json: { email: "ada@example.com", password: testPassword },
    });
    assert.equal(response.status, 200);
  }
});

testApp("a session expires after its idle time, and after its maximum time", async (test) => {
  const day = 24 * 3_600_000;
  const idle = await test.signUp();
  const busy = await test.signUp();
  for (let n = 0; n < 29; n++) {
    test.advance(day);
    assert.equal((await me(test, busy.cookie)).authenticated, true, `day ${n}`);
    if (n >= 6) assert.equal((await me(test, idle.cookie)).authenticated, false, `day ${n}`);
    // The last use is written after the response; this batch waits for that.
    await test.opened.database.write([]);
  }
  test.advance(day);
  assert.deepEqual(await me(test, busy.cookie), nobody);
});

testApp("the database contains no token, password or key", async (test) => {
  const person = await test.signUp();
  const token = person.cookie.slice("access_token=".length);
  const rows = await test.opened.database.read({
    sql: "SELECT * FROM sessions JOIN users ON users.id = user_id",
    args: [],
  });
  assert.equal(rows.length, 1);
  const text = JSON.stringify(rows);
  assert(!text.includes(token) && !text.includes(testPassword));
  assert.match(text, /\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
});

for (const [policy, code] of [["closed", "sign_up_closed"], ["invite", "sign_up_closed"]] as const) {
  testApp(`SIGN_UP=${policy} rejects strangers`, async (test) => {
    await assertError(await test.send("/api/auth/sign-up", { json: signUp() }), 403, code);
  }, { SIGN_UP: policy });
}

testApp("rejects writes from other sites, signed in or not", async (test) => {
  const person = await test.signUp();
  const rejected: Record<string, string>[] = [
    { origin: "https://evil.example" },
    { origin: "null" },
    { origin: "http://app.localhost:8000" },
    { origin: "http://localhost:8000", "sec-fetch-site": "same-site" },
    { origin: "https://evil.example", "sec-fetch-site": "same-origin" },
    { origin: "", "sec-fetch-site": "cross-site" },
  ];
  for (const path of ["/api/portal/api-keys", "/api/auth/sign-in", "/api/auth/sign-out", "/sign-in"]) {
    for (const headers of rejected) {
      const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ""));
      const response = await test.app.request(`http://localhost:8000${path}`, {
        method: "POST",
        headers: { ...given, cookie: person.cookie, "content-type": "application/json" },
        body: "{}",
      });
      assert.equal(response.status, 403, `${path} ${JSON.stringify(headers)}`);
      assert.equal(response.headers.get("vary"), "Origin");
      await response.body?.cancel();
    }
    const bare = await test.app.request(`http://localhost:8000${path}`, {
      method: "POST",
      headers: { cookie: person.cookie },
    });
    assert.equal(bare.status, 403);
    await bare.body?.cancel();
  }
  // The browser's header alone is enough.
  const own = await test.app.request("http://localhost:8000/api/portal/api-keys", {
    method: "POST",
    headers: { "sec-fetch-site": "same-origin", cookie: person.cookie, "content-type": "application/json" },
    body: JSON.stringify({ name: "A" }),
  });
  assert.equal(own.status, 201);
});

testApp("CORS lets allowed origins read and sign in with cookies, and no others", async (test) => {
  const person = await test.signUp();
  for (const origin of ["https://app.example.com", "https://docs.products.example.com"]) {
    const response = await test.send("/api/auth/me", { cookie: person.cookie, headers: { origin } });
    assert.equal(response.headers.get("access-control-allow-origin"), origin);
    assert.equal(response.headers.get("access-control-allow-credentials"), "true");
    assert.match(response.headers.get("vary") ?? "", /Origin/);
    const preflight = await test.send("/api/auth/sign-out", {
      method: "OPTIONS",
      headers: { origin, "access-control-request-method": "POST" },
    });
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers.get("access-control-allow-origin"), origin);
    assert.match(preflight.headers.get("access-control-allow-methods") ?? "", /POST/);
    const failed = await test.send("/api/auth/sign-in", {
      headers: { origin },
      json: { email: "a", password: "b" },
    });
    assert.equal(failed.status, 401);
    assert.equal(failed.headers.get("access-control-allow-origin"), origin);
    // Early rejections too: otherwise a page can't tell them from a network failure.
    for (
      const [path, more, status] of [
        ["/api/auth/me", { "x-long": "a".repeat(17_000) }, 431],
        [`/api/auth/me?x=${"a".repeat(9_000)}`, {}, 414],
        ["/api/auth/nowhere", {}, 404],
      ] as const
    ) {
      const rejected = await test.send(path, { headers: { origin, ...more } });
      assert.equal(rejected.status, status);
      assert.equal(rejected.headers.get("access-control-allow-origin"), origin, path);
      assert.equal(rejected.headers.get("access-control-allow-credentials"), "true");
      assert.equal(rejected.headers.get("cross-origin-resource-policy"), "cross-origin");
      assert.equal(rejected.headers.get("vary"), "Origin");
    }
  }
  for (
    const origin of [
      "https://evil.example",
      "https://app.example.com.evil.example",
      "http://app.example.com",
      "https://a.b.products.example.com",
      "https://products.example.com",
      "null",
    ]
  ) {
    for (const method of ["GET", "OPTIONS"]) {
      const answer = await test.send("/api/auth/me", {
        method,
        cookie: person.cookie,
        headers: { origin, "access-control-request-method": "GET" },
      });
      assert.equal(answer.headers.get("access-control-allow-origin"), null, origin);
      assert.equal(answer.headers.get("access-control-allow-credentials"), null);
      assert.match(answer.headers.get("vary") ?? "", /Origin/);
      await answer.body?.cancel();
    }
    const written = await test.send("/api/auth/sign-out", { method: "POST", headers: { origin } });
    assert.deepEqual([written.status, written.headers.get("vary")], [403, "Origin"]);
  }
  // The portal and its API have no CORS, and reject writes from allowed origins.
  const portal = await test.send("/api/portal/api-keys", {
    cookie: person.cookie,
    headers: { origin: "https://app.example.com" },
    json: { name: "A" },
  });
  assert.equal(portal.status, 403);
  assert.equal(portal.headers.get("access-control-allow-origin"), null);
}, { ALLOWED_ORIGINS: "https://app.example.com, https://*.products.example.com" });
