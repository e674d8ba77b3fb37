// Verifying keys and recording their usage in one transaction.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { assertError, createTestKey, startTestApp, type TestApp, testApp } from "../../../support/app/app.ts";
import { watchedDatabase } from "../../../support/network/forward.ts";
import { addLimit } from "../../../support/meter/limits.ts";
import { testMeanwhile } from "../../../support/app/meanwhile.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { onBothDatabases, onEveryDatabase, recordOne, unlimited } from "../../../support/meter/usage.ts";
import { run } from "../../../support/people/scene.ts";

const tiles = { productSlug: "tiles", metric: "requests" };

/** Returns a key that may not record, and functions that verify it and read what was recorded. */
async function newScene(test: TestApp) {
  const person = await test.signUp();
  const { id, fullKey } = await createTestKey(test, person);
  const reader = await createTestKey(test, person);
  const permit = async (...permissions: string[]) => {
    const json = { permissions };
    const options = { method: "PATCH", cookie: person.cookie, json };
    assert.equal((await test.send(`/api/portal/api-keys/${id}`, options)).status, 200);
  };
  await permit("maps:render");
  const token = await newOperatorToken(test, ["keys:verify"]);
  const send = (usage: Record<string, unknown> = {}, more: Record<string, unknown> = {}) =>
    test.send("/api/v1/keys/verify", {
      apiKey: token.fullToken,
      json: { key: fullKey, usage: { ...tiles, record: true, ...usage }, ...more },
    });
  const record = async (usage: Record<string, unknown> = {}, more: Record<string, unknown> = {}) => {
    const response = await send(usage, more);
    assert.equal(response.status, 200, await response.clone().text());
    return await response.json();
  };
  const code = async (...given: Parameters<typeof record>) => (await record(...given)).code;
  const recorded = async () => {
    const response = await test.send("/api/v1/usage?window=total", { apiKey: reader.fullKey });
    const [row] = (await response.json()).data;
    return row === undefined ? [0, 0] : [row.count, row.sum];
  };
  return { person, id, apiKey: fullKey, reader, token, permit, send, record, code, recorded };
}

onEveryDatabase(
  "usage of a valid key is recorded as that key's, which needs no permission to record",
  async (test) => {
    const { id, apiKey, reader, record, recorded } = await newScene(test);
    const answer = await record({ quantity: 2.5 }, { permissions: ["maps:render"] });
    assert.equal(answer.code, "VALID");
    assert.deepEqual(answer.apiKey, {
      id,
      name: "Production",
      environment: "live",
      permissions: ["maps:render"],
      expiresAt: null,
      externalId: null,
      metadata: {},
    });
    assert.deepEqual(Object.keys(answer.organization), ["id", "name", "externalId", "planId", "features"]);
    // The same from the transaction alone as after reading.
    assert.deepEqual(await record({ quantity: 2.5 }, { permissions: ["maps:render"] }), answer);
    assert.deepEqual(await record(), await record({ record: false }));
    assert.deepEqual(await recorded(), [3, 6]);
    const list = await test.send("/api/v1/usage/records", { apiKey: reader.fullKey });
    const { usageRecords } = await list.json();
    assert(usageRecords.every((one: { apiKeyId: string }) => one.apiKeyId === id));
    // The key itself still may not.
    await assertError(
      await test.send("/api/v1/usage", { apiKey, json: { ...tiles, quantity: 1 } }),
      403,
      "permission_missing",
    );
  },
);

onBothDatabases(
  "nothing is recorded for a key that isn't valid, as its last change left it",
  async (test) => {
    const { person, id, apiKey, reader, permit, code, recorded } = await newScene(test);
    assert.equal(await code(), "VALID");
    assert.equal(await code({}, { permissions: ["maps:render", "maps:edit"] }), "INSUFFICIENT_PERMISSIONS");
    await permit("maps:edit");
    assert.equal(await code({}, { permissions: ["maps:render"] }), "INSUFFICIENT_PERMISSIONS");
    assert.equal(await code({}, { permissions: ["maps:edit"] }), "VALID");
    const suspend = "UPDATE organizations SET suspended_at = ? WHERE id = ?";
    await run(test, suspend, test.now(), person.organizationId);
    assert.equal(await code(), "ORGANIZATION_SUSPENDED");
    await run(test, suspend, null, person.organizationId);
    assert.deepEqual(await recorded(), [2, 2]);
    assert.equal(await code({}, { key: "" }), "NOT_FOUND");
    assert.equal(await code({}, { key: reader.fullKey }), "VALID");
    await run(test, "UPDATE api_keys SET expires_at = ? WHERE id = ?", test.now() + 1_000, id);
    assert.equal(await code(), "VALID");
    test.advance(1_000);
    assert.equal(await code(), "EXPIRED");
    await test.send(`/api/portal/api-keys/${id}`, { method: "DELETE", cookie: person.cookie });
    assert.equal(await code(), "REVOKED");
    assert.equal(await code({}, { key: apiKey, permissions: ["nothing"] }), "REVOKED");
    assert.deepEqual(await recorded(), [4, 4]);
  },
);

onEveryDatabase("nothing is recorded or counted for a plan that lacks a feature", async (test) => {
  const { apiKey, code, record, recorded } = await newScene(test);
  const setFeatures = (...list: string[]) => run(test, "UPDATE plans SET features = ?", JSON.stringify(list));
  await run(test, "UPDATE plans SET requests_per_second = 1");
  const features = ["beta", "sso"];
  // The key is unknown to the recorder at first, then known.
  assert.equal(await code({}, { features }), "FEATURE_MISSING");
  assert.equal(await code({ record: false }, { features }), "FEATURE_MISSING");
  await setFeatures("beta", "sso");
  assert.equal(await code({}, { features }), "VALID");
  assert.equal(await code({}, { features }), "RATE_LIMITED");
  test.advance(1_000);
  await setFeatures("sso");
  const denied = await record({}, { features });
  assert.deepEqual([denied.valid, denied.code, denied.limits], [false, "FEATURE_MISSING", []]);
  assert.deepEqual(denied.organization.features, ["sso"]);
  test.advance(1_000);
  assert.equal(await code({}, { features, permissions: ["maps:edit"] }), "INSUFFICIENT_PERMISSIONS");
  test.advance(1_000);
  assert.equal(await code({}, { key: apiKey, features: ["sso"], permissions: ["maps:render"] }), "VALID");
  assert.deepEqual(await recorded(), [2, 2]);
});

onEveryDatabase(
  "exactly what fits into the hard limits is recorded, and repeats always succeed",
  async (test) => {
    const { id, record, code, recorded } = await newScene(test);
    await addLimit(test, {}, { ...tiles, per: "day", quantity: 10, mode: "hard" });
    await addLimit(test, { apiKeyId: id }, { per: "total", quantity: 100, mode: "soft" });
    assert.equal(await code({ quantity: 8, idempotencyKey: "job" }), "VALID");
    const { code: exceeded, limits } = await record({ quantity: 3 });
    assert.deepEqual([exceeded, limits.length, limits[0].used, limits[0].remaining], [
      "USAGE_EXCEEDED",
      2,
      8,
      2,
    ]);
    const answers = await Promise.all(Array.from({ length: 30 }, () => record()));
    assert.equal(answers.filter(({ code }) => code === "VALID").length, 2);
    assert.equal(answers.filter(({ code }) => code === "USAGE_EXCEEDED").length, 28);
    assert.deepEqual(await recorded(), [3, 10]);
    const repeated = await record({ quantity: 8, idempotencyKey: "job" });
    assert.deepEqual([repeated.code, repeated.limits[0].used], ["VALID", 10]);
    assert.deepEqual(await recorded(), [3, 10]);
    // A refused idempotency key can be used again.
    assert.equal(await code({ idempotencyKey: "later" }), "USAGE_EXCEEDED");
    test.advance(24 * 3_600_000);
    assert.equal(await code({ idempotencyKey: "later" }), "VALID");
  },
);

onEveryDatabase(
  "questions about one key with other permissions, and its own requests, are recorded together",
  async (test) => {
    const { apiKey, permit, record, recorded } = await newScene(test);
    await permit("maps:edit", "maps:render", "usage:write");
    const permissions = [[], ["maps:edit"], ["maps:render"], ["maps:edit", "maps:render"], ["maps:none"]];
    const codes = await Promise.all(Array.from({ length: 60 }, async (_, n) => {
      if (n % 6 === 5) return await recordOne(test, apiKey, tiles);
      return (await record({ quantity: 1 }, { permissions: permissions[n % 6] })).code;
    }));
    assert.equal(codes.filter((code) => code === "VALID").length, 40);
    assert.equal(codes.filter((code) => code === "INSUFFICIENT_PERMISSIONS").length, 10);
    assert.deepEqual((await recorded())[0], 50);
  },
);

onEveryDatabase("a conflict of idempotency keys is an error, and records nothing", async (test) => {
  const { send, code, recorded } = await newScene(test);
  assert.equal(await code({ idempotencyKey: "job" }), "VALID");
  await assertError(await send({ idempotencyKey: "job", quantity: 2 }), 409, "idempotency_conflict");
  assert.deepEqual(await recorded(), [1, 1]);
});

onEveryDatabase("a token records nothing once it was revoked, expired, or lost its scope", async (test) => {
  const { token, send, code, recorded } = await newScene(test);
  const change = (column: string, value: unknown) =>
    run(test, `UPDATE operator_tokens SET ${column} = ? WHERE id = ?`, value as string, token.id);
  assert.equal(await code(), "VALID");
  for (
    const [column, value, before, status, error] of [
      ["revoked_at", test.now(), null, 401, "invalid_operator_token"],
      ["expires_at", test.now(), null, 401, "invalid_operator_token"],
      ["scopes", '["keys:read"]', '["keys:verify"]', 403, "scope_missing"],
    ] as const
  ) {
    await change(column, value);
    for (let i = 0; i < 2; i++) await assertError(await send(), status, error);
    await change(column, before);
    assert.equal(await code(), "VALID");
  }
  assert.deepEqual(await recorded(), [4, 4]);
});

testApp("a token records only from the addresses that it allows", async (test) => {
  const { apiKey, recorded } = await newScene(test);
  const { fullToken } = await newOperatorToken(test, ["keys:verify"], { addresses: ["203.0.113.0/24"] });
  const from = (peerAddress: string) =>
    test.send("/api/v1/keys/verify", {
      apiKey: fullToken,
      peerAddress,
      json: { key: apiKey, usage: { ...tiles, record: true } },
    });
  assert.equal((await from("203.0.113.9")).status, 200);
  await assertError(await from("198.51.100.1"), 401, "invalid_operator_token");
  assert.deepEqual(await recorded(), [1, 1]);
});

testMeanwhile(
  "a key that is revoked just before the transaction records nothing",
  async (test, meanwhile) => {
    const { id, code, recorded } = await newScene(test);
    assert.equal(await code(), "VALID");
    meanwhile(
      /INTO usage_records/,
      () =>
        test.opened.database.write([sql`UPDATE api_keys SET revoked_at = ${test.now()} WHERE id = ${id}`]),
    );
    assert.equal(await code(), "REVOKED");
    assert.deepEqual(await recorded(), [1, 1]);
  },
);

Deno.test("verifying and recording is one transaction, without a read", async () => {
  const watched = watchedDatabase();
  const test = await startTestApp(unlimited, { open: watched.open });
  try {
    const { code, recorded } = await newScene(test);
    assert.equal(await code(), "VALID");
    const before = watched.operations();
    assert.equal(await code(), "VALID");
    assert.equal(watched.operations() - before, 1);
    assert.deepEqual(await recorded(), [2, 2]);
  } finally {
    await test.dispose();
  }
});

onEveryDatabase("a verification records usage with its properties", async (test) => {
  const { reader, send, record, code } = await newScene(test);
  const usage = { properties: { region: "eu", user: "u-1" }, idempotencyKey: "job-1" };
  assert.equal(await code({ ...usage, record: false }), "VALID");
  assert.deepEqual(
    await record(usage),
    await record({ ...usage, properties: { user: "u-1", region: "eu" } }),
  );
  await assertError(await send({ ...usage, properties: { region: "us" } }), 409, "idempotency_conflict");
  await assertError(await send({ ...usage, properties: null }), 409, "idempotency_conflict");
  const list = await test.send("/api/v1/usage/records", { apiKey: reader.fullKey });
  const { usageRecords } = await list.json();
  assert.deepEqual(
    usageRecords.map(({ properties }: { properties: unknown }) => properties),
    [usage.properties],
  );
});
