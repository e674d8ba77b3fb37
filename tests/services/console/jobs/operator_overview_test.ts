// The operator's overview, on both kinds of database.
import assert from "node:assert/strict";
import { overviewKeptMs } from "../../../../domain/limits.ts";
import { createTestKey, type TestApp } from "../../../support/app/app.ts";
import { onEveryDatabase, recordOne } from "../../../support/meter/usage.ts";
import { run } from "../../../support/people/scene.ts";
import { testReader } from "../../../support/app/reports.ts";

const hourMs = 3_600_000;

const read = (test: TestApp, metric: string | null = null) =>
  test.services.reports.read("readOverview", { now: test.now(), metric }, { reader: testReader });

async function customer(test: TestApp, name: string) {
  const person = await test.signUp();
  const { organizationId: id } = person;
  const set = "UPDATE organizations SET name = ?, external_id = ? WHERE id = ?";
  await run(test, set, name, `cus_${name}`, id);
  const { fullKey } = await createTestKey(test, person);
  const record = (productSlug: string, metric: string, quantity: number) =>
    recordOne(test, fullKey, { productSlug, metric, quantity });
  return { id, record };
}

onEveryDatabase(
  "compares today and this month with the same time before, for all organizations",
  async (test) => {
    const empty = await read(test);
    assert.deepEqual([empty.metric, empty.metrics, empty.customers], [null, [], []]);
    assert.equal(empty.organizations.all, 0);

    // Saturday 21 November 2026, 14:03.
    const [ada, bob, eve] = [
      await customer(test, "ada"),
      await customer(test, "bob"),
      await customer(test, "eve"),
    ];
    await ada.record("tiles", "requests", 10.5);
    await bob.record("search", "requests", 4);
    test.advance(2 * hourMs);
    await ada.record("tiles", "requests", 1000);
    await eve.record("tiles", "requests", 1000);
    // Monday 14 December.
    test.advance((22 * 24 + 20) * hourMs);
    await ada.record("tiles", "requests", 7);
    test.advance(8 * hourMs);
    await ada.record("tiles", "requests", 500);
    // Monday 21 December, 12:03, then 15:03.
    test.advance((6 * 24 + 16) * hourMs);
    await ada.record("tiles", "requests", 14);
    await ada.record("search", "requests", 6);
    await bob.record("tiles", "bytes", 1);
    test.advance(3 * hourMs);
    assert.equal(new Date(test.now()).toISOString().slice(0, 16), "2026-12-21T15:03");

    const overview = await read(test);
    assert.deepEqual(overview.metrics, ["requests", "bytes"]);
    assert.equal(overview.metric, "requests");
    assert.deepEqual(overview.today, { sum: "20", change: 185.7 });
    assert.deepEqual(overview.month, { sum: "527", change: 3534.5 });
    assert.deepEqual(overview.organizations, { all: 3, month: 2, today: 2, monthBefore: 2 });
    assert.deepEqual(overview.customers, [{
      id: ada.id,
      name: "ada",
      externalId: "cus_ada",
      sum: "527",
      change: 4919,
      share: 100,
    }]);
    assert.equal(overview.days.length, 21);
    assert.deepEqual(overview.chart.series, ["tiles", "search"]);
    assert.deepEqual(overview.chart.windows.map(({ total }) => total), [
      ...Array(13).fill("0"),
      "507",
      ...Array(6).fill("0"),
      "20",
    ]);
    assert.equal(overview.isPartial, false);

    const bytes = await read(test, "bytes");
    assert.deepEqual([bytes.today, bytes.month], Array(2).fill({ sum: "1", change: null }));
    assert.deepEqual(bytes.customers.map(({ id, sum, share }) => [id, sum, share]), [[bob.id, "1", 100]]);
    assert.equal((await read(test, "unknown")).metric, "requests");
  },
);

onEveryDatabase(
  "reads the overview again after 30 seconds, and leaves deleted organizations out",
  async (test) => {
    const ada = await customer(test, "ada");
    await ada.record("tiles", "requests", 1);
    const first = await read(test);
    await ada.record("tiles", "requests", 1);
    test.advance(overviewKeptMs - 1);
    assert.deepEqual(await read(test), first);
    await run(test, "UPDATE organizations SET deleted_at = 1 WHERE id = ?", ada.id);
    test.advance(1);
    const second = await read(test);
    assert.equal(second.updatedAt, test.now());
    assert.equal(second.month.sum, "2");
    assert.equal(second.organizations.all, 0);
    assert.deepEqual(second.customers, []);
  },
);

onEveryDatabase(
  "sums the 100 products with the most records, also in the first minutes of a month",
  async (test) => {
    const ada = await customer(test, "ada");
    const products = Array.from({ length: 101 }, (_, n) => `p${n}`);
    for (const product of products) await ada.record(product, "requests", 1);
    await ada.record("p0", "requests", 1);
    const { isPartial, month, customers } = await read(test);
    assert.equal(isPartial, true);
    assert.equal(month.sum, "101");
    assert.deepEqual(customers.map(({ sum, change }) => [sum, change]), [["102", null]]);
    // 1 December, 00:03.
    test.advance((9 * 24 + 10) * hourMs);
    assert.equal(new Date(test.now()).toISOString().slice(0, 16), "2026-12-01T00:03");
    await ada.record("p1", "requests", 3);
    const next = await read(test);
    assert.deepEqual(next.month, { sum: "3", change: null });
    assert.deepEqual(next.organizations, { all: 1, month: 1, today: 1, monthBefore: 0 });
    assert.equal(next.days.length, 1);
  },
);
