// Clients with documents that authenticate with assertions signed with their keys (private_key_jwt).
import assert from "node:assert/strict";
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from "jose";
import {
  addressOf,
  exchange,
  minuteMs,
  newPerson,
  open,
  type Publisher,
  withPublisher,
} from "../../support/oauth/documents.ts";
import { consentTo, post } from "../../support/oauth/scene.ts";

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

async function newKey(kid: string) {
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
  return { kid, privateKey, publicKey: { ...await exportJWK(publicKey), kid, alg: "ES256" } };
}
type Key = Awaited<ReturnType<typeof newKey>>;

let assertions = 0;

/** Signs an assertion. @param changes Claims; undefined removes one. */
async function assertion(
  { test }: Publisher,
  id: string,
  key: { kid: string; privateKey: CryptoKey | Uint8Array },
  { alg = "ES256", ...changes }: Record<string, unknown> & { alg?: string } = {},
): Promise<string> {
  const now = Math.floor(test.now() / 1000);
  const claims = {
    iss: id,
    sub: id,
    aud: test.config.baseUrl.origin,
    exp: now + 60,
    jti: `${++assertions}`,
    ...changes,
  };
  return await new SignJWT(claims).setProtectedHeader({ alg, kid: key.kid }).sign(key.privateKey);
}

/** Asks for tokens with a code that doesn't exist, which shows whether the client was authenticated. */
async function errorWith(publisher: Publisher, form: Record<string, string>): Promise<string> {
  const { body } = await post(publisher.test, "/oauth/token", {
    grant_type: "authorization_code",
    code: "x",
    client_assertion_type: assertionType,
    ...form,
  });
  return body.error;
}

async function published(publisher: Publisher, fields: Record<string, unknown>) {
  const id = publisher.document("/client.json", {
    token_endpoint_auth_method: "private_key_jwt",
    ...fields,
  });
  const person = await newPerson(publisher);
  assert.equal((await open(publisher, person.cookie, addressOf(id))).status, 200);
  return { id, person };
}

withPublisher(
  "exchanges codes for a client that proves its key, once for each assertion",
  async (publisher) => {
    const { test } = publisher;
    const key = await newKey("a");
    const { id, person } = await published(publisher, { jwks: { keys: [key.publicKey] } });
    const code = (await consentTo(test, person, addressOf(id))).get("code") ?? "";
    const proof = async () => ({
      client_assertion_type: assertionType,
      client_assertion: await assertion(publisher, id, key),
    });
    assert.equal((await exchange(publisher, id, code)).body.error, "invalid_client");
    const first = await proof();
    const { status, body } = await exchange(publisher, id, code, first);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(await errorWith(publisher, first), "invalid_client");
    const form = { grant_type: "refresh_token", refresh_token: body.refresh_token };
    assert.equal((await post(test, "/oauth/token", { ...form, client_id: id })).body.error, "invalid_client");
    const refreshed = await post(test, "/oauth/token", { ...form, ...await proof() });
    assert.equal(refreshed.status, 200, JSON.stringify(refreshed.body));
    const revoked = await post(test, "/oauth/revoke", { token: body.access_token, ...await proof() });
    assert.equal(revoked.status, 200);
  },
);

withPublisher(
  "rejects assertions for others, of others, that last or that are badly signed",
  async (publisher) => {
    const { test } = publisher;
    const [key, other] = await Promise.all([newKey("a"), newKey("a")]);
    const { id } = await published(publisher, { jwks: { keys: [key.publicKey] } });
    const now = Math.floor(test.now() / 1000);
    const valid = () => assertion(publisher, id, key);
    assert.equal(await errorWith(publisher, { client_assertion: await valid() }), "invalid_grant");
    const secret = { kid: "a", privateKey: new TextEncoder().encode("x".repeat(32)) };
    const wrong = await Promise.all([
      assertion(publisher, id, key, { aud: "https://other.example" }),
      assertion(publisher, id, key, { iss: "https://other.example" }),
      assertion(publisher, id, key, { sub: "https://other.example" }),
      assertion(publisher, id, key, { jti: undefined }),
      assertion(publisher, id, key, { exp: undefined }),
      assertion(publisher, id, key, { exp: now - 61 }),
      assertion(publisher, id, key, { exp: now + 601 }),
      assertion(publisher, id, other),
      assertion(publisher, id, secret, { alg: "HS256" }),
      Promise.resolve("x.y.z"),
    ]);
    for (const [index, client_assertion] of wrong.entries()) {
      assert.equal(
        await errorWith(publisher, { client_id: id, client_assertion }),
        "invalid_client",
        `${index}`,
      );
    }
    const both = { client_id: id, client_secret: "x", client_assertion: await valid() };
    assert.equal(await errorWith(publisher, both), "invalid_request");
    for (const client_assertion_type of ["", "urn:ietf:params:oauth:client-assertion-type:saml2-bearer"]) {
      const form = { client_id: id, client_assertion_type, client_assertion: await valid() };
      assert.equal(await errorWith(publisher, form), "invalid_client", client_assertion_type);
    }
    // An assertion doesn't help a public client.
    const open = publisher.document("/public.json");
    const asPublic = { client_id: open, client_assertion: await valid() };
    assert.equal(await errorWith(publisher, asPublic), "invalid_client");
  },
);

/** Publishes a client whose keys are at its `jwks_uri`. */
async function publishedKeys(publisher: Publisher, keys: readonly Key[]) {
  const documents = publisher.publish;
  publisher.publish = (path) =>
    path === "/keys" ? Response.json({ keys: keys.map(({ publicKey }) => publicKey) }) : documents(path);
  const client = await published(publisher, { jwks_uri: `https://${publisher.host}/keys` });
  const tryWith = async (key: Key) =>
    await errorWith(publisher, { client_assertion: await assertion(publisher, client.id, key) });
  return { ...client, tryWith };
}

withPublisher("reads keys at the jwks_uri, and unknown ones once a minute", async (publisher) => {
  const { test, asked } = publisher;
  const keys: Key[] = [await newKey("a")];
  const { tryWith } = await publishedKeys(publisher, keys);
  const next = await newKey("b");
  assert.equal(await tryWith(keys[0]!), "invalid_grant");
  assert.deepEqual(asked, ["/client.json", "/keys"]);
  keys.push(next);
  for (let tries = 0; tries < 3; tries++) assert.equal(await tryWith(next), "invalid_client");
  assert.equal(await tryWith(keys[0]!), "invalid_grant");
  assert.deepEqual(asked, ["/client.json", "/keys"]);
  test.advance(minuteMs);
  assert.equal(await tryWith(next), "invalid_grant");
  assert.deepEqual(asked, ["/client.json", "/keys", "/keys"]);
});

withPublisher("rejects a key that left the jwks_uri, once the document is read again", async (publisher) => {
  const { test } = publisher;
  const [old, next] = await Promise.all([newKey("a"), newKey("b")]);
  const keys: Key[] = [old];
  const { id, person, tryWith } = await publishedKeys(publisher, keys);
  assert.equal(await tryWith(old), "invalid_grant");
  keys.splice(0, 1, next);
  test.advance(61 * minuteMs);
  assert.equal((await open(publisher, person.cookie, addressOf(id))).status, 200);
  assert.equal(await tryWith(old), "invalid_client");
  assert.equal(await tryWith(next), "invalid_grant");
});
