// What the modules of the OpenID Foundation's plan "oidcc-basic-certification-test-plan" check of a provider, under their names.
// These tests were written after the modules; they don't replace a certification.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { startTestApp } from "../../support/app/app.ts";
import { checkedIdToken, newRelyingParty, redeem, type SignedIn } from "../../support/oauth/relying_party.ts";
import {
  addClient,
  challenge,
  post,
  redirectUri,
  type TestClient,
  userinfo,
} from "../../support/oauth/scene.ts";

const test = await startTestApp();
const own = test.config.baseUrl.origin;

const discovery = async () =>
  await (await test.app.request(new URL("/.well-known/openid-configuration", own))).json();

/** Sends a request to userinfo. */
async function askUserinfo(method: string, { token, body }: { token?: string; body?: string }) {
  const response = await test.app.request(new URL("/oauth/userinfo", own), {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" }),
    },
    ...(body === undefined ? {} : { body }),
  });
  return { status: response.status, type: response.headers.get("content-type"), body: await response.json() };
}

/** Checks that the access token works for the same person. @returns The claims. */
async function checkedUserinfo({ tokens, claims }: SignedIn) {
  const { status, body } = await userinfo(test, tokens.access_token);
  assert.equal(status, 200);
  assert.equal(body.sub, claims.sub);
  return body;
}

/** Modules that send one more parameter, or leave one out, and expect the same as without. */
const requests: Readonly<Record<string, Record<string, string | null>>> = {
  "oidcc-server": {},
  "oidcc-ensure-request-without-nonce-succeeds-for-code-flow": { nonce: null },
  "oidcc-display-page": { display: "page" },
  "oidcc-display-popup": { display: "popup" },
  "oidcc-ensure-request-with-unknown-parameter-succeeds": { extra: "foobar" },
  "oidcc-ui-locales": { ui_locales: "se" },
  "oidcc-claims-locales": { claims_locales: "se" },
  "oidcc-ensure-request-with-acr-values-succeeds": { acr_values: "1 2" },
  "oidcc-login-hint": { login_hint: "bob@example.com" },
  "oidcc-ensure-request-with-valid-pkce-succeeds": {
    code_challenge: challenge,
    code_challenge_method: "S256",
  },
};
for (const [module, changes] of Object.entries(requests)) {
  Deno.test(module, async () => {
    const party = await newRelyingParty(test);
    const signedIn = await party.signIn(changes);
    assert.deepEqual(signedIn.asked, ["/sign-in"]);
    await checkedUserinfo(signedIn);
  });
}

const scopes: Readonly<Record<string, { scope: string; claims: string[] }>> = {
  "oidcc-scope-profile": { scope: "openid profile", claims: ["name", "organization", "sub"] },
  "oidcc-scope-email": { scope: "openid email", claims: ["email", "email_verified", "sub"] },
  // A provider without these scopes is not tested for them: it drops them, and says so in the response.
  "oidcc-scope-address": { scope: "openid address", claims: ["sub"] },
  "oidcc-scope-phone": { scope: "openid phone", claims: ["sub"] },
  "oidcc-scope-all": {
    scope: "openid profile email address phone",
    claims: ["email", "email_verified", "name", "organization", "sub"],
  },
  "oidcc-ensure-other-scope-order-succeeds": {
    scope: "email openid",
    claims: ["email", "email_verified", "sub"],
  },
};
for (const [module, { scope, claims }] of Object.entries(scopes)) {
  Deno.test(module, async () => {
    const party = await newRelyingParty(test);
    const signedIn = await party.signIn({ scope });
    const info = await checkedUserinfo(signedIn);
    assert.deepEqual(Object.keys(info).sort(), claims);
    if (claims.includes("email")) assert.equal(info.email_verified, true);
    const { scopes_supported: supported } = await discovery();
    assert.equal(
      signedIn.tokens.scope,
      scope.split(" ").filter((one) => supported.includes(one)).join(" "),
    );
  });
}

Deno.test("oidcc-response-type-missing", async () => {
  const party = await newRelyingParty(test);
  const { answer } = await party.authorize({ response_type: null });
  assert.deepEqual(
    ["error", "state", "iss", "code"].map((name) => answer?.searchParams.get(name)),
    ["invalid_request", "s1", own, null],
  );
});

Deno.test("oidcc-idtoken-signature", async () => {
  const { tokens } = await (await newRelyingParty(test)).signIn();
  const header = JSON.parse(Buffer.from(tokens.id_token.split(".")[0], "base64url").toString());
  assert.equal(header.alg, "RS256");
  assert.ok(header.kid);
});

Deno.test("oidcc-idtoken-unsigned", async () => {
  assert.deepEqual((await discovery()).id_token_signing_alg_values_supported, ["RS256", "ES256"]);
});

Deno.test("oidcc-userinfo-get", async () => {
  const { tokens, claims } = await (await newRelyingParty(test)).signIn();
  const { status, type, body } = await askUserinfo("GET", { token: tokens.access_token });
  assert.equal(status, 200);
  assert.match(type ?? "", /^application\/json/);
  assert.equal(body.sub, claims.sub);
});

Deno.test("oidcc-userinfo-post-header", async () => {
  const { tokens, claims } = await (await newRelyingParty(test)).signIn();
  const { status, body } = await askUserinfo("POST", { token: tokens.access_token });
  assert.deepEqual([status, body.sub], [200, claims.sub]);
});

Deno.test("oidcc-userinfo-post-body", async () => {
  // Optional, and tokens in bodies end up in logs: the module warns.
  const { tokens } = await (await newRelyingParty(test)).signIn();
  const { status, body } = await askUserinfo("POST", { body: `access_token=${tokens.access_token}` });
  assert.deepEqual([status, body.error], [401, "invalid_token"]);
});

Deno.test("oidcc-prompt-login", async () => {
  const party = await newRelyingParty(test);
  const first = await party.signIn();
  test.advance(2_000);
  const second = await party.signIn({ prompt: "login" });
  assert.deepEqual(second.asked, ["/portal/confirm-password"]);
  assert.equal(second.claims.sub, first.claims.sub);
  assert.ok(Number(second.claims["auth_time"]) > Number(first.claims["auth_time"]));
});

Deno.test("oidcc-prompt-none-not-logged-in", async () => {
  const party = await newRelyingParty(test);
  const { answer, asked } = await party.authorize({ prompt: "none" });
  assert.equal(answer?.searchParams.get("error"), "login_required");
  assert.equal(answer?.searchParams.get("state"), "s1");
  assert.deepEqual(asked, []);
});

Deno.test("oidcc-prompt-none-logged-in", async () => {
  const party = await newRelyingParty(test);
  const first = await party.signIn();
  test.advance(1_000);
  const second = await party.signIn({ prompt: "none" });
  assert.deepEqual(second.asked, []);
  assert.deepEqual(
    [second.claims.sub, second.claims["auth_time"]],
    [first.claims.sub, first.claims["auth_time"]],
  );
});

Deno.test("oidcc-max-age-1", async () => {
  const party = await newRelyingParty(test);
  const first = await party.signIn();
  test.advance(2_000);
  const second = await party.signIn({ max_age: "1" });
  assert.deepEqual(second.asked, ["/portal/confirm-password"]);
  assert.ok(Number(second.claims["auth_time"]) > Number(first.claims["auth_time"]));
  assert.ok(Number(second.claims["auth_time"]) >= Math.floor(test.now() / 1_000) - 1);
});

Deno.test("oidcc-max-age-10000", async () => {
  const party = await newRelyingParty(test);
  const first = await party.signIn();
  test.advance(1_000);
  const second = await party.signIn({ max_age: "10000" });
  assert.deepEqual(second.asked, []);
  assert.equal(second.claims["auth_time"], first.claims["auth_time"]);
});

Deno.test("oidcc-id-token-hint", async () => {
  const party = await newRelyingParty(test);
  const first = await party.signIn();
  const second = await party.signIn({ prompt: "none", id_token_hint: first.tokens.id_token });
  assert.equal(second.claims.sub, first.claims.sub);
});

for (const [module, waitMs] of [["oidcc-codereuse", 0], ["oidcc-codereuse-30seconds", 30_000]] as const) {
  Deno.test(module, async () => {
    const party = await newRelyingParty(test);
    const signedIn = await party.signIn();
    await checkedUserinfo(signedIn);
    test.advance(waitMs);
    const { status, body } = await redeem(test, party.client, signedIn.code);
    assert.deepEqual([status, body.error], [400, "invalid_grant"]);
    assert.equal((await userinfo(test, signedIn.tokens.access_token)).status, 401);
  });
}

Deno.test("oidcc-ensure-registered-redirect-uri", async () => {
  const party = await newRelyingParty(test);
  const { answer, page } = await party.authorize({ redirect_uri: "https://app.example.com/callback/other" });
  assert.equal(answer, null);
  assert.equal(page.status, 400);
  assert.match(page.html, /redirect_uri/);
});

Deno.test("oidcc-ensure-post-request-succeeds", async () => {
  const party = await newRelyingParty(test);
  await party.signIn();
  const form = {
    client_id: party.client.id,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: "openid",
    state: "s2",
  };
  const headers = { origin: "https://app.example.com", "sec-fetch-dest": "document" };
  const { location } = await party.browser.open("/oauth/authorize", {
    form,
    headers,
    from: "https://app.example.com",
    stopAt: ({ origin }) => origin !== own,
  });
  assert.equal(location?.searchParams.get("state"), "s2");
  assert.equal((await redeem(test, party.client, location?.searchParams.get("code") ?? "")).status, 200);
});

Deno.test("oidcc-server-client-secret-post", async () => {
  const party = await newRelyingParty(test);
  const { answer } = await party.authorize();
  const form = {
    grant_type: "authorization_code",
    code: answer?.searchParams.get("code") ?? "",
    redirect_uri: redirectUri,
    client_id: party.client.id,
    client_secret: party.client.secret,
  };
  const { status, body } = await post(test, "/oauth/token", form);
  assert.equal(status, 200);
  await checkedIdToken(test, body.id_token, { client: party.client, nonce: "n1" });
});

/** An unsigned request object, which carries another redirect address. */
const requestObject = [{ alg: "none" }, { redirect_uri: "https://app.example.com/other", state: "s9" }]
  .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".") + ".";
const rejected: Readonly<Record<string, { changes: Record<string, string>; error: string }>> = {
  "oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported": {
    changes: { request_uri: "https://app.example.com/request.jwt" },
    error: "request_uri_not_supported",
  },
  "oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported": {
    changes: { request: requestObject },
    error: "request_not_supported",
  },
  "oidcc-ensure-request-object-with-redirect-uri": {
    changes: { request: requestObject },
    error: "request_not_supported",
  },
};
for (const [module, { changes, error }] of Object.entries(rejected)) {
  Deno.test(module, async () => {
    const party = await newRelyingParty(test);
    const { answer, asked } = await party.authorize(changes);
    assert.ok(answer !== null && answer.href.startsWith(`${redirectUri}?`));
    assert.deepEqual([answer.searchParams.get("error"), answer.searchParams.get("state")], [error, "s1"]);
    assert.deepEqual(asked, []);
    const document = await discovery();
    assert.equal(document.request_parameter_supported, false);
    assert.equal(document.request_uri_parameter_supported, false);
    assert.equal(document.request_object_signing_alg_values_supported, undefined);
  });
}

Deno.test("oidcc-claims-essential", async () => {
  // The parameter is optional. It is ignored, so that the module warns of the missing claim.
  assert.equal((await discovery()).claims_parameter_supported, false);
  const party = await newRelyingParty(test);
  await checkedUserinfo(await party.signIn({ claims: '{"userinfo":{"name":{"essential":true}}}' }));
});

Deno.test("oidcc-refresh-token", async () => {
  const party = await newRelyingParty(test);
  const first = await party.signIn();
  const refresh = (client: TestClient, token: string) =>
    post(test, "/oauth/token", { grant_type: "refresh_token", refresh_token: token }, client);
  assert.match(first.tokens.refresh_token, /^[\x21-\x7e]+$/);
  test.advance(1_000);
  const { status, body } = await refresh(party.client, first.tokens.refresh_token);
  assert.equal(status, 200);
  assert.notEqual(body.access_token, first.tokens.access_token);
  const claims = await checkedIdToken(test, body.id_token, { client: party.client, nonce: undefined });
  for (const name of ["iss", "sub", "aud", "auth_time"]) assert.equal(claims[name], first.claims[name], name);
  await checkedUserinfo({ ...first, tokens: body });
  const other = await addClient(test);
  const stolen = await refresh(other, body.refresh_token);
  assert.deepEqual([stolen.status, stolen.body.error], [400, "invalid_grant"]);
  assert.equal((await refresh(party.client, body.refresh_token)).status, 200, "and nothing ends");
});
