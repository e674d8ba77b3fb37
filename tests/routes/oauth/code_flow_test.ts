// The path of an application: authorize, consent, token, userinfo, refresh; and what ends its access.
import assert from "node:assert/strict";
import * as client from "openid-client";
import { startTestApp } from "../../support/app/app.ts";
import {
  addClient,
  addResource,
  answerOf,
  authorizeAddress,
  confirmed,
  consentForm,
  consentTo,
  exchange,
  post,
  redirectUri,
  userinfo,
} from "../../support/oauth/scene.ts";
import { run } from "../../support/people/scene.ts";

const test = await startTestApp();

/** A person with consent to a new client, and the tokens that it got. */
async function connected(changes: Record<string, string> = {}) {
  const person = await confirmed(test, await test.signUp());
  const app = await addClient(test);
  const address = authorizeAddress(app, changes);
  const answer = await consentTo(test, person, address);
  const code = answer.get("code") ?? "";
  const { body } = await exchange(test, app, code);
  return { person, app, address, code, tokens: body };
}

const refresh = (app: { id: string; secret: string }, token: string, more: Record<string, string> = {}) =>
  post(test, "/oauth/token", { grant_type: "refresh_token", refresh_token: token, ...more }, app);

Deno.test("signs someone in to an application of openid-client", async () => {
  const person = await confirmed(test, await test.signUp());
  const app = await addClient(test);
  const options = {
    execute: [client.allowInsecureRequests],
    [client.customFetch]: (url: string, init: Parameters<typeof test.app.request>[1]) =>
      Promise.resolve(test.app.request(url, init)),
  };
  const config = await client.discovery(
    test.config.baseUrl,
    app.id,
    // The app's clock is the test's.
    { [client.clockSkew]: Math.round((test.now() - Date.now()) / 1_000) },
    client.ClientSecretBasic(app.secret),
    // deno-lint-ignore no-explicit-any -- the library's own types of fetch
    options as any,
  );
  const pkceCodeVerifier = client.randomPKCECodeVerifier();
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: "openid profile email groups",
    state: "s1",
    nonce: "n1",
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: "S256",
  });
  const answer = await consentTo(test, person, url.pathname + url.search);
  const tokens = await client.authorizationCodeGrant(config, new URL(`${redirectUri}?${answer}`), {
    pkceCodeVerifier,
    expectedState: "s1",
    expectedNonce: "n1",
  });
  const claims = tokens.claims();
  assert.equal(claims?.sub, person.userId);
  assert.deepEqual(claims?.["amr"], ["pwd"]);
  const info = await client.fetchUserInfo(config, tokens.access_token, person.userId);
  assert.equal(info.email, person.email);
  assert.equal(info.email_verified, true);
  assert.deepEqual(info["groups"], [person.organizationId, `${person.organizationId}:OWNER`]);
  const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? "");
  assert.equal(refreshed.claims()?.sub, person.userId);
});

Deno.test("asks for consent once, and never for a company's own application", async () => {
  const { person, address } = await connected();
  assert.equal((await answerOf(test, person, address)).get("state"), "s1");
  const own = await addClient(test, { consent: false });
  assert.notEqual((await answerOf(test, person, authorizeAddress(own))).get("code"), null);
});

Deno.test("ends access tokens with the session on the next request", async () => {
  const { person, tokens } = await connected();
  assert.equal((await userinfo(test, tokens.access_token)).status, 200);
  await test.send("/api/auth/sign-out", { method: "POST", cookie: person.cookie });
  assert.equal((await userinfo(test, tokens.access_token)).body.error, "invalid_token");
});

Deno.test("ends the access of a removed member and of a disabled client", async () => {
  const { person, app, tokens } = await connected();
  await run(test, "UPDATE oauth_clients SET disabled_at = 1 WHERE id = ?", app.id);
  assert.equal((await userinfo(test, tokens.access_token)).status, 401);
  await run(test, "UPDATE oauth_clients SET disabled_at = NULL WHERE id = ?", app.id);
  assert.equal((await userinfo(test, tokens.access_token)).status, 200);
  await run(test, "DELETE FROM memberships WHERE user_id = ?", person.userId);
  assert.equal((await userinfo(test, tokens.access_token)).status, 401);
  assert.equal((await refresh(app, tokens.refresh_token)).body.error, "invalid_grant");
});

Deno.test("pauses tokens of a resource while the organization is suspended", async () => {
  const person = await confirmed(test, await test.signUp());
  const app = await addClient(test);
  const uri = "https://paused.example.com";
  await addResource(test, { uri });
  const address = authorizeAddress(app, { resource: `${uri}/`, scope: "tools:call unknown" });
  const { body } = await exchange(test, app, (await consentTo(test, person, address)).get("code") ?? "");
  assert.equal(body.scope, "tools:call");
  assert.equal((await userinfo(test, body.access_token)).body.error, "invalid_token");
  const suspend = (at: number | null) =>
    run(test, "UPDATE organizations SET suspended_at = ? WHERE id = ?", at, person.organizationId);
  await suspend(1);
  assert.equal((await refresh(app, body.refresh_token)).body.error, "invalid_grant");
  await suspend(null);
  assert.equal((await refresh(app, body.refresh_token)).status, 200);
});

Deno.test("signs JWTs for a resource that reads them itself", async () => {
  const person = await confirmed(test, await test.signUp());
  const app = await addClient(test);
  const uri = "https://jwt.example.com";
  await addResource(test, { uri, format: "jwt" });
  const answer = await consentTo(test, person, authorizeAddress(app, { resource: uri, scope: "tools:call" }));
  const { body } = await exchange(test, app, answer.get("code") ?? "");
  const [header, claims] = body.access_token.split(".").slice(0, 2).map((part: string) =>
    JSON.parse(atob(part))
  );
  assert.equal(header.typ, "at+jwt");
  assert.deepEqual([claims.aud, claims.sub, claims.scope, claims.exp - claims.iat], [
    uri,
    person.userId,
    "tools:call",
    300,
  ]);
  assert.deepEqual([claims.iss, claims.client_id], [test.config.baseUrl.origin, app.id]);
  assert.ok(claims.jti);
});

Deno.test("repeats the successor of a refresh token within ten seconds, and ends the grant after that", async () => {
  const { app, tokens } = await connected();
  const first = await refresh(app, tokens.refresh_token);
  const again = await refresh(app, tokens.refresh_token);
  assert.equal(again.body.refresh_token, first.body.refresh_token);
  test.advance(10_001);
  assert.equal((await refresh(app, tokens.refresh_token)).body.error, "invalid_grant");
  assert.equal((await refresh(app, first.body.refresh_token)).body.error, "invalid_grant");
  assert.equal((await userinfo(test, first.body.access_token)).status, 401);
});

Deno.test("ends the grant when a refresh token is repeated after its successor was used", async () => {
  const { app, tokens } = await connected();
  const first = await refresh(app, tokens.refresh_token);
  const second = await refresh(app, first.body.refresh_token);
  assert.equal((await refresh(app, tokens.refresh_token)).body.error, "invalid_grant");
  assert.equal((await userinfo(test, second.body.access_token)).status, 401);
});

Deno.test("gives parallel refreshes of one token the same successor", async () => {
  const { app, tokens } = await connected();
  const answers = await Promise.all(Array.from({ length: 8 }, () => refresh(app, tokens.refresh_token)));
  assert.deepEqual(answers.map(({ status }) => status), Array(8).fill(200));
  assert.equal(new Set(answers.map(({ body }) => body.refresh_token)).size, 1);
});

Deno.test("narrows scopes with a refresh, and never widens them", async () => {
  const { app, tokens } = await connected({ scope: "openid email" });
  const narrow = await refresh(app, tokens.refresh_token, { scope: "openid" });
  assert.deepEqual(Object.keys((await userinfo(test, narrow.body.access_token)).body), ["sub"]);
  assert.equal(
    (await refresh(app, narrow.body.refresh_token, { scope: "openid profile" })).body.error,
    "invalid_scope",
  );
});

Deno.test("keeps offline access after the session, until its person is disabled", async () => {
  const { person, app, tokens } = await connected({ scope: "openid offline_access" });
  await test.send("/api/auth/sign-out", { method: "POST", cookie: person.cookie });
  const { status, body } = await refresh(app, tokens.refresh_token);
  assert.equal(status, 200);
  await run(test, "UPDATE users SET disabled_at = 1 WHERE id = ?", person.userId);
  assert.equal((await refresh(app, body.refresh_token)).body.error, "invalid_grant");
});

Deno.test("shows a code's client its organization, its role, and only groups that access names", async () => {
  const person = await confirmed(test, await test.signUp());
  const access = { organizationIds: [person.organizationId], minRole: "ADMIN" };
  const app = await addClient(test, { access });
  const answer = await consentTo(test, person, authorizeAddress(app));
  const { body } = await exchange(test, app, answer.get("code") ?? "");
  assert.equal((await userinfo(test, body.access_token)).body.organization.role, "OWNER");
  await run(test, "UPDATE memberships SET role = 'MEMBER' WHERE user_id = ?", person.userId);
  assert.equal((await userinfo(test, body.access_token)).status, 401);
  const page = await test.send(authorizeAddress(app), { cookie: person.cookie });
  assert.equal(page.status, 403);
});

Deno.test("names the person and the host on the consent page", async () => {
  const person = await confirmed(test, await test.signUp());
  const { html } = await consentForm(test, person, authorizeAddress(await addClient(test)));
  for (const text of [person.email, "app.example.com", "Grafana"]) assert.ok(html.includes(text), text);
});
