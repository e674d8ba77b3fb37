// Providers of the whole service over the operators' API: adding, changing, ordering and deleting them, and what is rejected.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { newId } from "../../../../domain/id.ts";
import { offeredProvidersMax } from "../../../../domain/people/provider_limits.ts";
import { Secrets } from "../../../../services/secrets.ts";
import { type TestApp, testApp } from "../../../support/app/app.ts";
import { senderOf } from "../../../support/operators/operator_api.ts";
import { startDiscovery } from "../../../support/network/discovery.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { run } from "../../../support/people/scene.ts";

const path = "/api/operator/identity-providers";
const secret = "canary-of-a-client-secret";
const key = Array.from({ length: 32 }, () => 7);
const secretsKey = btoa(String.fromCharCode(...key));

/** @returns A function that sends requests of an operator, whose responses never contain the secret. */
function sender(test: TestApp, cookie: string) {
  const send = senderOf(test, { path, cookie });
  return async (route: string, json?: unknown) => {
    const response = await send(route, json);
    assert.ok(!JSON.stringify(response).includes(secret), "the secret is never returned");
    return response;
  };
}

onEveryDatabase("adds, changes, orders and deletes providers, and audits each change", async (test) => {
  await using discovery = startDiscovery();
  const { cookie, userId } = await newOperator(test);
  const send = sender(test, cookie);
  const { issuer } = discovery;
  const json = {
    slug: "okta",
    kind: "oidc",
    name: " Okta ",
    issuer,
    clientId: "client",
    clientSecret: ` ${secret} `,
  };
  const created = await send("POST", { ...json, trustEmail: true });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const { identityProvider: okta } = created.body;
  const createdAt = new Date(test.now()).toISOString();
  assert.match(okta.id, /^idp_[0-9a-f]{32}$/);
  assert.deepEqual(okta, {
    id: okta.id,
    slug: "okta",
    kind: "oidc",
    name: "Okta",
    issuer,
    clientId: "client",
    trustEmail: true,
    signUp: true,
    position: 1,
    redirectUri: "http://localhost:8000/sign-in/with/okta/callback",
    createdAt,
    updatedAt: createdAt,
  });
  assert.deepEqual(discovery.paths, ["/.well-known/openid-configuration", "/keys"]);
  assert.equal((await send("POST", json)).body.error.code, "provider_taken");

  // The secret is encrypted for this row alone.
  const stored = await secretOf(test, okta.id);
  assert.ok(!stored.includes(secret));
  const secrets = new Secrets([new Uint8Array(key)]);
  assert.equal(secrets.open(okta.id, stored), secret);

  const hub = await send("POST", { ...json, slug: "hub", kind: "github", name: "Hub" });
  assert.deepEqual([hub.status, hub.body.identityProvider.position], [201, 2]);
  assert.equal(discovery.paths.at(-1), "/api/v3/");
  const third = (await send("POST", { ...json, slug: "third", signUp: false })).body.identityProvider;
  assert.deepEqual([third.position, third.signUp, third.trustEmail], [3, false, false]);
  // An organization's own provider is no one's business here.
  const { organizationId } = await test.signUp("Ada");
  const own = newId("idp");
  await run(
    test,
    `INSERT INTO identity_providers
  (id, organization_id, slug, kind, name, issuer, client_id, client_secret, position, role, created_at, updated_at)
  VALUES (?, ?, 'own', 'oidc', 'Own', 'https://own.example', 'a', 'plain:a', 0, 'MEMBER', 0, 0)`,
    own,
    organizationId,
  );
  const list = async () =>
    (await send("GET")).body.identityProviders.map((one: typeof okta) => `${one.position} ${one.slug}`);
  assert.deepEqual(await list(), ["1 okta", "2 hub", "3 third"]);
  for (const route of [`GET /${own}`, `DELETE /${own}`]) assert.equal((await send(route)).status, 404);
  assert.equal((await send(`PATCH /${own}`, { name: "Mine" })).status, 404);

  // A change replaces only what is given, and the secret only when it is given.
  test.advance(1_000);
  const renamed = await send(`PATCH /${okta.id}`, { name: "Work", trustEmail: false });
  const updatedAt = new Date(test.now()).toISOString();
  assert.deepEqual(renamed.body.identityProvider, { ...okta, name: "Work", trustEmail: false, updatedAt });
  assert.equal(await secretOf(test, okta.id), stored);
  assert.equal(
    (await send(`PATCH /${okta.id}`, { name: "Work" })).body.identityProvider.updatedAt,
    updatedAt,
  );
  await send(`PATCH /${okta.id}`, { clientSecret: "another" });
  assert.equal(secrets.open(okta.id, await secretOf(test, okta.id)), "another");
  assert.equal((await send(`PATCH /${okta.id}`, { slug: "new" })).body.error.details[0].path, "slug");

  await send(`PATCH /${third.id}`, { position: 1 });
  assert.deepEqual(await list(), ["1 third", "2 okta", "3 hub"]);
  await send(`PATCH /${third.id}`, { position: 2 });
  assert.deepEqual(await list(), ["1 okta", "2 third", "3 hub"]);
  await send(`PATCH /${okta.id}`, { position: 20 });
  assert.deepEqual(await list(), ["1 third", "2 hub", "3 okta"]);
  assert.equal((await send(`DELETE /${third.id}`)).status, 204);
  assert.equal((await send(`DELETE /${third.id}`)).status, 404);
  assert.deepEqual(await list(), ["1 hub", "2 okta"]);
  const ownPosition = await test.opened.database.readFirst(
    sql`SELECT position FROM identity_providers WHERE id = ${own}`,
  );
  assert.deepEqual(ownPosition, { position: 0 });

  const entries = await test.opened.database.read<{ action: string; details: string }>(sql`
  SELECT action, actor_id AS actor, target_name AS target, organization_id AS organization, details FROM audit_events
  WHERE action LIKE 'identity_provider.%' ORDER BY id`);
  const entry = { actor: userId, organization: null };
  assert.deepEqual(entries.map(({ details, ...one }) => ({ ...one, ...JSON.parse(details) })), [
    { ...entry, action: "identity_provider.created", target: "Okta", issuer, trust: "every email address" },
    { ...entry, action: "identity_provider.created", target: "Hub", issuer },
    { ...entry, action: "identity_provider.created", target: "Okta", issuer },
    {
      ...entry,
      action: "identity_provider.changed",
      target: "Work",
      change: "name, trusts every email address: no",
      name: "Work",
      previousName: "Okta",
    },
    { ...entry, action: "identity_provider.changed", target: "Work", change: "client secret" },
    { ...entry, action: "identity_provider.changed", target: "Okta", change: "position" },
    { ...entry, action: "identity_provider.changed", target: "Okta", change: "position" },
    { ...entry, action: "identity_provider.changed", target: "Work", change: "position" },
    { ...entry, action: "identity_provider.deleted", target: "Okta", issuer },
  ]);
  for (const { details } of entries) assert.ok(!details.includes(secret) && !details.includes("another"));
}, { SECRETS_KEY: secretsKey });

async function secretOf({ opened: { database } }: TestApp, id: string): Promise<string> {
  const row = await database.readFirst<{ secret: string }>(
    sql`SELECT client_secret AS secret FROM identity_providers WHERE id = ${id}`,
  );
  return row?.secret ?? "";
}

testApp("rejects issuers that anyone could speak for, and names the field", async (test) => {
  await using discovery = startDiscovery();
  const send = sender(test, (await newOperator(test)).cookie);
  const json = { slug: "a", kind: "oidc", name: "A", clientId: "a", clientSecret: secret };
  const microsoft = "https://login.microsoftonline.com";
  const shared = ["common", "organizations", "consumers", "COMMON", "9188040d-6c67-4c5b-b112-36a304b66dad"];
  const slugs = ["", "A", "-a", "a-", "a_b", "a".repeat(33), "a/b", "é"];
  const notHttps = ["http://example.com", "ftp://example.com", "example.com", "https://a:b@example.com"];
  const notPlain = ["https://example.com/?x", "https://example.com/#x", "https://example.com /"];
  const faults: readonly (readonly [more: Record<string, unknown>, fault: RegExp])[] = [
    ...shared.flatMap((tenant) =>
      ["microsoft", "oidc"].map((kind) =>
        [
          { kind, issuer: `${microsoft}/${tenant}/v2.0` },
          /^issuer must name a single tenant: .*TENANT_ID\/v2\.0\./,
        ] as const
      )
    ),
    [{ kind: "microsoft" }, /^issuer is required/],
    [{}, /^issuer is required/],
    ...[`${microsoft}/x`, `${microsoft}/x/v2.0/y`, "https://example.com/x/v2.0"].map((issuer) =>
      [{ kind: "microsoft", issuer }, /^issuer must be https:\/\/login\.microsoft/] as const
    ),
    [{ kind: "google", issuer: "https://example.com" }, /^issuer must be https:\/\/accounts/],
    [{ kind: "github", issuer: "https://example.com/x" }, /^issuer must be the address of GitHub/],
    ...[...notHttps, ...notPlain].map((issuer) =>
      [{ issuer }, /^issuer must be an https URL without/] as const
    ),
    ...slugs.map((slug) => [{ slug, issuer: discovery.issuer }, /^slug must be 1 to 32/] as const),
    [{ clientSecret: "é" }, /^clientSecret must have 1 to 2000 printable/],
    [{ kind: "saml" }, /^kind must be one of oidc, google, microsoft, github/],
  ];
  for (const [more, fault] of faults) {
    const { status, body } = await send("POST", { ...json, ...more });
    assert.equal(status, 422, JSON.stringify(more));
    const details = body.error.details.map(({ path, message }: Record<string, string>) =>
      `${path} ${message}`
    );
    assert.match(details.join(), fault, JSON.stringify(more));
  }
  assert.deepEqual(discovery.paths, []);
});

testApp("rejects a provider whose discovery document can't be used, and says why", async (test) => {
  await using discovery = startDiscovery();
  const send = sender(test, (await newOperator(test)).cookie);
  const { issuer, metadata } = discovery;
  const json = { slug: "a", kind: "oidc", name: "A", issuer, clientId: "a", clientSecret: secret };
  const original = { ...metadata };
  const faultOf = async (change: Record<string, unknown>, more = {}) => {
    Object.assign(metadata, change);
    const { status, body } = await send("POST", { ...json, ...more });
    for (const name of Object.keys(change)) metadata[name] = original[name];
    assert.equal(status, 422, JSON.stringify(body));
    const [{ path, message }] = body.error.details;
    assert.equal(path, "issuer");
    return message;
  };
  const start = `can't be used: ${issuer}/.well-known/openid-configuration`;
  const noUrl = (name: string) => `names no ${name} with an https URL.`;
  const faults: [name: string, value: unknown, fault: string][] = [
    ["issuer", `${issuer}/`, `names another issuer, “${issuer}/”. The issuer must be exactly the same.`],
    ["issuer", 7, "names no issuer."],
    ["token_endpoint", undefined, noUrl("token_endpoint")],
    ["authorization_endpoint", "http://example.com/authorize", noUrl("authorization_endpoint")],
    ["jwks_uri", "javascript:1", noUrl("jwks_uri")],
    ["response_types_supported", ["id_token"], "doesn't support the response type “code”."],
    ["code_challenge_methods_supported", ["plain"], "doesn't support PKCE with S256."],
    [
      "id_token_signing_alg_values_supported",
      ["HS256", "none"],
      "signs ID tokens neither with RS256 nor with ES256.",
    ],
    [
      "token_endpoint_auth_methods_supported",
      ["private_key_jwt"],
      "accepts no client secret at its token endpoint.",
    ],
  ];
  for (const [name, value, fault] of faults) {
    assert.equal(await faultOf({ [name]: value }), `${start} ${fault}`);
  }
  // Microsoft says nothing about PKCE.
  metadata["code_challenge_methods_supported"] = undefined;
  discovery.keys = { keys: [] };
  assert.equal(await faultOf({}), `${start} names a jwks_uri without keys.`);
  for (
    const [response, fault] of [
      [() => new Response("{}", { status: 404 }), "returns the status 404."],
      [() => Response.redirect(`${issuer}/other`), "returns the status 302."],
      [() => new Response("<html>"), "doesn't return JSON."],
      [() => Response.json([]), "isn't a JSON object."],
      [() => new Response("a".repeat(70_000)), "returns a response that is too large."],
    ] as const
  ) {
    discovery.response = response;
    assert.equal(await faultOf({}), `${start} ${fault}`);
  }
  const github = await faultOf({}, { kind: "github", clientId: "b" });
  assert.match(github, /api\/v3\/ returns a response that is too large\.$/);
  assert.match(
    await faultOf({}, { issuer: "http://127.0.0.1:1" }),
    /openid-configuration can't be reached: /,
  );
  discovery.response = null;
  discovery.keys = { keys: [{}] };
  const { identityProvider: { id } } = (await send("POST", json)).body;
  // A change to another issuer is checked too, and changes nothing otherwise.
  const moved = await send(`PATCH /${id}`, { name: "B", issuer: `${issuer}/realm` });
  assert.match(moved.body.error.details[0].message, /returns the status 404/);
  assert.equal((await send(`GET /${id}`)).body.identityProvider.name, "A");
});

testApp("there are at most 20 providers, also if all are added at the same time", async (test) => {
  await using discovery = startDiscovery();
  const send = sender(test, (await newOperator(test)).cookie);
  const json = { kind: "oidc", name: "A", issuer: discovery.issuer, clientId: "a", clientSecret: secret };
  const results = await Promise.all(
    Array.from({ length: offeredProvidersMax + 1 }, (_, n) => send("POST", { ...json, slug: `a${n}` })),
  );
  const codes = results.map(({ status, body }) => status === 201 ? 201 : body.error.code);
  assert.deepEqual(codes.filter((code) => code !== 201), ["limit_reached"]);
  const { identityProviders } = (await send("GET")).body;
  assert.deepEqual(
    identityProviders.map(({ position }: { position: number }) => position),
    Array.from({ length: offeredProvidersMax }, (_, n) => n + 1),
  );
});
