// Corrections of closed months: exact without the records of the month, at the price of the month, and by the values of dimensions.
import assert from "node:assert/strict";
import { encodeLineValues } from "../../../db/billing/statement_values.ts";
import type { StatementLine } from "../../../domain/billing/statement.ts";
import { deleteOldUsageRecords } from "../../../services/meter/usage_records.ts";
import { closeStatement } from "../../../services/billing/statement_closing.ts";
import { type TestApp, testApp } from "../../support/app/app.ts";
import { asOperator } from "../../support/operators/operator_api.ts";
import { commandLineActor, newOperatorToken } from "../../support/operators/operators.ts";
import { asBilling, customer, microsOf, short } from "../../support/meter/statements.ts";
import { unlimited, voidOne } from "../../support/meter/usage.ts";

const dayMs = 24 * 3_600_000;
const aggregations = ["count", "last", "max", "sum", "unique"] as const;

/** A customer of a product with a metric of each aggregation; those that can be split have the dimension `region`. */
async function startScene(test: TestApp) {
  const { lines, ...billing } = await asBilling(test);
  const ada = await customer(test, "Ada");
  const send = asOperator(test, (await newOperatorToken(test)).fullToken);
  const save = async (request: string, unitPrice: string, more: { slug?: string } = {}) => {
    const metrics = aggregations.map((aggregation) => ({
      ...{ slug: aggregation, name: aggregation, aggregation, unitPrice },
      ...(aggregation === "unique" && { uniqueProperty: "region" }),
      ...(["sum", "count", "unique"].includes(aggregation) && { dimensions: [["region"]] }),
    }));
    const { status, body } = await send(request, { ...more, name: "P", metrics });
    assert.ok(status < 300, JSON.stringify(body));
  };
  await save("POST /products", "0.1", { slug: "p" });
  return {
    setPrice: (unitPrice: string) => save("PATCH /products/p", unitPrice),
    close: billing.close,
    /** Records the same usage of each metric, or of some. */
    async record(day: string, quantity: number, region: string, metrics: readonly string[] = aggregations) {
      const usage = { organizationId: ada.organizationId, productSlug: "p", quantity };
      const timestamp = `${day}T12:00:00.000Z`;
      const records = metrics.map((metric) => ({ ...usage, metric, timestamp, properties: { region } }));
      const { status, body } = await send("POST /usage", { records });
      assert.equal(status, 201, JSON.stringify(body));
    },
    /** Voids all records of a quantity. */
    async voidAll(quantity: number) {
      const { body } = await send(`GET /usage/records?organizationId=${ada.organizationId}&limit=100`);
      for (
        const record of body.usageRecords.filter((one: { quantity: number }) => one.quantity === quantity)
      ) {
        await voidOne(test, { apiKey: ada.apiKey, id: record.id });
      }
    },
    /** @returns Each line of a statement with its price, after checking that what it has by values adds up to it. */
    async lines(id: string): Promise<string[]> {
      return (await lines({ id })).map((line) => {
        const { dimensions, quantity, records } = line as StatementLine;
        for (const { values } of dimensions) {
          assert.equal(values.reduce((sum, one) => sum + microsOf(one.quantity), 0n), microsOf(quantity));
          assert.equal(values.reduce((sum, one) => sum + one.records, 0), records);
        }
        const parts = dimensions.flatMap(({ values }) =>
          values.map(({ properties, quantity }) => `${properties["region"]} ${quantity}`)
        );
        return [short(line), line.unitPrice, ...parts].join(", ");
      });
    },
  };
}

testApp("corrections stay exact after retention has deleted the records of their month", async (test) => {
  const { setPrice, close, record, voidAll, lines } = await startScene(test);
  await record("2026-10-20", 4, "eu");
  await record("2026-10-21", 2.5, "us");
  await close("2026-10");
  assert.deepEqual(await lines("2026-10"), [
    "p/count 2 2, 0.1, eu 1, us 1",
    "p/last 2.5 2, 0.1",
    "p/max 4 2, 0.1",
    "p/sum 6.5 2, 0.1, eu 4, us 2.5",
    "p/unique 2 2, 0.1",
  ]);
  test.advance(41 * dayMs);
  while (await deleteOldUsageRecords(test.services));
  assert.equal((await test.opened.database.read({ sql: "SELECT 1 FROM usage_records", args: [] })).length, 0);
  await setPrice("0.2");
  await record("2026-10-21", 3, "asia");
  await close("2026-11");
  assert.deepEqual(await lines("2026-11"), [
    "p/count 2026-10 1 1, 0.1, asia 1",
    "p/last 2026-10 0.5 1, 0.1",
    "p/max 2026-10 0 1, 0.1",
    "p/sum 2026-10 3 1, 0.1, asia 3",
    "p/unique 2026-10 1 1, 0.1",
  ]);
  await voidAll(3);
  await record("2026-10-21", 5, "asia", ["sum"]);
  test.advance(10 * dayMs);
  await close("2026-12");
  assert.deepEqual(await lines("2026-12"), [
    "p/count 2026-10 -1 -1, 0.1, asia -1",
    // The latest one before was deleted, so what was charged stays.
    "p/last 2026-10 0 -1, 0.1",
    "p/max 2026-10 0 -1, 0.1",
    "p/sum 2026-10 2 0, 0.1, asia 2",
    "p/unique 2026-10 -1 -1, 0.1",
  ]);
}, { ...unlimited, USAGE_RETENTION_DAYS: "36" });

testApp("a correction has the price of the newest statement that charged its month", async (test) => {
  const { setPrice, record, lines } = await startScene(test);
  const close = async (period: string, currency: string | null) => {
    const context = { ...test.services, config: { ...test.services.config, currency } };
    const { statement } = await closeStatement(context, commandLineActor, { period, waitMs: 60_000 });
    assert.deepEqual([statement.status, statement.currency], ["closed", currency]);
    test.advance(31 * dayMs);
  };
  const use = (day: string) => record(day, 1, "eu", ["sum"]);
  await use("2026-10-20");
  // A price without a currency is kept, whichever is set later.
  await close("2026-10", null);
  await setPrice("0.2");
  await use("2026-11-20");
  await close("2026-11", "EUR");
  await setPrice("0.3");
  for (const day of ["2026-10-21", "2026-11-21", "2026-12-21"]) await use(day);
  await close("2026-12", "EUR");
  assert.deepEqual(await lines("2026-12"), [
    "p/sum 1 1, 0.3, eu 1",
    "p/sum 2026-11 1 1, 0.2, eu 1",
    "p/sum 2026-10 1 1, 0.1, eu 1",
  ]);
  // A price in another currency can't be used: that of now is, and stays.
  for (const [period, price] of [["2027-01", "0.4"], ["2027-02", "0.5"], ["2027-03", "0.6"]] as const) {
    await setPrice(price);
    await use("2026-10-22");
    await close(period, "USD");
    assert.deepEqual(await lines(period), ["p/sum 2026-10 1 1, 0.4, eu 1"]);
  }
}, unlimited);

testApp("what is recorded while a month is being closed is corrected in the next statement", async (test) => {
  const { record, lines } = await startScene(test);
  const use = (day: string, quantity: number) => record(day, quantity, "eu", ["sum"]);
  /** Records before or after each read of what is to be written. */
  const close = async (period: string, meanwhile: (() => Promise<void>)[] = []) => {
    const { reports, ...services } = test.services;
    const read = async (...args: Parameters<typeof reports.read>) => {
      const step = await reports.read(...args);
      await meanwhile.shift()?.();
      return step;
    };
    const context = { ...services, reports: { read } } as unknown as typeof test.services;
    await closeStatement(context, commandLineActor, { period, waitMs: 60_000 });
    assert.equal(meanwhile.length, 0);
    test.advance(31 * dayMs);
  };
  await use("2026-10-20", 1);
  await close("2026-10", [() => use("2026-10-20", 10), () => use("2026-10-20", 100)]);
  assert.deepEqual(await lines("2026-10"), ["p/sum 1 1, 0.1, eu 1"]);
  await use("2026-11-20", 2);
  await close("2026-11", [
    async () => {
      await use("2026-10-20", 1_000);
      await use("2026-11-20", 20);
    },
    () => use("2026-10-20", 10_000),
  ]);
  assert.deepEqual(await lines("2026-11"), ["p/sum 2 1, 0.1, eu 2", "p/sum 2026-10 110 2, 0.1, eu 110"]);
  await close("2026-12");
  assert.deepEqual(await lines("2026-12"), [
    "p/sum 2026-11 20 1, 0.1, eu 20",
    "p/sum 2026-10 11000 2, 0.1, eu 11000",
  ]);
  await close("2027-01");
  assert.deepEqual(await lines("2027-01"), []);
}, unlimited);

testApp("values of a correction add up to it, also where their numbers of records cancel", async (test) => {
  const { close, record, voidAll, lines } = await startScene(test);
  await record("2026-10-20", 4, "eu", ["sum"]);
  await record("2026-10-20", 2.5, "us", ["sum"]);
  await close("2026-10");
  await voidAll(4);
  await record("2026-10-21", 7, "eu", ["sum"]);
  await record("2026-10-21", 1, "asia", ["sum"]);
  test.advance(10 * dayMs);
  await close("2026-11");
  assert.deepEqual(await lines("2026-11"), ["p/sum 2026-10 4 1, 0.1, eu 3, asia 1"]);
  await voidAll(7);
  await record("2026-10-21", 5, "eu", ["sum"]);
  test.advance(31 * dayMs);
  await close("2026-12");
  assert.deepEqual(await lines("2026-12"), ["p/sum 2026-10 -2 0, 0.1, eu -2"]);
}, unlimited);

Deno.test("values of lines are stored completely, however many texts they need", () => {
  const lines = Array.from({ length: 20 }, (_, n) => ({
    ...{ organization: n, monthsBack: 0, productSlug: "p", metric: "m", aggregation: "sum" as const },
    ...{ count: 1, high: "0", low: `${n}`, micro: "0" },
    ...{ unitPrice: null, priceList: null, valueAmount: null },
    dimensions: ["region", "model"].map((name) => ({
      names: JSON.stringify([name]),
      parts: [{ values: ["x"], count: 1, micros: BigInt(n) }],
    })),
  }));
  const texts = (sizeMax: number) => encodeLineValues(lines, sizeMax).map((text) => JSON.parse(text));
  const [all] = texts(1_000_000);
  assert.equal(all.length, 40);
  for (const sizeMax of [1, 100, 500]) {
    assert.deepEqual(texts(sizeMax).flat(), all, `${sizeMax}`);
    assert.ok(texts(sizeMax).length > 1);
  }
});
