// Tests introspection and revocation from outside: who learns what about a token, and from when on it doesn't work anymore.
import assert from "node:assert/strict";
import { createTestKey, type TestApp, testApp } from "../../support/app/app.ts";
import { onBothDatabases } from "../../support/meter/usage.ts";
import {
  basic,
  issue,
  type IssuedClient,
  newClient,
  newMember,
  newResource,
  post,
} from "../../support/oauth/issued.ts";
import { rotateClientSecret } from "../../../services/oauth/clients.ts";
import { rotateResourceSecret } from "../../../services/oauth/resources.ts";
import { commandLineActor, newOperatorToken } from "../../support/operators/operators.ts";
import { run } from "../../support/people/scene.ts";

const settings = { SECRETS_KEY: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=" };
const resourceUri = "https://mcp.example.com/mcp";

async function introspect(test: TestApp, caller: IssuedClient, token: string) {
  const { status, body } = await post(test, "/oauth/introspect", { token }, basic(caller));
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

async function scene(test: TestApp) {
  const person = await newMember(test);
  const client = await newClient(test);
  const { resource, secret } = await newResource(test);
  const tool = { id: resource.id, secret };
  const tokens = await issue(test, { person, client, scope: "tools:call", resource: resourceUri });
  return { person, client, tool, tokens, token: tokens.access_token as string };
}

testApp("describes a token to the resource that it is for", async (test) => {
  const { person, client, tool, token } = await scene(test);
  assert.deepEqual(await introspect(test, tool, token), {
    active: true,
    iss: test.config.baseUrl.origin,
    sub: person.userId,
    client_id: client.id,
    aud: resourceUri,
    scope: "tools:call",
    token_type: "Bearer",
    iat: Math.floor(test.now() / 1000),
    exp: Math.floor(test.now() / 1000) + 900,
    organization: { id: person.organizationId, name: "Ada Lovelace’s organization", role: "OWNER" },
  });
}, settings);

testApp("tells other clients and resources nothing about a token", async (test) => {
  const { tool, client, token, tokens } = await scene(test);
  const other = await newResource(test, { uri: "https://api.example.com" });
  const inactive = { active: false };
  assert.deepEqual(await introspect(test, { id: other.resource.id, secret: other.secret }, token), inactive);
  assert.deepEqual(await introspect(test, await newClient(test), token), inactive);
  assert.deepEqual(
    await introspect(test, tool, tokens.refresh_token),
    inactive,
    "refresh tokens are the client's",
  );
  assert.deepEqual(await introspect(test, tool, "service_access_unknown"), inactive);
  assert.equal((await introspect(test, client, token)).active, true, "a client its own");
  assert.equal((await introspect(test, client, tokens.refresh_token)).active, true);
}, settings);

testApp("rejects wrong credentials, and limits them without locking the client out", async (test) => {
  const { client, tool, token } = await scene(test);
  const wrong = { ...client, secret: "wrong" };
  for (const caller of [wrong, { ...tool, secret: client.secret }, { id: "cli_1", secret: "x" }]) {
    const { status, body, headers } = await post(test, "/oauth/introspect", { token }, basic(caller));
    assert.equal(status, 401, JSON.stringify(body));
    assert.equal(body.error, "invalid_client");
    assert.match(headers.get("www-authenticate") ?? "", /^Basic/);
  }
  const { body } = await post(test, "/oauth/introspect", { token });
  assert.equal(body.error, "invalid_client");
  for (let tries = 0; tries < 30; tries++) await post(test, "/oauth/introspect", { token }, basic(wrong));
  const limited = await post(test, "/oauth/introspect", { token }, basic(wrong));
  assert.equal(limited.status, 503);
  assert.equal((await introspect(test, client, token)).active, true, "the right secret still works");
}, settings);

testApp("rejects repeated parameters, and answers every origin without credentials", async (test) => {
  const { tool, token } = await scene(test);
  const url = `${test.config.baseUrl.origin}/oauth/introspect`;
  const headers = {
    ...basic(tool),
    "content-type": "application/x-www-form-urlencoded",
    origin: "https://a.example",
  };
  const body = `token=${token}&token=${token}`;
  const response = await test.app.fetch(new Request(url, { method: "POST", headers, body }), {});
  assert.equal(response.status, 400);
  assert.equal((await response.json()).error, "invalid_request");
  assert.equal(response.headers.get("access-control-allow-origin"), "*");
  assert.equal(response.headers.get("access-control-allow-credentials"), null);
}, settings);

testApp("an operator token needs a scope, and each scope opens its own kind", async (test) => {
  const { person, token } = await scene(test);
  const { id, fullKey } = await createTestKey(test, person);
  const ask = async (scopes: Parameters<typeof newOperatorToken>[1], about: string) => {
    const { fullToken } = await newOperatorToken(test, scopes);
    return await post(test, "/oauth/introspect", { token: about }, { authorization: `Bearer ${fullToken}` });
  };
  assert.equal((await ask(["tokens:introspect"], token)).body.sub, person.userId);
  assert.deepEqual((await ask(["keys:verify"], token)).body, { active: false });
  assert.deepEqual((await ask(["tokens:introspect"], fullKey)).body, { active: false });
  const { body } = await ask(["keys:verify"], fullKey);
  assert.equal(body.client_id, id);
  assert.equal(body.scope, "usage:read usage:write");
  assert.equal(body.organization.id, person.organizationId);
  assert.equal((await ask(["usage:read"], token)).status, 403);
  const wrong = await post(test, "/oauth/introspect", { token }, {
    authorization: "Bearer service_operator_x",
  });
  assert.equal(wrong.status, 401);
  await run(test, "UPDATE api_keys SET revoked_at = 1 WHERE id = ?", id);
  assert.deepEqual((await ask(["keys:verify"], fullKey)).body, { active: false });
}, settings);

onBothDatabases("a token ends and pauses with what it depends on, on the next request", async (test) => {
  const { person, client, tool, token } = await scene(test);
  const isActive = async () => (await introspect(test, tool, token)).active;
  const access = JSON.stringify({ organizationIds: [person.organizationId], minRole: "ADMIN" });
  await run(test, "UPDATE oauth_clients SET access = ?", access);
  assert.equal(await isActive(), true);
  for (
    const [pause, resume] of [
      ["UPDATE organizations SET suspended_at = 1", "UPDATE organizations SET suspended_at = NULL"],
      ["UPDATE oauth_clients SET disabled_at = 1", "UPDATE oauth_clients SET disabled_at = NULL"],
      ["UPDATE users SET disabled_at = 1", "UPDATE users SET disabled_at = NULL"],
      ["UPDATE memberships SET role = 'MEMBER'", "UPDATE memberships SET role = 'ADMIN'"],
    ] as const
  ) {
    await run(test, pause);
    assert.equal(await isActive(), false, pause);
    await run(test, resume);
    assert.equal(await isActive(), true, resume);
  }
  assert.equal((await introspect(test, tool, token)).organization.role, "ADMIN");
  const signedOut = await test.send("/api/auth/sign-out", {
    method: "POST",
    cookie: person.cookie,
    json: {},
  });
  assert.equal(signedOut.status, 204);
  assert.equal(await isActive(), false);
  assert.deepEqual(await introspect(test, client, token), { active: false });
}, settings);

onBothDatabases("requests of the same turn each get the answer about their own token", async (test) => {
  const { person, client, tool, token, tokens } = await scene(test);
  const other = await newClient(test);
  const { access_token: others } = await issue(test, { person, client: other });
  const ask = async (caller: IssuedClient, about: string) => {
    const { status, body } = await post(test, "/oauth/introspect", { token: about }, basic(caller));
    return status === 200 ? body.active as boolean : status;
  };
  const asked = [
    [tool, token, true],
    [tool, token, true],
    [{ ...tool, secret: client.secret }, token, 401],
    [client, token, true],
    [client, tokens.refresh_token, true],
    [client, others, false],
    [other, others, true],
    [other, token, false],
    [{ id: client.id, secret: other.secret }, token, 401],
    [{ id: "cli_1", secret: client.secret }, token, 401],
    [tool, "service_access_unknown", false],
  ] as const;
  assert.deepEqual(
    await Promise.all(asked.map(([caller, about]) => ask(caller, about))),
    asked.map(([, , expected]) => expected),
  );
}, settings);

onBothDatabases("a replaced secret stops working with the next request", async (test) => {
  const { client, tool, token } = await scene(test);
  const ask = async (caller: IssuedClient) =>
    (await post(test, "/oauth/introspect", { token }, basic(caller))).status;
  assert.deepEqual([await ask(client), await ask(tool)], [200, 200]);
  const { secret: ofClient } = await rotateClientSecret(test.services, commandLineActor, client.id);
  const { secret: ofTool } = await rotateResourceSecret(test.services, commandLineActor, tool.id);
  assert.deepEqual([await ask(client), await ask(tool)], [401, 401]);
  assert.equal((await post(test, "/oauth/token", { grant_type: "x" }, basic(client))).status, 401);
  assert.deepEqual([await ask({ ...client, secret: ofClient }), await ask({ ...tool, secret: ofTool })], [
    200,
    200,
  ]);
}, settings);

testApp("a token expires after fifteen minutes", async (test) => {
  const { tool, token } = await scene(test);
  test.advance(15 * 60_000 - 1);
  assert.equal((await introspect(test, tool, token)).active, true);
  test.advance(1);
  assert.equal((await introspect(test, tool, token)).active, false);
}, settings);

testApp("a client revokes its own tokens, and no one else's", async (test) => {
  const { person, client, tool, tokens } = await scene(test);
  const { access_token: access, refresh_token: refresh } = tokens;
  const revoke = (caller: IssuedClient, token: string) =>
    post(
      test,
      "/oauth/revoke",
      { token, ...(caller.secret === null ? { client_id: caller.id } : {}) },
      basic(caller),
    );
  const isActive = async (token: string) => (await introspect(test, client, token)).active;

  const other = await newClient(test, { isPublic: true });
  for (const token of [access, refresh, "service_access_unknown"]) {
    assert.equal((await revoke(other, token)).status, 200);
  }
  assert.equal((await revoke({ ...client, secret: "wrong" }, access)).body.error, "invalid_client");
  assert.equal((await revoke({ id: client.id, secret: null }, access)).body.error, "invalid_client");
  assert.deepEqual([await isActive(access), await isActive(refresh)], [true, true]);

  assert.equal((await revoke(client, access)).status, 200);
  assert.deepEqual([await isActive(access), await isActive(refresh)], [false, true]);
  const again = await issue(test, { person, client, scope: "tools:call", resource: resourceUri });
  await revoke(client, again.refresh_token);
  assert.equal(
    (await introspect(test, tool, again.access_token)).active,
    false,
    "with everything of its grant",
  );
  assert.equal(await isActive(refresh), true, "other grants stay");
  assert.equal((await post(test, "/oauth/revoke", {}, basic(client))).body.error, "invalid_request");
}, settings);
