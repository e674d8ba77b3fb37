// Grants that repeat, over the operators' API: when each turn starts and expires, with and without the work in the background.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { activeGrantsMax } from "../../../../domain/meter/usage_grant.ts";
import { activeRefillsMax, refillPeriods } from "../../../../domain/meter/usage_refill.ts";
import { writeRefillTurns } from "../../../../services/meter/usage_refills.ts";
import { recheckSomeLimits } from "../../../../services/meter/limit_rechecks.ts";
import type { TestApp } from "../../../support/app/app.ts";
import { limitEvents } from "../../../support/meter/limits.ts";
import { grantScene } from "../../../support/meter/grants.ts";
import { onBothDatabases, onEveryDatabase, unlimited } from "../../../support/meter/usage.ts";
import { run } from "../../../support/people/scene.ts";
import { assertSent } from "../../../support/operators/operator_api.ts";

interface Turn {
  readonly startsAt: string;
  readonly expiresAt: string;
  readonly refillId: string | null;
  readonly status: string;
}

/** An organization in a time zone with a limit in total of 0. */
async function refillScene(test: TestApp, timezone = "Europe/Berlin", quantity = 0) {
  const scene = await grantScene(test, quantity);
  const { send, person, path } = scene;
  const moveTo = async (timezone: string) => {
    const { status } = await send(`PATCH /organizations/${person.organizationId}`, { timezone });
    assert.equal(status, 200);
  };
  if (timezone !== "UTC") await moveTo(timezone);
  return {
    ...scene,
    refills: `/organizations/${person.organizationId}/refills`,
    moveTo,
    /** Moves the clock to a time. */
    at: (time: string) => test.advance(Date.parse(time) - test.now()),
    remaining: async (): Promise<number> => (await scene.standing()).remaining,
    /** The turns, each as start and end in UTC to the minute, oldest first. */
    turns: async (): Promise<string[]> => {
      const list = (await send(`GET ${path}?limit=100`)).body.grants as Turn[];
      return list.map(({ startsAt, expiresAt, status }) =>
        `${startsAt.slice(0, 16)} ${expiresAt.slice(0, 16)} ${status}`
      ).sort();
    },
  };
}

/** Writes the next turns on two servers at the same time. */
async function writeTurns({ services }: TestApp): Promise<void> {
  const server = async () => {
    while (await writeRefillTurns(services));
  };
  await Promise.all([server(), server()]);
}

onEveryDatabase("gives the quantity now and at each turn, without any work in between", async (test) => {
  const { at, grant, record, remaining, turns, grants, standing } = await refillScene(test);
  at("2026-10-19T10:00:00Z");
  const { status, body: { grant: first } } = await grant(10, { every: "month" });
  assert.equal(status, 201);
  assert.match(first.refillId, /^rfl_[0-9a-f]{32}$/);
  assert.deepEqual(
    [first.startsAt, first.expiresAt, first.every, first.status, first.remaining, first.idempotencyKey],
    ["2026-10-19T10:00:00.000Z", "2026-10-31T23:00:00.000Z", "month", "active", 10, "invoice-1"],
  );
  // The clocks of Berlin change on October 25.
  assert.deepEqual(await turns(), [
    "2026-10-19T10:00 2026-10-31T23:00 active",
    "2026-10-31T23:00 2026-11-30T23:00 scheduled",
    "2026-11-30T23:00 2026-12-31T23:00 scheduled",
    "2026-12-31T23:00 2027-01-31T23:00 scheduled",
  ]);
  assert.equal((await record(10.000001)).status, 429);
  assert.equal((await record(4)).status, 201);
  at("2026-10-31T22:59:59.999Z");
  assert.equal(await remaining(), 6);
  at("2026-10-31T23:00:00Z");
  const { quantity, used, grants: balance } = await standing();
  assert.deepEqual([quantity, used, await remaining()], [14, 4, 10]);
  assert.deepEqual([balance.quantity, balance.nextExpiresAt], [10, "2026-11-30T23:00:00.000Z"]);
  assert.equal((await record(10.000001)).status, 429);
  assert.equal((await record(10)).status, 201);
  assert.equal((await record(0.000001)).status, 429);
  assert.deepEqual((await grants()).slice(0, 3), [[4, 0, "expired"], [10, 0, "used"], [0, 0, "scheduled"]]);
});

onEveryDatabase("days of 23 and 25 hours are turns, and weeks start on Monday", async (test) => {
  const { at, grant, turns, record, remaining } = await refillScene(test);
  at("2026-10-23T10:00:00Z");
  await grant(1, { every: "day", until: "2026-10-27" });
  assert.deepEqual(await turns(), [
    "2026-10-23T10:00 2026-10-23T22:00 active",
    "2026-10-23T22:00 2026-10-24T22:00 scheduled",
    "2026-10-24T22:00 2026-10-25T23:00 scheduled",
    "2026-10-25T23:00 2026-10-26T23:00 scheduled",
    "2026-10-26T23:00 2026-10-27T23:00 scheduled",
  ]);
  at("2026-10-25T22:59:59Z");
  assert.equal((await record(1)).status, 201);
  at("2026-10-25T23:00:00Z");
  assert.equal(await remaining(), 1);
  at("2027-03-26T10:00:00Z");
  await grant(1, { every: "week" });
  await grant(1, { every: "day", until: "2027-03-28T22:00:00.000Z" });
  assert.deepEqual((await turns()).slice(5, 7), [
    "2027-03-26T10:00 2027-03-26T23:00 active",
    "2027-03-26T10:00 2027-03-28T22:00 active",
  ]);
  assert.deepEqual((await turns()).slice(7), [
    "2027-03-26T23:00 2027-03-27T23:00 scheduled",
    // A day of 23 hours. The refill ends when the next one would begin.
    "2027-03-27T23:00 2027-03-28T22:00 scheduled",
    "2027-03-28T22:00 2027-04-04T22:00 scheduled",
    "2027-04-04T22:00 2027-04-11T22:00 scheduled",
    "2027-04-11T22:00 2027-04-18T22:00 scheduled",
    "2027-04-18T22:00 2027-04-25T22:00 scheduled",
  ]);
});

onEveryDatabase("with a rollover, the rest expires one turn later and is used first", async (test) => {
  const { at, grant, record, remaining, send, path } = await refillScene(test, "UTC");
  at("2026-11-05T00:00:00Z");
  await grant(10, { every: "month", rollover: 1 });
  assert.equal((await record(4)).status, 201);
  at("2026-12-01T00:00:00Z");
  assert.equal(await remaining(), 16);
  assert.equal((await record(7)).status, 201);
  const { body } = await send(`GET ${path}`);
  assert.deepEqual(body.grants.reverse().slice(0, 2).map(({ used }: { used: number }) => used), [10, 1]);
  at("2027-01-01T00:00:00Z");
  assert.equal(await remaining(), 19);
  at("2027-02-01T00:00:00Z");
  assert.equal(await remaining(), 20, "9 of December are lost");
});

onBothDatabases("two servers write each turn once, also after both were down for months", async (test) => {
  const { at, grant, turns, remaining, record } = await refillScene(test, "UTC");
  at("2026-11-05T12:00:00Z");
  await grant(5, { every: "day", rollover: 1 });
  await writeTurns(test);
  assert.equal((await turns()).length, 8);
  at("2026-11-06T00:00:00Z");
  await writeTurns(test);
  assert.equal((await turns()).length, 9);
  // The servers that write turns ahead are down, others record.
  at("2026-11-12T08:00:00Z");
  assert.equal(await remaining(), 10);
  at("2027-03-20T08:00:00Z");
  assert.equal(await remaining(), 0);
  assert.equal((await record(1)).status, 429);
  await writeTurns(test);
  assert.equal(await remaining(), 10);
  const all = await turns();
  assert.equal(new Set(all).size, all.length);
  assert.deepEqual(all.slice(9, 12), [
    "2027-03-20T08:00 2027-03-21T00:00 active",
    "2027-03-20T08:00 2027-03-22T00:00 active",
    "2027-03-21T00:00 2027-03-23T00:00 scheduled",
  ]);
}, unlimited);

onEveryDatabase("a new time zone moves the turns to come, and each is given once", async (test) => {
  const { at, grant, turns, remaining, moveTo, record } = await refillScene(test, "Pacific/Auckland");
  at("2026-11-10T00:00:00Z");
  await grant(5, { every: "month" });
  await moveTo("America/Los_Angeles");
  await writeTurns(test);
  assert.deepEqual((await turns()).slice(0, 2), [
    "2026-11-10T00:00 2026-12-01T08:00 active",
    "2026-12-01T08:00 2027-01-01T08:00 scheduled",
  ]);
  await record(2);
  // In Auckland, December has begun: it starts now, and November ends.
  at("2026-12-01T02:00:00Z");
  await moveTo("Pacific/Auckland");
  await writeTurns(test);
  assert.equal(await remaining(), 5);
  assert.deepEqual((await turns()).slice(0, 3), [
    "2026-11-10T00:00 2026-12-01T02:00 expired",
    "2026-12-01T02:00 2026-12-31T11:00 active",
    "2026-12-31T11:00 2027-01-31T11:00 scheduled",
  ]);
  // Back again, it goes on, and isn't given twice.
  await moveTo("America/Los_Angeles");
  await writeTurns(test);
  assert.equal((await record(5)).status, 201);
  at("2026-12-01T09:00:00Z");
  await writeTurns(test);
  assert.equal(await remaining(), 0);
  assert.deepEqual((await turns()).slice(1, 3), [
    "2026-12-01T02:00 2027-01-01T08:00 used",
    "2027-01-01T08:00 2027-02-01T08:00 scheduled",
  ]);
});

onEveryDatabase("voiding a refill ends its grants, and voiding one grant ends only that", async (test) => {
  const { at, grant, record, remaining, send, refills, path, turns } = await refillScene(test, "UTC");
  at("2026-11-05T00:00:00Z");
  const { body: { grant: { refillId } } } = await grant(10, {
    every: "month",
    rollover: 1,
    until: "2028-01-01",
  });
  assert.equal((await record(4)).status, 201);
  const [, december] = (await send(`GET ${path}`)).body.grants.reverse();
  const voidedGrant = await send(`POST ${path}/${december.id}/void`, { reason: "Paused." });
  assert.deepEqual([voidedGrant.status, voidedGrant.body.grant.status], [200, "voided"]);
  at("2026-12-01T00:00:00Z");
  await writeTurns(test);
  assert.equal(await remaining(), 6);
  at("2027-01-01T00:00:00Z");
  await writeTurns(test);
  assert.equal(await remaining(), 10);
  const listed = (await send(`GET ${refills}`)).body;
  assert.deepEqual(listed, {
    refills: [{
      id: refillId,
      limitId: december.limitId,
      productSlug: null,
      metric: "requests",
      quantity: 10,
      every: "month",
      rollover: 1,
      until: "2028-01-01T00:00:00.000Z",
      status: "active",
      reason: "Paid.",
      createdAt: "2026-11-05T00:00:00.000Z",
      voidedAt: null,
      voidReason: null,
    }],
    nextCursor: null,
  });
  const voided = await send(`POST ${refills}/${refillId}/void`, { reason: "Contract ended." });
  assert.deepEqual(
    [voided.status, voided.body.refill.status, voided.body.refill.voidReason],
    [200, "voided", "Contract ended."],
  );
  assert.deepEqual((await send(`POST ${refills}/${refillId}/void`, { reason: "Again." })).body, voided.body);
  assert.equal(await remaining(), 0);
  at("2027-02-01T00:00:00Z");
  await writeTurns(test);
  assert.equal(await remaining(), 0);
  const statuses = (await turns()).map((turn) => turn.split(" ")[2]);
  assert.deepEqual([statuses[0], new Set(statuses.slice(1))], ["expired", new Set(["voided"])]);
  const entries = await test.opened.database.read<{ action: string; details: string }>(
    sql`SELECT action, details FROM audit_events WHERE action LIKE 'organization.refill_%' ORDER BY at DESC`,
  );
  assert.deepEqual(
    entries.map(({ action, details }) => [action, JSON.parse(details)]),
    [
      ["organization.refill_voided", { reason: "Contract ended." }],
      ["organization.refill_added", {
        quantity: "10",
        every: "month",
        rollover: "1",
        until: "2028-01-01T00:00:00.000Z",
        reason: "Paid.",
      }],
    ],
  );
  const other = await test.signUp();
  const ofOther = `POST /organizations/${other.organizationId}/refills/${refillId}/void`;
  assert.equal((await send(ofOther, { reason: "x" })).status, 404);
});

onEveryDatabase("a void of usage gives nothing back to a voided refill", async (test) => {
  const { at, grant, record, remaining, send, refills, voidRecord } = await refillScene(test, "UTC");
  at("2026-11-05T00:00:00Z");
  const { body: { grant: { refillId } } } = await grant(10, { every: "month" });
  const { body } = await record(10);
  await send(`POST ${refills}/${refillId}/void`, { reason: "Contract ended." });
  assert.equal(await voidRecord(body.usageRecord.id), 200);
  assert.equal(await remaining(), 0);
});

for (const isRunning of [true, false]) {
  const when = isRunning ? "" : ", also if nothing ran in between";
  onEveryDatabase(`percentages count from the last turn${when}`, async (test) => {
    const { at, grant, record } = await refillScene(test, "UTC");
    at("2026-11-05T00:00:00Z");
    const recheck = async () => {
      const counters = { complete: () => Promise.reject(new Error("unknown")) };
      while (await recheckSomeLimits(test.services, counters));
    };
    await grant(100, { every: "month" });
    await recheck();
    assert.equal((await record(79)).status, 201);
    assert.deepEqual(await limitEvents(test), []);
    assert.equal((await record(1)).status, 201);
    assert.deepEqual(await limitEvents(test), ["limit.approaching 80"]);
    at("2026-12-01T00:00:00Z");
    if (isRunning) {
      await writeTurns(test);
      await recheck();
    }
    assert.equal((await record(79)).status, 201);
    assert.deepEqual(await limitEvents(test), ["limit.approaching 80"]);
    assert.equal((await record(1)).status, 201);
    assert.deepEqual(await limitEvents(test), ["limit.approaching 80", "limit.approaching 80"]);
    assert.equal((await record(20)).status, 201);
    assert.deepEqual((await limitEvents(test)).slice(2), ["limit.reached 100"]);
    assert.equal((await record(1)).status, 429);
    // The turn clears a reached limit.
    at("2027-01-01T00:00:00Z");
    await writeTurns(test);
    assert.deepEqual((await limitEvents(test)).slice(3), ["limit.cleared 100"]);
    await recheck();
    assert.equal((await record(80)).status, 201);
    assert.deepEqual((await limitEvents(test)).slice(4), ["limit.approaching 80"]);
  });
}

onEveryDatabase(
  "a check of limits after a turn sees a new balance before anything is recorded",
  async (test) => {
    const { at, grant, record } = await refillScene(test, "UTC");
    at("2026-11-05T00:00:00Z");
    await run(test, "UPDATE usage_limits SET notify_at = '[30]'");
    await grant(100, { every: "month" });
    const notices = async () => {
      await run(
        test,
        "INSERT OR REPLACE INTO limit_rechecks (organization) SELECT number FROM organizations",
      );
      const counters = { complete: () => Promise.reject(new Error("unknown")) };
      while (await recheckSomeLimits(test.services, counters));
      return await test.opened.database.read(sql`SELECT percent FROM limit_notices`);
    };
    assert.equal((await record(95)).status, 201);
    at("2026-11-30T23:59:59Z");
    assert.deepEqual(await notices(), [{ percent: 30 }]);
    at("2026-12-01T00:00:00Z");
    assert.deepEqual(await notices(), []);
  },
);

onEveryDatabase("at most ten refills of a limit are active, and future grants don't count", async (test) => {
  const { at, grant, send, refills } = await refillScene(test, "UTC");
  at("2026-11-05T00:00:00Z");
  for (let count = 0; count < activeRefillsMax; count++) {
    const { status } = await grant(1, {
      every: refillPeriods[count % 3],
      ...count === 0 && { until: "2026-11-06" },
    });
    assert.equal(status, 201);
  }
  const eleventh = await grant(1, { every: "month" });
  assert.deepEqual([eleventh.status, eleventh.body.error.code], [409, "limit_reached"]);
  for (let count = activeRefillsMax; count < activeGrantsMax; count++) {
    assert.equal((await grant(1)).status, 201);
  }
  assert.equal((await grant(1)).body.error.code, "limit_reached");
  const { body } = await send(`GET ${refills}?limit=1`);
  assert.equal((await send(`POST ${refills}/${body.refills[0].id}/void`, { reason: "x" })).status, 200);
  assert.equal((await grant(1, { every: "month" })).status, 201);
  // One that has ended doesn't count.
  at("2026-11-06T00:00:00Z");
  assert.equal((await grant(1, { every: "month" })).status, 201);
  assert.equal((await grant(1, { every: "month" })).body.error.code, "limit_reached");
}, unlimited);

onEveryDatabase("a repeated request returns the first grant, and rejects other content", async (test) => {
  const { at, send, path, limit, turns, refills } = await refillScene(test, "UTC");
  at("2026-11-05T00:00:00Z");
  const body = { limitId: limit.id, quantity: 5, every: "month", reason: "Paid.", idempotencyKey: "k" };
  const first = await send(`POST ${path}`, body);
  const again = await Promise.all([
    send(`POST ${path}`, body),
    send(`POST ${path}`, { ...body, rollover: 0 }),
  ]);
  assert.deepEqual(again.map(({ status, body }) => [status, body]), [[200, first.body], [200, first.body]]);
  assert.equal((await turns()).length, 4);
  assert.equal((await send(`GET ${refills}`)).body.refills.length, 1);
  await assertSent(send, [
    [`POST ${path}`, { ...body, every: "week" }, "409 idempotency_conflict idempotencyKey"],
    [`POST ${path}`, { ...body, rollover: 1 }, "409 idempotency_conflict idempotencyKey"],
    [`POST ${path}`, { ...body, until: "2027-01-01" }, "409 idempotency_conflict idempotencyKey"],
    [`POST ${path}`, { ...body, every: undefined }, "409 idempotency_conflict idempotencyKey"],
    [`POST ${path}`, { ...body, idempotencyKey: "l", every: "year" }, "422 validation_failed every"],
    [`POST ${path}`, { ...body, idempotencyKey: "l", rollover: 2 }, "422 validation_failed rollover"],
    [`POST ${path}`, { ...body, idempotencyKey: "l", until: "2026-11-05" }, "422 validation_failed until"],
    [
      `POST ${path}`,
      { ...body, idempotencyKey: "l", expiresAt: "2027-01-01" },
      "422 validation_failed expiresAt",
    ],
    [
      `POST ${path}`,
      { ...body, idempotencyKey: "l", every: null, until: "2027-01-01", rollover: 1 },
      "422 validation_failed rollover until",
    ],
  ]);
});
