// Cutoff limits: they deny verification, forward authentication and holds when nothing is left, and never reject a record.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import type { TestApp } from "../../../support/app/app.ts";
import { holdScene, units } from "../../../support/meter/holds.ts";
import { type AddedLimit, addLimit, softCountersAreKnown } from "../../../support/meter/limits.ts";
import { onEveryDatabase, unlimited } from "../../../support/meter/usage.ts";
import { ask as askForward } from "../../../support/network/forward.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";

const tiles = { productSlug: "tiles", metric: "requests" };

/** An organization with a cutoff limit, and what asks about it. */
async function cutoffScene(test: TestApp, limit: AddedLimit = { per: "month", quantity: 10 }) {
  const scene = await holdScene(test, { mode: "cutoff", ...limit });
  const { fullToken } = await newOperatorToken(test, ["keys:verify"]);
  const verify = async (quantity: number, more: object = {}) => {
    const usage = { ...tiles, quantity, ...more };
    const response = await test.send("/api/v1/keys/verify", {
      apiKey: fullToken,
      json: { key: scene.apiKey, usage },
    });
    assert.equal(response.status, 200, await response.clone().text());
    return await response.json();
  };
  return {
    ...scene,
    verify,
    /** Asks in each way, for one unit or the given quantity. */
    ask: async (quantity = 1) => ({
      verify: (await verify(quantity)).code,
      record: (await verify(quantity, { record: true })).code,
      forward: (await askForward(test, "?accept=key&meter=tiles/requests&limit=on", { apiKey: scene.apiKey }))
        .status,
      hold: (await scene.hold(quantity)).status,
    }),
  };
}

const denied = { verify: "USAGE_EXCEEDED", record: "USAGE_EXCEEDED", forward: 429, hold: 429 };

async function eventsOf({ opened: { database } }: TestApp): Promise<string[]> {
  const rows = await database.read<{ event: string }>(sql`
    SELECT type || ' ' || (facts ->> '$.percent') AS event FROM events WHERE type LIKE 'limit.%' ORDER BY seq`);
  return rows.map(({ event }) => event);
}

onEveryDatabase("questions are admitted while anything is left, also if it is less", async (test) => {
  const { record, ask, verify, hold, settle, standings } = await cutoffScene(test);
  assert.equal((await record(9.999999)).status, 201);
  assert.equal((await verify(500)).code, "VALID");
  const { status, body } = await hold(500);
  assert.equal(status, 201);
  // What is held leaves nothing, too.
  assert.deepEqual(await ask(), denied);
  assert.equal((await settle(body.hold.id, 0.5)).status, 201);
  assert.deepEqual(await standings(), [[10.499999, 0, 0]]);
  assert.deepEqual(await ask(), denied);
  assert.deepEqual(await ask(0), denied);
});

onEveryDatabase("each question is the last one that is admitted beyond the limit", async (test) => {
  const { verify, apiKey, hold } = await cutoffScene(test, { per: "day", quantity: 3 });
  const forward = async () =>
    (await askForward(test, "?accept=key&meter=tiles/requests&limit=on", { apiKey })).status;
  assert.equal((await verify(1, { record: true })).code, "VALID");
  assert.equal(await forward(), 200);
  const last = await verify(7, { record: true });
  assert.deepEqual([last.code, last.limits[0].used, last.limits[0].remaining], ["VALID", 9, 0]);
  assert.equal((await verify(7, { record: true })).code, "USAGE_EXCEEDED");
  const { status, headers, body } = await hold(1);
  assert.equal(status, 429);
  assert.equal(body.error.code, "limit_exceeded");
  const [detail] = body.error.details;
  assert.deepEqual([detail.mode, detail.quantity, detail.used, detail.remaining], ["cutoff", 3, 9, 0]);
  assert.ok(Number(headers.get("retry-after")) > 0);
  // A new window has room.
  test.advance(24 * 3_600_000);
  assert.equal(await forward(), 200);
});

onEveryDatabase("recording is never rejected, also for operators and in batches", async (test) => {
  const { record, apiKey, keyId, operator, standings, verify, limitId } = await cutoffScene(test);
  assert.equal((await record(12)).status, 201);
  await softCountersAreKnown(test);
  const { status, headers, body } = await record(3);
  assert.equal(status, 201);
  assert.match(headers.get("ratelimit") ?? "", new RegExp(`"${limitId}";r=0;t=`));
  assert.match(headers.get("ratelimit-policy") ?? "", new RegExp(`"${limitId}";q=10`));
  assert.deepEqual(body.limits.map((one: { mode: string; remaining: number }) => [one.mode, one.remaining]), [
    [
      "cutoff",
      0,
    ],
  ]);
  const batch = await test.send("/api/v1/usage/batch", { apiKey, json: { records: units(1, 2) } });
  assert.equal(batch.status, 201);
  assert.equal(
    (await operator("POST /usage", { records: [{ apiKeyId: keyId, ...units(1)[0] }] })).status,
    201,
  );
  assert.deepEqual(await standings(), [[19, 0, 0]]);
  assert.equal((await verify(1, { record: true })).code, "USAGE_EXCEEDED");
  assert.deepEqual(await standings(), [[19, 0, 0]]);
});

onEveryDatabase("a repeat of what a question recorded is valid beyond the limit", async (test) => {
  const { verify, standings, hold } = await cutoffScene(test);
  const more = { record: true, idempotencyKey: "one" };
  assert.equal((await verify(10, more)).code, "VALID");
  assert.equal((await verify(10, more)).code, "VALID");
  assert.equal((await verify(10, { idempotencyKey: "one" })).code, "VALID");
  assert.equal((await verify(10, { ...more, idempotencyKey: "two" })).code, "USAGE_EXCEEDED");
  assert.deepEqual(await standings(), [[10, 0, 0]]);
  assert.equal((await hold(1, { idempotencyKey: "three" })).status, 429);
});

for (const way of ["record", "hold"] as const) {
  onEveryDatabase(
    `64 concurrent questions that ${way} exceed the limit by at most the last one`,
    async (test) => {
      const { verify, hold, standings } = await cutoffScene(test, { per: "total", quantity: 20 });
      const quantity = 3;
      const admitted = await Promise.all(
        Array.from(
          { length: 64 },
          async () =>
            way === "record"
              ? (await verify(quantity, { record: true })).code === "VALID"
              : (await hold(quantity)).status === 201,
        ),
      );
      // Six leave two units, and one more takes them.
      assert.equal(
        admitted.filter((one) => one).length,
        7,
      );
      assert.deepEqual(await standings(), [way === "record" ? [21, 0, 0] : [0, 21, 0]]);
    },
    unlimited,
  );
}

onEveryDatabase("questions beside records are denied once nothing is left", async (test) => {
  const { verify, record, standings } = await cutoffScene(test, { per: "total", quantity: 30 });
  const results = await Promise.all(
    Array.from(
      { length: 40 },
      async (_, index) =>
        index % 2 === 0 ? (await record(1)).status : (await verify(1, { record: true })).code,
    ),
  );
  assert.equal(results.filter((one) => one === 201).length, 20);
  const valid = results.filter((one) => one === "VALID").length;
  // All records count, so questions get at most what is left besides them at their time.
  assert.ok(valid >= 10 && valid <= 20, `${valid}`);
  assert.deepEqual((await standings())[0]?.[0], 20 + valid);
  assert.equal((await verify(1, { record: true })).code, "USAGE_EXCEEDED");
}, unlimited);

onEveryDatabase("expired holds are taken off before a question is denied", async (test) => {
  const { hold, verify, record } = await cutoffScene(test);
  await hold(10, { expiresIn: 60 });
  const { status, body } = await hold(1);
  assert.equal(status, 429);
  const [{ held, heldUntil }] = body.error.details;
  assert.deepEqual([held, Date.parse(heldUntil) - test.now()], [10, 60_000]);
  // Only holds are in the way, so nothing was reached.
  assert.deepEqual(await eventsOf(test), []);
  test.advance(60_000);
  assert.equal((await verify(1, { record: true })).code, "VALID");
  assert.equal((await hold(1)).status, 201);
  assert.equal((await record(20)).status, 201);
});

onEveryDatabase("a settlement says by how much it is beyond a cutoff limit", async (test) => {
  const { hold, settle, limitId } = await cutoffScene(test);
  const { body } = await hold(4);
  const settled = await settle(body.hold.id, 14);
  assert.deepEqual(settled.body.beyond, [{ limitId, quantity: 4 }]);
});

onEveryDatabase("the last unit is one event, with the reason cutoff", async (test) => {
  const { record, ask } = await cutoffScene(test, { per: "month", quantity: 10 });
  await record(8);
  await softCountersAreKnown(test);
  await record(3);
  await ask();
  await record(5);
  assert.deepEqual(await eventsOf(test), ["limit.approaching 80", "limit.reached 100"]);
  const { fullToken: apiKey } = await newOperatorToken(test, ["events:read"]);
  const { events } = await (await test.send("/api/operator/events?type=limit.reached", { apiKey })).json();
  const [{ data }] = events;
  assert.deepEqual([data.reason, data.limit.mode, data.percent, data.used], ["cutoff", "cutoff", 100, 11]);
});

onEveryDatabase("a limit of 0 denies each question, is noted once, and rejects no record", async (test) => {
  const { record, ask } = await cutoffScene(test, { per: "day", quantity: 0 });
  assert.deepEqual(await ask(), denied);
  assert.equal((await record(2)).status, 201);
  assert.deepEqual(await ask(), denied);
  assert.deepEqual(await eventsOf(test), ["limit.reached 100"]);
});

onEveryDatabase("a limit of an organization replaces the plan's in any mode", async (test) => {
  const { operator, person, ask, record, hold } = await cutoffScene(test);
  const override = async (limit: object | null) => {
    const limits = limit === null ? [] : [{ productSlug: null, metric: null, per: "month", ...limit }];
    const { status } = await operator(`PATCH /organizations/${person.organizationId}`, {
      overrides: { limits },
    });
    assert.equal(status, 200);
  };
  await record(12);
  assert.deepEqual(await ask(), denied);
  await override({ quantity: 10, mode: "soft" });
  assert.deepEqual((await ask()).record, "VALID");
  await override({ quantity: 100, mode: "cutoff" });
  assert.equal((await hold(500)).status, 201);
  await override({ quantity: 10, mode: "hard" });
  assert.equal((await record(1)).status, 429);
  await override(null);
  assert.equal((await record(1)).status, 201);
  assert.deepEqual(await ask(), denied);
});

onEveryDatabase("grants leave something of a limit in total", async (test) => {
  const { person, record, verify, operator, hold, limitId } = await cutoffScene(test, {
    ...tiles,
    per: "total",
    quantity: 10,
  });
  await record(12);
  assert.equal((await verify(1)).code, "USAGE_EXCEEDED");
  const { status, body } = await operator(`POST /organizations/${person.organizationId}/grants`, {
    limitId,
    quantity: 5,
    reason: "Paid.",
    idempotencyKey: "one",
  });
  assert.equal(status, 201, JSON.stringify(body));
  assert.equal((await verify(100)).code, "VALID");
  assert.equal((await verify(3, { record: true })).code, "VALID");
  assert.equal((await hold(1)).status, 429);
});

onEveryDatabase("questions wait for a counter, and delay no record and no settlement", async (test) => {
  const { record, verify, hold, settle, standings } = await cutoffScene(test, {
    per: "hour",
    quantity: 1_000,
  });
  await record(7);
  const { body } = await hold(1);
  await addLimit(test, {}, { mode: "cutoff", per: "month", quantity: 10 });
  const { services: { reports } } = test;
  const read = reports.read.bind(reports);
  const { promise: mayRead, resolve } = Promise.withResolvers<void>();
  const { promise: isWaiting, resolve: onSum } = Promise.withResolvers<void>();
  reports.read = (name, ...input) => {
    if (name !== "sumLimitCells") return read(name, ...input);
    onSum();
    return mayRead.then(() => read(name, ...input));
  };
  const ended: string[] = [];
  const asking = verify(1, { record: true }).then(({ code }) => ended.push(code));
  const holding = hold(1).then(({ status }) => ended.push(`${status}`));
  await isWaiting;
  const { status, body: { limits } } = await record(3);
  assert.equal(status, 201);
  // Until it is known, responses leave it out.
  assert.deepEqual(limits.map(({ per }: { per: string }) => per), ["hour"]);
  assert.equal((await settle(body.hold.id, 1)).status, 201);
  assert.deepEqual(ended, []);
  resolve();
  await Promise.all([asking, holding]);
  assert.deepEqual(ended.sort(), ["429", "USAGE_EXCEEDED"]);
  assert.deepEqual((await standings()).map(([used]) => used), [11, 11]);
});
