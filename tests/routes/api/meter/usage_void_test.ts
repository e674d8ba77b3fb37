// Voiding a record: all sums are updated immediately and once, and only by the own organization.
import assert from "node:assert/strict";
import { assertError, createTestKey, type TestApp } from "../../../support/app/app.ts";
import { grantVoids } from "../../../support/operators/operators.ts";
import {
  addUpNaively,
  listAll,
  type ListedRecord,
  onBothDatabases,
  onEveryDatabase,
  readSums,
  recordOne,
  voidOne,
} from "../../../support/meter/usage.ts";

const maxQuantity = Number.MAX_SAFE_INTEGER;
const month = "?window=month";

/** Returns count, sum, minimum and maximum of this month; undefined without records. */
async function total(test: TestApp, apiKey: string) {
  const data = await readSums(test, apiKey, month);
  assert.ok(data.length <= 1);
  const [sum] = data;
  return sum && [sum.count, sum.sum, sum.min, sum.max];
}

/** Returns the same, computed from the list. */
async function totalOfList(test: TestApp, apiKey: string) {
  const counting = (await listAll(test, apiKey)).filter(({ voidedAt }) => voidedAt === null);
  const [sum] = addUpNaively(counting, () => []);
  return sum && [sum.count, sum.sum, sum.min, sum.max];
}

onEveryDatabase(
  "sum, count, minimum and maximum are updated immediately, for any voided record",
  async (test) => {
    const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
    // 2^53−1 whole is far beyond 2^63 millionths.
    const records: ListedRecord[] = [];
    for (const quantity of [5, 0.1, 5, maxQuantity, 0.000001, maxQuantity - 1, 9_300_000_000_000, 0.2]) {
      records.push(await recordOne(test, apiKey, { quantity }));
    }
    const without = async (...places: number[]) => {
      for (const place of places) await voidOne(test, { apiKey, id: records[place]?.id ?? "" });
      const all = await total(test, apiKey);
      assert.deepEqual(all, await totalOfList(test, apiKey));
      return all;
    };
    assert.deepEqual((await without())?.toSpliced(1, 1), [8, 0.000001, maxQuantity]);
    assert.deepEqual((await without(4))?.toSpliced(1, 1), [7, 0.1, maxQuantity], "without the minimum");
    assert.deepEqual((await without(3))?.toSpliced(1, 1), [6, 0.1, maxQuantity - 1], "without the maximum");
    assert.deepEqual(await without(5), [5, 9_300_000_000_010.3, 0.1, 9_300_000_000_000]);
    assert.deepEqual(await without(6), [4, 10.3, 0.1, 5]);
    assert.deepEqual(await without(0), [3, 5.3, 0.1, 5], "one of two maximums");
    assert.deepEqual(await without(1), [2, 5.2, 0.2, 5]);
    assert.deepEqual(await without(7, 2), undefined, "none is left");
    // Later records of the quarter of an hour start from zero.
    records.push(await recordOne(test, apiKey, { quantity: 3 }));
    assert.deepEqual(await without(), [1, 3, 3, 3]);
    records.push(await recordOne(test, apiKey, { quantity: 4 }));
    assert.deepEqual(await without(8), [1, 4, 4, 4]);
  },
);

onBothDatabases(
  "voiding again, even concurrently, changes nothing and returns the first reason",
  async (test) => {
    const person = await test.signUp();
    const [a, b] = [await createTestKey(test, person), await createTestKey(test, person)];
    const records = [];
    for (const quantity of [1, 2, 4, 8]) records.push(await recordOne(test, a.fullKey, { quantity }));
    const [record] = records;
    assert.ok(record);
    test.advance(61_000);
    const voidedAt = new Date(test.now()).toISOString();
    const first = await voidOne(test, { apiKey: b.fullKey, id: record.id, reason: " Sent in error. " });
    // Another key of the organization can void it, and is named.
    assert.deepEqual(first, { ...record, voidedAt, voidedBy: b.id, voidReason: "Sent in error." });
    test.advance(61_000);
    assert.deepEqual(await voidOne(test, { apiKey: a.fullKey, id: record.id, reason: "Another." }), first);
    assert.deepEqual(await total(test, a.fullKey), [3, 14, 2, 8]);

    const id = records[1]?.id ?? "";
    const responses = await Promise.all(
      Array.from(
        { length: 12 },
        (_, n) => voidOne(test, { apiKey: (n % 2 === 0 ? a : b).fullKey, id, reason: `Reason ${n}` }),
      ),
    );
    assert.equal(
      new Set(responses.map((response) => JSON.stringify(response))).size,
      1,
    );
    assert.deepEqual(await total(test, a.fullKey), [2, 12, 4, 8]);
    assert.deepEqual((await listAll(test, a.fullKey)).filter((listed) => listed.id === id), [responses[0]]);
  },
);

onEveryDatabase(
  "the idempotency key of a voided record stays in use, and the record stays in lists",
  async (test) => {
    const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
    const given = { quantity: 7, idempotencyKey: "once" };
    const { id } = await recordOne(test, apiKey, given);
    const voided = await voidOne(test, { apiKey, id });
    const send = (more = {}) =>
      test.send("/api/v1/usage", {
        apiKey,
        json: { productSlug: "tiles", metric: "requests", ...given, ...more },
      });
    const repeat = await send();
    assert.equal(repeat.status, 200);
    assert.deepEqual(await repeat.json(), { duplicate: true, usageRecord: voided });
    await assertError(await send({ quantity: 8 }), 409, "idempotency_conflict");
    assert.equal(await total(test, apiKey), undefined);
    assert.deepEqual(await listAll(test, apiKey), [voided]);
  },
);

onEveryDatabase("who may not void a record learns nothing of it and changes nothing", async (test) => {
  const person = await test.signUp();
  const own = await createTestKey(test, person);
  const stranger = await createTestKey(test, await test.signUp());
  const { id } = await recordOne(test, own.fullKey);
  const send = (record: string, apiKey: string, json: unknown = { reason: "Mine." }) =>
    test.send(`/api/v1/usage/records/${record}/void`, { apiKey, json });
  await test.opened.database.write([grantVoids]);

  const unknown = id.replace(/.$/, (last) => last === "0" ? "1" : "0");
  const earlier = id.replace(/^use_../, "use_00");
  const bodies: string[] = [];
  const malformed = ["use_", "use_zzzzzzzzzzzzzzzzzzzzzzzz", "1", `${id}0`, "%00", `${id}%20`];
  for (const record of [id, unknown, earlier, ...malformed]) {
    const response = await send(record, stranger.fullKey);
    const requestId = response.headers.get("x-request-id") ?? "";
    assert.equal(response.status, 404, record);
    bodies.push((await response.text()).replace(requestId, ""));
  }
  assert.deepEqual([...new Set(bodies)].length, 1, bodies.join("\n"));
  assert.equal(JSON.parse(bodies[0] ?? "").error.code, "not_found");
  // An unknown id gets the same response.
  for (const record of [unknown, earlier]) {
    const mine = await send(record, own.fullKey);
    assert.equal((await mine.text()).replace(mine.headers.get("x-request-id") ?? "", ""), bodies[0]);
  }

  const revoked = await createTestKey(test, person);
  const gone = await test.send(`/api/portal/api-keys/${revoked.id}`, {
    method: "DELETE",
    cookie: person.cookie,
  });
  assert.equal(gone.status, 200);
  const expiring = await createTestKey(test, person, {
    expiresAt: new Date(test.now() + 60_000).toISOString(),
  });
  test.advance(60_000);
  for (const { fullKey } of [revoked, expiring]) {
    await assertError(await send(id, fullKey), 401, "invalid_api_key");
    await assertError(await send("1", fullKey), 401, "invalid_api_key");
    await assertError(await send(id, fullKey, { reason: "" }), 401, "invalid_api_key");
  }
  const reasons = [undefined, "", "   ", 5, null, "a".repeat(201), "a\u001b", "a\u0000"];
  const wrong: [unknown, string][] = [
    ...reasons.map((reason): [unknown, string] => [{ reason }, "reason"]),
    [{ reason: "ok", more: 1 }, "more"],
  ];
  for (const [json, path] of wrong) {
    const { error } = await assertError(await send(id, own.fullKey, json), 422, "validation_failed");
    assert.equal(error.details?.[0]?.path, path, JSON.stringify(json));
  }
  assert.deepEqual(await total(test, own.fullKey), [1, 1, 1, 1]);
  assert.deepEqual((await listAll(test, own.fullKey)).map(({ voidedAt }) => voidedAt), [null]);
  assert.equal((await send(id, own.fullKey, { reason: "é".repeat(200) })).status, 200);
});
