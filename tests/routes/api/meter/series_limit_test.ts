// The limit of series is exact, a request is recorded completely or not at all, and existing series still work.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { usageSeriesMax } from "../../../../domain/limits.ts";
import { assertError, createTestKey, startTestApp, type TestApp } from "../../../support/app/app.ts";
import { remoteTestDatabase } from "../../../support/database/database.ts";
import { changePlan, overridePlan } from "../../../support/operators/plans.ts";
import { openServer, sqldMissing } from "../../../support/database/sqld.ts";
import {
  onBothDatabases,
  onEveryDatabase,
  readSums,
  recordOne,
  unlimited,
} from "../../../support/meter/usage.ts";

/** An organization with room for a number of further series. */
async function nearlyFull(test: TestApp, room: number) {
  const person = await test.signUp();
  const { fullKey: apiKey, id } = await createTestKey(test, person);
  await test.opened.database.write([
    sql`WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < ${
      usageSeriesMax - room
    })
     INSERT INTO usage_series (organization, product_slug, metric, api_key)
     SELECT o.number, 'old', 'm' || n.value, k.number
     FROM n, api_keys k JOIN organizations o ON o.id = k.organization_id WHERE k.id = ${id}`,
    sql`INSERT INTO usage_rollups SELECT id, 0, 0, 0, 0, 0, 0, 0 FROM usage_series WHERE product_slug = 'old'`,
  ]);
  return { ...person, apiKey };
}

const newSeries = (name: string) => ({ productSlug: "new", metric: name, quantity: 1 });
const existing = { productSlug: "old", metric: "m1", quantity: 1 };

function single(test: TestApp, apiKey: string, record: Record<string, unknown>): Promise<Response> {
  return test.send("/api/v1/usage", { apiKey, json: record });
}

function batch(test: TestApp, apiKey: string, records: Record<string, unknown>[]): Promise<Response> {
  return test.send("/api/v1/usage/batch", { apiKey, json: { records } });
}

/** Returns the number of series, and of series with a record. */
async function seriesOf(test: TestApp, organizationId: string) {
  const [row] = await test.opened.database.read<{ counted: number; stored: number; used: number }>(
    sql`SELECT o.series AS counted, (SELECT count(*) FROM usage_series s WHERE s.organization = o.number) AS stored,
       (SELECT count(DISTINCT r.series) FROM usage_records r WHERE r.organization = o.number) AS used
     FROM organizations o WHERE o.id = ${organizationId}`,
  );
  assert.ok(row);
  assert.equal(row.counted, row.stored);
  return { stored: row.stored, used: row.used };
}

onEveryDatabase(
  "rejects a record that exceeds the limit, and accepts existing series",
  async (test) => {
    const { apiKey, organizationId } = await nearlyFull(test, 1);
    assert.equal((await single(test, apiKey, newSeries("a"))).status, 201);
    const { error } = await assertError(
      await single(test, apiKey, newSeries("b")),
      422,
      "series_limit_reached",
    );
    assert.match(error.message, /10,000 combinations of product, metric and API key/);
    assert.deepEqual(error.details, [{ path: "metric", message: "would create a new series." }]);
    for (const record of [existing, { ...existing, metric: "m2" }, newSeries("a")]) {
      assert.equal((await single(test, apiKey, record)).status, 201);
    }
    assert.deepEqual(await seriesOf(test, organizationId), { stored: usageSeriesMax, used: 3 });
    // Each organization has its own limit.
    await recordOne(test, (await createTestKey(test, await test.signUp())).fullKey);
  },
);

onEveryDatabase("records a batch whole or not at all at the limit", async (test) => {
  const { apiKey, organizationId } = await nearlyFull(test, 2);
  const { error } = await assertError(
    await batch(test, apiKey, [
      existing,
      ...["a", "b", "c"].map(newSeries),
      { ...newSeries("a"), idempotencyKey: "k" },
    ]),
    422,
    "series_limit_reached",
  );
  assert.deepEqual(error.details?.map(({ path }) => path), [1, 2, 3, 4].map((n) => `records[${n}].metric`));
  assert.equal((await seriesOf(test, organizationId)).stored, usageSeriesMax - 2);
  assert.deepEqual(await readSums(test, apiKey), []);
  // The idempotency key is unused, and records within the limit are accepted.
  const fitting = [existing, ...["a", "b"].map(newSeries), { ...existing, idempotencyKey: "k" }];
  assert.deepEqual(await (await batch(test, apiKey, fitting)).json(), { accepted: 4, duplicates: 0 });
  assert.equal((await seriesOf(test, organizationId)).stored, usageSeriesMax);
});

onBothDatabases("rejecting a request leaves the others of its group alone", async (test) => {
  const { apiKey, organizationId } = await nearlyFull(test, 3);
  const { fullKey: neighbourKey } = await createTestKey(test, await test.signUp());
  // Sent concurrently, so that they are committed together.
  const responses = await Promise.all([
    batch(test, apiKey, ["a", "b", "c", "d"].map(newSeries)),
    single(test, apiKey, existing),
    batch(test, apiKey, ["e", "f"].map(newSeries)),
    single(test, neighbourKey, newSeries("z")),
    batch(test, apiKey, ["g", "h"].map(newSeries)),
    single(test, apiKey, newSeries("e")),
    single(test, apiKey, newSeries("i")),
    single(test, apiKey, newSeries("j")),
  ]);
  const accepted = responses.map(({ status }) => status === 201);
  assert.deepEqual([accepted[0], accepted[1], accepted[3], accepted[5]], [false, true, true, true]);
  // In any order, the accepted records fill the limit exactly.
  const opened = [[2, ["e", "f"]], [4, ["g", "h"]], [5, ["e"]], [6, ["i"]], [7, ["j"]]] as const;
  const series = new Set(opened.flatMap(([place, names]) => accepted[place] ? names : []));
  assert.equal(series.size, 3);
  assert.deepEqual(await seriesOf(test, organizationId), { stored: usageSeriesMax, used: 4 });
});

onEveryDatabase("an idempotency conflict opens no series", async (test) => {
  const { apiKey, organizationId } = await nearlyFull(test, 1);
  const taken = { ...existing, idempotencyKey: "k" };
  assert.equal((await single(test, apiKey, taken)).status, 201);
  const [conflict, other] = await Promise.all([
    single(test, apiKey, { ...newSeries("a"), idempotencyKey: "k" }),
    single(test, apiKey, newSeries("b")),
  ]);
  assert.deepEqual([conflict?.status, other?.status], [409, 201]);
  assert.equal((await single(test, apiKey, taken)).status, 200);
  // A series without records stays, as that of a voided one does.
  assert.equal((await single(test, apiKey, { ...taken, metric: "m2" })).status, 409);
  assert.equal((await seriesOf(test, organizationId)).stored, usageSeriesMax);
});

Deno.test({
  name: "remote database: the limit is exact with two servers",
  ignore: sqldMissing() !== null,
  fn: async () => {
    const test = await startTestApp(unlimited, { open: remoteTestDatabase });
    const { place } = test.opened;
    const second = openServer(place);
    const other = await startTestApp(unlimited, {
      open: () => Promise.resolve({ database: second, place, dispose: () => second.close() }),
    });
    try {
      const { apiKey, organizationId } = await nearlyFull(test, 7);
      const responses = await Promise.all(
        Array.from(
          { length: 40 },
          (_, n) => single([test, other][n % 2] ?? test, apiKey, newSeries(`n${n}`)),
        ),
      );
      const statuses = responses.map(({ status }) => status);
      assert.equal(statuses.filter((status) => status === 201).length, 7, JSON.stringify(statuses));
      assert.equal(statuses.filter((status) => status === 422).length, 33);
      assert.deepEqual(await seriesOf(test, organizationId), { stored: usageSeriesMax, used: 7 });
    } finally {
      await other.dispose();
      await test.dispose();
    }
  },
});

onEveryDatabase("takes the limit from the organization or its plan on each request", async (test) => {
  const { organizationId, ...person } = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, { organizationId, ...person });
  const statusOf = async (name: string) => (await single(test, apiKey, newSeries(name))).status;
  await changePlan(test, "usage_series_max", 2);
  assert.deepEqual([await statusOf("a"), await statusOf("b"), await statusOf("c")], [201, 201, 422]);
  await overridePlan(test, organizationId, { usage_series_max: 3 });
  assert.deepEqual([await statusOf("c"), await statusOf("d")], [201, 422]);
  await overridePlan(test, organizationId, { usage_series_max: null });
  await changePlan(test, "usage_series_max", 1);
  assert.deepEqual([await statusOf("c"), await statusOf("d")], [201, 422], "existing series stay");
  const { error } = await assertError(
    await single(test, apiKey, newSeries("d")),
    422,
    "series_limit_reached",
  );
  assert.match(error.message, /limit of 1 combination of product/);
});
