// Holds: the rules of the contract, each with a test of its name.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { deleteSomeHolds, endExpired } from "../../../../services/meter/hold_upkeep.ts";
import { createTestKey, type TestApp } from "../../../support/app/app.ts";
import { grantScene } from "../../../support/meter/grants.ts";
import { holdScene, units } from "../../../support/meter/holds.ts";
import { addLimit } from "../../../support/meter/limits.ts";
import { onEveryDatabase, voidOne } from "../../../support/meter/usage.ts";

const dayMs = 24 * 3_600_000;

/** What the counters have held, whether or not it has expired. */
async function counted({ opened: { database } }: TestApp): Promise<number[]> {
  const rows = await database.read<{ held: number }>(sql`
    SELECT held_low AS held FROM usage_limit_counters n WHERE held_low <> 0 ORDER BY 1`);
  return rows.map(({ held }) => held);
}

onEveryDatabase("1. Room: holds count in the windows of their time, by the limits of now", async (test) => {
  const scene = await holdScene(test, { per: "month", quantity: 10 });
  const { hold, standings, post, person } = scene;
  const { body: { hold: first } } = await hold(4);
  assert.deepEqual(await standings(), [[0, 4, 6]]);
  // A limit that is set, raised and lowered ends no hold.
  const override = async (quantity: number | null, mode = "hard") => {
    const limits = [{ productSlug: "tiles", metric: null, per: "month", quantity, mode }];
    const path = `PATCH /organizations/${person.organizationId}`;
    const { status } = await scene.operator(path, { overrides: { limits } });
    assert.equal(status, 200);
  };
  await override(20);
  assert.deepEqual(await standings(), [[0, 4, 6], [0, 4, 16]]);
  assert.equal((await hold(2)).status, 201);
  await override(5);
  assert.deepEqual(await standings(), [[0, 6, 4], [0, 6, 0]]);
  assert.equal((await hold(1)).status, 429);
  assert.equal((await scene.settle(first.id, 1)).status, 201);
  assert.deepEqual(await standings(), [[1, 2, 7], [1, 2, 2]]);
  await override(5, "soft");
  assert.deepEqual(await standings(), [[1, 2, 7], [1, 2, 2]]);
  await scene.operator(`PATCH /organizations/${person.organizationId}`, { overrides: { limits: [] } });
  assert.deepEqual(await standings(), [[1, 2, 7]]);
  // Another time zone opens counters with what is held.
  await scene.operator(`PATCH /organizations/${person.organizationId}`, { timezone: "Asia/Tokyo" });
  assert.deepEqual(await standings(), [[1, 2, 7]]);
  assert.equal((await hold(8)).status, 429);
  assert.equal((await hold(7)).status, 201);
  const { fullKey: testKey } = await createTestKey(test, person, { environment: "test" });
  // The next month begins empty, and the holds stay in theirs.
  test.advance(10 * dayMs);
  assert.deepEqual(await standings(), [[0, 0, 10]]);
  assert.equal((await post("", { records: units(100) }, testKey)).status, 201);
  assert.deepEqual(await standings(), [[0, 0, 10]]);
});

onEveryDatabase(
  "2. Nothing can leak: what has expired is taken off before anything is rejected",
  async (test) => {
    const { hold, record, standings, statusOf } = await holdScene(test, { per: "month", quantity: 10 });
    const { body: { hold: { id } } } = await hold(6, { expiresIn: 10 });
    await hold(3, { expiresIn: 100 });
    test.advance(9_999);
    assert.equal((await record(2)).status, 429);
    test.advance(1);
    assert.equal(await statusOf(id), "expired");
    assert.deepEqual(await standings(), [[0, 3, 7]]);
    assert.deepEqual(await counted(test), [9]);
    assert.equal((await record(7)).status, 201);
    assert.deepEqual(await standings(), [[7, 3, 0]]);
    assert.deepEqual(await counted(test), [3]);
    const rejected = await hold(1);
    assert.equal(rejected.status, 429);
    test.advance(90_000);
    assert.equal((await hold(3)).status, 201);
    assert.deepEqual(await counted(test), [3]);
  },
);

onEveryDatabase("3. Grants: holds need their room, and settlements use them", async (test) => {
  const { grant, grants, standing, apiKey } = await grantScene(test, 0);
  const post = async (path: string, records: object) => {
    const response = await test.send(`/api/v1/holds${path}`, { apiKey, json: { records } });
    return { status: response.status, body: await response.json() };
  };
  await grant(5);
  await grant(5);
  await grant(5);
  assert.equal((await post("", units(16))).status, 429);
  const { body: { hold: { id } } } = await post("", units(12));
  const { body: { hold: other } } = await post("", units(3));
  assert.deepEqual((await grants()).map(([used]) => used), [0, 0, 0]);
  const below = await post(`/${id}/settle`, units(7));
  assert.deepEqual([below.status, below.body.beyond], [201, []]);
  assert.deepEqual((await grants()).map(([used]) => used), [5, 2, 0]);
  const above = await post(`/${other.id}/settle`, units(10));
  assert.equal(above.status, 201);
  assert.deepEqual(above.body.beyond.map(({ quantity }: { quantity: number }) => quantity), [2]);
  assert.deepEqual((await grants()).map(([used]) => used), [5, 5, 5]);
  const { used, held, remaining } = await standing();
  assert.deepEqual([used, held, remaining], [17, 0, 0]);
});

onEveryDatabase(
  "4. Settling: records may differ, no limit rejects them, and the first end counts",
  async (test) => {
    const { hold, settle, post, standings, keyId, limitId } = await holdScene(test);
    const { body: { hold: { id } } } = await hold(4);
    const records = [
      { productSlug: "routes", metric: "calls", quantity: 11.5, properties: { model: "a" } },
      ...units(2),
    ];
    const invalid = await post(`/${id}/settle`, { records: units(-1) });
    assert.equal(invalid.status, 422);
    const { status, body } = await post(`/${id}/settle`, { records });
    assert.equal(status, 201);
    assert.deepEqual(
      body.usageRecords.map((record: Record<string, unknown>) => [
        record["productSlug"],
        record["quantity"],
        record["properties"],
        record["apiKeyId"],
        record["idempotencyKey"],
      ]),
      [["routes", 11.5, { model: "a" }, keyId, null], ["tiles", 2, null, keyId, null]],
    );
    assert.deepEqual(body.beyond, [{ limitId, quantity: 3.5 }]);
    assert.deepEqual(await standings(), [[13.5, 0, 0]]);
    // A repeat returns the same records.
    const repeat = await post(`/${id}/settle`, { records });
    assert.deepEqual([repeat.status, repeat.body], [200, body]);
    const other = await settle(id, 1);
    assert.deepEqual([other.status, other.body.error.code], [409, "hold_ended"]);
    assert.deepEqual(other.body.error.details[0].usageRecordIds, body.hold.usageRecordIds);
    assert.equal((await post(`/${id}/release`)).body.error.code, "hold_ended");
    // Both at once: one of them ends the hold, once.
    const { fullKey: testKey } = await createTestKey(test, await test.signUp());
    for (let n = 0; n < 5; n++) {
      const { body: { hold: { id } } } = await post("", { records: units(0) });
      const ends = await Promise.all([settle(id, 0), post(`/${id}/release`), settle(id, 0.5), settle(id, 0)]);
      const done = ends.filter(({ status }) => status < 300).length;
      const { body } = await post(`/${id}/settle`, { records: units(7) });
      assert.equal(body.error.code, "hold_ended");
      assert.equal(done >= 1 && done <= 2, true, JSON.stringify(ends.map(({ status }) => status)));
    }
    assert.equal((await post(`/${id}/settle`, { records }, testKey)).status, 404);
    const { body: { hold: empty } } = await post("", { records: units(0) });
    const nothing = await settle(empty.id);
    assert.deepEqual([nothing.status, nothing.body.usageRecords, nothing.body.hold.status], [
      201,
      [],
      "settled",
    ]);
    assert.equal((await settle(empty.id)).status, 200);
  },
);

onEveryDatabase("5. Time: settlements are charged to the windows of the hold", async (test) => {
  const { hold, settle, standings, get, apiKey } = await holdScene(test);
  const { body: { hold: { id, createdAt } } } = await hold(6, { expiresIn: 86_400 });
  test.advance(12 * 3_600_000);
  assert.deepEqual(await standings(), [[0, 0, 10]]);
  const { body: { usageRecords: [record], beyond } } = await settle(id, 12);
  assert.equal(record.timestamp, createdAt);
  assert.equal(beyond[0].quantity, 2);
  assert.deepEqual(await standings(), [[0, 0, 10]]);
  await voidOne(test, { apiKey, id: record.id });
  const { body } = await get(`/api/v1/holds/${id}`);
  assert.equal(body.hold.status, "settled");
  const [counter] = await test.opened.database.read<{ sum: number }>(sql`
    SELECT sum_low AS sum FROM usage_limit_counters ORDER BY window_number LIMIT 1`);
  assert.equal(counter?.sum, 0);
});

onEveryDatabase(
  "6. Late: holds can be settled after they expired, by other keys, and while suspended",
  async (test) => {
    const scene = await holdScene(test, { per: "month", quantity: 10 });
    const { hold, settle, post, person, apiKey, keyId } = scene;
    const { fullKey: other } = await createTestKey(test, person);
    const [a, b, c, d] = await Promise.all([hold(1), hold(1), hold(1, { expiresIn: 1 }), hold(1)]);
    const ids = [a, b, c, d].map(({ body }) => body.hold.id);
    test.advance(2_000);
    assert.equal((await settle(ids[2], 1)).status, 201);
    const suspend = (status: string) =>
      scene.operator(`PATCH /organizations/${person.organizationId}`, { status });
    await suspend("suspended");
    assert.equal((await hold(1)).body.error.code, "organization_suspended");
    assert.equal(
      (await post(`/${ids[0]}/extend`, { expiresIn: 700 })).body.error.code,
      "organization_suspended",
    );
    assert.equal((await settle(ids[0], 1)).status, 201);
    assert.equal((await settle(ids[0], 5)).body.error.code, "hold_ended");
    assert.equal((await post(`/${ids[3]}/release`)).status, 200);
    await suspend("active");
    const { status } = await test.send(`/api/portal/api-keys/${keyId}`, {
      method: "DELETE",
      cookie: person.cookie,
    });
    assert.equal(status, 200);
    for (const path of ["settle", "release", "extend"]) {
      const json = path === "settle" ? { records: [] } : path === "extend" ? { expiresIn: 700 } : {};
      assert.equal((await post(`/${ids[1]}/${path}`, json, apiKey)).status, 401, path);
    }
    assert.equal(
      (await post(`/${ids[1]}/extend`, { expiresIn: 700 }, other)).body.error.code,
      "key_inactive",
    );
    const settled = await post(`/${ids[1]}/settle`, { records: units(3) }, other);
    assert.deepEqual([settled.status, settled.body.usageRecords[0].apiKeyId], [201, keyId]);
    const late = await post("", { records: units(1), expiresIn: 1 }, other);
    test.advance(35 * dayMs);
    assert.equal((await post(`/${late.body.hold.id}/settle`, { records: [] }, other)).status, 404);
  },
);

onEveryDatabase('7. onExpiry: "record" records the full amount exactly once', async (test) => {
  const { hold, get, person, keyId } = await holdScene(test);
  const { body: { hold: { id, createdAt } } } = await hold(6, { expiresIn: 10, onExpiry: "record" });
  const { body: { hold: settled } } = await hold(1, { expiresIn: 10, onExpiry: "record" });
  await test.send(`/api/portal/api-keys/${keyId}`, { method: "DELETE", cookie: person.cookie });
  const { fullKey: other } = await createTestKey(test, person);
  test.advance(11_000);
  const held = async () => {
    const [{ used, held }] = (await get("/api/v1/limits", other)).body.limits;
    return [used, held];
  };
  assert.deepEqual(await held(), [0, 7]);
  const early = await test.send(`/api/v1/holds/${settled.id}/settle`, {
    apiKey: other,
    json: { records: units(2) },
  });
  assert.equal(early.status, 201);
  assert.deepEqual(await held(), [2, 6]);
  await Promise.all([1, 2, 3].map(() => endExpired(test.services)));
  assert.deepEqual(await held(), [8, 0]);
  const { body: { hold: ended } } = await get(`/api/v1/holds/${id}`, other);
  assert.deepEqual([ended.status, ended.onExpiry, ended.usageRecordIds.length], ["expired", "record", 1]);
  const late = await test.send(`/api/v1/holds/${id}/settle`, { apiKey: other, json: { records: units(6) } });
  const { error } = await late.json();
  assert.deepEqual([late.status, error.code, error.details[0].usageRecordIds], [
    409,
    "hold_ended",
    ended.usageRecordIds,
  ]);
  const { body: { usageRecord } } = await get(`/api/v1/usage/records/${ended.usageRecordIds[0]}`, other);
  assert.deepEqual([usageRecord.quantity, usageRecord.timestamp, usageRecord.apiKeyId], [
    6,
    createdAt,
    keyId,
  ]);
  assert.equal(await endExpired(test.services), false);
});

onEveryDatabase("8. Extending: to 24 hours after the hold was made", async (test) => {
  const { hold, post, record } = await holdScene(test);
  const { body: { hold: { id, createdAt } } } = await hold(6, { expiresIn: 60 });
  const extend = (expiresIn: number) => post(`/${id}/extend`, { expiresIn });
  assert.equal((await extend(30)).body.hold.expiresAt, new Date(test.now() + 60_000).toISOString());
  assert.equal((await extend(600)).body.hold.expiresAt, new Date(test.now() + 600_000).toISOString());
  test.advance(300_000);
  assert.equal((await record(5)).status, 429);
  const tooLong = await extend(86_400);
  assert.deepEqual([tooLong.status, tooLong.body.error.code], [422, "hold_too_long"]);
  assert.equal(
    (await extend(86_100)).body.hold.expiresAt,
    new Date(Date.parse(createdAt) + dayMs).toISOString(),
  );
  test.advance(dayMs);
  assert.deepEqual((await extend(1)).body.error.code, "hold_ended");
});

onEveryDatabase("9. Who: operators' holds are theirs, and keys' holds need a reason", async (test) => {
  const { hold, post, get, operator, person, keyId, settle, standings } = await holdScene(test);
  const made = await operator("POST /holds", { apiKeyId: keyId, records: units(2) });
  assert.equal(made.status, 201);
  const { id, apiKeyId, heldBy } = made.body.hold;
  assert.deepEqual([apiKeyId, heldBy], [keyId, "operator"]);
  assert.equal((await settle(id, 1)).body.error.code, "hold_of_operator");
  assert.equal((await post(`/${id}/release`)).body.error.code, "hold_of_operator");
  assert.equal((await post(`/${id}/extend`, { expiresIn: 700 })).body.error.code, "hold_of_operator");
  assert.equal((await get(`/api/v1/holds/${id}`)).body.hold.status, "active");
  assert.equal((await operator(`POST /holds/${id}/extend`, { expiresIn: 700 })).status, 200);
  const settled = await operator(`POST /holds/${id}/settle`, { records: units(1) });
  assert.deepEqual([settled.status, settled.body.usageRecords[0].apiKeyId], [201, keyId]);
  const own = await operator("POST /holds", { organizationId: person.organizationId, records: units(2) });
  assert.equal((await operator(`POST /holds/${own.body.hold.id}/release`)).status, 200);
  const { body: { hold: keys } } = await hold(1);
  assert.equal((await operator(`POST /holds/${keys.id}/release`)).status, 422);
  assert.equal(
    (await operator(`POST /holds/${keys.id}/release`, { reason: "Lost." })).body.hold.status,
    "released",
  );
  const audit = await (await test.send("/api/portal/audit", { cookie: person.cookie })).json();
  const [entry] = audit.events.filter(({ action }: { action: string }) => action === "hold.released");
  assert.equal(entry.details.reason, "Lost.");
  assert.deepEqual(await standings(), [[1, 0, 9]]);
  const listed = await operator(`GET /holds?organizationId=${person.organizationId}&status=released`);
  assert.deepEqual(listed.body.holds.map(({ id }: { id: string }) => id), [keys.id, own.body.hold.id]);
  const portal = await (await test.send("/api/portal/holds?limit=2", { cookie: person.cookie })).json();
  assert.deepEqual(portal.holds.map(({ id }: { id: string }) => id), [keys.id, own.body.hold.id]);
  const rest = await test.send(`/api/portal/holds?cursor=${portal.nextCursor}`, { cookie: person.cookie });
  assert.deepEqual((await rest.json()).holds.map(({ id }: { id: string }) => id), [id]);
  const { fullKey: stranger } = await createTestKey(test, await test.signUp());
  assert.equal((await get(`/api/v1/holds/${id}`, stranger)).status, 404);
  assert.equal((await post(`/${id}/release`, {}, stranger)).status, 404);
  await test.send(`/api/portal/api-keys/${keyId}`, { method: "DELETE", cookie: person.cookie });
  const inactive = await operator("POST /holds", { apiKeyId: keyId, records: units(1) });
  assert.deepEqual([inactive.status, inactive.body.error.code], [409, "key_inactive"]);
  assert.equal((await operator("POST /holds", { records: units(1) })).status, 422);
});

onEveryDatabase("10. No room: when only holds are in the way, the error says until when", async (test) => {
  const { hold, record } = await holdScene(test);
  const { body: { hold: { expiresAt } } } = await hold(4, { expiresIn: 3 });
  await hold(4, { expiresIn: 60 });
  const { status, headers, body } = await record(3);
  assert.equal(status, 429);
  const [{ used, held, heldUntil }] = body.error.details;
  assert.deepEqual([used, held, heldUntil, headers.get("retry-after")], [0, 8, expiresAt, "3"]);
  test.advance(3_000);
  await record(1);
  const later = await record(6);
  assert.equal(later.headers.get("retry-after"), "5");
  const full = await record(10);
  assert.equal(full.body.error.details[0].heldUntil, undefined);
  assert.equal(Number(full.headers.get("retry-after")) > 5, true);
  await test.opened.database.write([sql`UPDATE usage_hold_counts SET active = 10000`]);
  const many = await hold(0);
  assert.deepEqual([many.status, many.body.error.code], [429, "hold_limit_reached"]);
});

onEveryDatabase("11. Kept: and as long their idempotency keys are taken", async (test) => {
  const { hold, settle, statusOf, get, standings } = await holdScene(test, { per: "month", quantity: 10 });
  const input = { idempotencyKey: "a", expiresIn: 60 };
  const first = await hold(6, input);
  const { id } = first.body.hold;
  const [repeat, again] = await Promise.all([hold(6, input), hold(6, input)]);
  assert.deepEqual([repeat.status, repeat.body.duplicate, repeat.body.hold.id], [200, true, id]);
  assert.equal(again.body.hold.id, id);
  assert.deepEqual(await standings(), [[0, 6, 4]]);
  assert.equal((await hold(5, input)).body.error.code, "idempotency_conflict");
  assert.equal((await hold(6, { ...input, onExpiry: "record" })).body.error.code, "idempotency_conflict");
  await settle(id, 1);
  assert.equal((await hold(6, input)).body.hold.status, "settled");
  test.advance(3 * dayMs - 1);
  await deleteSomeHolds(test.services);
  assert.equal(await statusOf(id), "settled");
  test.advance(1);
  await deleteSomeHolds(test.services);
  assert.equal((await get(`/api/v1/holds/${id}`)).status, 404);
  assert.equal((await hold(6, input)).status, 201);
});

onEveryDatabase("12. Cost: without active holds, recording sends no statement more", async (test) => {
  const { hold, settle, record } = await holdScene(test);
  const sizes: number[] = [];
  const { database } = test.opened;
  const write = database.write.bind(database);
  database.write = (batch, options) => {
    const has = (text: string) => batch.some(({ sql }) => sql.includes(text));
    if (has("INSERT INTO usage_records") && !has("usage_hold_requests")) sizes.push(batch.length);
    return write(batch, options);
  };
  await record(1);
  await record(1);
  sizes.length = 0;
  await record(1);
  const { body: { hold: { id } } } = await hold(1);
  await record(1);
  await record(1);
  await settle(id, 1);
  await record(1);
  await record(1);
  const [before, first, during, , after] = sizes;
  assert.deepEqual([first, during, after], [before, (before ?? 0) + 4, before]);
});

onEveryDatabase("a budget, an alert and a new limit count what is held", async (test) => {
  const { hold, keyId, standings, record } = await holdScene(test);
  await hold(6);
  await addLimit(test, { apiKeyId: keyId }, { per: "day", quantity: 8, mode: "hard" });
  assert.deepEqual(await standings(), [[0, 6, 4], [0, 6, 2]]);
  assert.equal((await record(3)).status, 429);
  assert.equal((await record(2)).status, 201);
});
