// Reading usage as JSON, with a key and with a session. usage_windows_test.ts compares any windows, groups and filters with the records.
import assert from "node:assert/strict";
import { usageFilterValuesMax } from "../../../../domain/limits.ts";
import { assertError, createTestKey, type TestApp, testApp } from "../../../support/app/app.ts";
import type { ReadSum } from "../../../support/meter/usage.ts";

const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };
const batch = (test: TestApp, apiKey: string, records: unknown[]) =>
  test.send("/api/v1/usage/batch", { apiKey, json: { records } });
const read = async (test: TestApp, apiKey: string, query = "") => {
  const response = await test.send(`/api/v1/usage${query}`, { apiKey });
  assert.equal(response.status, 200, await response.clone().text());
  return await response.json();
};

testApp("sums of different metrics are never added up", async (test) => {
  const person = await test.signUp();
  const { fullKey, id } = await createTestKey(test, person);
  await batch(test, fullKey, [
    { ...usage, quantity: 3 },
    { ...usage, metric: "bytes", quantity: 5_000_000 },
    { ...usage, productSlug: "search", metric: "bytes", quantity: 70 },
  ]);
  const rows = async (query: string) => {
    const { data } = await read(test, fullKey, `?window=total&${query}`);
    const portal = await test.send(`/api/portal/usage?window=total&${query}`, { cookie: person.cookie });
    assert.deepEqual((await portal.json()).data, data);
    return data.map(({ start: _start, end: _end, count: _count, min: _min, max: _max, ...row }: ReadSum) =>
      row
    );
  };
  assert.deepEqual(await rows(""), [{ metric: "bytes", sum: 5_000_070 }, { metric: "requests", sum: 3 }]);
  assert.deepEqual(await rows("metric=bytes,requests"), await rows(""));
  assert.deepEqual(await rows("metric=bytes&metric=nothing&groupBy=apiKey"), [
    { apiKey: id, metric: "bytes", sum: 5_000_070 },
  ]);
  assert.deepEqual(await rows("metric=bytes,bytes"), [{ sum: 5_000_070 }]);
});

testApp("a range is widened to quarters of an hour, and the response says so", async (test) => {
  const { fullKey } = await createTestKey(test, await test.signUp());
  await batch(test, fullKey, [
    { ...usage, timestamp: "2026-11-20T09:59:59.999Z", quantity: 1 },
    { ...usage, timestamp: "2026-11-20T10:00:00.000Z", quantity: 2 },
    { ...usage, timestamp: "2026-11-20T10:29:59.999Z", quantity: 4 },
    { ...usage, timestamp: "2026-11-20T10:30:00.000Z", quantity: 8 },
  ]);
  const range = "from=2026-11-20T11:07:31.5%2B01:00&to=2026-11-20T10:15:00.001Z&window=total&metric=requests";
  const [start, end] = ["2026-11-20T10:00:00.000Z", "2026-11-20T10:30:00.000Z"];
  assert.deepEqual(await read(test, fullKey, `?${range}`), {
    from: start,
    to: end,
    window: "total",
    data: [{ start, end, sum: 6, count: 2, min: 2, max: 4 }],
  });
  const zoned = await read(test, fullKey, `?${range}&timezone=Asia/Kathmandu`);
  assert.deepEqual([zoned.from, zoned.to], [
    "2026-11-20T15:45:00.000+05:45",
    "2026-11-20T16:15:00.000+05:45",
  ]);
  assert.deepEqual(zoned.data.map(({ start, end }: ReadSum) => [start, end]), [[zoned.from, zoned.to]]);
  // A query accepts the times of a response, with an encoded +.
  const again = new URLSearchParams({ from: zoned.from, to: zoned.to, window: "total", metric: "requests" });
  assert.equal((await read(test, fullKey, `?${again}`)).data[0].sum, 6);
});

testApp("rejects invalid parameters by name", async (test) => {
  const { fullKey } = await createTestKey(test, await test.signUp());
  const wrong: [query: string, path: string][] = [
    ["?window=year", "window"],
    ["?timezone=Mars/Base", "timezone"],
    ["?timezone=%2B05:07", "timezone"],
    ["?from=yesterday", "from"],
    ["?from=2026-11-01T00:00:00+01:00", "from"],
    ["?from=2026-11-02&to=2026-11-01", "to"],
    ["?groupBy=color", "groupBy"],
    ["?metric=a%20b", "metric"],
    ["?metric=", "metric"],
    ["?metric=a&metric=b,", "metric"],
    ["?apiKey=,", "apiKey"],
    [`?metric=${Array.from({ length: usageFilterValuesMax + 1 }, (_, n) => n)}`, "metric"],
    ["?apiKeyId=key_1", "apiKeyId"],
    ["?groupBy=metric&groupBy=color", "groupBy"],
    ["?window=day&window=week", "window"],
    ["?limit=1", "limit"],
    ["?from=2026-11-01&from=2026-11-02", "from"],
    ["?metric=%00", "metric"],
  ];
  for (const [query, path] of wrong) {
    const response = await test.send(`/api/v1/usage${query}`, { apiKey: fullKey });
    const { error } = await assertError(response, 422, "validation_failed");
    assert.equal(error.details?.[0]?.path, path, query);
  }
  const long = await test.send("/api/v1/usage?window=hour&from=2026-01-01&to=2026-12-01", {
    apiKey: fullKey,
  });
  await assertError(long, 422, "range_too_long");
});
