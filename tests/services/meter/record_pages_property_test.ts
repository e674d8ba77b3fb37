// Pages of records, forward and back, against the whole list: equal timestamps, voided records, rotated keys and filters.
import assert from "node:assert/strict";
import { createTestKey } from "../../support/app/app.ts";
import { repeats } from "../../support/runner/extent.ts";
import fc from "../../support/runner/fast_check.ts";
import { listAll, onEveryDatabase, recordAll, voidOne } from "../../support/meter/usage.ts";
import { testReader } from "../../support/app/reports.ts";

const products = ["tiles", "routes"];
const metrics = ["requests", "bytes"];
const sentArbitrary = fc.array(
  fc.record({
    productSlug: fc.constantFrom(...products),
    metric: fc.constantFrom(...metrics),
    // Few timestamps, in three quarters of an hour.
    minutes: fc.constantFrom(0, 0, 0, 1, 14, 15, 40),
  }),
  { minLength: 30, maxLength: 30 },
);
const viewArbitrary = fc.record({
  productSlug: fc.option(fc.constantFrom(...products)),
  metric: fc.option(fc.constantFrom(...metrics)),
  key: fc.option(fc.nat({ max: 1 })),
  status: fc.option(fc.constantFrom("counted" as const, "voided" as const)),
  fromMinutes: fc.option(fc.constantFrom(0, 1, 15)),
  toMinutes: fc.option(fc.constantFrom(1, 15, 16)),
  limit: fc.integer({ min: 1, max: 9 }),
});

onEveryDatabase("pages of records have the same records forward and back", async (test) => {
  const person = await test.signUp();
  const keys = [await createTestKey(test, person), await createTestKey(test, person)];
  const start = Math.floor(test.now() / 3_600_000 - 5) * 3_600_000;
  const time = (minutes: number) => start + minutes * 60_000;
  for (const [index, key] of keys.entries()) {
    const [sent = []] = fc.sample(sentArbitrary, { numRuns: 1, seed: index });
    const records = sent.map(({ minutes, ...names }) => ({
      ...names,
      quantity: 1,
      timestamp: new Date(time(minutes)).toISOString(),
    }));
    await recordAll(test, { apiKey: key.fullKey, records });
  }
  const reader = keys[0]?.fullKey ?? "";
  for (const [index, { id, productSlug, apiKeyId }] of (await listAll(test, reader)).entries()) {
    // All of one series, and some of the others.
    const isAll = productSlug === "routes" && apiKeyId === keys[1]?.id;
    if (isAll || index % 3 === 0) await voidOne(test, { apiKey: reader, id });
  }
  const all = await listAll(test, reader);
  assert.equal(all.length, 60);
  await fc.assert(
    fc.asyncProperty(viewArbitrary, async (view) => {
      const { productSlug, metric, key, status, fromMinutes, toMinutes, limit } = view;
      const [from, to] = [fromMinutes, toMinutes].map((minutes) =>
        minutes === null ? undefined : time(minutes)
      );
      const apiKey = key === null ? undefined : keys[key]?.id;
      const expected = all.filter((one) =>
        (productSlug === null || one.productSlug === productSlug) &&
        (metric === null || one.metric === metric) &&
        (apiKey === undefined || one.apiKeyId === apiKey) &&
        (status === null || (status === "voided") === (one.voidedAt !== null)) &&
        Date.parse(one.timestamp) >= (from ?? 0) && Date.parse(one.timestamp) < (to ?? Infinity)
      ).map(({ id }) => id);
      const read = async (place: { cursor?: string; newerThan?: string }) => {
        const { usageRecords, ...page } = await test.services.reports.read("readUsageRecordPage", {
          organizationId: person.organizationId,
          now: test.now(),
          productSlug: productSlug === null ? undefined : [productSlug],
          metric: metric === null ? undefined : [metric],
          apiKey: apiKey === undefined ? undefined : [apiKey],
          mergeRotations: true,
          status: status ?? undefined,
          from,
          to,
          limit,
          ...place,
        }, { reader: testReader });
        return { ids: usageRecords.map(({ id }) => id), ...page };
      };
      const pages = [await read({})];
      for (let page = pages[0]; page && page.nextCursor !== null; pages.push(page)) {
        page = await read({ cursor: page.nextCursor });
      }
      assert.deepEqual(pages.flatMap(({ ids }) => ids), expected);
      assert.equal(pages[0]?.previousCursor, null);
      let last = pages.at(-1);
      for (const page of pages.toReversed().slice(1)) {
        assert(last?.previousCursor);
        last = await read({ newerThan: last.previousCursor });
        assert.deepEqual(last.ids, page.ids);
        assert.equal(last.nextCursor, page.nextCursor);
      }
    }),
    { numRuns: repeats({ quick: 25, full: 60 }), seed: 15 },
  );
});
