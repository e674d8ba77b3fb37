// A hold from beginning to end, and those of revoked keys.
import assert from "node:assert/strict";
import { createTestKey } from "../../../support/app/app.ts";
import { holdScene, units } from "../../../support/meter/holds.ts";
import { addLimit } from "../../../support/meter/limits.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { asOperator, operatorOf } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { newOrganization } from "../../../support/people/scene.ts";

onEveryDatabase("a hold takes room, and is settled with what was used", async (test) => {
  const { hold, settle, record, standings, limitId, keyId } = await holdScene(test);
  const held = await hold(6);
  assert.equal(held.status, 201, test.logged());
  const { id, createdAt, expiresAt, ...rest } = held.body.hold;
  assert.deepEqual(rest, {
    status: "active",
    records: [{ productSlug: "tiles", metric: "requests", quantity: 6, properties: null }],
    apiKeyId: keyId,
    heldBy: "key",
    onExpiry: "release",
    endedAt: null,
    usageRecordIds: [],
  });
  assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), 600_000);
  assert.deepEqual(await standings(), [[0, 6, 4]]);
  assert.equal((await hold(5)).status, 429);
  assert.equal((await record(5)).status, 429);
  assert.equal((await record(3)).status, 201);
  assert.deepEqual(await standings(), [[3, 6, 1]]);
  const settled = await settle(id, 2, 1);
  assert.equal(settled.status, 201, test.logged());
  assert.deepEqual(
    settled.body.hold.usageRecordIds,
    settled.body.usageRecords.map(({ id }: { id: string }) => id),
  );
  assert.deepEqual(settled.body.beyond, []);
  assert.deepEqual(
    settled.body.limits.map(({ limitId, used, held }: Record<string, unknown>) => [limitId, used, held]),
    [
      [limitId, 6, 0],
    ],
  );
  assert.deepEqual(await standings(), [[6, 0, 4]]);
  assert.equal((await record(5)).status, 429);
  assert.equal((await record(4)).status, 201);
});

onEveryDatabase(
  "an operator and another key end what a revoked key holds, and it can't itself",
  async (test) => {
    const { hold, post, operator, person, keyId, apiKey } = await holdScene(test);
    const { fullKey: other } = await createTestKey(test, person);
    const held = [await hold(1), await hold(2), await hold(3), await hold(4)];
    const ids = held.map(({ body }) => body.hold.id);
    await test.send(`/api/portal/api-keys/${keyId}`, { method: "DELETE", cookie: person.cookie });
    for (const id of ids) {
      assert.equal((await post(`/${id}/settle`, { records: units(1) }, apiKey)).status, 401);
      assert.equal((await post(`/${id}/release`, {}, apiKey)).status, 401);
    }
    const limitsNow = async () => (await test.send("/api/v1/limits", { apiKey: other })).json();
    assert.equal((await limitsNow()).limits[0].held, 10);
    const byOther = await post(`/${ids[0]}/settle`, { records: units(1) }, other);
    const byOperator = await operator(`POST /holds/${ids[1]}/settle`, { records: units(5) });
    assert.deepEqual([byOther.status, byOperator.status], [201, 201]);
    assert.deepEqual(byOperator.body.beyond.map(({ quantity }: { quantity: number }) => quantity), [3]);
    for (const { body: { usageRecords: [record] } } of [byOther, byOperator]) {
      assert.equal(record.apiKeyId, keyId);
    }
    assert.equal((await post(`/${ids[2]}/release`, {}, other)).status, 200);
    assert.equal((await operator(`POST /holds/${ids[3]}/release`, { reason: "Leaked." })).status, 200);
    const { limits: [{ used, held: left }] } = await limitsNow();
    assert.deepEqual([used, left], [6, 0]);
  },
);

onEveryDatabase(
  "a settlement waits for no counter: beyond has what a new limit has counted so far, and a repeat all of it",
  async (test) => {
    const { hold, settle, record, person } = await holdScene(test, { per: "day", quantity: 100 });
    assert.equal((await record(8)).status, 201);
    const { body: { hold: { id } } } = await hold(4);
    // The counter of this limit lacks what was recorded before.
    const { organizationId } = person;
    await addLimit(test, { organizationId }, { per: "month", quantity: 3, mode: "hard" });
    const beyond = async () =>
      (await settle(id, 4)).body.beyond.map(({ quantity }: { quantity: number }) => quantity);
    assert.deepEqual(await beyond(), [1]);
    // A record waits for the counter.
    assert.equal((await record(1)).status, 429);
    assert.deepEqual(await beyond(), [4]);
  },
);

onEveryDatabase("an event about a limit has what is held beside what is used", async (test) => {
  const { hold, record } = await holdScene(test);
  await hold(1, { expiresIn: 60 });
  await hold(0.5);
  assert.equal((await record(8)).status, 201);
  test.advance(61_000);
  assert.equal((await record(1.5)).status, 201);
  const token = await operatorOf(test, ["events:read"]);
  const numbers = async () =>
    (await token("GET /events")).body.events.map((
      { type, data: { used, held } }: { type: string; data: { used: number; held: number } },
    ) => [type, used, held]);
  assert.deepEqual((await numbers())[0], ["limit.approaching", 8, 1.5]);
  test.advance(600_000);
  assert.equal((await record(0.5)).status, 201);
  assert.deepEqual((await numbers())[0], ["limit.reached", 10, 0]);
});

onEveryDatabase("a gateway holds, settles and releases for all customers at the same time", async (test) => {
  const { person, operator, standings } = await holdScene(test, { per: "day", quantity: 190 });
  const hold = (count: number, organizationId: string) =>
    Array.from({ length: count }, () => operator("POST /holds", { organizationId, records: units(1) }));
  const statuses = (all: readonly { status: number }[]) =>
    [...Map.groupBy(all, ({ status }) => status)].map(([status, some]) => [status, some.length]).sort();
  const made = await Promise.all(hold(200, person.organizationId));
  // To the unit, and none is rejected because others wait.
  assert.deepEqual(statuses(made), [[201, 190], [429, 10]]);
  assert.deepEqual(await standings(), [[0, 190, 0]]);
  const idsOf = (all: typeof made) => all.flatMap(({ body }) => body.hold?.id ?? []);
  const ids = idsOf(made);
  const settled = await Promise.all(
    ids.slice(0, 130).map((id) => operator(`POST /holds/${id}/settle`, { records: units(1) })),
  );
  assert.deepEqual(statuses(settled), [[201, 130]]);
  const other = idsOf(await Promise.all(hold(70, await newOrganization(test, "Southwind Maps"))));
  const released = await Promise.all(
    [...ids.slice(130), ...other].map((id) => operator(`POST /holds/${id}/release`)),
  );
  assert.deepEqual(statuses(released), [[200, 130]]);
  assert.deepEqual(await standings(), [[130, 0, 60]]);
});

onEveryDatabase("a token that was revoked meanwhile holds nothing, and reads no hold", async (test) => {
  const { person, standings } = await holdScene(test);
  const { id, fullToken } = await newOperatorToken(test, ["usage:write"]);
  const send = asOperator(test, fullToken);
  const json = { organizationId: person.organizationId, records: units(1), idempotencyKey: "run-1" };
  assert.equal((await send("POST /holds", json)).status, 201);
  // After the request was authenticated.
  const { database } = test.services;
  const { write } = database;
  database.write = async (batch, options) => {
    await write.call(database, [{
      sql: "UPDATE operator_tokens SET revoked_at = 1 WHERE id = ?",
      args: [id],
    }]);
    return await write.call(database, batch, options);
  };
  const again = [send("POST /holds", json), send("POST /holds", { ...json, idempotencyKey: "run-2" })];
  for (const { status, body } of await Promise.all(again)) {
    assert.deepEqual([status, body.error?.code], [401, "invalid_operator_token"], JSON.stringify(body));
  }
  database.write = write;
  assert.deepEqual(await standings(), [[0, 1, 9]]);
});
