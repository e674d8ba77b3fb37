// A key and those that replaced it are one in sums, under the name of the current key.
import assert from "node:assert/strict";
import { createTestKey, rotateTestKey, type TestApp } from "../../support/app/app.ts";
import { onEveryDatabase, recordOne } from "../../support/meter/usage.ts";
import { readUsageReport } from "../../../services/meter/jobs/usage_report.ts";
import { readUsageSums } from "../../../services/meter/jobs/usage_sums.ts";
import { noJobContext } from "../../support/app/reports.ts";

/** A key that was rotated twice and another one, each with 1, 2, 4 or 8 requests; the first also with 100 downloads. */
async function scene(test: TestApp) {
  const person = await test.signUp();
  const first = await createTestKey(test, person, { name: "Production" });
  const other = await createTestKey(test, person, { name: "Other" });
  await recordOne(test, first.fullKey, { quantity: 1 });
  await recordOne(test, first.fullKey, { metric: "downloads", quantity: 100 });
  const second = await rotateTestKey(test, person, first);
  await recordOne(test, second.fullKey, { quantity: 2, productSlug: "routes" });
  const third = await rotateTestKey(test, person, second);
  await recordOne(test, third.fullKey, { quantity: 4 });
  await recordOne(test, other.fullKey, { quantity: 8 });
  const { organizationId } = person;
  const read = async (query: { apiKey?: string[]; groupBy: ("apiKey" | "productSlug")[] }) => {
    const { data } = await readUsageSums({ ...noJobContext, database: test.opened.database }, {
      organizationId,
      now: test.now(),
      window: "total",
      metric: ["requests"],
      mergeRotations: true,
      ...query,
    });
    return data.map(({ apiKey, productSlug, micros, count }) => [
      apiKey ?? productSlug,
      Number(micros) / 1e6,
      count,
    ]);
  };
  return { person, first, second, third, other, read };
}

onEveryDatabase("sums of a key include those of the keys that it replaced", async (test) => {
  const { person, first, second, third, other, read } = await scene(test);
  const all = await read({ groupBy: ["apiKey"] });
  assert.deepEqual(new Set(all), new Set([[third.id, 7, 3], [other.id, 8, 1]]));
  for (const { id } of [first, second, third]) {
    assert.deepEqual(await read({ apiKey: [id], groupBy: ["productSlug"] }), [["routes", 2, 1], [
      "tiles",
      5,
      2,
    ]]);
  }
  // The newest key that works is the current one; without any, it is the newest.
  for (const revoked of [third, second, first]) {
    const response = await test.send(`/api/portal/api-keys/${revoked.id}`, {
      method: "DELETE",
      cookie: person.cookie,
    });
    assert.equal(response.status, 200);
    const current = revoked === third ? second : revoked === second ? first : third;
    assert.deepEqual(await read({ apiKey: [first.id], groupBy: ["apiKey"] }), [[current.id, 7, 3]]);
  }
});

onEveryDatabase(
  "totals of a key include the keys that it replaced, and the same days before",
  async (test) => {
    const { person: { organizationId }, first, second } = await scene(test);
    for (const [quantity, day] of [[40, 20], [80, 22]] as const) {
      await recordOne(test, second.fullKey, { quantity, timestamp: `2026-10-${day}T12:00:00Z` });
    }
    const compared = { start: Date.parse("2026-10-01"), end: Date.parse("2026-10-21") };
    const { metrics: totals } = await readUsageReport({ ...noJobContext, database: test.opened.database }, {
      organizationId,
      now: test.now(),
      period: { start: Date.parse("2026-11-01"), end: Date.parse("2026-12-01"), before: compared, compared },
      filter: { apiKey: [first.id] },
      ...{ unit: "day", timezone: "UTC", groups: ["productSlug"], stack: null, page: 1, isDetailed: false },
    });
    assert.deepEqual(
      totals.map(({ metric, micros, before, records }) => [metric, ...[micros, before].map(Number), records]),
      [["requests", 7e6, 40e6, 3], ["downloads", 100e6, 0, 1]],
    );
  },
);
