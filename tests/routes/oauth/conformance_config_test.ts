// What the modules of the OpenID Foundation's plans check of the discovery document and the keys, under their names.
import assert from "node:assert/strict";
import { startTestApp } from "../../support/app/app.ts";
import { rotateSigningKeys } from "../../support/oauth/scene.ts";

const origin = "https://auth.example.com";
const test = await startTestApp({ BASE_URL: origin });

async function read(path: string) {
  const response = await test.app.request(new URL(path, origin));
  assert.equal(response.status, 200);
  assert.match(response.headers.get("content-type") ?? "", /^application\/json/);
  return await response.json();
}
const discovery = () => read("/.well-known/openid-configuration");

/** Reads the keys and checks that none has a private part, and that each has its own id. */
async function checkedKeys() {
  const { keys } = await read("/oauth/jwks");
  for (const key of keys) {
    for (const name of ["d", "p", "q", "dp", "dq", "qi", "k"]) assert.equal(key[name], undefined, name);
    assert.equal(key.use, "sig");
    for (const name of ["n", "e", "x", "y"]) assert.match(key[name] ?? "A", /^[\w-]+$/, name);
  }
  const ids: string[] = keys.map(({ kid }: { kid: string }) => kid);
  assert.ok(ids.every(Boolean) && new Set(ids).size === ids.length);
  return ids;
}

Deno.test("oidcc-discovery-endpoint-verification", async () => {
  const document = await discovery();
  assert.equal(document.issuer, origin);
  assert.deepEqual(document.response_types_supported, ["code"]);
  assert.deepEqual(document.subject_types_supported, ["public"]);
  assert.ok(document.id_token_signing_alg_values_supported.includes("RS256"));
  assert.ok(document.claims_supported.includes("sub"));
  assert.ok(document.grant_types_supported.includes("authorization_code"));
  assert.ok(document.scopes_supported.includes("openid"));
  for (const scope of document.scopes_supported) assert.match(scope, /^[\x21\x23-\x5b\x5d-\x7e]+$/);
  assert.deepEqual(document.code_challenge_methods_supported, ["S256"]);
  for (const name of ["authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri"]) {
    assert.ok(document[name], name);
  }
  for (const [name, value] of Object.entries(document)) {
    if (/_(endpoint|uri)$/.test(name)) assert.ok(String(value).startsWith(`${origin}/oauth/`), name);
  }
  assert.equal(document.authorization_response_iss_parameter_supported, true);
  // The default of the first is true.
  assert.deepEqual(
    ["request_uri_parameter_supported", "request_parameter_supported", "claims_parameter_supported"].map(
      (name) => document[name],
    ),
    [false, false, false],
  );
  await checkedKeys();
});

Deno.test("oidcc-rp-initiated-logout-discovery-endpoint-verification", async () => {
  assert.equal((await discovery()).end_session_endpoint, `${origin}/oauth/logout`);
});

Deno.test("oidcc-backchannel-logout-discovery-endpoint-verification", async () => {
  const document = await discovery();
  assert.deepEqual(
    [document.backchannel_logout_supported, document.backchannel_logout_session_supported],
    [true, true],
  );
});

Deno.test("oidcc-server-rotate-keys", async () => {
  const before = await checkedKeys();
  await rotateSigningKeys(test);
  const after = await checkedKeys();
  assert.equal(after.length, before.length + 2);
  for (const id of before) assert.ok(after.includes(id));
});
