// A provider that lies: in its ID token, in its other responses, and in what the browser brings back. Each lie ends on a page.
import assert from "node:assert/strict";
import { type TestApp, testApp } from "../../../support/app/app.ts";
import { type IssuerPerson, type Lies, withIssuer } from "../../../support/identity_providers/issuer.ts";
import { addProvider, assertRejected } from "../../../support/identity_providers/providers.ts";
import { newVisitor } from "../../../support/identity_providers/visitor.ts";

const ada: IssuerPerson = { sub: "ada", email: "ada@example.com", email_verified: true, name: "Ada" };
const now = () => Math.floor(Date.now() / 1000);
const evil = "https://evil.example";
const announcesAll = {
  id_token_signing_alg_values_supported: ["none", "HS256", "RS256"],
  token_endpoint_auth_signing_alg_values_supported: ["none", "HS256", "RS256"],
};

const canceled = "a cancellation";

/** Each would sign someone in if one check were missing. */
const lies: Readonly<Record<string, Lies>> = {
  "another issuer": { claims: { iss: evil } },
  "the issuer with a slash": { claims: { iss: "http://127.0.0.1/" } },
  "another tenant": {
    claims: { iss: undefined, tid: "other" },
    discovery: { issuer: "http://127.0.0.1/{tenantid}" },
  },
  "no issuer": { claims: { iss: undefined } },
  "another audience": { claims: { aud: "other" } },
  "an audience without this client": { claims: { aud: ["other", "another"] } },
  "no audience": { claims: { aud: undefined } },
  "another authorized party among several audiences": {
    claims: { aud: ["gatehouse", "other"], azp: "other" },
  },
  "several audiences without an authorized party": { claims: { aud: ["gatehouse", "other"] } },
  "another authorized party": { claims: { azp: "other" } },
  "another nonce": { claims: { nonce: "other" } },
  "no nonce": { claims: { nonce: undefined } },
  "an empty nonce": { claims: { nonce: "" } },
  "an expired token": { claims: { iat: now() - 7200, exp: now() - 3600 } },
  "no expiry": { claims: { exp: undefined } },
  "an expiry that is a text": { claims: { exp: String(now() + 300) } },
  "a token that isn't valid yet": { claims: { nbf: now() + 3600 } },
  "no subject": { claims: { sub: undefined } },
  "an empty subject": { claims: { sub: "" } },
  "a subject that is a number": { claims: { sub: 1 } },
  "a subject that is a list": { claims: { sub: ["ada"] } },
  "a subject of 256 characters": { claims: { sub: "a".repeat(256) } },
  "a subject with a NUL": { claims: { sub: "ada\u0000" } },
  "no signature": { signature: "none" },
  "no signature, announced": { signature: "none", discovery: announcesAll },
  "no algorithm in spite of a signature": { header: { alg: "none" } },
  "the public key as a secret": { signature: "publicKeyAsSecret" },
  "the public key as a secret, announced": { signature: "publicKeyAsSecret", discovery: announcesAll },
  "another key": { signature: "otherKey" },
  "a broken signature": { signature: "broken" },
  "an unknown key id": { header: { kid: "unknown" } },
  "an algorithm of another kind": { header: { alg: "ES256" } },
  "critical extensions": { header: { crit: ["exp"] } },
  "no ID token": { tokens: { id_token: undefined } },
  "an ID token that is none": { tokens: { id_token: "a.b.c" } },
  "no access token": { tokens: { access_token: undefined } },
  "another token type": { tokens: { token_type: "mac" } },
  "a state of its own": { callback: { state: "A".repeat(43) } },
  "no state": { callback: { state: undefined } },
  "another issuer in the redirect": { callback: { iss: evil } },
  "no issuer in the redirect": { callback: { iss: undefined } },
  "no code": { callback: { code: undefined } },
  "an unknown code": { callback: { code: "unknown" } },
  "an ID token in the redirect": { callback: { code: undefined, id_token: "a.b.c" } },
  "an error": { callback: { code: undefined, error: "server_error", error_description: `<b>${evil}</b>` } },
  [canceled]: { callback: { code: undefined, error: "access_denied" } },
  "a discovery document of another issuer": { discovery: { issuer: evil } },
  "another person at userinfo": { claims: { email: undefined }, userinfo: { sub: "eve" } },
  "no person at userinfo": { claims: { email: undefined }, userinfo: { sub: undefined } },
};

/** Without the state, there is no visit. The others are no attack: the person canceled, or the provider has trouble. */
const unaudited: ReadonlySet<string> = new Set([
  ...["a state of its own", "no state"],
  ...[canceled],
]);
/** Some are also tried as someone who has signed in before. */
const knownToo =
  /^(another (issuer|audience|nonce|key)|no signature|an unknown code|another person at userinfo)$/;

async function assertLie(test: TestApp, name: string, slug: string): Promise<void> {
  const visitor = newVisitor(test);
  const visit = () => visitor.signInWith(slug);
  const { html } = await assertRejected(test, visitor, visit, { name, isAudited: !unaudited.has(name) });
  assert.ok(!html.includes("evil.example"), `${name}: repeats the provider`);
}

testApp("signs nobody in when a provider lies", async (test) => {
  for (const [index, [name, lie]] of Object.entries(lies).entries()) {
    await withIssuer({ person: ada, path: "/tenant" }, async (issuer) => {
      await addProvider(test, issuer, { slug: `p${index}` });
      issuer.lies = lie;
      await assertLie(test, name, `p${index}`);
    });
  }
  // The same visit without a lie.
  await withIssuer({ person: ada }, async (issuer) => {
    await addProvider(test, issuer);
    const { status, url } = await newVisitor(test).signInWith("peer");
    assert.deepEqual([status, url.pathname], [200, "/portal"]);
    const tried = Object.entries(lies).filter(([name]) => knownToo.test(name));
    assert.equal(tried.length, 7);
    for (const [name, lie] of tried) {
      issuer.lies = lie;
      await assertLie(test, name, "peer");
    }
    issuer.lies = {};
    issuer.rotateKey();
    const rotated = await newVisitor(test).signInWith("peer");
    assert.equal(rotated.url.pathname, "/portal");
  });
});
