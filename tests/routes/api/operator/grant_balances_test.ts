// Balances of grants around voids, expiry, rejections and changed limits, and the alerts about them.
import assert from "node:assert/strict";
import { mailLimitNotices } from "../../../../services/meter/limit_mails.ts";
import { recheckSomeLimits } from "../../../../services/meter/limit_rechecks.ts";
import { createTestKey, type TestApp } from "../../../support/app/app.ts";
import { grantScene } from "../../../support/meter/grants.ts";
import { limitEvents, softCountersAreKnown } from "../../../support/meter/limits.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { run } from "../../../support/people/scene.ts";
import { verifiedPerson } from "../../../support/people/people.ts";
import { assertSent } from "../../../support/operators/operator_api.ts";

const dayMs = 24 * 3_600_000;

async function recheck({ services }: TestApp): Promise<void> {
  while (await recheckSomeLimits(services, { complete: () => Promise.reject(new Error("unknown")) }));
}

onEveryDatabase("alerts count from a grant that is given before earlier usage is added up", async (test) => {
  const { record, override, grant, standing } = await grantScene(test, 2_000);
  assert.equal((await record(1_000)).status, 201);
  test.advance(60_000);
  assert.equal((await override(1_000)).status, 200);
  const { limitId } = await standing();
  assert.equal((await grant(100, { limitId })).status, 201);
  await recheck(test);
  assert.equal((await record(1)).status, 201);
  assert.deepEqual(await limitEvents(test), []);
  assert.equal((await record(80)).status, 201);
  assert.deepEqual(await limitEvents(test), ["limit.approaching 80"]);
});

for (const [name, isRemoved] of [["isn't known", false], ["is gone", true]] as const) {
  onEveryDatabase(`a void gives back to an expired grant while the limit's counter ${name}`, async (test) => {
    const { grant, record, override, voidRecord, day } = await grantScene(test, 10);
    await grant(5, { expiresAt: day(1) });
    const { body } = await record(5);
    test.advance(2 * dayMs);
    await override(isRemoved ? null : 10);
    assert.equal(await voidRecord(body.usageRecord.id), 200);
    if (isRemoved) await override(10);
    assert.equal((await record(11)).status, 429);
    assert.equal((await record(10)).status, 201);
  });
}

onEveryDatabase(
  "a void gives back to grants without an expiry, then to the own quantity, then to grants that expire",
  async (test) => {
    const { grant, grants, record, voidRecord, day } = await grantScene(test, 4);
    await grant(5, { expiresAt: day(1) });
    await grant(5, { expiresAt: day(5) });
    await grant(5);
    await grant(5);
    const records = [await record(7), await record(6), await record(6)];
    const used = async () => (await grants()).map(([used]) => used);
    assert.deepEqual(await used(), [5, 5, 5, 0]);
    for (const expected of [[5, 5, 0, 0], [5, 1, 0, 0], [0, 0, 0, 0]]) {
      assert.equal(await voidRecord(records.shift()?.body.usageRecord.id), 200);
      assert.deepEqual(await used(), expected);
    }
  },
);

onEveryDatabase("a void gives back to the last used grants first", async (test) => {
  const { grant, grants, record, voidRecord, override, standing, day } = await grantScene(test, 10);
  await record(4);
  await grant(3);
  await grant(5, { expiresAt: day(1) });
  await override(0);
  // Takes the 4 from before from the grant that expires, and 1 from each.
  const { body } = await record(2);
  assert.deepEqual(await grants(), [[1, 2, "active"], [5, 0, "used"]]);
  test.advance(2 * dayMs);
  assert.equal(await voidRecord(body.usageRecord.id), 200);
  assert.deepEqual(await grants(), [[0, 3, "active"], [4, 0, "expired"]]);
  assert.equal((await standing()).remaining, 3);
});

onEveryDatabase("a void of what the own quantity had leaves a grant that others use", async (test) => {
  const { grant, grants, record, voidRecord, standing, day } = await grantScene(test, 30);
  await grant(5, { expiresAt: day(1) });
  const [first, second] = [await record(5), await record(5)];
  assert.equal(await voidRecord(first.body.usageRecord.id), 200);
  await record(5);
  assert.equal(await voidRecord(second.body.usageRecord.id), 200);
  assert.deepEqual(await grants(), [[5, 0, "used"]]);
  test.advance(2 * dayMs);
  assert.equal((await standing()).remaining, 30);
});

onEveryDatabase("a new grant starts over with alerts, also before limits are checked again", async (test) => {
  const { grant, record } = await grantScene(test);
  await grant(100);
  await recheck(test);
  await record(80);
  await grant(80);
  await record(85);
  await recheck(test);
  assert.deepEqual(await limitEvents(test), ["limit.approaching 80", "limit.approaching 80"]);
});

onEveryDatabase("a new grant clears a rejection by grants that have expired since", async (test) => {
  const { grant, record, day } = await grantScene(test);
  await grant(100, { expiresAt: day(1) });
  await record(50);
  assert.equal((await record(60)).status, 429);
  test.advance(2 * dayMs);
  await grant(40);
  await recheck(test);
  assert.equal((await record(36)).status, 201);
  assert.equal((await record(5)).status, 429);
  const events = await limitEvents(test);
  assert.deepEqual(events.map((event) => event.split(" ")[0]), [
    "limit.reached",
    "limit.cleared",
    "limit.approaching",
    "limit.reached",
  ]);
});

onEveryDatabase("a void gives back what a soft limit took once earlier usage was added up", async (test) => {
  const { grant, record, voidRecord, send, path, standing, grants } = await grantScene(test, 0, {
    mode: "soft",
  });
  // As when plans and limits change: counters are opened again, and earlier usage is added up after the next record.
  await run(test, "UPDATE organizations SET limits_seq = limits_seq + 1, limits_at = ?", test.now());
  const { body } = await grant(5);
  const first = await record(3);
  await softCountersAreKnown(test);
  assert.equal((await send(`POST ${path}/${body.grant.id}/void`, { reason: "Refunded." })).status, 200);
  await record(3);
  assert.equal(await voidRecord(first.body.usageRecord.id), 200);
  await grant(10);
  // What was used of the first grant stays paid.
  assert.deepEqual(await grants(), [[3, 0, "voided"], [0, 10, "active"]]);
  const { quantity, used, remaining } = await standing();
  assert.deepEqual([quantity, used, remaining], [13, 3, 10]);
});

onEveryDatabase("the budget of a key can be as high as the limit with grants", async (test) => {
  const { grant, send, person } = await grantScene(test);
  const { id } = await createTestKey(test, person);
  const change = (quantity: number, outcome: string) => {
    const budget = [{ metric: "requests", per: "total", quantity, mode: "hard" }];
    return assertSent(send, [[`PATCH /api-keys/${id}`, { budget }, outcome]]);
  };
  await change(100, "422 validation_failed budget[0].quantity");
  await grant(100);
  await change(100, "200");
  await change(101, "422 validation_failed budget[0].quantity");
});

onEveryDatabase("emails about limits name the quantity with grants", async (test) => {
  const owner = await verifiedPerson(test);
  const { fullKey: apiKey } = await createTestKey(test, owner);
  const { grant } = await grantScene(test, 0, { owner });
  await grant(100);
  const json = { productSlug: "tiles", metric: "requests", quantity: 80 };
  assert.equal((await test.send("/api/v1/usage", { apiKey, json })).status, 201);
  await mailLimitNotices(test.services, test.parts.mailWorker.withheld);
  assert.match((await test.mails()).at(-1)?.text ?? "", /this limit: 100 \(/i);
});

onEveryDatabase(
  "in a rare order, a voided record returns to another grant, and the sum is exact",
  async (test) => {
    const { grant, grants, record, voidRecord, day, standing } = await grantScene(test);
    await grant(10, { expiresAt: day(10) });
    await grant(10, { expiresAt: day(20) });
    const recorded = async (quantity: number): Promise<string> =>
      (await record(quantity)).body.usageRecord.id;
    await recorded(5);
    const early = await recorded(5);
    await recorded(1);
    assert.deepEqual(await grants(), [[10, 0, "used"], [1, 9, "active"]]);
    // The first grant has room again, and is used up again.
    assert.equal(await voidRecord(early), 200);
    const second = await recorded(2);
    await recorded(3);
    await recorded(1);
    assert.deepEqual(await grants(), [[10, 0, "used"], [2, 8, "active"]]);
    // Both grants were used before and after this one, which was taken from the first.
    assert.equal(await voidRecord(second), 200);
    assert.deepEqual(await grants(), [[10, 0, "used"], [0, 10, "active"]]);
    const { used, remaining } = await standing();
    assert.deepEqual([used, remaining], [10, 10]);
  },
);
