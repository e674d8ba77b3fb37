// The sign-in API: signing up, in and out, the signed-in user, and what strangers can't do.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { signInFailuresFree } from "../../../../domain/limits.ts";
import {
  assertError,
  cookieOf,
  type SendOptions,
  type TestApp,
  testApp,
  testPassword,
} from "../../../support/app/app.ts";
import { assertRows, type Row } from "../../../support/app/rows.ts";
import { signInAgain } from "../../../support/people/people.ts";

const nobody = { authenticated: false, user: null, organizationId: null, role: null, memberships: [] };
const email = "ada@example.com";
const signUp = (more: Record<string, unknown> = {}) => ({
  name: "Ada Lovelace",
  email,
  password: testPassword,
  ...more,
});
const me = async (test: TestApp, cookie?: string) =>
  await (await test.send("/api/auth/me", cookie === undefined ? {} : { cookie })).json();

testApp("sign-up creates a user who owns a new organization, and signs them in", async (test) => {
  const organizationName = "Northwind Maps";
  const { html, answer } = await assertRows(test, {}, [
    ["POST /api/auth/sign-up", signUp({ organizationName }), 201],
  ]);
  const body = JSON.parse(html);
  const { authenticated, role, memberships, organizationId, user: { id, ...user } } = body;
  assert.deepEqual(user, { name: "Ada Lovelace", email: "ada@example.com", emailVerified: false });
  assert.match(id, /^usr_[0-9a-f]{32}$/);
  assert.deepEqual([authenticated, role], [true, "OWNER"]);
  assert.deepEqual(memberships, [{ organizationId, name: organizationName, role }]);
  const [cookie = ""] = answer.headers.getSetCookie();
  assert.match(cookie, /^access_token=[A-Za-z0-9_-]{43}; /);
  for (const part of [/HttpOnly/, /SameSite=Lax/, /Path=\//, /Max-Age=2592000/]) assert.match(cookie, part);
  assert.doesNotMatch(cookie, /Domain|Secure/);
  assert.match(answer.headers.get("cache-control") ?? "", /no-store/);
  assert.deepEqual(await me(test, cookieOf(answer)), body);
  // The database has neither the token nor the password.
  const rows = await test.opened.database.read(sql`SELECT * FROM sessions JOIN users ON users.id = user_id`);
  const stored = JSON.stringify(rows);
  assert(!stored.includes(cookie.slice(13, 56)) && !stored.includes(testPassword));
  assert.match(stored, /\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
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

testApp("planted cookies sign nobody out, and sign-out ends the session alone", async (test) => {
  const ada = await test.signUp();
  const planted = Array.from({ length: 12 }, (_, n) => `access_token=${String(n).padStart(43, "p")}`);
  const cookie = [...planted, ada.cookie].join("; ");
  assert.equal((await me(test, cookie)).user?.id, ada.userId);
  const other = await signInAgain(test, ada.email);
  const { answer } = await assertRows(test, { cookie }, [["POST /api/auth/sign-out", null, 204]]);
  assert.match(answer.headers.getSetCookie()[0] ?? "", /^access_token=; Max-Age=0/);
  assert.deepEqual(await me(test, cookie), nobody);
  assert.equal((await me(test, other)).authenticated, true);
  await assertRows(test, {}, [["POST /api/auth/sign-out", null, 204]]);
});

testApp(
  "sixteen concurrent sign-ups with one email address create one account, later ones none",
  async (test) => {
    const responses = await Promise.all(
      Array.from(
        { length: 16 },
        (_, n) => test.send("/api/auth/sign-up", { json: signUp(), peerAddress: `10.0.0.${n}` }),
      ),
    );
    assert.deepEqual(responses.map(({ status }) => status).sort(), [201, ...Array(15).fill(409)]);
    const { answer } = await assertRows(test, {}, [
      ["POST /api/auth/sign-up", signUp({ email: "ADA@example.com", name: "Eve" }), "409 email_taken"],
    ]);
    assert.deepEqual(answer.headers.getSetCookie(), []);
    assert.deepEqual(await test.opened.database.read(sql`SELECT count(*) AS n FROM organizations`), [{
      n: 1,
    }]);
  },
);

testApp("rejects short, common and personal passwords, naming the field", async (test) => {
  const own = [email, "AdaLovelace123", "gatehouse2026"];
  const bad = ["short", "a".repeat(129), "password1234", ...own, "aaaaaaaaaaaaaaaa"];
  const long = "𝒜 long pass".padEnd(128, "é");
  const invalid = "422 validation_failed password";
  await assertRows(test, {}, [
    ...bad.map((password): Row => ["POST /api/auth/sign-up", signUp({ password }), invalid]),
    ["POST /api/auth/sign-up", signUp({ password: long }), 201],
    ["POST /api/auth/sign-in", { email, password: long.normalize("NFKC") }, 200],
  ]);
});

testApp("a wrong password and an unknown email address get the same response", async (test) => {
  await test.signUp();
  const errors = [];
  for (const email of ["person1@example.com", "nobody@example.com", "no address", ""]) {
    const response = await test.send("/api/auth/sign-in", { json: { email, password: "not it at all" } });
    errors.push((await assertError(response, 401, "invalid_credentials")).error);
  }
  for (const error of errors) assert.deepEqual(error, errors[0]);
});

/** Attempts to sign in, each from another address. */
function attempts(test: TestApp) {
  let address = 0;
  return (password: string) =>
    test.send("/api/auth/sign-in", { json: { email, password }, peerAddress: `10.2.0.${++address}` });
}
const wrong = "wrong password";

testApp("failed sign-ins cause growing delays, also for the right password", async (test) => {
  const cookie = cookieOf(await test.send("/api/auth/sign-up", { json: signUp() }));
  const attempt = attempts(test);
  for (let n = 0; n < signInFailuresFree; n++) assert.equal((await attempt(wrong)).status, 401);
  for (const seconds of [1, 2, 4, 8]) {
    const rejected = await attempt(testPassword);
    await assertError(rejected, 429, "rate_limited");
    assert.equal(rejected.headers.get("retry-after"), String(seconds));
    test.advance(seconds * 1000);
    assert.equal((await attempt(wrong)).status, 401);
  }
  assert.equal((await me(test, cookie)).authenticated, true, "they end no session");
  test.advance(15 * 60_000);
  assert.equal((await attempt(testPassword)).status, 200);
  // A success resets the count.
  assert.equal((await attempt(wrong)).status, 401);
  assert.equal((await attempt(testPassword)).status, 200);
});

testApp("of thirty concurrent guesses after a delay, one is checked", async (test) => {
  await test.send("/api/auth/sign-up", { json: signUp() });
  const attempt = attempts(test);
  for (let n = 0; n < signInFailuresFree; n++) assert.equal((await attempt(wrong)).status, 401);
  test.advance(1_000);
  const responses = await Promise.all(Array.from({ length: 30 }, () => attempt(wrong)));
  assert.deepEqual(responses.map(({ status }) => status).sort(), [401, ...Array(29).fill(429)]);
  assert.equal((await attempt(testPassword)).status, 429);
  test.advance(-24 * 3_600_000);
  assert.equal((await attempt(testPassword)).status, 200, "a clock that is set back a day locks no account");
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

testApp("rejects writes from other sites, signed in or not", async (test) => {
  const person = await test.signUp();
  const own = "http://localhost:8000";
  const evil = "https://evil.example";
  const rejected: Record<string, string>[] = [
    { origin: evil },
    { origin: "null" },
    { origin: "http://app.localhost:8000" },
    { origin: own, "sec-fetch-site": "same-site" },
    { origin: evil, "sec-fetch-site": "same-origin" },
    { origin: own, "sec-fetch-site": "cross-site" },
    { origin: "" },
    ...["same-site", "cross-site", "none"].map((site) => ({ "sec-fetch-site": site })),
  ];
  const api = ["/api/portal/api-keys", "/api/auth/sign-in", "/api/auth/sign-out"];
  const pages = ["/sign-in", "/portal/account/delete", "/portal/confirm-password"];
  const write = async (request: string, headers: Record<string, string>, json?: unknown) => {
    const [method = "", path = ""] = request.split(" ");
    const response = await test.app.request(own + path, {
      method,
      headers: {
        cookie: person.cookie,
        ...headers,
        ...(json === undefined ? {} : { "content-type": "application/json" }),
      },
      body: json === undefined ? null : JSON.stringify(json),
    });
    await response.body?.cancel();
    return response;
  };
  for (const request of ["DELETE /api/auth/sessions", ...[...api, ...pages].map((path) => `POST ${path}`)]) {
    for (const headers of rejected) {
      const response = await write(request, headers, {});
      assert.equal(response.status, 403, `${request} ${JSON.stringify(headers)}`);
      assert.equal(response.headers.get("vary"), "Origin");
    }
    // Without any header, a browser asks before it sends a DELETE.
    if (request.startsWith("POST ")) assert.equal((await write(request, {})).status, 403);
  }
  // The browser's header alone is enough.
  const { status } = await write("POST /api/portal/api-keys", { "sec-fetch-site": "same-origin" }, {
    name: "A",
  });
  assert.equal(status, 201);
});

testApp("CORS lets allowed origins read and sign in with cookies, and no others", async (test) => {
  const { cookie } = await test.signUp();
  const send = async (
    path: string,
    options: SendOptions,
    expected: Record<string, string | number | RegExp | null>,
  ) => {
    const response = await test.send(path, { cookie, ...options });
    await response.body?.cancel();
    for (const [name, value] of Object.entries(expected)) {
      const actual = name === "status" ? response.status : response.headers.get(name);
      const about = `${name} of ${path} ${JSON.stringify(options).slice(0, 100)}`;
      if (value instanceof RegExp) assert.match(String(actual), value, about);
      else assert.equal(actual, value, about);
    }
  };
  const [allowOrigin, credentials] = [
    "access-control-allow-origin",
    "access-control-allow-credentials",
  ] as const;
  for (const origin of ["https://app.example.com", "https://docs.products.example.com"]) {
    const allowed = { [allowOrigin]: origin, [credentials]: "true", vary: /Origin/ };
    await send("/api/auth/me", { headers: { origin } }, { status: 200, ...allowed });
    const asked = { origin, "access-control-request-method": "POST" };
    const methods = { "access-control-allow-methods": /POST/, [allowOrigin]: origin };
    await send("/api/auth/sign-out", { method: "OPTIONS", headers: asked }, { status: 204, ...methods });
    const wrong = { headers: { origin }, json: { email: "a", password: "b" } };
    await send("/api/auth/sign-in", wrong, { status: 401, [allowOrigin]: origin });
    // Early rejections too: otherwise a page can't tell them from a network failure.
    const early = { ...allowed, vary: "Origin", "cross-origin-resource-policy": "cross-origin" };
    const long = { origin, "x-long": "a".repeat(17_000) };
    await send("/api/auth/me", { headers: long }, { status: 431, ...early });
    await send(`/api/auth/me?x=${"a".repeat(9_000)}`, { headers: { origin } }, { status: 414, ...early });
    await send("/api/auth/nowhere", { headers: { origin } }, { status: 404, ...early });
  }
  const denied = { [allowOrigin]: null, [credentials]: null };
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
    const headers = { origin, "access-control-request-method": "GET" };
    for (const method of ["GET", "OPTIONS"]) {
      await send("/api/auth/me", { method, headers }, { ...denied, vary: /Origin/ });
    }
    await send("/api/auth/sign-out", { method: "POST", headers: { origin } }, {
      status: 403,
      vary: "Origin",
    });
  }
  // The portal and its API have no CORS, and reject writes from allowed origins.
  const write = { headers: { origin: "https://app.example.com" }, json: { name: "A" } };
  await send("/api/portal/api-keys", write, { status: 403, [allowOrigin]: null });
}, { ALLOWED_ORIGINS: "https://app.example.com, https://*.products.example.com" });

testApp("unknown methods and paths are reported as such, even from other sites", async (test) => {
  const post = (path: string) => test.app.request(`http://localhost:8000${path}`, { method: "POST" });
  await assertError(await post("/health/live"), 405, "method_not_allowed");
  await assertError(await post("/api/nowhere"), 404, "not_found");
  await assertError(await post("/api/auth/sign-out"), 403, "cross_site");
});
