// Grants of limits with a window, over the API: each test is a promise of the contract.
import assert from "node:assert/strict";
import type { TestApp } from "../../../support/app/app.ts";
import { grantScene } from "../../../support/meter/grants.ts";
import { limitEvents } from "../../../support/meter/limits.ts";
import { onEveryDatabase, unlimited } from "../../../support/meter/usage.ts";
import { softCountersAreKnown } from "../../../support/meter/limits.ts";

const usage = { productSlug: "tiles", metric: "requests" };
interface NewLimit {
  readonly per: string;
  readonly quantity: number;
  readonly mode?: string;
}

/** An organization with overrides in place of the scene's limit, on a day of November. */
async function windowScene(test: TestApp, limits: readonly NewLimit[]) {
  const scene = await grantScene(test, 1_000_000);
  const at = (time: string) => test.advance(Date.parse(time) - test.now());
  at("2026-11-23T12:00:00Z");
  const send = async (path: string, json?: unknown) => {
    const response = await test.send(`/api/v1/${path}`, {
      apiKey: scene.apiKey,
      ...json !== undefined && { json },
    });
    return { status: response.status, body: await response.json() };
  };
  const setLimits = async (limits: readonly NewLimit[]) => {
    const own = limits.map((limit) => ({ productSlug: null, metric: "requests", mode: "hard", ...limit }));
    const path = `PATCH /organizations/${scene.person.organizationId}`;
    const { status, body } = await scene.send(path, { overrides: { limits: own } });
    assert.equal(status, 200, JSON.stringify(body));
  };
  const standings = async () => {
    const { body } = await send("limits");
    return body.limits as {
      limitId: string;
      per: string;
      quantity: number;
      used: number;
      held: number;
      remaining: number;
      resetsAt: string | null;
      grants?: { remaining: number; nextExpiresAt: string | null };
    }[];
  };
  const standingOf = async (per = "month") => (await standings()).find((one) => one.per === per);
  await setLimits(limits);
  const numbers = async (per = "month") => {
    const standing = await standingOf(per);
    return [standing?.quantity, standing?.used, standing?.held ?? 0, standing?.remaining];
  };
  return {
    ...scene,
    at,
    setLimits,
    standingOf,
    numbers,
    grant: async (quantity: number, more: Record<string, unknown> = {}, per = "month") => {
      const { status, body } = await scene.grant(quantity, {
        limitId: (await standingOf(per))?.limitId,
        ...more,
      });
      assert.equal(status, 201, JSON.stringify(body));
      return body.grant;
    },
    /** Records in one request, each a quantity or one with a time. */
    batch: (records: readonly (number | [number, string])[]) =>
      send(
        "usage/batch",
        {
          records: records.map((one) =>
            typeof one === "number"
              ? { ...usage, quantity: one }
              : { ...usage, quantity: one[0], timestamp: one[1] }
          ),
        },
      ),
    late: async (quantity: number, timestamp: string) =>
      (await send("usage", { ...usage, quantity, timestamp })).status,
    recordId: async (quantity: number): Promise<string> => {
      const { status, body } = await scene.record(quantity);
      assert.equal(status, 201, JSON.stringify(body));
      return body.usageRecord.id;
    },
    hold: (quantity: number, more = {}) =>
      send("holds", { records: [{ ...usage, quantity }], expiresIn: 86_400, ...more }),
    settle: (id: string, quantity: number) =>
      send(`holds/${id}/settle`, { records: [{ ...usage, quantity }] }),
    release: (id: string) => send(`holds/${id}/release`, {}),
  };
}

onEveryDatabase(
  "a grant raises limits of its window only, and their own quantity is used first",
  async (test) => {
    const { at, grant, grants, numbers, record, standingOf } = await windowScene(test, [
      { per: "day", quantity: 100 },
      { per: "month", quantity: 10 },
      { per: "total", quantity: 1_000 },
    ]);
    const forever = await grant(5);
    assert.equal(forever.per, "month");
    await grant(3, { expiresAt: "2027-03-01T00:00:00.000Z" });
    await grant(2, { expiresAt: "2027-02-01T00:00:00.000Z" });
    assert.deepEqual([await numbers("day"), await numbers("total")], [[100, 0, 0, 100], [
      1_000,
      0,
      0,
      1_000,
    ]]);
    assert.equal((await record(21)).status, 429);
    const first = await record(10);
    assert.deepEqual([first.body.limits[1].quantity, first.body.limits[1].remaining], [20, 10]);
    // In the order of their creation: nothing is used yet.
    assert.deepEqual((await grants()).map(([used]) => used), [0, 0, 0]);
    assert.equal((await record(4)).status, 201);
    assert.deepEqual((await grants()).map(([used]) => used), [0, 2, 2]);
    assert.equal((await record(2)).status, 201);
    assert.deepEqual((await grants()).map(([used]) => used), [1, 3, 2]);
    assert.deepEqual(await numbers(), [20, 16, 0, 4]);
    const standing = await standingOf();
    assert.equal(standing?.resetsAt, "2026-12-01T00:00:00.000Z");
    assert.deepEqual([standing?.grants?.remaining, standing?.grants?.nextExpiresAt], [4, null]);
    const { status, body } = await record(5);
    assert.equal(status, 429);
    assert.deepEqual(
      [body.error.details[0].quantity, body.error.details[0].used],
      [20, 16],
      JSON.stringify(body),
    );
    // The own quantity is new; what was used of grants isn't.
    at("2026-12-01T00:00:00Z");
    assert.deepEqual(await numbers(), [14, 0, 0, 14]);
    assert.equal((await record(14)).status, 201);
    assert.equal((await record(0.000001)).status, 429);
    assert.deepEqual(await numbers(), [14, 14, 0, 0]);
  },
  unlimited,
);

onEveryDatabase("percentages are of the window's quantity with grants", async (test) => {
  const { at, grant, record } = await windowScene(test, [{ per: "month", quantity: 10 }]);
  await grant(90);
  assert.equal((await record(79)).status, 201);
  assert.deepEqual(await limitEvents(test), []);
  assert.equal((await record(1)).status, 201);
  assert.deepEqual(await limitEvents(test), ["limit.approaching 80"]);
  assert.equal((await record(20)).status, 201);
  assert.deepEqual((await limitEvents(test)).at(-1), "limit.reached 100");
  await grant(100);
  assert.deepEqual((await limitEvents(test)).at(-1), "limit.cleared 100");
  // Of the next month's own 10 and 100 left of grants.
  at("2026-12-01T00:00:00Z");
  assert.equal((await record(87)).status, 201);
  assert.deepEqual((await limitEvents(test)).at(-1), "limit.cleared 100");
  assert.equal((await record(1)).status, 201);
  assert.deepEqual((await limitEvents(test)).at(-1), "limit.approaching 80");
});

onEveryDatabase("what a window has taken outlives changes of plan, override and time zone", async (test) => {
  const { grant, grants, numbers, person, record, send, setLimits } = await windowScene(test, [
    { per: "month", quantity: 10 },
  ]);
  await grant(10);
  assert.equal((await record(15)).status, 201);
  assert.deepEqual(await numbers(), [20, 15, 0, 5]);
  // Another limit, with a counter of its own.
  await setLimits([{ per: "month", quantity: 10, mode: "soft" }]);
  assert.deepEqual(await numbers(), [20, 15, 0, 5]);
  await setLimits([]);
  await setLimits([{ per: "month", quantity: 10 }]);
  assert.deepEqual(await numbers(), [20, 15, 0, 5]);
  const organization = `PATCH /organizations/${person.organizationId}`;
  assert.equal((await send(organization, { timezone: "Asia/Tokyo" })).status, 200);
  assert.deepEqual(await numbers(), [20, 15, 0, 5]);
  assert.equal((await record(6)).status, 429);
  assert.equal((await record(1)).status, 201);
  assert.deepEqual(await grants(), [[6, 4, "active"]]);
  const plan = await send("POST /plans", {
    name: "Pro",
    limits: [{ metric: "requests", per: "month", quantity: 10, mode: "hard", productSlug: null }],
  });
  assert.equal(plan.status, 201, JSON.stringify(plan.body));
  await setLimits([]);
  assert.equal((await send(organization, { planId: plan.body.plan.id })).status, 200);
  assert.deepEqual(await numbers(), [20, 16, 0, 4]);
  assert.equal((await record(5)).status, 429);
  assert.equal((await record(4)).status, 201);
  assert.deepEqual(await grants(), [[10, 0, "used"]]);
}, unlimited);

onEveryDatabase("late records take from the grants of now", async (test) => {
  const { at, grant, grants, late, numbers } = await windowScene(test, [{ per: "month", quantity: 10 }]);
  await grant(5, { expiresAt: "2026-12-01T00:00:00.000Z" });
  at("2026-12-02T00:00:00Z");
  assert.equal(await late(11, "2026-11-25T00:00:00.000Z"), 429);
  await grant(5);
  assert.equal(await late(13, "2026-11-25T00:00:00.000Z"), 201);
  assert.deepEqual(await grants(), [[0, 0, "expired"], [3, 2, "active"]]);
  assert.deepEqual(await numbers(), [12, 0, 0, 12]);
  assert.equal(await late(3, "2026-11-25T00:00:00.000Z"), 429);
}, unlimited);

onEveryDatabase("room of grants that holds of another window need is not given twice", async (test) => {
  const { at, grant, grants, hold, numbers, record, release, settle } = await windowScene(test, [
    { per: "month", quantity: 10 },
  ]);
  at("2026-11-30T20:00:00Z");
  await grant(5);
  const { status, body } = await hold(13);
  assert.equal(status, 201, JSON.stringify(body));
  at("2026-12-01T01:00:00Z");
  // Of the 5 granted, the hold needs 3.
  assert.deepEqual(await numbers(), [15, 0, 0, 12]);
  const rejected = await record(13);
  assert.equal(rejected.status, 429);
  assert.ok(rejected.body.error.details[0].heldUntil, JSON.stringify(rejected.body));
  assert.equal((await hold(13)).status, 429);
  // Also in one group.
  const sent = await Promise.all(Array.from({ length: 30 }, () => record(1)));
  assert.equal(sent.filter(({ status }) => status === 201).length, 12);
  assert.equal((await record(0.1)).status, 429);
  assert.deepEqual(await numbers(), [15, 12, 0, 0]);
  // The hold has the room that it took.
  const settled = await settle(body.hold.id, 13);
  assert.deepEqual([settled.status, settled.body.beyond], [201, []]);
  assert.deepEqual(await grants(), [[5, 0, "used"]]);
  assert.equal((await record(0.1)).status, 429);
  const next = await hold(1);
  assert.equal(next.status, 429);
  await grant(1);
  const last = await hold(1);
  assert.equal(last.status, 201);
  assert.equal((await release(last.body.hold.id)).status, 200);
  assert.equal((await record(1)).status, 201);
}, unlimited);

onEveryDatabase("a hold of another window that has expired is not in the way", async (test) => {
  const { at, grant, hold, numbers, record } = await windowScene(test, [{ per: "month", quantity: 10 }]);
  at("2026-11-30T23:00:00Z");
  await grant(5);
  assert.equal((await hold(15, { expiresIn: 7_200 })).status, 201);
  at("2026-12-01T00:30:00Z");
  assert.equal((await record(11)).status, 429);
  assert.deepEqual(await numbers(), [15, 0, 0, 10]);
  at("2026-12-01T01:00:00Z");
  assert.deepEqual(await numbers(), [15, 0, 0, 15]);
  assert.equal((await record(15)).status, 201);
}, unlimited);

onEveryDatabase("holds of another window count after the limit was replaced, too", async (test) => {
  const { at, grant, hold, numbers, record, setLimits } = await windowScene(test, [{
    per: "month",
    quantity: 10,
  }]);
  at("2026-11-30T20:00:00Z");
  assert.equal((await record(9)).status, 201);
  assert.equal((await hold(1)).status, 201);
  at("2026-12-01T01:00:00Z");
  await grant(5);
  // The new limits have no counters of November. With its own 9, the hold needs 1 of the grant.
  await setLimits([{ per: "month", quantity: 9, mode: "soft" }]);
  await setLimits([{ per: "month", quantity: 9 }]);
  assert.deepEqual(await numbers(), [14, 0, 0, 13]);
  assert.equal((await record(13.1)).status, 429);
  assert.equal((await record(13)).status, 201);
}, unlimited);

onEveryDatabase("records of several windows take their grants together", async (test) => {
  const { at, batch, grant, grants, late, record } = await windowScene(test, [{
    per: "month",
    quantity: 10,
  }]);
  at("2026-12-02T00:00:00Z");
  await grant(6);
  const november = "2026-11-25T00:00:00.000Z";
  // Each fits alone.
  assert.equal((await batch([14, [13, november]])).status, 429);
  // In one group: both have 10 of their own, and share 6.
  const sent = await Promise.all(
    Array.from({ length: 20 }, () => [late(1, november), record(1).then(({ status }) => status)]).flat(),
  );
  assert.equal(sent.filter((status) => status === 201).length, 26);
  assert.deepEqual(await grants(), [[6, 0, "used"]]);
  assert.deepEqual([(await record(0.1)).status, await late(0.1, november)], [429, 429]);
}, unlimited);

onEveryDatabase(
  "a void returns to grants what the window no longer needs, the last used first",
  async (test) => {
    const { at, grant, grants, numbers, recordId, voidRecord } = await windowScene(test, [
      { per: "month", quantity: 10 },
    ]);
    await grant(5, { expiresAt: "2026-11-25T00:00:00.000Z" });
    await grant(5);
    const ids = [await recordId(8), await recordId(4), await recordId(6), await recordId(0.5)];
    assert.deepEqual(await grants(), [[5, 0, "used"], [3.5, 1.5, "active"]]);
    // 8.5 taken, and 4.5 needed.
    assert.equal(await voidRecord(ids[1] ?? ""), 200);
    assert.deepEqual(await grants(), [[4.5, 0.5, "active"], [0, 5, "active"]]);
    assert.deepEqual(await numbers(), [20, 14.5, 0, 5.5]);
    at("2026-11-26T00:00:00Z");
    // What returns to one that has expired is lost.
    assert.equal(await voidRecord(ids[2] ?? ""), 200);
    assert.deepEqual(await grants(), [[0, 0, "expired"], [0, 5, "active"]]);
    assert.deepEqual(await numbers(), [15, 8.5, 0, 6.5]);
    // Voiding what the own quantity has room for returns nothing.
    assert.equal(await voidRecord(ids[0] ?? ""), 200);
    assert.deepEqual(await numbers(), [15, 0.5, 0, 14.5]);
  },
  unlimited,
);

onEveryDatabase("a void in an earlier window returns by what that window needs", async (test) => {
  const { at, grant, grants, recordId, setLimits, voidRecord } = await windowScene(test, [
    { per: "month", quantity: 10 },
  ]);
  await grant(10);
  const [first] = [await recordId(6), await recordId(12)];
  assert.deepEqual(await grants(), [[8, 2, "active"]]);
  at("2026-12-05T00:00:00Z");
  // Its counter has to be added up again.
  await setLimits([{ per: "month", quantity: 10, mode: "soft" }]);
  assert.equal(await voidRecord(first ?? ""), 200);
  assert.deepEqual(await grants(), [[2, 8, "active"]]);
}, unlimited);

onEveryDatabase("a limit that is raised later gives nothing back", async (test) => {
  const { grant, grants, numbers, record, recordId, setLimits, voidRecord } = await windowScene(test, [
    { per: "month", quantity: 10 },
  ]);
  await grant(10);
  const id = await recordId(18);
  await setLimits([{ per: "month", quantity: 100 }]);
  assert.deepEqual(await grants(), [[8, 2, "active"]]);
  assert.deepEqual(await numbers(), [110, 18, 0, 92]);
  assert.equal((await record(92)).status, 201);
  assert.deepEqual(await grants(), [[10, 0, "used"]]);
  assert.equal(await voidRecord(id), 200);
  assert.deepEqual(await grants(), [[0, 10, "active"]]);
});

onEveryDatabase("of several limits on one usage, each must have room", async (test) => {
  const { grant, grants, record } = await windowScene(test, [
    { per: "day", quantity: 5 },
    { per: "month", quantity: 5 },
  ]);
  await grant(10);
  assert.equal((await record(6)).status, 429);
  await grant(3, {}, "day");
  assert.equal((await record(9)).status, 429);
  assert.equal((await record(8)).status, 201);
  assert.deepEqual(await grants(), [[3, 7, "active"], [3, 0, "used"]]);
});

for (const per of ["minute", "hour", "day"]) {
  onEveryDatabase(`a grant raises a limit per ${per}, and each window takes from it`, async (test) => {
    const { grant, grants, numbers, record } = await windowScene(test, [{ per, quantity: 5 }]);
    await grant(4, {}, per);
    for (let window = 0; window < 2; window++) {
      assert.equal((await record(7)).status, 201);
      test.advance(24 * 3_600_000);
    }
    assert.deepEqual(await grants(), [[4, 0, "used"]]);
    assert.deepEqual(await numbers(per), [5, 0, 0, 5]);
    assert.equal((await record(5.5)).status, 429);
  });
}

onEveryDatabase("a soft limit takes from grants what is beyond its own quantity", async (test) => {
  const { grant, grants, numbers, record } = await windowScene(test, [
    { per: "month", quantity: 5, mode: "soft" },
  ]);
  await grant(4);
  assert.equal((await record(7)).status, 201);
  await softCountersAreKnown(test);
  assert.deepEqual(await grants(), [[2, 2, "active"]]);
  assert.equal((await record(7)).status, 201);
  assert.deepEqual(await numbers(), [9, 14, 0, 0]);
});

onEveryDatabase("a grant of a window repeats, and its rest lasts for a turn longer", async (test) => {
  const { at, grant, grants, numbers, record } = await windowScene(test, [{ per: "month", quantity: 5 }]);
  const first = await grant(3, { every: "month", rollover: 1 });
  assert.equal(first.expiresAt, "2027-01-01T00:00:00.000Z");
  assert.equal((await record(6)).status, 201);
  at("2026-12-01T00:00:00Z");
  assert.deepEqual(await numbers(), [10, 0, 0, 10]);
  assert.equal((await record(8)).status, 201);
  assert.deepEqual((await grants()).slice(0, 2), [[3, 0, "used"], [1, 2, "active"]]);
  at("2027-01-01T00:00:00Z");
  assert.deepEqual(await numbers(), [10, 0, 0, 10]);
  at("2027-02-01T00:00:00Z");
  assert.deepEqual(await numbers(), [11, 0, 0, 11]);
}, unlimited);
