// Hard limits: what is recorded is exactly what fits.
import assert from "node:assert/strict";
import { createTestKey, type TestApp } from "../../../support/app/app.ts";
import { addLimit, limitEvents } from "../../../support/meter/limits.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { sql } from "../../../../db/engine/database.ts";
import { errorDetailsMax } from "../../../../domain/limits.ts";
import { onBothDatabases, onEveryDatabase, recordWith as record } from "../../../support/meter/usage.ts";

async function newMember(test: TestApp) {
  const person = await test.signUp();
  return { cookie: person.cookie, apiKey: (await createTestKey(test, person)).fullKey };
}

const usedToday = async (test: TestApp, apiKey: string) => {
  const { data } = await (await test.send("/api/v1/usage?window=total", { apiKey })).json();
  return data[0]?.sum ?? 0;
};

onBothDatabases("a hard limit admits exactly the units that fit, and says where it stands", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const { id: limitId } = await addLimit(test, {}, { per: "day", quantity: 10, mode: "hard" });
  const responses = await Promise.all(Array.from({ length: 25 }, () => record(test, apiKey)));
  assert.equal(responses.filter(({ status }) => status === 201).length, 10);
  assert.equal(responses.filter(({ status }) => status === 429).length, 15);
  assert.equal(await usedToday(test, apiKey), 10);
  const rejected = await record(test, apiKey);
  assert.equal(rejected.status, 429);
  const standing = {
    limitId,
    productSlug: null,
    metric: null,
    per: "day",
    mode: "hard",
    quantity: 10,
    used: 10,
    held: 0,
    remaining: 0,
    resetsAt: "2026-11-22T00:00:00.000Z",
  };
  const { error } = await rejected.json();
  assert.deepEqual([error.code, error.details], ["limit_exceeded", [standing]]);
  const seconds = (Date.parse(standing.resetsAt) - test.now()) / 1000;
  assert.equal(rejected.headers.get("retry-after"), String(Math.ceil(seconds)));
  assert.equal(rejected.headers.get("ratelimit"), `"${limitId}";r=0;t=${Math.ceil(seconds)}`);
  assert.equal(rejected.headers.get("ratelimit-policy"), `"${limitId}";q=10;w=86400`);
});

onEveryDatabase(
  "a repeat succeeds beyond the limit, and what was rejected can be sent again",
  async (test) => {
    const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
    await addLimit(test, {}, { per: "day", quantity: 3, mode: "hard" });
    const first = await (await record(test, apiKey, { quantity: 2, idempotencyKey: "a" })).json();
    assert.deepEqual([first.limits[0].used, first.limits[0].remaining], [2, 1]);
    assert.equal((await record(test, apiKey, { quantity: 2, idempotencyKey: "b" })).status, 429);
    assert.equal((await record(test, apiKey, { quantity: 1, idempotencyKey: "c" })).status, 201);
    const repeated = await record(test, apiKey, { quantity: 2, idempotencyKey: "a" });
    assert.equal(repeated.status, 200);
    const { limits, usageRecord } = await repeated.json();
    assert.deepEqual([limits[0].used, usageRecord.id], [3, first.usageRecord.id]);
    test.advance(24 * 3_600_000);
    assert.equal((await record(test, apiKey, { quantity: 2, idempotencyKey: "b" })).status, 201);
  },
);

onEveryDatabase("a batch that exceeds many windows is rejected with 100 of them", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  await addLimit(test, {}, { per: "minute", quantity: 1, mode: "hard" });
  assert.equal((await record(test, apiKey)).status, 201);
  const commits = () => test.services.recorder.metrics.commitSeconds.cumulativeCounts().at(-1) ?? 0;
  const before = commits();
  const records = Array.from({ length: 450 }, (_, n) => ({
    productSlug: "tiles",
    metric: "requests",
    quantity: 2,
    timestamp: new Date(test.now() - (n + 1) * 60_000).toISOString(),
  }));
  const response = await test.send("/api/v1/usage/batch", { apiKey, json: { records } });
  const { error } = await response.json();
  assert.deepEqual([response.status, error.code, error.details.length], [
    429,
    "limit_exceeded",
    errorDetailsMax,
  ]);
  // The counters of all of these windows are completed together.
  assert.equal(commits() - before, 2);
});

onEveryDatabase("a soft limit records and reports", async (test) => {
  await addLimit(test, {}, { per: "total", quantity: 1, mode: "soft" });
  test.advance(3_600_000);
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  for (let n = 1; n <= 3; n++) {
    const response = await record(test, apiKey);
    assert.equal(response.status, 201);
    const [{ used, remaining, resetsAt }] = (await response.json()).limits;
    assert.deepEqual([used, remaining, resetsAt], [n, 0, null]);
    assert.equal(response.headers.get("ratelimit"), null);
  }
});

onEveryDatabase("notes once a window that a limit is nearly used, used up, or was hit", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  await addLimit(test, {}, { per: "hour", quantity: 10, mode: "hard" });
  await record(test, apiKey, { quantity: 7.999999 });
  assert.deepEqual(await limitEvents(test), []);
  await record(test, apiKey, { quantity: 0.000001 });
  assert.deepEqual(await limitEvents(test), ["limit.approaching 80"]);
  for (const quantity of [1, 1, 1, 1]) await record(test, apiKey, { quantity });
  const first = ["limit.approaching 80", "limit.reached 100"];
  assert.deepEqual(await limitEvents(test), first);
  // Of hours, one a day.
  test.advance(3_600_000);
  for (const quantity of [9, 9, 1]) await record(test, apiKey, { quantity });
  assert.deepEqual(await limitEvents(test), first);
  test.advance(24 * 3_600_000);
  await record(test, apiKey, { quantity: 5 });
  await Promise.all([record(test, apiKey, { quantity: 3 }), record(test, apiKey, { quantity: 6 })]);
  assert.deepEqual((await limitEvents(test)).slice(2).at(-1), "limit.reached 100 rejected");
});

onEveryDatabase("notes the highest percentage that is used, of budgets of keys too", async (test) => {
  const { id: apiKeyId, fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const limits = [
    addLimit(test, {}, { per: "day", quantity: 1000, mode: "soft", notifyAt: [1, 50, 150, 1000] }),
    addLimit(test, { apiKeyId }, { per: "total", quantity: 1000, mode: "hard", notifyAt: [30, 60] }),
  ];
  await Promise.all(limits);
  await record(test, apiKey, { quantity: 9.999999 });
  const expected: string[] = [];
  for (
    const [quantity, ...events] of [
      [0.000001, "limit.approaching 1"],
      [600, "limit.approaching 50", "limit.approaching 60"],
      // No percentage of the budget is 100 or more.
      [400],
    ] as const
  ) {
    await record(test, apiKey, { quantity });
    expected.push(...events);
    assert.deepEqual((await limitEvents(test)).sort(), expected.sort());
  }
  const rows = await test.opened.database.read(sql`
    SELECT percent, used FROM limit_notices ORDER BY percent`);
  assert.deepEqual(rows.map((row) => Object.values(row)), [
    [1, "[0,9,1000000,null]"],
    [50, "[0,609,1000000,null]"],
    [60, "[0,609,1000000,null]"],
  ]);
});

onEveryDatabase("limits apply to what operators record", async (test) => {
  const { organizationId } = await test.signUp();
  const { fullToken: apiKey } = await newOperatorToken(test, ["usage:write"]);
  await addLimit(test, {}, { per: "month", quantity: 3, mode: "hard" });
  const send = (quantity: number) =>
    test.send("/api/operator/usage", {
      apiKey,
      json: { records: [{ organizationId, productSlug: "tiles", metric: "requests", quantity }] },
    });
  const recorded = await send(2);
  assert.equal(recorded.status, 201, await recorded.clone().text());
  assert.equal((await recorded.json()).limits[0].remaining, 1);
  assert.equal((await send(2)).status, 429);
  assert.equal((await send(1)).status, 201);
});

onEveryDatabase(
  "events tell a limit that is used up from a request that is too large for the rest",
  async (test) => {
    const { cookie, apiKey } = await newMember(test);
    await addLimit(test, {}, { per: "month", quantity: 10, mode: "hard" });
    const send = async (quantity: number, status: number) => {
      assert.equal((await record(test, apiKey, { quantity })).status, status);
      test.advance(1);
    };
    const events = async () => {
      const { events } = await (await test.send("/api/portal/events", { cookie })).json();
      return events.filter(({ type }: { type: string }) => type.startsWith("limit.")).reverse().map((
        { type, data: { reason, used, percent } }: { type: string; data: Record<string, unknown> },
      ) => [type, reason ?? null, used, percent]);
    };
    const expected: unknown[] = [];
    const expectMore = async (...more: unknown[]) => {
      expected.push(...more);
      assert.deepEqual(await events(), expected);
    };
    await send(11, 429);
    await expectMore();
    await send(5, 201);
    await send(6, 429);
    await expectMore(["limit.reached", "too_large", 5, 100]);
    await send(7, 429);
    await expectMore();
    await send(4, 201);
    await expectMore(["limit.approaching", null, 9, 80]);
    await send(1, 201);
    await expectMore(["limit.reached", "full", 10, 100]);
    await send(1, 429);
    await expectMore();
  },
);

onEveryDatabase("a limit of 0 is used up from the start", async (test) => {
  const { cookie, apiKey } = await newMember(test);
  await addLimit(test, {}, { per: "month", quantity: 0, mode: "hard" });
  assert.equal((await record(test, apiKey)).status, 429);
  const { events: [event] } = await (await test.send("/api/portal/events?type=limit.reached", { cookie }))
    .json();
  assert.deepEqual([event.data.reason, event.data.used], ["full", 0]);
});
