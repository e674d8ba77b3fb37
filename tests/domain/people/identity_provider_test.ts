// Claims of providers, which may contain anything.
import assert from "node:assert/strict";
import { githubClaims, openIdClaims } from "../../../domain/people/identity_provider.ts";
import { nameFault } from "../../../domain/name.ts";
import fc from "../../support/runner/fast_check.ts";

const provider = {
  kind: "oidc",
  issuer: "https://id.example",
  trustEmail: false,
  organizationId: null,
} as const;

Deno.test("a name is cleaned and shortened, or another one is used", () => {
  const nameOf = (claims: Record<string, unknown>) => openIdClaims(provider, { sub: "1", ...claims })?.name;
  assert.equal(nameOf({ name: "  Ada\n\tLovelace " }), "Ada Lovelace");
  assert.equal(nameOf({ name: "👩‍🚀".repeat(200) }), [..."👩‍🚀".repeat(200)].slice(0, 100).join("").trim());
  assert.equal(nameOf({ name: "\u200b\u00ad", given_name: "Ada", family_name: "L" }), "Ada L");
  assert.equal(nameOf({ name: 7, given_name: {}, preferred_username: "ada" }), "ada");
  assert.equal(nameOf({ email: "Ada@Example.com" }), "ada");
  assert.equal(nameOf({}), "Unnamed");
});

Deno.test("any claims give valid ones or none, and only the boolean true vouches", () => {
  const claims = fc.dictionary(
    fc.constantFrom(
      "sub",
      "email",
      "email_verified",
      "xms_edov",
      "name",
      "given_name",
      "preferred_username",
      "auth_time",
    ),
    fc.oneof(
      fc.jsonValue({ maxDepth: 1 }),
      fc.array(fc.constantFrom("a", "@", ".", "\u0000", "\ud800", "\u202e", "\u200b", " "), {
        maxLength: 300,
      })
        .map((characters) => characters.join("")),
      fc.constant("ada@example.com"),
    ),
  );
  fc.assert(fc.property(claims, fc.jsonValue(), (raw, emails) => {
    for (
      const read of [openIdClaims(provider, raw), githubClaims("https://github.com", { user: raw, emails })]
    ) {
      if (read === null) continue;
      assert.ok(read.subject.length >= 1 && read.subject.length <= 255);
      assert.ok([...read.name].length >= 1 && [...read.name].length <= 100 && nameFault(read.name) === null);
      assert.ok(!/[\p{Cc}\p{Cs}]/u.test(read.name + read.subject));
      assert.ok(!read.vouches || (read.email !== null && raw["email_verified"] === true));
    }
  }));
});
