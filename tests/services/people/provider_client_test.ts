// The discovery documents that a visit accepts. The library that reads them accepts more, such as Microsoft's for all tenants.
import assert from "node:assert/strict";
import type { StoredProvider } from "../../../db/access/identity_providers.ts";
import { ProviderClient } from "../../../services/people/provider_client.ts";
import { findProviderFault } from "../../../services/people/provider_discovery.ts";
import { testApp } from "../../support/app/app.ts";

const microsoft = "https://login.microsoftonline.com";
const tenants = ["11111111-2222-4333-8444-555555555555", "99999999-2222-4333-8444-555555555555"];
const issuers = ["https://id.example.com", `${microsoft}/${tenants[0]}/v2.0`];
const fields: Omit<StoredProvider, "issuer" | "clientSecret"> = {
  ...{ id: "idp_1", organizationId: null, slug: "peer", kind: "oidc", name: "Peer", clientId: "client" },
  ...{ trustEmail: false, signUp: true, position: 0, role: null, enforced: false, sessionMaxDays: null },
  ...{ pendingSecret: null, testedAt: null, createdAt: 0, updatedAt: 0 },
};
const secrets = { state: "state", nonce: "nonce", codeVerifier: "verifier" };

/** Runs a test while all addresses return a discovery document, or keys. */
async function withDocument(document: unknown, use: () => Promise<void>): Promise<void> {
  const { fetch } = globalThis;
  globalThis.fetch = (input) =>
    Promise.resolve(Response.json(`${input}`.endsWith("/keys") ? { keys: [{ kty: "RSA" }] } : document));
  try {
    await use();
  } finally {
    globalThis.fetch = fetch;
  }
}

for (const issuer of issuers) {
  testApp(`sends no one to ${issuer} if its discovery document has a fault`, async ({ services }) => {
    const clientSecret = services.secrets.seal(fields.id, "secret");
    const begin = () => new ProviderClient(services).begin({ ...fields, issuer, clientSecret }, secrets);
    const { origin, host } = new URL(issuer);
    const document = {
      issuer,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      jwks_uri: `${origin}/keys`,
    };
    await withDocument(document, async () => {
      assert.equal((await begin()).origin, origin);
      assert.equal(await findProviderFault(services, { ...fields, issuer }), null);
    });
    const faults = [
      { issuer: `${microsoft}/{tenantid}/v2.0` },
      { issuer: `${microsoft}/${tenants[1]}/v2.0` },
      { authorization_endpoint: undefined },
      { token_endpoint: `http://${host}/token` },
      { jwks_uri: undefined },
      { response_types_supported: ["id_token"] },
      { code_challenge_methods_supported: ["plain"] },
      { id_token_signing_alg_values_supported: ["HS256"] },
      { token_endpoint_auth_methods_supported: ["private_key_jwt"] },
    ];
    for (const fault of faults) {
      await withDocument({ ...document, ...fault }, async () => {
        await assert.rejects(begin(), { name: "ProviderError" }, JSON.stringify(fault));
        const found = await findProviderFault(services, { ...fields, issuer });
        assert.ok(found?.startsWith(`${issuer}/.well-known`), `${found} for ${JSON.stringify(fault)}`);
      });
    }
  });
}

/**
 * Runs a test while its `fetch` takes all requests, and deadlines pass only when it says so.
 *
 * @param use `deadlines`: of visits and of their requests, in the order in which they began. `began`: waits for so many.
 */
async function withoutTime(
  fetchOf: (signal: AbortSignal) => Promise<Response>,
  use: (deadlines: readonly AbortController[], began: (count: number) => Promise<void>) => Promise<void>,
): Promise<void> {
  const { fetch } = globalThis;
  const { timeout } = AbortSignal;
  const deadlines: AbortController[] = [];
  const waiting = new Map<number, () => void>();
  AbortSignal.timeout = () => {
    const deadline = new AbortController();
    waiting.get(deadlines.push(deadline))?.();
    return deadline.signal;
  };
  globalThis.fetch = (_input, init) => fetchOf(init?.signal ?? new AbortController().signal);
  try {
    await use(deadlines, async (count) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.set(count, resolve);
      if (deadlines.length < count) await promise;
    });
  } finally {
    globalThis.fetch = fetch;
    AbortSignal.timeout = timeout;
  }
}

const issuer = "https://id.example.com";
const document = {
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/keys`,
};

testApp(
  "reads a discovery document for visits that outlive the one that asked first",
  async ({ services }) => {
    const client = new ProviderClient(services);
    const clientSecret = services.secrets.seal(fields.id, "secret");
    const begin = () => client.begin({ ...fields, issuer, clientSecret }, secrets);
    const answer = Promise.withResolvers<Response>();
    const fetchOf = (signal: AbortSignal) => {
      signal.addEventListener("abort", () => answer.reject(new Error("aborted")));
      return answer.promise;
    };
    await withoutTime(fetchOf, async (deadlines, began) => {
      const first = assert.rejects(begin(), { name: "ProviderError", fault: "unavailable" });
      // Its own, and that of its request.
      await began(2);
      const second = begin();
      await began(3);
      deadlines[0]?.abort();
      await first;
      answer.resolve(Response.json(document));
      assert.equal((await second).origin, issuer);
    });
  },
);

testApp("asks again for visits that joined a request which failed", async ({ services }) => {
  const client = new ProviderClient(services);
  const clientSecret = services.secrets.seal(fields.id, "secret");
  const begin = () => client.begin({ ...fields, issuer, clientSecret }, secrets);
  const answers = [Promise.withResolvers<Response>(), Promise.withResolvers<Response>()];
  let requests = 0;
  await withoutTime(() => answers[requests++]?.promise ?? Promise.reject(), async (_deadlines, began) => {
    const first = assert.rejects(begin(), { name: "ProviderError", fault: "unavailable" });
    await began(2);
    const joined = [begin(), begin()];
    await began(4);
    answers[0]?.resolve(new Response(null, { status: 500 }));
    await first;
    answers[1]?.resolve(Response.json(document));
    for (const url of await Promise.all(joined)) assert.equal(url.origin, issuer);
    assert.equal(requests, 2);
  });
});
