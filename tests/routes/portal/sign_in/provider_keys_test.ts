// Providers that replace their signing key without a new name for it: the keys are read again before a signature is rejected.
import assert from "node:assert/strict";
import { providerKeysAgainMs } from "../../../../domain/people/provider_limits.ts";
import { testApp } from "../../../support/app/app.ts";
import { withIssuer } from "../../../support/identity_providers/issuer.ts";
import { addProvider, assertRejected } from "../../../support/identity_providers/providers.ts";
import { newVisitor } from "../../../support/identity_providers/visitor.ts";

const person = { sub: "ada", email: "ada@example.com", email_verified: true };

for (const kid of ["key", null]) {
  const name = kid === null ? "without a key ID" : "under the same key ID";
  testApp(`reads the keys of a provider again that replaced one ${name}`, async (test) => {
    await withIssuer({ person }, async (issuer) => {
      const requestsOf = (path: string) => issuer.requests.filter((request) => request === path).length;
      issuer.kid = kid;
      await addProvider(test, issuer);
      const signIn = () => newVisitor(test).signInWith("peer");
      assert.equal((await signIn()).url.pathname, "/portal");
      issuer.rotateKey({ keepsOld: false });
      test.advance(providerKeysAgainMs);
      assert.equal((await signIn()).url.pathname, "/portal");
      assert.deepEqual([requestsOf("GET /jwks"), requestsOf("POST /token")], [2, 2]);
      assert.equal((await signIn()).url.pathname, "/portal");
      assert.equal(requestsOf("GET /jwks"), 2);
    });
  });
}

testApp("reads the keys of a provider with invalid signatures at most every 10 seconds", async (test) => {
  await withIssuer({ person }, async (issuer) => {
    await addProvider(test, issuer);
    assert.equal((await newVisitor(test).signInWith("peer")).url.pathname, "/portal");
    issuer.lies = { signature: "otherKey" };
    const keysRead = async () => {
      const visitor = newVisitor(test);
      await assertRejected(test, visitor, () => visitor.signInWith("peer"), { name: "another key" });
      return issuer.requests.filter((request) => request === "GET /jwks").length;
    };
    const counts = [await keysRead()];
    for (const ms of [providerKeysAgainMs, 0, providerKeysAgainMs - 1, 1]) {
      test.advance(ms);
      counts.push(await keysRead());
    }
    assert.deepEqual(counts, [1, 2, 2, 2, 3]);
    assert.equal(providerKeysAgainMs, 10_000);
  });
});
