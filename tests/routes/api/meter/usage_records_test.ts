// The list of records: newest first, every record exactly once, only of the own organization.
import assert from "node:assert/strict";
import { sql, type Statement } from "../../../../db/engine/database.ts";
import { insertUsageRecords } from "../../../../db/meter/recorder.ts";
import { generateApiKey, hashApiKey } from "../../../../domain/keys/api_key.ts";
import { usageRecordScanMax } from "../../../../domain/limits.ts";
import { readUsageRecordPage } from "../../../../services/meter/jobs/usage_record_list.ts";
import { assertError, createTestKey, type TestApp, testApp } from "../../../support/app/app.ts";
import { noJobContext } from "../../../support/app/reports.ts";
import { encodedRecord, plainGroup } from "../../../support/meter/record_groups.ts";
import {
  listAll,
  type ListedRecord,
  listPage,
  onEveryDatabase,
  recordAll,
  recordOne,
  type SentRecord,
  unlimited,
  voidOne,
} from "../../../support/meter/usage.ts";

const usage = { productSlug: "tiles", metric: "requests" };
const minuteMs = 60_000;

function isoBefore(test: TestApp, ms: number): string {
  return new Date(test.now() - ms).toISOString();
}

function assertNewestFirst(records: readonly ListedRecord[]): void {
  const times = records.map(({ timestamp }) => timestamp);
  assert.deepEqual(times, times.toSorted().reverse());
  assert.equal(new Set(records.map(({ id }) => id)).size, records.length, "a record is listed twice");
}

/** Writes records of one moment and one series directly to the database, which is fast. */
async function recordMany(
  test: TestApp,
  { apiKey, metric, count, timestamp }: { apiKey: string; metric: string; count: number; timestamp: number },
): Promise<void> {
  const keyHash = hashApiKey(apiKey);
  const record = encodedRecord(timestamp, { timestamp });
  for (let left = count; left > 0; left -= 10_000) {
    const { inserted } = await insertUsageRecords(test.opened.database, {
      ...plainGroup,
      now: test.now(),
      targets: [keyHash],
      series: [[keyHash, "tiles", metric]],
      records: Array(Math.min(left, 10_000)).fill(record),
    });
    assert.equal(inserted, Math.min(left, 10_000));
  }
}

onEveryDatabase(
  "lists every record once, newest first, including voided ones and equal times",
  async (test) => {
    const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
    const { fullKey: other } = await createTestKey(test, await test.signUp());
    const records = Array.from({ length: 157 }, (_, n): SentRecord => ({
      productSlug: ["a", "b"][n % 2] ?? "",
      metric: ["x", "y", "z"][n % 3] ?? "",
      quantity: n,
      // Groups of 20 with the same time, across several series, not in the order of recording.
      timestamp: isoBefore(test, (Math.floor(n / 20) * 7 % 5) * minuteMs),
    }));
    await recordAll(test, { apiKey, records });
    await recordAll(test, { apiKey: other, records });
    const all = await listAll(test, apiKey);
    assertNewestFirst(all);
    assert.deepEqual(
      all.map(({ quantity }) => quantity).sort((a, b) => a - b),
      records.map(({ quantity }) => quantity),
    );
    for (const { id } of all.filter((_record, n) => n % 10 === 0)) await voidOne(test, { apiKey, id });
    const ids = all.map(({ id }) => id);
    for (const limit of [1, 7, 50, 78, 79, 100]) {
      const listed = await listAll(test, apiKey, `limit=${limit}`);
      assert.deepEqual(listed.map(({ id }) => id), ids, `limit ${limit}`);
      assert.equal(listed.filter(({ voidedAt }) => voidedAt !== null).length, 16);
    }
    const { usageRecords, nextCursor } = await listPage(test, apiKey);
    assert.equal(usageRecords.length, 50);
    assert.equal(nextCursor, ids[49]);
    // A cursor of another organization is invalid, like an unknown one.
    const strange = await test.send(`/api/v1/usage/records?cursor=${nextCursor}`, { apiKey: other });
    const { error } = await assertError(strange, 422, "validation_failed");
    assert.equal(error.details?.[0]?.path, "cursor");
  },
);

testApp("a page that ends at the last record is the last page", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  assert.deepEqual(await listPage(test, apiKey), { usageRecords: [], nextCursor: null });
  for (let n = 0; n < 3; n++) await recordOne(test, apiKey);
  for (const filter of ["", "&metric=requests"]) {
    const page = await listPage(test, apiKey, `limit=3${filter}`);
    assert.equal(page.usageRecords.length, 3);
    assert.equal(page.nextCursor, null);
    assert.equal((await listPage(test, apiKey, `limit=2${filter}`)).nextCursor, page.usageRecords[1]?.id);
  }
});

onEveryDatabase("filters and ranges list what fits, and nothing else", async (test) => {
  const person = await test.signUp();
  const [a, b] = [await createTestKey(test, person), await createTestKey(test, person)];
  const stranger = await createTestKey(test, await test.signUp());
  const some = Array.from({ length: 240 }, (_, n): SentRecord => ({
    productSlug: ["a", "b", "c"][n % 3] ?? "",
    metric: n % 16 === 0 ? "rare" : "x",
    quantity: n,
    timestamp: isoBefore(test, (n * 37 % 100) * 7 * minuteMs),
  }));
  for (const { fullKey: apiKey } of [a, b, stranger]) await recordAll(test, { apiKey, records: some });
  const all = await listAll(test, a.fullKey);
  assert.equal(all.length, 480);
  const [from, to] = [isoBefore(test, 500 * minuteMs), isoBefore(test, 21 * minuteMs)];
  const filters: Record<string, string>[] = [
    { productSlug: "b" },
    { metric: "rare" },
    { apiKey: b.id },
    { apiKey: `${a.id},${b.id}`, productSlug: "a,c", metric: "rare" },
    { productSlug: "c", metric: "rare", apiKey: a.id },
    { from },
    { to },
    { from, to },
    { from, to, metric: "rare" },
    { from, productSlug: "a" },
    { to, apiKey: a.id, metric: "x" },
    // The same moment, in another time zone.
    { from: from.replace("Z", "+00:00"), metric: "rare" },
  ];
  for (const filter of filters) {
    const fits = all.filter((record) =>
      (filter["productSlug"] ?? record.productSlug).split(",").includes(record.productSlug) &&
      (filter["metric"] ?? record.metric) === record.metric &&
      (filter["apiKey"] ?? record.apiKeyId).split(",").includes(record.apiKeyId) &&
      record.timestamp >= (filter["from"] === undefined ? "" : from) &&
      record.timestamp < (filter["to"] === undefined ? "9" : to)
    );
    assert.ok(fits.length > 0);
    for (const limit of [17, 100]) {
      const query = String(new URLSearchParams({ ...filter, limit: String(limit) }));
      assert.deepEqual(await listAll(test, b.fullKey, query), fits, query);
    }
  }
  for (
    const query of [`apiKey=${stranger.id}`, "metric=none", "apiKey=nobody", `from=${to}&to=${from}`]
  ) {
    assert.deepEqual(await listAll(test, a.fullKey, query), [], query);
  }
});

testApp("a date means its start in UTC", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const times = ["2026-11-19T23:59:59.999Z", "2026-11-20T00:00:00.000Z", "2026-11-20T23:59:59.999Z"];
  for (const timestamp of [...times, "2026-11-21T00:00:00.000Z"]) {
    await recordOne(test, apiKey, { timestamp });
  }
  const listed = await listAll(test, apiKey, "from=2026-11-20&to=2026-11-21");
  assert.deepEqual(listed.map(({ timestamp }) => timestamp), times.slice(1).reverse());
});

onEveryDatabase("a record is found by its id, by its organization alone", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const { fullKey: other } = await createTestKey(test, await test.signUp());
  const record = await recordOne(test, apiKey, { quantity: 2.5, idempotencyKey: "a" });
  const read = (id: string, key: string) => test.send(`/api/v1/usage/records/${id}`, { apiKey: key });
  const response = await read(record.id, apiKey);
  assert.equal(response.status, 200);
  assert.deepEqual(await response.json(), { usageRecord: record });
  await voidOne(test, { apiKey, id: record.id });
  const voided = (await (await read(record.id, apiKey)).json()).usageRecord;
  assert.deepEqual([voided.id, voided.voidReason], [record.id, "Sent twice."]);
  for (const id of [record.id.replace(/.$/, (last) => last === "0" ? "1" : "0"), "nothing", "%00"]) {
    await assertError(await read(id, apiKey), 404, "not_found");
  }
  await assertError(await read(record.id, other), 404, "not_found");
  await assertError(await read(record.id, generateApiKey().fullKey), 401, "invalid_api_key");
});

onEveryDatabase("a record is found by its idempotency key, by its organization alone", async (test) => {
  const person = await test.signUp();
  const { fullKey: apiKey, id: keyId } = await createTestKey(test, person);
  const { fullKey: other } = await createTestKey(test, await test.signUp());
  // With large organization numbers, hashes have more digits than floating-point numbers.
  await test.opened.database.write([sql`UPDATE organizations SET number = number + 2000000000`]);
  // Enough that keys have moved within the index. Some characters have a meaning in URLs.
  const key = (n: number) => `invoice ${n}, 100% & +more`;
  const records = Array.from(
    { length: 2_000 },
    (_, n) => ({ ...usage, quantity: n, idempotencyKey: key(n) }),
  );
  await recordAll(test, { apiKey, records });
  await recordAll(test, { apiKey: other, records: records.slice(0, 10) });
  const find = async (
    n: number,
    more: Record<string, string> = {},
    by = apiKey,
  ) => (await listPage(test, by, String(new URLSearchParams({ idempotencyKey: key(n), ...more }))));
  for (const n of [0, 1, 999, 1_999]) {
    const { usageRecords, nextCursor } = await find(n);
    assert.deepEqual(usageRecords.map(({ quantity }) => quantity), [n]);
    assert.equal(nextCursor, null);
  }
  assert.deepEqual((await find(2_000)).usageRecords, []);
  assert.deepEqual((await find(11, {}, other)).usageRecords, []);
  const [mine] = (await find(3)).usageRecords;
  const [theirs] = (await find(3, {}, other)).usageRecords;
  assert.notEqual(mine?.id, theirs?.id);
  await voidOne(test, { apiKey, id: mine?.id ?? "" });
  assert.equal((await find(3)).usageRecords[0]?.voidReason, "Sent twice.");
  for (
    const [filter, fits] of [
      [{ metric: "requests,other", apiKey: keyId }, true],
      [{ metric: "other" }, false],
      [{ productSlug: "other" }, false],
      [{ from: isoBefore(test, 0) }, true],
      [{ to: isoBefore(test, 0) }, false],
      [{ from: isoBefore(test, -1) }, false],
      [{ limit: "1" }, true],
    ] as const
  ) assert.equal((await find(5, filter)).usageRecords.length, fits ? 1 : 0, JSON.stringify(filter));
});

testApp("pages are complete while records are added between them and other lists are read", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const at = (n: number) => isoBefore(test, n % 10 * minuteMs);
  await recordAll(test, {
    apiKey,
    records: Array.from({ length: 95 }, (_, n) => ({ ...usage, quantity: n, timestamp: at(n) })),
  });
  const before = await listAll(test, apiKey);
  for (const query of ["limit=10", "limit=10&metric=requests"]) {
    const listed: ListedRecord[] = [];
    for (let cursor = "";;) {
      const [page] = await Promise.all([
        listPage(test, apiKey, `${query}${cursor}`),
        ...[0, 3, 9].map((n) => recordOne(test, apiKey, { quantity: 1000 + n, timestamp: at(n) })),
      ]);
      listed.push(...page.usageRecords);
      if (page.nextCursor === null) break;
      cursor = `&cursor=${page.nextCursor}`;
    }
    assertNewestFirst(listed);
    const known = new Set(before.map(({ id }) => id));
    assert.deepEqual(listed.filter(({ id }) => known.has(id)), before, query);
  }
});

onEveryDatabase("a rare series among very many records is found, in several looks", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  // All in one quarter of an hour, so that the sums don't narrow the search.
  const quarter = Date.UTC(2026, 10, 21, 13);
  const rare: string[] = [];
  for (const minute of [1, 5, 9]) {
    const timestamp = new Date(quarter + minute * minuteMs).toISOString();
    for (let n = 0; n < 2; n++) {
      rare.unshift((await recordOne(test, apiKey, { metric: "rare", timestamp })).id);
    }
    const more = { apiKey, metric: "common", count: usageRecordScanMax + 7 };
    await recordMany(test, { ...more, timestamp: quarter + (minute + 2) * minuteMs });
  }
  // And one far away, behind records that don't match.
  rare.push((await recordOne(test, apiKey, { metric: "rare", timestamp: "2026-11-02T00:00:00.000Z" })).id);
  for (const limit of [1, 2, 3, 4, 100]) {
    const listed = await listAll(test, apiKey, `metric=rare&limit=${limit}`);
    assert.deepEqual(listed.map(({ id }) => id), rare, `limit ${limit}`);
  }
  const later = await listAll(
    test,
    apiKey,
    "metric=rare&from=2026-11-21T13:02:00Z&to=2026-11-21T13:09:00.001Z",
  );
  assert.deepEqual(later.map(({ id }) => id), rare.slice(0, 4));
});

testApp("returns a complete page while records are added during its search", async (test) => {
  const person = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, person);
  const { database } = test.opened;
  const quarter = Date.UTC(2026, 10, 21, 13);
  const common = { apiKey, metric: "common", timestamp: quarter + minuteMs };
  const rare = async () =>
    (await recordOne(test, apiKey, { metric: "rare", timestamp: new Date(quarter).toISOString() })).id;
  // Around the end of the first step: the next step begins after any record that it ended at.
  const ids = [await rare(), await rare(), await rare()].reverse();
  await recordMany(test, { ...common, count: usageRecordScanMax - 2 });
  let added = 0;
  const afterRead = async () => {
    if (added++ > 0) await recordMany(test, { ...common, count: 1 });
  };
  const { usageRecords } = await readUsageRecordPage({
    ...noJobContext,
    database: {
      source: database.source,
      read: async <T>(statement: Statement) => {
        const rows = await database.read<T>(statement);
        await afterRead();
        return rows;
      },
      readFirst: async <T>(statement: Statement) => {
        const row = await database.readFirst<T>(statement);
        await afterRead();
        return row;
      },
      write: (batch) => database.write(batch),
      close: () => database.close(),
    },
  }, { organizationId: person.organizationId, now: test.now(), metric: ["rare"], limit: 50 });
  assert.ok(added > 3, "the page took one step");
  assert.deepEqual(usageRecords.map(({ id }) => id), ids);
}, unlimited);

testApp("rejects invalid parameters by name, and an invalid key first", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const { id } = await recordOne(test, apiKey);
  const wrong: [string, string][] = [
    ["limit=0", "limit"],
    ["limit=101", "limit"],
    ["limit=ten", "limit"],
    ["limit=1.5", "limit"],
    ["limit=", "limit"],
    ["cursor=nothing", "cursor"],
    ["cursor=", "cursor"],
    [`cursor=${id.replace(/.$/, (last) => last === "0" ? "1" : "0")}`, "cursor"],
    [`cursor=${id.toUpperCase()}`, "cursor"],
    ["from=yesterday", "from"],
    ["from=2026-11-31", "from"],
    ["idempotencyKey=", "idempotencyKey"],
    ["idempotencyKey=a&idempotencyKey=b", "idempotencyKey"],
    ["idempotencyKey=%C3%A9", "idempotencyKey"],
    [`idempotencyKey=a&cursor=${id}`, "cursor"],
    ["apiKeyId=key_1", "apiKeyId"],
    ["to=2026-11-21T14:03", "to"],
    ["metric=a%20b", "metric"],
    ["productSlug=", "productSlug"],
    ["window=day", "window"],
    ["limit=1&limit=2", "limit"],
    ["metric=%00", "metric"],
  ];
  for (const [query, path] of wrong) {
    const response = await test.send(`/api/v1/usage/records?${query}`, { apiKey });
    const { error } = await assertError(response, 422, "validation_failed");
    assert.equal(error.details?.[0]?.path, path, query);
  }
  const { fullKey: unknown } = generateApiKey();
  for (const key of [unknown, "garbage", undefined]) {
    for (const query of ["", "?limit=0", `?cursor=${id}`]) {
      const answer = await test.send(
        `/api/v1/usage/records${query}`,
        key === undefined ? {} : { apiKey: key },
      );
      await assertError(answer, 401, "invalid_api_key");
    }
  }
}, unlimited);
