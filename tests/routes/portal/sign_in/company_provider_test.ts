// An organization's own provider under attack: it is believed for its verified domains alone, and reaches no private address.
import assert from "node:assert/strict";
import { type TestApp, testApp } from "../../../support/app/app.ts";
import { startIssuer, type TestIssuer } from "../../../support/identity_providers/issuer.ts";
import { addProvider, assertRejected } from "../../../support/identity_providers/providers.ts";
import { newVisitor } from "../../../support/identity_providers/visitor.ts";
import { me } from "../../../support/people/people.ts";
import { newOrganization, newPerson, run } from "../../../support/people/scene.ts";
import { webhookSettings } from "../../../support/webhooks/endpoints.ts";

/** Defines a test with an organization whose provider `corp` may speak for corp.example. */
function companyTest(
  name: string,
  use: (test: TestApp, issuer: TestIssuer, organizationId: string) => Promise<void>,
  settings: Parameters<typeof testApp>[2] = webhookSettings,
): void {
  testApp(name, async (test) => {
    await using issuer = startIssuer();
    const organizationId = await newOrganization(test, "Corp");
    const company = { organizationId, domains: ["corp.example"], role: "ADMIN" } as const;
    await addProvider(test, issuer, { slug: "corp", name: "Corp", company });
    await use(test, issuer, organizationId);
  }, settings);
}

companyTest(
  "is believed for verified domains alone, and makes members of its organization alone",
  async (test, issuer, organizationId) => {
    // Someone new.
    issuer.person = { sub: "ada", email: "Ada@Corp.Example", name: "Ada" };
    const ada = newVisitor(test);
    assert.equal((await ada.signInWith("corp")).status, 200);
    const { user, memberships } = await me(test, await ada.cookie());
    assert.equal(user?.email, "ada@corp.example");
    assert.deepEqual(memberships.map(({ organizationId: id, role }) => [id, role]), [[
      organizationId,
      "ADMIN",
    ]]);

    // Addresses of other domains: of no one, of an account, and of one that looks alike; and no address.
    await run(
      test,
      "INSERT INTO organization_domains (organization_id, domain, token, created_at) VALUES (?, 'claimed.example', 'x', 0)",
      organizationId,
    );
    const victim = await newPerson(test, {
      organizationId: await newOrganization(test, "Elsewhere"),
      role: "OWNER",
    });
    const others = [
      "new@other.example",
      victim.email,
      "ada@sub.corp.example",
      "ada@corp.example.evil.example",
      "ada@corp.example@evil.example",
      "ada@xcorp.example",
      "ada@claimed.example",
      undefined,
    ];
    for (const email of others) {
      issuer.person = { sub: `as ${email}`, email, email_verified: true };
      const visitor = newVisitor(test);
      await assertRejected(test, visitor, () => visitor.signInWith("corp"), { name: `as ${email}` });
    }
    // It says itself that the address isn't proved.
    const colleague = await newPerson(test, null);
    await run(test, "UPDATE users SET email = 'bob@corp.example' WHERE id = ?", colleague.userId);
    for (const sub of ["bob", "carol"]) {
      issuer.person = { sub, email: `${sub}@corp.example`, email_verified: false };
      const visitor = newVisitor(test);
      await assertRejected(test, visitor, () => visitor.signInWith("corp"), { name: `not verified, ${sub}` });
    }

    // Someone who is known, whose address is no longer of a verified domain, or whose domain isn't verified anymore.
    issuer.person = { sub: "ada", email: "ada@corp.example" };
    await run(test, "UPDATE users SET email = 'ada@home.example' WHERE email = 'ada@corp.example'");
    const moved = newVisitor(test);
    await assertRejected(test, moved, () => moved.signInWith("corp"), { name: "another address" });
    await run(test, "UPDATE users SET email = 'ada@corp.example' WHERE email = 'ada@home.example'");
    const callback = await moved.untilCallback("corp");
    await run(test, "UPDATE organization_domains SET verified_at = NULL WHERE domain = 'corp.example'");
    await assertRejected(test, moved, () => moved.open(callback), { name: "a domain without proof" });
  },
);

companyTest(
  "doesn't put identities of another provider within reach of its organization",
  async (test, issuer) => {
    // The same issuer and subjects as the service's provider, but for other addresses.
    await addProvider(test, issuer, { slug: "peer" });
    issuer.person = { sub: "grace", email: "grace@home.example", email_verified: true };
    await newVisitor(test).signInWith("peer");
    issuer.person = { ...issuer.person, email: "grace@corp.example" };
    const visitor = newVisitor(test);
    await assertRejected(test, visitor, () => visitor.signInWith("corp"), {
      name: "an identity of someone else",
    });
  },
);

companyTest("reaches no private address", async (test, issuer) => {
  const visitor = newVisitor(test);
  await assertRejected(test, visitor, () => visitor.signInWith("corp"), { name: "a private address" });
  assert.deepEqual(issuer.requests, []);
}, {});

companyTest("checks each address that the provider names, and follows no redirect", async (test, issuer) => {
  const requests: string[] = [];
  const options = { port: 0, hostname: "127.0.0.2", onListen() {} };
  const internal = Deno.serve(options, ({ method, url }) => {
    requests.push(`${method} ${url}`);
    return Response.json({});
  });
  const target = `http://127.0.0.2:${internal.addr.port}/`;
  issuer.person = { sub: "ada", email: "ada@corp.example" };
  const redirect = () => new Response(null, { status: 307, headers: { location: target } });
  const lies = [
    ...["token_endpoint", "jwks_uri"].map((name) => ({ discovery: { [name]: target } })),
    { discovery: { userinfo_endpoint: target }, claims: { email: undefined } },
    ...["discovery", "token", "keys"].map((name) => ({ respond: { [name]: redirect } })),
  ];
  for (const [index, lie] of lies.entries()) {
    // One entry a minute says that a provider is down.
    test.advance(60_000);
    // Another issuer as far as the kept documents are concerned.
    await run(test, "UPDATE identity_providers SET updated_at = ?", index);
    issuer.lies = lie;
    const visitor = newVisitor(test);
    await assertRejected(test, visitor, () => visitor.signInWith("corp"), { name: JSON.stringify(lie) });
  }
  assert.deepEqual(requests, []);
  await internal.shutdown();
}, { WEBHOOK_ALLOWED_HOSTS: "127.0.0.1/32" });
