// Soft limits: usage is recorded and counted although what was used before isn't known yet.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { unavailableError } from "../../../../domain/errors.ts";
import type { Reports } from "../../../../services/reports/reports.ts";
import { createTestKey, type TestApp } from "../../../support/app/app.ts";
import { addLimit, softCountersAreKnown } from "../../../support/meter/limits.ts";
import { grantVoids } from "../../../support/operators/operators.ts";
import { poll } from "../../../support/runner/poll.ts";
import { listPage, onEveryDatabase, voidOne } from "../../../support/meter/usage.ts";

const usage = { productSlug: "tiles", metric: "requests" };

/** Replaces the sums that complete counters, or only those of limits with some period. */
function replaceSums(
  { services: { reports } }: TestApp,
  sum: () => Promise<void>,
  options: { per?: string } = {},
): void {
  const read: Reports["read"] = reports.read.bind(reports);
  reports.read = (name, ...input) => {
    const isReplaced = name === "sumLimitCells" &&
      (options.per === undefined || JSON.stringify(input[0]).includes(`"per":"${options.per}"`));
    return isReplaced ? sum().then(() => read(name, ...input)) : read(name, ...input);
  };
}

/** Lets no counter be completed while it runs. */
async function withoutSums(test: TestApp, run: () => Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  replaceSums(test, () => promise);
  let hasEnded = false;
  const running = run().finally(() => hasEnded = true);
  // A request that waits would wait forever.
  await Promise.all([running, poll(() => hasEnded, 10_000)]).finally(resolve);
  await softCountersAreKnown(test);
}

/** A key whose organization used a quantity before it got limits. */
async function keyWithUsage(test: TestApp, quantity: number): Promise<string> {
  const { fullKey } = await createTestKey(test, await test.signUp());
  await test.opened.database.write([grantVoids]);
  assert.equal((await record(test, fullKey, quantity)).status, 201);
  return fullKey;
}

const record = (test: TestApp, apiKey: string, quantity: number, more: object = {}) =>
  test.send("/api/v1/usage", { apiKey, json: { ...usage, quantity, ...more } });

async function usedOf(response: Response): Promise<number[]> {
  assert.equal(response.status, 201, await response.clone().text());
  return ((await response.json()).limits ?? []).map(({ used }: { used: number }) => used);
}

async function noticesOf({ opened: { database } }: TestApp): Promise<string[]> {
  const rows = await database.read<{ level: string }>(
    sql`SELECT percent || iif(is_refusal, ' rejected', '') AS level FROM limit_notices ORDER BY noted_at, percent`,
  );
  return rows.map(({ level }) => level);
}

onEveryDatabase("a soft limit delays no record while earlier usage is added up", async (test) => {
  const apiKey = await keyWithUsage(test, 5);
  for (const per of ["minute", "hour", "day", "month", "total"] as const) {
    await addLimit(test, {}, { per, quantity: 100 });
  }
  await withoutSums(test, async () => {
    assert.deepEqual(await usedOf(await record(test, apiKey, 2)), []);
    const records = Array.from({ length: 10 }, () => ({ ...usage, quantity: 1 }));
    assert.deepEqual(await usedOf(await test.send("/api/v1/usage/batch", { apiKey, json: { records } })), []);
    // One from before the limits, and one from after them.
    const { usageRecords } = await listPage(test, apiKey, "limit=100");
    for (const quantity of [5, 2]) {
      await voidOne(test, { apiKey, id: usageRecords.find((one) => one.quantity === quantity)?.id ?? "" });
    }
    // What is read without recording is exact at any time.
    const { limits } = await (await test.send("/api/v1/limits", { apiKey })).json();
    assert.deepEqual(limits.map(({ used }: { used: number }) => used), [10, 10, 10, 10, 10]);
  });
  assert.deepEqual(await usedOf(await record(test, apiKey, 5)), [15, 15, 15, 15, 15]);
});

for (
  const [ends, sum] of [
    ["never end", () => new Promise<void>(() => {})],
    ["fail", () => Promise.reject(unavailableError("Full."))],
  ] as const
) {
  onEveryDatabase(
    `requests with a hard limit are recorded while sums of a soft one ${ends}`,
    async (test) => {
      const apiKey = await keyWithUsage(test, 5);
      await addLimit(test, {}, { per: "month", quantity: 100 });
      replaceSums(test, sum, { per: "month" });
      assert.equal((await record(test, apiKey, 1)).status, 201);
      await addLimit(test, {}, { per: "day", quantity: 8, mode: "hard" });
      const responses = await Promise.all(Array.from({ length: 3 }, () => record(test, apiKey, 1)));
      assert.deepEqual(responses.map(({ status }) => status).sort(), [201, 201, 429]);
    },
  );
}

onEveryDatabase("a limit that is reached while its usage is added up is noted once", async (test) => {
  const apiKey = await keyWithUsage(test, 7);
  await addLimit(test, {}, { per: "day", quantity: 10 });
  await addLimit(test, {}, { per: "month", quantity: 18 });
  await withoutSums(test, async () => {
    // 80% of the first limit on its own.
    await record(test, apiKey, 7);
    await record(test, apiKey, 1);
    assert.deepEqual(await noticesOf(test), []);
  });
  assert.deepEqual(await noticesOf(test), ["80", "100"]);
  for (let n = 0; n < 3; n++) await record(test, apiKey, 1);
  assert.deepEqual(await noticesOf(test), ["80", "100", "100"]);
});

onEveryDatabase("nothing is noted of a limit against which nothing was recorded", async (test) => {
  const apiKey = await keyWithUsage(test, 9);
  await addLimit(test, {}, { per: "day", quantity: 10, mode: "hard" });
  assert.equal((await record(test, apiKey, 2)).status, 429);
  assert.deepEqual(await noticesOf(test), ["100 rejected"]);
});

onEveryDatabase("usage that could not be added up is tried again without another record", async (test) => {
  const apiKey = await keyWithUsage(test, 5);
  await addLimit(test, {}, { per: "day", quantity: 6 });
  let failures = 0;
  replaceSums(test, () => failures++ < 2 ? Promise.reject(unavailableError("Full.")) : Promise.resolve());
  assert.equal((await record(test, apiKey, 1)).status, 201);
  await softCountersAreKnown(test);
  assert.equal(failures, 3);
  assert.deepEqual(await noticesOf(test), ["100"]);
  assert.match(test.logged(), /background .*Full\./);
});

onEveryDatabase("the recorder closes without waiting for the sums of soft limits", async (test) => {
  const apiKey = await keyWithUsage(test, 5);
  await addLimit(test, {}, { per: "day", quantity: 6 });
  const { promise: mayRead, reject: failReading } = Promise.withResolvers<void>();
  const { promise: isSumming, resolve: onSum } = Promise.withResolvers<void>();
  replaceSums(test, () => {
    onSum();
    return mayRead;
  });
  const recorded = record(test, apiKey, 1);
  await isSumming;
  await test.services.recorder.close();
  assert.equal((await recorded).status, 201);
  failReading(unavailableError("Full."));
  await assert.rejects(mayRead);
  assert.doesNotMatch(test.logged(), /background/);
});
