// USAGE_CATALOG=required: only products and metrics of the catalogue are recorded.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { createTestKey, type TestApp } from "../../../support/app/app.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { listAll, onEveryDatabase } from "../../../support/meter/usage.ts";

const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };

/** Returns the status and the code of a response, and the paths of its details. */
async function outcomeOf(response: Response): Promise<unknown[]> {
  const { error } = await response.json();
  return [response.status, error?.code, error?.details?.map(({ path }: { path: string }) => path)];
}

/** Defines a test of a server that records only what its catalogue has: requests of tiles. */
const withCatalogue = (promise: string, run: (test: TestApp) => Promise<void>) =>
  onEveryDatabase(promise, async (test) => {
    await test.opened.database.write([
      sql`INSERT INTO products (slug, name, created_at) VALUES ('tiles', 'Tiles', 0)`,
      sql`INSERT INTO product_metrics (product, slug, name, position) VALUES ('tiles', 'requests', 'Requests', 0)`,
    ]);
    await run(test);
  }, { USAGE_CATALOG: "required" });

withCatalogue("each request of a commit gets its own error", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const send = async (...records: object[]) => {
    const json = { records: records.map((record) => ({ ...usage, ...record })) };
    return await outcomeOf(await test.send("/api/v1/usage/batch", { apiKey, json }));
  };
  assert.deepEqual(await send({}), [201, undefined, undefined]);
  const conflicting = (n: number) => [
    { idempotencyKey: `same ${n}` },
    { idempotencyKey: `other ${n}` },
    { idempotencyKey: `same ${n}` },
    { idempotencyKey: `same ${n}`, quantity: 2 },
    { idempotencyKey: `other ${n}`, metric: "bytes" },
  ];
  const outcomes = await Promise.all(
    Array.from({ length: 40 }, (_, n) => [
      send(...conflicting(n)),
      send({}, { metric: "bytes" }),
      send({}, {}, {}),
    ]).flat(),
  );
  const expected = [
    [409, "idempotency_conflict", ["records[3].idempotencyKey", "records[4].idempotencyKey"]],
    [422, "validation_failed", ["records[1].metric"]],
    [201, undefined, undefined],
  ];
  assert.deepEqual(outcomes, outcomes.map((_, index) => expected[index % 3]));
});

withCatalogue("rejects what isn't in the catalogue, and records the rest of the commit", async (test) => {
  const { organizationId, ...person } = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, { organizationId, ...person });
  const { fullToken } = await newOperatorToken(test, ["usage:write"]);
  const send = async (path: string, json: unknown, key = apiKey) =>
    await outcomeOf(await test.send(path, { apiKey: key, json }));
  const single = (record: object) => send("/api/v1/usage", { ...usage, ...record });
  assert.deepEqual(await single({}), [201, undefined, undefined]);
  assert.deepEqual(
    await Promise.all([
      single({ metric: "bytes" }),
      single({}),
      single({ productSlug: "maps", idempotencyKey: "a" }),
    ]),
    [
      [422, "validation_failed", ["metric"]],
      [201, undefined, undefined],
      [422, "validation_failed", ["productSlug"]],
    ],
  );
  const records = [usage, { ...usage, metric: "bytes" }, { ...usage, productSlug: "maps" }];
  const paths = ["records[1].metric", "records[2].productSlug"];
  assert.deepEqual(await send("/api/v1/usage/batch", { records }), [422, "validation_failed", paths]);
  const byOperator = records.map((record) => ({ ...record, organizationId }));
  assert.deepEqual(
    await send("/api/operator/usage", { records: byOperator }, fullToken),
    [422, "validation_failed", paths],
  );
  assert.equal((await listAll(test, apiKey)).length, 2);
  const rows = await test.opened.database.read({
    sql: "SELECT metric FROM usage_series WHERE organization <> 0",
    args: [],
  });
  assert.deepEqual(rows, [{ metric: "requests" }]);
});
