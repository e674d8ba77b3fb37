// The fields of imported keys besides name, permissions and times: those that operators give to new keys.
import assert from "node:assert/strict";
import { assertError } from "../../../support/app/app.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { importScene, newKey } from "../../../support/operators/key_imports.ts";

type Shown =
  & Record<
    "addresses" | "requestsPerSecond" | "metadata" | "externalId" | "enabled",
    unknown
  >
  & { readonly budget: readonly { readonly id: string }[] };

onEveryDatabase("an imported key has the fields that operators give to new keys", async (test) => {
  const { send, entry, importKeys, verify, record } = await importScene(test);
  const { organizationId } = await test.signUp();
  const [key, plain, disabled] = [newKey(), newKey(), newKey()];
  const perDay = {
    productSlug: "tiles",
    metric: null,
    per: "day",
    quantity: 1.5,
    mode: "hard",
    notifyAt: [80],
  };
  const plans = (await send("GET /plans")).body.plans as { id: string; isDefault: boolean }[];
  const inTotal = { productSlug: null, metric: "requests", per: "total", quantity: 40, mode: "hard" };
  const { id: planId } = plans.find(({ isDefault }) => isDefault) ?? { id: "" };
  const changed = await send(`PATCH /plans/${planId}`, { defaultBudget: [inTotal] });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  const given = {
    budget: [perDay],
    addresses: ["127.0.0.0/8"],
    requestsPerSecond: 7,
    metadata: { team: "maps" },
  };
  const batch = [
    entry(key, { organizationId, ...given, keyExternalId: "user-4711" }),
    entry(plain, { organizationId }),
    entry(disabled, { organizationId, enabled: false, budget: [], addresses: ["203.0.113.0/24"] }),
  ];
  assert.deepEqual(await importKeys(batch), { imported: 3, duplicates: 0, failed: [] });
  assert.deepEqual(await importKeys(batch), { imported: 0, duplicates: 3, failed: [] });

  const { apiKeys: [last, middle, first] } =
    (await send(`GET /organizations/${organizationId}/api-keys`)).body;
  const shown = ({ budget, addresses, requestsPerSecond, metadata, externalId, enabled }: Shown) => ({
    budget: budget.map(({ id: _, ...limit }) => limit),
    addresses,
    requestsPerSecond,
    metadata,
    externalId,
    enabled,
  });
  assert.deepEqual(shown(first), { ...given, externalId: "user-4711", enabled: true });
  assert.deepEqual(shown(middle), {
    budget: [{ ...inTotal, notifyAt: [80, 100] }],
    addresses: null,
    requestsPerSecond: null,
    metadata: {},
    externalId: null,
    enabled: true,
  });
  assert.deepEqual([last.budget, last.enabled, last.disabledByOperator], [[], false, true]);
  const found = await send("GET /api-keys?externalId=user-4711");
  assert.deepEqual(found.body.apiKeys.map(({ id }: { id: string }) => id), [first.id]);

  // They take effect on the first request.
  assert.equal((await record(key)).status, 201);
  await assertError(await record(key), 429, "limit_exceeded");
  const verified = await verify(key, { address: "127.0.0.1" });
  assert.deepEqual([verified.code, verified.apiKey.externalId, verified.apiKey.metadata], [
    "VALID",
    "user-4711",
    { team: "maps" },
  ]);
  assert.equal((await verify(key, { address: "203.0.113.9" })).code, "ADDRESS_DENIED");
  assert.equal((await verify(disabled, { address: "203.0.113.9" })).code, "DISABLED");
  await assertError(await record(disabled), 401, "invalid_api_key");
  await send(`PATCH /api-keys/${last.id}`, { enabled: true });
  assert.equal((await verify(disabled, { address: "203.0.113.9" })).code, "VALID");

  // The same definitions as of new keys, and another value makes another key.
  const wrong: [string, object][] = [
    ["budget[0].quantity", { budget: [{ ...perDay, quantity: -1 }] }],
    ["addresses[0]", { addresses: ["anywhere"] }],
    ["requestsPerSecond", { requestsPerSecond: 0 }],
    ["metadata.team", { metadata: { team: 1 } }],
    ["keyExternalId", { keyExternalId: " " }],
    ["enabled", { enabled: "no" }],
  ];
  for (const [path, more] of wrong) {
    const { status, body } = await send("POST /api-keys/import", {
      keys: [entry(newKey(), { organizationId, ...more })],
    });
    assert.deepEqual([status, body.error.details[0].path], [422, `keys[0].${path}`]);
  }
  const twice = newKey();
  const repeated = [
    entry(twice, { organizationId }),
    entry(twice, { organizationId, metadata: { team: "x" } }),
  ];
  assert.deepEqual((await importKeys(repeated)).failed, [{ index: 1, code: "hash_repeated" }]);
});
