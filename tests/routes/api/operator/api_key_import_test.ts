// Keys that another system issued: importing them, and using them like keys of ours.
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import type { Statement } from "../../../../db/engine/database.ts";
import { findImportedKeys } from "../../../../db/access/active_api_keys.ts";
import { findListedKeys, revokeUnusedApiKeys } from "../../../../db/keys/api_key_list.ts";
import { findApiKeysByText } from "../../../../db/console/search.ts";
import { isWithoutRequests, toLines } from "../../../../domain/keys/key_list.ts";
import { rejectedApiKeysPerMinuteMax } from "../../../../domain/limits.ts";
import { assertError, testApp } from "../../../support/app/app.ts";
import { listAudit } from "../../../support/app/audit.ts";
import { onBothDatabases, onEveryDatabase } from "../../../support/meter/usage.ts";
import { hex, importScene, newKey, usage } from "../../../support/operators/key_imports.ts";
import { newKeys, newOrganization } from "../../../support/people/scene.ts";

onEveryDatabase("an imported key records, verifies, rotates, expires and is revoked", async (test) => {
  const { send, entry, importKeys, verify, record } = await importScene(test);
  const ada = await test.signUp();
  const { organizationId } = ada;
  const [key, expiring, permitted] = [newKey(), newKey(), newKey()];
  await assertError(await record(key), 401, "invalid_api_key");
  assert.equal((await verify(key)).code, "NOT_FOUND");
  const dayMs = 24 * 3_600_000;
  const result = await importKeys([
    entry(expiring, { organizationId, expiresAt: new Date(test.now() + dayMs).toISOString() }),
    entry(permitted, { organizationId, permissions: ["usage:void", "maps:render"] }),
    entry(key, { organizationId, createdAt: "2024-02-29T12:00:00Z" }),
  ]);
  assert.deepEqual(result, { imported: 3, duplicates: 0, failed: [] });

  // It works on the next request, although it was rejected a moment ago.
  assert.equal((await record(key)).status, 201);
  const [{ id }] = (await (await test.send("/api/v1/usage/records", { apiKey: key })).json()).usageRecords;
  assert.match(id, /^use_/);
  const forwarded = await test.send("/api/auth/forward?accept=key&meter=tiles/requests", { apiKey: key });
  assert.deepEqual([forwarded.status, forwarded.headers.get("remote-organization")], [200, organizationId]);
  const verified = await verify(key, { usage: { ...usage, record: true } });
  assert.deepEqual([verified.code, verified.organization.id], ["VALID", organizationId]);
  assert.deepEqual((await verify(permitted, { permissions: ["maps:render"] })).code, "VALID");
  await assertError(await record(permitted), 403, "permission_missing");

  const { apiKeys } = (await send(`GET /organizations/${organizationId}/api-keys`)).body;
  assert.deepEqual(apiKeys.map(({ createdAt }: { createdAt: string }) => createdAt.slice(0, 4)), [
    "2026",
    "2026",
    "2024",
  ]);
  const { id: keyId, ...shown } = apiKeys[2];
  assert.deepEqual(shown, {
    name: "Production",
    keyPrefix: `${key.slice(0, 9)}…`,
    environment: "live",
    createdAt: "2024-02-29T12:00:00.000Z",
    createdBy: null,
    createdByOperator: true,
    permissions: ["usage:read", "usage:write"],
    budget: [],
    lastUsedAt: shown.lastUsedAt,
    expiresAt: null,
    revokedAt: null,
    leakedAt: null,
    enabled: true,
    disabledByOperator: false,
    addresses: null,
    requestsPerSecond: null,
    externalId: null,
    metadata: {},
    organizationId: ada.organizationId,
    status: "active",
  });
  const { events } = await listAudit(test, ada.cookie, "?action=api_key.imported");
  assert.deepEqual(events.map(({ details }) => details), [{ keys: "3" }]);
  assert.deepEqual((await send("GET /events?type=api_key.created")).body.events, []);

  const rotated = await (await test.send(`/api/portal/api-keys/${keyId}/rotate`, {
    method: "POST",
    cookie: ada.cookie,
  })).json();
  assert.match(rotated.fullKey, /^service_live_[0-9A-Za-z]{38}$/);
  assert.equal((await record(rotated.fullKey)).status, 201);
  assert.equal((await record(key)).status, 201);
  assert.equal((await record(expiring)).status, 201);

  assert.equal((await send(`PATCH /organizations/${organizationId}`, { status: "suspended" })).status, 200);
  await assertError(await record(key), 403, "organization_suspended");
  await send(`PATCH /organizations/${organizationId}`, { status: "active" });
  assert.equal((await record(key)).status, 201);
  await send(`DELETE /api-keys/${keyId}`);
  await assertError(await record(key), 401, "invalid_api_key");
  assert.equal((await verify(key)).code, "REVOKED");
  // Importing it again doesn't bring it back.
  assert.deepEqual(await importKeys([entry(key, { organizationId })]), {
    imported: 0,
    duplicates: 1,
    failed: [],
  });
  await assertError(await record(key), 401, "invalid_api_key");
  test.advance(dayMs);
  await assertError(await record(expiring), 401, "invalid_api_key");
  assert.equal((await verify(expiring)).code, "EXPIRED");
});

onEveryDatabase("an old key isn't unused after its import, and is found by its prefix", async (test) => {
  const { entry, importKeys } = await importScene(test);
  const organizationId = await newOrganization(test, "Maps");
  const key = newKey();
  await importKeys([entry(key, { organizationId, createdAt: "2024-02-29T12:00:00Z" })]);
  const { database } = test.opened;
  const now = test.now();
  const list = await findListedKeys(database, { organizationId }, { isActive: true, now, limit: 10 });
  const [line] = toLines(list.keys, []);
  assert.equal(line?.current.createdAt, Date.UTC(2024, 1, 29, 12));
  assert.equal(isWithoutRequests(line, now), false);
  const { id } = line.current;
  const revoke = async (since: number) => {
    const actor = { type: "system", client: { address: "", userAgent: "", requestId: null } } as const;
    const results = await database.write(
      revokeUnusedApiKeys(actor, { organizationId }, { ids: [id], since, now }),
    );
    return results.at(-1)?.rows;
  };
  assert.deepEqual(await revoke(now), []);
  const found = async (scope: { organizationId: string } | null) =>
    (await findApiKeysByText(database, key.slice(0, 9).toUpperCase(), { scope, now })).map(({ id }) => id);
  assert.deepEqual([await found(null), await found({ organizationId })], [[id], []]);
  assert.deepEqual(await revoke(now + 1), [{ id }]);
});

onBothDatabases("imports 1,000 keys in one request, and again without effect", async (test) => {
  const { send, entry, importKeys, record } = await importScene(test);
  const organizations = await Promise.all(
    Array.from(
      { length: 20 },
      (_, n) => send("POST /organizations", { name: `Customer ${n}`, externalId: `customer-${n}` }),
    ),
  );
  assert.ok(organizations.every(({ status }) => status === 201));
  const keys = Array.from({ length: 1_000 }, newKey);
  const forms = ["hex", "base64", "base64url"] as const;
  const entries = keys.map((key, n) =>
    entry(key, {
      externalId: `customer-${n % 20}`,
      sha256: hash("sha256", key, forms[n % 3] ?? "hex"),
    })
  );
  assert.deepEqual(await importKeys(entries), { imported: 1_000, duplicates: 0, failed: [] });
  for (const n of [0, 1, 2, 999]) assert.equal((await record(keys[n] ?? "")).status, 201);
  const inHex = keys.map((key, n) => entry(key, { externalId: `customer-${n % 20}`, name: "Other" }));
  assert.deepEqual(await importKeys(inHex), { imported: 0, duplicates: 1_000, failed: [] });
  const { events } = (await send("GET /audit?action=api_key.imported&limit=100")).body;
  assert.deepEqual(
    events.map(({ details }: { details: unknown }) => details),
    Array(20).fill({ keys: "50" }),
  );
  const tooMany = await send("POST /api-keys/import", {
    keys: [...entries, entry(newKey(), { externalId: "customer-0" })],
  });
  assert.deepEqual(tooMany.body.error.details, [{ path: "keys", message: "must have at most 1000 keys." }]);
});

onEveryDatabase("imports the keys of a batch that can be, and says why others can't", async (test) => {
  const { send, entry, importKeys, record } = await importScene(test);
  const [organizationId, other, deleted] = [
    await newOrganization(test, "Maps"),
    await newOrganization(test, "Elsewhere"),
    await newOrganization(test, "Gone"),
  ];
  await send(`DELETE /organizations/${deleted}`);
  await newKeys(test, organizationId, 2);
  assert.equal(
    (await send(`PATCH /organizations/${organizationId}`, { overrides: { apiKeysMax: 4 } })).status,
    200,
  );
  const [taken, first, second, third] = [newKey(), newKey(), newKey(), newKey()];
  await importKeys([entry(taken, { organizationId: other })]);
  const batch = [
    entry(first, { organizationId, name: "First" }),
    entry(newKey(), { externalId: "nobody" }),
    entry(newKey(), { organizationId: deleted }),
    entry(taken, { organizationId }),
    entry(newKey(), { organizationId, expiresAt: new Date(test.now()).toISOString() }),
    entry(first, { organizationId, name: "Second" }),
    entry(first, { organizationId, name: "First" }),
    entry(second, { organizationId }),
    entry(third, { organizationId }),
    entry(third, { organizationId }),
  ];
  const failed = [
    { index: 1, code: "organization_not_found" },
    { index: 2, code: "organization_not_found" },
    { index: 3, code: "hash_taken" },
    { index: 4, code: "expired" },
    { index: 5, code: "hash_repeated" },
    { index: 8, code: "key_limit_reached" },
    { index: 9, code: "key_limit_reached" },
  ];
  assert.deepEqual(await importKeys(batch), { imported: 2, duplicates: 1, failed });
  assert.deepEqual(await importKeys(batch), { imported: 0, duplicates: 3, failed });
  for (const key of [taken, first, second]) assert.equal((await record(key)).status, 201);
  await assertError(await record(third), 401, "invalid_api_key");
  const names = (await send(`GET /organizations/${organizationId}/api-keys`)).body.apiKeys;
  assert.deepEqual(names.map(({ name }: { name: string }) => name), ["Production", "First", "Key", "Key"]);
});

testApp("rejects a malformed key with its path, and imports none of its batch", async (test) => {
  const { send, entry } = await importScene(test);
  const organizationId = await newOrganization(test, "Maps");
  const key = newKey();
  const wrong: [path: string, more: Record<string, unknown>][] = [
    ["sha256", { sha256: "abc" }],
    ["sha256", { sha256: hash("sha256", key, "base64").replace(/..$/, "B=") }],
    ["prefix", { prefix: "" }],
    ["prefix", { prefix: "a".repeat(17) }],
    ["prefix", { prefix: "acme <b>" }],
    ["prefix", { prefix: "short-key", sha256: hex("short-key") }],
    ["name", { name: " " }],
    ["permissions[0]", { permissions: ["Maps"] }],
    ["expiresAt", { expiresAt: "tomorrow" }],
    ["createdAt", { createdAt: new Date(test.now() + 1).toISOString() }],
    ["createdAt", { createdAt: "1969-12-31T23:59:59Z" }],
    ["", { externalId: "both" }],
    ["", { organizationId: undefined }],
    ["key", { key }],
  ];
  for (const [path, more] of wrong) {
    const keys = [entry(newKey(), { organizationId }), entry(key, { organizationId, ...more })];
    const { status, body } = await send("POST /api-keys/import", { keys });
    assert.deepEqual([status, body.error?.code], [422, "validation_failed"], JSON.stringify(more));
    assert.equal(body.error.details[0].path, path === "" ? "keys[1]" : `keys[1].${path}`);
  }
  for (const keys of [[], {}, undefined]) {
    assert.equal((await send("POST /api-keys/import", { keys })).status, 422);
  }
  assert.deepEqual((await send(`GET /organizations/${organizationId}/api-keys`)).body.apiKeys, []);
});

testApp("unknown keys are rejected with the same bytes, counted by address, never written", async (test) => {
  const statements: Statement[] = [];
  let writes = 0;
  const { database } = test.opened;
  const { read, readFirst, write } = database;
  database.read = (statement) => (statements.push(statement), read.call(database, statement)) as never;
  database.readFirst = (statement) =>
    (statements.push(statement), readFirst.call(database, statement)) as never;
  database.write = (batch, options) => (writes++, write.call(database, batch, options));
  const { entry, importKeys, record } = await importScene(test);
  const organizationId = await newOrganization(test, "Maps");
  const [own] = await newKeys(test, organizationId, 1);
  const mistyped = `${own?.fullKey.slice(0, -1)}${own?.fullKey.endsWith("0") ? "1" : "0"}`;
  writes = statements.length = 0;
  const bodies = new Set<string>();
  for (const key of [mistyped, newKey(), "x".repeat(15)]) {
    const response = await record(key);
    const { error } = await assertError(response, 401, "invalid_api_key");
    response.headers.delete("x-request-id");
    bodies.add(JSON.stringify([error, [...response.headers]]));
  }
  assert.equal(bodies.size, 1);
  // One read of an index that is empty, and none for a mistyped key.
  assert.deepEqual(statements.map(({ sql }) => sql.includes("INDEXED BY api_keys_imported")), [true]);
  await Promise.all(Array.from({ length: 10 }, () => record(newKey())));
  assert.ok(statements.length < 11, "requests of one turn share a read");
  const rejected = 13;
  for (let n = rejected; n < rejectedApiKeysPerMinuteMax; n++) {
    await assertError(await record(newKey()), 401, "invalid_api_key");
  }
  await assertError(await record(newKey()), 429, "rate_limited");
  assert.equal(writes, 0);
  // An imported key works from the same address, as any other.
  const key = newKey();
  await importKeys([entry(key, { organizationId })]);
  assert.equal((await record(key)).status, 201);
  assert.equal((await record(own?.fullKey ?? "")).status, 201);
  await assertError(await record(newKey()), 429, "rate_limited");
  // The index of imported keys is all that is read.
  statements.length = 0;
  await findImportedKeys(database, [hex(key)], test.now());
  const [{ sql = "", args = [] } = {}] = statements;
  const plan = await database.read<{ detail: string }>({ sql: `EXPLAIN QUERY PLAN ${sql}`, args });
  assert.match(
    plan.map(({ detail }) => detail).join("\n"),
    /SEARCH k USING (COVERING )?INDEX api_keys_imported/,
  );
});
