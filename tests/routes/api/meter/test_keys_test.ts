// Test keys, over the API: their usage is kept apart from live usage, is in no sum that doesn't ask for it, and counts against no limit.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { deleteSomeOfOrganization } from "../../../../db/people/organization_deletion.ts";
import { assertError, type TestApp, type TestPerson } from "../../../support/app/app.ts";
import { addLimit, limitEvents } from "../../../support/meter/limits.ts";
import { listPage, onEveryDatabase, readSums, recordOne, voidOne } from "../../../support/meter/usage.ts";
import { asOperator } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { newKeys, newOrganization } from "../../../support/people/scene.ts";

async function newKey(test: TestApp, { cookie }: TestPerson, json: Record<string, unknown> = {}) {
  const response = await test.send("/api/portal/api-keys", { cookie, json: { name: "Key", ...json } });
  assert.equal(response.status, 201, await response.clone().text());
  const { apiKey, fullKey } = await response.json();
  return { ...apiKey, fullKey };
}

const sumsOf = (data: readonly { sum: number }[]) => data.map(({ sum }) => sum);

/** Ada's organization, with a live and a test key, and the operator's API. */
async function scene(test: TestApp) {
  const ada = await test.signUp("Ada");
  const live = await newKey(test, ada);
  const testing = await newKey(test, ada, { environment: "test" });
  const { fullToken } = await newOperatorToken(test);
  return { ada, live, testing, operator: asOperator(test, fullToken), operatorToken: fullToken };
}

onEveryDatabase("keys have an environment, which lists filter by and rotation keeps", async (test) => {
  const { ada, live, testing, operator } = await scene(test);
  assert.match(live.fullKey, /^acme_live_/);
  assert.match(testing.fullKey, /^acme_test_/);
  assert.deepEqual([live.environment, testing.environment], ["live", "test"]);
  const [older] = await newKeys(test, ada.organizationId, 1);
  assert.ok(older);
  // Another prefix is as good, and what never was the form of a key is not.
  assert.match(older.fullKey, /^service_live_/);
  await recordOne(test, older.fullKey);

  const rotated = await test.send(`/api/portal/api-keys/${testing.id}/rotate`, { ...ada, method: "POST" });
  const next = await rotated.json();
  assert.deepEqual([next.apiKey.environment, next.fullKey.slice(0, 10)], ["test", "acme_test_"]);
  assert.equal(
    (await recordOne(test, next.fullKey) as unknown as { environment: string }).environment,
    "test",
  );
  for (
    const [environment, ids] of [["test", [next.apiKey.id, testing.id]], ["live", [
      older.id,
      live.id,
    ]]] as const
  ) {
    const path = `/api/portal/api-keys?environment=${environment}`;
    const { apiKeys } = await (await test.send(path, ada)).json();
    assert.deepEqual(apiKeys.map(({ id }: { id: string }) => id).sort(), [...ids].sort());
    const { body } = await operator(
      `GET /organizations/${ada.organizationId}/api-keys?environment=${environment}`,
    );
    const ofOperators = { organizationId: ada.organizationId, externalId: null, metadata: {} };
    assert.deepEqual(body.apiKeys, apiKeys.map((key: object) => ({ ...key, ...ofOperators })));
    const page = await (await test.send(`/portal/api-keys?environment=${environment}`, ada)).text();
    assert.equal(page.includes(`/portal/api-keys/${live.id}`), environment === "live");
    assert.equal(page.includes(`/portal/api-keys/${next.apiKey.id}`), environment === "test");
  }
  await assertError(
    await test.send("/api/portal/api-keys", { ...ada, json: { name: "Key", environment: "staging" } }),
    422,
    "validation_failed",
  );
  const events = await (await test.send("/api/portal/audit", ada)).json();
  const [, entry] = events.events.filter(({ action }: { action: string }) => action === "api_key.created")
    .reverse();
  assert.equal(entry.details.environment, "test");
}, { KEY_PREFIX: "acme" });

onEveryDatabase("usage of test keys is only in sums and lists that ask for it", async (test) => {
  const { ada, live, testing, operator } = await scene(test);
  const bob = await test.signUp("Bob");
  await recordOne(test, (await newKey(test, bob)).fullKey, { quantity: 100 });
  await recordOne(test, (await newKey(test, bob, { environment: "test" })).fullKey, { quantity: 1000 });
  const idempotencyKey = "order 1";
  const liveRecord = await recordOne(test, live.fullKey, { quantity: 3, idempotencyKey });
  // The same order in the test environment is another one.
  const testRecord = await recordOne(test, testing.fullKey, { quantity: 5, idempotencyKey });
  assert.notEqual(testRecord.id, liveRecord.id);
  assert.equal((await recordOne(test, testing.fullKey, { quantity: 2 })).apiKeyId, testing.id);

  // By default, a key reads its own environment.
  const read = async (key: { fullKey: string }, query = "") =>
    sumsOf(await readSums(test, key.fullKey, `?window=total${query}`));
  assert.deepEqual(await read(live), [3]);
  assert.deepEqual(await read(testing), [7]);
  assert.deepEqual(await read(live, "&environment=test"), [7]);
  assert.deepEqual(await read(testing, "&environment=live"), [3]);
  // Named keys are counted, whichever they are.
  assert.deepEqual(await read(live, `&apiKey=${testing.id}`), [7]);
  assert.deepEqual(await read(testing, `&apiKey=${live.id}`), [3]);
  assert.deepEqual(await read(live, `&apiKey=${testing.id},${live.id}`), [10]);
  assert.deepEqual(await read(live, `&apiKey=${testing.id}&environment=live`), []);

  const list = async (key: { fullKey: string }, query: string) =>
    (await listPage(test, key.fullKey, query)).usageRecords.map((record) => record.quantity);
  assert.deepEqual(await list(live, ""), [3]);
  assert.deepEqual((await list(testing, "")).sort(), [2, 5]);
  assert.deepEqual((await list(live, "environment=test&metric=requests")).sort(), [2, 5]);
  assert.deepEqual((await list(live, `apiKey=${testing.id},${live.id}`)).sort(), [2, 3, 5]);
  assert.deepEqual(await list(live, "idempotencyKey=order%201"), [3]);
  assert.deepEqual(await list(testing, "idempotencyKey=order%201"), [5]);
  const { usageRecord } =
    await (await test.send(`/api/v1/usage/records/${testRecord.id}`, { apiKey: live.fullKey }))
      .json();
  assert.equal(usageRecord.environment, "test");

  for (
    const [environment, own, all] of [["", 3, 103], ["&environment=live", 3, 103], [
      "&environment=test",
      7,
      1007,
    ]]
  ) {
    const query = `window=total${environment}`;
    assert.deepEqual(sumsOf((await (await test.send(`/api/portal/usage?${query}`, ada)).json()).data), [own]);
    const csv = await (await test.send(`/api/portal/usage.csv?${query}`, ada)).text();
    assert.match(csv, new RegExp(`requests,${own},`));
    const sums = async (more: string) => sumsOf((await operator(`GET /usage?${query}${more}`)).body.data);
    assert.deepEqual(await sums(""), [all]);
    assert.deepEqual(await sums(`&organizationId=${ada.organizationId}`), [own]);
    assert.deepEqual(await sums("&groupBy=organization"), [own, Number(all) - Number(own)]);
    const { body } = await operator(`GET /usage/records?${environment}`);
    const quantities = body.usageRecords.map(({ quantity }: { quantity: number }) => quantity);
    assert.equal(quantities.reduce((sum: number, quantity: number) => sum + quantity, 0), all);
  }
  const named =
    (await operator(`GET /usage?window=total&groupBy=organization&apiKey=${testing.id},${live.id}`)).body;
  assert.deepEqual(sumsOf(named.data), [10]);

  await voidOne(test, { apiKey: live.fullKey, id: testRecord.id });
  assert.deepEqual(await read(testing), [2]);
  assert.deepEqual(await read(live), [3]);
  assert.deepEqual(sumsOf((await operator("GET /usage?window=total&environment=test")).body.data), [1002]);
  // Operators record for test keys, too.
  const records = [{ apiKeyId: testing.id, productSlug: "tiles", metric: "requests", quantity: 4 }];
  assert.equal((await operator("POST /usage", { records })).status, 201);
  assert.deepEqual([await read(testing), await read(live)], [[6], [3]]);

  const page = async (query = "") => await (await test.send(`/portal/usage?range=month${query}`, ada)).text();
  assert.doesNotMatch(await page(), /viewing test data/);
  for (const query of ["&environment=test", `&apiKey=${testing.id}`]) {
    const html = await page(query);
    assert.match(html, /viewing test data/);
    assert.match(html, /usage\.csv\?[^"]*environment=test/);
  }
});

onEveryDatabase("usage of test keys counts against no limit and is never rejected by one", async (test) => {
  const { ada, live, testing, operator, operatorToken } = await scene(test);
  await addLimit(test, {}, { per: "month", quantity: 3, mode: "hard" });
  await addLimit(test, { organizationId: ada.organizationId }, { per: "day", quantity: 2, notifyAt: [50] });
  await addLimit(test, { apiKeyId: testing.id }, { per: "total", quantity: 1, mode: "hard" });
  const send = async (key: { fullKey: string }, quantity: number) => {
    const json = { productSlug: "tiles", metric: "requests", quantity };
    const response = await test.send("/api/v1/usage", { apiKey: key.fullKey, json });
    return { status: response.status, ...await response.json() };
  };
  const { status, limits } = await send(testing, 1_000_000);
  assert.deepEqual([status, limits], [201, undefined]);
  assert.deepEqual(await limitEvents(test), []);
  assert.deepEqual(await test.opened.database.read(sql`SELECT 1 FROM usage_limit_counters`), []);
  assert.equal((await send(live, 3)).status, 201);
  assert.equal((await send(live, 1)).status, 429);
  assert.equal((await send(testing, 1)).status, 201);

  const used = async (apiKey: string) =>
    (await (await test.send("/api/v1/limits", { apiKey })).json()).limits.map(({ used }: { used: number }) =>
      used
    );
  assert.deepEqual(await used(testing.fullKey), []);
  assert.deepEqual((await used(live.fullKey)).toSorted(), [3, 3]);

  for (const record of [false, true]) {
    const usage = { productSlug: "tiles", metric: "requests", quantity: 50, record };
    const verify = async ({ fullKey }: { fullKey: string }) =>
      await (await test.send("/api/v1/keys/verify", { apiKey: operatorToken, json: { key: fullKey, usage } }))
        .json();
    const ofTest = await verify(testing);
    assert.deepEqual([ofTest.code, ofTest.apiKey.environment, ofTest.limits], ["VALID", "test", []]);
    const ofLive = await verify(live);
    assert.deepEqual([ofLive.code, ofLive.apiKey.environment], ["USAGE_EXCEEDED", "live"]);
  }
  const budget = [{ per: "month", quantity: 1, mode: "hard" }];
  const changed = await operator(`PATCH /api-keys/${testing.id}`, { budget });
  assert.deepEqual([changed.status, changed.body.error.details[0].path], [422, "budget"]);
  const alert = { apiKeyId: testing.id, per: "month", quantity: 1 };
  await assertError(await test.send("/api/portal/alerts", { ...ada, json: alert }), 422, "validation_failed");

  // Series are bounded together, so that test usage can't grow without a bound.
  await test.opened.database.write([
    sql`UPDATE organizations SET usage_series_max = 2 WHERE id = ${ada.organizationId}`,
  ]);
  const json = { productSlug: "tiles", metric: "more", quantity: 1 };
  await assertError(
    await test.send("/api/v1/usage", { apiKey: testing.fullKey, json }),
    422,
    "series_limit_reached",
  );
});

onEveryDatabase(
  "test usage goes with its organization, which an earlier server doesn't delete before",
  async (test) => {
    const { database } = test.opened;
    const id = await newOrganization(test, "Ada");
    const [testing] = await newKeys(test, id, 1);
    assert.ok(testing);
    await database.write([sql`UPDATE api_keys SET environment = 'test' WHERE id = ${testing.id}`]);
    await recordOne(test, testing.fullKey, { idempotencyKey: "order 1" });
    const left = async (table: string) =>
      (await database.readFirst<{ rows: number }>({ sql: `SELECT count(*) AS rows FROM ${table}`, args: [] }))
        ?.rows;
    // As a server that doesn't know test keys records for one, and deletes an organization.
    const columns = sql`usage_series (organization, product_slug, metric, api_key)`;
    await database.write([
      sql`INSERT INTO ${columns} SELECT o.number, 'p', 'm', k.number FROM organizations o JOIN api_keys k ON k.id = ${testing.id}
      WHERE o.id = ${id}`,
      sql`UPDATE organizations SET deleted_at = ${test.now()} WHERE id = ${id}`,
      sql`DELETE FROM organizations WHERE id = ${id}`,
    ]);
    assert.equal(await left("usage_series WHERE organization > 0"), 0);
    assert.equal(await left(`organizations WHERE id = '${id}'`), 1);
    for (let n = 0; n < 20; n++) {
      await deleteSomeOfOrganization(database, id, { now: test.now(), keptSince: test.now() + 1 });
    }
    for (
      const table of ["usage_records", "usage_keys_recent", "usage_series WHERE organization > -2147483648"]
    ) {
      assert.equal(await left(table), 0, table);
    }
    assert.equal(await left(`organizations WHERE id = '${id}'`), 0);
  },
);
