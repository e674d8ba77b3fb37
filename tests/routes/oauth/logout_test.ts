// Tests signing out from applications: the confirmation page, return addresses, and logout tokens for applications.
import assert from "node:assert/strict";
// deno-lint-ignore no-import-prefix
import { decodeProtectedHeader, importJWK, jwtVerify } from "npm:jose@6.2.18";
import { oauthWork } from "../../../services/oauth/mod.ts";
import { startTestApp, type TestApp, testApp, type TestPerson } from "../../support/app/app.ts";
import { onBothDatabases } from "../../support/meter/usage.ts";
import { issue, newClient, newMember } from "../../support/oauth/issued.ts";
import { run } from "../../support/people/scene.ts";

const settings = { SECRETS_KEY: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=" };
const returnUri = "https://grafana.example.com/signed-out";

async function logout(test: TestApp, { cookie }: { cookie: string }, parameters: Record<string, string>) {
  const headers = { "sec-fetch-dest": "document" };
  const response = await test.send(`/oauth/logout?${new URLSearchParams(parameters)}`, { cookie, headers });
  const { status } = response;
  return { status, location: response.headers.get("location"), html: await response.text() };
}

async function isSignedIn(test: TestApp, { cookie }: TestPerson): Promise<boolean> {
  return (await (await test.send("/api/auth/me", { cookie })).json()).authenticated;
}

async function scene(test: TestApp, backchannelLogoutUri?: string) {
  const person = await newMember(test);
  const client = await newClient(test, {
    postLogoutRedirectUris: [returnUri],
    ...(backchannelLogoutUri === undefined ? {} : { backchannelLogoutUri }),
  });
  const { id_token: hint } = await issue(test, { person, client });
  return { person, client, hint: hint as string };
}

testApp("a hint of this session signs out without a question, and goes back with the state", async (test) => {
  const { person, hint } = await scene(test);
  test.advance(3_600_000);
  const { status, location } = await logout(test, person, {
    id_token_hint: hint,
    post_logout_redirect_uri: returnUri,
    state: "a b",
  });
  assert.deepEqual(
    [status, location],
    [302, `${returnUri}?state=a%20b`],
    "an expired ID token is a hint, too",
  );
  assert.equal(await isSignedIn(test, person), false);
}, settings);

testApp("without such a hint, a page asks, and its form signs out", async (test) => {
  const { person, client, hint } = await scene(test);
  const other = await newMember(test, "Eve");
  const back = { post_logout_redirect_uri: returnUri, state: "x" };
  for (
    const [who, parameters] of [
      [person, {}],
      [person, { client_id: client.id, ...back }],
      [other, { id_token_hint: hint, ...back }],
    ] as const
  ) {
    const { status, html } = await logout(test, who, parameters);
    assert.equal(status, 200);
    assert.match(html, /Sign out\?/);
    assert.equal(await isSignedIn(test, who), true);
  }
  const form = { client_id: client.id, ...back };
  const forged = await test.send("/sign-out/confirm", {
    cookie: person.cookie,
    form,
    headers: { origin: "https://evil.example" },
  });
  assert.equal(forged.status, 403);
  assert.equal(await isSignedIn(test, person), true);
  const done = await test.send("/sign-out/confirm", { cookie: person.cookie, form });
  assert.match(await done.text(), /url=https:\/\/grafana\.example\.com\/signed-out\?state=x/);
  assert.equal(await isSignedIn(test, person), false);
}, settings);

testApp("an image, a prefetch and HEAD sign no one out", async (test) => {
  const { person, hint } = await scene(test);
  const path = `/oauth/logout?id_token_hint=${hint}`;
  for (
    const options of [
      { headers: { "sec-fetch-dest": "image" } },
      { headers: { "sec-fetch-dest": "document", "sec-purpose": "prefetch" } },
      { method: "HEAD" },
    ]
  ) {
    await (await test.send(path, { cookie: person.cookie, ...options })).body?.cancel();
    assert.equal(await isSignedIn(test, person), true, JSON.stringify(options));
  }
}, settings);

testApp("the browser goes only to an address that the client registered", async (test) => {
  const { person, client, hint } = await scene(test);
  const [head = "", body = ""] = hint.split(".");
  const modified = `${head}.${body}.AAAA`;
  for (
    const parameters of [
      { id_token_hint: hint, post_logout_redirect_uri: "https://evil.example" },
      { id_token_hint: hint, post_logout_redirect_uri: `${returnUri}?added=1` },
      { id_token_hint: hint, post_logout_redirect_uri: `${returnUri}/` },
      { post_logout_redirect_uri: returnUri },
      { id_token_hint: modified, client_id: client.id, post_logout_redirect_uri: returnUri },
      { id_token_hint: hint, client_id: (await newClient(test)).id },
      { client_id: "cli_unknown", post_logout_redirect_uri: returnUri },
    ]
  ) {
    const { status, location } = await logout(test, person, parameters);
    assert.deepEqual([status, location], [400, null], JSON.stringify(parameters));
  }
  assert.equal(await isSignedIn(test, person), true);
  const signedOut = await logout(test, { cookie: "" }, {
    client_id: client.id,
    post_logout_redirect_uri: returnUri,
  });
  assert.equal(signedOut.location, returnUri, "someone who isn't signed in is not asked");
  const posted = await test.send("/oauth/logout", {
    form: { id_token_hint: hint },
    headers: { origin: "https://a.example" },
  });
  assert.deepEqual([posted.status, posted.headers.get("location")], [
    303,
    `/oauth/logout?id_token_hint=${hint}`,
  ]);
}, settings);

/** An application that receives logout tokens. */
function receiver(statuses: number[] = []) {
  const tokens: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    tokens.push(new URLSearchParams(await request.text()).get("logout_token") ?? "");
    return new Response("ok", { status: statuses.shift() ?? 200 });
  });
  return { tokens, uri: `http://127.0.0.1:${server.addr.port}/logout`, close: () => server.shutdown() };
}

const work = (test: TestApp) => oauthWork(test.services)[0]?.step();

onBothDatabases(
  "an application receives a logout token when a session is ended, but not when one expires",
  async (test) => {
    const { tokens, uri, close } = receiver();
    try {
      const { person, client, hint } = await scene(test, uri);
      const late = await scene(test, uri);
      await work(test);
      assert.equal(tokens.length, 0);
      await test.send("/api/auth/sign-out", { method: "POST", cookie: person.cookie, json: {} });
      await work(test);
      await work(test);
      assert.equal(tokens.length, 1);
      const { keys } = await (await test.send("/oauth/jwks")).json();
      const { kid, alg, typ } = decodeProtectedHeader(tokens[0] ?? "");
      assert.deepEqual([alg, typ], ["RS256", "logout+jwt"]);
      const key = await importJWK(keys.find((one: { kid: string }) => one.kid === kid), "RS256");
      const { payload } = await jwtVerify(tokens[0] ?? "", key, { currentDate: new Date(test.now()) });
      const claims = JSON.parse(atob((hint.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/")));
      assert.equal(payload.aud, client.id);
      assert.equal(payload.sub, person.userId);
      assert.equal(payload["sid"], claims.sid);
      assert.deepEqual(payload["events"], { "http://schemas.openid.net/event/backchannel-logout": {} });
      assert.equal(payload["nonce"], undefined);

      test.advance(8 * 86_400_000);
      await run(test, "DELETE FROM sessions WHERE user_id = ?", late.person.userId);
      await work(test);
      assert.equal(tokens.length, 1, "the session had expired");
    } finally {
      await close();
    }
  },
  settings,
);

testApp("an application receives a logout token when its access is removed", async (test) => {
  const { tokens, uri, close } = receiver();
  try {
    const { person, client } = await scene(test, uri);
    const consent = [person.userId, client.id, person.organizationId, test.now()];
    await run(test, "INSERT INTO oauth_consents VALUES (?, ?, ?, '', 'openid', ?)", ...consent);
    const path = `/portal/account/applications/${client.id}/remove`;
    const { status } = await test.send(path, { cookie: person.cookie, form: {} });
    assert.equal(status, 303);
    await work(test);
    assert.equal(tokens.length, 1);
  } finally {
    await close();
  }
}, settings);

testApp("a logout is tried three times in five minutes", async (test) => {
  const { tokens, uri, close } = receiver([500, 500, 500, 500]);
  try {
    const { person } = await scene(test, uri);
    await run(test, "DELETE FROM memberships WHERE user_id = ?", person.userId);
    for (const [wait, count] of [[0, 1], [29_999, 1], [1, 2], [239_999, 2], [1, 3], [600_000, 3]] as const) {
      test.advance(wait);
      await work(test);
      assert.equal(tokens.length, count);
    }
  } finally {
    await close();
  }
}, settings);

Deno.test("WebFinger says the same for everyone of a domain, and nothing about others", async () => {
  const test = await startTestApp({ ...settings, OPENID_WEBFINGER: "example.com" });
  try {
    const ask = (query: string) => test.send(`/.well-known/webfinger?${query}`);
    for (const name of ["ada", "nobody-at-all"]) {
      const response = await ask(`resource=acct:${name}@Example.com`);
      assert.equal(response.headers.get("content-type"), "application/jrd+json");
      assert.equal(response.headers.get("access-control-allow-origin"), "*");
      assert.deepEqual(await response.json(), {
        subject: `acct:${name}@Example.com`,
        links: [{ rel: "http://openid.net/specs/connect/1.0/issuer", href: test.config.baseUrl.origin }],
      });
    }
    assert.deepEqual((await (await ask("resource=acct:ada@example.com&rel=other")).json()).links, []);
    for (
      const [query, status] of [["resource=acct:ada@example.org", 404], ["", 400], [
        "resource=https://example.com",
        404,
      ]]
    ) {
      const response = await ask(String(query));
      assert.equal(response.status, status);
      await response.body?.cancel();
    }
  } finally {
    await test.dispose();
  }
});
