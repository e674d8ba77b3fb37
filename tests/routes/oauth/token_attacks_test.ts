// Attacks on the endpoints of programs: stolen codes, downgrades, tokens in the wrong place, floods, and a restored backup.
import assert from "node:assert/strict";
import { createTestKey, startTestApp, testApp } from "../../support/app/app.ts";
import {
  basic,
  issue,
  newClient,
  newMember,
  newResource,
  post as postForm,
} from "../../support/oauth/issued.ts";
import {
  addClient,
  answerOf,
  authorizeAddress,
  challenge,
  consentForm,
  exchange,
  post,
  redirectUri,
  type TestClient,
  userinfo,
  verifier,
} from "../../support/oauth/scene.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
import { run } from "../../support/people/scene.ts";

const settings = { SECRETS_KEY: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=" };
const test = await startTestApp(settings);
const person = await newMember(test);
const app = await addClient(test, { consent: false });

const newCode = async (client: TestClient = app, changes: Record<string, string | null> = {}) =>
  (await answerOf(test, person, authorizeAddress(client, changes))).get("code") ?? "";
const refresh = (client: TestClient, token: string) =>
  post(test, "/oauth/token", { grant_type: "refresh_token", refresh_token: token }, client);

Deno.test("keeps at most 100 grants of a session to a client, and those with tokens first", async () => {
  const [visitor, stranger] = [await newMember(test), await newMember(test)];
  const client = await addClient(test, { consent: false });
  const tokensOf = async ({ cookie }: { cookie: string }) => {
    const code = (await answerOf(test, { cookie }, authorizeAddress(client))).get("code") ?? "";
    return (await exchange(test, client, code)).body;
  };
  const grants = async (userId: string) =>
    (await test.opened.database.read({
      sql: "SELECT id FROM oauth_grants WHERE user_id = ?",
      args: [userId],
    })).length;
  const [first, others] = [await tokensOf(visitor), await tokensOf(stranger)];
  test.advance(1);
  const copy = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120)
    INSERT INTO oauth_grants SELECT id || n.i, client_id, user_id, session_id, organization_id, resource_id, scopes, auth_time,
      offline_until, ?, amr, refresh_secret FROM oauth_grants, n WHERE client_id = ?`;
  await run(test, copy, test.now(), client.id);
  test.advance(1);
  assert.equal((await tokensOf(visitor)).token_type, "Bearer");
  assert.deepEqual([await grants(visitor.userId), await grants(stranger.userId)], [100, 121]);
  assert.equal((await userinfo(test, first.access_token)).status, 200, "the oldest has tokens");
  assert.equal((await userinfo(test, others.access_token)).status, 200);
  const fill = `INSERT INTO oauth_tokens (token_hash, kind, grant_id, scopes, created_at, expires_at)
    SELECT id, 'refresh', id, scopes, 0, ? FROM oauth_grants WHERE user_id = ?`;
  await run(test, fill, test.now() + 1_000_000, visitor.userId);
  await tokensOf(visitor);
  assert.equal(await grants(visitor.userId), 100);
  assert.equal((await userinfo(test, first.access_token)).status, 401, "all have tokens, so the oldest ends");
});

Deno.test("attempts with a stolen code neither spend it nor end what it gave", async () => {
  const other = await addClient(test, { consent: false });
  const publicOne = await addClient(test, { isPublic: true, consent: false });
  const code = await newCode();
  const steal = async () => {
    const form = {
      grant_type: "authorization_code",
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    };
    const attempts = [
      exchange(test, other, code),
      exchange(test, { ...app, secret: "wrong" }, code),
      post(test, "/oauth/token", { ...form, client_id: publicOne.id }),
      post(test, "/oauth/token", { ...form, client_id: app.id }),
      exchange(test, app, code, { code_verifier: "z".repeat(43) }),
      exchange(test, app, code, { redirect_uri: "https://evil.example" }),
      exchange(test, app, code, { resource: "https://mcp.example.com" }),
    ];
    for (const { status } of await Promise.all(attempts)) assert.ok([400, 401].includes(status));
  };
  await steal();
  const { status, body } = await exchange(test, app, code);
  assert.equal(status, 200);
  await steal();
  assert.equal((await userinfo(test, body.access_token)).status, 200);
  assert.equal((await refresh(app, body.refresh_token)).status, 200);
});

Deno.test("a code that was injected into another sign-in doesn't match its verifier", async () => {
  const stolen = await newCode(app, { code_challenge: "A".repeat(43) });
  assert.equal((await exchange(test, app, stolen)).body.error, "invalid_grant");
});

Deno.test("PKCE can't be removed, weakened, or added afterwards", async () => {
  const lax = await addClient(test, { consent: false, requirePkce: false });
  const errorOf = async (client: TestClient, changes: Record<string, string | null>) =>
    (await answerOf(test, person, authorizeAddress(client, changes))).get("error");
  const none = { code_challenge: null, code_challenge_method: null };
  assert.equal(await errorOf(app, none), "invalid_request");
  for (const client of [app, lax]) {
    assert.equal(await errorOf(client, { code_challenge_method: "plain" }), "invalid_request");
    assert.equal(
      await errorOf(client, { code_challenge_method: null }),
      "invalid_request",
      "plain is its default",
    );
    assert.equal(await errorOf(client, { code_challenge: null }), "invalid_request");
    assert.equal(await errorOf(client, { code_challenge: verifier.slice(0, 42) }), "invalid_request");
  }
  const form = { grant_type: "authorization_code", redirect_uri: redirectUri };
  const without = await post(test, "/oauth/token", { ...form, code: await newCode() }, app);
  assert.equal(without.body.error, "invalid_grant", "a challenge needs its verifier");
  assert.equal(
    (await exchange(test, app, await newCode(), { code_verifier: challenge })).body.error,
    "invalid_grant",
  );
  const added = await exchange(test, lax, await newCode(lax, none));
  assert.equal(added.body.error, "invalid_grant", "a verifier without a challenge");
  const publicLax = await addClient(test, { isPublic: true, consent: false, requirePkce: false });
  assert.equal(await errorOf(publicLax, none), "invalid_request");
});

testApp("each kind of credential works only in its own place", async (test) => {
  const person = await newMember(test);
  const client = await newClient(test);
  const { resource, secret } = await newResource(test);
  const tool = { id: resource.id, secret };
  const own = await issue(test, { person, client, scope: "openid profile" });
  const ofResource = await issue(test, { person, client, scope: "tools:call", resource: resource.uri });
  const { fullKey } = await createTestKey(test, person);
  const { fullToken } = await newOperatorToken(test);
  const session = person.cookie.split("=").slice(1).join("=");
  const credentials: Record<string, string> = {
    access: own.access_token,
    refresh: own.refresh_token,
    idToken: own.id_token,
    resourceAccess: ofResource.access_token,
    apiKey: fullKey,
    operatorToken: fullToken,
    session,
    clientSecret: client.secret ?? "",
    resourceSecret: secret,
  };
  const bearer = async (path: string, token: string) => {
    const response = await test.app.request(new URL(path, test.config.baseUrl), {
      headers: { authorization: `Bearer ${token}` },
    });
    await response.body?.cancel();
    return response.status < 400;
  };
  const places: Record<string, { accepts: string[]; with: (token: string) => Promise<boolean> }> = {
    userinfo: { accepts: ["access"], with: (token) => bearer("/oauth/userinfo", token) },
    "the meter": { accepts: ["apiKey"], with: (token) => bearer("/api/v1/usage?window=month", token) },
    "the operators' API": {
      accepts: ["operatorToken"],
      with: (token) => bearer("/api/operator/products", token),
    },
    "the resource": {
      accepts: ["resourceAccess"],
      with: async (token) => (await postForm(test, "/oauth/introspect", { token }, basic(tool))).body.active,
    },
    "a cookie": {
      accepts: ["session"],
      async with(token) {
        const cookie = `${person.cookie.split("=")[0]}=${token}`;
        return (await (await test.send("/api/auth/me", { cookie })).json()).authenticated;
      },
    },
    "a code": {
      accepts: [],
      async with(code) {
        const form = { grant_type: "authorization_code", code, redirect_uri: redirectUri };
        return (await postForm(test, "/oauth/token", form, basic(client))).status === 200;
      },
    },
    "the client's secret": {
      accepts: ["clientSecret"],
      async with(text) {
        const form = { token: "x" };
        return (await postForm(test, "/oauth/revoke", form, basic({ ...client, secret: text }))).status ===
          200;
      },
    },
    // Last, because it uses the token.
    refreshing: {
      accepts: ["refresh"],
      async with(token) {
        const form = { grant_type: "refresh_token", refresh_token: token };
        return (await postForm(test, "/oauth/token", form, basic(client))).status === 200;
      },
    },
  };
  for (const [place, { accepts, with: use }] of Object.entries(places)) {
    const accepted: string[] = [];
    for (const [name, token] of Object.entries(credentials)) if (await use(token)) accepted.push(name);
    assert.deepEqual(accepted, accepts, place);
  }
}, settings);

Deno.test("a token is never read from an address, and the token endpoint only takes forms", async () => {
  const { body } = await exchange(test, app, await newCode());
  const ask = (
    path: string,
    init: { method?: string; headers?: Record<string, string>; body?: string } = {},
  ) => test.app.request(new URL(path, test.config.baseUrl), init);
  assert.equal((await ask(`/oauth/userinfo?access_token=${body.access_token}`)).status, 401);
  const query = new URLSearchParams({ grant_type: "refresh_token", refresh_token: body.refresh_token });
  const headers = basic(app);
  assert.equal((await ask(`/oauth/token?${query}`, { headers })).status >= 400, true);
  assert.equal((await ask(`/oauth/token?${query}`, { headers, method: "POST" })).status, 400);
  const json = { ...headers, "content-type": "application/json" };
  const sent = { headers: json, method: "POST", body: JSON.stringify(Object.fromEntries(query)) };
  assert.equal((await ask("/oauth/token", sent)).status, 400);
  assert.equal((await refresh(app, body.refresh_token)).status, 200, "none of them used it");
});

Deno.test("every response names its issuer, also when the person denies", async () => {
  const asking = await addClient(test);
  const { form, cookie } = await consentForm(test, person, authorizeAddress(asking));
  const page = await test.send("/authorize/decision", { form: { ...form, decision: "deny" }, cookie });
  assert.match(await page.text(), new RegExp(`iss=${encodeURIComponent(test.config.baseUrl.origin)}`));
  const answer = await answerOf(test, person, authorizeAddress(app));
  assert.equal(answer.get("iss"), test.config.baseUrl.origin);
});

Deno.test("a public client's refresh tokens rotate, and reuse ends the access", async () => {
  const client = await newClient(test, { isPublic: true });
  const first = await issue(test, { person, client });
  const renew = (token: string) => {
    const form = { grant_type: "refresh_token", refresh_token: token, client_id: client.id };
    return postForm(test, "/oauth/token", form);
  };
  const second = await renew(first.refresh_token);
  const third = await renew(second.body.refresh_token);
  assert.equal((await userinfo(test, third.body.access_token)).status, 200);
  assert.equal((await renew(first.refresh_token)).body.error, "invalid_grant");
  for (const { body } of [second, third]) {
    assert.equal((await userinfo(test, body.access_token)).status, 401);
    assert.equal((await renew(body.refresh_token)).body.error, "invalid_grant");
  }
});

Deno.test("wrong secrets are limited by address, and don't lock the client out", async () => {
  const client = await newClient(test);
  const attempt = (secret: string | null) =>
    postForm(
      test,
      "/oauth/token",
      { grant_type: "refresh_token", refresh_token: "x" },
      basic({ ...client, secret }),
    );
  for (let i = 0; i < 20; i++) assert.equal((await attempt("wrong")).body.error, "invalid_client");
  const limited = await attempt("wrong");
  assert.deepEqual([limited.body.error, limited.headers.get("retry-after")], [
    "temporarily_unavailable",
    "5",
  ]);
  assert.equal((await attempt(client.secret)).body.error, "invalid_grant", "the right one still works");
});

Deno.test("a client has at most 1,000 open device codes", async () => {
  const grants = ["urn:ietf:params:oauth:grant-type:device_code"];
  const [client, other] = [await newClient(test, { grants }), await newClient(test, { grants })];
  await run(
    test,
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
    INSERT INTO oauth_devices (device_hash, user_code, client_id, scopes, address, user_agent, status, created_at,
      expires_at)
    SELECT 'h' || i, 'C' || i, ?, 'openid', 'a' || i, '', 'waiting', ?, ? FROM n`,
    client.id,
    test.now(),
    test.now() + 600_000,
  );
  const begin = async (one: typeof client) =>
    (await postForm(test, "/oauth/device", { scope: "openid" }, basic(one))).body.error;
  assert.deepEqual([await begin(client), await begin(other)], ["temporarily_unavailable", undefined]);
});

testApp(
  "a restored backup revives no used code and no later token, and its refresh tokens go on",
  async (test) => {
    const person = await newMember(test);
    const client = await addClient(test, { consent: false });
    const code = (await answerOf(test, person, authorizeAddress(client))).get("code") ?? "";
    const earlier = await newClient(test);
    const kept = await issue(test, { person, client: earlier });
    const tables = ["oauth_codes", "oauth_grants", "oauth_tokens"];
    for (const table of tables) await run(test, `CREATE TABLE kept_${table} AS SELECT * FROM ${table}`);

    const first = await exchange(test, client, code);
    const refreshed = await postForm(
      test,
      "/oauth/token",
      { grant_type: "refresh_token", refresh_token: kept.refresh_token },
      basic(earlier),
    );
    assert.deepEqual([first.status, refreshed.status], [200, 200]);
    test.advance(60_000);
    for (const table of tables.toReversed()) await run(test, `DELETE FROM ${table}`);
    for (const table of tables) {
      await run(test, `INSERT INTO ${table} SELECT * FROM kept_${table}`);
      await run(test, `DROP TABLE kept_${table}`);
    }

    assert.equal(
      (await exchange(test, client, code)).body.error,
      "invalid_grant",
      "used before, now expired",
    );
    for (const token of [first.body.access_token, refreshed.body.access_token]) {
      assert.equal((await userinfo(test, token)).status, 401);
    }
    const use = async (refresh_token: string) =>
      (await postForm(test, "/oauth/token", { grant_type: "refresh_token", refresh_token }, basic(earlier)))
        .status;
    assert.equal(await use(refreshed.body.refresh_token), 400);
    assert.equal(await use(kept.refresh_token), 200);
  },
  settings,
);
