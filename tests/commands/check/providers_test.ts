// What `gatehouse check` says about sign-in providers.
import assert from "node:assert/strict";
import { checkProviders } from "../../../commands/check/providers.ts";
import { type Database, sql } from "../../../db/engine/database.ts";
import { Secrets } from "../../../services/secrets.ts";
import { embeddedTestDatabase } from "../../support/database/database.ts";
import { type Discovery, startDiscovery } from "../../support/network/discovery.ts";

const key = new Uint8Array(32).fill(1);
const secrets = new Secrets([key]);
const config = {
  baseUrl: new URL("https://auth.example.com"),
  secretsKeys: [key],
  webhookAllowedHosts: [],
};

const insert = (
  slug: string,
  { kind = "oidc", issuer, secret = secrets.seal(slug, "canary"), organization = null }: {
    kind?: string;
    issuer: string;
    secret?: string;
    organization?: string | null;
  },
) =>
  sql`INSERT INTO identity_providers (id, organization_id, slug, kind, name, issuer, client_id, client_secret, position, role,
      created_at, updated_at)
    VALUES (${slug}, ${organization}, ${slug}, ${kind}, 'A', ${issuer}, 'a', ${secret}, 1,
      ${organization === null ? null : "MEMBER"}, 0, 0)`;

async function withProvider(
  test: (database: Database, discovery: Discovery) => Promise<void>,
): Promise<void> {
  const { database, dispose } = await embeddedTestDatabase();
  await using discovery = startDiscovery();
  try {
    await test(database, discovery);
  } finally {
    await dispose();
  }
}

async function found(database: Database): Promise<string[]> {
  const results = await checkProviders(database, config);
  for (const { saw, advice, verdict } of results) {
    assert.doesNotMatch(`${saw}${advice}`, /canary/);
    assert.equal(advice === undefined, verdict === "ok");
  }
  return results.map(({ about, verdict, saw }) => `${about}: ${verdict}: ${saw}`);
}

Deno.test("check reaches each provider, and says what is wrong in a sentence", () =>
  withProvider(async (database, { issuer }) => {
    assert.deepEqual(await found(database), []);
    const other = issuer.replace("127.0.0.1", "localhost");
    await database.write([
      sql`INSERT INTO organizations (id, number, name, created_at) VALUES ('org_1', 1, 'A', 0)`,
      insert("fine", { issuer }),
      insert("hub", { issuer, kind: "github" }),
      insert("lost", { issuer, secret: new Secrets([new Uint8Array(32)]).seal("lost", "canary") }),
      insert("other", { issuer: other }),
      insert("gone", { issuer: "http://127.0.0.1:2" }),
      insert("own", { issuer: other, organization: "org_1" }),
    ]);
    const results = await found(database);
    const callback = "https://auth.example.com/sign-in/with";
    assert.deepEqual(results.filter((one) => !one.includes(" gone:")), [
      `Provider fine: ok: Reachable. The redirect URI to register there is ${callback}/fine/callback.`,
      `Provider hub: ok: Reachable. The redirect URI to register there is ${callback}/hub/callback.`,
      "Provider lost: wrong: Its client secret can't be read: SECRETS_KEY doesn't contain the key that encrypted the secret of lost.",
      `Provider other: wrong: ${other}/.well-known/openid-configuration names another issuer, “${issuer}”. ` +
      "The issuer must be exactly the same.",
      // The address rules of customers' URLs apply.
      `Provider own: warning: ${other}/.well-known/openid-configuration can't be reached. ` +
      "Its host must be found in DNS and have only public addresses.",
    ]);
    const gone = results.find((one) => one.startsWith("Provider gone: wrong: "));
    assert.match(
      gone ?? "",
      /http:\/\/127\.0\.0\.1:2\/\.well-known\/openid-configuration can't be reached: .*refused/,
    );
  }));

Deno.test("nothing of a response of an organization's provider is shown", () =>
  withProvider(async (database, { issuer, metadata }) => {
    await database.write([
      sql`INSERT INTO organizations (id, number, name, created_at) VALUES ('org_1', 1, 'A', 0)`,
      insert("own", { issuer, organization: "org_1" }),
    ]);
    const sawOf = async () => {
      const allowing = { ...config, webhookAllowedHosts: [{ host: "127.0.0.1" }] };
      return (await checkProviders(database, allowing)).map(({ verdict, saw }) => `${verdict}: ${saw}`)
        .join();
    };
    assert.match(await sawOf(), /^ok: /);
    const url = `${issuer}/.well-known/openid-configuration`;
    Object.assign(metadata, { jwks_uri: `${issuer}/canary` });
    assert.equal(await sawOf(), `warning: the keys that ${url} names can't be read.`);
    Object.assign(metadata, { issuer: "https://canary.example" });
    assert.equal(
      await sawOf(),
      `warning: ${url} names another issuer. The issuer must be exactly the same.`,
    );
  }));

Deno.test("check names what a provider doesn't support", () =>
  withProvider(async (database, discovery) => {
    await database.write([insert("a", { issuer: discovery.issuer })]);
    const sawOf = async (change: Record<string, unknown>) => {
      Object.assign(discovery.metadata, change);
      return (await found(database)).join();
    };
    assert.match(
      await sawOf({ id_token_signing_alg_values_supported: ["HS256"] }),
      /neither with RS256 nor with ES256\.$/,
    );
    assert.match(
      await sawOf({ code_challenge_methods_supported: ["plain"] }),
      /doesn't support PKCE with S256\.$/,
    );
    discovery.response = () => new Response(null, { status: 503 });
    assert.match(await sawOf({}), /: wrong: .* returns the status 503\.$/);
  }));
