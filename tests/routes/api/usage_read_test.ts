// Reading usage over JSON: windows of any time zone, groups and filters, with a key and with a session.
import assert from "node:assert/strict";
import { assertError, createTestKey, type TestApp, testApp } from "../../support/app.ts";

const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };
const batch = (test: TestApp, apiKey: string, records: unknown[]) =>
  test.send("/api/v1/usage/batch", { apiKey, json: { records } });
const read = async (test: TestApp, apiKey: string, query = "") => {
  const answer = await test.send(`/api/v1/usage${query}`, { apiKey });
  assert.equal(answer.status, 200, await answer.clone().text());
  return await answer.json();
};

testApp("windows, groups and filters add up the same records", async (test) => {
  const person = await test.signUp();
  const a = await createTestKey(test, person);
  const b = await createTestKey(test, person);
  const at = (timestamp: string, more = {}) => ({ ...usage, timestamp, ...more });
  await batch(test, a.fullKey, [
    at("2026-10-31T22:30:00Z"),
    at("2026-10-31T23:30:00Z", { quantity: 2 }),
    at("2026-11-02T10:00:00Z", { quantity: 4, productSlug: "search" }),
  ]);
  await batch(test, b.fullKey, [at("2026-11-02T10:59:59.999Z", { quantity: 8, metric: "bytes" })]);
  const range = "from=2026-10-31&to=2026-11-08";
  assert.deepEqual((await read(test, a.fullKey, `?${range}&timezone=Europe/Berlin&metric=requests`)).data, [
    { start: "2026-10-30T23:00:00.000Z", sum: 1, count: 1, min: 1, max: 1 },
    { start: "2026-10-31T23:00:00.000Z", sum: 2, count: 1, min: 2, max: 2 },
    { start: "2026-11-01T23:00:00.000Z", sum: 4, count: 1, min: 4, max: 4 },
  ]);
  const hours = await read(
    test,
    b.fullKey,
    `?${range}&window=hour&groupBy=productSlug,metric,apiKey&productSlug=tiles`,
  );
  assert.deepEqual(
    hours.data.map((
      row: Record<string, unknown>,
    ) => [row["start"], row["metric"], row["apiKey"], row["sum"]]),
    [
      ["2026-10-31T22:00:00.000Z", "requests", a.id, 1],
      ["2026-10-31T23:00:00.000Z", "requests", a.id, 2],
      ["2026-11-02T10:00:00.000Z", "bytes", b.id, 8],
    ],
  );
  // The portal reads the same with a session.
  const portal = await test.send(`/api/portal/usage?${range}&window=month&apiKeyId=${a.id}`, {
    cookie: person.cookie,
  });
  assert.deepEqual((await portal.json()).data.map(({ sum }: { sum: number }) => sum), [3, 4]);
  await assertError(await test.send("/api/portal/usage"), 401, "unauthenticated");
  const stranger = await test.signUp();
  assert.deepEqual(
    (await (await test.send(`/api/portal/usage?${range}`, { cookie: stranger.cookie })).json()).data,
    [],
  );
});

testApp("a wrong query is refused by the parameter's name", async (test) => {
  const { fullKey } = await createTestKey(test, await test.signUp());
  const wrong: [string, string, string][] = [
    ["?window=year", "window", "validation_failed"],
    ["?timezone=Mars/Base", "timezone", "validation_failed"],
    ["?timezone=%2B05:07", "timezone", "validation_failed"],
    ["?from=yesterday", "from", "validation_failed"],
    ["?from=2026-11-21T10:07:00Z", "from", "validation_failed"],
    ["?from=2026-11-02&to=2026-11-01", "to", "validation_failed"],
    ["?groupBy=color", "groupBy", "validation_failed"],
    ["?metric=a%20b", "metric", "validation_failed"],
    ["?limit=1", "limit", "validation_failed"],
    ["?from=2026-11-01&from=2026-11-02", "from", "validation_failed"],
    ["?metric=%00", "metric", "validation_failed"],
  ];
  for (const [query, path, code] of wrong) {
    const { error } = await assertError(
      await test.send(`/api/v1/usage${query}`, { apiKey: fullKey }),
      422,
      code,
    );
    assert.equal(error.details?.[0]?.path, path, query);
  }
  const long = await test.send("/api/v1/usage?window=hour&from=2026-01-01&to=2026-12-01", {
    apiKey: fullKey,
  });
  await assertError(long, 422, "range_too_long");
});
