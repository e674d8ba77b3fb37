// Holds: the twelve rules of the contract, each with a test of its name.
import assert from "node:assert/strict";
import { holdScene } from "../../../support/meter/holds.ts";
import { onBothDatabases } from "../../../support/meter/usage.ts";

onBothDatabases("a hold takes room, and is settled with what was used", async (test) => {
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
