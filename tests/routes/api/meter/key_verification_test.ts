// Verifying the keys of customers with an operator token: what the answer is for each key, and that nothing is cached.
import assert from "node:assert/strict";
import type { Database, Statement } from "../../../../db/engine/database.ts";
import { generateApiKey } from "../../../../domain/keys/api_key.ts";
import { assertError, createTestKey, startTestApp, type TestApp, testApp } from "../../../support/app/app.ts";
import { embeddedTestDatabase } from "../../../support/database/database.ts";
import { asOperator } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { run } from "../../../support/people/scene.ts";

const dayMs = 24 * 3_600_000;

/** Returns a function that verifies a key with a new token. */
async function verifier(test: TestApp) {
  const { fullToken } = await newOperatorToken(test, ["keys:verify"]);
  return async (key: string, more: Record<string, unknown> = {}) => {
    const response = await test.send("/api/v1/keys/verify", { apiKey: fullToken, json: { key, ...more } });
    assert.equal(response.status, 200, await response.clone().text());
    return await response.json();
  };
}

onEveryDatabase("a verification describes the key and its organization", async (test) => {
  const person = await test.signUp();
  const expiresAt = new Date(test.now() + dayMs).toISOString();
  const { id, fullKey } = await createTestKey(test, person, { name: "Tiles é", expiresAt });
  await run(
    test,
    "UPDATE organizations SET external_id = 'c-1', name = 'Maps \"é\"' WHERE id = ?",
    person.organizationId,
  );
  const [plan] = await test.opened.database.read<{ id: string }>({ sql: "SELECT id FROM plans", args: [] });
  const verify = await verifier(test);
  assert.deepEqual(await verify(fullKey), {
    valid: true,
    code: "VALID",
    apiKey: {
      id,
      name: "Tiles é",
      environment: "live",
      permissions: ["usage:read", "usage:write"],
      expiresAt,
      externalId: null,
      metadata: {},
    },
    organization: {
      id: person.organizationId,
      name: 'Maps "é"',
      externalId: "c-1",
      planId: plan?.id,
      features: [],
    },
    limits: [],
  });
});

onEveryDatabase("every change to a key is in the very next answer", async (test) => {
  const person = await test.signUp();
  const verify = await verifier(test);
  const expiresAt = new Date(test.now() + dayMs).toISOString();
  const [revoked, expiring] = [
    await createTestKey(test, person),
    await createTestKey(test, person, { expiresAt }),
  ];
  const code = async (key: string, more = {}) => {
    const answer = await verify(key, more);
    assert.equal(answer.valid, answer.code === "VALID");
    assert.equal(answer.apiKey === null, answer.code === "NOT_FOUND");
    return answer.code;
  };
  assert.equal(await code(expiring.fullKey), "VALID");
  const permissions = ["maps:render", "usage:read"];
  assert.equal(await code(expiring.fullKey, { permissions }), "INSUFFICIENT_PERMISSIONS");
  const path = `/api/portal/api-keys/${expiring.id}`;
  await test.send(path, { method: "PATCH", cookie: person.cookie, json: { permissions } });
  assert.equal(await code(expiring.fullKey, { permissions }), "VALID");
  assert.equal(await code(expiring.fullKey, { permissions: ["usage:write"] }), "INSUFFICIENT_PERMISSIONS");
  const features = ["sso", "maps:satellite"];
  await run(test, "UPDATE plans SET features = ?", JSON.stringify(["sso"]));
  assert.equal(await code(expiring.fullKey, { features: ["sso"] }), "VALID");
  assert.equal(await code(expiring.fullKey, { features }), "FEATURE_MISSING");
  assert.equal(await code(expiring.fullKey, { features, permissions: ["x"] }), "INSUFFICIENT_PERMISSIONS");

  const suspend = "UPDATE organizations SET suspended_at = ? WHERE id = ?";
  await run(test, suspend, test.now(), person.organizationId);
  assert.equal(await code(expiring.fullKey), "ORGANIZATION_SUSPENDED");
  await run(test, suspend, null, person.organizationId);
  assert.equal(await code(expiring.fullKey), "VALID");

  assert.equal(await code(revoked.fullKey), "VALID");
  await test.send(`/api/portal/api-keys/${revoked.id}`, { method: "DELETE", cookie: person.cookie });
  assert.equal(await code(revoked.fullKey), "REVOKED");
  test.advance(dayMs);
  assert.equal(await code(expiring.fullKey), "EXPIRED");
  assert.equal(await code(generateApiKey().fullKey), "NOT_FOUND");

  const { fullToken } = await newOperatorToken(test);
  const { status } = await asOperator(test, fullToken)(`DELETE /organizations/${person.organizationId}`);
  assert.equal(status, 204);
  const { code: last, organization } = await verify(expiring.fullKey);
  assert.deepEqual([last, organization], ["REVOKED", null]);
});

testApp("the rate limit of a key counts its verifications, but not those of other keys", async (test) => {
  const person = await test.signUp();
  const verify = await verifier(test);
  const { fullKey } = await createTestKey(test, person);
  const other = await createTestKey(test, person);
  assert.equal((await verify(fullKey)).code, "VALID");
  assert.equal((await verify(fullKey)).code, "VALID");
  assert.equal((await verify(fullKey)).code, "RATE_LIMITED");
  await assertError(await test.send("/api/v1/usage", { apiKey: fullKey }), 429, "rate_limited");
  assert.equal((await verify(other.fullKey)).code, "VALID");
  // The first reason counts.
  await test.send(`/api/portal/api-keys/${other.id}`, { method: "DELETE", cookie: person.cookie });
  for (let i = 0; i < 3; i++) assert.equal((await verify(other.fullKey)).code, "REVOKED");
}, { API_KEY_REQUESTS_PER_SECOND: "2" });

testApp(
  "only operator tokens with the scope verify keys, and learn what is wrong with a question",
  async (test) => {
    const person = await test.signUp();
    const { fullKey } = await createTestKey(test, person);
    const [verifying, other, expired, elsewhere] = [
      await newOperatorToken(test, ["keys:verify"]),
      await newOperatorToken(test, ["keys:read", "keys:write"]),
      await newOperatorToken(test, ["keys:verify"], { expiresAt: test.now() }),
      await newOperatorToken(test, ["keys:verify"], { addresses: ["203.0.113.0/24"] }),
    ];
    const ask = (apiKey: string | undefined, json: unknown = { key: fullKey }) =>
      test.send("/api/v1/keys/verify", { json, ...(apiKey === undefined ? {} : { apiKey }) });
    assert.equal((await ask(verifying.fullToken)).status, 200);
    for (const json of [{ key: fullKey }, { nothing: true }]) {
      await assertError(await ask(other.fullToken, json), 403, "scope_missing");
      for (const token of [undefined, fullKey, expired.fullToken, elsewhere.fullToken]) {
        await assertError(await ask(token, json), 401, "invalid_operator_token");
      }
    }
    for (
      const json of [{}, { key: 1 }, { key: fullKey, more: 1 }, { key: fullKey, permissions: ["Maps"] }, {
        key: fullKey,
        features: ["SSO"],
      }, {
        key: fullKey,
        permissions: "usage:read",
      }]
    ) {
      await assertError(await ask(verifying.fullToken, json), 422, "validation_failed");
    }
    await run(test, "UPDATE operator_tokens SET revoked_at = ?", test.now());
    await assertError(await ask(verifying.fullToken), 401, "invalid_operator_token");
  },
);

testApp("addresses that send many invalid operator tokens are limited", async (test) => {
  const statuses = [];
  for (let i = 0; i < 61; i++) {
    statuses.push((await test.send("/api/v1/keys/verify", { json: { key: "x" } })).status);
  }
  assert.deepEqual([statuses[0], statuses.at(-1)], [401, 429]);
});

Deno.test("a verification is one read, and a malformed key is not looked up", async () => {
  const statements: Statement[] = [];
  const opened = await embeddedTestDatabase();
  const { database } = opened;
  const counted: Database = {
    source: database.source,
    read: (statement) => {
      statements.push(statement);
      return database.read(statement);
    },
    readFirst: (statement) => {
      statements.push(statement);
      return database.readFirst(statement);
    },
    write: (batch, options) => database.write(batch, options),
    close: () => database.close(),
  };
  const test = await startTestApp({}, { open: () => Promise.resolve({ ...opened, database: counted }) });
  try {
    const { fullKey } = await createTestKey(test, await test.signUp());
    const verify = await verifier(test);
    statements.length = 0;
    assert.equal((await verify(fullKey)).code, "VALID");
    assert.equal(statements.length, 1);
    const mistyped = fullKey.replace(/.$/, (last) => last === "0" ? "1" : "0");
    for (const key of ["", "x".repeat(5_000), "Bearer é", mistyped, `${fullKey} `]) {
      statements.length = 0;
      assert.equal((await verify(key)).code, "NOT_FOUND");
      assert.deepEqual(statements.map(({ args }) => args[1]), ["[]"]);
    }
    // Questions of one turn share a read.
    statements.length = 0;
    await Promise.all(Array.from({ length: 5 }, () => verify(fullKey)));
    assert(statements.length < 5, String(statements.length));
  } finally {
    await test.dispose();
  }
});
