// What providers send has the bounds of request bodies: depth, names and values, and the length of addresses.
import assert from "node:assert/strict";
import { jsonDepthMax, objectKeysMax } from "../../../../domain/limits.ts";
import { endpointCharactersMax } from "../../../../domain/people/provider_metadata.ts";
import { testApp } from "../../../support/app/app.ts";
import { type IssuerEndpoint, withIssuer } from "../../../support/identity_providers/issuer.ts";
import { addProvider, assertRejected } from "../../../support/identity_providers/providers.ts";
import { newOrganization } from "../../../support/people/scene.ts";
import { newVisitor } from "../../../support/identity_providers/visitor.ts";

const person = { sub: "ada", email: "ada@example.com", email_verified: true };
const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
const names = Object.fromEntries(Array.from({ length: objectKeysMax + 1 }, (_, n) => [`n${n}`, n]));

/** Adds a field to an honest response, in text: `JSON.stringify` doesn't write such depths. */
const withField = (value: string) => async (honest: () => Promise<Response>) => {
  const text = JSON.stringify(await (await honest()).json());
  return new Response(`${text.slice(0, -1)},"more":${value}}`, {
    headers: { "content-type": "application/json" },
  });
};

testApp("rejects responses of providers beyond the bounds of bodies", async (test) => {
  const endpoints: readonly IssuerEndpoint[] = ["discovery", "token", "keys", "userinfo"];
  const values = [nested(30_000), nested(jsonDepthMax), JSON.stringify(names)];
  let providers = 0;
  for (const isCompany of [false, true]) {
    for (const endpoint of endpoints) {
      for (const value of values) {
        await withIssuer({ person: { sub: "ada" } }, async (issuer) => {
          const slug = `p${++providers}`;
          const organizationId = await newOrganization(test, slug);
          const company = { organizationId, domains: [`${slug}.example`] };
          await addProvider(test, issuer, { slug, ...(isCompany ? { company } : {}) });
          issuer.lies = { respond: { [endpoint]: withField(value) } };
          const visitor = newVisitor(test);
          const name = `${endpoint} ${value.slice(0, 20)} ${isCompany}`;
          const { status } = await assertRejected(test, visitor, () => visitor.signInWith(slug), { name });
          assert.equal(status, 502, name);
        });
      }
    }
  }
});

testApp("sends no one to addresses longer than URLs may be", async (test) => {
  await withIssuer({ person }, async (issuer) => {
    for (const name of ["authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint"]) {
      const slug = name.replaceAll("_", "-");
      await addProvider(test, issuer, { slug });
      issuer.lies = { discovery: { [name]: `${issuer.url}/${"x".repeat(endpointCharactersMax)}` } };
      const visitor = newVisitor(test);
      const { status } = await assertRejected(test, visitor, () => visitor.signInWith(slug), { name });
      assert.equal(status, 502, name);
    }
  });
});
